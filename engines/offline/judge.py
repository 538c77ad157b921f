"""Decide one output field of a request: measure, weigh, and pick (or sample) labels."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .criteria import shifts_for
from .echo import marked
from .features import GROUPS, NAMES, Scene, read_units
from .labels import Meaning, meaning_of, meanings
from .learning import fit, softmax
from .prior import prior_weights
from .request import Ask, Demo, Field
from .roles import Roles, Unit, split_lines, split_units
from .shapes import Shape

__all__ = ["PER_UNIT", "Decision", "Manner", "decide", "scene_of"]

PER_UNIT: Final = ("labels", "echo", "tags", "bools", "indices", "texts")
_TRUTH: Final = ("True", "False")
_QUESTION: Final = re.compile(r"quest|query|ask|prompt|instruct|request|user|问题|提问")
_ITEM: Final = re.compile(r"<item>(.*?)</item>", re.S)


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How to decide.

    Attributes:
        temperature: 0 takes the most probable verdict, then its most probable label; above 0 both
            are sampled from p ** (1 / temperature).
        rng: the source of randomness; consumed only above temperature 0.
        without: feature groups to leave out.
    """

    temperature: float
    rng: random.Random
    without: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The verdict on one unit.

    Attributes:
        unit: what was judged.
        label: one of the shape's labels.
        support: probability of the labels that mean supported (or of the label, if none does).
        holds: whether the label means that the evidence supports the unit; for a label whose meaning is
            not known, whether its own probability is at least a half.
        quote: the evidence sentence that fits best, or "".
        reasons: names of the features that decided, strongest first.
    """

    unit: Unit
    label: str
    support: float
    holds: bool
    quote: str
    reasons: tuple[str, ...]


def scene_of(
    values: dict[str, str], roles: Roles, per_unit: bool, quoting: bool = False
) -> tuple[Scene, tuple[Unit, ...]]:
    """Return the texts of a case by role, and its units; ``quoting`` keeps the units as they stand in the text."""
    judged = values.get(roles.judged, "")
    split = split_lines if quoting else split_units
    units = split(judged) if per_unit else (Unit(number=1, text=judged),)
    asked = [values.get(name, "") for name in roles.context if _QUESTION.search(name.lower())]
    told = [values.get(name, "") for name in roles.context if not _QUESTION.search(name.lower())]
    scene = Scene(
        evidence="\n".join(values.get(name, "") for name in roles.evidence),
        units=tuple(unit.text for unit in units),
        ask="\n".join(asked),
        history="\n".join(told),
    )
    return scene, units


def decide(ask: Ask, field: Field, roles: Roles, manner: Manner) -> list[Decision]:
    """Judge every unit of a request for one output field.

    Args:
        ask: the parsed request.
        field: the output field; its shape tells the labels.
        roles: who is who among the inputs.
        manner: temperature, randomness and what to leave out.
    """
    labels = field.shape.labels or _TRUTH
    scene, units = scene_of(ask.values, roles, field.shape.kind in PER_UNIT, field.shape.kind == "texts")
    if not units:
        return []
    reading = read_units(scene)
    model = _model(field, ask.instruction, ask.demos, roles, manner.without)
    x = _with_bias(reading.matrix)
    probabilities = softmax(x @ model.weights.T)
    decisions = []
    for row, (unit, quote) in enumerate(zip(units, reading.quotes, strict=True)):
        chosen = _pick(probabilities[row], model.groups, manner)
        support = _support(probabilities[row], model.known, chosen)
        meaning = model.known[chosen]
        decisions.append(
            Decision(
                unit=unit,
                label=labels[chosen],
                support=support,
                holds=meaning.group == "supported" if meaning.known else support >= 0.5,
                quote=quote,
                reasons=_reasons(model, x[row], chosen, probabilities[row]),
            )
        )
    return decisions


@dataclass(frozen=True, kw_only=True)
class _Model:
    weights: NDArray[np.float64]
    groups: tuple[str, ...]
    known: tuple[Meaning, ...]


@lru_cache(maxsize=64)
def _model(
    field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles, without: tuple[str, ...]
) -> _Model:
    name, shape, labels = field.name, field.shape, field.shape.labels or _TRUTH
    known = meanings(labels, name, instruction, field.description)
    if shape.kind in ("indices", "texts") and not meaning_of(name).known:
        known = (Meaning(support=-1.0), Meaning(support=1.0))  # a list of findings names what is wrong
    groups = tuple(
        m.group if m.group in ("supported", "unsupported", "offtopic") else f"{m.group} {i}"
        for i, m in enumerate(known)
    )
    prior = prior_weights(known, shifts_for(instruction), without)
    rows: list[NDArray[np.float64]] = []
    gold: list[int] = []
    sizes: list[int] = []
    for demo in demos:
        scene, units = scene_of(dict(demo.inputs), roles, shape.kind in PER_UNIT, shape.kind == "texts")
        supplied = dict(demo.outputs)
        marks = _gold(supplied[name], shape, labels, units) if name in supplied else []
        if marks and scene.units:
            matrix = read_units(scene).matrix
            for place, label in marks:
                rows.append(matrix[place])
                gold.append(label)
                sizes.append(len(marks))
    if not rows:
        return _Model(weights=prior, groups=groups, known=known)
    x = _with_bias(np.array(rows))
    for group in without:
        for feature in GROUPS[group]:
            x[:, NAMES.index(feature)] = 0.0
    weights = fit(x, np.array(gold, dtype=np.int64), np.array(sizes, dtype=np.float64), prior, groups)
    return _Model(weights=weights, groups=groups, known=known)


def _with_bias(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([matrix, np.ones((len(matrix), 1))])


def _gold(text: str, shape: Shape, labels: tuple[str, ...], units: tuple[Unit, ...]) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration's raw output."""
    index = {label.lower(): i for i, label in enumerate(labels)}

    def find(value: object) -> int | None:
        return index.get(str(value).strip().strip("\"'").lower())

    if shape.kind in ("bool", "label", "tag"):
        value = _tag_values(text, shape)[0][1] if shape.kind == "tag" and _tag_values(text, shape) else text
        label = find(value)
        return [(0, label)] if label is not None and units else []
    if shape.kind == "tags":
        places = {unit.number: i for i, unit in enumerate(units)}
        pairs = [(places.get(number, -1), find(value)) for number, value in _tag_values(text, shape)]
        return [(place, label) for place, label in pairs if place >= 0 and label is not None]
    if shape.kind == "echo":
        return marked(text, [unit.text for unit in units], labels)
    values = _list_values(text)
    if shape.kind == "indices":
        flagged = {str(value) for value in values}
        return [(i, int(str(unit.number) not in flagged)) for i, unit in enumerate(units)]
    if shape.kind == "texts":
        told = {_flat(value) for value in values}
        return [(i, int(_flat(unit.text) not in told)) for i, unit in enumerate(units)]
    found = [(i, find(value)) for i, value in enumerate(values[: len(units)])]
    return [(i, label) for i, label in found if label is not None]


