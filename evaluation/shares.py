"""Ratios of counts with clustered 95 % intervals: shares, rates, and means per response.

Every ratio is a sum over a sum, and both are resampled together by whole groups, as all intervals here are: a
share of sentences varies with the documents that were drawn, and so does the number of sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from .intervals import LEVEL, RESAMPLES, group_weights

__all__ = ["Counted", "Share", "shares"]

Counted: TypeAlias = Iterable[tuple[str, float, float]]
"""(group, part, whole) of every item; the share is the sum of parts over the sum of wholes."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """One ratio.

    Attributes:
        value: ``count / of``; ``None`` where there is nothing to divide by.
        low, high: the clustered 95 % interval; ``None`` without a value, or with a single group, which says
            nothing about others.
        count: the sum of the parts.
        of: the sum of the wholes.
        groups: groups with a whole above 0.
    """

    value: float | None
    low: float | None
    high: float | None
    count: float
    of: float
    groups: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return asdict(self)

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        text = f"{self.value:.3f}"
        return text if self.low is None else f"{text} [{self.low:.3f}, {self.high:.3f}]"


def shares(tables: Mapping[str, Counted], *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Share]:
    """Return every ratio with its interval, all on the same resamples of groups.

    Args:
        tables: name -> what is counted. Groups that occur in any of them are drawn for all of them.
        seed: of the bootstrap.
        resamples: how many; those in which a ratio has nothing to divide by are left out of its interval.
    """
    sums: dict[str, dict[str, tuple[float, float]]] = {}
    for name, items in tables.items():
        mine = sums.setdefault(name, {})
        for group, part, whole in items:
            before = mine.get(group, (0.0, 0.0))
            mine[group] = before[0] + part, before[1] + whole
    groups = sorted({group for mine in sums.values() for group in mine})
    weights = group_weights(len(groups), seed=seed, resamples=resamples) if len(groups) > 1 else None
    return {name: _share(mine, groups, weights) for name, mine in sums.items()}


def _share(mine: Mapping[str, tuple[float, float]], groups: list[str], weights: Any) -> Share:
    table = np.array([mine.get(group, (0.0, 0.0)) for group in groups], dtype=np.float64).reshape(-1, 2)
    count, of = (float(total) for total in table.sum(axis=0))
    held = int((table[:, 1] > 0).sum())
    value = count / of if of else None
    low = high = None
    if value is not None and weights is not None and held > 1:
        drawn = weights @ table
        drawn = drawn[drawn[:, 1] > 0]
        tail = (1.0 - LEVEL) / 2.0
        low, high = (float(end) for end in np.quantile(drawn[:, 0] / drawn[:, 1], [tail, 1.0 - tail]))
    return Share(value=value, low=low, high=high, count=count, of=of, groups=held)
