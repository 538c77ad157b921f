"""Decide one labelled output field of a request: measure, weigh, and choose labels."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import unescape
from typing import Final

from ...text.terms import neutralise, shorten
from .features import CaseTexts, Matrix, Vector, measure_case
from .labels import Meaning, meaning_of, meanings, prior_weights
from .learning import Regression, columns, learn
from .request import Demo, ParsedRequest
from .roles import Roles, Unit, split_units
from .sampler import Sampler
from .shapes import TRUTH, Field, Kind, Shape

_KINDS_PER_UNIT: Final = ("labels", "echo", "tags", "bools", "indices", "texts")
_TAGGED: Final = re.compile(r"<(\w+)>(.*?)</\1>", re.S)
NO_TEXT: Final = (
    "This engine scores how texts overlap and does not write text; use a language model for this field."
)
_QUOTE_LIMIT: Final = 160
_REASON_LIMIT: Final = 300
_REASON_NAMES: Final = frozenset({
    "reasoning", "rationale", "explanation", "justification", "analysis", "thought", "thoughts", "why", "reason",
    "feedback", "comment",
})  # fmt: skip
_QUOTE_NAMES: Final = frozenset({"evidence", "quote", "span", "citation"})
_QUESTION_NAME: Final = re.compile(r"quest|query|ask|prompt|instruct|request|user")


@dataclass(frozen=True, kw_only=True)
class FieldExamples:
    """The examples that an output field is learned from. They can be hashed, so that a learned model is found again."""

    field: Field
    instruction: str
    demos: tuple[Demo, ...]
    roles: Roles

    def labelled(self) -> Iterator[tuple[dict[str, str], object]]:
        """Yield inputs and the field's value of each demonstration that has one."""
        for demo in self.demos:
            value = demo.value(self.field.name)
            if value is not None:
                yield dict(demo.inputs), value


