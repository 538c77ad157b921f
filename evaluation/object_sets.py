"""Sets of objects: each is matched to at most one of gold's by best assignment, then precision, recall and F1.

Of all one-to-one assignments the one with the largest sum of similarities counts (Kuhn 1955, "The Hungarian method").
Precision is that sum over the objects found, recall over gold's, F1 their harmonic mean, all over the sums of all
units (micro); 0/0 is 0.0. With a similarity that is 0 or 1 the sum is the number of matched objects.

A missing answer counts as as many wrong objects as gold has, at least one. A set has no largest size, so an answer
can be worse than none; the lower bound is 0 as soon as an answer is missing.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..errors import JuristError
from .graded import Graded
from .metrics import Metric, pair_sums
from .ratios import Ratio
from .units import Floats

Set: TypeAlias = tuple[Any, ...]
Similarity: TypeAlias = Callable[[Any, Any], float]
"""(an object of gold, an object of the answer) -> how far they are the same, in [0, 1]."""


@Ratio
def precision(sums: Floats) -> tuple[Floats, Floats]:
    """Hits over found, from sums (..., 3) of hits, gold and found."""
    return sums[..., 0], sums[..., 2]


@Ratio
def recall(sums: Floats) -> tuple[Floats, Floats]:
    """Hits over gold, likewise."""
    return sums[..., 0], sums[..., 1]


@Ratio
def f1(sums: Floats) -> tuple[Floats, Floats]:
    """Their harmonic mean, likewise."""
    return 2.0 * sums[..., 0], sums[..., 1] + sums[..., 2]


def equal(gold: Any, value: Any) -> float:
    """1.0 for equal objects, else 0.0."""
    return float(gold == value)


@dataclass(frozen=True)
class _Wrong:
    """So many objects of which none is like anything in gold."""

    count: int


@dataclass(frozen=True)
class ObjectSets(Graded):
    """A tuple of hashable objects whose order does not matter; an answer is more or less right."""

    same: Similarity = equal

    @property
    def default(self) -> str:
        """F1."""
        return "f1"

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Precision, recall and F1, by name."""
        functions = {"precision": precision, "recall": recall, "f1": f1}
        return MappingProxyType(
            {
                name: Metric(name=name, statistics=pair_sums(self._sums, of, 3), exact=False)
                for name, of in functions.items()
            }
        )

    def _sums(self, gold: Set, value: Set | _Wrong) -> tuple[float, float, float]:
        if isinstance(value, _Wrong):
            return 0.0, float(len(gold)), float(value.count)
        pairs = self.match(gold, value)
        return sum(similarity for _, _, similarity in pairs), float(len(gold)), float(len(value))

    def match(self, gold: Set, value: Set) -> list[tuple[int, int, float]]:
        """Return the best assignment: (place in gold, place in the answer, similarity above 0), by place in gold."""
        if (gold, value) not in self._known:
            self._known[gold, value] = self._best(gold, value)
        return self._known[gold, value]

    @cached_property
    def _known(self) -> dict[tuple[Set, Set], list[tuple[int, int, float]]]:
        # every metric, resample and candidate asks for the same pairs again, and an assignment takes its time
        return {}

    def _best(self, gold: Set, value: Set) -> list[tuple[int, int, float]]:
        if not gold or not value:
            return []
        table = np.array([[self.same(one, two) for two in value] for one in gold], dtype=np.float64)
        if not ((table >= 0.0) & (table <= 1.0)).all():
            raise JuristError("the similarity of two objects is not in [0, 1]", hint="correct its function")
        rows, columns = linear_sum_assignment(table, maximize=True)
        found = zip(rows.tolist(), columns.tolist(), table[rows, columns].tolist(), strict=True)
        return [entry for entry in found if entry[2] > 0.0]

    def check(self, value: Any) -> str:
        """What is wrong with a value; empty if it is a tuple of hashable objects."""
        if not isinstance(value, tuple):
            return f"set {value!r} is not a tuple of objects"
        strange = [one for one in value if not isinstance(one, Hashable)]
        return f"object {strange[0]!r} is not hashable" if strange else ""

    def similarity(self, gold: Set, value: Set) -> float:
        """F1 of one set against the other, in [0, 1]; 1.0 for two empty sets."""
        if not gold and not value:
            return 1.0
        matched, one, two = self._sums(gold, value)
        return 2.0 * matched / (one + two)

    def wrong(self, gold: Set) -> _Wrong:
        """As many wrong objects as gold has, at least one."""
        return _Wrong(max(1, len(gold)))

    def consensus(self, values: Sequence[Set]) -> Set | None:
        """The medoid: the first of the sets that are most similar to all; ``None`` of none."""
        if not values:
            return None
        return max(values, key=lambda one: sum(self.similarity(one, other) for other in values))