def _flat(text: object) -> str:
    return " ".join(unescape(str(text)).lower().split())


def _loads(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _list_values(text: str) -> list[object]:
    value = _loads(text)
    if isinstance(value, list):
        return value
    return [item.strip() for item in _ITEM.findall(text)]


def _tag_values(text: str, shape: Shape) -> list[tuple[int, str]]:
    """Return (number, label text) pairs from JSON or from nested XML."""
    roles = {role: name for name, role in reversed(shape.parts)}
    number, label = roles.get("number", ""), roles.get("label", roles.get("flag", ""))
    value = _loads(text)
    if value is not None:
        items = value if isinstance(value, list) else [value]
        get: list[Callable[[str], object]] = [item.get for item in items if isinstance(item, dict)]
    else:
        bodies = _ITEM.findall(text) or [text]
        get = [dict(re.findall(r"<(\w+)>(.*?)</\1>", body, re.S)).get for body in bodies]
    found = []
    for place, read in enumerate(get, 1):
        raw = str(read(number) if number else place)
        found.append((int(raw) if raw.strip().isdecimal() else -1, str(read(label))))
    return found


def _pick(p: NDArray[np.float64], groups: tuple[str, ...], manner: Manner) -> int:
    """Pick a verdict group by its pooled probability, then a label inside it."""
    names = list(dict.fromkeys(groups))
    pooled = [float(sum(p[i] for i, group in enumerate(groups) if group == name)) for name in names]
    group = names[_draw(pooled, manner)]
    members = [i for i, of in enumerate(groups) if of == group]
    return members[_draw([float(p[i]) for i in members], manner)]


def _draw(weights: list[float], manner: Manner) -> int:
    rounded = [round(weight, 9) for weight in weights]
    if manner.temperature <= 0.0:
        return max(range(len(rounded)), key=lambda i: (rounded[i], -i))
    if len(rounded) == 1:
        return 0
    top = max(rounded)
    heated = [(weight / top) ** (1.0 / manner.temperature) for weight in rounded]
    left = manner.rng.random() * sum(heated)
    for i, weight in enumerate(heated):
        left -= weight
        if left < 0.0:
            return i
    return len(heated) - 1


def _support(p: NDArray[np.float64], known: tuple[Meaning, ...], chosen: int) -> float:
    places = [i for i, meaning in enumerate(known) if meaning.group == "supported"]
    return float(sum(p[i] for i in places)) if places else float(p[chosen])


def _reasons(model: _Model, x: NDArray[np.float64], chosen: int, p: NDArray[np.float64]) -> tuple[str, ...]:
    """Return up to three features that speak most for the choice against its strongest rival group."""
    rivals = [i for i in range(len(p)) if model.groups[i] != model.groups[chosen]]
    rivals = rivals or [i for i in range(len(p)) if i != chosen]
    if not rivals:
        return ()
    rival = max(rivals, key=lambda i: float(p[i]))
    gain = np.round((model.weights[chosen] - model.weights[rival])[:-1] * x[:-1], 9)
    order = np.argsort(-gain, kind="stable")
    return tuple(NAMES[i] for i in order[:3] if gain[i] > 0.0)
