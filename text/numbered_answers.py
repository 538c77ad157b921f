"""Answers to numbered questions: how they are read from a reply, and their means over several replies.

Written with the standard library, because exports carry this source along and have to read the same.
"""

import re
from collections.abc import Sequence
from typing import Final

YES_NO: Final = "yes or no"
ONE_TO_FIVE: Final = "1 to 5"
ANSWER_KINDS: Final = (YES_NO, ONE_TO_FIVE)
"""The kinds of answers; each question has one."""
_SEPARATOR: Final = re.compile(r"[\n\r]|,\s*(?=[\"']?\d+[\"']?\s*:)")
"""The end of an answer: a line break, or in JSON a comma before the next number."""
_ANSWER: Final = re.compile(
    r"[^\w]*(?:(?:question|answer|q)\W{0,3})?(\d{1,3})[^\w]+(yes|no|[1-5])(?:[^\w.]*|\.|[\"'*]*\s*[,;:.(\u2013\u2014-](?!\d).*)",
    re.IGNORECASE,
)
"""The number of a question, then its answer, which a remark may follow."""


def read_numbered_answers(text: str, kinds: Sequence[str]) -> list[float | None]:
    """Return the answer to each question: 1 for yes and 0 for no, or a number from 1 to 5.

    ``None`` stands for a question without an answer of its kind, and for one that is answered in two ways.
    """
    values_of_question: list[set[float]] = [set() for _ in kinds]
    for line in _SEPARATOR.split(text):
        match = _ANSWER.fullmatch(line.strip())
        if match is None:
            continue
        place = int(match[1]) - 1
        if not 0 <= place < len(kinds):
            continue
        answer = _value_of_answer(match[2].lower(), kinds[place])
        if answer is not None:
            values_of_question[place].add(answer)
    answers: list[float | None] = []
    for values in values_of_question:
        if len(values) == 1:
            answers.append(values.pop())
        else:
            answers.append(None)
    return answers


def _value_of_answer(word: str, kind: str) -> float | None:
    """Return the number that an answer stands for; ``None`` for an answer of another kind."""
    if kind == YES_NO:
        return {"yes": 1.0, "no": 0.0}.get(word)
    if word.isdigit():
        return float(word)
    return None


def mean_answers(samples: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Return the mean answer to each question over the samples that answer it; ``None`` where none does."""
    means: list[float | None] = []
    for answers in zip(*samples, strict=True):
        values: list[float] = []
        for answer in answers:
            if answer is not None:
                values.append(answer)
        if values:
            means.append(sum(values) / len(values))
        else:
            means.append(None)
    return means
