"""What the joint search chooses from: instructions x demonstrations x order x threshold x setting.

Instructions are the distinct ones on the board, the best few by lower bound and
the basic one always. Demonstration sets are those of the best candidates so far
and new ones from train: balanced, and contrastive (half of it cases that the
start gets wrong). No case of a set is among the training cases on which trials
are scored.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cases import Case
from ..engines.adapters import ADAPTERS
from ..errors import OptimizerError
from ..programs.state import Demo, PromptState
from ..programs.votes import majority
from .base import Job
from .board import Board, Candidate
from .drawing import draw_contrasting, draw_demos
from .fewshot import demos_of, pool_of
from .racing import stratified
from .setting import Setting

_KEPT = 3  # demonstration sets taken over from candidates that were tried before


@dataclass(frozen=True, kw_only=True)
class Scope:
    """How large the space is."""

    instructions: int = (
        8  # distinct instructions of each predictor, the best by lower bound; the basic one always
    )
    sizes: tuple[int, ...] = (4, 8)  # numbers of demonstrations
    sets: int = 2  # sets drawn for each size and kind (balanced, contrast)
    orders: int = 3  # orders of a set's demonstrations that are tried
    sample: int = 40  # train cases on which trials are scored besides dev
    hard: int = 30  # train cases on which the start is scored to find those it gets wrong


@dataclass(frozen=True, kw_only=True)
class DemoSet:
    """Demonstrations of all predictors."""

    name: str  # what it is, for the record
    demos: Mapping[str, tuple[Demo, ...]]  # the demonstrations by predictor
    ids: tuple[str, ...] = ()  # their cases


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One point of the space: a prompt and a setting, with what to record about it."""

    state: PromptState
    setting: Setting
    demo_ids: tuple[str, ...]
    params: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Space:
    """The space."""

    basic: PromptState  # the basic prompt; everything that is not chosen is as in it
    # distinct instructions of each predictor, the basic one first, each with the candidate that it is from
    instructions: Mapping[str, tuple[tuple[str, str], ...]]
    sets: tuple[DemoSet, ...]  # demonstration sets, the empty one first
    orders: int  # orders of a set's demonstrations: as drawn, reversed, then shuffled ones
    thresholds: tuple[int, ...]  # vote thresholds, or none if they are not searched
    settings: Mapping[str, tuple[Any, ...]]  # other values of the job's setting, its own first
    cases: tuple[Case, ...] = field(
        repr=False
    )  # training cases on which trials are scored; in no demonstration set

    @property
    def sizes(self) -> dict[str, int]:
        """The number of choices of each dimension that has several."""
        found = {self.dimension(name): len(texts) for name, texts in self.instructions.items()}
        found["demonstrations"] = len(self.sets)
        found["order"] = self.orders if len(self.sets) > 1 else 1
        found["threshold"] = len(self.thresholds)
        found |= {name: len(values) for name, values in self.settings.items()}
        return {name: count for name, count in found.items() if count > 1}

    def dimension(self, predictor: str) -> str:
        """Return the name of the dimension of a predictor's instruction."""
        return "instruction" if len(self.instructions) == 1 else f"instruction of {predictor}"

    def choice(self, at: Mapping[str, int]) -> Choice:
        """Return the point with these indices; a dimension that is not named is at 0."""
        state, demos = self.basic, self.sets[at.get("demonstrations", 0)]
        order = at.get("order", 0) if any(len(one) > 1 for one in demos.demos.values()) else 0
        for name, texts in self.instructions.items():
            state = state.with_instruction(name, texts[at.get(self.dimension(name), 0)][0])
            state = state.with_demos(name, _ordered(demos.demos.get(name, ()), order))
        values = {name: found[at.get(name, 0)] for name, found in self.settings.items()}
        if self.thresholds:
            values["threshold"] = self.thresholds[at.get("threshold", 0)]
        params: dict[str, Any] = {
            self.dimension(name): texts[at.get(self.dimension(name), 0)][1]
            for name, texts in self.instructions.items()
        }
        params |= {"demonstrations": demos.name, "order": order}
        return Choice(state=state, setting=Setting(**values), demo_ids=demos.ids, params=params)

    def at(self, candidate: Candidate) -> dict[str, int]:
        """Return the indices of a candidate's instructions and setting, with its demonstrations if they are kept."""
        found = {}
        for name, texts in self.instructions.items():
            known = [text for text, _ in texts]
            text = candidate.state.predictors[name].instructions
            found[self.dimension(name)] = known.index(text) if text in known else 0
        demos = {name: prompt.demos for name, prompt in candidate.state.predictors.items()}
        found["demonstrations"] = next((at for at, one in enumerate(self.sets) if _same(one.demos, demos)), 0)
        if self.thresholds:
            wanted = candidate.setting.threshold or majority(len(self.thresholds))
            found["threshold"] = self.thresholds.index(wanted)
        used = candidate.setting.to_json()
        for name, values in self.settings.items():
            found[name] = values.index(used.get(name)) if used.get(name) in values else 0
        return found


