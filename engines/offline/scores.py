"""Answers that rest on one readout each: a score, several labels at once, a preference between two candidates.

A score is how far a claim is supported, on a scale that demonstrations teach. Several labels are as many yes-or-no
decisions. A preference comes from the difference of what is measured about the candidates: exchanging them exchanges
the odds, whatever was learned, for there is no weight for a place. A tie is a small difference; how small is learned.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from ...text.evidence import term_set
from .criteria import shifts_for
from .decisions import Decision, Task, decide, drawn, given, scene_of
from .features import NAMES, Scene, read_units
from .labels import definition_of, meanings, prior_weights
from .learning import BIAS_COLUMN, Array, Readout, chance, design, learn, vocabulary
from .request import Ask, Demo, Field, Part, Shape
from .roles import Roles, Unit, assign_roles

_GRID: Final = 100  # steps of a scale without levels
_PRIOR_LABEL: Final = (-2.0, 4.0, 4.0)
"""Weights of the bias, that the label is named in the text, and that the words of its definition are."""
_MARKS: Final = (("first", "second"), ("a", "b"), ("1", "2"), ("one", "two"), ("left", "right"), ("甲", "乙"))
_PRIOR_TIE: Final = (-1.0, 0.0)  # of the size of the difference, and bias: a tie if they are about even
_TARGETS: Final[Mapping[str, float]] = {"first": 1.0, "second": 0.0, "tie": 0.5}


def columns(scene: Scene, words: Sequence[str], extra: Array | None = None) -> Array:
    """Return the columns of a scene's units."""
    return design(read_units(scene).matrix, scene.units, words, extra)


def decide_score(task: Task, field: Field) -> list[Decision]:
    """Score the whole claim; the decision's ``support`` is where on the scale, 0 to 1."""
    shape, scene = field.shape, _whole(task.ask.values, task.roles)
    words, readout = _score_readout(field, task.ask.instruction, task.ask.demos, task.roles)
    x = columns(scene, words)
    at = float(chance(readout.odds(x))[0])
    support = to_levels(at, readout.spread, shape.levels or levels_of(shape), shape.low, shape.high, task)
    label = f"{round(shape.low + support * (shape.high - shape.low), 3):g}"
    return [_decision(scene, x, readout, label, support, holds=support >= 0.5)]


def _decision(
    scene: Scene, x: Array, readout: Readout, label: str, support: float, *, holds: bool
) -> Decision:
    return Decision(
        unit=Unit(number=1, text=scene.units[0]),
        label=label,
        support=support,
        holds=holds,
        quote=read_units(scene).quotes[0],
        reasons=readout.reasons(x[0], high=holds),
    )


def levels_of(scale: Shape | Part) -> tuple[float, ...]:
    """Return the values that a number may take: integers, else a hundred steps."""
    if scale.whole and scale.high - scale.low <= _GRID:
        return tuple(float(n) for n in range(round(scale.low), round(scale.high) + 1))
    return tuple(float(value) for value in np.linspace(scale.low, scale.high, _GRID + 1))


def to_levels(
    at: float, spread: float, levels: tuple[float, ...], low: float, high: float, task: Task
) -> float:
    """Return one level as a share of the range: the nearest to ``at``, or, above temperature 0, one that is drawn."""
    shares = [share_of(level, low, high) for level in levels]
    likely = [float(np.exp(-(((share - at) / spread) ** 2) / 2.0)) for share in shares]
    return shares[drawn(likely, task.manner)]


def share_of(value: float, low: float, high: float) -> float:
    """Return where a value lies on its range, 0 to 1."""
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def prior_of(name: str, instruction: str, description: str = "") -> Array:
    """Return the weights of "what the name says is so" against its being not so; the last is the bias."""
    yes, no = prior_weights(
        meanings(("True", "False"), name, instruction, description), shifts_for(instruction)
    )
    return np.asarray(yes - no, dtype=np.float64)


def _whole(values: Mapping[str, str], roles: Roles) -> Scene:
    return scene_of(dict(values), roles, per_unit=False)[0]


@lru_cache(maxsize=64)
def _score_readout(
    field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles
) -> tuple[tuple[str, ...], Readout]:
    scenes, target = [], []
    for demo in demos:
        value = given(demo, field.name)
        if isinstance(value, str):
            value = float(value) if re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", value) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            scenes.append(_whole(dict(demo.inputs), roles))
            target.append(share_of(float(value), field.shape.low, field.shape.high))
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = prior_of(field.name, instruction, field.description)
    return words, learn([columns(scene, words) for scene in scenes], target, prior, words)


def decide_several(task: Task, field: Field) -> list[Decision]:
    """Decide on every label; a decision holds if the label is given."""
    scene = _whole(task.ask.values, task.roles)
    words, readouts = _label_readouts(field, task.ask.instruction, task.ask.demos, task.roles)
    decisions = []
    for label, readout in zip(field.shape.labels, readouts, strict=True):
        x = _label_columns(scene, label, task.ask.instruction, words)
        p = float(chance(readout.odds(x))[0])
        holds = drawn([p, 1.0 - p], task.manner) == 0
        decisions.append(_decision(scene, x, readout, label if holds else f"not {label}", p, holds=holds))
    return decisions


