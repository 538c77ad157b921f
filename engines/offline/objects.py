"""A set of objects: which spans of the judged text are asked for, and what is said of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...text.evidence import term_set
from ...text.terms import neutralise
from .decisions import NO_TEXT, Decision, Lesson, Task, scene_of, text_value
from .features import Scene, read_units
from .labels import meaning_of, meanings, prior_of, prior_weights
from .learning import Array, Model, columns, learn, shares, vocabulary
from .request import Field, Roles, Unit, split_units
from .scores import level_near

_MOST: Final = 200  # candidates of one text
_ALIKE: Final = 0.5  # overlap from which on a candidate is what a demonstration names
_LIKELY: Final = 1.0  # log odds of a candidate about which nothing is known
_CLAUSE: Final = re.compile(
    r"(?<!\s)\s*+(?:[,;:，；：、()（）—–]|(?<=\s)-\s|\b(?:and|but|or|while|which|that)\b)"
)


@dataclass(frozen=True, kw_only=True)
class _Models:
    """What is learned for one field: which candidates are chosen, and, by property, what is said of one."""

    chosen: Model
    about: Mapping[str, Model]


def decide_objects(task: Task, field: Field) -> list[Decision]:
    """Return a decision for each span that is chosen."""
    chosen = _models(task.lesson(field)).chosen
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
    """Return an object for each decision: the span, and what is said of it."""
    models = _models(task.lesson(field))
    x = columns(_scene(task.ask.values, task.roles), models.chosen.words)
    return [
        {
            part.name: _property(task, field, part, models, x[decision.unit.number - 1], decision)
            for part in field.shape.parts
        }
        for decision in decisions
    ]


def _property(task: Task, field: Field, part: Field, models: _Models, row: Array, decision: Decision) -> Any:
    if part.name == _text_part(field):
        return neutralise(decision.unit.text)
    if part.name in models.about:
        p = models.about[part.name].probabilities(row[None])[0].tolist()
        if part.shape.kind == "score":
            return part.shape.at(level_near(p[0], part.shape, task.manner))
        label = part.shape.labels[task.manner.drawn(p)]
        return label if part.shape.kind == "label" else label == "True"
    if part.shape.kind == "number":
        return decision.unit.number
    text = text_value(part.name, [decision])
    return text if text != NO_TEXT else neutralise(decision.quote)


def _text_part(field: Field) -> str:
    """Return the property that holds the span itself."""
    return next((part.name for part in field.shape.parts if part.shape.kind == "text"), "")


def _scene(values: Mapping[str, str], roles: Roles) -> Scene:
    """Return the texts of a case with its candidates as units, each once: sentences, or the clauses of a single one."""
    whole, _ = scene_of(values, roles)
    texts = [unit.text for text in whole.units for unit in split_units(text, quoting=True)]
    if len(texts) == 1:
        texts = _clauses(texts[0])
    return replace(whole, units=tuple(dict.fromkeys(texts))[:_MOST])


def _clauses(sentence: str) -> list[str]:
    parts = [part.strip().strip(" .!?。！？\"'") for part in _CLAUSE.split(sentence)]
    return [part for part in parts if part]


@lru_cache(maxsize=64)
def _models(lesson: Lesson) -> _Models:
    field, text = lesson.field, _text_part(lesson.field)
    listed = [
        (_scene(values, lesson.roles), value) for values, value in lesson.shown() if isinstance(value, list)
    ]
    words = vocabulary([unit for scene, _ in listed for unit in scene.units])
    prior = prior_of(field.name)
    if not meaning_of(field.name).known:
        prior = np.zeros_like(prior)
        prior[0, -1] = _LIKELY
    rows, targets = list[Array](), list[Array]()
    matches = list[tuple[Array, Mapping[str, Any]]]()
    for scene, value in listed:
        x, matched = columns(scene, words), _matched(scene, value, text)
        rows.append(x)
        targets.append(shares([place in matched for place in range(len(scene.units))]))
        matches += [(x[place : place + 1], item) for place, item in matched.items()]
    about: dict[str, Model] = {}
    for part in field.shape.parts:
        if part.shape.kind in ("label", "bool", "score"):
            shown = [(x, item[part.name]) for x, item in matches if item.get(part.name) is not None]
            gold = [_target(part, value) for _, value in shown]
            about[part.name] = learn([x for x, _ in shown], gold, _prior(part, lesson.instruction), words)
    return _Models(chosen=learn(rows, targets, prior, words), about=about)


def _prior(part: Field, instruction: str) -> Array:
    if part.shape.kind == "score":
        return prior_of(part.name)
    return prior_weights(meanings(part.shape.labels, part.name, instruction))


def _target(part: Field, value: Any) -> Array:
    if part.shape.kind == "score":
        return shares([part.shape.share(float(value))])
    return np.array([[float(str(value) == label) for label in part.shape.labels]])


def _matched(scene: Scene, items: Sequence[Any], text: str) -> dict[int, Mapping[str, Any]]:
    """Return which candidate stands for which object: the one that its text is most like."""
    left, matched = set(range(len(scene.units))), dict[int, Mapping[str, Any]]()
    for item in (item for item in items if isinstance(item, Mapping)):
        alike = [(_alike(scene.units[place], str(item.get(text, ""))), -place) for place in left]
        overlap, place = max(alike, default=(0.0, 0))
        if overlap >= _ALIKE:
            left.discard(-place)
            matched[-place] = item
    return matched


def _alike(one: str, other: str) -> float:
    """Return the F1 of the words of two texts, 1 for equal ones."""
    if one.strip().lower() == other.strip().lower():
        return 1.0
    first, second = term_set(one), term_set(other)
    return 2.0 * len(first & second) / max(1, len(first) + len(second))
