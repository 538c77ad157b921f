"""Decide one labelled output field of a request: measure, weigh, and pick (or sample) labels."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ...text.terms import neutralise, shorten
from .features import Scene, read_units
from .labels import Meaning, meaning_of, meanings, prior_weights
from .learning import design, fit, strongest
from .request import Ask, Demo, Field, Roles, Shape, Unit, split_lines, split_units

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

    def drawn(self, weights: Sequence[float]) -> int:
        """Return the place of the highest weight, or, above temperature 0, of one that is drawn."""
        rounded = [round(weight, 9) for weight in weights]
        if self.temperature <= 0.0:
            return max(range(len(rounded)), key=lambda i: (rounded[i], -i))
        if len(rounded) == 1:
            return 0
        top = max(rounded)
        heated = [(weight / top) ** (1.0 / self.temperature) for weight in rounded]
        left = self.rng.random() * sum(heated)
        for i, weight in enumerate(heated):
            left -= weight
            if left < 0.0:
                return i
        return len(heated) - 1

    def holds(self, p: float) -> bool:
        """Return whether something of this probability is so."""
        return self.drawn([p, 1.0 - p]) == 0


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What an output field is learned from. It can be hashed: what was learned is found again."""

    field: Field
    instruction: str
    demos: tuple[Demo, ...]
    roles: Roles

    def shown(self) -> Iterator[tuple[dict[str, str], Any]]:
        """Yield inputs and the field's value of each demonstration that gives it."""
        for demo in self.demos:
            value = demo.value(self.field.name)
            if value is not None:
                yield dict(demo.inputs), value


@dataclass(frozen=True, kw_only=True)
class Task:
    """One request: what is asked, who is who among its inputs, and how to decide."""

    ask: Ask
    roles: Roles
    manner: Manner

    def lesson(self, field: Field) -> Lesson:
        """Return what a field is learned from."""
        return Lesson(field=field, instruction=self.ask.instruction, demos=self.ask.demos, roles=self.roles)


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
    values: Mapping[str, str], roles: Roles, per_unit: bool = False, quoting: bool = False
) -> tuple[Scene, tuple[Unit, ...]]:
    """Return the texts of a case by role, and its units; ``quoting`` keeps the units as they stand in the text."""
    judged = values.get(roles.judged, "")
    split = split_lines if quoting else split_units
    units = split(judged) if per_unit else (Unit(number=1, text=judged),)
    asks = {name: bool(_QUESTION.search(name.lower())) for name in roles.context}
    scene = Scene(
        evidence="\n".join(values.get(name, "") for name in roles.evidence),
        units=tuple(unit.text for unit in units),
        ask="\n".join(values.get(name, "") for name, asked in asks.items() if asked),
        history="\n".join(values.get(name, "") for name, asked in asks.items() if not asked),
    )
    return scene, units


def decide(task: Task, field: Field) -> list[Decision]:
    """Judge every unit of a request for one output field; its shape tells the labels."""
    labels = field.shape.labels or _TRUTH
    scene, units = _units_of(task.ask.values, task.roles, field.shape)
    if not units:
        return []
    reading, model = read_units(scene), _model(task.lesson(field))
    x = design(reading.matrix, scene.units, ())
    probabilities = softmax(x @ model.weights.T, axis=1)
    decisions = []
    for row, (unit, quote) in enumerate(zip(units, reading.quotes, strict=True)):
        p = probabilities[row]
        chosen = _pick(p, model.groups, task.manner)
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


def _units_of(values: Mapping[str, str], roles: Roles, shape: Shape) -> tuple[Scene, tuple[Unit, ...]]:
    return scene_of(values, roles, shape.kind in PER_UNIT, shape.kind == "texts")


@dataclass(frozen=True, kw_only=True)
class _Model:
    weights: NDArray[np.float64]
    groups: tuple[str, ...]
    known: tuple[Meaning, ...]


@lru_cache(maxsize=64)
def _model(lesson: Lesson) -> _Model:
    field, shape = lesson.field, lesson.field.shape
    labels = shape.labels or _TRUTH
    known = meanings(labels, field.name, lesson.instruction, field.description)
    if shape.kind in ("indices", "texts") and not meaning_of(field.name).known:
        known = (Meaning(support=-1.0), Meaning(support=1.0))  # a list of findings names what is wrong
    groups = tuple(
        m.group if m.group in ("supported", "unsupported", "offtopic") else f"{m.group} {i}"
        for i, m in enumerate(known)
    )
    weights = prior_weights(known)
    rows: list[NDArray[np.float64]] = []
    gold: list[int] = []
    sizes: list[int] = []
    for values, value in lesson.shown():
        scene, units = _units_of(values, lesson.roles, shape)
        marks = _gold(value, shape, labels, units)
        if marks and scene.units:
            matrix = read_units(scene).matrix
            rows += [matrix[place] for place, _ in marks]
            gold += [label for _, label in marks]
            sizes += [len(marks)] * len(marks)
    if rows:
        x = np.hstack([np.array(rows), np.ones((len(rows), 1))])
        weights = fit(x, np.array(gold, dtype=np.int64), np.array(sizes, dtype=np.float64), weights, groups)
    return _Model(weights=weights, groups=groups, known=known)