def setting_values(
    own: Setting, models: Sequence[str], temperatures: Sequence[float], adapters: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Return the values of the setting's dimensions, the job's own (``None``) first."""
    wrong = [repr(one) for one in adapters if one not in ADAPTERS]
    wrong += [repr(one) for one in temperatures if not 0 <= one <= 2]
    if wrong:
        raise OptimizerError(
            f"optuna cannot search {', '.join(wrong)}",
            hint=f"adapters are {', '.join(ADAPTERS)}; temperatures go from 0 to 2",
        )
    given = {"model": models, "temperature": temperatures, "adapter": adapters}
    mine = {"model": own.model, "temperature": own.temperature, "adapter": own.adapter}
    return {
        name: (None, *dict.fromkeys(value for value in values if value != mine[name]))
        for name, values in given.items()
    }


def space_of(
    job: Job, board: Board, start: Candidate, scope: Scope, settings: Mapping[str, tuple[Any, ...]]
) -> Space:
    """Return the space of a job, as the board stands.

    The start is scored on up to ``scope.hard`` training cases, to know which are hard.
    """
    ranked = _ranked(board, job.dev)
    kept = _kept_sets(ranked, start)
    used = {one for demos in kept for one in demos.ids}
    # The order of OPRO's race: what was asked there is known here.
    pool = [case for case in pool_of(job) if case.id not in start.demo_ids]
    order = stratified(pool, job.judge.answer, random.Random(f"race/{job.seed}"))
    free = [case for case in order if case.id not in used]
    cases = free[: min(scope.sample, len(free) // 2)]
    scored = {case.id for case in cases}
    sets = _drawn(job, board, start, [case for case in order if case.id not in scored], scope)
    fitted = job.judge.answer.uses_threshold and job.sampling.threshold is None
    votes = job.sampling.samples if fitted else 1
    return Space(
        basic=board.basic_state(),
        instructions=_instructions(board, [start, *ranked], scope.instructions),
        sets=(DemoSet(name="none", demos={}), *kept, *sets),
        orders=max(1, scope.orders),
        thresholds=tuple(range(1, votes + 1)) if votes > 1 else (),
        settings=settings,
        cases=tuple(cases),
    )


def _ranked(board: Board, dev: Sequence[Case]) -> list[Candidate]:
    """Return all candidates that were scored, those on all of dev first, then by their estimated gain."""
    known = [board.candidates[one.id] for one in board.by_gain()]
    return sorted(known, key=lambda one: not board.scored(one, dev))


def _instructions(
    board: Board, ranked: Sequence[Candidate], most: int
) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for name in board.basic_state().predictors:
        texts: dict[str, str] = {}
        for one in (board.basic, *ranked):
            texts.setdefault(one.state.predictors[name].instructions, one.id)
        found[name] = tuple(texts.items())[: max(1, most)]
    return found


def _kept_sets(ranked: Sequence[Candidate], start: Candidate) -> list[DemoSet]:
    found: list[DemoSet] = []
    for one in (start, *ranked):
        demos = {name: prompt.demos for name, prompt in one.state.predictors.items() if prompt.demos}
        if demos and not any(_same(demos, known.demos) for known in found):
            found.append(DemoSet(name=f"kept of {one.id}", demos=demos, ids=one.demo_ids))
    return found[:_KEPT]


def _drawn(job: Job, board: Board, start: Candidate, pool: Sequence[Case], scope: Scope) -> list[DemoSet]:
    """Return new sets: balanced ones, and contrastive ones where the start is wrong on enough of the pool."""
    random_, answer = random.Random(f"optuna/{job.seed}/{start.id}"), job.judge.answer
    looked = list(pool[: scope.hard])
    wrong = {
        case.id for case, outcome in zip(looked, board.score(start, looked), strict=True) if outcome.score < 1
    }
    found = []
    for size in dict.fromkeys(min(size, len(pool)) for size in scope.sizes):
        for number in range(1, scope.sets + 1):
            if size:
                cases = draw_demos(pool, size, answer, random_)
                found.append(_set(job, board, f"balanced {size}, draw {number}", cases))
        for number in range(1, scope.sets + 1):
            if size >= 2 and len(wrong) >= 2:
                cases = draw_contrasting(pool, size, answer, random_, wrong)
                found.append(_set(job, board, f"contrast {size}, draw {number}", cases))
    return found


def _set(job: Job, board: Board, name: str, cases: Sequence[Case]) -> DemoSet:
    demos = demos_of(job.judge, board.basic_state().predictors, cases)
    return DemoSet(name=name, demos=demos, ids=tuple(sorted({case.id for case in cases})))


def _ordered(demos: tuple[Demo, ...], order: int) -> tuple[Demo, ...]:
    if order == 0 or len(demos) < 2:
        return demos
    if order == 1:
        return demos[::-1]
    return tuple(random.Random(f"order/{order}").sample(demos, len(demos)))


def _same(one: Mapping[str, tuple[Demo, ...]], two: Mapping[str, tuple[Demo, ...]]) -> bool:
    names = {*one, *two}
    return all(tuple(one.get(name, ())) == tuple(two.get(name, ())) for name in names)
