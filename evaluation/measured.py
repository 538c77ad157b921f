"""The scores of one judge on one set of rows: every metric and class with its interval, clustered by group.

Nothing is silently defaulted: a value is over the units that are labelled and answered, its bounds say how far the
missing ones could move it, and the objective counts them as wrong. ``comparison`` is the scale on which answers are
compared with gold; it need not be the scale on which they were given.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..cases import Value
from ..errors import suggest_name
from .criteria import CriteriaScale
from .intervals import Estimate, Interval, has_one_value, metric_interval
from .metrics import Metric
from .rows import JudgedRow, Tally, tally
from .scale import MetricLike, Scale, resolve, shown_metrics
from .units import Units, encode


@dataclass(frozen=True, kw_only=True)
class Score(Estimate):
    """The value of one metric, with its interval."""

    worst: float  # the value if every missing answer were as wrong as it can be
    best: float  # the value if every missing answer were right

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
            raise KeyError(f"{metric} was not measured; {suggest_name(metric, self.scores)}")
        return self.scores[metric]


def score(units: Units, metric: Metric) -> Score:
    """Score units on one metric; of one answer to all units the interval is a point if gold cannot move the metric."""
    worst, best = metric.bounds(units)
    value = metric.of(units)
    interval = metric_interval(units, metric)
    has_one_answer = len(np.unique(units.predicted[units.answered])) == 1
    if has_one_answer and len(np.unique(units.gold)) > 1 and has_one_value(units, metric):
        interval = Interval(low=value, high=value, groups=units.groups)
    return Score(value=value, worst=worst, best=best, interval=interval)


def measure(rows: Sequence[JudgedRow], metric: MetricLike, comparison: Scale) -> Measured:
    """Score rows on every metric that is shown, and on ``metric``."""
    units = encode(comparison, rows)
    return measure_units(units, tally(rows), metric, comparison)


def measure_units(units: Units, counts: Tally, metric: MetricLike, comparison: Scale) -> Measured:
    """Score encoded rows, of one or several repeats, on every metric that is shown, and on ``metric``."""
    scores: dict[str, Score] = {}
    for table_metric in shown_metrics(comparison, metric):
        scores[table_metric.name] = score(units, table_metric)
    return Measured(metric=resolve(metric, comparison).name, scores=scores, counts=counts)


def objective_score(rows: Sequence[JudgedRow], metric: MetricLike, comparison: Scale) -> float:
    """Return the score that optimizers select on: higher is better, each abstained or failed unit counts as wrong."""
    # A missing unit takes the answer that is worst for the metric, so giving any answer is never worse than giving none
    # where the metric's bounds are exact. For an own function a missing unit takes a wrong value.
    units = encode(comparison, rows)
    judge_metric = resolve(metric, comparison)
    return judge_metric.oriented(judge_metric.of(units.worst))


_LARGEST_SHARE = 0.95  # of one answer; above it a warning is given


def warn_if_lopsided(
    name: str, rows: Sequence[JudgedRow], comparison: Scale, text: Callable[[Value], str] = str
) -> tuple[str, ...]:
    """Return warnings if a judge gives one answer nearly always, or never gives a class that gold has.

    ``name`` is the judge's in the warnings, and ``text`` writes a value there.
    """
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
    if count > _LARGEST_SHARE * units:
        return (
            f"{name} gives one answer, {text(value)}, to {count} of {units} units ({count / units:.0%}), "
            f"which is the label of {golds[value]}: compare its score with the constant's",
        )
    warnings = []
    answers_by_class = _units_by_class(answers, comparison)
    golds_by_class = _units_by_class(golds, comparison)
    for label in comparison.classes:
        if golds_by_class[label] and not answers_by_class[label]:
            warnings.append(
                f"{name} never answers {label}, the label of {golds_by_class[label]} of {units} units"
            )
    return tuple(warnings)


def _labelled_pairs(rows: Sequence[JudgedRow]) -> Iterator[tuple[Value, Value | None]]:
    """Yield gold and answer of each labelled unit; the answer is ``None`` where there is none."""
    for row in rows:
        for gold, answer in zip(row.gold, row.predicted, strict=True):
            if gold is not None:
                yield gold, answer


def _units_by_class(units_by_value: Counter[Value], comparison: Scale) -> Counter[str]:
    """Count the units of each class; a value is one class, or a set of classes. Empty for a scale without classes."""
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
    """Compare the probability of being positive with gold, unit by unit: the figures ``calibration`` of cards.

    Returns:
        ``units`` and ``positive``, counts; ``brier``, the Brier score; ``auc`` and ``average_precision``, ``None`` if
        gold is positive for all units or for none; ``bins``, the ranges of probability that hold a unit, lowest first;
        ``ece``, the expected calibration error: the mean over units of how far the mean probability of a bin and its
        share of positive units are apart. A bin is above ``low`` (the first one: from it on) and at most ``high``, with
        its mean probability ``said`` and the share ``found`` positive by gold.
    """
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
    """The scores of one class against the rest."""

    label: str
    gold: int  # units that have it in gold, answered or not
    # Over the answered units; ``None`` if there is no unit to divide by.
    precision: Score | None  # over the units whose answer is the class
    recall: Score | None  # over the units that have it in gold
    f1: Score | None


def class_scores(rows: Sequence[JudgedRow], comparison: Scale) -> tuple[ClassScores, ...]:
    """Score every class against the rest; empty for a scale without classes."""
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
"""The name of a missing answer in a table."""
_LARGEST_TABLE = 12
"""Values of a table of confusions at most: nobody would read a larger one."""


def count_confusions(scale: Scale, rows: Sequence[JudgedRow]) -> dict[str, dict[str, int]]:
    """Count the labelled units by the category of their gold, then of their answer; empty for too many categories.

    A missing answer is :data:`UNANSWERED`. With several criteria, the keys are ``criterion: category``.
    """
    # Both sides stand in the order of the scale's values, then by name.
    if isinstance(scale, CriteriaScale):
        by_criterion: dict[str, dict[str, int]] = {}
        for criterion, criterion_scale in scale.scales.items():
            for gold, answers in count_confusions(criterion_scale, scale.rows(criterion, rows)).items():
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
    if len(categories) > _LARGEST_TABLE:
        return {}
    columns = list(categories)
    if UNANSWERED in answer_categories:
        columns.append(UNANSWERED)
    table: dict[str, dict[str, int]] = {}
    for gold_category in categories:
        if gold_category in gold_categories:
            table[gold_category] = {column: counts[gold_category, column] for column in columns}
    return table
