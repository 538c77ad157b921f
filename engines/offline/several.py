"""Several labels at once: one readout per label, of the features, of the label's own words, and of shared words."""

import re
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...text.evidence import term_set
from .decisions import Decision, Task, drawn, given, scene_of
from .features import NAMES, Scene, read_units
from .labels import definition_of
from .readouts import Readout, chance, design, learn, vocabulary
from .request import Demo, Field
from .roles import Roles

__all__ = ["decide_several"]

_PRIOR: Final = (-2.0, 4.0, 4.0)  # bias, the label is named in the text, the words of its definition are


def decide_several(task: Task, field: Field) -> list[Decision]:
    """Decide on every label; a decision holds if the label is given."""
    scene, units = scene_of(task.ask.values, task.roles, per_unit=False)
    words, readouts = _readouts(field, task.ask.instruction, task.ask.demos, task.roles)
    reading = read_units(scene)
    decisions = []
    for label, readout in zip(field.shape.labels, readouts, strict=True):
        x = _columns(scene, label, task.ask.instruction, words)
        p = float(chance(readout.odds(x))[0])
        holds = drawn([p, 1.0 - p], task.manner) == 0
        decisions.append(
            Decision(
                unit=units[0],
                label=label if holds else f"not {label}",
                support=p,
                holds=holds,
                quote=reading.quotes[0],
                reasons=readout.reasons(x[0], high=holds),
            )
        )
    return decisions


@lru_cache(maxsize=64)
def _readouts(
    field: Field, instruction: str, demos: tuple[Demo, ...], roles: Roles
) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
    shown = [(demo, given(demo, field.name)) for demo in demos]
    labelled = [(demo, {str(one) for one in value}) for demo, value in shown if isinstance(value, list)]
    scenes = [scene_of(dict(demo.inputs), roles, per_unit=False)[0] for demo, _ in labelled]
    words = vocabulary([scene.units[0] for scene in scenes])
    prior = np.concatenate([np.zeros(len(NAMES)), _PRIOR])
    readouts = []
    for label in field.shape.labels:
        rows = [_columns(scene, label, instruction, words) for scene in scenes]
        x = np.vstack([np.zeros((0, len(prior) + len(words))), *rows])
        readouts.append(learn(x, np.array([float(label in said) for _, said in labelled]), prior))
    return words, tuple(readouts)


def _columns(scene: Scene, label: str, instruction: str, words: tuple[str, ...]) -> NDArray[np.float64]:
    held = term_set(scene.units[0])
    own = (term_set(re.sub(r"[_-]+", " ", label)), _definition(label, instruction))
    extra = np.array([[len(wanted & held) / len(wanted) if wanted else 0.0 for wanted in own]])
    return design(read_units(scene).matrix, scene.units, words, extra)


@lru_cache(maxsize=256)
def _definition(label: str, instruction: str) -> frozenset[str]:
    return term_set(definition_of(label, instruction))
