"""Tables of rater agreement, the human ceiling and ambiguous units, for people."""

from collections.abc import Mapping
from typing import Any

from ..evaluation.agreement import Agreement, Ceiling
from ..evaluation.plain import plain
from ..gold.raters import Strata
from ..gold.rows import CATEGORIES
from .table import Table, table

_PAIRS = 10  # with more of them a terminal shows those that agree least, and --json has all


def agreement_tables(found: Agreement) -> list[Table]:
    """Return one table of all raters, one of the pairs and one of the labels."""
    rows = [
        ["raw agreement", found.raw, f"{found.units} units with two ratings or more"],
        ["Krippendorff's alpha", found.alpha, f"{found.units} units"],
    ]
    least = sorted(found.pairs, key=lambda pair: pair.raw.value)[:_PAIRS]
    pairs = [
        [f"{pair.first} and {pair.second}", pair.units, pair.raw, "-" if pair.kappa is None else pair.kappa]
        for pair in least
    ]
    labels = [[one.label, *one.given.values(), one.specific, one.alpha] for one in found.table]
    columns = ["label", *found.raters, "specific agreement", "Krippendorff's alpha"]
    return [
        table("All raters", ["measure", "value [95 % interval]", "over"], rows),
        table("Pairs that agree least", ["raters", "units", "raw agreement", "Cohen's kappa"], pairs),
        *([table("Each label against the rest", columns, labels)] if found.table else []),
    ]


def ceiling_card(found: Ceiling) -> dict[str, Any]:
    """Return the ceiling as plain JSON types."""
    return {
        "metric": found.metric,
        "mean": plain(found.mean),
        "raters": {
            one.rater: {"units": one.units, "left_out": one.left_out, "scores": plain(one.measured.scores)}
            for one in found.raters
        },
    }


def ceiling_table(found: Ceiling) -> Table:
    """Return one row a metric: the mean over raters with its interval, and each rater's value."""
    rows = []
    for name, mean in found.mean.items():
        values = [f"{rater.measured[name].value:.3f}" for rater in found.raters]
        rows.append([f"{name} *" if name == found.metric else name, mean, *values])
    columns = [f"{rater.rater} ({rater.units} units)" for rater in found.raters]
    title = "Human ceiling: each rater against the others, on all units they rated"
    return table(title, ["metric", "mean [95 % interval]", *columns], rows)


def rules_table(merged: Mapping[Any, Strata]) -> Table:
    """Return one row a rule: units with a label, and without one, by category."""
    # why units are ambiguous is known where people filled in the column for it
    named = [name for name in CATEGORIES if any(one.ambiguous[name] for one in merged.values())]
    named = [] if named == ["unknown"] else named
    rows = [
        [rule, one.labelled, sum(one.ambiguous.values()), *(one.ambiguous[name] for name in named)]
        for rule, one in merged.items()
    ]
    columns = ["rule", "units with a label", "ambiguous", *(f"of these {name}" for name in named)]
    return table("Merging rules", columns, rows)


def strata_line(found: Strata) -> str:
    """Return how many units raters agree on, and how many not; empty where nobody differed."""
    why = ", ".join(f"{name} {count}" for name, count in found.ambiguous.items() if count)
    if not (why or found.contested):
        return ""
    return (
        f"raters: {found.agreed} units agreed on, {found.contested} labelled though raters differ, "
        f"{sum(found.ambiguous.values())} ambiguous and in no score" + (f" ({why})" if why else "")
    )


def ceiling_line(found: Ceiling | None) -> str:
    """Return the line on the human ceiling, empty where there is none."""
    if found is None:
        return ""
    units = ", ".join(f"{one.rater} {one.units}" for one in found.raters)
    return (
        f"human ceiling: {found.metric} {found.mean[found.metric]}, "
        f"each rater against the others, on all they rated (units: {units})"
    )