def _gold(
    value: Any, shape: Shape, labels: tuple[str, ...], units: tuple[Unit, ...]
) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration's output."""
    index = {label.lower(): i for i, label in enumerate(labels)}

    def find(label: object) -> int | None:
        return index.get(str(label).strip().strip("\"'").lower())

    values = value if isinstance(value, list) else []
    match shape.kind:
        case "echo":
            return _echoed(str(value), [unit.text for unit in units], labels)
        case "indices":
            flagged = set(map(str, values))
            return [(i, int(str(unit.number) not in flagged)) for i, unit in enumerate(units)]
        case "texts":
            quoted = set(map(_flat, values))
            return [(i, int(_flat(unit.text) not in quoted)) for i, unit in enumerate(units)]
        case "bool" | "label" | "tag":
            pairs = (
                [(0, _tagged([value], shape)[0][1] if isinstance(value, Mapping) else value)] if units else []
            )
        case "tags":
            places = {unit.number: i for i, unit in enumerate(units)}
            pairs = [(places.get(number, -1), label) for number, label in _tagged(values, shape)]
        case _:
            pairs = list(enumerate(values[: len(units)]))
    told = [(place, find(label)) for place, label in pairs if place >= 0]
    return [(place, label) for place, label in told if label is not None]


def _flat(text: object) -> str:
    return " ".join(unescape(str(text)).lower().split())


def _tagged(values: Sequence[Any], shape: Shape) -> list[tuple[int, object]]:
    """Return the (number, label) pairs of objects; without a number, in their order."""
    names = {part.role: part.name for part in reversed(shape.parts)}
    label = names.get("label", names.get("flag", ""))
    pairs = []
    for place, item in enumerate(values, 1):
        if isinstance(item, Mapping):
            number = str(item.get(names["number"]) if "number" in names else place)
            pairs.append((int(number) if number.strip().isdecimal() else -1, item.get(label)))
    return pairs


def _pick(p: NDArray[np.float64], groups: tuple[str, ...], manner: Manner) -> int:
    """Pick a verdict group by its pooled probability, then a label inside it."""
    names = list(dict.fromkeys(groups))
    pooled = [float(sum(p[i] for i, group in enumerate(groups) if group == name)) for name in names]
    group = names[manner.drawn(pooled)]
    members = [i for i, of in enumerate(groups) if of == group]
    return members[manner.drawn([float(p[i]) for i in members])]


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
    pairs: list[tuple[int, int]] = []
    start = 0
    for label, body in _SPAN.findall(unescape(text)):
        place = next((n for n in range(start, len(units)) if unescape(units[n]) == body.strip()), None)
        if place is not None and label in labels:
            pairs.append((place, labels.index(label)))
            start = place + 1
    return pairs


def explain(decisions: Sequence[Decision]) -> str:
    """Return one line: the verdicts, the best quote of the first unsupported unit, what decided."""
    if not decisions:
        return "There is nothing to judge: the judged field is empty."
    doubtful = min(decisions, key=lambda d: d.support)
    quote = shorten(doubtful.quote, _QUOTE_LIMIT)
    about = f"unit {doubtful.unit.number} " if len(decisions) > 1 else ""
    closest = (
        f'Closest evidence for {about or "it"}: "{quote}".'
        if quote
        else f"No evidence shares a word with {about or 'it'}."
    )
    why = f" Decided by {', '.join(doubtful.reasons)}." if doubtful.reasons else ""
    return shorten(neutralise(f"{closest}{why} Verdict: {doubtful.label}."), _REASON_LIMIT)


def text_value(name: str, decisions: Sequence[Decision]) -> str:
    """Return the text of a free-text field by its name: an explanation, a quote, or an honest refusal."""
    lowered = name.lower()
    if {lowered, lowered.split("_")[-1], lowered.split("_")[0]} & _REASON_NAMES:
        return explain(decisions)
    if lowered in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT
