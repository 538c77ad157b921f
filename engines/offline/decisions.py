"""Decide one labelled output field of a request: measure, weigh, and pick (or sample) labels."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...text.terms import neutralise, shorten
from .criteria import shifts_for
from .features import Scene, read_units
from .labels import Meaning, meaning_of, meanings, prior_weights
from .learning import design, fit, softmax, strongest
from .request import Ask, Demo, Field, Shape
from .roles import Roles, Unit, split_lines, split_units

PER_UNIT: Final = ("labels", "echo", "tags", "bools", "indices", "texts")
_TRUTH: Final = ("True", "False")
_SPAN: Final = re.compile(r"<(\w+)>(.*?)</\1>", re.S)
NO_TEXT: Final = (
    "This engine scores how texts overlap and does not write text; use a language model for this field."
)
_QUOTE_LIMIT: Final = 160
_REASON_LIMIT: Final = 300
_REASON_NAMES: Final = frozenset({
    "reasoning", "rationale", "explanation", "justification", "analysis", "thought", "thoughts", "why", "reason",
    "feedback", "comment", "推理", "理由", "解释", "分析",
})  # fmt: skip
_QUOTE_NAMES: Final = frozenset(
    {"evidence", "quote", "span", "citation", "support_text", "evidence_quote", "引用", "证据"}
)
_QUESTION: Final = re.compile(r"quest|query|ask|prompt|instruct|request|user|问题|提问")


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How to decide: at temperature 0 by the most probable, above it drawn from p ** (1 / temperature)."""

    temperature: float
    rng: random.Random


@dataclass(frozen=True, kw_only=True)
class Task:
    """One request: what is asked, who is who among its inputs, and how to decide."""

    ask: Ask
    roles: Roles
    manner: Manner


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


def decide(task: Task, field: Field) -> list[Decision]:
    """Judge every unit of a request for one output field; its shape tells the labels."""
    ask, roles, manner = task.ask, task.roles, task.manner
    labels = field.shape.labels or _TRUTH
    scene, units = scene_of(ask.values, roles, field.shape.kind in PER_UNIT, field.shape.kind == "texts")
    if not units:
        return []
    reading = read_units(scene)
    model = _model(field, ask.instruction, ask.demos, roles)
    x = design(reading.matrix, scene.units, ())
    probabilities = softmax(x @ model.weights.T)
    decisions = []
    for row, (unit, quote) in enumerate(zip(units, reading.quotes, strict=True)):
        p = probabilities[row]
        chosen = _pick(p, model.groups, manner)
        meaning = model.known[chosen]
        holding = [float(p[i]) for i, one in enumerate(model.known) if one.group == "supported"]
        support = float(sum(holding)) if holding else float(p[chosen])
        decisions.append(
            Decision(
                unit=unit,
                label=labels[chosen],
                support=support,
                holds=meaning.group == "supported" if meaning.known else support >= 0.5,
                quote=quote,
                reasons=_reasons(model, x[row], chosen, p),
                probabilities=dict(zip(labels, p.tolist(), strict=True)),
            )
        )
    return decisions


@dataclass(frozen=True, kw_only=True)
class _Model:
    weights: NDArray[np.float64]
    groups: tuple[str, ...]
    known: tuple[Meaning, ...]


@lru_cache(maxsize=64)
def _model(field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles) -> _Model:
    name, shape, labels = field.name, field.shape, field.shape.labels or _TRUTH
    known = meanings(labels, name, instruction, field.description)
    if shape.kind in ("indices", "texts") and not meaning_of(name).known:
        known = (Meaning(support=-1.0), Meaning(support=1.0))  # a list of findings names what is wrong
    groups = tuple(
        m.group if m.group in ("supported", "unsupported", "offtopic") else f"{m.group} {i}"
        for i, m in enumerate(known)
    )
    prior = prior_weights(known, shifts_for(instruction))
    rows: list[NDArray[np.float64]] = []
    gold: list[int] = []
    sizes: list[int] = []
    for demo in demos:
        scene, units = scene_of(dict(demo.inputs), roles, shape.kind in PER_UNIT, shape.kind == "texts")
        value = given(demo, name)
        marks = [] if value is None else _gold(value, shape, labels, units)
        if marks and scene.units:
            matrix = read_units(scene).matrix
            for place, label in marks:
                rows.append(matrix[place])
                gold.append(label)
                sizes.append(len(marks))
    if not rows:
        return _Model(weights=prior, groups=groups, known=known)
    x = np.hstack([np.array(rows), np.ones((len(rows), 1))])
    weights = fit(x, np.array(gold, dtype=np.int64), np.array(sizes, dtype=np.float64), prior, groups)
    return _Model(weights=weights, groups=groups, known=known)