@dataclass(frozen=True, kw_only=True)
class Task:
    """One request, the roles of its inputs, and how to choose."""

    request: ParsedRequest
    roles: Roles
    sampler: Sampler

    def examples_of(self, field: Field) -> FieldExamples:
        """Return the examples that an output field is learned from."""
        return FieldExamples(
            field=field, instruction=self.request.instruction, demos=self.request.demos, roles=self.roles
        )


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The verdict on one unit."""

    unit: Unit
    label: str
    support: float  # probability of the labels that mean supported (or of the label, if none does)
    holds: bool  # whether the label means supported; if its meaning is not known, whether it is rather likely
    quote: str  # the evidence sentence that fits best, or ""
    reasons: tuple[str, ...]  # names of the features that decided, strongest first
    probabilities: Mapping[str, float] = field(default_factory=dict)  # label -> probability, of a closed set


@dataclass(frozen=True, kw_only=True, eq=False)
class _LabelModel:
    """The labels of a field with their meanings, and the regression that tells them apart."""

    labels: tuple[str, ...]
    meanings: tuple[Meaning, ...]
    regression: Regression


def read_case(inputs: Mapping[str, str], roles: Roles) -> CaseTexts:
    """Return the texts of a case by role, with the judged text as the only unit."""
    question_names: list[str] = []
    history_names: list[str] = []
    for name in roles.context:
        if _QUESTION_NAME.search(name.lower()):
            question_names.append(name)
        else:
            history_names.append(name)
    return CaseTexts(
        evidence=_join_inputs(inputs, roles.evidence),
        units=(inputs.get(roles.judged, ""),),
        question=_join_inputs(inputs, question_names),
        history=_join_inputs(inputs, history_names),
    )


def _join_inputs(inputs: Mapping[str, str], names: Sequence[str]) -> str:
    return "\n".join(inputs.get(name, "") for name in names)


def split_case(inputs: Mapping[str, str], roles: Roles, kind: Kind) -> tuple[CaseTexts, tuple[Unit, ...]]:
    """Return the texts of a case by role, and its units: for some kinds of output one a line, else one in all."""
    case = read_case(inputs, roles)
    (judged,) = case.units
    if kind not in _KINDS_PER_UNIT:
        return case, (Unit(number=1, text=judged),)
    units = split_units(judged, quoting=kind == "texts")
    return replace(case, units=tuple(unit.text for unit in units)), units


def decide_labels(task: Task, field: Field) -> list[Decision]:
    """Return a decision for every unit of a request in one output field; its shape tells the labels."""
    case, units = split_case(task.request.inputs, task.roles, field.shape.kind)
    if not units:
        return []
    model = _learn_labels(task.examples_of(field))
    x = columns(case)
    quotes = measure_case(case).quotes
    probabilities = model.regression.probabilities(x)
    decisions: list[Decision] = []
    for place, unit in enumerate(units):
        label_place = _choose_label(probabilities[place], model.meanings, task.sampler)
        decision = _describe_choice(model, label_place, x[place], probabilities[place], unit, quotes[place])
        decisions.append(decision)
    return decisions


def _describe_choice(
    model: _LabelModel, chosen: int, x: Vector, probabilities: Sequence[float], unit: Unit, quote: str
) -> Decision:
    """Return the decision for a unit whose label is at the place ``chosen``."""
    meaning = model.meanings[chosen]
    support = _probability_of_support(model, chosen, probabilities)
    holds = support >= 0.5
    if meaning.is_known:
        holds = meaning.group == "supported"
    rival = _strongest_rival(model, chosen, probabilities)
    return Decision(
        unit=unit,
        label=model.labels[chosen],
        support=support,
        holds=holds,
        quote=quote,
        reasons=model.regression.reasons(x, chosen, rival),
        probabilities=dict(zip(model.labels, probabilities, strict=True)),
    )


def _probability_of_support(model: _LabelModel, chosen: int, probabilities: Sequence[float]) -> float:
    """Return the probability of the labels that mean supported; that of the chosen one if none does."""
    supporting: list[float] = []
    for probability, meaning in zip(probabilities, model.meanings, strict=True):
        if meaning.group == "supported":
            supporting.append(probability)
    if supporting:
        return sum(supporting)
    return probabilities[chosen]


def _strongest_rival(model: _LabelModel, chosen: int, probabilities: Sequence[float]) -> int:
    """Return the place of the likeliest label of another verdict, else of another label, else of the chosen one."""
    group = model.meanings[chosen].group
    opposed: list[int] = []
    alike: list[int] = []
    for place, meaning in enumerate(model.meanings):
        if meaning.group != group:
            opposed.append(place)
        elif place != chosen:
            alike.append(place)
    rivals = opposed or alike or [chosen]
    return max(rivals, key=lambda place: probabilities[place])


def _choose_label(probabilities: Sequence[float], label_meanings: Sequence[Meaning], sampler: Sampler) -> int:
    """Return the place of a label: first a verdict by the sum of its labels' probabilities, then a label of it."""
    places_by_verdict: dict[str, list[int]] = {}
    for place, meaning in enumerate(label_meanings):
        verdict = meaning.group if meaning.is_known else str(place)
        places_by_verdict.setdefault(verdict, []).append(place)
    verdicts = list(places_by_verdict.values())
    sums: list[float] = []
    for places in verdicts:
        sums.append(sum(probabilities[place] for place in places))
    places = verdicts[sampler.choose(sums)]
    label_probabilities: list[float] = []
    for place in places:
        label_probabilities.append(probabilities[place])
    return places[sampler.choose(label_probabilities)]


@lru_cache(maxsize=64)
def _learn_labels(examples: FieldExamples) -> _LabelModel:
    """Return the model of a field's labels: their meanings, corrected by the demonstrations."""
    shape = examples.field.shape
    labels = shape.labels or TRUTH
    label_meanings = meanings(labels, examples.field.name, examples.instruction)
    if shape.kind in ("indices", "texts") and not meaning_of(examples.field.name).is_known:
        # A list of findings names what is wrong.
        label_meanings = (Meaning(support=-1.0), Meaning(support=1.0))
    rows: list[Matrix] = []
    targets: list[Matrix] = []
    for inputs, value in examples.labelled():
        case, units = split_case(inputs, examples.roles, shape.kind)
        unit_places, label_places = _read_labels(value, shape, labels, units)
        if unit_places:
            x = columns(case)
            rows.append([x[place] for place in unit_places])
            targets.append([_mark_place(place, len(labels)) for place in label_places])
    regression = learn(rows, targets, prior_weights(label_meanings))
    return _LabelModel(labels=labels, meanings=label_meanings, regression=regression)


