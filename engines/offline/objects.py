"""A set of objects: which spans of the judged text are asked for, and what is said of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ...text.evidence import term_set
from ...text.terms import neutralise
from .decisions import NO_TEXT, Decision, FieldExamples, Task, read_case, write_free_text
from .features import BIAS_COLUMN, CaseTexts, Matrix, measure_case
from .labels import meaning_of, meanings, prior_of, prior_weights
from .learning import Regression, choose_vocabulary, columns, learn, targets_of
from .roles import Roles, Unit, split_units
from .scores import choose_level
from .shapes import Field

_SPAN_LIMIT: Final = 200  # spans of one text
_LEAST_OVERLAP: Final = 0.5  # from which on a span is what a demonstration names
_USUAL_ODDS: Final = 1.0  # log odds of a span about which nothing is known
_CLAUSE: Final = re.compile(
    r"(?<!\s)\s*+(?:[,;:，；：、()（）—–]|(?<=\s)-\s|\b(?:and|but|or|while|which|that)\b)"
)


def decide_objects(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each span of the judged text that is chosen."""
    model = _learn_spans(task.examples_of(field))
    case = _split_into_spans(task.request.inputs, task.roles)
    if not case.units:
        return []
    x = columns(case, model.words)
    quotes = measure_case(case).quotes
    decisions: list[Decision] = []
    for place, (probability, _) in enumerate(model.probabilities(x)):
        if task.sampler.choose_yes(probability):
            decision = Decision(
                unit=Unit(number=place + 1, text=case.units[place]),
                label="chosen",
                support=probability,
                holds=True,
                quote=quotes[place],
                reasons=model.reasons(x[place], 0, 1),
            )
            decisions.append(decision)
    return decisions


def write_objects(task: Task, field: Field, decisions: Sequence[Decision]) -> list[dict[str, object]]:
    """Return an object for each decision: the span, and what the names of its other properties say of it."""
    span_columns = columns(_split_into_spans(task.request.inputs, task.roles))
    objects: list[dict[str, object]] = []
    for decision in decisions:
        x = [span_columns[decision.unit.number - 1]]
        properties: dict[str, object] = {}
        for part in field.shape.parts:
            properties[part.name] = _property_of_span(task, field, part, x, decision)
        objects.append(properties)
    return objects


def _property_of_span(task: Task, field: Field, part: Field, x: Matrix, decision: Decision) -> object:
    """Return the value of a property by its name and shape; ``x`` is the span's columns, shape (1, columns)."""
    shape = part.shape
    if part.name == field.shape.part_name("text"):
        return neutralise(decision.unit.text)
    if shape.kind == "score":
        probabilities = _label_probabilities(x, prior_of(part.name))
        return shape.score_at(choose_level(probabilities[0], shape, task.sampler))
    if shape.kind in ("label", "bool"):
        label_meanings = meanings(shape.labels, part.name, task.request.instruction)
        probabilities = _label_probabilities(x, prior_weights(label_meanings))
        label = shape.labels[task.sampler.choose(probabilities)]
        return label if shape.kind == "label" else label == "True"
    if shape.kind == "number":
        return decision.unit.number
    text = write_free_text(part.name, [decision])
    if text == NO_TEXT:
        return neutralise(decision.quote)
    return text


def _label_probabilities(x: Matrix, weights: Matrix) -> list[float]:
    return Regression(weights=weights).probabilities(x)[0]


def _split_into_spans(inputs: Mapping[str, str], roles: Roles) -> CaseTexts:
    """Return the texts of a case with its spans as units, each once: sentences, or the clauses of a single one."""
    case = read_case(inputs, roles)
    (judged,) = case.units
    spans: list[str] = []
    for unit in split_units(judged, quoting=True):
        spans.append(unit.text)
    if len(spans) == 1:
        spans = _split_clauses(spans[0])
    distinct_spans = list(dict.fromkeys(spans))
    return replace(case, units=tuple(distinct_spans[:_SPAN_LIMIT]))


def _split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence without the signs around them."""
    clauses: list[str] = []
    for part in _CLAUSE.split(sentence):
        clause = part.strip().strip(" .!?。！？\"'")
        if clause:
            clauses.append(clause)
    return clauses


@lru_cache(maxsize=64)
def _learn_spans(examples: FieldExamples) -> Regression:
    """Return the model that tells which spans are chosen."""
    cases: list[CaseTexts] = []
    object_lists: list[list[object]] = []
    units: list[str] = []
    for inputs, value in examples.labelled():
        case = _split_into_spans(inputs, examples.roles)
        if case.units and isinstance(value, list):
            cases.append(case)
            object_lists.append(value)
            units.extend(case.units)
    words = choose_vocabulary(units)
    rows: list[Matrix] = []
    targets: list[Matrix] = []
    for case, objects in zip(cases, object_lists, strict=True):
        matches = _match_spans(case.units, objects, examples.field.shape.part_name("text"))
        rows.append(columns(case, words))
        targets.append(targets_of([place in matches for place in range(len(case.units))]))
    return learn(rows, targets, _span_prior(examples.field.name), words)


def _span_prior(name: str) -> Matrix:
    """Return the prior weights of a field's spans: by the meaning of its name, else the same odds for all."""
    if meaning_of(name).is_known:
        return prior_of(name)
    nothing = [0.0] * BIAS_COLUMN
    return [nothing + [_USUAL_ODDS], nothing + [0.0]]


def _match_spans(spans: Sequence[str], objects: Sequence[object], text_part: str) -> set[int]:
    """Return the places of the spans that stand for an object: for each the span that its text is most like."""
    matches: set[int] = set()
    for value in objects:
        if not isinstance(value, Mapping):
            continue
        text = str(value.get(text_part, ""))
        highest, best_place = 0.0, 0
        for place, span in enumerate(spans):
            if place in matches:
                continue
            overlap = _word_overlap(span, text)
            if overlap > highest:
                highest, best_place = overlap, place
        if highest >= _LEAST_OVERLAP:
            matches.add(best_place)
    return matches


def _word_overlap(text: str, next_text: str) -> float:
    """Return the F1 of the words of two texts, 1 for equal ones."""
    if text.strip().lower() == next_text.strip().lower():
        return 1.0
    terms, next_terms = term_set(text), term_set(next_text)
    return 2.0 * len(terms & next_terms) / max(1, len(terms) + len(next_terms))
