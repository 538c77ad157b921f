"""``optuna``: the joint stage, after instructions exist: what goes best with what.

Searches instruction x demonstration set x order of demonstrations x vote
threshold, and where several are given x model x temperature x prompt format,
with Optuna's TPE. A trial is one candidate, scored block by block on cases that
all trials meet in one stratified order; after each block a pruner may end it.
A pair of candidate and case that was asked before, in whatever stage, is never
asked again, and thresholds cost nothing: they are counted from stored votes.

The pruner is Optuna's successive halving on the metric of the blocks so far. All
trials meet the same cases in the same order, so values at a block are of the
same cases, and a metric of a set (F1, kappa) is taken as it is. It needs no
complete trials to start from, which counts when calls are few. In a simulator
(12 worlds, 8 instructions, 9 demonstration sets, 2 temperatures; mean true
accuracy after 500 and 1200 calls): halving 0.899 and 0.928, median 0.842 and
0.924, Wilcoxon at 500 0.853, no pruning 0.842 and 0.908.
:class:`optuna.pruners.WilcoxonPruner` also needs SciPy, a mean over blocks, and
four blocks before its level can be reached at all. Multi-objective studies
cannot prune, so cost is not searched: :mod:`jurist.optimizers.pareto` reads the
front of cost and score off the board afterwards.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cases import Case
from ..errors import OptimizerError
from .base import Job, refuse_other
from .board import Board, Candidate
from .optuna_space import Scope, Space, setting_values, space_of
from .racing import blocks, stratified

if TYPE_CHECKING:
    import optuna

_PRUNERS = ("halving", "median", "wilcoxon", "none")
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
    pruner: str = "halving"  # ``halving``, ``median``, ``wilcoxon`` (needs SciPy) or ``none``
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
                pruner=self._pruner(optuna, len(parts)),
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
            # Wilcoxon's test pairs blocks; the others compare all that was seen so far.
            trial.report(board.value(candidate, block if self.pruner == "wilcoxon" else done), number)
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

    def _pruner(self, optuna: Any, count: int) -> Any:
        if self.pruner == "median":
            return optuna.pruners.MedianPruner(n_startup_trials=self.startup, n_warmup_steps=self.warmup)
        if self.pruner == "halving":
            return optuna.pruners.SuccessiveHalvingPruner(
                min_resource=max(1, self.warmup), reduction_factor=2
            )
        if self.pruner == "wilcoxon":
            try:
                import scipy.stats  # noqa: F401 - Optuna imports it in mid-search
            except ImportError as error:
                raise OptimizerError(
                    "the pruner wilcoxon needs SciPy", hint="pip install scipy, or --set pruner=halving"
                ) from error
            return optuna.pruners.WilcoxonPruner(p_threshold=0.1)
        return optuna.pruners.NopPruner()


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
