"""How far single units move a metric: errors that were seen, and errors that were not.

Few units of a rare kind of gold make a test too sure, because their errors were hardly seen. Both tests of a difference
add units that stand for the errors that were not seen; this module says how large they are.
"""

from dataclasses import dataclass

import numpy as np

from .metrics import Metric, dense
from .units import Floats, Ints, Units

WELL_SEEN = 5
"""Groups that hold a kind of gold, up to which nothing is concluded from the errors that were not seen in it."""
MOST_PAIRS = 500
"""Pairs of gold and answer of which a unit is tried for how far it moves a metric."""
MOVES = 64  # units that are moved at once


def largest_moves(filled: Units, metric: Metric) -> Floats:
    """Return the largest move of a metric by one unit of each of the S strata of gold, from right to wrong: (S,)."""
    return _moves_by_stratum(filled, metric).possible


def unseen_weight(filled: Units, metric: Metric) -> float:
    """Return the largest move of a metric by a unit that was not seen, over all kinds of gold."""
    # An error of a kind of gold that many groups hold would have been seen: there a unit counts as the largest error
    # that was made. Of a kind that few groups hold it counts as the largest error that there is, and nowhere as less
    # than half of that.
    moves = _moves_by_stratum(filled, metric)
    pairs = np.unique(np.stack([moves.stratum, filled.group]), axis=1)
    groups = np.bincount(pairs[0], minlength=len(moves.possible))
    unknown = np.minimum(1.0, WELL_SEEN / groups)
    unseen = np.maximum(0.0, moves.possible - moves.occurred)
    largest = float((moves.occurred + unseen * unknown).max())
    return max(largest, float(moves.possible.max()) / 2.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _StratumMoves:
    """The largest moves of a metric by a unit of each of S strata of gold."""

    stratum: Ints  # (N,): the stratum of each unit
    possible: Floats  # (S,): from the right answer to one as wrong as can be
    occurred: Floats  # (S,): from the right answer to an answer of one of the systems


def _moves_by_stratum(filled: Units, metric: Metric) -> _StratumMoves:
    golds, places = np.unique(filled.gold, return_inverse=True)
    strata = np.array([filled.kind.stratum(filled.values[gold]) for gold in golds])
    names, stratum = np.unique(strata[places], return_inverse=True)
    possible = np.zeros(len(names))  # of each stratum the largest move, as is the next one
    occurred = np.zeros(len(names))
    first, second = filled.halves
    for answers in (first.predicted[0], second.predicted[0]):
        units = _different_units(filled.gold, answers)
        moves = _measure_moves(filled.apart, metric, answers, units)
        np.maximum.at(possible, stratum[units], moves.possible)
        np.maximum.at(occurred, stratum[units], moves.occurred)
    return _StratumMoves(stratum=stratum, possible=possible, occurred=occurred)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moves:
    """The moves of a metric by some units."""

    possible: Floats  # from the right answer to one as wrong as can be
    occurred: Floats  # from the right answer to the answer of the system


def _measure_moves(single_units: Units, metric: Metric, answers: Ints, selected: Ints) -> _Moves:
    """Return the moves of a metric of one system's answers by selected units; each unit is a group of its own."""
    answer_sets = np.stack([answers, single_units.gold, single_units.wrong])
    by_unit = metric.statistics(single_units.answering(answer_sets))
    answered, right, wrong = by_unit.sums
    total = np.asarray(answered.sum(axis=0), dtype=np.float64)
    possible: list[Floats] = []
    occurred: list[Floats] = []
    for start in range(0, len(selected), MOVES):
        units = selected[start : start + MOVES]
        value_if_right = by_unit.of(total + dense(right[units] - answered[units]))
        value_if_wrong = by_unit.of(total + dense(wrong[units] - answered[units]))
        possible.append(np.abs(value_if_right - value_if_wrong))
        occurred.append(np.abs(value_if_right - by_unit.of(total)))
    return _Moves(possible=np.concatenate(possible), occurred=np.concatenate(occurred))


def _different_units(gold: Ints, answers: Ints) -> Ints:
    """Return one unit of each pair of gold and answer, evenly chosen where there are very many."""
    _, units = np.unique(np.stack([gold, answers]), axis=1, return_index=True)
    if len(units) > MOST_PAIRS:
        units = units[np.linspace(0, len(units) - 1, MOST_PAIRS).astype(np.int64)]
    return np.asarray(units)
