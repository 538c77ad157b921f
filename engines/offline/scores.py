"""Answers that rest on one readout each: a score, several labels at once, a preference of two."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import expit

from ...text.evidence import term_set
from .decisions import Decision, Lesson, Manner, Task, decide, scene_of
from .features import NAMES, Scene, read_units
from .labels import definition_of, meanings, prior_weights
from .learning import BIAS_COLUMN, Array, Readout, design, learn, vocabulary
from .request import Ask, Field, Roles, Scale, Shape, Unit, assign_roles

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
    shape, scene = field.shape, scene_of(task.ask.values, task.roles)[0]
    words, readout = _score_readout(task.lesson(field))
    x = columns(scene, words)
    support = to_levels(float(expit(readout.odds(x))[0]), readout.spread, shape, task.manner)
    label = f"{shape.at(support):g}"
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


def to_levels(at: float, spread: float, scale: Scale, manner: Manner) -> float:
    """Return one level as a share of the range: the nearest to ``at``, or, above temperature 0, one that is drawn."""
    levels = scale.levels
    if not levels and scale.whole and scale.high - scale.low <= _GRID:
        levels = tuple(float(n) for n in range(round(scale.low), round(scale.high) + 1))
    levels = levels or tuple(map(float, np.linspace(scale.low, scale.high, _GRID + 1)))
    shares = list(map(scale.share, levels))
    likely = [float(np.exp(-(((share - at) / spread) ** 2) / 2.0)) for share in shares]
    return shares[manner.drawn(likely)]


def prior_of(name: str, description: str = "") -> Array:
    """Return the weights of "what the name says is so" against its being not so; the last is the bias."""
    yes, no = prior_weights(meanings(("True", "False"), name, "", description))
    return np.asarray(yes - no, dtype=np.float64)


@lru_cache(maxsize=64)
def _score_readout(lesson: Lesson) -> tuple[tuple[str, ...], Readout]:
    field, scenes, target = lesson.field, [], []
    for values, value in lesson.shown():
        if isinstance(value, str):
            value = float(value) if re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", value) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            scenes.append(scene_of(values, lesson.roles)[0])
            target.append(field.shape.share(float(value)))
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = prior_of(field.name, field.description)
    return words, learn([columns(scene, words) for scene in scenes], target, prior, words)


def decide_several(task: Task, field: Field) -> list[Decision]:
    """Decide on every label; a decision holds if the label is given."""
    scene = scene_of(task.ask.values, task.roles)[0]
    words, readouts = _label_readouts(task.lesson(field))
    decisions = []
    for label, readout in zip(field.shape.labels, readouts, strict=True):
        x = _label_columns(scene, label, task.ask.instruction, words)
        p = float(expit(readout.odds(x))[0])
        holds = task.manner.holds(p)
        decisions.append(_decision(scene, x, readout, label if holds else f"not {label}", p, holds=holds))
    return decisions


@lru_cache(maxsize=64)
def _label_readouts(lesson: Lesson) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
    labelled = [(values, set(map(str, value))) for values, value in lesson.shown() if isinstance(value, list)]
    scenes = [scene_of(values, lesson.roles)[0] for values, _ in labelled]
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = np.concatenate([np.zeros(len(NAMES)), _PRIOR_LABEL])
    readouts = []
    for label in lesson.field.shape.labels:
        rows = [_label_columns(scene, label, lesson.instruction, words) for scene in scenes]
        readouts.append(learn(rows, [float(label in labels) for _, labels in labelled], prior, words))
    return words, tuple(readouts)


def _label_columns(scene: Scene, label: str, instruction: str, words: tuple[str, ...]) -> Array:
    held = term_set(scene.units[0])
    own = (term_set(re.sub(r"[_-]+", " ", label)), term_set(definition_of(label, instruction)))
    extra = np.array([[len(wanted & held) / len(wanted) if wanted else 0.0 for wanted in own]])
    return columns(scene, words, extra)


def decide_preference(task: Task, field: Field) -> list[Decision]:
    """Decide between the two candidates; without two inputs that can be compared, as for any label."""
    # What is learned is of their difference: exchanging them exchanges the odds, for no weight is of a place.
    pair = _candidates(task.ask.inputs)
    if pair is None:
        return decide(task, replace(field, shape=Shape(kind="label", labels=field.shape.labels)))
    lesson = replace(task.lesson(field), roles=_candidate_roles(task.ask, pair))
    words, better, even = _preference_readouts(lesson, pair)
    x = _difference(task.ask.values, pair, lesson.roles, words)
    odds = better.odds(x)
    tie = float(expit(even.odds(_size(odds)))[0]) if "tie" in field.shape.labels else 0.0
    p = float(expit(odds)[0])
    likely = {"first": (1.0 - tie) * p, "second": (1.0 - tie) * (1.0 - p), "tie": tie}
    label = field.shape.labels[task.manner.drawn([likely[name] for name in field.shape.labels])]
    scene = scene_of(task.ask.values, replace(lesson.roles, judged=pair[int(label == "second")]))[0]
    decision = _decision(scene, x, better, label, likely[label], holds=label == "first")
    return [replace(decision, reasons=better.reasons(x[0], high=label != "second"))]


def _candidates(inputs: Sequence[Field]) -> tuple[str, str] | None:
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
    scenes = (scene_of(values, replace(roles, judged=name))[0] for name in pair)
    first, second = (columns(scene, words) for scene in scenes)
    return np.asarray(first - second, dtype=np.float64)


def _size(odds: Array) -> Array:
    return np.column_stack([np.abs(odds), np.ones(len(odds))])


@lru_cache(maxsize=64)
def _preference_readouts(lesson: Lesson, pair: tuple[str, str]) -> tuple[tuple[str, ...], Readout, Readout]:
    """Return the shared words, the readout of the better candidate, and that of a tie."""
    labelled = [(values, str(value)) for values, value in lesson.shown() if str(value) in _TARGETS]
    words = vocabulary([values.get(name, "") for values, _ in labelled for name in pair])
    prior = prior_of("supported")
    prior[BIAS_COLUMN] = 0.0  # it is the same for both
    rows = [_difference(values, pair, lesson.roles, words) for values, _ in labelled]
    better = learn(rows, [_TARGETS[label] for _, label in labelled], prior, words)
    ties = [float(label == "tie") for _, label in labelled]
    return words, better, learn([_size(better.left_out)], ties, np.array(_PRIOR_TIE))
