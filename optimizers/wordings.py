"""The arm of a race that gives a decision model other wordings of its question, without a proposer.

A decision model reads no prompt: it reads a question, and a description of each label. The arm makes a handful of plain
wordings of what the judge declares: its instruction, the names of its fields, and its labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import dspy

from ..engines.decision_questions import join_wording, split_wording
from ..engines.token_probabilities import closed_fields
from .base import Job
from .board import Candidate
from .raced import Track


@dataclass(frozen=True, kw_only=True)
class Wordings:
    """The arm. It proposes all wordings in its first turn."""

    name: str = "wordings"
    product: ClassVar[str] = "wording of the question"

    def proposer_calls(self, job: Job) -> int:
        """Return 0: no proposer is asked."""
        return 0

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter a candidate with each wording, and return the new ones; none in later turns."""
        if turn > 1:
            return []
        candidates: list[Candidate] = []
        state = track.board.basic.state
        for name, predictor in track.job.judge.basic().named_predictors():
            for wording in wordings_of(predictor.signature):
                changed = state.with_instruction(name, wording)
                candidates += track.fresh(changed, parent=track.board.basic, source=self.name)
        return candidates


def wordings_of(signature: type[dspy.Signature]) -> list[str]:
    """Return other wordings of a signature's question: each of a few questions with each set of descriptions."""
    wordings: list[str] = []
    labels = _labels_in(signature)
    basic_question, basic_descriptions = split_wording(signature.instructions, labels)
    for question in _phrase_questions(signature, basic_question):
        for descriptions in (basic_descriptions, *_describe_labels(signature, labels)):
            wording = join_wording(question, descriptions)
            if wording not in (signature.instructions, *wordings):
                wordings.append(wording)
    return wordings


def _labels_in(signature: type[dspy.Signature]) -> tuple[str, ...]:
    """Return the labels of the one field of a signature that gives labels; none if there are several such fields."""
    fields = closed_fields(signature)
    if len(fields) != 1:
        return ()
    (field,) = fields.values()
    return field.labels


def _phrase_questions(signature: type[dspy.Signature], basic_question: str) -> list[str]:
    """Return the basic question and, for one output field, two others that name the judged input (the last one)."""
    judged_input = _in_words(list(signature.input_fields)[-1])
    questions = [basic_question]
    if len(signature.output_fields) == 1:
        (field,) = signature.output_fields
        questions.append(f"What is the {_in_words(field)} of the {judged_input}?")
        questions.append(f"{basic_question}\nJudge the {judged_input} by what it says as a whole.")
    return questions


def _describe_labels(signature: type[dspy.Signature], labels: tuple[str, ...]) -> list[dict[str, str]]:
    """Return two sets of descriptions, each label -> words: by the judged input, and by the output field."""
    if len(labels) < 2:
        return []
    by_input: dict[str, str] = {}
    by_field: dict[str, str] = {}
    judged_input = _in_words(list(signature.input_fields)[-1])
    field = _in_words(next(iter(signature.output_fields)))
    for label in labels:
        by_input[label] = f"the {judged_input} is {_in_words(label)}"
        by_field[label] = f"{_in_words(label)} {field}"
    return [by_input, by_field]


def _in_words(name: str) -> str:
    """Return the name of a field or a label with spaces between its words."""
    return name.replace("_", " ")
