"""Decide one labelled output field of a request: measure, weigh, and pick (or sample) labels."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import Any, Final

import numpy as np

from ...text.terms import neutralise, shorten
from .features import Scene, read_units
from .labels import Meaning, meaning_of, meanings, prior_weights
from .learning import Array, Regression, columns, learn
from .request import TRUTH, Ask, Demo, Field, Roles, Shape, Unit, split_units

_PER_UNIT: Final = ("labels", "echo", "tags", "bools", "indices", "texts")
_SPAN: Final = re.compile(r"<(\w+)>(.*?)</\1>", re.S)
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
_QUESTION: Final = re.compile(r"quest|query|ask|prompt|instruct|request|user")


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How to decide: at temperature 0 by the most probable, above it drawn from p ** (1 / temperature)."""

    temperature: float
    rng: random.Random

    def drawn(self, weights: Sequence[float]) -> int:
        """Return the place of the highest weight, or, above temperature 0, of one that is drawn."""
        rounded = [round(weight, 9) for weight in weights]
        if self.temperature <= 0.0 or len(rounded) == 1:
            return rounded.index(max(rounded))
        top = max(rounded)
        heated = [(weight / top) ** (1.0 / self.temperature) for weight in rounded]
        return self.rng.choices(range(len(heated)), heated)[0]

    def holds(self, p: float) -> bool:
        """Return whether something of this probability is so."""
        return self.drawn([p, 1.0 - p]) == 0


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """The examples that an output field is learned from. It can be hashed, so that a learned model is found again."""

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
        """Return the examples that a field is learned from."""
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


def scene_of(values: Mapping[str, str], roles: Roles, kind: str = "") -> tuple[Scene, tuple[Unit, ...]]:
    """Return the texts of a case by role, and its units: for some kinds of output one a line, else the whole text."""
    judged = values.get(roles.judged, "")
    units: tuple[Unit, ...] = (Unit(number=1, text=judged),)
    if kind in _PER_UNIT:
        units = split_units(judged, quoting=kind == "texts")
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
    labels = field.shape.labels or TRUTH
    scene, units = scene_of(task.ask.values, task.roles, field.shape.kind)
    if not units:
        return []
    known, model = _learned(task.lesson(field))
    x, quotes = columns(scene), read_units(scene).quotes
    decisions = []
    for row, p, unit, quote in zip(x, model.probabilities(x), units, quotes, strict=True):
        chosen = _pick(p, known, task.manner)
        holding = [float(p[place]) for place, meaning in enumerate(known) if meaning.group == "supported"]
        support = sum(holding) if holding else float(p[chosen])
        meaning = known[chosen]
        rivals = [place for place, other in enumerate(known) if other.group != meaning.group]
        rivals = rivals or [place for place in range(len(labels)) if place != chosen] or [chosen]
        decisions.append(
            Decision(
                unit=unit,
                label=labels[chosen],
                support=support,
                holds=meaning.group == "supported" if meaning.known else support >= 0.5,
                quote=quote,
                reasons=model.reasons(row, chosen, max(rivals, key=lambda place: float(p[place]))),
                probabilities=dict(zip(labels, p.tolist(), strict=True)),
            )
        )
    return decisions


@lru_cache(maxsize=64)
def _learned(lesson: Lesson) -> tuple[tuple[Meaning, ...], Regression]:
    field, shape = lesson.field, lesson.field.shape
    labels = shape.labels or TRUTH
    known = meanings(labels, field.name, lesson.instruction)
    if shape.kind in ("indices", "texts") and not meaning_of(field.name).known:
        known = (Meaning(support=-1.0), Meaning(support=1.0))  # a list of findings names what is wrong
    rows, targets = list[Array](), list[Array]()
    for values, value in lesson.shown():
        scene, units = scene_of(values, lesson.roles, shape.kind)
        marks = _gold(value, shape, labels, units)
        if marks:
            rows.append(columns(scene)[[place for place, _ in marks]])
            targets.append(np.eye(len(labels))[[label for _, label in marks]])
    return known, learn(rows, targets, prior_weights(known))


