"""Optimizers and arms that choose demonstrations: by chance, and the labelled rows most like the one that is judged."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dspy

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.state import Demo, PromptState
from ..text.terms import count_tokens
from .base import Job
from .board import Candidate
from .drawing import draw_demos
from .raced import Raced, Track


@dataclass(frozen=True, kw_only=True)
class FewShot(Raced):
    """Few-shot demonstration selection, beside the settings of the race."""

    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    sets: int = 3  # sets drawn a step, each of another size
    trial: int = 0  # sets drawn a step until a prompt with demonstrations leads; 0 for ``sets``
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "fewshot"

    @property
    def most_demonstrations(self) -> int:
        """The largest set that is tried."""
        return max(self.sizes, default=0)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader with sets of demonstrations that are drawn at random."""
        job = track.job
        leader = track.text  # the best prompt apart from demonstrations
        names = leader.state.predictors.keys()
        pool = [case for case in list_demonstrable_cases(job) if job.judge.demos(case).keys() & names]
        if not pool:
            return []
        random_ = random.Random(f"fewshot/{job.seed}/{turn}")
        count = self.sets
        if self.trial and not track.leader.demo_ids:
            count = self.trial
        candidates: list[Candidate] = []
        for size in self._sizes(job, pool, turn, count):
            cases = draw_demos(pool, size, job.judge.answer, random_)
            candidates += track.fresh(
                demonstrate_cases(job.judge, leader.state, cases),
                parent=leader,
                source=f"{self.name}, {len(cases)} demonstrations",
                demo_ids=ids_of(cases),
                params={"demonstrations": len(cases)},
            )
        return candidates

    def _sizes(self, job: Job, pool: Sequence[Case], turn: int, count: int) -> list[int]:
        """Return the sizes of the sets of a step. Steps go on through the sizes that are possible, over and over."""
        largest = max(1, int(self.tokens // max(1.0, _mean_tokens(job))))
        usable_sizes = [min(size, len(pool), largest) for size in self.sizes if size]
        if not usable_sizes:
            return []
        sizes = list(dict.fromkeys(usable_sizes))
        first = (turn - 1) * count
        return [sizes[place % len(sizes)] for place in range(first, first + count)]


@dataclass(frozen=True, kw_only=True)
class Nearest(Raced):
    """Labelled rows that stay with the prompt: each call shows those most like its own row."""

    sizes: tuple[int, ...] = (8, 16, 4)  # rows a call, one number a step
    tokens: int = 4_000  # the rows of a call take at most about so many
    steps: int = 3
    name: str = "nearest"

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether its prompts show labelled rows that are like the one that is judged: always."""
        return True

    @property
    def most_demonstrations(self) -> int:
        """The most rows that a call shows."""
        return max(self.sizes, default=0)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader with all labelled rows of train as remembered rows."""
        if turn > len(self.sizes):
            return []
        count = self.sizes[turn - 1]
        leader = track.text
        job = track.job
        state = add_remembered_rows(
            job.judge, list_demonstrable_cases(job), leader.state, count, self.tokens, job.settings.embedder
        )
        source = f"{self.name}, the {count} most alike of the labelled rows"
        return track.fresh(state, parent=leader, source=source, demo_ids=(), params={"nearest": count})


def _mean_tokens(job: Job) -> float:
    """Return the mean tokens of the demonstrations that a training case gives."""
    pool = list_demonstrable_cases(job)
    tokens = 0
    for case in pool:
        for demo in job.judge.demos(case).values():
            for value in demo.values():
                tokens += count_tokens(str(value))
    return tokens / len(pool)


def list_demonstrable_cases(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations."""
    if not job.judge.answer.has_examples:
        raise OptimizerError(
            f"gold of {job.judge.name} makes no demonstrations: what passes is not known before it is written",
            hint="use opro, or bootstrap, which shows what passed",
        )
    return job.labelled_train()


def add_remembered_rows(
    judge: Judge,
    cases: Sequence[Case],
    state: PromptState,
    count: int,
    tokens: int,
    embedder: str | None = None,
) -> PromptState:
    """Return a prompt whose predictors remember the labelled cases, and show the most alike with each call.

    Args:
        count: the most rows that a call shows.
        tokens: the most tokens that these have together.
        embedder: the model by whose vectors rows are compared; without one their words are.
    """
    demos_by_case = {case.id: judge.demos(case) for case in cases}
    for name, predictor in judge.basic().named_predictors():
        rows: dict[str, Demo] = {}
        for case_id, demos in demos_by_case.items():
            if name in demos:
                rows[case_id] = demos[name]
        inputs = tuple(predictor.signature.input_fields)
        judged = tuple(field for field in judge.answer.unit_fields if field in inputs)
        if rows and type(predictor) is dspy.Predict:  # another class may ask in a way of its own
            remembered = Remembered(
                rows=rows,
                inputs=inputs,
                fields=judged or inputs,
                shown=count,
                tokens=tokens,
                embedder=embedder or "",
            )
            state = state.with_demos(name, (), remembered)
    return state


def demonstrate_cases(judge: Judge, state: PromptState, cases: Sequence[Case]) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order."""
    demos = collect_demos(judge, state.predictors, cases)
    for name in state.predictors:
        state = state.with_demos(name, demos.get(name, ()))
    return state


def ids_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the ids of cases, each once, sorted."""
    return tuple(sorted({case.id for case in cases}))


def collect_demos(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return predictor -> demonstrations from the gold of ``cases``, in their order; only predictors that get any."""
    demos_by_name: dict[str, list[Demo]] = {name: [] for name in names}
    for case in cases:
        for name, demo in judge.demos(case).items():
            if name in demos_by_name:
                demos_by_name[name].append(demo)
    return {name: tuple(demos) for name, demos in demos_by_name.items() if demos}
