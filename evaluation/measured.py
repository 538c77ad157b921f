"""One judge on one set of rows: every metric and class with its clustered interval, and what was not answered.

Nothing is silently defaulted: a value is over the units that are labelled and answered, its bounds say how far the
missing ones could move it, and the objective counts them as wrong.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cases import Value
from ..errors import choices
from .criteria import CriteriaScale
from .intervals import Estimate, Interval, leaving_out, metric_interval
from .metrics import Metric
from .rows import Row, Tally, tally
from .scale import MetricLike, Scale, resolve, shown_metrics
from .units import Units, encode

_ROUNDING = 1e-9  # equal values may be computed along different roundings


@dataclass(frozen=True, kw_only=True)
class Score(Estimate):
    """One metric."""

    worst: float
    best: float

    def to_json(self) -> dict[str, float]:
        """Return value, low, high, worst and best."""
        low, high = self.interval.low, self.interval.high
        return {"value": self.value, "low": low, "high": high, "worst": self.worst, "best": self.best}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Scores with intervals."""

    metric: str  # the name of the judge's own metric
    scores: Mapping[str, Score]  # every metric over the answered units, by name
    counts: Tally  # units and cases by how they ended, summed over repeats

    def __getitem__(self, metric: str) -> Score:
        """Return the score of a metric."""
        if metric not in self.scores:
            raise KeyError(f"{metric} was not measured; {choices(metric, self.scores)}")
        return self.scores[metric]


def score(units: Units, metric: Metric) -> Score:
    """Score units on one metric."""
    worst, best = metric.bounds(units)
    interval = metric_interval(units, metric)
    return Score(value=metric.of(units), worst=worst, best=best, interval=interval)


def score_constant(units: Units, metric: Metric) -> Score:
    """Score one answer to every unit: where the metric gives it the same value on any units, there is no interval."""
    found = score(units, metric)
    left = metric.resampled(units, leaving_out(units.groups))
    varies = float(np.abs(left - found.value).max()) > _ROUNDING
    if varies or len(np.unique(units.gold)) < 2:
        return found
    fixed = Interval(low=found.value, high=found.value, groups=units.groups)
    return replace(found, interval=fixed)


def measure(rows: Sequence[Row], metric: MetricLike, comparison: Scale) -> Measured:
    """Score rows on every metric that is shown, and on ``metric``."""
    units = encode(comparison, rows)
    return measure_units(units, tally(rows), metric, comparison)


def measure_units(units: Units, counts: Tally, metric: MetricLike, comparison: Scale) -> Measured:
    """Score encoded rows, of several repeats if there are, on every metric that is shown, and on ``metric``."""
    return Measured(
        metric=resolve(metric, comparison).name,
        scores={shown.name: score(units, shown) for shown in shown_metrics(comparison, metric)},
        counts=counts,
    )


def objective_score(rows: Sequence[Row], metric: MetricLike, comparison: Scale) -> float:
    """The metric with every abstained or failed unit counted as wrong: what optimizers select on."""
    # A missing unit takes the answer that is worst for the metric, so giving any answer is never worse than giving none
    # where the metric's bounds are exact. For an own function a missing unit takes a wrong value.
    units, own = encode(comparison, rows), resolve(metric, comparison)
    return own.oriented(own.of(units.worst))


_MOST = 0.95  # the largest share of one answer that nothing is said of


def lopsided(
    name: str, rows: Sequence[Row], comparison: Scale, text: Callable[[Value], str] = str
) -> tuple[str, ...]:
    """Return what tells of a judge that answers nearly always the same, or never gives a class that gold has."""
    units = [
        (gold, judged)
        for row in rows
        for gold, judged in zip(row.gold, row.predicted, strict=True)
        if gold is not None and judged is not None
    ]
    if len(units) < 2:
        return ()
    people, answers = (Counter(side) for side in zip(*units, strict=True))
    value, count = answers.most_common(1)[0]
    if count > _MOST * len(units):
        return (
            f"{name} gives one answer, {text(value)}, to {count} of {len(units)} units ({count / len(units):.0%}), "
            f"people to {people[value]}: hold its score against the constant's",
        )
    if not comparison.classes:
        return ()
    judged_so, labelled_so = _by_class(answers), _by_class(people)
    return tuple(
        f"{name} never answers {label}, which people gave to {labelled_so[label]} of {len(units)} units"
        for label in comparison.classes
        if labelled_so[label] and not judged_so[label]
    )