def _gold(
    value: Any, shape: Shape, labels: tuple[str, ...], units: tuple[Unit, ...]
) -> list[tuple[int, int]]:
    """Return (unit place, label index) pairs of a demonstration's output."""
    index = {label.lower(): place for place, label in enumerate(labels)}
    values = value if isinstance(value, list) else []
    match shape.kind:
        case "echo":
            pairs = list(_echoed(str(value), [unit.text for unit in units]))
        case "indices":
            flagged = set(map(str, values))
            pairs = [(place, str(str(unit.number) in flagged)) for place, unit in enumerate(units)]
        case "texts":
            quoted = set(map(_flat, values))
            pairs = [(place, str(_flat(unit.text) in quoted)) for place, unit in enumerate(units)]
        case "tag" | "tags":
            places = {str(unit.number): place for place, unit in enumerate(units)}
            names = {part.shape.kind: part.name for part in reversed(shape.parts)}
            label, number = names.get("label", names.get("bool", "")), names.get("number", "")
            items = [item for item in values or [value] if isinstance(item, Mapping)]
            pairs = [(places.get(str(item.get(number, 1)), -1), item.get(label)) for item in items]
        case "bool" | "label" | "preference":
            pairs = [(0, value)]
        case _:
            pairs = list(enumerate(values[: len(units)]))
    marks = [(place, index.get(str(label).strip().strip("\"'").lower())) for place, label in pairs]
    return [(place, label) for place, label in marks if 0 <= place < len(units) and label is not None]


def _flat(text: object) -> str:
    return " ".join(unescape(str(text)).lower().split())


def _echoed(text: str, units: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """Yield (unit place, label) pairs of a demonstration; a span goes to the next unit of its text."""
    start = 0
    for label, body in _SPAN.findall(unescape(text)):
        place = next((n for n in range(start, len(units)) if unescape(units[n]) == body.strip()), None)
        if place is not None:
            yield place, label
            start = place + 1


def _pick(p: Array, known: Sequence[Meaning], manner: Manner) -> int:
    """Pick a verdict by the pooled probability of its labels, then a label among these."""
    groups = [meaning.group if meaning.known else str(place) for place, meaning in enumerate(known)]
    names = list(dict.fromkeys(groups))
    pooled = [sum(float(p[place]) for place, group in enumerate(groups) if group == name) for name in names]
    chosen = names[manner.drawn(pooled)]
    members = [place for place, group in enumerate(groups) if group == chosen]
    return members[manner.drawn([float(p[place]) for place in members])]


def explain(decisions: Sequence[Decision]) -> str:
    """Return one line: the verdicts, the best quote of the first unsupported unit, what decided."""
    if not decisions:
        return "There is nothing to judge: the judged field is empty."
    doubtful = min(decisions, key=lambda decision: decision.support)
    quote = shorten(doubtful.quote, _QUOTE_LIMIT)
    closest = f'Closest evidence: "{quote}".' if quote else "No evidence shares a word with it."
    unit = f"Unit {doubtful.unit.number}. " if len(decisions) > 1 else ""
    why = f" Decided by {', '.join(doubtful.reasons)}." if doubtful.reasons else ""
    return shorten(neutralise(f"{unit}{closest}{why} Verdict: {doubtful.label}."), _REASON_LIMIT)


def text_value(name: str, decisions: Sequence[Decision]) -> str:
    """Return the text of a free-text field by its name: an explanation, a quote, or an honest refusal."""
    words = name.lower().split("_")
    if {words[0], words[-1]} & _REASON_NAMES:
        return explain(decisions)
    if name.lower() in _QUOTE_NAMES and decisions:
        return neutralise(shorten(decisions[0].quote, _REASON_LIMIT)) or NO_TEXT
    return NO_TEXT
