"""Conversations for CogniBench: as many as are planned for each document, by the generator of dialogues."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...cases import Case
from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model
from ...errors import UsageError
from ...gold.documents import Document
from ...jobs.estimate import Estimate
from ...jobs.foresee import sampled_items
from ...jobs.generation import Generated, Generation
from ...jobs.writing import generate
from ...keeping.loading import LoadedJudge
from ...keeping.paying import Start
from ...programs.answers.checks import items_of
from ...programs.asking import Verdict
from ...programs.dialogue import dialogue_generator
from ...programs.state import PromptState
from ...programs.votes import Sampling
from .plans import DialogueSpec, Plan, plans
from .turns import AssistantTurn, answers_of

__all__ = [
    "DialogueCounts",
    "Dialogues",
    "Made",
    "foresee_dialogues",
    "make_dialogues",
    "sampled_dialogues",
    "turns_in",
]


@dataclass(frozen=True, kw_only=True)
class Dialogues:
    """Which dialogues are to be written, by whom.

    Attributes:
        documents: the references.
        spec: turns, lengths, topics, language.
        model: who writes.
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
        """The dialogues to write, in the order of the documents."""
        return plans(self.documents, self.spec, self.seed)

    def generation(self) -> Generation:
        """Return the job of the generator."""
        generator = dialogue_generator(self.attempts, self.spec.turns.high)
        loaded = LoadedJudge(
            judge=generator,
            state=PromptState.of(generator.basic()),
            artifact=None,
            model=self.model,
            sampling=Sampling(),
            adapter=self.adapter,
            concurrency=self.concurrency,
            context=CallContext.fresh(),
        )
        stamp = {
            "model": self.model.name,
            "temperature": self.model.temperature,
            "seed": self.seed,
            "turns": str(self.spec.turns),
            "words": str(self.spec.words),
        }
        cases = tuple(generator.case(plan.row()) for plan in self.plans)
        settings = {"attempts": self.attempts, "seed": self.seed}
        return Generation(loaded=loaded, cases=cases, budget=self.budget, settings=settings, stamp=stamp)


@dataclass(kw_only=True)
class DialogueCounts:
    """What is counted while dialogues are written.

    Attributes:
        told: called after each dialogue.
        turns: exchanges of the dialogues that were kept.
        asked_again: exchanges that were asked for once more, each time counted, over all dialogues.
    """

    told: Callable[[], None] = lambda: None
    turns: int = 0
    asked_again: int = 0

    def add(self, case: Case, verdict: Verdict) -> None:
        """Count one dialogue."""
        for item in items_of(verdict.value):
            self.turns += len(item.data["turns"]) // 2 if item.passed else 0
            self.asked_again += item.data["asked_again"]
        self.told()


@dataclass(frozen=True, kw_only=True)
class Made:
    """How the writing of dialogues ended: what the generator wrote, and what was counted beside."""

    written: Generated
    counts: DialogueCounts = field(default_factory=DialogueCounts)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as plain JSON types."""
        found = self.written.to_json()
        return {
            "dialogues": found["documents"],
            **{name: found[name] for name in ("kept", "rejected", "failed")},
            "turns": self.counts.turns,
            "asked_again": self.counts.asked_again,
            **{name: found[name] for name in ("done_before", "spend")},
        }


def make_dialogues(
    dialogues: Dialogues, output: Path, start: Start, *, on_dialogue: Callable[[], None] = lambda: None
) -> Made:
    """Write dialogues into a JSONL file, and the rejected ones into another beside it.

    Raises:
        UsageError, CheckpointError, StoppedError, ModelError: as :func:`~jurist.jobs.writing.generate`.
    """
    counts = DialogueCounts(told=on_dialogue)
    made = generate(dialogues.generation(), output, start, on_document=counts.add)
    return Made(written=made, counts=counts)


def foresee_dialogues(dialogues: Dialogues) -> Estimate:
    """Estimate the writing of dialogues. Sends nothing."""
    return sampled_dialogues(dialogues)[0]


def sampled_dialogues(dialogues: Dialogues) -> tuple[Estimate, list[AssistantTurn]]:
    """Return the estimate, and the assistant turns of the few dialogues that it was measured on. Sends nothing."""
    job = dialogues.generation()
    seen, found = sampled_items(job)
    turns = sum(case.inputs["turns"] for case in job.cases)
    rows = [
        job.generator.row(case, item, 0)
        for case, verdict in found
        for item in items_of(verdict.value)
        if item.data["turns"]
    ]
    answers = [answer for row in rows for answer in answers_of(row)]
    return replace(seen, what=f"{len(job.cases)} dialogues with {turns} turns"), answers


def turns_in(path: Path) -> Iterator[AssistantTurn]:
    """Yield the assistant turns of a file of dialogues, as they were written."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            yield from answers_of(json.loads(line), path=str(path), line=number)
