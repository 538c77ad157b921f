"""Whether a judge is as good on another model: the verdict of a paired test, and the labels that could tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .contrasts import Contrast, rows_to_pass
from .disagreements import fewest_labels, label_could_decide
from .metrics import Metric
from .rows import JudgedRow
from .scale import Scale

MARGIN = 0.03
"""The share of a metric's best value by which a judge on another model may be worse and count as good."""
MoveOutcome = Literal["better", "as good", "worse", "not known"]
"""What is shown of a judge on another model."""


@dataclass(frozen=True, kw_only=True)
class MoveVerdict:
    """The verdict on a judge that was moved to another model."""

    outcome: MoveOutcome
    margin: float
    differing: float  # share of the units on which the two models answer otherwise
    # Where it is not known: the number of further rows with which an equally good model mostly passes, and the number
    # of units of these on which the two models differ, which people label. ``None`` where no number can be named.
    labels: int | None
    rows: int | None

    @property
    def words(self) -> str:
        """The verdict in words."""
        if self.outcome == "as good":
            return f"as good within {self.margin:g}"
        if self.outcome == "not known":
            return f"not known to be as good within {self.margin:g}"
        return self.outcome

    @property
    def holds(self) -> bool:
        """Whether the judge may take the place of the old one."""
        return self.outcome in ("better", "as good")


def usual_move_margin(metric: Metric) -> float:
    """Return the margin for a metric where the user gives none: .03 of its best value."""
    return MARGIN * metric.high


def judge_move(test: Contrast, margin: float, rows: int, differing: float) -> MoveVerdict:
    """Return the verdict of a paired test of the judge on the new model against the same judge on the old one.

    Args:
        test: the new model (first) against the old one (second).
        margin: by how much the new one may be worse and count as good.
        rows: the number of rows that both answered.
        differing: the share of the units on which they answer otherwise.
    """
    gain = test.difference
    lowest_gain = test.interval.low
    if not test.higher_is_better:
        gain = -test.difference
        lowest_gain = -test.interval.high
    labels: int | None = None
    enough_rows: int | None = None
    outcome: MoveOutcome = "not known"
    if test.direction == "better":
        outcome = "better"
    elif lowest_gain >= -margin:
        outcome = "as good"
    elif test.direction == "worse":
        outcome = "worse"
    else:
        enough_rows = rows_to_pass(rows, gain - lowest_gain, margin, test.tested)
        if enough_rows is not None:
            # A plan of labels takes no fewer. Where no row differed yet, one in as many as were seen may.
            labels = max(fewest_labels(test.tested), math.ceil(enough_rows * differing))
            enough_rows = max(enough_rows, math.ceil(labels / max(differing, 1 / rows)))
    return MoveVerdict(outcome=outcome, margin=margin, differing=differing, labels=labels, rows=enough_rows)


def share_differing(first: Sequence[JudgedRow], second: Sequence[JudgedRow], comparison: Scale) -> float:
    """Return the share of units on which two judges give different answers, of which a label could prefer one.

    Args:
        first: the answers of one judge.
        second: the answers of the other judge to the same rows, in any order.
        comparison: the scale of the answers.
    """
    second_rows = {row.id: row for row in second}
    units = 0
    differing = 0
    for row in first:
        second_row = second_rows[row.id]
        for value, other_value in zip(row.predicted, second_row.predicted, strict=True):
            units += 1
            if label_could_decide(comparison, value, other_value):
                differing += 1
    return differing / max(1, units)
