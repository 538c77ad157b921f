"""``fewshot`` (also called ``demos``): which labelled training cases serve best as demonstrations.

Draws demonstration sets of several sizes from train, stratified so that the
positive labels are well represented, every other one with half of its cases from those that
the leader gets wrong. The sets race (:mod:`jurist.optimizers.raced`); once every size was tried, every other
step draws of the size that serves best so far. No set is larger than what its bound on tokens allows: the
prompt must fit the model's context, and demonstrations are paid with every call.

A program with several predictors gets demonstrations for all of them, by what
gold says about each: jointly (the same cases for all) or in turn (one predictor
after the other). Every candidate records which.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.state import Demo, PromptState
from ..text.terms import count_tokens
from .base import WAYS, Job, refuse_other
from .board import Candidate
from .drawing import draw_contrasting, draw_demos
from .raced import Arm, Raced, Track


@dataclass(frozen=True, kw_only=True)
class FewShot(Raced):
    """Few-shot demonstration selection, beside the settings of the race."""

    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    sets: int = 3  # sets drawn a step, each of another size
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    predictors: str = "jointly"  # for several predictors: ``jointly`` or ``in turn``
    name: str = "fewshot"
    proposal: ClassVar[int] = 0  # sets are drawn, not written

    def __post_init__(self) -> None:
        """Refuse an unknown way."""
        refuse_other(f"{self.name}.predictors", self.predictors, WAYS)

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return itself."""
        return (self,)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Draw sets for the leader."""
        job, leader = track.job, track.leader
        names = tuple(leader.state.predictors)
        if self.predictors == "in turn":
            names = (names[(turn - 1) % len(names)],)
        pool = [case for case in pool_of(job) if job.judge.demos(case).keys() & set(names)]
        if not pool:
            return []
        random_ = random.Random(f"fewshot/{job.seed}/{turn}")
        hard = {case.id for case, _ in track.errors(leader)}
        made = []
        for number, size in enumerate(self._sizes(track, pool, turn)):
            cases = (
                draw_contrasting(pool, size, job.judge.answer, random_, hard)
                if number % 2
                else draw_demos(pool, size, job.judge.answer, random_)
            )
            made.append(self._candidate(track, leader, names, cases))
        return [one for one in made if one is not None]

    def _sizes(self, track: Track, pool: Sequence[Case], turn: int) -> list[int]:
        """Return the sizes of a step's sets: all in turn, and at every other step the one that serves best."""
        most = max(1, int(self.tokens // _length(track.job.judge, pool)))
        sizes = list(dict.fromkeys(min(size, len(pool), most) for size in self.sizes if size))
        first = (turn - 1) * self.sets
        if turn % 2 == 0 and first >= len(sizes):
            for standing in track.race.ranking():
                if ids := track.board.candidates[standing.id].demo_ids:
                    return [min(len(ids), most)] * self.sets
        return [sizes[(first + at) % len(sizes)] for at in range(self.sets)]

    def _candidate(
        self, track: Track, leader: Candidate, names: tuple[str, ...], cases: Sequence[Case]
    ) -> Candidate | None:
        several, judge = len(leader.state.predictors) > 1, track.job.judge
        kept = set[str]() if len(names) == len(leader.state.predictors) else set(leader.demo_ids)
        params: dict[str, Any] = {"demonstrations": len(cases)}
        source = f"{self.name}, {len(cases)} demonstrations"
        if several:
            params["predictors"] = self.predictors if self.predictors == "jointly" else list(names)
            source += " jointly" if self.predictors == "jointly" else f" of {', '.join(names)}"
        return track.fresh(
            with_cases(judge, leader.state, cases, names),
            parent=leader,
            source=source,
            demo_ids=tuple(sorted(kept | {case.id for case in cases})),
            params=params,
        )


@dataclass(frozen=True, kw_only=True)
class Order:
    """The arm that shows the leader's demonstrations in another order: models attend most to the last ones."""

    name: str = "order"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Shuffle the demonstrations of each predictor."""
        leader, random_ = track.leader, random.Random(f"order/{track.job.seed}/{turn}")
        state = leader.state
        for name, prompt in leader.state.predictors.items():
            state = state.with_demos(name, tuple(random_.sample(prompt.demos, len(prompt.demos))))
        made = track.fresh(state, parent=leader, source="order")
        return [made] if made else []


def _length(judge: Judge, pool: Sequence[Case]) -> float:
    """Return the mean tokens of a case as a demonstration, at least 1."""
    texts = (str(value) for case in pool for demo in judge.demos(case).values() for value in demo.values())
    return max(1.0, sum(map(count_tokens, texts)) / len(pool))


def pool_of(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations."""
    if not job.judge.answer.has_examples:
        raise OptimizerError(
            f"gold of {job.judge.name} makes no demonstrations: what passes is not known before it is written",
            hint="use opro, or bootstrap, which shows what passed",
        )
    return job.labelled_train()


def with_cases(
    judge: Judge, state: PromptState, cases: Sequence[Case], names: Sequence[str] | None = None
) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order."""
    names = tuple(state.predictors if names is None else names)
    demos = demos_of(judge, names, cases)
    for name in names:
        state = state.with_demos(name, demos.get(name, ()))
    return state


def demos_of(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return what gold says about ``cases`` as demonstrations, in their order, of those predictors that get any."""
    shown: list[Mapping[str, Any]] = [judge.demos(case) for case in cases]
    found = {name: tuple(one[name] for one in shown if name in one) for name in names}
    return {name: demos for name, demos in found.items() if demos}
