"""Ratios of counts with clustered 95 % intervals: shares, rates, and means per response.

Every ratio is a sum over a sum, and both are taken without each whole group, as in all intervals here: a share of
sentences varies with the documents there are, and so does the number of sentences.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from .intervals import Jackknife, Ranged, leaving_out
from .ratios import Counted as Weights

K = TypeVar("K", bound=Hashable)
Counted: TypeAlias = Iterable[tuple[str, float, float]]
"""(group, part, whole) of every item; the share is the sum of parts over the sum of wholes."""


@dataclass(frozen=True, kw_only=True)
class Share(Ranged):
    """One ratio."""

    count: float  # the sum of the parts
    of: float  # the sum of the wholes
    groups: int  # groups with a whole above 0

    def of_scale(self, most: float) -> "Share":
        """Return a ratio of points to the most there are as the mean of points, on a scale from 0 to ``most``."""
        value, low, high = (None if one is None else one * most for one in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high, of=self.of / most)


def shares(tables: Mapping[K, Counted], most: float = 1.0) -> dict[K, Share]:
    """Return every ratio with its interval."""
    return {name: _share(list(items), most) for name, items in tables.items()}


def _share(items: Sequence[tuple[str, float, float]], most: float) -> Share:
    sums: dict[str, tuple[float, float]] = {}
    for group, part, whole in items:
        if whole:
            before = sums.get(group, (0.0, 0.0))
            sums[group] = before[0] + part, before[1] + whole
    table = np.array([sums[group] for group in sorted(sums)], dtype=np.float64).reshape(-1, 2)
    count, of = (float(total) for total in table.sum(axis=0))
    value = count / of if of else None
    low = high = None
    if value is not None and len(table) > 1:
        left = leaving_out(len(table)) @ table
        ends = Jackknife.of(value, left[:, 0] / left[:, 1], Weights(each=table[:, 1:])).within(0.0, most)
        low, high = ends.low, ends.high
    return Share(value=value, low=low, high=high, count=count, of=of, groups=len(table))
