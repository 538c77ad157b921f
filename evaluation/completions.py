"""What the units without an answer could have been: the completions that make a metric lowest or highest.

A completion is a (K, K) table of counts, gold label by assumed answer, whose row sums are the missing units
per gold label. Added to the confusion matrix of the answered units it gives an exact bound: no other way to
fill the gaps goes below the worst or above the best. The tests prove this by enumerating every completion.
"""

import heapq
from collections.abc import Callable

import numpy as np

from .units import Bools, Ints

Completion = Callable[[Ints, Ints, Bools], Ints]
"""(answered (K, K), missing (K,), positive (K,)) -> table (K, K)."""


def wrong_label(gold: int, positive: Bools) -> int:
    """A label other than ``gold``: on the other side of ``positive`` when there is one, else the next label.

    With one label only there is no other, and ``gold`` itself comes back.
    """
    if positive.any():
        return int(np.flatnonzero(positive != positive[gold])[0])
    return (gold + 1) % len(positive)


def all_right(answered: Ints, missing: Ints, positive: Bools) -> Ints:
    """Every missing unit takes its gold label: best for all metrics but kappa with three labels or more."""
    return np.diag(missing)


def all_wrong(answered: Ints, missing: Ints, positive: Bools) -> Ints:
    """Every missing unit takes a wrong label: worst for precision, recall, F1, accuracy, balanced accuracy.

    Precision, recall and F1 rise with true positives and fall with false positives and false negatives, so
    the other side is worst for each unit whatever the others take; accuracy and recall per class need only
    the count of wrong answers.
    """
    table = np.zeros_like(answered)
    for gold, count in enumerate(missing):
        table[gold, wrong_label(gold, positive)] += count
    return table


def _extreme_kappa(answered: Ints, missing: Ints, start: Ints, sign: int) -> Ints:
    """Kappa's maximum (sign 1) or minimum (sign -1) over completions, by Dinkelbach's method.

    The gold totals r are known, so kappa = (n A - r.c) / (n^2 - r.c), with A agreements and predicted
    totals c, is a ratio of two functions linear in the completion: its extremes are reached where all missing
    units of a gold label take the same answer, the one that is extreme for numerator - kappa * denominator.
    """
    gold_totals = answered.sum(axis=1) + missing
    units = int(gold_totals.sum())
    if np.count_nonzero(gold_totals) < 2:
        return start

    def kappa(table: Ints) -> float:
        full = answered + table
        chance = int(gold_totals @ full.sum(axis=0))
        return (units * int(np.trace(full)) - chance) / (units * units - chance)

    best, value = start, kappa(start)
    while True:
        gain = units * np.eye(len(missing)) - (1.0 - value) * gold_totals[np.newaxis, :]
        choice = (sign * gain).argmax(axis=1)
        table = np.zeros_like(answered)
        table[np.arange(len(missing)), choice] = missing
        reached = kappa(table)
        if sign * (reached - value) <= 0.0:
            return best
        best, value = table, reached


def worst_kappa(answered: Ints, missing: Ints, positive: Bools) -> Ints:
    """The completion with the lowest kappa; with two labels it is the wrong answer everywhere."""
    return _extreme_kappa(answered, missing, all_wrong(answered, missing, positive), -1)


def best_kappa(answered: Ints, missing: Ints, positive: Bools) -> Ints:
    """The completion with the highest kappa; with two labels it is the right answer everywhere."""
    return _extreme_kappa(answered, missing, all_right(answered, missing, positive), 1)


def _spread(answered: Ints, missing: Ints, room: Ints, start: Ints) -> Ints:
    """Wrong answers per label that lower the sum of label F1s most: from ``start``, at most ``room`` each.

    Each F1 is 2 hits / (gold + predicted), convex and falling in its wrong answers, and only a box and a sum
    constrain them, so taking the largest drop one unit at a time is optimal.
    """
    hits, base = np.diagonal(answered), answered.sum(axis=0) + answered.sum(axis=1) + missing
    extra = start.copy()

    def drop(label: int) -> float:
        size = int(base[label] + extra[label])
        return 2.0 * float(hits[label]) / (size * (size + 1)) if hits[label] else 0.0

    heap = [(-drop(label), label) for label in range(len(room)) if extra[label] < room[label]]
    heapq.heapify(heap)
    for _ in range(int(missing.sum() - start.sum())):
        _, label = heap[0]
        extra[label] += 1
        if extra[label] < room[label]:
            heapq.heapreplace(heap, (-drop(label), label))
        else:
            heapq.heappop(heap)
    return extra


def _assign(missing: Ints, wanted: Ints) -> Ints:
    """A table with row sums ``missing``, column sums ``wanted`` and an empty diagonal.

    It exists when missing + wanted is at most the total for each label; serving the label where that sum is
    largest keeps it so at every step.
    """
    rows, columns = missing.copy(), wanted.copy()
    table = np.zeros((len(missing), len(missing)), dtype=np.int64)
    for _ in range(int(missing.sum())):
        load = rows + columns
        tight = int(load.argmax())
        if rows[tight]:
            others = np.where(columns > 0, load, -1)
            others[tight] = -1
            gold, answer = tight, int(others.argmax())
        else:
            others = np.where(rows > 0, load, -1)
            others[tight] = -1
            gold, answer = int(others.argmax()), tight
        table[gold, answer] += 1
        rows[gold] -= 1
        columns[answer] -= 1
    return table


def worst_macro_f1(answered: Ints, missing: Ints, positive: Bools) -> Ints:
    """The completion with the lowest macro F1 over the labels that occur.

    A wrong answer always lowers it. What remains is which wrong label: one that occurs loses F1, one that did
    not occur yet joins the mean with an F1 of 0. Every number of joining labels is tried.
    """
    total = int(missing.sum())
    if total == 0 or len(missing) < 2:
        return np.diag(missing)
    size = answered.sum(axis=0) + answered.sum(axis=1) + missing
    present, absent = np.flatnonzero(size), np.flatnonzero(size == 0)
    hits = np.diagonal(answered)
    best, lowest = all_wrong(answered, missing, positive), np.inf
    for joining in range(min(len(absent), total) + 1):
        room, start = total - missing, np.zeros_like(missing)
        start[absent[:joining]] = 1
        room[absent[joining:]] = 0
        if room.sum() < total:
            continue
        extra = _spread(answered, missing, room, start)
        value = (2.0 * hits[present] / (size + extra)[present]).sum() / (len(present) + joining)
        if value < lowest:
            best, lowest = _assign(missing, extra), value
    return best
