"""A score: how far a claim is supported, on a scale, and what demonstrations teach about that scale."""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .criteria import shifts_for
from .decisions import Decision, Task, drawn, given, scene_of
from .features import read_units
from .labels import meanings
from .prior import prior_weights
from .readouts import Readout, chance, design, learn, vocabulary
from .request import Demo, Field
from .roles import Roles
from .shapes import Part, Shape

__all__ = ["decide_score", "levels_of", "prior_of", "share_of", "to_levels"]

_GRID: Final = 100  # steps of a scale without levels


def decide_score(task: Task, field: Field) -> list[Decision]:
    """Score the whole claim; the decision's ``support`` is where on the scale, 0 to 1."""
    scene, units = scene_of(task.ask.values, task.roles, per_unit=False)
    words, readout = _readout(field, task.ask.instruction, task.ask.demos, task.roles)
    reading = read_units(scene)
    x = design(reading.matrix, scene.units, words)
    at = float(chance(readout.odds(x))[0])
    shape = field.shape
    support = to_levels(at, readout.spread, shape.levels or levels_of(shape), shape.low, shape.high, task)
    value = shape.low + support * (shape.high - shape.low)
    return [
        Decision(
            unit=units[0],
            label=f"{round(value, 3):g}",
            support=support,
            holds=support >= 0.5,
            quote=reading.quotes[0],
            reasons=readout.reasons(x[0], high=support >= 0.5),
        )
    ]


def levels_of(scale: Shape | Part) -> tuple[float, ...]:
    """Return the values that a number may take: integers, else a hundred steps."""
    if scale.whole and scale.high - scale.low <= _GRID:
        return tuple(float(n) for n in range(round(scale.low), round(scale.high) + 1))
    return tuple(float(value) for value in np.linspace(scale.low, scale.high, _GRID + 1))


def to_levels(
    at: float, spread: float, levels: tuple[float, ...], low: float, high: float, task: Task
) -> float:
    """Return one level as a share of the range: the nearest, or, above temperature 0, one that is drawn.

    Args:
        at: what is expected, as a share.
        spread: how far off that usually is, as a share.
        levels: ascending values.
        low, high: the range.
        task: whose temperature.
    """
    shares = [share_of(level, low, high) for level in levels]
    return shares[
        drawn([float(np.exp(-(((share - at) / spread) ** 2) / 2.0)) for share in shares], task.manner)
    ]


def share_of(value: float, low: float, high: float) -> float:
    """Return where a value lies on its range, 0 to 1."""
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


def prior_of(name: str, instruction: str, description: str = "") -> NDArray[np.float64]:
    """Return the weights of "what the name says is so" against its being not so; the last is the bias."""
    known = meanings(("True", "False"), name, instruction, description)
    yes, no = prior_weights(known, shifts_for(instruction))
    return np.asarray(yes - no, dtype=np.float64)


@lru_cache(maxsize=64)
def _readout(
    field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles
) -> tuple[tuple[str, ...], Readout]:
    shown = [(demo, given(demo, field.name)) for demo in demos]
    scored = [(demo, float(value)) for demo, value in shown if _is_number(value)]
    scenes = [scene_of(dict(demo.inputs), roles, per_unit=False)[0] for demo, _ in scored]
    texts = [scene.units[0] for scene in scenes]
    words = vocabulary(texts)
    prior = prior_of(field.name, instruction, field.description)
    rows = [design(read_units(scene).matrix, scene.units, words) for scene in scenes]
    x = np.vstack([np.zeros((0, len(prior) + len(words))), *rows])
    target = np.array([share_of(value, field.shape.low, field.shape.high) for _, value in scored])
    return words, learn(x, target, prior)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return not isinstance(value, bool)
