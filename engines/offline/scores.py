"""Answers that are one yes or no, or a share, each: a score, several labels at once, a preference of two."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from ...text.evidence import term_set
from .decisions import Decision, Lesson, Manner, Task, decide, scene_of
from .features import NAMES, Scene, read_units
from .labels import definition_of, prior_of
from .learning import BIAS_COLUMN, Array, Regression, columns, learn, shares, vocabulary
from .request import Field, Roles, Shape, Unit

_GRID: Final = 100  # steps of a scale without levels
_SPREAD: Final = 0.15  # of what a score may be, by which one is drawn
_PRIOR_LABEL: Final = (-2.0, 4.0, 4.0)
"""Weights of the bias, that the label is named in the text, and that the words of its definition are."""
_MARKS: Final = (("first", "second"), ("a", "b"), ("1", "2"), ("left", "right"))
# of the difference, and bias: a tie if they are about even
_PRIOR_TIE: Final = np.array([[-1.0, 0.0], [0.0, 0.0]])
_TARGETS: Final[Mapping[str, float]] = {"first": 1.0, "second": 0.0, "tie": 0.5}


def decide_score(task: Task, field: Field) -> list[Decision]:
    """Score the whole claim; the decision's ``support`` is where on the scale, 0 to 1."""
    shape, scene = field.shape, scene_of(task.ask.values, task.roles)[0]
    model = _score_model(task.lesson(field))
    x = columns(scene, model.words)
    support = level_near(float(model.probabilities(x)[0, 0]), shape, task.manner)
    return [_decision(scene, x, model, f"{shape.at(support):g}", support, holds=support >= 0.5)]


def _decision(
    scene: Scene, x: Array, model: Regression, label: str, support: float, *, holds: bool
) -> Decision:
    return Decision(
        unit=Unit(number=1, text=scene.units[0]),
        label=label,
        support=support,
        holds=holds,
        quote=read_units(scene).quotes[0],
        reasons=model.reasons(x[0], int(not holds), int(holds)),
    )


def level_near(at: float, shape: Shape, manner: Manner) -> float:
    """Return one level as a share of the range: the nearest to ``at``, or, above temperature 0, one that is drawn."""
    levels = shape.levels
    if not levels and shape.whole and shape.high - shape.low <= _GRID:
        levels = tuple(float(n) for n in range(round(shape.low), round(shape.high) + 1))
    levels = levels or tuple(map(float, np.linspace(shape.low, shape.high, _GRID + 1)))
    places = list(map(shape.share, levels))
    return places[manner.drawn([float(np.exp(-(((place - at) / _SPREAD) ** 2) / 2.0)) for place in places])]


@lru_cache(maxsize=64)
def _score_model(lesson: Lesson) -> Regression:
    scenes, targets = list[Scene](), list[Array]()
    for values, value in lesson.shown():
        if re.fullmatch(r"\s*[-+]?\d+(?:\.\d+)?\s*", str(value)):
            scenes.append(scene_of(values, lesson.roles)[0])
            targets.append(shares([lesson.field.shape.share(float(value))]))
    words = vocabulary([scene.units[0] for scene in scenes])
    return learn([columns(scene, words) for scene in scenes], targets, prior_of(lesson.field.name), words)


def decide_several(task: Task, field: Field) -> list[Decision]:
    """Decide on every label; a decision holds if the label is given."""
    scene = scene_of(task.ask.values, task.roles)[0]
    decisions = []
    for label, model in zip(field.shape.labels, _label_models(task.lesson(field)), strict=True):
        x = _label_columns(scene, label, task.ask.instruction, model.words)
        p = float(model.probabilities(x)[0, 0])
        holds = task.manner.holds(p)
        decisions.append(_decision(scene, x, model, label if holds else f"not {label}", p, holds=holds))
    return decisions


