"""What several raters said of the same units, as arrays.

Below, N is the number of units, R of raters, K of values. This module knows no coefficient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..cases import Value
from ..errors import JuristError, UsageError
from .comparisons import Comparison
from .units import MISSING, Bools, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """The labels of several raters."""

    raters: tuple[str, ...]
    labels: tuple[Value, ...]
    codes: Ints
    groups: tuple[str, ...]

    @cached_property
    def group(self) -> Ints:
        """Shape (N,): the number of each unit's group, by the order of the groups' names."""
        names = {name: code for code, name in enumerate(sorted(set(self.groups)))}
        return np.array([names[name] for name in self.groups], dtype=np.int64)

    @cached_property
    def counts(self) -> Ints:
        """Shape (N, K): how many raters gave each label to each unit."""
        return np.asarray((self.codes[:, :, np.newaxis] == np.arange(len(self.labels))).sum(axis=1))

    @cached_property
    def compared(self) -> Bools:
        """Shape (N,): which units have two ratings or more."""
        return np.asarray((self.codes != MISSING).sum(axis=1) >= 2)


def encode_ratings(
    ratings: Mapping[str, Sequence[Value | None]],
    comparison: Comparison | None = None,
    *,
    groups: Sequence[str] | None = None,
) -> Ratings:
    """Turn labels by rater into arrays."""
    lengths = sorted({len(given) for given in ratings.values()})
    if len(ratings) < 2:
        raise UsageError(f"there are the labels of {len(ratings)} raters", hint="give those of two or more")
    units = lengths[0]
    places = [f"{place:09d}" for place in range(units)] if groups is None else list(groups)
    if lengths != [len(places)]:
        counts = ", ".join(str(len(given)) for given in ratings.values())
        raise UsageError(
            f"the raters gave {counts} labels for units of {len(places)} groups",
            hint="give one label, or None, per unit and rater, in the same order",
        )
    if comparison is not None:
        _check(ratings, comparison)
    seen = dict.fromkeys(value for given in ratings.values() for value in given if value is not None)
    known = (
        comparison.domain if comparison is not None and comparison.domain else tuple(sorted(seen, key=_order))
    )
    codes = {value: code for code, value in enumerate(known)}
    found = Ratings(
        raters=tuple(ratings),
        labels=known,
        codes=np.array(
            [[MISSING if value is None else codes[value] for value in given] for given in ratings.values()],
            dtype=np.int64,
        ).T,
        groups=tuple(places),
    )
    if not found.compared.any():
        raise JuristError(
            f"none of the {units} units is labelled by two raters",
            hint="let two raters label the same units",
        )
    return found


def _check(ratings: Mapping[str, Sequence[Value | None]], comparison: Comparison) -> None:
    for rater, given in ratings.items():
        for place, value in enumerate(given):
            problem = comparison.check(value) if value is not None else ""
            if problem:
                raise JuristError(
                    f"unit {place} by rater {rater!r}: the {problem}",
                    hint="correct it, or use None where the rater gave none",
                )


def _order(value: Value) -> tuple[str, str] | tuple[str, float]:
    """Labels by their letters, numbers by size."""
    return ("", float(value)) if isinstance(value, int | float) else ("s", str(value))
