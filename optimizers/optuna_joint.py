"""``optuna``: the joint stage, after instructions exist: what goes best with what, by Optuna's TPE.

The pruner is successive halving: it needs no complete trials to start from. In a simulator (12 worlds, 8 instructions,
9 demonstration sets, 2 temperatures; mean true accuracy after 500 and 1200 calls): halving 0.899 and 0.928, median
0.842 and 0.924, Wilcoxon at 500 0.853, no pruning 0.842 and 0.908. Multi-objective studies cannot prune, so cost is not
searched: :mod:`jurist.optimizers.pareto` reads the front of cost and score off the board afterwards.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..evaluation.votes import majority
from ..programs.remembering import Remembered
from ..programs.state import Demo
from .base import Job
from .board import Board, Candidate
from .candidate import Setting
from .drawing import blocks, draw_contrasting, draw_demos, stratified
from .fewshot import demos_of, pool_of

if TYPE_CHECKING:
    import optuna

_KEPT = 3  # demonstration sets taken over from candidates that were tried before
_KNOWN = 40  # suggestions in a row that ask nothing new, after which the space counts as searched


@dataclass(frozen=True, kw_only=True)
class DemoSet:
    """Demonstrations of all predictors."""

    name: str  # what it is, for the record
    demos: Mapping[str, tuple[tuple[Demo, ...], Remembered | None]]  # by predictor, with what it remembers
    ids: tuple[str, ...] = ()  # their cases


class Space:
    """What is searched: the choices of each dimension, by index; 0 is what the basic prompt has."""

    def __init__(self, optimizer: Optuna, job: Job, board: Board, start: Candidate) -> None:
        """Take the space as the board stands; the start is scored on some of train to know what it gets wrong."""
        self.basic = board.basic_state()
        known = [board.candidates[one.id] for one in board.by_gain()]
        ranked = [start, *sorted(known, key=lambda one: not board.scored(one, job.dev))]
        # distinct instructions of each predictor, each with the candidate that it is from
        self.instructions: dict[str, list[tuple[str, str]]] = {}
        for name in self.basic.predictors:
            texts: dict[str, str] = {}
            for one in (board.basic, *ranked):
                texts.setdefault(one.state.predictors[name].instructions, one.id)
            self.instructions[name] = list(texts.items())[: max(1, optimizer.instructions)]
        kept = [DemoSet(name="none", demos={})]
        for one in ranked:
            demos = {name: shown for name, shown in one.state.shown.items() if any(shown)}
            if demos and not any(demos == other.demos for other in kept):
                kept.append(DemoSet(name=f"kept of {one.id}", demos=demos, ids=one.demo_ids))
        kept = kept[: _KEPT + 1]
        used = {id_ for demos_ in kept for id_ in demos_.ids}
        # The order of OPRO's race: what was asked there is known here.
        pool = [case for case in pool_of(job) if case.id not in start.demo_ids]
        order = stratified(pool, job.judge.answer, random.Random(f"race/{job.seed}"))
        free = [case for case in order if case.id not in used]
        self.cases = free[: min(optimizer.sample, len(free) // 2)]  # on which trials are scored; in no set
        scored = {case.id for case in self.cases}
        rest = [case for case in order if case.id not in scored]
        self.sets = [*kept, *_drawn(optimizer, job, board, start, rest)]
        fitted = job.judge.answer.scale.uses_threshold and job.sampling.threshold is None
        votes = job.sampling.samples if fitted else 1
        self.thresholds = tuple(range(1, votes + 1)) if votes > 1 else ()

    @property
    def sizes(self) -> dict[str, int]:
        """The number of choices of each dimension that has several."""
        sizes = {self._dimension(name): len(texts) for name, texts in self.instructions.items()}
        sizes["demonstrations"] = len(self.sets)
        sizes["threshold"] = len(self.thresholds)
        return {name: count for name, count in sizes.items() if count > 1}

    def _dimension(self, predictor: str) -> str:
        return "instruction" if len(self.instructions) == 1 else f"instruction of {predictor}"

    def choice(self, at: Mapping[str, int]) -> dict[str, Any]:
        """Return the point with these indices, as arguments of :meth:`Board.add`; what is not named is at 0."""
        state, demos, params = self.basic, self.sets[at.get("demonstrations", 0)], dict[str, Any]()
        for name, texts in self.instructions.items():
            text, source = texts[at.get(self._dimension(name), 0)]
            state = state.with_instruction(name, text)
            state = state.with_demos(name, *demos.demos.get(name, ((), None)))
            params[self._dimension(name)] = source
        threshold = self.thresholds[at.get("threshold", 0)] if self.thresholds else None
        params["demonstrations"] = demos.name
        return {
            "state": state,
            "setting": Setting(threshold=threshold),
            "demo_ids": demos.ids,
            "params": params,
        }

    def at(self, candidate: Candidate) -> dict[str, int]:
        """Return the indices of a candidate's instructions and threshold, with its demonstrations if they are kept."""
        prompts, indices = candidate.state.predictors, dict[str, int]()
        for name, texts in self.instructions.items():
            known = [text for text, _ in texts]
            indices[self._dimension(name)] = _index(known, prompts[name].instructions)
        demos = {name: shown for name, shown in candidate.state.shown.items() if any(shown)}
        indices["demonstrations"] = _index([one.demos for one in self.sets], demos)
        if self.thresholds:
            wanted = candidate.setting.threshold or majority(len(self.thresholds))
            indices["threshold"] = self.thresholds.index(wanted)
        return indices


