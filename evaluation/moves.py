"""Moves: the change of a metric when the answer to one unit changes, by errors that were seen and by unseen ones.

A stratum is a kind of gold value: the gold label, or what the answer's scale makes of it. A stratum with few units
makes a test too sure, because its errors were hardly seen. Both tests of a difference add units that stand for the
unseen errors; this module says how far such a unit moves the metric.
"""

from dataclasses import dataclass

import numpy as np

from .metrics import Metric, dense
from .units import Floats, Ints, Units

_WELL_SEEN_GROUPS = 5
"""Groups with units of a stratum, from which on the absence of an error begins to say that it is rare."""
_LEAST_SHARE = 0.7
"""The share of the largest possible error that one system's unseen error counts for at least. Less lets judges that
rarely err far pass for better too often (benchmarks/interval_coverage.py)."""
_MOST_PAIRS = 500
"""The most pairs of gold and answer of which one unit each is moved."""
_UNITS_AT_ONCE = 64  # units that are moved in one product of arrays


def largest_moves(filled: Units, metric: Metric) -> Floats:
    """Return the largest move (S,) of a metric when one unit turns from right to wrong, for each stratum of gold.

    ``filled`` are the units of two systems without missing answers.
    """
    return _moves_by_stratum(filled, metric).possible


def unseen_weight(filled: Units, metric: Metric) -> float:
    """Return the largest move of a metric by an error of either system that was not seen, over all strata of gold."""
    return _unseen_move(filled, _moves_by_stratum(filled, metric), least=0.5)


def unseen_error(system: Units, metric: Metric) -> float:
    """Return the largest move of a metric by an error of one system that was not seen, over all strata of gold."""
    return _unseen_move(system, _moves_by_stratum(system, metric), least=_LEAST_SHARE)


def _unseen_move(filled: Units, moves: "_StratumMoves", *, least: float) -> float:
    """Return the move by an unseen error, at least a share of the largest possible one of all strata."""
    # An error in a stratum that many groups hold would have been seen, so an unseen error there counts as the largest
    # error that occurred. In a stratum that few groups hold it counts as the largest possible error.
    stratum_and_group = np.unique(np.stack([moves.stratum, filled.group]), axis=1)
    groups_of_stratum = np.bincount(stratum_and_group[0], minlength=len(moves.possible))
    doubt = np.minimum(1.0, _WELL_SEEN_GROUPS / groups_of_stratum)
    unseen = np.maximum(0.0, moves.possible - moves.occurred)
    largest = float((moves.occurred + unseen * doubt).max())
    return max(largest, least * float(moves.possible.max()))


@dataclass(frozen=True, kw_only=True, eq=False)
class _StratumMoves:
    """The largest moves of a metric by a unit of each of S strata of gold."""

    stratum: Ints  # (N,): the stratum of each unit
    possible: Floats  # (S,): from the right answer to one as wrong as can be
    occurred: Floats  # (S,): from the right answer to an answer of one of the systems


def _moves_by_stratum(filled: Units, metric: Metric) -> _StratumMoves:
    """Return the largest moves of a metric by one unit of each stratum, over the answers of one system or of two."""
    gold_codes, code_place = np.unique(filled.gold, return_inverse=True)
    strata = np.array([filled.kind.stratum(filled.values[code]) for code in gold_codes])
    names, stratum = np.unique(strata[code_place], return_inverse=True)
    possible = np.zeros(len(names))
    occurred = np.zeros(len(names))
    first_of_each = sorted({0, len(filled.predicted) // 2})  # of repeats, the first of each system
    for answers in filled.predicted[first_of_each]:
        units = _different_units(filled.gold, answers)
        moves = _measure_moves(filled.apart, metric, answers, units)
        np.maximum.at(possible, stratum[units], moves.possible)
        np.maximum.at(occurred, stratum[units], moves.occurred)
    return _StratumMoves(stratum=stratum, possible=possible, occurred=occurred)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moves:
    """The moves of a metric by each of U units."""

    possible: Floats  # (U,): from the right answer to one as wrong as can be
    occurred: Floats  # (U,): from the right answer to the answer of the system


def _measure_moves(single_units: Units, metric: Metric, answers: Ints, selected: Ints) -> _Moves:
    """Return the moves of the metric of one system's answers by each selected unit.

    In ``single_units`` each unit is a group of its own; ``answers`` are the system's answers to all of them.
    """
    answer_sets = np.stack([answers, single_units.gold, single_units.wrong])
    by_unit = metric.statistics(single_units.answering(answer_sets))
    answered, right, wrong = by_unit.sums
    total = np.asarray(answered.sum(axis=0), dtype=np.float64)
    possible: list[Floats] = []
    occurred: list[Floats] = []
    for start in range(0, len(selected), _UNITS_AT_ONCE):
        units = selected[start : start + _UNITS_AT_ONCE]
        value_if_right = by_unit.of(total + dense(right[units] - answered[units]))
        value_if_wrong = by_unit.of(total + dense(wrong[units] - answered[units]))
        possible.append(np.abs(value_if_right - value_if_wrong))
        occurred.append(np.abs(value_if_right - by_unit.of(total)))
    return _Moves(possible=np.concatenate(possible), occurred=np.concatenate(occurred))


def _different_units(gold: Ints, answers: Ints) -> Ints:
    """Return one unit of each pair of gold and answer, evenly chosen where there are very many."""
    _, units = np.unique(np.stack([gold, answers]), axis=1, return_index=True)
    if len(units) > _MOST_PAIRS:
        units = units[np.linspace(0, len(units) - 1, _MOST_PAIRS).astype(np.int64)]
    return np.asarray(units)
