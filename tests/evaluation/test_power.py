"""The power of a proof: laws of it, and how far it agrees with a formula."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.power import ASSUMED_RIGHT, AnswerPool, assume_answers
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets
from jurist.evaluation.units import Units, encode

LEVEL = 0.025
CLOSED = ClosedLabels("ab", positive={"a"})
SCORES = Scores(low=1, high=5, whole=True)
SETS = LabelSets(labels=("x", "y", "z"))
KINDS = {"accuracy": CLOSED, "balanced_accuracy": CLOSED, "f1": CLOSED, "mae": SCORES, "example_f1": SETS}
SOME_SETS: tuple[tuple[str, ...], ...] = ((), ("x",), ("x", "y"), ("z",))


def labelled(kind: Scale, units: int = 200, size: int = 1, rare: float = 0.4) -> Units:
    """Return units in groups of one size, answered as gold has it; a share of them has the first value."""
    values = {CLOSED: CLOSED.domain, SCORES: (1, 2, 3, 4, 5), SETS: SOME_SETS}[kind]
    common = (1.0 - rare) / (len(values) - 1)
    shares = [rare] + [common] * (len(values) - 1)
    rows = []
    for unit, code in enumerate(np.random.default_rng(1).choice(len(values), units, p=shares).tolist()):
        gold = (values[code],)
        rows.append(JudgedRow(id=f"{unit:04}", group=f"{unit // size:04}", gold=gold, predicted=gold))
    return encode(kind, rows)


def pool_of(metric: str, size: int = 1, rare: float = 0.4, level: float = LEVEL) -> AnswerPool:
    """Return made-up answers to 200 units."""
    kind = KINDS[metric]
    return AnswerPool.of(assume_answers(labelled(kind, size=size, rare=rare)), kind.metrics[metric], level)


def drawn_answers(wins: float, losses: float, units: int = 400) -> Units:
    """Return answers to units of one size: the second system wins some, loses others; the others both have right."""
    gold = np.arange(units) % 2
    luck = (np.arange(units) * 7919 % units) / units
    first = np.where(luck < wins, 1 - gold, gold)
    second = np.where(luck > 1.0 - losses, 1 - gold, gold)
    return Units(
        kind=CLOSED,
        values=CLOSED.domain,
        gold=gold,
        predicted=np.stack([first, second]),
        group=np.arange(units),
        groups=units,
    )


@pytest.mark.parametrize("metric", KINDS)
def test_of_equal_systems_luck_shows_a_gain_at_most_at_the_level(metric: str) -> None:
    runs = 200
    noise = 3.0 * math.sqrt(LEVEL / runs)
    assert pool_of(metric).power(0.0, 100, runs=runs) <= LEVEL + noise


def test_of_a_proof_with_a_gain_luck_alone_shows_none() -> None:
    """A pool whose second system is better is turned so that the two are alike."""
    pool = AnswerPool.of(drawn_answers(wins=0.2, losses=0.05), CLOSED.metrics["accuracy"], LEVEL)
    assert pool.gain == pytest.approx(0.15, abs=0.01)
    assert pool.power(0.0, 100, runs=300) <= LEVEL + 3.0 * math.sqrt(LEVEL / 300)


@pytest.mark.parametrize("metric", KINDS)
def test_power_grows_with_labels_and_with_the_gain(metric: str) -> None:
    pool = pool_of(metric)
    small, large = pool.typical_gains
    by_groups = [pool.power(large, groups, runs=25) for groups in (40, 120, 400)]
    assert by_groups[0] < by_groups[1] < by_groups[2]
    assert pool.power(small, 400, runs=25) < by_groups[2]
    of_few, of_many = [pool.smallest_gain(groups, runs=15) for groups in (120, 400)]
    assert of_few is not None
    assert of_many is not None
    assert of_few > of_many


@pytest.mark.parametrize("gain", [0.05, 0.15, 0.3])
def test_of_drawn_tests_the_gain_is_the_one_asked_about_on_average(gain: float) -> None:
    pool = AnswerPool.of(drawn_answers(wins=0.2, losses=0.05), CLOSED.metrics["accuracy"], LEVEL)
    gains = []
    for run in range(200):
        units = pool.draw_test(gain, 100, np.random.default_rng(run))
        first, second = units.halves
        gains.append(pool.metric.of(second) - pool.metric.of(first))
    assert np.mean(gains) == pytest.approx(min(gain, pool.largest_gain), abs=0.015)


def test_the_power_is_that_of_a_formula_for_accuracy() -> None:
    """Of 100 units that differ in a quarter, 15 points are gained: the one-sided z test with a pair of units added."""
    pool = AnswerPool.of(drawn_answers(wins=0.2, losses=0.05), CLOSED.metrics["accuracy"], LEVEL)
    error = math.sqrt((0.25 - 0.15**2) / 100 + 4.0 / 100**2)
    assert pool.power(0.15, 100, runs=300) == pytest.approx(ndtr(0.15 / error - 1.98), abs=0.09)


@pytest.mark.parametrize(("size", "rare"), [(6, 0.4), (1, 0.08)])
def test_labels_of_few_groups_and_of_a_rare_class_show_less(size: int, rare: float) -> None:
    usual = pool_of("balanced_accuracy")
    poor = pool_of("balanced_accuracy", size=size, rare=rare)
    assert poor.power(0.15, poor.groups_for(120)) < usual.power(0.15, usual.groups_for(120))


def test_too_few_groups_show_nothing() -> None:
    pool = pool_of("accuracy", size=20)
    assert pool.power(pool.largest_gain, 5) == 0.0
    assert pool.smallest_gain(5) is None


def test_answers_are_assumed_as_is_said() -> None:
    units = assume_answers(labelled(CLOSED, units=1000, rare=0.2))
    for label in (0, 1):
        is_unit = units.gold == label
        for answers in units.predicted:
            right = (answers == units.gold)[is_unit].mean()
            assert right == pytest.approx(ASSUMED_RIGHT, abs=0.08)


def test_a_forecast_is_the_same_each_time() -> None:
    assert pool_of("f1").smallest_gain(120, runs=15) == pool_of("f1").smallest_gain(120, runs=15)
