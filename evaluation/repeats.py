"""One experiment repeated: the mean over repeats, and how far a judge says the same of a case when asked again.

Two kinds of uncertainty are kept apart. The t-interval over repeats (FECT section 3.2: ten runs) says how far the
mean would move if the same rows were asked again. The clustered interval over cases says how far it would move
with other rows; for it, and for paired tests, all repeats of a unit are left out and exchanged together, and a
metric is the mean of its values on the repeats.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import UsageError
from .intervals import LEVEL, t_quantile
from .rows import Row


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A metric over the repeats of one experiment: mean +- t sd / sqrt(n), n - 1 degrees of freedom."""

    values: tuple[float, ...]
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**asdict(self), "values": list(self.values)}


def spread(values: Sequence[float]) -> Spread:
    """Return mean, sd and t-interval of one value a repeat."""
    if not values:
        raise UsageError("no repeat, no mean", hint="give one value or more")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Spread(values=tuple(values), mean=mean)
    sd = statistics.stdev(values)
    half = t_quantile(0.5 + LEVEL / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Spread(values=tuple(values), mean=mean, sd=sd, low=mean - half, high=mean + half)


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """How far repeats agree with each other (FECT section 3.1). All in [0, 1]; a case's is the mean over its units."""

    repeats: int
    agreement: float
    pairwise: float
    unanimous: float
    by_case: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "by_case": dict(self.by_case)}


def consistency(repeats: Sequence[Sequence[Row]]) -> Consistency:
    """Compare the answers of several repeats, each a sequence of rows of the same cases in any order.

    No gold is needed. No usable answer agrees with nothing, so abstaining never looks consistent.
    """
    if len(repeats) < 2:
        raise UsageError("one repeat agrees with nothing", hint="ask twice or more")
    tables = [{row.id: row.predicted for row in rows} for rows in repeats]
    if not tables[0] or any(table.keys() != tables[0].keys() for table in tables):
        raise UsageError("the repeats are of different cases", hint="ask the same rows in each")
    by_case, pairwise, unanimous = dict[str, float](), list[float](), list[bool]()
    count = len(repeats)
    for id_ in tables[0]:
        units = [
            list(Counter(answer for answer in unit if answer is not None).values())
            for unit in zip(*(table[id_] for table in tables), strict=True)
        ]
        modal = [max(votes, default=0) for votes in units]
        by_case[id_] = statistics.fmean(modal) / count
        agreeing = statistics.fmean(sum(one * (one - 1) for one in votes) for votes in units)
        pairwise.append(agreeing / (count * (count - 1)))
        unanimous.append(min(modal) == count)
    return Consistency(
        repeats=count,
        agreement=statistics.fmean(by_case.values()),
        pairwise=statistics.fmean(pairwise),
        unanimous=statistics.fmean(unanimous),
        by_case=by_case,
    )
