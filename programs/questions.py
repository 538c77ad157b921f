"""Small questions about a row that a prompt asks in the same call, before it asks for the judge's answer.

A question is answered with yes or no, or with 1 to 5, from the row alone. One output field takes all answers.
:mod:`jurist.programs.word_rule` makes a value of them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import dspy
from pydantic.fields import FieldInfo

from ..errors import UsageError
from ..text.numbered_answers import (
    ANSWER_KINDS,
    ONE_TO_FIVE,
    QUESTIONS_KEY,
    YES_NO,
    read_numbered_answers,
)
from .verdicts import Verdict

FIELD: Final = "question_answers"
"""The output field that holds all answers."""
_REQUEST: Final = (
    "the answer to each of these questions about the row, one a line, as in `1: yes`; each of them is answered alone, "
    "by what the row says"
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question about a row."""

    text: str
    kind: str = YES_NO  # of its answer, one of ``ANSWER_KINDS``

    def __post_init__(self) -> None:
        """Refuse a kind that no reader knows."""
        if self.kind not in ANSWER_KINDS:
            raise ValueError(
                f"a question is answered with {' or with '.join(ANSWER_KINDS)}, not {self.kind!r}"
            )

    def to_json(self) -> dict[str, str]:
        """Return the question as JSON values."""
        return {"text": self.text, "kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Question":
        """Return the question that :meth:`to_json` wrote."""
        return cls(text=str(data["text"]), kind=str(data["kind"]))


Questions: TypeAlias = tuple[Question, ...]
"""The questions that a prompt asks, in the order of their numbers, from 1."""

_QUESTION: Final = re.compile(
    r"\W*(?:\d+\s*[.):](?!\d)\s*)?(?P<text>\w.*?[?？])\W*?(?:[\[(](?P<kind>[^\[\]()]*)[\])])?\W*", re.UNICODE
)
"""A line with a question, then its kind of answer in brackets."""
_SCORED: Final = re.compile(r"(?<!\d)1\s*(?:to|-|–|\.\.|…)\s*5(?!\d)")
"""The brackets of a question that is answered with 1 to 5."""

_QUESTION_HINT: Final = (
    "write one question a line, with [yes or no] or [1 to 5]: Is the reply polite? [yes or no]"
)


def parse_question(line: str) -> Question | None:
    """Return the question in a line, such as ``Is it polite? [1 to 5]``; ``None`` where there is none.

    One that asks for other numbers than 1 to 5 is none.
    """
    match = _QUESTION.fullmatch(line.strip())
    if match is None:
        return None
    brackets = match["kind"] or ""
    kind = YES_NO
    if _SCORED.search(brackets):
        kind = ONE_TO_FIVE
    elif re.search(r"\d", brackets):
        return None
    return Question(text=match["text"], kind=kind)


def parse_questions(lines: Sequence[str]) -> Questions:
    """Return the questions of a user's list, one a line.

    Raises:
        UsageError: a line holds no question or one that was there before, or there is no question at all.
    """
    questions: list[Question] = []
    texts = set[str]()
    for line in lines:
        if not line.strip():
            continue
        question = parse_question(line)
        if question is None:
            raise UsageError(
                f"{line.strip()!r} is no question",
                hint=_QUESTION_HINT,
            )
        if question.text in texts:
            raise UsageError(
                f"the question {question.text!r} stands there twice", hint="leave out one of them"
            )
        texts.add(question.text)
        questions.append(question)
    if not questions:
        raise UsageError(
            "the list has no questions",
            hint=_QUESTION_HINT,
        )
    return tuple(questions)


def questions_of(signature: type[dspy.Signature]) -> Questions:
    """Return the questions that a signature asks; empty for a signature without any."""
    field = signature.output_fields.get(FIELD)
    if field is None or not isinstance(field.json_schema_extra, dict):
        return ()
    return tuple(field.json_schema_extra.get(QUESTIONS_KEY, ()))


def with_questions(signature: type[dspy.Signature], questions: Questions) -> type[dspy.Signature]:
    """Return a signature with these questions, in place of any that it has, before its own outputs."""
    if questions_of(signature) == questions:
        return signature
    if questions_of(signature):
        signature = signature.delete(FIELD)
    if not questions:
        return signature
    longer_signature: type[dspy.Signature] = signature.prepend(FIELD, _answer_field(questions), type_=str)
    return longer_signature


def _answer_field(questions: Questions) -> FieldInfo:
    """Return the output field that takes the answers to these questions; its description lists them."""
    lines = [_REQUEST]
    for number, question in enumerate(questions, 1):
        lines.append(f"  {number}: {question.text} ({question.kind})")
    field: FieldInfo = dspy.OutputField(desc="\n".join(lines))
    extra: Any = field.json_schema_extra
    extra[QUESTIONS_KEY] = questions
    return field


@lru_cache(maxsize=64)
def kinds_of(questions: Questions) -> tuple[str, ...]:
    """Return the kind of answer of each question."""
    return tuple(question.kind for question in questions)


def read_answers(verdict: Verdict, reply: Mapping[str, object], questions: Questions) -> Verdict:
    """Return the verdict of a reply with its answers to the questions.

    A reply that answers none of them has no value, as an unusable reply.

    Args:
        verdict: the verdict that the judge's answer read from the reply.
        reply: the output fields of the reply.
        questions: the questions that its prompt asked.
    """
    answers = read_numbered_answers(str(reply.get(FIELD) or ""), kinds_of(questions))
    if any(answer is not None for answer in answers):
        return replace(verdict, answers=tuple(answers))
    return Verdict(
        values=(None,) * len(verdict.values), error=f"none of {len(questions)} questions is answered"
    )
