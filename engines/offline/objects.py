"""A set of objects: which spans of the judged text are asked for, and what is said of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...text.evidence import term_set
from ...text.terms import neutralise
from .decisions import NO_TEXT, Decision, Lesson, Task, scene_of, text_value
from .features import Scene, read_units
from .labels import meaning_of, meanings, prior_of, prior_weights
from .learning import Array, Regression, columns, learn, shares, vocabulary
from .request import Field, Roles, Unit, split_units
from .scores import level_near

_MOST: Final = 200  # candidates of one text
_ALIKE: Final = 0.5  # overlap from which on a candidate is what a demonstration names
_LIKELY: Final = 1.0  # log odds of a candidate about which nothing is known
_CLAUSE: Final = re.compile(
    r"(?<!\s)\s*+(?:[,;:，；：、()（）—–]|(?<=\s)-\s|\b(?:and|but|or|while|which|that)\b)"
)


def decide_objects(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each span that is chosen."""
    chosen = _chosen(task.lesson(field))
    scene = _scene(task.ask.values, task.roles)
    if not scene.units:
        return []
    x, quotes = columns(scene, chosen.words), read_units(scene).quotes
    return [
        Decision(
            unit=Unit(number=place + 1, text=scene.units[place]),
            label="chosen",
            support=float(p),
            holds=True,
            quote=quotes[place],
            reasons=chosen.reasons(x[place], 0, 1),
        )
        for place, p in enumerate(chosen.probabilities(x)[:, 0])
        if task.manner.holds(float(p))
    ]


def write_objects(task: Task, field: Field, decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return an object for each decision: the span, and what the names of its other properties say of it."""
    scene = _scene(task.ask.values, task.roles)
    rows = [columns(scene)[[decision.unit.number - 1]] for decision in decisions]
    return [
        {part.name: _property(task, field, part, row, decision) for part in field.shape.parts}
        for row, decision in zip(rows, decisions, strict=True)
    ]


def _property(task: Task, field: Field, part: Field, row: Array, decision: Decision) -> Any:
    shape = part.shape
    if part.name == _text_part(field):
        return neutralise(decision.unit.text)
    if shape.kind == "score":
        return shape.at(level_near(_shares(row, prior_of(part.name))[0], shape, task.manner))
    if shape.kind in ("label", "bool"):
        weights = prior_weights(meanings(shape.labels, part.name, task.ask.instruction))
        label = shape.labels[task.manner.drawn(_shares(row, weights))]
        return label if shape.kind == "label" else label == "True"
    if shape.kind == "number":
        return decision.unit.number
    text = text_value(part.name, [decision])
    return text if text != NO_TEXT else neutralise(decision.quote)


def _shares(row: Array, weights: Array) -> list[float]:
    return list(map(float, Regression(weights=weights).probabilities(row)[0]))


def _text_part(field: Field) -> str:
    """Return the property that holds the span itself."""
    return next((part.name for part in field.shape.parts if part.shape.kind == "text"), "")


def _scene(values: Mapping[str, str], roles: Roles) -> Scene:
    """Return the texts of a case with its candidates as units, each once: sentences, or the clauses of a single one."""
    whole, _ = scene_of(values, roles)
    texts = [unit.text for text in whole.units for unit in split_units(text, quoting=True)]
    if len(texts) == 1:
        clauses = (part.strip().strip(" .!?。！？\"'") for part in _CLAUSE.split(texts[0]))
        texts = list(filter(None, clauses))
    return replace(whole, units=tuple(dict.fromkeys(texts))[:_MOST])


@lru_cache(maxsize=64)
def _chosen(lesson: Lesson) -> Regression:
    """Learn which candidates are chosen."""
    name, text = lesson.field.name, _text_part(lesson.field)
    listed = [
        (_scene(values, lesson.roles), value) for values, value in lesson.shown() if isinstance(value, list)
    ]
    words = vocabulary([unit for scene, _ in listed for unit in scene.units])
    prior = prior_of(name)
    if not meaning_of(name).known:
        prior = np.zeros_like(prior)
        prior[0, -1] = _LIKELY
    rows, targets = list[Array](), list[Array]()
    for scene, value in listed:
        matched = _matched(scene, value, text)
        rows.append(columns(scene, words))
        targets.append(shares([place in matched for place in range(len(scene.units))]))
    return learn(rows, targets, prior, words)


def _matched(scene: Scene, items: Sequence[Any], text: str) -> set[int]:
    """Return which candidates stand for an object: those that its text is most like."""
    left, matched = set(range(len(scene.units))), set[int]()
    for item in (item for item in items if isinstance(item, Mapping)):
        alike = [(_alike(scene.units[place], str(item.get(text, ""))), -place) for place in left]
        overlap, place = max(alike, default=(0.0, 0))
        if overlap >= _ALIKE:
            left.discard(-place)
            matched.add(-place)
    return matched


def _alike(own: str, other: str) -> float:
    """Return the F1 of the words of two texts, 1 for equal ones."""
    if own.strip().lower() == other.strip().lower():
        return 1.0
    first, second = term_set(own), term_set(other)
    return 2.0 * len(first & second) / max(1, len(first) + len(second))