def _by_class(values: Counter[Value]) -> Counter[str]:
    """Count the units of each class; a value is of one class, or a set of them."""
    counts = Counter[str]()
    for value, units in values.items():
        for label in (value,) if isinstance(value, str) else value:
            counts[label] += units
    return counts


BINS = 10
"""Ranges of probability of equal width, as in Guo et al. 2017."""


def calibrate(probabilities: Sequence[float], positive: Sequence[bool]) -> dict[str, Any]:
    """Hold probabilities of being positive against gold; what cards call ``calibration``."""
    # ``ece`` is the expected calibration error: how far probability and share are apart, mean over units by ranges.
    # ``bins`` are the ranges that hold a unit, lowest first: above ``low`` (the first: from it on) and at most
    # ``high``, with the mean probability ``said`` and the share ``found`` positive by gold. What ranks is ``None`` if
    # gold has one side only.
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    likely, gold = np.array(probabilities, dtype=np.float64), np.array(positive, dtype=np.bool_)
    range_of = np.clip(np.ceil(likely * BINS).astype(int) - 1, 0, BINS - 1)
    bins, apart = [], 0.0
    for number in np.unique(range_of).tolist():
        inside = range_of == number
        units, mean, share = int(inside.sum()), float(likely[inside].mean()), float(gold[inside].mean())
        ends = {"low": number / BINS, "high": (number + 1) / BINS}
        bins.append({**ends, "said": mean, "found": share, "units": units})
        apart += units * abs(mean - share)
    both_sides = 0 < gold.sum() < gold.size
    return {
        "units": gold.size,
        "positive": int(gold.sum()),
        "ece": apart / gold.size,
        "brier": float(brier_score_loss(gold, likely)),
        "auc": float(roc_auc_score(gold, likely)) if both_sides else None,
        "average_precision": float(average_precision_score(gold, likely)) if both_sides else None,
        "bins": bins,
    }


@dataclass(frozen=True, kw_only=True)
class ClassScores:
    """One class against the rest."""

    label: str
    gold: int  # units that have it in gold, answered or not
    # These are over the answered units; ``None`` where there is nothing that they are a share of.
    precision: Score | None  # of units that were given the class
    recall: Score | None  # of units that have it in gold
    f1: Score | None  # of both


def class_scores(rows: Sequence[Row], comparison: Scale) -> tuple[ClassScores, ...]:
    """Score every class against the rest; empty for kinds of answers without classes."""
    if not comparison.classes:
        return ()
    units = encode(comparison, rows)
    pairs = [
        pair for row in rows for pair in zip(row.gold, row.predicted, strict=True) if pair[0] is not None
    ]
    answered = [pair for pair in pairs if pair[1] is not None]
    in_gold = _by_class(Counter(gold for gold, _ in pairs))
    found = _by_class(Counter(gold for gold, _ in answered))
    given = _by_class(Counter(said for _, said in answered))
    classes = []
    for label, metrics in comparison.classes.items():
        over = {"precision": given[label], "recall": found[label], "f1": given[label] + found[label]}
        scores = {name: score(units, metric) if over[name] else None for name, metric in metrics.items()}
        classes.append(ClassScores(label=label, gold=in_gold[label], **scores))
    return tuple(classes)


UNANSWERED = "no answer"
"""What a missing answer is called."""
_FEW = 12
"""Gold or judged values above which nobody would read a table of what was taken for what."""


def confused(scale: Scale, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return gold -> judged -> labelled units, :data:`UNANSWERED` among the judged; empty for answers of many."""
    # Both sides stand in the order of the scale's own values, then by name. Of several criteria each has its own
    # labels.
    if isinstance(scale, CriteriaScale):
        return {
            f"{name}: {gold}": judged
            for name, own in scale.scales.items()
            for gold, judged in confused(own, scale.rows(name, rows)).items()
        }
    counts = Counter(
        (scale.category(gold), UNANSWERED if judged is None else scale.category(judged))
        for row in rows
        for gold, judged in zip(row.gold, row.predicted, strict=True)
        if gold is not None
    )
    own = map(scale.category, scale.domain)
    names = dict.fromkeys([*own, *sorted({name for pair in counts for name in pair} - {UNANSWERED})])
    if len(names) > _FEW:
        return {}
    columns = [*names, *([UNANSWERED] if any(judged == UNANSWERED for _, judged in counts) else [])]
    golds = {gold for gold, _ in counts}
    return {gold: {judged: counts[gold, judged] for judged in columns} for gold in names if gold in golds}
