"""The questions that a typed request puts to a decision model, and the values that its probabilities give.

A decision model takes a text and questions, and returns probabilities: no text. The instruction of a predictor is the
question. Its lines of the form ``LABEL: words`` describe the choices, so that one text holds all of the wording.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import dspy

from ..errors import ModelError
from .draws import TypedRequest
from .dspy_internals import format_field_value
from .offline.shapes import Field, declared_field
from .token_probabilities import closed_fields

QuestionKind: TypeAlias = Literal["predicate", "choice", "score"]
State: TypeAlias = str | dict[str, str]
"""What is judged: the text of the only input, or input field -> text."""
Distribution: TypeAlias = Mapping[str, float]
"""Choice, or place of a level from 0 -> probability; of a predicate, ``true`` and ``false``."""

MOST_CHOICES: Final = 255
"""The most choices of a question: of TypeSafe's and of OpenAI's endpoint alike."""
MOST_LEVELS: Final = 10
"""The most levels of a score."""
_TRUE: Final = "true"
_FALSE: Final = "false"
_AFFIRMATIVE: Final[Mapping[frozenset[str], str]] = {
    frozenset({"yes", "no"}): "yes",
    frozenset({"true", "false"}): "true",
}
"""The labels of a yes/no question, in lower case -> the one that says yes."""
_CONSTRAINTS: Final = "Constraints:"
"""The beginning of the line with which DSPy says the ends of a number."""
_NUMBERED: Final = re.compile(r"(\d+)\. (.*)")
"""A sentence as a judge shows it: on one line, with its number."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of a request."""

    name: str
    kind: QuestionKind
    instruction: str
    choices: tuple[str, ...] = ()  # of a score its levels, the lowest first
    descriptions: Mapping[str, str] | None = None  # choice, or ``true`` and ``false`` -> words

    def described(self, choice: str) -> str:
        """Return the words that describe a choice; empty without any."""
        return (self.descriptions or {}).get(choice, "")


@dataclass(frozen=True, kw_only=True)
class Decided:
    """The values of output fields, and field -> the probabilities of each of its labels in order."""

    values: Mapping[str, object]
    probabilities: Mapping[str, Sequence[Mapping[str, float]]]


def state_of(request: TypedRequest) -> State:
    """Return the subject of the questions of a request: the text of its inputs."""
    texts: dict[str, str] = {}
    for name, info in request.signature.input_fields.items():
        if name not in request.inputs:
            continue
        value = request.inputs[name]
        if not isinstance(value, str):
            value = format_field_value(field_info=info, value=value)
        texts[name] = str(value)
    if len(texts) == 1:
        return next(iter(texts.values()))
    return texts


def typed_questions(request: TypedRequest) -> tuple[Question, ...]:
    """Return all questions of a request; a ``ModelError`` names a field that no decision model can answer."""
    if request.demos:
        raise ModelError(
            "a decision model is shown no demonstrations, and this prompt has some",
            hint="compile the judge for this model: jurist compile JUDGE --model systemone/NAME --api-base URL",
        )
    for name, value in request.inputs.items():
        if isinstance(value, dspy.Image):
            raise ModelError(
                f"decision models are asked about texts, and {name!r} is an image",
                hint="name a chat model that sees images",
            )
    questions: list[Question] = []
    for field in _output_fields(request):
        questions += _questions_about(field, request)
    return tuple(questions)


def read_decisions(request: TypedRequest, distributions: Mapping[str, Distribution]) -> Decided:
    """Return the values of a request's output fields by question -> probabilities."""
    values: dict[str, object] = {}
    probabilities: dict[str, Sequence[Mapping[str, float]]] = {}
    for field in _output_fields(request):
        answers: list[Distribution] = []
        for question in _questions_about(field, request):
            answers.append(distributions[question.name])
        values[field.name] = _value(field, request, answers)
        if field.name in closed_fields(request.signature) and field.shape.kind != "labels":
            probabilities[field.name] = [_choice_probabilities(field, answer) for answer in answers]
    return Decided(values=values, probabilities=probabilities)


