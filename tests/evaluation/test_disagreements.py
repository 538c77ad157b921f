"""Labels where two prompts differ: each counts what it is worth in the metric, and the interval is of the test."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import rows_of

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import (
    LabelledUnit,
    UnitGains,
    alike_test,
    credit,
    fewest_labels,
    label_could_decide,
    weigh,
    weigh_estimates,
    win_share_shown,
)
from jurist.evaluation.metrics import own_metric
from jurist.evaluation.paired import sign_test
from jurist.evaluation.scores import Scores

LEVELS = (0.025, 0.025 / 3, 0.025 / 6)


CLOSED = ClosedLabels("ab")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [1, 5, 6, 7, 12, 40, 101])
def test_its_size_is_within_the_level_where_units_count_alike(labels: int, level: float) -> None:
    size = sum(
        math.comb(labels, wins) / 2**labels
        for wins in range(labels + 1)
        if alike_test(wins, labels - wins) < level
    )
    assert size < level
    assert (size > 0) == (labels >= fewest_labels(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [8, 9, 20, 40, 200])
def test_what_is_said_beforehand_has_the_power_that_is_said(labels: int, level: float) -> None:
    share = win_share_shown(labels, level)
    if labels < fewest_labels(level):
        assert share is None
        return
    assert share is not None
    shown = [wins for wins in range(labels + 1) if alike_test(wins, labels - wins) < level]
    power = sum(math.comb(labels, wins) * share**wins * (1 - share) ** (labels - wins) for wins in shown)
    assert math.isclose(power, 0.8, abs_tol=1e-9)


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 20))
def test_units_that_count_alike_are_tested_by_their_signs(wins: int, losses: int, ties: int) -> None:
    if not wins + losses:
        return
    found = weigh([1.0] * wins + [-1.0] * losses + [0.0] * ties, 1.0, (0.2, 0.1, 0.3), 0.025)
    assert (found.wins, found.losses, found.ties) == (wins, losses, ties)
    expected = alike_test(wins, losses)
    assert found.better == pytest.approx(expected, abs=4 * math.sqrt(expected / 10_000) + 1e-3)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([-5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 5.0]), min_size=1, max_size=40),
    st.floats(0.02, 0.9),
    st.sampled_from(LEVELS),
)
def test_the_interval_holds_the_gain_and_excludes_0_exactly_where_it_is_shown(
    gains: list[float], rate: float, level: float
) -> None:
    ends = rate, rate * 0.7, min(1.0, rate * 1.3)
    found = weigh(gains, 5.0, ends, level)
    low, value, high = found.gain.low, found.gain.value, found.gain.high
    assert low is not None
    assert value is not None
    assert high is not None
    assert math.isclose(value, rate * sum(gains) / len(gains), abs_tol=1e-12)
    assert low - 1e-12 <= value <= high + 1e-12
    assert (found.verdict == "better", found.verdict == "worse") == (low > 0.0, high < 0.0)
    assert (found.verdict == "better") == (found.better < level)
    turned = weigh([-gain for gain in gains], 5.0, ends, level)
    assert {found.verdict, turned.verdict} != {"better"}


def proof_of(positives: int, negatives: int) -> UnitGains:
    """What units count in balanced accuracy after a sealed test with so many units of each class."""
    rows = rows_of([("a", "a")] * positives + [("b", "b")] * negatives, group_size=1)
    return UnitGains.of(rows, rows, CLOSED.metrics["balanced_accuracy"], CLOSED)


def test_a_unit_of_a_rare_class_counts_as_much_more_as_it_is_rare() -> None:
    worth = proof_of(10, 90)
    rare, usual = worth.gain("a", "b", "a"), worth.gain("b", "a", "b")
    assert rare == pytest.approx(5.0, rel=0.06)
    assert usual == pytest.approx(0.556, rel=0.01)
    assert worth.gain("a", "a", "b") == pytest.approx(-rare)
    assert worth.gain("a", None, "b") == 0.0  # nothing is as wrong as the other label
    assert worth.largest("ab") == pytest.approx(rare)
    alike = UnitGains.of(worth.rows[:4], worth.rows[:4], CLOSED.metrics["accuracy"], CLOSED)
    assert (alike.gain("a", "b", "a"), alike.gain("b", "a", "b")) == (pytest.approx(1.0), pytest.approx(1.0))


def test_more_correct_units_are_no_gain_where_the_rare_class_is_lost() -> None:
    """Ten percent are positive; recall falls from .80 to .45, and specificity rises from .80 to .95."""
    worth = proof_of(10, 90)
    gains = [worth.gain("b", "a", "b")] * 31 + [worth.gain("a", "a", "b")] * 9
    found = weigh(gains, worth.largest("ab"), (0.2, 0.15, 0.25), 0.025)
    assert sign_test(31, 9) < 0.001
    assert found.verdict != "better"
    assert (found.gain.value or 0.0) < 0.0


def test_equal_judges_that_trade_errors_are_hardly_ever_called_better() -> None:
    """Balanced accuracy stays at .80: recall .80 -> .65, specificity .80 -> .95; a tenth of the units are positive."""
    rng, runs, worth = np.random.default_rng(3), 300, proof_of(10, 90)
    rare, usual = worth.gain("a", "b", "a"), worth.gain("b", "a", "b")
    shares = np.array([0.1 * 0.2 * 0.65, 0.1 * 0.8 * 0.35, 0.9 * 0.2 * 0.95, 0.9 * 0.8 * 0.05])
    better = signs = 0
    for _ in range(runs):
        drawn = rng.choice([rare, -rare, usual, -usual], size=40, p=shares / shares.sum())
        better += weigh(drawn.tolist(), rare, (0.2, 0.15, 0.25), 0.025).verdict == "better"
        signs += sign_test(int((drawn > 0).sum()), int((drawn < 0).sum())) < 0.025
    assert signs > 0.5 * runs  # what counting correct units says
    assert better <= 0.05 * runs


WON_RARE = LabelledUnit(gold="a", first="b", second="a")
LOST_RARE = LabelledUnit(gold="a", first="a", second="b")
WON_USUAL = LabelledUnit(gold="b", first="a", second="b")
LOST_USUAL = LabelledUnit(gold="b", first="b", second="a")
RATE = (0.2, 0.15, 0.25)


@pytest.mark.parametrize(("positives", "verdict"), [(6, "not shown to be better"), (200, "better")])
def test_a_class_that_may_be_rarer_than_in_the_sealed_test_counts_as_if_it_were(
    positives: int, verdict: str
) -> None:
    """A tenth is positive; two rare units are lost and 62 usual ones won: better, if the shares hold."""
    estimates = proof_of(positives, 9 * positives).estimates([LOST_RARE] * 2 + [WON_USUAL] * 62, 0.025)
    exact = weigh(estimates.estimate.by_unit.tolist(), estimates.estimate.largest, RATE, 0.025)
    assert exact.verdict == "better"
    assert weigh_estimates(estimates, RATE, 0.025).verdict == verdict


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from([WON_RARE, LOST_RARE, WON_USUAL, LOST_USUAL, LabelledUnit(gold=None, first="a", second="b")]),
        min_size=1,
        max_size=30,
    ),
    st.integers(4, 20),
    st.integers(4, 20),
)  # fmt: skip
def test_weights_that_are_estimates_never_make_a_difference_surer(
    units: list[LabelledUnit], positives: int, negatives: int
) -> None:
    worth = proof_of(positives, negatives)
    estimates = worth.estimates(units, 0.025)
    one_by_one = [
        0.0 if unit.gold is None else worth.gain(unit.gold, unit.first, unit.second) for unit in units
    ]
    assert estimates.estimate.by_unit.tolist() == pytest.approx(one_by_one, abs=1e-9)
    found, exact = (
        weigh_estimates(estimates, RATE, 0.025),
        weigh(one_by_one, estimates.estimate.largest, RATE, 0.025),
    )
    assert found.better >= exact.better
    assert found.worse >= exact.worse


def share_right(gold: list[str], answered: list[str]) -> float:
    return sum(one == other for one, other in zip(gold, answered, strict=True)) / len(gold)


def test_weights_are_certain_where_units_count_alike_and_a_function_takes_whole_units() -> None:
    rows = rows_of([("a", "a")] * 6 + [("b", "b")] * 54, group_size=1)
    for metric in (CLOSED.metrics["accuracy"], own_metric(share_right, {})):
        worth = UnitGains.of(rows, rows, metric, CLOSED)
        estimates = worth.estimates([WON_RARE, LOST_USUAL], 0.025)
        assert estimates.low is estimates.high is estimates.estimate
        assert estimates.estimate.by_unit.tolist() == pytest.approx([1.0, -1.0])

    def mean_recall(gold: list[str], answered: list[str]) -> float:
        recalls = []
        for label in "ab":
            answers = [answer for truth, answer in zip(gold, answered, strict=True) if truth == label]
            recalls.append(answers.count(label) / len(answers))
        return sum(recalls) / 2

    by_function = UnitGains.of(rows, rows, own_metric(mean_recall, {}), CLOSED)
    by_metric = UnitGains.of(rows, rows, CLOSED.metrics["balanced_accuracy"], CLOSED)
    units = [LOST_RARE, WON_USUAL, WON_USUAL]
    for side in ("low", "estimate", "high"):
        gains = (getattr(worth.estimates(units, 0.025), side).by_unit for worth in (by_function, by_metric))
        assert next(gains).tolist() == pytest.approx(next(gains).tolist(), rel=0.1)


def test_equal_judges_with_shared_luck_are_called_better_within_the_level() -> None:
    """Balanced accuracy stays at .80; a tenth are positive, nine tenths of the luck shared; 60 sealed units."""
    rng, runs, worths = np.random.default_rng(5), 100, dict[int, UnitGains]()
    won, lost = (0.1 * 0.2 * 0.65, 0.9 * 0.2 * 0.95), (0.1 * 0.8 * 0.35, 0.9 * 0.8 * 0.05)
    shares = 0.1 * np.array([won[0], lost[0], won[1], lost[1]])
    shares += 0.9 * np.array([0.0, 0.1 * 0.15, 0.9 * 0.15, 0.0])
    kinds = [WON_RARE, LOST_RARE, WON_USUAL, LOST_USUAL]
    exact = found = 0
    for _ in range(runs):
        positives = int(np.clip(rng.binomial(60, 0.1), 1, 59))
        worth = worths.setdefault(positives, proof_of(positives, 60 - positives))
        units = [kinds[kind] for kind in rng.choice(4, size=100, p=shares / shares.sum())]
        estimates = worth.estimates(units, 0.025)
        gains = estimates.estimate
        shown = weigh(gains.by_unit.tolist(), gains.largest, RATE, 0.025).verdict == "better"
        exact += shown
        found += shown and weigh_estimates(estimates, RATE, 0.025).verdict == "better"
    assert exact > 0.05 * runs  # by shares of the classes that were taken as exact
    assert found <= 0.04 * runs


def test_answers_are_apart_where_a_label_can_tell_them_apart() -> None:
    sides = ClosedLabels(("good", "fair", "bad"), frozenset({"bad"}))
    assert not label_could_decide(sides, "good", "fair")  # both are on the same side, and equally right
    assert label_could_decide(sides, "good", "bad")
    assert label_could_decide(sides, None, "fair")
    assert not label_could_decide(sides, None, None)
    scale = Scores(low=1, high=5)
    assert label_could_decide(scale, 2, 4)
    assert credit(scale, 5, 4) > credit(scale, 5, 2) > credit(scale, 5, None) == 0.0
