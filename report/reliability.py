"""Whether probabilities are right: the table and the plot of an artifact's calibration."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..evaluation.calibration import ece_by_luck
from .document import Part, Plot
from .plotting import Series
from .scores import number_cell
from .table import table


def reliability_parts(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
    """Yield what a card says of the probabilities of each program; nothing if it says nothing."""
    if not found:
        return
    lines = [
        Series(name=system, points=tuple((one["said"], one["found"]) for one in about["bins"]))
        for system, about in found.items()
    ]
    ideal = Series(name="as probable as said", points=((0.0, 0.0), (1.0, 1.0)), style="dashed")
    yield Plot(
        title="reliability: how often it is so when it says so",
        words="see the table below",
        name="reliability",
        series=[*lines, ideal],
        x="probability of being positive",
        y="share positive",
    )
    rows = [
        [
            system,
            about["units"],
            number_cell(about["ece"]),
            number_cell(ece_by_luck(about["bins"])),
            *(number_cell(about[name]) for name in ("brier", "auc", "average_precision")),
        ]
        for system, about in found.items()
    ]
    yield table("", ["program", "units", "ECE", "ECE by luck", "Brier", "AUC", "average precision"], rows)
    bins = [
        [
            *(system, f"{one['low']:.1f} to {one['high']:.1f}", one["units"]),
            *(f"{one['said']:.3f}", f"{one['found']:.3f}"),
        ]
        for system, about in found.items()
        for one in about["bins"]
    ]
    yield table("", ["program", "probability", "units", "said, mean", "positive"], bins)
