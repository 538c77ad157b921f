"""The arm of a race that words the question of a decision model in other ways, without a proposer.

Such a model reads a question and descriptions of its choices, and no prompt. A handful of plain wordings is made of
what the judge declares: its instruction, the name and the description of its field, and its labels.
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
    """Proposes other questions and descriptions of the choices, all in its first turn."""

    name: str = "wordings"
    product: ClassVar[str] = "wording of the question"

    def proposer_calls(self, job: Job) -> int:
        """Return 0: no proposer is asked."""
        return 0

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the wordings, and return them; none in later turns."""
        candidates: list[Candidate] = []
        if turn > 1:
            return candidates
        state = track.board.basic.state
        for name, predictor in track.job.judge.basic().named_predictors():
            for wording in wordings_of(predictor.signature):
                changed = state.with_instruction(name, wording)
                candidates += track.fresh(changed, parent=track.board.basic, source=self.name)
        return candidates


def wordings_of(signature: type[dspy.Signature]) -> list[str]:
    """Return other wordings of a signature's question: each of a few questions with each kind of descriptions."""
    wordings: list[str] = []
    labels = _labels_in(signature)
    basic_question, described = split_wording(signature.instructions, labels)
    for question in _questions(signature, basic_question):
        for descriptions in (described, *_descriptions(signature, labels)):
            wording = join_wording(question, descriptions)
            if wording not in (signature.instructions, *wordings):
                wordings.append(wording)
    return wordings


def _labels_in(signature: type[dspy.Signature]) -> tuple[str, ...]:
    """Return the labels of the only field of a signature that gives labels; none of several fields."""
    fields = closed_fields(signature)
    if len(fields) != 1:
        return ()
    (field,) = fields.values()
    return field.labels


def _questions(signature: type[dspy.Signature], basic_question: str) -> list[str]:
    """Return the questions: the basic one, and those that name the fields."""
    judged = _in_words(list(signature.input_fields)[-1])
    questions = [basic_question]
    if len(signature.output_fields) == 1:
        (field,) = signature.output_fields
        questions.append(f"What is the {_in_words(field)} of the {judged}?")
        questions.append(f"{basic_question}\nJudge the {judged} by what it says as a whole.")
    return questions


def _descriptions(signature: type[dspy.Signature], labels: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the kinds of descriptions of the choices, each label -> words."""
    judged = _in_words(list(signature.input_fields)[-1])
    if len(labels) < 2:
        return []
    of_input: dict[str, str] = {}
    of_field: dict[str, str] = {}
    field = _in_words(next(iter(signature.output_fields)))
    for label in labels:
        of_input[label] = f"the {judged} is {_in_words(label)}"
        of_field[label] = f"{_in_words(label)} {field}"
    return [of_input, of_field]


def _in_words(name: str) -> str:
    """Return the name of a field or a label with spaces between its words."""
    return name.replace("_", " ")
