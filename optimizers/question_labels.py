"""Which judges can be split into questions, and with how many labels; what fits a head takes a while to load."""

from collections import Counter
from typing import Final

import dspy

from ..programs.judge import Judge
from ..programs.questions import FIELD
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


def why_no_questions(judge: Judge) -> str:
    """Return why questions cannot be asked beside a judge's own, in words; empty if they can."""
    answer = judge.answer
    if answer.scale.learned not in ("label", "number") or answer.criteria:
        return "its answers are neither closed labels nor scores"
    if answer.per_unit or answer.presentations > 1 or len(answer.unit_fields) > 1:
        return "a row of it has several values, or is asked in two orders"
    if judge.image_fields:
        return "it judges images, which a proposer is not shown"
    if judge.template is not None:
        return "its prompt is sent as it stands"
    if FIELD in judge.signature.fields:
        return f"it has a field {FIELD} of its own"
    program = judge.basic()
    if not isinstance(program, dspy.Predict | dspy.ChainOfThought) or len(program.predictors()) != 1:
        return "its program has code of its own"
    return ""
