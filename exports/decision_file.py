"""Exports of a judge that a decision model answers, as one Python file that needs no package."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

import dspy

from ..engines.decision_models import (
    MOST_QUESTIONS,
    OPENAI_DECISIONS,
    openai_body,
    systemone_question,
)
from ..engines.decision_questions import (
    TypedQuestion,
    affirmative_of,
    output_fields_of,
    questions_about,
    small_questions,
)
from ..engines.draws import TypedRequest
from ..engines.offline.shapes import Shape
from ..engines.token_probabilities import closed_fields
from ..errors import UsageError
from .decision_judge import DecidedField, DecisionQuestion
from .portable_file import PortableFile, portable_spec
from .target import Subject, only_predictor

_PATHS: Final[Mapping[bool, str]] = {True: "/v1/decisions", False: "/v1/systemone"}
"""Whether the endpoint speaks OpenAI's protocol -> its path."""


class DecisionFile(PortableFile):
    """A file of Python whose judge asks a decision model with the standard library."""

    class_name = "DecisionJudge"
    last_modules = ("text.distributions", "exports.decision_judge")

    def spec_of(self, subject: Subject) -> dict[str, Any]:
        """Return the JSON values from which the judge of the file is made.

        Raises:
            UsageError: the judge asks more than one prompt, or its samples are combined by code of jurist's.
        """
        assert subject.card is not None
        provider, _, sent_name = (subject.model_of_proof or "").partition("/")
        is_openai = provider == OPENAI_DECISIONS
        predictor = only_predictor(subject)
        spec = portable_spec(subject)
        if spec["flow"] != "once":
            raise UsageError(
                f"{subject.ref} asks in several steps, which the file of a decision model cannot",
                hint="jurist serve answers over HTTP",
            )
        spec["steps"] = {}
        spec["by_probability"] = subject.thresholds.sampling.by_probability
        spec["decisions"] = {
            "path": _PATHS[is_openai],
            "model": sent_name,
            "most": MOST_QUESTIONS,
            "body": subject.card.model.body or {},
            "fields": _decided_fields(predictor.signature, is_openai=is_openai),
        }
        return spec


def _decided_fields(signature: type[dspy.Signature], *, is_openai: bool) -> list[DecidedField]:
    """Return the output fields of a signature with their questions: small questions first, as they are asked."""
    mark = f"sentence-{uuid4().hex}"
    # The questions are made for a row whose only sentence is a mark; the exported file puts each sentence in its place.
    inputs = dict.fromkeys(signature.input_fields, f"1. {mark}")
    request = TypedRequest(adapter=dspy.ChatAdapter(), signature=signature, demos=(), inputs=inputs)
    fields: list[DecidedField] = []
    small = small_questions(request)
    if small:
        fields.append(_decided_field("", "answers", small, Shape(kind="text"), is_openai=is_openai))
    for field in output_fields_of(request):
        questions = list(questions_about(field, request))
        shape = field.shape
        decided = _decided_field(field.name, shape.kind, questions, shape, mark, is_openai=is_openai)
        decided["has_shares"] = field.name in closed_fields(signature) and shape.kind != "labels"
        fields.append(decided)
    return fields


def _decided_field(
    name: str,
    kind: str,
    questions: Sequence[TypedQuestion],
    shape: Shape,
    mark: str = "",
    *,
    is_openai: bool,
) -> DecidedField:
    """Return an output field with its questions."""
    entries: list[DecisionQuestion] = []
    for question in questions:
        if is_openai:
            (body,) = openai_body("", "", (question,))["questions"]
            del body["name"]
        else:
            body = systemone_question(question)
        entry: DecisionQuestion = {
            "name": question.name,
            "body": body,
            "after_sentence": None,
            "choices": question.choices,
            "low": None,
        }
        if question.kind == "score":
            entry["choices"] = [str(place) for place in range(len(question.choices))]
            entry["low"] = float(question.choices[0])
        if kind == "tags":
            before, _, after = body["instructions"].partition(mark)
            entry["body"] = {**body, "instructions": before}
            entry["after_sentence"] = after
            entry["name"] = question.name.removesuffix("1")
        entries.append(entry)
    number, label = shape.part_name("number"), shape.part_name("label")
    return {
        "name": name,
        "kind": kind,
        "questions": entries,
        "labels": shape.labels,
        "affirmative": affirmative_of(shape.labels),
        "low": shape.low,
        "is_whole": shape.is_integer,
        "has_shares": False,
        "number": number,
        "label": label,
        "others": [part.name for part in shape.parts if part.name not in (number, label)],
    }
