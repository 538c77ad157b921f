"""``fewshot``: sets of demonstrations of several sizes, drawn at random."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...cases import Case
from ...text.terms import count_tokens
from ..base import Job
from ..candidate import Candidate
from ..demonstrations import demonstrate_cases, ids_of, list_demonstrable_cases
from ..drawing import draw_demos
from ..raced import Raced, Track
from ..settings import CountFromOne, CountFromZero, CountsFromOne


@dataclass(frozen=True, kw_only=True)
class FewShot(Raced):
    """Few-shot demonstration selection, beside the settings of the race."""

    sizes: CountsFromOne = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    sets: CountFromOne = 3  # sets drawn a step, each of another size
    trial: CountFromZero = 0  # sets drawn a step until a prompt with demonstrations leads; 0 for ``sets``
    tokens: CountFromOne = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "fewshot"
    product: ClassVar[str] = "set of demonstrations"

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

    def least_tokens(self, job: Job) -> float:
        """Return the tokens of the demonstrations of the smallest set."""
        return min(self.sizes, default=0) * _mean_tokens(job)

    def _sizes(self, job: Job, pool: Sequence[Case], turn: int, count: int) -> list[int]:
        """Return the sizes of the sets of a step. Steps go on through the sizes that are possible, over and over."""
        largest = max(1, int(self.tokens // max(1.0, _mean_tokens(job))))
        usable_sizes = [min(size, len(pool), largest) for size in self.sizes if size]
        if not usable_sizes:
            return []
        sizes = list(dict.fromkeys(usable_sizes))
        first = (turn - 1) * count
        return [sizes[place % len(sizes)] for place in range(first, first + count)]


def _mean_tokens(job: Job) -> float:
    """Return the mean tokens of the demonstrations that a training case gives."""
    pool = list_demonstrable_cases(job)
    tokens = 0
    for case in pool:
        for demo in job.judge.demos(case).values():
            for value in demo.values():
                tokens += count_tokens(str(value))
    return tokens / len(pool)


optimizer = FewShot
