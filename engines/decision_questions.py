"""The questions that a typed request puts to a decision model, and the values that its probabilities give.

A decision model takes a text and questions, and returns probabilities: no text. The instruction of a predictor is the
question. Its lines of the form ``LABEL: words`` describe the choices, so that one text holds all of the wording.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

import dspy

from ..errors import ModelError
from ..text.distributions import (
    NO,
    YES,
    Distribution,
    expected_score,
    label_shares,
    likeliest_label,
    mean_place,
)
from ..text.numbered_answers import (
    ONE_TO_FIVE,
    QUESTIONS_KEY,
    RANGES,
    YES_NO,
    last_numbered_texts,
    write_numbered_answers,
)
from .draws import TypedRequest
from .dspy_internals import format_field_value
from .offline.shapes import Field, declared_field
from .token_probabilities import closed_fields

QuestionKind: TypeAlias = Literal["predicate", "choice", "score"]
Subject: TypeAlias = str | dict[str, str | dspy.Image]
"""What questions are about: the text of the only input, or input field -> text or image."""

MOST_CHOICES: Final = 255
"""The most choices of a question: of TypeSafe's and of OpenAI's endpoint alike."""
MOST_LEVELS: Final = 10
"""The most levels of a score."""
_AFFIRMATIVE: Final[Mapping[frozenset[str], str]] = {
    frozenset({"yes", "no"}): "yes",
    frozenset({"true", "false"}): "true",
}
"""The labels of a yes/no question, in lower case -> the one that says yes."""
_CONSTRAINTS: Final = "Constraints:"
"""The beginning of the line in which DSPy gives the least and the greatest value of a number."""
_FORMS: Final[Mapping[str, str]] = {
    "echo": "an echo of the text in tags",
    "indices": "a list of numbers",
    "texts": "a list of texts",
    "objects": "a set of objects",
    "bools": "a list of flags",
    "tag": "an object",
    "map": "an object",
    "number": "a number without ends",
}
"""Kind of field that no decision model can answer -> its form in words."""


@dataclass(frozen=True, kw_only=True)
class TypedQuestion:
    """A question that a decision model answers with probabilities."""

    name: str
    kind: QuestionKind
    instruction: str
    choices: tuple[str, ...] = ()  # of a score its levels, the lowest first; none of a predicate
    descriptions: Mapping[str, str] | None = None  # choice, or ``true`` and ``false`` -> words

    def description_of(self, choice: str) -> str:
        """Return the words that describe a choice; empty without any."""
        return (self.descriptions or {}).get(choice, "")


class SmallQuestion(Protocol):
    """A small question that a prompt asks beside the judge's own."""

    @property
    def text(self) -> str:
        """The question."""

    @property
    def kind(self) -> str:
        """The kind of its answer, one of ``ANSWER_KINDS``."""


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """The values that a decision model's probabilities give to the output fields of a request."""

    values: Mapping[str, object]  # output field -> value
    # output field with closed labels -> label -> probability, once for each unit
    probabilities: Mapping[str, Sequence[Mapping[str, float]]]


def subject_of_request(request: TypedRequest) -> Subject:
    """Return the subject of the questions of a request: its inputs."""
    values: dict[str, str | dspy.Image] = {}
    for name, info in request.signature.input_fields.items():
        if name not in request.inputs:
            continue
        value = request.inputs[name]
        if isinstance(value, dspy.Image):
            values[name] = value
            continue
        if not isinstance(value, str):
            value = format_field_value(field_info=info, value=value)
        values[name] = str(value)
    if len(values) == 1:
        (only_value,) = values.values()
        if isinstance(only_value, str):
            return only_value
    return values


def typed_questions(request: TypedRequest) -> tuple[TypedQuestion, ...]:
    """Return all questions of a request; a ``ModelError`` names a field that no decision model can answer."""
    if request.demos:
        raise ModelError(
            "a decision model is shown no demonstrations, and this prompt has some",
            hint="compile the judge for this model: jurist compile JUDGE --model systemone/NAME --api-base URL",
        )
    questions = small_questions(request)
    for field in output_fields_of(request):
        questions += questions_about(field, request)
    return tuple(questions)


def make_decisions(request: TypedRequest, distributions: Mapping[str, Distribution]) -> Decisions:
    """Return the values of a request's output fields.

    Args:
        request: the request whose questions (:func:`typed_questions`) were answered.
        distributions: name of a question -> its probabilities.
    """
    values: dict[str, object] = {}
    probabilities: dict[str, Sequence[Mapping[str, float]]] = {}
    small_answers_field = _small_answers_field(request)
    if small_answers_field is not None:
        numbers: list[float] = []
        for question in small_questions(request):
            numbers.append(_number_of_answer(question, distributions[question.name]))
        values[small_answers_field] = write_numbered_answers(numbers)
    for field in output_fields_of(request):
        answers: list[Distribution] = []
        for question in questions_about(field, request):
            answers.append(distributions[question.name])
        values[field.name] = _value_of_field(field, request, answers)
        if field.name in closed_fields(request.signature) and field.shape.kind != "labels":
            probabilities[field.name] = [_choice_probabilities(field, answer) for answer in answers]
    return Decisions(values=values, probabilities=probabilities)


