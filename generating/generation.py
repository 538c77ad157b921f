"""What is to be generated, by whom, and what came of it: the description of a job, without doing it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..gold.documents import Document
from ..programs.dialogue import Converse
from ..programs.state import PromptState
from .dialogues import Dialogue
from .plans import DialogueSpec, Plan, plans

__all__ = ["Generation", "Made", "job_id"]


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What is to be generated, by whom.

    Attributes:
        documents: the references.
        spec: turns, lengths, topics, language.
        model: the generator.
        seed: of plans and draws.
        attempts: how often one exchange may be asked for.
        concurrency: dialogues in flight at once.
        adapter: DSPy's prompt format.
        budget: hard limits of the whole job.
    """

    documents: tuple[Document, ...]
    spec: DialogueSpec
    model: Model
    seed: int = 0
    attempts: int = 3
    concurrency: int = 8
    adapter: str = "chat"
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        """Refuse what could make nothing."""
        if self.attempts < 1:
            raise UsageError(f"{self.attempts} attempts ask nothing", hint="give 1 or more")

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The dialogues to make, in the order of the documents."""
        return plans(self.documents, self.spec, self.seed)

    @property
    def roles(self) -> tuple[str, ...]:
        """Who has a journal."""
        return ("generator",)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        return {
            "generate": "dialogue",
            "documents": [
                [
                    one.id,
                    one.title,
                    one.topic,
                    hashlib.sha256(one.text.encode("utf-8", "surrogatepass")).hexdigest(),
                ]
                for one in self.documents
            ],
            "wish": self.spec.to_json(),
            "model": self.model.name,
            "api_base": self.model.public_base,
            "temperature": self.model.temperature,
            "max_tokens": self.model.max_tokens,
            "prompt": PromptState.of(Converse()).id,
            "seed": self.seed,
            "attempts": self.attempts,
            "adapter": self.adapter,
        }

    def stamp(self) -> dict[str, Any]:
        """Return what every dialogue says about the job."""
        return {
            "model": self.model.name,
            "temperature": self.model.temperature,
            "seed": self.seed,
            "turns": str(self.spec.turns),
            "words": str(self.spec.words),
            "job": job_id(self.fingerprint()),
        }


@dataclass(frozen=True, kw_only=True)
class Made:
    """How a generation ended.

    Attributes:
        kept, rejected, failed: dialogues by what became of them.
        spend: calls, tokens and cost, by purpose; answers paid by an earlier start count as ``replayed``.
        before: the output was there already, and nothing was asked.
    """

    kept: tuple[Dialogue, ...] = ()
    rejected: tuple[Dialogue, ...] = ()
    failed: tuple[Dialogue, ...] = ()
    spend: Mapping[str, Any] = field(default_factory=dict)
    before: bool = False

    @property
    def unusable(self) -> float:
        """The share of dialogues that were rejected or failed, 0 to 1."""
        total = len(self.kept) + len(self.rejected) + len(self.failed)
        return 1 - len(self.kept) / total if total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON types."""
        everything = (*self.kept, *self.rejected, *self.failed)
        return {
            "dialogues": len(everything),
            "kept": len(self.kept),
            "rejected": len(self.rejected),
            "failed": len(self.failed),
            "turns": sum(len(one.turns) // 2 for one in self.kept),
            "asked_again": sum(len(one.retried) for one in everything),
            "done_before": self.before,
            "spend": dict(self.spend),
        }


def job_id(fingerprint: Mapping[str, Any]) -> str:
    """Return 16 hex digits for a job."""
    return hashlib.sha256(json.dumps(fingerprint, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[
        :16
    ]
