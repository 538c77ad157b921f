"""``optuna``: the joint stage, after instructions exist: what goes best with what.

Searches instruction x demonstration set x order of demonstrations x vote
threshold, and where several are given x model x temperature x prompt format,
with Optuna's TPE. A trial is one candidate, scored block by block on cases that
all trials meet in one stratified order; after each block a pruner may end it.
A pair of candidate and case that was asked before, in whatever stage, is never
asked again, and thresholds cost nothing: they are counted from stored votes.

Instructions are the distinct ones on the board, the best few by lower bound and the basic one always. Demonstration
sets are those of the best candidates so far and new ones from train: balanced, and contrastive (half of it cases that
the start gets wrong). No case of a set is among the training cases on which trials are scored.

The pruner is Optuna's successive halving on the metric of the blocks so far. All
trials meet the same cases in the same order, so values at a block are of the
same cases, and a metric of a set (F1, kappa) is taken as it is. It needs no
complete trials to start from, which counts when calls are few. In a simulator
(12 worlds, 8 instructions, 9 demonstration sets, 2 temperatures; mean true
accuracy after 500 and 1200 calls): halving 0.899 and 0.928, median 0.842 and
0.924, Wilcoxon at 500 0.853, no pruning 0.842 and 0.908. Multi-objective studies
cannot prune, so cost is not searched: :mod:`jurist.optimizers.pareto` reads the
front of cost and score off the board afterwards.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..engines.adapters import ADAPTERS
from ..errors import OptimizerError
from ..evaluation.votes import majority
from ..programs.state import Demo, PromptState
from .base import Job, refuse_other
from .board import Board, Candidate
from .candidate import Setting
from .drawing import blocks, draw_contrasting, draw_demos, stratified
from .fewshot import demos_of, pool_of

if TYPE_CHECKING:
    import optuna

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
    fitted = job.judge.answer.scale.uses_threshold and job.sampling.threshold is None
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


_PRUNERS = ("halving", "none")
_KNOWN = 40  # suggestions in a row that ask nothing new, after which the space counts as searched


@dataclass(frozen=True, kw_only=True)
class Optuna(Scope):
    """The joint search's settings, besides those of its space."""

    trials: int = (
        60  # different candidates that are tried; those that differ in the vote threshold only count once
    )
    block: int = 10  # cases in a block; the pruner decides after each
    startup: int = 6  # trials drawn at random, and complete, before TPE suggests and the pruner prunes
    warmup: int = 1  # blocks that every trial runs
    pruner: str = "halving"  # or ``none``
    models: tuple[str, ...] = ()  # model strings to try besides the job's own
    # temperatures to try besides the job's own; at 0 one sample is asked, as all would be the same
    temperatures: tuple[float, ...] = ()
    adapters: tuple[str, ...] = ()  # prompt formats to try besides the job's own
    name: str = "optuna"

    def __post_init__(self) -> None:
        """Refuse an unknown pruner."""
        refuse_other("optuna.pruner", self.pruner, _PRUNERS)

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one trial, and for finding hard cases."""
        setting_values(job.own, self.models, self.temperatures, self.adapters)
        train = min(self.sample, len(job.train) // 2)
        hard = min(self.hard, len(job.train) - train)
        return (2 * (len(job.dev) + train) + hard) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Search; return the best candidate on the board."""
        settings = setting_values(job.own, self.models, self.temperatures, self.adapters)
        space = space_of(job, board, start, self, settings)
        if all(len(texts) == 1 for texts in space.instructions.values()):
            job.note("optuna: only the basic instruction is known; opro+optuna would search others too")
        sizes = space.sizes
        job.note("optuna searches " + " x ".join(f"{count} {name}" for name, count in sizes.items()))
        if sizes:
            self._search(job, board, start, space)
        best = board.best(job.dev) or start
        job.note(f"optuna: best {board.name(best)}", board.value(best, job.dev), kind="step")
        return best

    def _search(self, job: Job, board: Board, start: Candidate, space: Space) -> None:
        order = stratified([*space.cases, *job.dev], job.judge.answer, random.Random(f"optuna/{job.seed}"))
        parts = list(blocks(order, self.block))
        board.score(board.basic, order)
        with _quiet() as optuna:
            study = optuna.create_study(
                direction="maximize",
                sampler=optuna.samplers.TPESampler(
                    seed=job.seed, n_startup_trials=self.startup, multivariate=True
                ),
                pruner=optuna.pruners.NopPruner()
                if self.pruner == "none"
                else optuna.pruners.SuccessiveHalvingPruner(
                    min_resource=max(1, self.warmup), reduction_factor=2
                ),
            )
            for first in (space.at(start), space.at(board.basic)):
                study.enqueue_trial({name: first.get(name, 0) for name in space.sizes}, skip_if_exists=True)
            tried, known = set[str](), 0
            while len(tried) < self.trials and known < _KNOWN:
                trial = study.ask()
                candidate = self._suggested(job, board, start, space, trial)
                known = known + 1 if candidate.asked_id in tried else 0
                tried.add(candidate.asked_id)
                self._run(job, board, study, trial, candidate, parts)

    def _suggested(
        self, job: Job, board: Board, start: Candidate, space: Space, trial: optuna.Trial
    ) -> Candidate:
        at = {
            name: trial.suggest_int(name, 0, count - 1)
            if name == "threshold"
            else trial.suggest_categorical(name, range(count))
            for name, count in space.sizes.items()
        }
        choice = space.choice(at)
        words = ", ".join(f"{name} {value}" for name, value in choice.params.items())
        return board.add(
            choice.state,
            parent=start,
            source=f"optuna: {words}",
            step=trial.number + 1,
            demo_ids=choice.demo_ids,
            setting=choice.setting.within(job.own),
            params=choice.params,
        )

    def _run(
        self,
        job: Job,
        board: Board,
        study: optuna.Study,
        trial: optuna.Trial,
        candidate: Candidate,
        parts: Sequence[Sequence[Case]],
    ) -> None:
        """Score a trial block by block, until it is done or pruned, and tell the study."""
        from optuna.trial import TrialState

        done: list[Case] = []
        for number, block in enumerate(parts):
            done += block
            board.score(candidate, block)
            trial.report(board.value(candidate, done), number)
            if number >= self.warmup and number + 1 < len(parts) and trial.should_prune():
                study.tell(trial, state=TrialState.PRUNED)
                job.note(
                    f"trial {trial.number + 1}: {candidate.id} pruned after {len(done)} cases",
                    board.value(candidate, done),
                    kind="candidate",
                )
                return
        value = board.value(candidate, done)
        study.tell(trial, value)
        job.note(f"trial {trial.number + 1}: {candidate.id}", value, kind="candidate")


@contextmanager
def _quiet() -> Iterator[Any]:
    """Import Optuna, and keep its logging and its warnings of experimental parts to itself meanwhile."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"optuna\..*")
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield optuna
    finally:
        optuna.logging.set_verbosity(before)