@lru_cache(maxsize=64)
def _label_models(lesson: Lesson) -> list[Regression]:
    labelled = [(values, set(map(str, value))) for values, value in lesson.shown() if isinstance(value, list)]
    scenes = [scene_of(values, lesson.roles)[0] for values, _ in labelled]
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = np.zeros((2, len(NAMES) + len(_PRIOR_LABEL)))
    prior[0, len(NAMES) :] = _PRIOR_LABEL
    models = []
    for label in lesson.field.shape.labels:
        rows = [_label_columns(scene, label, lesson.instruction, words) for scene in scenes]
        models.append(learn(rows, [shares([label in labels]) for _, labels in labelled], prior, words))
    return models


def _label_columns(scene: Scene, label: str, instruction: str, words: tuple[str, ...]) -> Array:
    held = term_set(scene.units[0])
    own = (term_set(re.sub(r"[_-]+", " ", label)), term_set(definition_of(label, instruction)))
    extra = np.array([[len(wanted & held) / len(wanted) if wanted else 0.0 for wanted in own]])
    return columns(scene, words, extra)


def decide_preference(task: Task, field: Field) -> list[Decision]:
    """Decide between the two candidates; without two inputs that can be compared, as for any label."""
    # What is learned is of their difference: exchanging them exchanges the odds, for no weight is of a place.
    pair = _candidates([field.name for field in task.ask.inputs])
    if pair is None:
        return decide(task, field)
    others = [
        name for name in (*task.roles.evidence, task.roles.judged, *task.roles.context) if name not in pair
    ]
    evidence = [name for name in others if name in task.roles.evidence] or others[:1]
    context = tuple(name for name in others if name not in evidence)
    lesson = replace(
        task.lesson(field), roles=Roles(evidence=tuple(evidence), judged=pair[0], context=context)
    )
    better, even = _preference_models(lesson, pair)
    x = _difference(task.ask.values, pair, lesson.roles, better.words)
    tie = float(even.probabilities(_size(better, x))[0, 0]) if "tie" in field.shape.labels else 0.0
    p = float(better.probabilities(x)[0, 0])
    likely = {"first": (1.0 - tie) * p, "second": (1.0 - tie) * (1.0 - p), "tie": tie}
    label = field.shape.labels[task.manner.drawn([likely[name] for name in field.shape.labels])]
    scene = scene_of(task.ask.values, replace(lesson.roles, judged=pair[int(label == "second")]))[0]
    return [_decision(scene, x, better, label, likely[label], holds=label != "second")]


def _candidates(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the inputs that are compared: two whose names differ in a mark (a and b, 1 and 2), else the last two."""
    for first, second in combinations(names, 2):
        words, others = (set(re.split(r"_+|(?<=\D)(?=\d)", name.lower())) for name in (first, second))
        for mark, other in _MARKS:
            if (words - others, others - words) == ({mark}, {other}):
                return first, second
            if (words - others, others - words) == ({other}, {mark}):
                return second, first
    return (names[-2], names[-1]) if len(names) > 1 else None


def _difference(
    values: Mapping[str, str], pair: tuple[str, str], roles: Roles, words: Sequence[str]
) -> Array:
    scenes = (scene_of(values, replace(roles, judged=name))[0] for name in pair)
    first, second = (columns(scene, words) for scene in scenes)
    return np.asarray(first - second, dtype=np.float64)


def _size(better: Regression, x: Array) -> Array:
    """Return how far the candidates are apart, as log odds, and 1."""
    odds = x @ (better.weights[0] - better.weights[1])
    return np.column_stack([np.abs(odds), np.ones(len(x))])


@lru_cache(maxsize=64)
def _preference_models(lesson: Lesson, pair: tuple[str, str]) -> tuple[Regression, Regression]:
    """Return the model of the better candidate, and that of a tie."""
    labelled = [(values, str(value)) for values, value in lesson.shown() if str(value) in _TARGETS]
    words = vocabulary([values.get(name, "") for values, _ in labelled for name in pair])
    prior = prior_of("supported")
    prior[:, BIAS_COLUMN] = 0.0  # it is the same for both
    rows = [_difference(values, pair, lesson.roles, words) for values, _ in labelled]
    better = learn(rows, [shares([_TARGETS[label]]) for _, label in labelled], prior, words)
    ties = [shares([label == "tie"]) for _, label in labelled]
    return better, learn([_size(better, row) for row in rows], ties, _PRIOR_TIE)
