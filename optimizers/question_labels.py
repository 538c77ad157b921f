"""The labelled cases that a head over questions needs, without what fits it, which takes a while to load."""

from collections import Counter
from typing import Final

from .base import Job

LEAST_ANSWERED: Final = 40
"""The fewest labelled cases with answers on which a head is fitted."""
LEAST_A_SIDE: Final = 8
"""The fewest of them of the second most frequent label."""


def may_fit_head(job: Job) -> bool:
    """Say whether train and dev have labelled cases enough for a head."""
    counts = Counter[object]()
    for case in job.train + job.dev:
        if case.known and case.gold is not None:
            counts[case.gold[0]] += 1
    if counts.total() < LEAST_ANSWERED:
        return False
    if job.judge.answer.scale.learned != "label":
        return True
    return len(counts) > 1 and counts.most_common(2)[1][1] >= LEAST_A_SIDE


def least_answered(cases: int) -> int:
    """Return on how many of some cases a prompt with questions is tried first: a third, but enough for a head."""
    return min(cases, max(2 * LEAST_ANSWERED, cases // 3))