def split_wording(instruction: str, labels: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return an instruction without its lines ``LABEL: words``, and label -> words of these lines."""
    label_of_name = {label.casefold(): label for label in labels}
    question_lines: list[str] = []
    descriptions: dict[str, str] = {}
    for line in instruction.splitlines():
        name, colon, words = line.strip().lstrip("-*• ").partition(":")
        label = label_of_name.get(name.strip(" `'\"").casefold())
        if label is not None and colon and words.strip():
            descriptions[label] = words.strip()
        else:
            question_lines.append(line)
    return "\n".join(question_lines).strip(), descriptions


def join_wording(question: str, descriptions: Mapping[str, str]) -> str:
    """Return the instruction that holds a question and a line ``LABEL: words`` for each label."""
    lines = [question]
    for label, words in descriptions.items():
        lines.append(f"{label}: {words}")
    return "\n".join(lines)


def output_fields_of(request: TypedRequest) -> list[Field]:
    """Return the declared output fields of a request, without the one that takes the answers to small questions."""
    fields: list[Field] = []
    for name, info in request.signature.output_fields.items():
        if name != _small_answers_field(request):
            fields.append(declared_field(name, info))
    return fields


def _small_answers_field(request: TypedRequest) -> str | None:
    """Return the name of the output field that takes the answers to small questions; ``None`` without one."""
    for name, info in request.signature.output_fields.items():
        if QUESTIONS_KEY in (info.json_schema_extra or {}):
            return str(name)
    return None


def small_questions(request: TypedRequest) -> list[TypedQuestion]:
    """Return the small questions of a request: a predicate for yes or no, a score for 1 to 5."""
    name = _small_answers_field(request)
    if name is None:
        return []
    numbered: Sequence[SmallQuestion] = request.signature.output_fields[name].json_schema_extra[QUESTIONS_KEY]
    lowest, highest = RANGES[ONE_TO_FIVE]
    levels = tuple(str(level) for level in range(int(lowest), int(highest) + 1))
    questions: list[TypedQuestion] = []
    for number, question in enumerate(numbered, 1):
        question_name = f"{name}_{number}"
        if question.kind == YES_NO:
            typed = TypedQuestion(name=question_name, kind="predicate", instruction=question.text)
        else:
            typed = TypedQuestion(name=question_name, kind="score", instruction=question.text, choices=levels)
        questions.append(typed)
    return questions


def _number_of_answer(question: TypedQuestion, answer: Distribution) -> float:
    """Return the number that an answer to a small question stands for: the probability of yes, or the mean level."""
    if question.kind == "predicate":
        return answer[YES]
    return float(question.choices[0]) + mean_place(answer)


def questions_about(field: Field, request: TypedRequest) -> Iterator[TypedQuestion]:
    """Yield the questions that an output field stands for: one, or one for each of several labels or sentences."""
    shape = field.shape
    is_only = len(output_fields_of(request)) == 1
    wording, descriptions = split_wording(request.signature.instructions, shape.labels)
    instruction = _instruction_of(wording, field, is_only=is_only)
    match shape.kind:
        case "bool" | "label" | "preference":
            yield _label_question(field.name, instruction, shape.labels, descriptions)
        case "labels":
            for number, label in enumerate(shape.labels, 1):
                words = descriptions.get(label, "")
                label_instruction = f"{instruction}\nDoes this apply: {label}"
                if words:
                    label_instruction += f" ({words})"
                yield TypedQuestion(
                    name=f"{field.name}_{number}", kind="predicate", instruction=f"{label_instruction}?"
                )
        case "tags":
            for number, text in _numbered_texts(request, field):
                sentence_instruction = f"{instruction}\nThe sentence: {text}"
                yield _label_question(
                    f"{field.name}_{number}", sentence_instruction, shape.labels, descriptions
                )
        case "score":
            levels = _levels(field)
            level_wording, level_words = split_wording(request.signature.instructions, levels)
            yield TypedQuestion(
                name=field.name,
                kind="score",
                instruction=_instruction_of(level_wording, field, is_only=is_only),
                choices=levels,
                descriptions=level_words,
            )
        case _:
            raise _unanswerable(field)


def _instruction_of(wording: str, field: Field, *, is_only: bool) -> str:
    """Return the instruction of a field's questions: the wording, and below it the field's description.

    Where a signature has several output fields, the description begins with the field's name.
    """
    description_lines: list[str] = []
    for line in field.description.splitlines():
        if not line.startswith(_CONSTRAINTS):  # the levels of a score say its ends
            description_lines.append(line)
    words = "\n".join(description_lines)
    if not is_only:
        words = f"{field.name}: {words or field.name.replace('_', ' ')}"
    return f"{wording}\n{words}".strip()


def _label_question(
    name: str, instruction: str, labels: Sequence[str], descriptions: Mapping[str, str]
) -> TypedQuestion:
    """Return the question which of the labels holds: a predicate where they say yes and no, else a choice."""
    if not 2 <= len(labels) <= MOST_CHOICES:
        raise ModelError(
            f"{name!r} has {len(labels)} labels, and a decision model chooses among 2 to {MOST_CHOICES}",
            hint="name another model, or split the labels into several fields",
        )
    yes = affirmative_of(labels)
    if not yes:
        return TypedQuestion(
            name=name,
            kind="choice",
            instruction=instruction,
            choices=tuple(labels),
            descriptions=dict(descriptions),
        )
    words: dict[str, str] = {}
    for label, description in descriptions.items():
        words[YES if label == yes else NO] = description
    return TypedQuestion(name=name, kind="predicate", instruction=instruction, descriptions=words)


def affirmative_of(labels: Sequence[str]) -> str:
    """Return the label that says yes; empty where the labels are not one that says yes and one that says no."""
    affirmative = _AFFIRMATIVE.get(frozenset(label.casefold() for label in labels), "")
    for label in labels:
        if label.casefold() == affirmative:
            return label
    return ""


def _levels(field: Field) -> tuple[str, ...]:
    """Return the levels of a score, the lowest first.

    Raises:
        ModelError: there are too many, or they are not whole numbers, one apart.
    """
    shape = field.shape
    count = round(shape.high - shape.low) + 1
    has_whole_ends = shape.low.is_integer() and shape.high.is_integer()
    has_all_between = not shape.levels or len(shape.levels) == count
    if not (has_whole_ends and has_all_between and 2 <= count <= MOST_LEVELS):
        raise ModelError(
            f"{field.name!r} is a score from {shape.low:g} to {shape.high:g}, and a decision model scores on 2 to "
            f"{MOST_LEVELS} levels, one apart",
            hint="give the field such ends, for example 1 to 5, or name another model",
        )
    return tuple(str(int(shape.low) + place) for place in range(count))


def _numbered_texts(request: TypedRequest, field: Field) -> list[tuple[int, str]]:
    """Return number and text of each sentence that a row asks about."""
    values = [request.inputs.get(name) for name in request.signature.input_fields]
    judged_texts = last_numbered_texts(values)
    if not judged_texts:
        raise _unanswerable(field)
    return judged_texts


def _unanswerable(field: Field) -> ModelError:
    """Return the error for an output field that no decision model can answer."""
    form = _FORMS.get(field.shape.kind, "a text")
    return ModelError(
        f"a decision model answers closed questions, and {field.name!r} is {form}",
        hint="name a model that writes text, or make the field a label, a yes or no, or a score",
    )


def _value_of_field(field: Field, request: TypedRequest, answers: Sequence[Distribution]) -> object:
    """Return the value that the probabilities of its questions give to an output field."""
    shape = field.shape
    match shape.kind:
        case "bool":
            return _likeliest_label(field, answers[0]) == shape.labels[0]
        case "labels":
            labels: list[str] = []
            for label, answer in zip(shape.labels, answers, strict=True):
                if answer[YES] >= answer[NO]:
                    labels.append(label)
            return labels
        case "tags":
            items: list[dict[str, object]] = []
            number_name, label_name = shape.part_name("number"), shape.part_name("label")
            for (number, _), answer in zip(_numbered_texts(request, field), answers, strict=True):
                item: dict[str, object] = {part.name: "" for part in shape.parts}
                item[number_name] = number
                item[label_name] = _likeliest_label(field, answer)
                items.append(item)
            return items
        case "score":
            return expected_score(answers[0], shape.low, is_whole=shape.is_integer)
    return _likeliest_label(field, answers[0])


def _likeliest_label(field: Field, answer: Distribution) -> str:
    """Return the label with the highest probability, the first among equals."""
    return likeliest_label(_choice_probabilities(field, answer))


def _choice_probabilities(field: Field, answer: Distribution) -> dict[str, float]:
    """Return label -> probability of one answer; the probabilities are scaled to a sum of 1.

    Raises:
        ValueError: all of them are 0. KeyError: the answer lacks a label.
    """
    labels = field.shape.labels
    return label_shares(labels, affirmative_of(labels), answer)
