"""Functions of sums over units that are a quotient, or the mean of several, and how much each group counts in them.

A quotient 0/0 is 0.0 unless a metric says otherwise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from .units import Floats

_ROUNDING = 1e-12  # equal values may be computed along different roundings

SumFunction: TypeAlias = Callable[[Floats], Floats]
"""(..., d) sums -> (...) values; a :class:`Ratio` also knows how much each group counts."""


def quotient(above: Floats, below: Floats, empty: float = 0.0) -> Floats:
    """Divide, with ``empty`` where the divisor is 0."""
    above, below = np.broadcast_arrays(np.asarray(above, dtype=np.float64), below)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, empty), where=below != 0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """How much each group counts for a value."""

    each: Floats
    top: frozenset[int] = frozenset()
    bottom: frozenset[int] = frozenset()

    @classmethod
    def added(cls, several: Sequence["Counted"]) -> Self:
        """Return how much each group counts for the mean of several values."""
        each = np.sum([one.each for one in several], axis=0)
        top, bottom = zip(*((one.top, one.bottom) for one in several), strict=True)
        return cls(each=each, top=frozenset.intersection(*top), bottom=frozenset.intersection(*bottom))

    @property
    def effective(self) -> float:
        """Groups of equal weight that say as much, up to G (Kish 1965, section 11.7)."""
        return _effective(self.each.sum(axis=1))

    def those(self, places: frozenset[int]) -> tuple[float, ...]:
        """The same of each of some quotients."""
        return tuple(_effective(self.each[:, place]) for place in sorted(places))


def _effective(weights: Floats) -> float:
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


@dataclass(frozen=True)
class Ratio:
    """A function of sums that is a quotient."""

    parts: Callable[..., tuple[Floats, Floats]]
    empty: float = 0.0

    def __call__(self, sums: Floats, *more: Any) -> Floats:
        """Its values (...)."""
        return quotient(*self.parts(sums, *more), self.empty)

    def given(self, *more: Any) -> Self:
        """Return the same, where what else it takes is this."""
        return replace(self, parts=lambda sums: self.parts(sums, *more))

    def after(self, step: SumFunction) -> Self:
        """Return the same of sums that are changed by ``step`` first."""
        return replace(self, parts=lambda sums, *more: self.parts(step(sums), *more))

    def counted(self, each: Floats) -> Counted:
        """How much each group counts, from its sums (G, d): the share of the divisor that goes without it.

        What is found among few units is no surer for units beside them that it is not about: a recall counts the
        groups with something to find.
        """
        above, below = self.parts(each.sum(axis=0))
        gone = quotient(below - self.parts(each.sum(axis=0) - each)[1], below)
        return self._counted(np.maximum(gone, 0.0).reshape(len(each), -1), above, below)

    def _counted(self, each: Floats, above: Floats, below: Floats) -> Counted:
        return Counted(each=each)


class Ratios(Ratio):
    """The sum of M quotients: its parts are of shape (..., M)."""

    def __call__(self, sums: Floats, *more: Any) -> Floats:
        """Its values (...)."""
        return np.asarray(super().__call__(sums, *more).sum(axis=-1))

    def _counted(self, each: Floats, above: Floats, below: Floats) -> Counted:
        """At an end are those that are 0, or as much as each of so many can be of a mean."""
        shares = quotient(above, below) * np.count_nonzero(below)
        ends = shares > 1.0 - _ROUNDING, (below > 0) & (shares < _ROUNDING)
        top, bottom = (frozenset(np.flatnonzero(one).tolist()) for one in ends)
        return Counted(each=each, top=top, bottom=bottom)


def mean_parts(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """The parts (..., M) of the mean of M quotients, without those of 0/0."""
    return quotient(above, (below > 0).sum(axis=-1, keepdims=True)), below


@Ratio
def mean(sums: Floats) -> tuple[Floats, Floats]:
    """The first of two sums over the second, (..., 2) -> (...)."""
    return sums[..., 0], sums[..., 1]