def split_wording(instruction: str, labels: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the question in an instruction, and label -> the words that a line ``LABEL: words`` describes it by."""
    by_key = {label.casefold(): label for label in labels}
    question_lines: list[str] = []
    descriptions: dict[str, str] = {}
    for line in instruction.splitlines():
        name, colon, words = line.strip().lstrip("-*• ").partition(":")
        label = by_key.get(name.strip(" `'\"").casefold())
        if label is not None and colon and words.strip():
            descriptions[label] = words.strip()
        else:
            question_lines.append(line)
    return "\n".join(question_lines).strip(), descriptions


def join_wording(question: str, descriptions: Mapping[str, str]) -> str:
    """Return the instruction that :func:`split_wording` takes apart."""
    lines = [question]
    for label, words in descriptions.items():
        lines.append(f"{label}: {words}")
    return "\n".join(lines)


def _output_fields(request: TypedRequest) -> list[Field]:
    """Return the declared output fields of a request."""
    fields: list[Field] = []
    for name, info in request.signature.output_fields.items():
        fields.append(declared_field(name, info))
    return fields


def _questions_about(field: Field, request: TypedRequest) -> Iterator[Question]:
    """Yield the questions that an output field stands for."""
    shape = field.shape
    wording, descriptions = split_wording(request.signature.instructions, shape.labels)
    instruction = _with_description(wording, field, is_only=len(request.signature.output_fields) == 1)
    match shape.kind:
        case "bool" | "label" | "preference":
            yield _about_label(field.name, instruction, shape.labels, descriptions)
        case "labels":
            for number, label in enumerate(shape.labels, 1):
                words = descriptions.get(label, "")
                asked = f"{instruction}\nDoes this apply: {label}"
                if words:
                    asked += f" ({words})"
                yield Question(name=f"{field.name}_{number}", kind="predicate", instruction=f"{asked}?")
        case "tags":
            for number, text in _numbered_texts(request, field):
                asked = f"{instruction}\nThe sentence: {text}"
                yield _about_label(f"{field.name}_{number}", asked, shape.labels, descriptions)
        case "score":
            levels = _levels(field)
            _, level_words = split_wording(request.signature.instructions, levels)
            yield Question(
                name=field.name,
                kind="score",
                instruction=instruction,
                choices=levels,
                descriptions=level_words,
            )
        case _:
            raise _unanswerable(field)


def _with_description(wording: str, field: Field, *, is_only: bool) -> str:
    """Return the question of a field: the instruction, and the field's description or, of several fields, its name."""
    described: list[str] = []
    for line in field.description.splitlines():
        if not line.startswith(_CONSTRAINTS):  # the ends of a score are its levels
            described.append(line)
    words = "\n".join(described)
    if not is_only:
        words = f"{field.name}: {words or field.name.replace('_', ' ')}"
    return f"{wording}\n{words}".strip()


def _about_label(
    name: str, instruction: str, labels: Sequence[str], descriptions: Mapping[str, str]
) -> Question:
    """Return the question which of the labels holds: yes or no where these are the labels."""
    if not 2 <= len(labels) <= MOST_CHOICES:
        raise ModelError(
            f"{name!r} has {len(labels)} labels, and a decision model chooses among 2 to {MOST_CHOICES}",
            hint="name another model, or split the labels into several fields",
        )
    yes = affirmative_of(labels)
    if not yes:
        return Question(
            name=name,
            kind="choice",
            instruction=instruction,
            choices=tuple(labels),
            descriptions=dict(descriptions),
        )
    words: dict[str, str] = {}
    for label, description in descriptions.items():
        words[_TRUE if label == yes else _FALSE] = description
    return Question(name=name, kind="predicate", instruction=instruction, descriptions=words)


def affirmative_of(labels: Sequence[str]) -> str:
    """Return the label that says yes, of labels that say yes and no; empty of others."""
    affirmative = _AFFIRMATIVE.get(frozenset(label.casefold() for label in labels), "")
    for label in labels:
        if label.casefold() == affirmative:
            return label
    return ""


def _levels(field: Field) -> tuple[str, ...]:
    """Return the levels of a score, the lowest first; a ``ModelError`` where there are too many."""
    shape = field.shape
    places = round(shape.high - shape.low) + 1
    is_whole = shape.low.is_integer() and shape.high.is_integer()
    is_even = not shape.levels or len(shape.levels) == places
    if not (is_whole and is_even and 2 <= places <= MOST_LEVELS):
        raise ModelError(
            f"{field.name!r} is a score from {shape.low:g} to {shape.high:g}, and a decision model scores on 2 to "
            f"{MOST_LEVELS} levels, one apart",
            hint="give the field such ends, for example 1 to 5, or name another model",
        )
    return tuple(str(int(shape.low) + place) for place in range(places))


def _numbered_texts(request: TypedRequest, field: Field) -> list[tuple[int, str]]:
    """Return number and text of each sentence that a row asks about."""
    # The judged input has a numbered text on every line. Where evidence looks so too, the later input is the judged.
    found: list[tuple[int, str]] = []
    for name in request.signature.input_fields:
        text = request.inputs.get(name)
        lines = text.splitlines() if isinstance(text, str) else []
        matches = [_NUMBERED.fullmatch(line) for line in lines]
        numbered = [(int(match[1]), match[2]) for match in matches if match]
        numbers = [number for number, _ in numbered]
        if numbered and len(numbered) == len(lines) and numbers == sorted(set(numbers)):
            found = numbered
    if not found:
        raise _unanswerable(field)
    return found


def _unanswerable(field: Field) -> ModelError:
    """Return the error for an output field that no decision model can answer."""
    form = _FORMS.get(field.shape.kind, "a text")
    return ModelError(
        f"a decision model answers closed questions, and {field.name!r} is {form}",
        hint="name a model that writes text, or make the field a label, a yes or no, or a score",
    )


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
"""Kind of field -> how it is asked for."""


def _value(field: Field, request: TypedRequest, answers: Sequence[Distribution]) -> object:
    """Return the value of an output field by the probabilities of its questions."""
    shape = field.shape
    match shape.kind:
        case "bool":
            return _likeliest(field, answers[0]) == shape.labels[0]
        case "labels":
            labels: list[str] = []
            for label, answer in zip(shape.labels, answers, strict=True):
                if answer[_TRUE] >= answer[_FALSE]:
                    labels.append(label)
            return labels
        case "tags":
            items: list[dict[str, object]] = []
            number_name, label_name = shape.part_name("number"), shape.part_name("label")
            for (number, _), answer in zip(_numbered_texts(request, field), answers, strict=True):
                item: dict[str, object] = {part.name: "" for part in shape.parts}
                item[number_name] = number
                item[label_name] = _likeliest(field, answer)
                items.append(item)
            return items
        case "score":
            return _expected_score(field, answers[0])
    return _likeliest(field, answers[0])


def _expected_score(field: Field, answer: Distribution) -> float:
    """Return the mean of a score's levels by their probabilities; of a whole score, the nearest whole number."""
    total = 0.0
    mass = 0.0
    for place, probability in answer.items():
        total += int(place) * probability
        mass += probability
    mean = field.shape.low + total / mass
    if field.shape.is_integer:
        return int(mean + 0.5)
    return round(mean, 4)


def _likeliest(field: Field, answer: Distribution) -> str:
    """Return the label with the highest probability, the first among equals."""
    probabilities = _choice_probabilities(field, answer)
    return max(probabilities, key=lambda label: probabilities[label])


def _choice_probabilities(field: Field, answer: Distribution) -> dict[str, float]:
    """Return label -> probability of one answer, to six digits."""
    labels = field.shape.labels
    yes = affirmative_of(labels)
    probabilities: dict[str, float] = {}
    for label in labels:
        key = label
        if yes:
            key = _TRUE if label == yes else _FALSE
        probabilities[label] = answer[key]
    total = sum(probabilities.values())
    if not total > 0:
        raise ValueError("no choice has a probability")
    return {label: round(share / total, 6) for label, share in probabilities.items()}
