"""One judge on one set of rows: every metric and class with its clustered interval, and what was not answered.

Nothing is silently defaulted: a value is over the units that are labelled and answered, its bounds say how far the
missing ones could move it, and the objective counts them as wrong.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..cases import Value
from ..errors import choices
from .criteria import CriteriaScale
from .intervals import Estimate, Interval, has_one_value, metric_interval
from .metrics import Metric
from .rows import Row, Tally, tally
from .scale import MetricLike, Scale, resolve, shown_metrics
from .units import Units, encode


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
    constant_score = score(units, metric)
    if len(np.unique(units.gold)) < 2 or not has_one_value(units, metric):
        return constant_score
    point = Interval(low=constant_score.value, high=constant_score.value, groups=units.groups)
    return replace(constant_score, interval=point)


def measure(rows: Sequence[Row], metric: MetricLike, comparison: Scale) -> Measured:
    """Score rows on every metric that is shown, and on ``metric``."""
    units = encode(comparison, rows)
    return measure_units(units, tally(rows), metric, comparison)


def measure_units(units: Units, counts: Tally, metric: MetricLike, comparison: Scale) -> Measured:
    """Score encoded rows, of several repeats if there are, on every metric that is shown, and on ``metric``."""
    scores: dict[str, Score] = {}
    for table_metric in shown_metrics(comparison, metric):
        scores[table_metric.name] = score(units, table_metric)
    return Measured(metric=resolve(metric, comparison).name, scores=scores, counts=counts)


def objective_score(rows: Sequence[Row], metric: MetricLike, comparison: Scale) -> float:
    """The metric with every abstained or failed unit counted as wrong: what optimizers select on."""
    # A missing unit takes the answer that is worst for the metric, so giving any answer is never worse than giving none
    # where the metric's bounds are exact. For an own function a missing unit takes a wrong value.
    units = encode(comparison, rows)
    judge_metric = resolve(metric, comparison)
    return judge_metric.oriented(judge_metric.of(units.worst))


_MOST = 0.95  # the largest share of one answer that nothing is said of


def lopsided(
    name: str, rows: Sequence[Row], comparison: Scale, text: Callable[[Value], str] = str
) -> tuple[str, ...]:
    """Return warnings of a judge that answers nearly always the same, or never gives a class that gold has."""
    golds: Counter[Value] = Counter()
    answers: Counter[Value] = Counter()
    for gold, answer in _labelled_pairs(rows):
        if answer is not None:
            golds[gold] += 1
            answers[answer] += 1
    units = answers.total()
    if units < 2:
        return ()
    value, count = answers.most_common(1)[0]
    if count > _MOST * units:
        return (
            f"{name} gives one answer, {text(value)}, to {count} of {units} units ({count / units:.0%}), "
            f"people to {golds[value]}: hold its score against the constant's",
        )
    warnings = []
    answers_by_class = _units_by_class(answers, comparison)
    golds_by_class = _units_by_class(golds, comparison)
    for label in comparison.classes:
        if golds_by_class[label] and not answers_by_class[label]:
            warnings.append(
                f"{name} never answers {label}, which people gave to {golds_by_class[label]} of {units} units"
            )
    return tuple(warnings)


def _labelled_pairs(rows: Sequence[Row]) -> Iterator[tuple[Value, Value | None]]:
    """Yield gold and answer of each labelled unit; the answer is ``None`` where there is none."""
    for row in rows:
        for gold, answer in zip(row.gold, row.predicted, strict=True):
            if gold is not None:
                yield gold, answer


def _units_by_class(units_by_value: Counter[Value], comparison: Scale) -> Counter[str]:
    """Count the units of each class; a value is of one class, or a set of them. Empty without classes."""
    units_by_class = Counter[str]()
    if not comparison.classes:
        return units_by_class
    for value, units in units_by_value.items():
        labels = value
        if isinstance(value, str):
            labels = (value,)
        for label in labels:
            units_by_class[label] += units
    return units_by_class


BINS = 10
"""Ranges of probability of equal width, as in Guo et al. 2017."""


def calibrate(probabilities: Sequence[float], positive: Sequence[bool]) -> dict[str, object]:
    """Hold probabilities of being positive against gold; what cards call ``calibration``."""
    # ``ece`` is the expected calibration error: how far probability and share are apart, mean over units by ranges.
    # ``bins`` are the ranges that hold a unit, lowest first: above ``low`` (the first: from it on) and at most
    # ``high``, with the mean probability ``said`` and the share ``found`` positive by gold. What ranks is ``None`` if
    # gold has one side only.
    from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

    probability = np.array(probabilities, dtype=np.float64)  # (N,), as is gold
    gold = np.array(positive, dtype=np.bool_)
    bin_of_unit = np.clip(np.ceil(probability * BINS).astype(int) - 1, 0, BINS - 1)
    bins = []
    total_gap = 0.0
    for number in np.unique(bin_of_unit).tolist():
        in_bin = bin_of_unit == number
        units = int(in_bin.sum())
        mean_probability = float(probability[in_bin].mean())
        positive_share = float(gold[in_bin].mean())
        bins.append(
            {
                "low": number / BINS,
                "high": (number + 1) / BINS,
                "said": mean_probability,
                "found": positive_share,
                "units": units,
            }
        )
        total_gap += units * abs(mean_probability - positive_share)
    auc = average_precision = None
    if 0 < gold.sum() < gold.size:
        auc = float(roc_auc_score(gold, probability))
        average_precision = float(average_precision_score(gold, probability))
    return {
        "units": gold.size,
        "positive": int(gold.sum()),
        "ece": total_gap / gold.size,
        "brier": float(brier_score_loss(gold, probability)),
        "auc": auc,
        "average_precision": average_precision,
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
    golds: Counter[Value] = Counter()
    answered_golds: Counter[Value] = Counter()
    answers: Counter[Value] = Counter()
    for gold, answer in _labelled_pairs(rows):
        golds[gold] += 1
        if answer is not None:
            answered_golds[gold] += 1
            answers[answer] += 1
    golds_by_class = _units_by_class(golds, comparison)
    answered_by_class = _units_by_class(answered_golds, comparison)
    answers_by_class = _units_by_class(answers, comparison)
    classes = []
    for label, metrics in comparison.classes.items():
        # Precision is a share of the answers, recall of gold, and F1 is over both.
        divisors = {
            "precision": answers_by_class[label],
            "recall": answered_by_class[label],
            "f1": answers_by_class[label] + answered_by_class[label],
        }
        scores: dict[str, Score | None] = dict.fromkeys(metrics)
        for name, metric in metrics.items():
            if divisors[name]:
                scores[name] = score(units, metric)
        classes.append(ClassScores(label=label, gold=golds_by_class[label], **scores))
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
        by_criterion: dict[str, dict[str, int]] = {}
        for criterion, criterion_scale in scale.scales.items():
            for gold, answers in confused(criterion_scale, scale.rows(criterion, rows)).items():
                by_criterion[f"{criterion}: {gold}"] = answers
        return by_criterion
    counts: Counter[tuple[str, str]] = Counter()
    for gold, answer in _labelled_pairs(rows):
        answer_category = UNANSWERED
        if answer is not None:
            answer_category = scale.category(answer)
        counts[scale.category(gold), answer_category] += 1
    gold_categories = {gold for gold, _ in counts}
    answer_categories = {answer for _, answer in counts}
    categories = dict.fromkeys(map(scale.category, scale.domain))
    categories.update(dict.fromkeys(sorted((gold_categories | answer_categories) - {UNANSWERED})))
    if len(categories) > _FEW:
        return {}
    columns = list(categories)
    if UNANSWERED in answer_categories:
        columns.append(UNANSWERED)
    table: dict[str, dict[str, int]] = {}
    for gold_category in categories:
        if gold_category in gold_categories:
            table[gold_category] = {column: counts[gold_category, column] for column in columns}
    return table
