"""Self-consistency: does a judge say the same of a case when it is asked again? (FECT section 3.1: ten runs.)

No gold is needed. A repeat without a usable answer agrees with nothing, so abstaining never looks consistent.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .rows import Row


@dataclass(frozen=True, kw_only=True)
class Consistency:
    """How far repeats agree with each other. All values are in [0, 1]; a case's is the mean over its units."""

    repeats: int
    agreement: float
    pairwise: float
    unanimous: float
    by_case: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return {**self.__dict__, "by_case": dict(self.by_case)}


def consistency(repeats: Sequence[Sequence[Row]]) -> Consistency:
    """Compare the answers of several repeats, each a sequence of rows of the same cases in any order."""
    if len(repeats) < 2:
        raise UsageError("one repeat agrees with nothing", hint="ask twice or more")
    tables = [{row.id: row.predicted for row in rows} for rows in repeats]
    if not tables[0] or any(table.keys() != tables[0].keys() for table in tables):
        raise UsageError("the repeats are of different cases", hint="ask the same rows in each")
    counted = {
        id_: [Counter(label for label in unit if label is not None) for unit in _units(tables, id_)]
        for id_ in tables[0]
    }
    count = len(repeats)
    pairs = count * (count - 1)
    by_case = {
        id_: statistics.fmean(_modal(unit) / count for unit in units) for id_, units in counted.items()
    }
    pairwise = [
        statistics.fmean(sum(votes * (votes - 1) for votes in unit.values()) / pairs for unit in units)
        for units in counted.values()
    ]
    unanimous = [all(_modal(unit) == count for unit in units) for units in counted.values()]
    return Consistency(
        repeats=count,
        agreement=statistics.fmean(by_case.values()),
        pairwise=statistics.fmean(pairwise),
        unanimous=statistics.fmean(unanimous),
        by_case=by_case,
    )


def _units(tables: Sequence[Mapping[str, Sequence[str | None]]], id_: str) -> list[tuple[str | None, ...]]:
    return list(zip(*(table[id_] for table in tables), strict=True))


def _modal(votes: Counter[str]) -> int:
    return max(votes.values(), default=0)
