"""Prompt optimisation round by round (Table 3): which prompts were best after each round, and what passes with them.

The rounds are those in the history of a compiled version; its prompts write items from the documents that were sealed
when it was compiled, so that nothing in the table was selected on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...cases import Case
from ...engines.meter import Budget
from ...errors import UsageError
from ...generating.generation import Generation
from ...gold.goldset import Gold
from ...jobs.estimate import Estimate, Span
from ...jobs.foresee import foresee_items
from ...keeping.loading import LoadedJudge
from ...keeping.paying import Start, paying
from ...programs.generator import Generator, generator_of
from ...programs.state import PromptState

__all__ = ["Round", "Rounds", "best_after", "measure_rounds", "sealed_documents"]


@dataclass(frozen=True, kw_only=True)
class Round:
    """One line of the table: the candidate that was best on dev after a round, and what passed with its prompts.

    Attributes:
        number: 0 for the basic prompts.
        candidate: its id.
        dev: its validation rate on dev.
        rates: check -> the share of wanted items that pass it; ``overall`` for all checks together.
    """

    number: int
    candidate: str
    dev: float
    rates: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain JSON types."""
        return {
            "round": self.number,
            "candidate": self.candidate,
            "dev": self.dev,
            "rates": dict(self.rates),
        }


def best_after(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the row of the candidate that was best on dev after each round, the basic prompts first.

    Only candidates count that were scored on as many dev cases as the basic prompts.
    """
    whole = history[0]["dev"]["cases"]
    known = [row for row in history if row["dev"]["value"] is not None and row["dev"]["cases"] >= whole]
    last = max(row["step"] for row in known)
    return [
        max((row for row in known if row["step"] <= number), key=lambda row: float(row["dev"]["value"]))
        for number in range(last + 1)
    ]


def sealed_documents(loaded: LoadedJudge, source: str) -> tuple[Case, ...]:
    """Return the passages that were sealed when a version was compiled.

    Raises:
        UsageError: it is no compiled version, or was compiled on other documents.
    """
    if loaded.artifact is None:
        raise UsageError(f"{loaded.name} has no rounds", hint="name a version, such as haluagent@1")
    card = loaded.artifact.card
    gold = Gold.load(source, loaded.judge)
    if gold.sha256 != card["gold"]["sha256"]:
        hint = f"name the documents it was compiled on: {card['gold']['name']}"
        raise UsageError(f"{loaded.name} was not compiled on {source}", hint=hint)
    return gold.split(card["optimizer"]["seed"], tuple(card["gold"]["shares"])).test


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """The rounds to measure, on which passages.

    Attributes:
        loaded: the compiled version.
        cases: the passages.
        budget: hard limits.
    """

    loaded: LoadedJudge
    cases: tuple[Case, ...]
    budget: Budget = field(default_factory=Budget)

    @property
    def generator(self) -> Generator:
        """The generator."""
        return generator_of(self.loaded.judge)

    @property
    def found(self) -> list[Mapping[str, Any]]:
        """The candidates of the rounds."""
        assert self.loaded.artifact is not None
        return best_after(self.loaded.artifact.history)

    @property
    def roles(self) -> tuple[str, ...]:
        """Who writes, and who verifies."""
        return ("generator", "judge")

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""
        ids = [case.id for case in self.cases]
        return {"table": "haluagent-3", "generate": self.loaded.fingerprint(), "cases": ids}

    def estimate(self) -> Estimate:
        """Estimate all rounds. Sends nothing."""
        one = foresee_items(Generation(loaded=self.loaded, cases=self.cases, budget=self.budget))
        several = len({row["candidate"] for row in self.found})
        parts = tuple(replace(part, calls=_times(part.calls, several)) for part in one.parts)
        return replace(one, what=f"{several} prompts on {len(self.cases)} passages", parts=parts)


def _times(calls: Span, count: int) -> Span:
    return Span(least=count * calls.least, most=None if calls.most is None else count * calls.most)


def measure_rounds(
    work: Rounds, start: Start, *, on_step: Callable[[], None] = lambda: None
) -> tuple[list[Round], dict[str, Any]]:
    """Measure every round; return them, and what was spent, by purpose.

    Args:
        work: what to do.
        start: how the job is started.
        on_step: called after each passage.

    Raises:
        CheckpointError, StoppedError, ModelError: as for every job that pays.
    """
    with paying(work, start) as job:
        asker = replace(work.loaded, contexts=job.contexts).asker()
        known: dict[str, Mapping[str, float]] = {}
        for row in work.found:
            if row["candidate"] not in known:
                program = PromptState.from_json(row["prompt"]).apply(work.generator.basic())
                verdicts = replace(asker, program=program).ask_all(
                    work.cases, lambda place, verdict: on_step()
                )
                known[row["candidate"]] = _rates(work, verdicts)
        lines = [
            Round(
                number=number,
                candidate=row["candidate"],
                dev=float(row["dev"]["value"]),
                rates=known[row["candidate"]],
            )
            for number, row in enumerate(work.found)
        ]
        return lines, job.ledger.to_json()


def _rates(work: Rounds, verdicts: Sequence[Any]) -> dict[str, float]:
    """Return the shares of the wanted items; one that was not written passes nothing."""
    answer, sums = work.generator.checked, Counter[str]()
    for verdict in verdicts:
        if verdict.status == "verdict":
            sums.update(
                {name: int(count) for name, count in answer.tally(verdict.values, verdict.counts).items()}
            )
    wanted = len(work.cases) * work.generator.items
    rates = {name: sums[f"{name}_yes"] / wanted for name in answer.checks}
    return {**rates, "overall": sums["passed"] / wanted}