def _mark_place(chosen: int, number: int) -> Vector:
    """Return so many numbers: 1 at the chosen place, else 0."""
    marks = [0.0] * number
    marks[chosen] = 1.0
    return marks


def _read_labels(
    value: object, shape: Shape, labels: Sequence[str], units: Sequence[Unit]
) -> tuple[list[int], list[int]]:
    """Return the places of the units that a demonstration's output labels, and for each the place of its label."""
    places = {label.lower(): place for place, label in enumerate(labels)}
    unit_places: list[int] = []
    label_places: list[int] = []
    for unit_place, label in _unit_labels(value, shape, units):
        label_place = places.get(str(label).strip().strip("\"'").lower())
        if label_place is not None and 0 <= unit_place < len(units):
            unit_places.append(unit_place)
            label_places.append(label_place)
    return unit_places, label_places


def _unit_labels(value: object, shape: Shape, units: Sequence[Unit]) -> Iterator[tuple[int, object]]:
    """Yield (place of a unit, label) as a demonstration's output gives them; such a unit or label need not exist."""
    values = value if isinstance(value, list) else []
    match shape.kind:
        case "echo":
            yield from _tagged_labels(str(value), units)
        case "indices":
            numbers = {str(number) for number in values}
            for place, unit in enumerate(units):
                yield place, str(unit.number) in numbers
        case "texts":
            quotations = {_flatten(quotation) for quotation in values}
            for place, unit in enumerate(units):
                yield place, _flatten(unit.text) in quotations
        case "tag" | "tags":
            yield from _object_labels(values or [value], shape, units)
        case "bool" | "label" | "preference":
            yield 0, value
        case _:
            yield from enumerate(values[: len(units)])


def _object_labels(
    items: Sequence[object], shape: Shape, units: Sequence[Unit]
) -> Iterator[tuple[int, object]]:
    """Yield (place of a unit, label) of each object; the place is -1 where no unit has its number."""
    places = {str(unit.number): place for place, unit in enumerate(units)}
    label_name = shape.part_name("label") or shape.part_name("bool")
    number_name = shape.part_name("number")
    for item in items:
        if isinstance(item, Mapping):
            number = str(item.get(number_name, 1))
            yield places.get(number, -1), item.get(label_name)


def _flatten(text: object) -> str:
    """Return a text in lower case on one line, without XML escapes."""
    return " ".join(unescape(str(text)).lower().split())


def _tagged_labels(text: str, units: Sequence[Unit]) -> Iterator[tuple[int, str]]:
    """Yield (place of a unit, label) of each tagged span; a span goes to the next unit of its text."""
    unit_texts = [unescape(unit.text) for unit in units]
    start = 0
    for label, span in _TAGGED.findall(unescape(text)):
        try:
            place = unit_texts.index(span.strip(), start)
        except ValueError:
            continue
        yield place, label
        start = place + 1


def explain(decisions: Sequence[Decision]) -> str:
    """Return one line: the best quote of the least supported unit, what decided, and its verdict."""
    if not decisions:
        return "There is nothing to judge: the judged field is empty."
    doubtful = min(decisions, key=lambda decision: decision.support)
    facts: list[str] = []
    if len(decisions) > 1:
        facts.append(f"Unit {doubtful.unit.number}.")
    quote = shorten(doubtful.quote, _QUOTE_LIMIT)
    if quote:
        facts.append(f'Closest evidence: "{quote}".')
    else:
        facts.append("No evidence shares a word with it.")
    if doubtful.reasons:
        facts.append(f"Decided by {', '.join(doubtful.reasons)}.")
    facts.append(f"Verdict: {doubtful.label}.")
    return shorten(neutralise(" ".join(facts)), _REASON_LIMIT)


def write_free_text(name: str, decisions: Sequence[Decision]) -> str:
    """Return the text of a free-text field by its name: an explanation, a quote, or an honest refusal."""
    words = name.lower().split("_")
    if words[0] in _REASON_NAMES or words[-1] in _REASON_NAMES:
        return explain(decisions)
    if name.lower() in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT
