"""Coefficients of agreement beyond chance, from tables that are sums over units.

Conventions: a quotient 0/0 is 0.0. So every coefficient is 0.0 where all ratings are one label: agreement
beyond chance cannot be shown there, as for ``kappa`` among the metrics.

- ``cohen`` (Cohen 1960): two raters, from their confusion matrix (..., K, K).
- ``fleiss`` (Fleiss 1971): n ratings for every unit, from ``fleiss_table``; for n = 2 this is Scott's pi.
- ``krippendorff_nominal`` and ``krippendorff_ordinal`` (Krippendorff 2011, "Computing Krippendorff's
  Alpha-Reliability"): any number of ratings, from the coincidence matrix.
- ``specific``: the share of agreeing pairs of ratings of a label.

All of it is here, and not in calls of a package, because an interval needs every coefficient 2 000 times; and
the package for alpha, ``krippendorff``, has a licence (GPL) that jurist's users would have to take on. Tests hold
the functions to be equal to that package, to scikit-learn and to statsmodels.
"""

import numpy as np

from .closed_labels import cohen_kappa
from .ratios import Ratio
from .units import Floats, Ints


def confusions(first: Ints, second: Ints, size: int) -> Ints:
    """One-hot tables of two raters' codes, shape (N, K, K): the first's label by the second's."""
    names = np.arange(size)
    return np.asarray(
        (first[:, np.newaxis, np.newaxis] == names[:, np.newaxis])
        & (second[:, np.newaxis, np.newaxis] == names),
        dtype=np.int64,
    )


cohen = cohen_kappa.given(np.zeros(0, dtype=np.bool_))
"""Cohen's kappa in [-1, 1], from confusion matrices (..., K, K)."""


def collapsed(table: Floats, label: int) -> Floats:
    """A table (..., K, K), of confusions or coincidences, as one label against the rest: (..., 2, 2)."""
    both, row, column = table[..., label, label], table[..., label, :].sum(-1), table[..., label].sum(-1)
    neither = table.sum(axis=(-2, -1)) - row - column + both
    cells = np.stack([neither, column - both, row - both, both], axis=-1)
    return np.asarray(cells.reshape(*both.shape, 2, 2))


def fleiss_table(counts: Ints) -> Ints:
    """From ratings per unit and label (N, K), what Fleiss' kappa needs, shape (N, 2, K): squares, counts."""
    return np.stack([counts * counts, counts], axis=1)


@Ratio
def fleiss(table: Floats, ratings: int) -> tuple[Floats, Floats]:
    """Fleiss' kappa in [-1, 1], from sums of ``fleiss_table`` (..., 2, K) over units with equal ratings."""
    squares, counts = table[..., 0, :].sum(-1), table[..., 1, :]
    total = counts.sum(-1)
    chance = (counts * counts).sum(-1)
    # both terms times the squared number of ratings, which keeps them whole numbers for n = 2
    observed = (squares - total) * total / (ratings - 1)
    return observed - chance, total * total - chance


def fleiss_collapsed(table: Floats, label: int, ratings: int) -> Floats:
    """Sums of ``fleiss_table`` (..., 2, K) as one label against the rest: (..., 2, 2)."""
    squares, counts = table[..., 0, label], table[..., 1, label]
    total = table[..., 1, :].sum(-1)
    rest = squares + ratings * total - 2.0 * ratings * counts
    cells = np.stack([squares, rest, counts, total - counts], axis=-1)
    return np.asarray(cells.reshape(*counts.shape, 2, 2))


def coincidences(counts: Ints) -> Floats:
    """Coincidence matrices of units, shape (N, K, K), from ratings per unit and label (N, K).

    A unit with m ratings adds every ordered pair of them with the weight 1 / (m - 1); with fewer than two it
    adds nothing.
    """
    pairs = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
    pairs = pairs - counts[:, :, np.newaxis] * np.eye(counts.shape[1], dtype=np.int64)
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    return np.asarray(pairs / others[:, np.newaxis, np.newaxis])


@Ratio
def krippendorff_nominal(table: Floats) -> tuple[Floats, Floats]:
    """Alpha in [-1, 1] from coincidence matrices (..., K, K): any two labels differ by the same."""
    return _alpha(table, 1.0 - np.eye(table.shape[-1]))


@Ratio
def krippendorff_ordinal(table: Floats) -> tuple[Floats, Floats]:
    """Alpha in [-1, 1] from coincidence matrices (..., K, K) of labels in their order."""
    sizes = table.sum(axis=-1)
    # the ordinal difference of two labels is that of the middles of their ranks
    middle = np.cumsum(sizes, axis=-1) - sizes / 2.0
    return _alpha(table, (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2)


def value_table(counts: Ints, distance: Floats) -> Floats:
    """What :func:`krippendorff_distance` needs of units, shape (N, 1 + K), from ratings per unit and value (N, K).

    The differences of all ordered pairs of ratings of the unit over one less than their number, and its ratings by
    value.
    """
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    within = ((counts @ distance) * counts).sum(axis=1) / others
    return np.column_stack([within, counts])


@Ratio
def krippendorff_distance(table: Floats, distance: Floats) -> tuple[Floats, Floats]:
    """Alpha in [-1, 1] from sums of :func:`value_table` (..., 1 + K), for any distance (K, K) with a diagonal of 0."""
    within, sizes = table[..., 0], table[..., 1:]
    chance = ((sizes @ distance) * sizes).sum(axis=-1)
    return chance - within * (sizes.sum(axis=-1) - 1.0), chance


def _alpha(table: Floats, distance: Floats) -> tuple[Floats, Floats]:
    sizes = table.sum(axis=-1)
    total = sizes.sum(axis=-1)
    observed = (table * distance).sum(axis=(-2, -1)) * (total - 1.0)
    chance = (sizes[..., :, np.newaxis] * sizes[..., np.newaxis, :] * distance).sum(axis=(-2, -1))
    return chance - observed, chance


def pair_table(counts: Ints) -> Ints:
    """Shape (N, 2, K), from ratings per unit and label: ordered pairs that agree on it, that hold it."""
    others = counts.sum(axis=1, keepdims=True) - 1
    return np.stack([counts * (counts - 1), counts * others], axis=1)


@Ratio
def specific(table: Floats, label: int) -> tuple[Floats, Floats]:
    """Agreement on a label in [0, 1], from sums of ``pair_table``: for two raters 2 both / (first + second)."""
    return table[..., 0, label], table[..., 1, label]
