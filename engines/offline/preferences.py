"""A preference between two candidates, from the difference of what is measured about them.

Exchanging the candidates exchanges the odds, whatever was learned: there is no weight for a place. A tie is a small
difference; how small is learned.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .decisions import Decision, Task, decide, drawn, given, scene_of
from .features import read_units
from .readouts import BIAS_COLUMN, Readout, chance, design, learn, vocabulary
from .request import Ask, Demo, Field
from .roles import Roles, Unit, assign_roles
from .scores import prior_of
from .shapes import Shape

__all__ = ["candidates_of", "decide_preference"]

_MARKS: Final = (("first", "second"), ("a", "b"), ("1", "2"), ("one", "two"), ("left", "right"), ("甲", "乙"))
_PRIOR_TIE: Final = (-1.0, 0.0)  # of the size of the difference, and bias: a tie if they are about even
_TARGETS: Final[Mapping[str, float]] = {"first": 1.0, "second": 0.0, "tie": 0.5}


def decide_preference(task: Task, field: Field) -> list[Decision]:
    """Decide between the two candidates; without two inputs that can be compared, as for any label."""
    pair = candidates_of(task.ask.inputs)
    if pair is None:
        return decide(task, replace(field, shape=Shape(kind="label", labels=field.shape.labels)))
    roles = _roles(task.ask, pair)
    words, better, even = _readouts(field, task.ask.instruction, task.ask.demos, pair, roles)
    values = task.ask.values
    x = _difference(values, pair, roles, words)
    odds = better.odds(x)
    tie = float(chance(even.odds(_size(odds)))[0]) if "tie" in field.shape.labels else 0.0
    p = float(chance(odds)[0])
    said = {"first": (1.0 - tie) * p, "second": (1.0 - tie) * (1.0 - p), "tie": tie}
    label = field.shape.labels[drawn([said[name] for name in field.shape.labels], task.manner)]
    chosen = pair[int(label == "second")]
    scene, _ = scene_of(values, replace(roles, judged=chosen), per_unit=False)
    return [
        Decision(
            unit=Unit(number=1, text=values.get(chosen, "")),
            label=label,
            support=said[label],
            holds=label == "first",
            quote=read_units(scene).quotes[0],
            reasons=better.reasons(x[0], high=label != "second"),
        )
    ]


def candidates_of(inputs: Sequence[Field]) -> tuple[str, str] | None:
    """Return the inputs that are compared: two whose names differ in a mark (a and b, 1 and 2), else the last two."""
    names = [field.name for field in inputs]
    for one, other in combinations(names, 2):
        parts = (_parts(one), _parts(other))
        if len(parts[0]) == len(parts[1]):
            apart = [pair for pair in zip(*parts, strict=True) if pair[0] != pair[1]]
            if len(apart) == 1 and apart[0] in _MARKS:
                return one, other
            if len(apart) == 1 and apart[0][::-1] in _MARKS:
                return other, one
    return (names[-2], names[-1]) if len(names) > 1 else None


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"_+|(?<=\D)(?=\d)", name.lower()) if part]


def _roles(ask: Ask, pair: tuple[str, str]) -> Roles:
    """Return who is who among the other inputs; the first candidate stands for what is judged."""
    rest = tuple(field for field in ask.inputs if field.name not in pair)
    if not rest:
        return Roles(evidence=(), judged=pair[0], context=(), without=ask.without)
    stand_in = Field(name="candidate", description="", shape=Shape(kind="text"))
    values = {field.name: ask.values.get(field.name, "") for field in rest}
    roles = assign_roles(
        replace(ask, inputs=(*rest, stand_in), outputs=(), values={**values, "candidate": ""})
    )
    others = tuple(name for name in (roles.judged, *roles.context) if name not in ("candidate", ""))
    return replace(roles, judged=pair[0], context=others)


def _difference(
    values: Mapping[str, str], pair: tuple[str, str], roles: Roles, words: Sequence[str]
) -> NDArray[np.float64]:
    columns = []
    for name in pair:
        scene, _ = scene_of(dict(values), replace(roles, judged=name), per_unit=False)
        columns.append(design(read_units(scene).matrix, scene.units, words))
    return np.asarray(columns[0] - columns[1], dtype=np.float64)


def _size(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([np.abs(odds), np.ones(len(odds))])


@lru_cache(maxsize=64)
def _readouts(
    field: Field,
    instruction: str,
    demos: tuple[Demo, ...],
    pair: tuple[str, str],
    roles: Roles,
) -> tuple[tuple[str, ...], Readout, Readout]:
    """Return the shared words, the readout of the better one, and that of a tie."""
    shown = [(dict(demo.inputs), str(given(demo, field.name))) for demo in demos]
    told = [(values, label) for values, label in shown if label in _TARGETS]
    words = vocabulary([values.get(name, "") for values, _ in told for name in pair])
    prior = prior_of("supported", instruction)
    prior[BIAS_COLUMN] = 0.0  # it is the same for both
    rows = [_difference(values, pair, roles, words) for values, _ in told]
    x = np.vstack([np.zeros((0, len(prior) + len(words))), *rows])
    better = learn(x, np.array([_TARGETS[label] for _, label in told]), prior)
    ties = np.array([float(label == "tie") for _, label in told])
    return words, better, learn(_size(better.left_out), ties, np.array(_PRIOR_TIE))