def given(demo: Demo, name: str) -> Any:
    """Return the value of an output of a demonstration, perhaps given as its JSON text; ``None`` if there is none."""
    raw = dict(demo.outputs).get(name)
    value = None if raw is None else json.loads(raw)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _gold(
    value: Any, shape: Shape, labels: tuple[str, ...], units: tuple[Unit, ...]
) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration's output."""
    index = {label.lower(): i for i, label in enumerate(labels)}

    def find(said: object) -> int | None:
        return index.get(str(said).strip().strip("\"'").lower())

    if shape.kind in ("bool", "label", "tag"):
        label = find(_tagged(value, shape)[0][1] if isinstance(value, Mapping) else value)
        return [(0, label)] if label is not None and units else []
    if shape.kind == "echo":
        return _echoed(str(value), [unit.text for unit in units], labels)
    values = value if isinstance(value, list) else []
    if shape.kind == "tags":
        places = {unit.number: i for i, unit in enumerate(units)}
        pairs = [(places.get(number, -1), find(said)) for number, said in _tagged(values, shape)]
        return [(place, label) for place, label in pairs if place >= 0 and label is not None]
    if shape.kind == "indices":
        flagged = {str(said) for said in values}
        return [(i, int(str(unit.number) not in flagged)) for i, unit in enumerate(units)]
    if shape.kind == "texts":
        told = {_flat(said) for said in values}
        return [(i, int(_flat(unit.text) not in told)) for i, unit in enumerate(units)]
    found = [(i, find(said)) for i, said in enumerate(values[: len(units)])]
    return [(i, label) for i, label in found if label is not None]


def _flat(text: object) -> str:
    return " ".join(unescape(str(text)).lower().split())


def _tagged(value: Any, shape: Shape) -> list[tuple[int, object]]:
    """Return the (number, label) pairs of objects; without a number, in their order."""
    names = {part.role: part.name for part in reversed(shape.parts)}
    label = names.get("label", names.get("flag", ""))
    items = value if isinstance(value, list) else [value]
    found = []
    for place, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            number = str(item.get(names["number"]) if "number" in names else place)
            found.append((int(number) if number.strip().isdecimal() else -1, item.get(label)))
    return found


def _pick(p: NDArray[np.float64], groups: tuple[str, ...], manner: Manner) -> int:
    """Pick a verdict group by its pooled probability, then a label inside it."""
    names = list(dict.fromkeys(groups))
    pooled = [float(sum(p[i] for i, group in enumerate(groups) if group == name)) for name in names]
    group = names[drawn(pooled, manner)]
    members = [i for i, of in enumerate(groups) if of == group]
    return members[drawn([float(p[i]) for i in members], manner)]


def drawn(weights: Sequence[float], manner: Manner) -> int:
    """Return the place of the highest weight, or, above temperature 0, of one that is drawn."""
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


def _reasons(model: _Model, x: NDArray[np.float64], chosen: int, p: NDArray[np.float64]) -> tuple[str, ...]:
    """Return up to three features that speak most for the choice against its strongest rival group."""
    rivals = [i for i in range(len(p)) if model.groups[i] != model.groups[chosen]]
    rivals = rivals or [i for i in range(len(p)) if i != chosen]
    if not rivals:
        return ()
    rival = max(rivals, key=lambda i: float(p[i]))
    return strongest((model.weights[chosen] - model.weights[rival]) * x)


def _echoed(text: str, units: Sequence[str], labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration; a span goes to the next unit of its text."""
    found: list[tuple[int, int]] = []
    start = 0
    for label, body in _SPAN.findall(unescape(text)):
        place = next((n for n in range(start, len(units)) if unescape(units[n]) == body.strip()), None)
        if place is not None and label in labels:
            found.append((place, labels.index(label)))
            start = place + 1
    return found


def explain(decisions: Sequence[Decision]) -> str:
    """Return one line: the verdicts, the best quote of the first unsupported unit, what decided."""
    if not decisions:
        return "There is nothing to judge: the judged field is empty."
    doubtful = min(decisions, key=lambda d: d.support)
    quote = shorten(doubtful.quote, _QUOTE_LIMIT)
    about = f"unit {doubtful.unit.number} " if len(decisions) > 1 else ""
    found = (
        f'Closest evidence for {about or "it"}: "{quote}".'
        if quote
        else f"No evidence shares a word with {about or 'it'}."
    )
    why = f" Decided by {', '.join(doubtful.reasons)}." if doubtful.reasons else ""
    return shorten(neutralise(f"{found}{why} Verdict: {doubtful.label}."), _REASON_LIMIT)


def text_value(name: str, decisions: Sequence[Decision]) -> str:
    """Return the text of a free-text field by its name: an explanation, a quote, or an honest refusal."""
    lowered = name.lower()
    if {lowered, lowered.split("_")[-1], lowered.split("_")[0]} & _REASON_NAMES:
        return explain(decisions)
    if lowered in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT
