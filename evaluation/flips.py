"""How often an answer changes under a change of the text that must not change it.

The gold of these rows is what the judge said of the text as it is: no label of people is looked at. What a changed
answer is, the kind of answer says: one that would not be right, were the other right; where nothing is right or wrong,
one that is not the same.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import fmean
from typing import Any

import numpy as np

from ..errors import JuristError
from .disagreements import credit
from .intervals import Estimate, estimated
from .metrics import mean
from .rows import Row, tally
from .scale import Scale


@dataclass(frozen=True, kw_only=True)
class Flips:
    """The answers that one change of the text has changed."""

    cases: int  # that were answered as they are, and on which the machinery did not fail afterwards
    flipped: int  # of these, in how many some unit has another answer, or none
    silenced: int  # of these, in how many some unit has none
    failed: int  # cases that do not count, as the machinery failed
    rate: Estimate  # ``flipped`` as a share of ``cases``, with its 95 % interval clustered by group
    shift: float  # how far answers moved on average, 0 (the same) to 1
    # what was said before -> how many units of it flipped, and how many there are: a judge that nearly
    # always says the same hides behind ``rate``
    answers: Mapping[str, tuple[int, int]]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and the rate with its interval."""
        ends = self.rate.interval
        return {
            **{name: getattr(self, name) for name in ("cases", "flipped", "silenced", "failed")},
            **{"rate": self.rate.value, "low": ends.low, "high": ends.high, "shift": self.shift},
            "answers": {name: list(counts) for name, counts in self.answers.items()},
        }


def flips(rows: Sequence[Row], comparison: Scale, named: Callable[[Any], str] = str) -> Flips:
    """Count what changed."""
    counted = [row for row in rows if row.labelled and not row.failed]
    if not counted:
        raise JuristError(
            f"none of {len(rows)} cases was answered, so that no answer can change",
            hint="see with jurist evaluate why there are none",
        )
    changed_cases, shifts = list[bool](), list[float]()
    every, flipped = Counter[str](), Counter[str]()
    for row in counted:
        pairs = [pair for pair in zip(row.gold, row.predicted, strict=True) if pair[0] is not None]
        changed = [credit(comparison, before, value) < 1.0 for before, value in pairs]
        names = [named(before) for before, _ in pairs]
        every.update(names)
        flipped.update(compress(names, changed))
        changed_cases.append(any(changed))
        shifts.append(fmean(1.0 - comparison.credit(before, value) for before, value in pairs))
    table = np.column_stack([changed_cases, np.ones(len(counted))])
    return Flips(
        cases=len(counted),
        flipped=sum(changed_cases),
        silenced=sum(tally([row]).units.abstained > 0 for row in counted),
        failed=sum(row.failed for row in rows),
        rate=estimated(table, np.array([row.group for row in counted]), mean),
        shift=fmean(shifts),
        answers={name: (flipped[name], every[name]) for name in sorted(every)},
    )
