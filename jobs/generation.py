"""What is to be written, by whom, and what came of it: the description of a job, without doing it."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..cases import Case
from ..engines.ledger import Purpose
from ..engines.meter import Budget
from ..errors import UsageError
from ..keeping.loading import LoadedJudge
from ..programs.generator import Generator, generator_of


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What is to be written, by whom."""

    loaded: LoadedJudge  # the generator with its models; its samples are the attempts at one document
    cases: tuple[Case, ...]  # the documents, in the order in which their items are written
    budget: Budget = field(default_factory=Budget)  # hard limits of the whole job
    # what else makes it the same job when it is started again, as JSON values
    settings: Mapping[str, Any] = field(default_factory=dict)
    # what every row says about the job; default: generator, artifact, model and temperature
    stamp: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what writes nothing, and ids that would meet."""
        groups = Counter((case.group, case.id) for case in self.cases)
        twice = next((name for (name, _), count in groups.items() if count > 1), None)
        if twice is not None:
            raise UsageError(f"the document {twice!r} is there twice", hint="give every document once")

    @property
    def generator(self) -> Generator:
        """The generator."""
        return generator_of(self.loaded.judge)

    @property
    def roles(self) -> tuple[Purpose, ...]:
        """Who has a journal: who writes, and who verifies where the program asks a model for that."""
        return ("generator", "judge") if self.generator.frozen else ("generator",)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        texts = "\n".join(f"{case.group} {case.id}" for case in self.cases)
        return {
            "generate": self.loaded.fingerprint(),
            **self.settings,
            "documents": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest(),
        }

    def row_stamp(self) -> dict[str, Any]:
        """Return what every row says about the job."""
        loaded = self.loaded
        usual = {
            "generator": loaded.name,
            "artifact": loaded.artifact.sha256 if loaded.artifact else None,
            "model": loaded.model.name,
            "temperature": loaded.model.temperature,
        }
        return {**(self.stamp or usual), "job": job_id(self.fingerprint())}


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How a generation ended."""

    documents: int = 0  # how many there were
    # documents by how asking ended: ``verdict`` (written and checked), ``abstained``, ``failed``
    statuses: Mapping[str, int] = field(default_factory=dict)
    # items, how many passed, how many are uncertain, and the rate of each check
    totals: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # the same for people
    # calls, tokens and cost, by purpose; answers paid by an earlier start count as ``replayed``
    spend: Mapping[str, Any] = field(default_factory=dict)
    before: bool = False  # the output was there already, and nothing was asked

    @property
    def kept(self) -> int:
        """Items that passed."""
        return int(self.totals.get("passed", 0))

    @property
    def rejected(self) -> int:
        """Items that did not pass, and documents of which no usable item was written."""
        return int(self.totals.get("items", 0)) - self.kept + self.statuses.get("abstained", 0)

    @property
    def failed(self) -> int:
        """Documents on which the machinery failed."""
        return self.statuses.get("failed", 0)

    @property
    def unusable(self) -> float:
        """The share of what was rejected or failed, 0 to 1."""
        total = self.kept + self.rejected + self.failed
        return 1 - self.kept / total if total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON types."""
        return {
            "documents": self.documents,
            "kept": self.kept,
            "rejected": self.rejected,
            "failed": self.failed,
            **({"uncertain": self.totals["uncertain_items"]} if self.totals else {}),
            **({"check_rates": self.totals["check_rates"]} if self.totals else {}),
            "done_before": self.before,
            "spend": dict(self.spend),
        }


def job_id(fingerprint: Mapping[str, Any]) -> str:
    """Return 16 hex digits for a job."""
    text = json.dumps(fingerprint, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