def _index(known: Sequence[Any], wanted: Any) -> int:
    return known.index(wanted) if wanted in known else 0


def _drawn(
    optimizer: Optuna, job: Job, board: Board, start: Candidate, pool: Sequence[Case]
) -> Iterator[DemoSet]:
    """Yield new sets: balanced ones, and contrastive ones where the start is wrong on enough of the pool."""
    random_, answer = random.Random(f"optuna/{job.seed}/{start.id}"), job.judge.answer
    looked = list(pool[: optimizer.hard])
    scores = zip(looked, board.score(start, looked), strict=True)
    wrong = {case.id for case, outcome in scores if outcome.score < 1}
    for size in dict.fromkeys(min(size, len(pool)) for size in optimizer.sizes):
        for kind, able in (("balanced", size > 0), ("contrast", size >= 2 and len(wrong) >= 2)):
            for number in range(1, optimizer.sets + 1 if able else 1):
                cases = (
                    draw_demos(pool, size, answer, random_)
                    if kind == "balanced"
                    else draw_contrasting(pool, size, answer, random_, wrong)
                )
                fixed = demos_of(job.judge, board.basic_state().predictors, cases)
                yield DemoSet(
                    name=f"{kind} {size}, draw {number}",
                    demos={predictor: (demos, None) for predictor, demos in fixed.items()},
                    ids=tuple(sorted({case.id for case in cases})),
                )


@dataclass(frozen=True, kw_only=True)
class Optuna:
    """The joint search's settings."""

    # distinct instructions of each predictor, the best by lower bound; the basic one always
    instructions: int = 8
    sizes: tuple[int, ...] = (4, 8)  # numbers of demonstrations
    sets: int = 2  # sets drawn for each size and kind (balanced, contrast)
    sample: int = 40  # train cases on which trials are scored besides dev
    hard: int = 30  # train cases on which the start is scored to find those it gets wrong
    # different candidates that are tried; those that differ in the vote threshold only count once
    trials: int = 60
    block: int = 10  # cases in a block; the pruner decides after each
    startup: int = 6  # trials drawn at random, and complete, before TPE suggests and the pruner prunes
    warmup: int = 1  # blocks that every trial runs
    name: str = "optuna"

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one trial, and for finding hard cases."""
        train = min(self.sample, len(job.train) // 2)
        hard = min(self.hard, len(job.train) - train)
        return (2 * (len(job.dev) + train) + hard) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Search; return the best candidate on the board."""
        space = Space(self, job, board, start)
        if all(len(texts) == 1 for texts in space.instructions.values()):
            job.note("optuna: only the basic instruction is known; opro+optuna would search others too")
        job.note("optuna searches " + " x ".join(f"{count} {name}" for name, count in space.sizes.items()))
        if space.sizes:
            self._search(job, board, start, space)
        best = board.best(job.dev) or start
        job.note(f"optuna: best {board.name(best)}", board.value(best, job.dev), kind="step")
        return best

    def _search(self, job: Job, board: Board, start: Candidate, space: Space) -> None:
        order = stratified([*space.cases, *job.dev], job.judge.answer, random.Random(f"optuna/{job.seed}"))
        parts, sizes = list(blocks(order, self.block)), space.sizes
        board.score(board.basic, order)
        with _quiet() as optuna:
            halving = optuna.pruners.SuccessiveHalvingPruner(
                min_resource=max(1, self.warmup), reduction_factor=2
            )
            study = optuna.create_study(
                direction="maximize",
                sampler=optuna.samplers.TPESampler(
                    seed=job.seed, n_startup_trials=self.startup, multivariate=True
                ),
                pruner=halving,
            )
            for first in (space.at(start), space.at(board.basic)):
                study.enqueue_trial({name: first.get(name, 0) for name in sizes}, skip_if_exists=True)
            tried, known = set[str](), 0
            while len(tried) < self.trials and known < _KNOWN:
                trial = study.ask()
                at = {
                    name: trial.suggest_int(name, 0, count - 1)
                    if name == "threshold"
                    else trial.suggest_categorical(name, range(count))
                    for name, count in sizes.items()
                }
                choice = space.choice(at)
                words = ", ".join(f"{name} {value}" for name, value in choice["params"].items())
                about = {"parent": start, "source": f"optuna: {words}", "step": trial.number + 1}
                candidate = board.add(**choice, **about)
                known = known + 1 if candidate.asked_id in tried else 0
                tried.add(candidate.asked_id)
                self._run(job, board, study, trial, candidate, parts)

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

        done, name, pruned = list[Case](), f"trial {trial.number + 1}: {candidate.id}", False
        for number, block in enumerate(parts):
            done += block
            board.score(candidate, block)
            trial.report(board.value(candidate, done), number)
            pruned = number >= self.warmup and number + 1 < len(parts) and trial.should_prune()
            if pruned:
                break
        value = board.value(candidate, done)
        if pruned:
            study.tell(trial, state=TrialState.PRUNED)
            name += f" pruned after {len(done)} cases"
        else:
            study.tell(trial, value)
        job.note(name, value, kind="candidate")


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
