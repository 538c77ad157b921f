"""How often each of several labels is so, when a judge that takes some for others said how often.

With M the confusion of the judge (row: the truth; column: what it says of it; rows add up to 1) and p the true shares,
it finds q = p M; so p = q M^-1, Rogan and Gladen's estimator for more than two labels (Barron 1977, the matrix
method). For two labels :mod:`.prevalence` has the better interval, and is asked instead. The standard error leaves out
groups, of the units at hand and of the calibration, and is never below that of independent units with one answer more
in each cell of M, so that a label without an error in five units does not pass for one that is never mistaken.

It takes for granted what that module does, and that M can be undone: where leaving out a group of the calibration
turns its determinant around, it is not known well enough, and there is no correction.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .intervals import LEVEL, Sums, summed, t_quantile
from .prevalence import Prevalence
from .units import Floats


def label_mix(
    labels: Sequence[Hashable],
    found: Mapping[str, Sequence[int]],
    calibration: Iterable[tuple[str, Hashable, Hashable]],
) -> tuple[Prevalence, ...]:
    """Return the corrected share of each label."""
    place = {label: number for number, label in enumerate(labels)}
    counts = np.array([found[group] for group in sorted(found)], dtype=np.float64).reshape(-1, len(labels))
    raw, units = counts.sum(axis=0) / max(1.0, counts.sum()), int(counts.sum())
    known = [(group, place[truth], place[said]) for group, truth, said in calibration]
    problem = "there is no unit" if not units else ""
    empty = np.zeros((len(labels),) * 2)
    table = Sums(total=empty, left=empty[:0], each=empty[:0])
    if known:
        cells = np.zeros((len(known), len(labels), len(labels)))
        cells[np.arange(len(known)), [one[1] for one in known], [one[2] for one in known]] = 1
        table = summed(cells, np.unique([one[0] for one in known], return_inverse=True)[1])
    problem = problem or _unknown(labels, table)
    sizes = table.total.sum(axis=1)
    shares = [
        Prevalence(
            raw=float(raw[k]) if units else None, units=units, positives=int(sizes[k]), problem=problem
        )
        for k in range(len(labels))
    ]
    if problem:
        return tuple(shares)
    values = _undone(raw, table.total)
    mine = summed(counts, np.arange(len(counts)))
    errors = np.sqrt(_spread(values, raw, mine, table))
    reach = errors * t_quantile(0.5 + LEVEL / 2, max(1, min(mine.groups, table.groups) - 1))
    return tuple(
        _share(one, float(value), float(far)) for one, value, far in zip(shares, values, reach, strict=True)
    )


def _unknown(labels: Sequence[Hashable], table: Sums) -> str:
    """Return why the confusion cannot be undone; empty if it can."""
    rare = [str(label) for label, size in zip(labels, table.total.sum(axis=1), strict=True) if not size]
    if rare:
        return f"the calibration has no unit that is truly {' or '.join(rare)}"
    if table.groups < 2:
        return "the calibration is of one group"
    if not table.left.sum(axis=2).all():
        return "a label is in one group of the calibration only"
    if np.linalg.det(_rates(table.total)) <= 0 or (np.linalg.det(_rates(table.left)) <= 0).any():
        return "the calibration takes labels for each other too often, or is too small, to undo it"
    return ""


def _rates(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _undone(raw: Floats, table: Floats) -> Floats:
    """Return p with p M = raw, shape (..., K)."""
    turned = np.swapaxes(_rates(table), -1, -2)
    return np.asarray(np.linalg.solve(turned, np.broadcast_to(raw, turned.shape[:-1])[..., None])[..., 0])


def _spread(values: Floats, raw: Floats, mine: Sums, table: Sums) -> Floats:
    """Return the variance of each corrected share."""
    left = mine.left / np.maximum(1.0, mine.left.sum(axis=1, keepdims=True))
    grouped = _jackknife(_undone(raw, table.total) + (left - raw) @ np.linalg.inv(_rates(table.total)))
    grouped = grouped + _jackknife(_undone(raw, table.left))
    more = table.total + 1 / len(raw)
    rates = _rates(more)
    undo = np.asarray(np.linalg.inv(rates), dtype=np.float64)
    plain = _of_shares(raw, undo) / mine.total.sum()
    for value, row, size in zip(np.clip(values, 0, 1), rates, more.sum(axis=1), strict=True):
        plain = plain + value**2 * _of_shares(row, undo) / size
    return np.asarray(np.maximum(grouped, plain))


def _of_shares(shares: Floats, undo: Floats) -> Floats:
    """Return the variance that one draw of a label has in each corrected share."""
    return np.asarray(shares @ undo**2 - (shares @ undo) ** 2)


def _jackknife(left: Floats) -> Floats:
    blocks = len(left)
    return np.asarray((blocks - 1) / blocks * ((left - left.mean(axis=0)) ** 2).sum(axis=0))


def _share(share: Prevalence, value: float, reach: float) -> Prevalence:
    low, high = value - reach, value + reach
    if high < 0 or low > 1:
        problem = "no share explains what the judge finds: the calibration is of another kind"
        return replace(share, problem=problem)
    inside = [min(1.0, max(0.0, one)) for one in (value, low, high)]
    clipped = inside != [value, low, high]
    return replace(share, value=inside[0], low=inside[1], high=inside[2], clipped=clipped)