@lru_cache(maxsize=64)
def _label_readouts(
    field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles
) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
    shown = [(demo, given(demo, field.name)) for demo in demos]
    labelled = [(demo, set(map(str, value))) for demo, value in shown if isinstance(value, list)]
    scenes = [_whole(dict(demo.inputs), roles) for demo, _ in labelled]
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = np.concatenate([np.zeros(len(NAMES)), _PRIOR_LABEL])
    readouts = []
    for label in field.shape.labels:
        rows = [_label_columns(scene, label, instruction, words) for scene in scenes]
        readouts.append(learn(rows, [float(label in labels) for _, labels in labelled], prior, words))
    return words, tuple(readouts)


def _label_columns(scene: Scene, label: str, instruction: str, words: tuple[str, ...]) -> Array:
    held = term_set(scene.units[0])
    own = (term_set(re.sub(r"[_-]+", " ", label)), _definition(label, instruction))
    extra = np.array([[len(wanted & held) / len(wanted) if wanted else 0.0 for wanted in own]])
    return columns(scene, words, extra)


@lru_cache(maxsize=256)
def _definition(label: str, instruction: str) -> frozenset[str]:
    return term_set(definition_of(label, instruction))


def decide_preference(task: Task, field: Field) -> list[Decision]:
    """Decide between the two candidates; without two inputs that can be compared, as for any label."""
    pair = candidates_of(task.ask.inputs)
    if pair is None:
        return decide(task, replace(field, shape=Shape(kind="label", labels=field.shape.labels)))
    roles = _candidate_roles(task.ask, pair)
    words, better, even = _preference_readouts(field, task.ask.instruction, task.ask.demos, pair, roles)
    x = _difference(task.ask.values, pair, roles, words)
    odds = better.odds(x)
    tie = float(chance(even.odds(_size(odds)))[0]) if "tie" in field.shape.labels else 0.0
    p = float(chance(odds)[0])
    likely = {"first": (1.0 - tie) * p, "second": (1.0 - tie) * (1.0 - p), "tie": tie}
    label = field.shape.labels[drawn([likely[name] for name in field.shape.labels], task.manner)]
    scene = _whole(task.ask.values, replace(roles, judged=pair[int(label == "second")]))
    decision = _decision(scene, x, better, label, likely[label], holds=label == "first")
    return [replace(decision, reasons=better.reasons(x[0], high=label != "second"))]


def candidates_of(inputs: Sequence[Field]) -> tuple[str, str] | None:
    """Return the inputs that are compared: two whose names differ in a mark (a and b, 1 and 2), else the last two."""
    names = [field.name for field in inputs]
    for first, second in combinations(names, 2):
        parts = [
            [part for part in re.split(r"_+|(?<=\D)(?=\d)", name.lower()) if part] for name in (first, second)
        ]
        if len(parts[0]) == len(parts[1]):
            apart = [pair for pair in zip(*parts, strict=True) if pair[0] != pair[1]]
            if len(apart) == 1 and apart[0] in _MARKS:
                return first, second
            if len(apart) == 1 and apart[0][::-1] in _MARKS:
                return second, first
    return (names[-2], names[-1]) if len(names) > 1 else None


def _candidate_roles(ask: Ask, pair: tuple[str, str]) -> Roles:
    """Return who is who among the other inputs; the first candidate stands for what is judged."""
    rest = tuple(field for field in ask.inputs if field.name not in pair)
    if not rest:
        return Roles(evidence=(), judged=pair[0], context=())
    stand_in = Field(name="candidate", description="", shape=Shape(kind="text"))
    values = {field.name: ask.values.get(field.name, "") for field in rest}
    roles = assign_roles(
        replace(ask, inputs=(*rest, stand_in), outputs=(), values={**values, "candidate": ""})
    )
    others = tuple(name for name in (roles.judged, *roles.context) if name not in ("candidate", ""))
    return replace(roles, judged=pair[0], context=others)


def _difference(
    values: Mapping[str, str], pair: tuple[str, str], roles: Roles, words: Sequence[str]
) -> Array:
    first, second = (columns(_whole(values, replace(roles, judged=name)), words) for name in pair)
    return np.asarray(first - second, dtype=np.float64)


def _size(odds: Array) -> Array:
    return np.column_stack([np.abs(odds), np.ones(len(odds))])


@lru_cache(maxsize=64)
def _preference_readouts(
    field: Field, instruction: str, demos: tuple[Demo, ...], pair: tuple[str, str], roles: Roles
) -> tuple[tuple[str, ...], Readout, Readout]:
    """Return the shared words, the readout of the better candidate, and that of a tie."""
    shown = [(dict(demo.inputs), str(given(demo, field.name))) for demo in demos]
    labelled = [(values, label) for values, label in shown if label in _TARGETS]
    words = vocabulary([values.get(name, "") for values, _ in labelled for name in pair])
    prior = prior_of("supported", instruction)
    prior[BIAS_COLUMN] = 0.0  # it is the same for both
    rows = [_difference(values, pair, roles, words) for values, _ in labelled]
    better = learn(rows, [_TARGETS[label] for _, label in labelled], prior, words)
    ties = [float(label == "tie") for _, label in labelled]
    return words, better, learn([_size(better.left_out)], ties, np.array(_PRIOR_TIE))
