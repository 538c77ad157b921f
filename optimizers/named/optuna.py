"""``optuna``: instructions by OPRO, then what goes best with what, instructions and demonstrations, by Optuna's TPE.

The pruner is successive halving: it needs no complete trials to start from. In a simulator (12 worlds, 8 instructions,
9 demonstration sets, 2 temperatures; mean true accuracy after 500 and 1200 calls): halving 0.899 and 0.928, median
0.842 and 0.924, Wilcoxon at 500 0.853, no pruning 0.842 and 0.908. Multi-objective studies cannot prune, so cost is not
searched.
"""

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...cases import Case
from ...errors import BudgetExhausted
from ...programs.answers.base import Answer
from ..base import Job, Optimizer
from ..board import Board, Candidate
from ..demonstrations import demonstrate_cases, ids_of, list_demonstrable_cases
from ..drawing import blocks, draw_demos, order_by_strata
from ..settings import CountFromOne, CountFromZero, CountsFromOne
from .opro import Opro

_KNOWN = 40  # suggestions in a row that ask nothing new, after which the space counts as searched


@dataclass(frozen=True, kw_only=True)
class Optuna(Optimizer):
    """The joint search's settings."""

    steps: CountFromZero = 30  # rounds of OPRO, which has half of the calls; 0 searches what is there
    instructions: CountFromOne = (
        8  # of those written, the best by what is known of them; the basic one always
    )
    sizes: CountsFromOne = (4, 8)  # numbers of demonstrations
    sets: CountFromOne = 4  # sets drawn for each size
    sample: CountFromZero = 40  # train cases on which trials are scored besides dev
    trials: CountFromOne = 60  # different candidates that are tried
    block: CountFromOne = 10  # cases in a block; the pruner decides after each
    startup: CountFromZero = (
        6  # trials drawn at random, and complete, before TPE suggests and the pruner prunes
    )
    warmup: CountFromZero = 1  # blocks that every trial runs
    name: str = "optuna"

    @property
    def most_demonstrations(self) -> int:
        """The largest set that is tried."""
        return max(self.sizes, default=0)

    def least_cases(self, job: Job) -> int:
        """Return the cases on which trials are scored."""
        return min(len(job.train), self.sample) + len(job.dev)

    def minimum(self, job: Job) -> int:
        """Return twice the calls of the half that needs more."""
        joint = (
            2 * (len(job.dev) + min(self.sample, len(list_demonstrable_cases(job)) // 2)) * job.calls_per_case
        )
        return 2 * max(joint, Opro().minimum(job))

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Search for instructions, then for pairs."""
        start = self._written(job, board, start)
        answer = job.judge.answer
        instructions = self._best_instructions(job, board, start)
        order = order_by_strata(list_demonstrable_cases(job), answer, random.Random(f"race/{job.seed}"))
        scored = order[: min(self.sample, len(order) // 2)]  # in no set of demonstrations
        pool = order[len(scored) :]
        sets = self._draw_sets(pool, answer, random.Random(f"optuna/{job.seed}/{start.id}"))
        job.note(f"optuna searches {len(instructions)} instructions x {len(sets)} demonstrations")
        cases = order_by_strata(scored + list(job.dev), answer, random.Random(f"optuna/{job.seed}"))
        self._search(job, board, start, instructions, sets, list(blocks(cases, self.block)))
        best = board.best(job.dev) or start
        job.note(f"optuna: best {board.name(best)}", board.value(best, job.dev), kind="step")

    def _best_instructions(self, job: Job, board: Board, start: Candidate) -> list[Candidate]:
        """Return the prompts whose instructions are combined: the basic one, the start, then the best others."""
        stands = board.standings()
        scored: list[Candidate] = []
        for candidate in board.candidates.values():
            if candidate.id in stands and not candidate.demo_ids:
                scored.append(candidate)

        def rank(candidate: Candidate) -> tuple[bool, float]:
            return not board.scored(candidate, job.dev), -round(stands[candidate.id].mean, 9)

        scored.sort(key=rank)
        by_text: dict[str, Candidate] = {}
        for candidate in [board.basic, start] + scored:
            by_text[candidate.asked_id] = candidate
        return list(by_text.values())[: max(1, self.instructions)]

    def _draw_sets(
        self, pool: Sequence[Case], answer: Answer, random_: random.Random
    ) -> list[Sequence[Case]]:
        """Return sets of demonstrations of each size, the empty one first."""
        sets: list[Sequence[Case]] = [()]
        if not pool:
            return sets
        sizes = [min(size, len(pool)) for size in self.sizes if size]
        for size in dict.fromkeys(sizes):
            for _ in range(self.sets):
                sets.append(draw_demos(pool, size, answer, random_))
        return sets

    def _written(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Have OPRO write instructions with half of the calls; return the best."""
        meter = job.context.meter
        held_calls = meter.answers_kept_back
        calls_left = meter.calls_left()
        meter.keep_back(held_calls + (calls_left or 0) // 2)
        try:
            Opro(steps=self.steps).run(job, board, start)
        except BudgetExhausted as stop:
            if calls_left is None or stop.limit != "calls":
                raise
        finally:
            meter.keep_back(held_calls)
        return board.best(job.dev) or start

    def _search(
        self,
        job: Job,
        board: Board,
        start: Candidate,
        instructions: Sequence[Candidate],
        sets: Sequence[Sequence[Case]],
        parts: Sequence[Sequence[Case]],
    ) -> None:
        """Try pairs of an instruction and a set of demonstrations, as Optuna proposes them."""
        for part in parts:
            board.score(board.basic, part)
        with _quiet() as optuna:
            pruner = optuna.pruners.SuccessiveHalvingPruner(
                min_resource=max(1, self.warmup), reduction_factor=2
            )
            sampler = optuna.samplers.TPESampler(
                seed=job.seed, n_startup_trials=self.startup, multivariate=True
            )
            study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
            for first in range(min(2, len(instructions))):  # the basic instruction, and the best
                study.enqueue_trial({"instruction": first, "demonstrations": 0})
            trial_ids: set[str] = set()
            repetitions = 0
            while len(trial_ids) < self.trials and repetitions < _KNOWN:
                trial = study.ask()
                instruction = instructions[trial.suggest_categorical("instruction", range(len(instructions)))]
                number = trial.suggest_categorical("demonstrations", range(len(sets)))
                demonstrations = sets[number]
                candidate = board.add(
                    demonstrate_cases(job.judge, instruction.state, demonstrations),
                    parent=start,
                    source=f"optuna: instruction of {board.name(instruction)}, {len(demonstrations)} demonstrations",
                    step=trial.number + 1,
                    demo_ids=ids_of(demonstrations),
                    params={"instruction": instruction.id, "demonstrations": number},
                )
                repetitions = repetitions + 1 if candidate.id in trial_ids else 0
                trial_ids.add(candidate.id)
                scored_cases, is_pruned = self._score_trial(board, candidate, parts, trial)
                value = board.value(candidate, scored_cases)
                name = board.name(candidate)
                if is_pruned:
                    study.tell(trial, None, optuna.trial.TrialState.PRUNED)
                    name = f"{name} pruned after {len(scored_cases)} cases"
                else:
                    study.tell(trial, value, None)
                job.note(name, value, kind="candidate")

    def _score_trial(
        self, board: Board, candidate: Candidate, parts: Sequence[Sequence[Case]], trial: Any
    ) -> tuple[list[Case], bool]:
        """Score a candidate part by part until its trial is pruned; return its cases, and whether it was pruned."""
        cases: list[Case] = []
        for number, part in enumerate(parts):
            cases += part
            board.score(candidate, part)
            trial.report(board.value(candidate, cases), number)
            may_prune = number >= self.warmup and number + 1 < len(parts)
            if may_prune and trial.should_prune():
                return cases, True
        return cases, False


@contextmanager
def _quiet() -> Iterator[Any]:
    """Import Optuna, and keep its logging and its warnings of experimental parts to itself meanwhile."""
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"optuna\..*")
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield optuna
    finally:
        optuna.logging.set_verbosity(verbosity)


optimizer = Optuna
