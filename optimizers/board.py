"""The board: every candidate, every case it was scored on, and what that gives.

The candidate x case matrix is complete whatever an optimizer forgets, and no
pair is ever asked twice. The choice is made among candidates scored on the
whole of dev, by a lower bound on the paired gain over the basic prompt, on dev
and on every training case that both were scored on and that is not a
demonstration of the candidate: the best of many noisy means is mostly luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dspy
import numpy as np

from ..cases import Case
from ..engines.channel import Desk
from ..programs.asking import Asker, Verdict
from ..programs.judge import Judge
from ..programs.state import PromptState
from .objective import Objective, Outcome

__all__ = ["Board", "Candidate", "luck"]


def luck(candidates: int) -> float:
    """Return how many standard errors the best of so many equal candidates is ahead by chance alone.

    The expected maximum of m standard normal draws is at most sqrt(2 ln m).
    """
    return math.sqrt(2 * math.log(candidates)) if candidates > 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A prompt that was tried.

    Attributes:
        state: the prompt.
        parent: the candidate it was made from.
        source: what made it.
        step: the optimizer's round, from 1; 0 outside rounds.
        calls: the calls the job had made by then.
        demo_ids: the cases that are its demonstrations.
    """

    state: PromptState
    parent: str | None
    source: str
    step: int
    calls: int
    demo_ids: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its prompt."""
        return self.state.id


class Board:
    """All candidates of one job with all their outcomes."""

    def __init__(
        self, judge: Judge, objective: Objective, asker: Callable[[dspy.Module], Asker], desk: Desk
    ) -> None:
        self.judge, self.objective, self.desk = judge, objective, desk
        self.candidates: dict[str, Candidate] = {}
        self._asker = asker
        self._basic = judge.basic()
        self._outcomes: dict[tuple[str, str], Outcome] = {}
        self._verdicts: dict[tuple[str, str], Verdict] = {}

    def basic_state(self) -> PromptState:
        """Return the prompt of the judge's basic program."""
        return PromptState.of(self._basic)

    @property
    def basic(self) -> Candidate:
        """The first candidate: the prompt nobody tuned."""
        return next(iter(self.candidates.values()))

    def add(
        self,
        state: PromptState,
        *,
        parent: Candidate | None,
        source: str,
        step: int = 0,
        demo_ids: tuple[str, ...] | None = None,
    ) -> Candidate:
        """Enter a prompt; one that is already known keeps its first entry.

        Args:
            state: the prompt.
            parent: what it was made from; ``None`` for the basic prompt.
            source: what made it, in words.
            step: the optimizer's round.
            demo_ids: ids of its demonstrations' cases; default: the parent's.
        """
        known = self.candidates.get(state.id)
        if known is not None:
            return known
        candidate = Candidate(
            state=state,
            parent=parent.id if parent else None,
            source=source,
            step=step,
            calls=self.desk.meter.calls,
            demo_ids=demo_ids if demo_ids is not None else (parent.demo_ids if parent else ()),
        )
        self.candidates[candidate.id] = candidate
        return candidate

    def score(self, candidate: Candidate, cases: Sequence[Case]) -> list[Outcome]:
        """Return the candidate's outcome on each case, asking only what was not asked before."""
        open_cases = [case for case in cases if (candidate.id, case.id) not in self._outcomes]
        if open_cases:
            asker = self._asker(candidate.state.apply(self._basic))

            def keep(index: int, verdict: Verdict) -> None:
                self.record(candidate, open_cases[index], verdict)

            asker.ask_all(open_cases, keep)
        return [self._outcomes[candidate.id, case.id] for case in cases]

    def record(self, candidate: Candidate, case: Case, verdict: Verdict) -> Outcome:
        """Keep a verdict that was asked elsewhere as this board would ask it; a known pair keeps its first."""
        pair = candidate.id, case.id
        if pair not in self._outcomes:
            self._verdicts[pair] = verdict
            self._outcomes[pair] = self.objective.outcome(case, verdict)
        return self._outcomes[pair]

    def outcome(self, candidate: Candidate, case: Case) -> Outcome | None:
        """Return the outcome of a pair, ``None`` if it was never asked."""
        return self._outcomes.get((candidate.id, case.id))

    def outcomes(self, candidate: Candidate) -> dict[str, Outcome]:
        """Return all outcomes of a candidate by the case's id."""
        return {
            case_id: outcome for (owner, case_id), outcome in self._outcomes.items() if owner == candidate.id
        }

    def value(self, candidate: Candidate, cases: Sequence[Case]) -> float:
        """Return the objective's value over the cases that were scored."""
        known = [self._outcomes.get((candidate.id, case.id)) for case in cases]
        return self.objective.aggregate([outcome for outcome in known if outcome is not None])

    def scored(self, candidate: Candidate, cases: Sequence[Case]) -> bool:
        """Say whether the candidate was scored on all of ``cases``."""
        return all((candidate.id, case.id) in self._outcomes for case in cases)

    def verdicts(self, candidate: Candidate, cases: Sequence[Case]) -> list[Verdict]:
        """Return the kept verdicts of a candidate that was scored on ``cases``."""
        return [self._verdicts[candidate.id, case.id] for case in cases]

    def ranking(self, cases: Sequence[Case]) -> list[Candidate]:
        """Return the candidates scored on all of ``cases``, best value first, the earlier first among equals."""
        done = [candidate for candidate in self.candidates.values() if self.scored(candidate, cases)]
        return sorted(done, key=lambda candidate: -round(self.value(candidate, cases), 9))

    def gain(self, candidate: Candidate, caution: float = 0.0) -> float:
        """Return what the candidate gains over the basic prompt, in units of the metric, less ``caution`` errors.

        The estimate is paired, on the cases that both were scored on and that are not the candidate's own
        demonstrations; its standard error is a bootstrap's, clustered by group. The basic prompt gains 0.
        """
        basic = self.basic
        if candidate.id == basic.id:
            return 0.0
        shared = [
            case_id
            for owner, case_id in self._outcomes
            if owner == candidate.id
            and (basic.id, case_id) in self._outcomes
            and case_id not in candidate.demo_ids
        ]
        before, after = (
            [self._outcomes[one.id, case_id] for case_id in sorted(shared)] for one in (basic, candidate)
        )
        mean = self.objective.aggregate(after) - self.objective.aggregate(before)
        return mean - caution * float(np.std(self.objective.resampled(before, after)))

    def best(self, cases: Sequence[Case]) -> Candidate | None:
        """Return the candidate with the highest lower bound on its gain, of those scored on all of ``cases``."""
        done = [candidate for candidate in self.candidates.values() if self.scored(candidate, cases)]
        caution = luck(len(done))
        return max(done, key=lambda candidate: round(self.gain(candidate, caution), 9), default=None)

    def history(self, train: Sequence[Case], dev: Sequence[Case]) -> list[dict[str, Any]]:
        """Return one JSON-ready row per candidate, in the order they were tried."""
        return [self._row(candidate, train, dev) for candidate in self.candidates.values()]

    def _row(self, candidate: Candidate, train: Sequence[Case], dev: Sequence[Case]) -> dict[str, Any]:
        def part(cases: Sequence[Case]) -> dict[str, Any]:
            count = sum((candidate.id, case.id) in self._outcomes for case in cases)
            known = [self._outcomes.get((candidate.id, case.id)) for case in cases]
            return {
                "cases": count,
                "failed": sum(outcome.row.failed for outcome in known if outcome is not None),
                "value": round(self.value(candidate, cases), 6) if count else None,
            }

        return {
            "candidate": candidate.id,
            "parent": candidate.parent,
            "source": candidate.source,
            "step": candidate.step,
            "calls": candidate.calls,
            "demo_ids": list(candidate.demo_ids),
            "prompt": candidate.state.to_json(),
            "train": part(train),
            "dev": part(dev),
            "gain": round(self.gain(candidate), 6) if self.scored(candidate, dev) else None,
        }
