"""Metrics of scores: numbers on a bounded scale are held against gold by errors and by correlations.

- ``mae``, ``mse``: mean absolute and squared error, in units of the scale; lower is better.
- ``quadratic_kappa``: Cohen's kappa with quadratic weights, 1 - sum (gold - answer)^2 over what chance would give
  with the same marginals; it needs no grid of values, and is scikit-learn's where the scale is 0, 1, 2 ...
- ``spearman``: the rank correlation with ties; 0.0 where one side is constant.
- ``mean_deviation``: the mean of answer minus gold, in units of the scale; 0 is best, so nothing is compiled for it.
- ``within_deviation``: the share of deviations that lie within one standard deviation of their mean.
- ``within_one``: the share of answers that are at most 1 off; on scales of any number where they are longer than 2.
- the share of answers at the upper end of the scale, under a name of its own (``top``): it says nothing of gold, so
  nothing is compiled for it.
- ``accuracy``: on scales of whole numbers, the share of answers that are exact.

A missing answer counts as the end of the scale that is farther from gold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import scipy

from .metrics import Metric, Ratio, mean, pair_counts, pair_means, pair_sums, quotient
from .units import Floats


def metrics_of_scores(low: float, high: float, *, whole: bool, top: str) -> Mapping[str, Metric]:
    """Return the metrics of scores on a scale, by name; ``top`` is that of answers at its upper end."""
    width = high - low
    kappa = pair_sums(partial(_moments, low, width), _quadratic_kappa, 6)
    deviation = pair_means(lambda gold, value: value - gold)
    metrics = [
        _error_metric("mae", 1, width),
        _error_metric("mse", 2, width),
        Metric(name="quadratic_kappa", statistics=kappa, low=-1.0),
        Metric(name="spearman", statistics=pair_counts(_spearman), low=-1.0),
        Metric(
            name="mean_deviation",
            statistics=deviation,
            low=-width,
            high=width,
            higher_is_better=None,
        ),
        Metric(
            name="within_deviation",
            statistics=pair_counts(_within_deviation),
            higher_is_better=None,
        ),
    ]
    if whole:
        metrics.append(_share_within("accuracy", 0.0, width))
    if whole or width > 2:
        metrics.append(_share_within("within_one", 1.0, width))
    if top:
        at_the_top = pair_means(lambda gold, value: float(value >= high))
        metrics.append(Metric(name=top, statistics=at_the_top, higher_is_better=None))
    return MappingProxyType(
        {metric.name: replace(metric, test="t with an unseen error") for metric in metrics}
    )


def _error_metric(name: str, power: int, width: float) -> Metric:
    """Return the metric of the mean error to a power; over no units it is as high as can be."""
    highest = width**power
    statistics_of = pair_means(lambda gold, value: abs(gold - value) ** power, replace(mean, empty=highest))
    return Metric(name=name, statistics=statistics_of, high=highest, higher_is_better=False)


def _moments(low: float, width: float, gold: float, value: float) -> tuple[float, ...]:
    """Return the terms of quadratic kappa's sums, of gold and value on a scale from 0 to 1."""
    gold_share = (gold - low) / width
    value_share = (value - low) / width
    return (
        1.0,
        gold_share,
        value_share,
        gold_share * gold_share,
        value_share * value_share,
        gold_share * value_share,
    )


def _share_within(name: str, distance: float, width: float) -> Metric:
    """Return the metric of the share of answers that are at most so far from gold."""
    limit = distance + 1e-9 * width
    return Metric(name=name, statistics=pair_means(lambda gold, value: float(abs(gold - value) <= limit)))


@Ratio
def _quadratic_kappa(sums: Floats) -> tuple[Floats, Floats]:
    # Each of the six is of shape (...): the sums of _moments.
    count, gold, value, gold_squared, value_squared, product = np.moveaxis(sums, -1, 0)
    squares = gold_squared + value_squared
    error = squares - 2.0 * product
    # The error would be this if the answers were paired with gold at random.
    chance = squares - quotient(2.0 * gold * value, count)
    no_chance = np.abs(chance) <= 1e-12 * np.maximum(1.0, squares)
    return np.where(no_chance, 0.0, chance - error), np.where(no_chance, 0.0, chance)


def _within_deviation(counts: Floats, gold: Sequence[float], answered: Sequence[float]) -> Floats:
    """The share of deviations within one of their standard deviations of their mean (FAITHQA, Figure 3)."""
    deviations = np.subtract(answered, gold)  # (P,)
    total = counts.sum(axis=-1, keepdims=True)  # (B, 1)
    from_mean = deviations - quotient(counts @ deviations[:, None], total)  # (B, P)
    spread = np.sqrt(quotient((counts * from_mean**2).sum(axis=-1, keepdims=True), total))  # (B, 1)
    is_within = np.abs(from_mean) <= spread + 1e-9
    return quotient((counts * is_within).sum(axis=-1), total[:, 0])


def _spearman(counts: Floats, gold: Sequence[float], answered: Sequence[float]) -> Floats:
    """Pearson's correlation of mid-ranks, under counts (B, P) of pairs."""
    total = counts.sum(axis=-1, keepdims=True)  # (B, 1)
    mean_rank = (total + 1.0) / 2.0
    gold_ranks = _ranks(counts, gold) - mean_rank  # (B, P), as are the others
    answer_ranks = _ranks(counts, answered) - mean_rank
    above = (counts * gold_ranks * answer_ranks).sum(axis=-1)
    gold_square = (counts * gold_ranks**2).sum(axis=-1)
    answer_square = (counts * answer_ranks**2).sum(axis=-1)
    below = np.sqrt(gold_square * answer_square)
    return np.clip(quotient(above, np.where(below > 1e-9, below, 0.0)), -1.0, 1.0)


def _ranks(counts: Floats, values: Sequence[float]) -> Floats:
    """Return the mid-rank of each value, (B, P), where each counts as often as ``counts`` says."""
    distinct_values, value_number = np.unique(np.array(values, dtype=np.float64), return_inverse=True)
    pairs = np.arange(len(value_number))
    is_value = scipy.sparse.csr_array(
        (np.ones(len(value_number)), (pairs, value_number)), shape=(len(pairs), len(distinct_values))
    )
    sizes = counts @ is_value  # (B, distinct values): how often each value counts
    mid_ranks = np.cumsum(sizes, axis=-1) - sizes / 2.0 + 0.5
    return np.asarray(mid_ranks[:, value_number])
