"""The conditions of questions: which judges can be asked them, and how many labelled cases a head needs.

They stand apart from the heads, whose libraries take a while to load.
"""

from collections import Counter
from typing import Final

import dspy

from ..programs.judge import Judge
from ..programs.questions import FIELD
from .base import Job

LEAST_ANSWERED: Final = 40
"""The fewest labelled cases with answers on which a head is fitted."""
LEAST_OF_SECOND_LABEL: Final = 8
"""The fewest of these cases that have the second most frequent label."""


def may_fit_head(job: Job) -> bool:
    """Say whether train and dev have enough labelled cases for a head."""
    counts = Counter[object]()
    for case in job.train + job.dev:
        if case.labels and case.gold is not None:
            counts[case.gold[0]] += 1
    if counts.total() < LEAST_ANSWERED:
        return False
    if job.judge.answer.scale.learned != "label":
        return True
    return len(counts) > 1 and counts.most_common(2)[1][1] >= LEAST_OF_SECOND_LABEL


def first_trial_size(count: int) -> int:
    """Return the number of the ``count`` cases that a prompt with questions meets first.

    It is a third of them, but enough for a head.
    """
    return min(count, max(2 * LEAST_ANSWERED, count // 3))


def why_no_questions(judge: Judge) -> str:
    """Return the reason why a judge's prompt cannot ask questions too, in words; empty if it can."""
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
