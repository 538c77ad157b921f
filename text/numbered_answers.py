"""Answers to numbered questions, read from a reply and averaged over replies; and texts in numbered lines.

Written with the standard library, because exports carry this source along and have to read the same.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

YES_NO: Final = "yes or no"
ONE_TO_FIVE: Final = "1 to 5"
ANSWER_KINDS: Final = (YES_NO, ONE_TO_FIVE)
"""The kinds of answers; each question has one."""
QUESTIONS_KEY: Final = "jurist_questions"
"""The key under which the output field that takes all answers holds the questions."""
RANGES: Final = {YES_NO: (0.0, 1.0), ONE_TO_FIVE: (1.0, 5.0)}
"""Kind of answer -> the least and the greatest number that stands for one; 1 is a yes."""
_YES_AND_NO: Final = {"yes": 1.0, "no": 0.0}
_SEPARATOR: Final = re.compile(r"[\n\r]|,\s*(?=[\"']?\d+[\"']?\s*:)")
"""The end of an answer: a line break, or in JSON a comma before the next number."""
_ANSWER: Final = re.compile(
    r"[^\w]*(?:(?:question|answer|q)\W{0,3})?(\d{1,3})[^\w]+(yes|no|\d\.\d+|[1-5])(?:[^\w.]*|\.|[\"'*]*\s*[,;:.(\u2013\u2014-](?!\d).*)",
    re.IGNORECASE,
)
"""The number of a question, then its answer, which a remark may follow."""
_NUMBERED_LINE: Final = re.compile(r"(\d+)\. (.*)")
"""A sentence as a judge shows it: on one line, behind its number."""


def last_numbered_texts(values: Sequence[object]) -> list[tuple[int, str]]:
    """Return number and text of each line of the last value whose lines are all numbered; empty without such a value.

    That value is the judged input: where the evidence has numbered lines too, it comes before.
    """
    numbered_texts: list[tuple[int, str]] = []
    for value in values:
        if not isinstance(value, str):
            continue
        texts_of_value = _split_numbered_lines(value)
        if texts_of_value:
            numbered_texts = texts_of_value
    return numbered_texts


def _split_numbered_lines(text: str) -> list[tuple[int, str]]:
    """Return number and text of each line; empty unless every line has a number, each higher than the one before."""
    numbered_texts: list[tuple[int, str]] = []
    last_number = -1
    for line in text.splitlines():
        match = _NUMBERED_LINE.fullmatch(line)
        if match is None:
            return []
        number = int(match[1])
        if number <= last_number:
            return []
        last_number = number
        numbered_texts.append((number, match[2]))
    return numbered_texts


def read_numbered_answers(text: str, kinds: Sequence[str]) -> list[float | None]:
    """Return the answer to each question: 1 for yes and 0 for no, or a number from 1 to 5.

    A decimal number is read, too: of a yes-or-no question it is the probability of yes, from 0 to 1. ``None`` stands
    for a question without an answer of its kind, and for one that is answered in two ways.
    """
    values_of_place: defaultdict[int, set[float]] = defaultdict(set)
    for line in _SEPARATOR.split(text):
        match = _ANSWER.fullmatch(line.strip())
        if match is None:
            continue
        place = int(match[1]) - 1
        if not 0 <= place < len(kinds):
            continue
        answer = _value_of_answer(match[2].lower(), kinds[place])
        if answer is not None:
            values_of_place[place].add(answer)

    answers: list[float | None] = []
    for place in range(len(kinds)):
        values = values_of_place[place]
        if len(values) == 1:
            answers.append(values.pop())
        else:
            answers.append(None)
    return answers


def _value_of_answer(word: str, kind: str) -> float | None:
    """Return the number that an answer stands for; ``None`` for an answer of another kind."""
    is_word = word in _YES_AND_NO
    if is_word and kind == YES_NO:
        return _YES_AND_NO[word]
    if is_word:
        return None
    if kind == YES_NO and word.isdigit():
        return None
    value = float(word)
    least, greatest = RANGES[kind]
    if least <= value <= greatest:
        return value
    return None


def write_numbered_answers(answers: Sequence[float]) -> str:
    """Return answers as :func:`read_numbered_answers` reads them: a decimal number a line, behind its number."""
    lines: list[str] = []
    for number, answer in enumerate(answers, 1):
        lines.append(f"{number}: {answer:.4f}")
    return "\n".join(lines)


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
