"""Labels where two prompts differ: each counts what it is worth in the metric, and the interval is of the test."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from measures import rows_of

from jurist.cases import Value
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import (
    LabelledUnit,
    UnitGains,
    alike_test,
    correctness,
    fewest_labels,
    foresee_labels,
    label_could_decide,
    weigh,
    weigh_estimates,
    win_share_shown,
)
from jurist.evaluation.metrics import Metric, own_metric
from jurist.evaluation.paired import sign_test
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores

RATE = (0.2, 0.15, 0.25)
"""The share of units on which two prompts differ, with the ends of its interval."""
LEVELS = (0.025, 0.025 / 3, 0.025 / 6)
CLOSED = ClosedLabels("ab")


def probability_to_show(labels: int, win_share: float, level: float) -> float:
    """Return how probable it is that so many labels show a difference, with this true share of wins."""
    probability = 0.0
    for wins in range(labels + 1):
        losses = labels - wins
        if alike_test(wins, losses) < level:
            probability += math.comb(labels, wins) * win_share**wins * (1 - win_share) ** losses
    return probability


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [1, 5, 6, 7, 12, 40, 101])
def test_its_size_is_within_the_level_where_units_count_alike(labels: int, level: float) -> None:
    size = probability_to_show(labels, 0.5, level)
    assert size < level
    assert (size > 0) == (labels >= fewest_labels(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [8, 9, 20, 40, 200])
def test_what_is_said_beforehand_has_the_power_that_is_said(labels: int, level: float) -> None:
    win_share = win_share_shown(labels, level)
    if labels < fewest_labels(level):
        assert win_share is None
    else:
        assert win_share is not None
        assert math.isclose(probability_to_show(labels, win_share, level), 0.8, abs_tol=1e-9)


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 20))
def test_units_that_count_alike_are_tested_by_their_signs(wins: int, losses: int, ties: int) -> None:
    assume(wins + losses)
    result = weigh([1.0] * wins + [-1.0] * losses + [0.0] * ties, 1.0, (0.2, 0.1, 0.3), 0.025)
    assert (result.wins, result.losses, result.ties) == (wins, losses, ties)
    expected = alike_test(wins, losses)
    assert result.better == pytest.approx(expected, abs=4 * math.sqrt(expected / 10_000) + 1e-3)


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
    result = weigh(gains, 5.0, ends, level)
    gain = result.gain
    assert gain.low is not None
    assert gain.value is not None
    assert gain.high is not None
    assert math.isclose(gain.value, rate * sum(gains) / len(gains), abs_tol=1e-12)
    assert gain.low - 1e-12 <= gain.value <= gain.high + 1e-12
    assert (result.verdict == "better") == (gain.low > 0.0) == (result.better < level)
    assert (result.verdict == "worse") == (gain.high < 0.0)
    turned = weigh([-unit_gain for unit_gain in gains], 5.0, ends, level)
    assert {result.verdict, turned.verdict} != {"better"}


def proof_of(positives: int, negatives: int) -> UnitGains:
    """Return the worth of units in balanced accuracy after a sealed test with so many units of each class."""
    rows = rows_of([("a", "a")] * positives + [("b", "b")] * negatives, group_size=1)
    return UnitGains.of(rows, rows, CLOSED.metrics["balanced_accuracy"], CLOSED)


def test_a_unit_of_a_rare_class_counts_as_much_more_as_it_is_rare() -> None:
    worth = proof_of(10, 90)
    rare_gain = worth.gain("a", "b", "a")
    assert rare_gain == pytest.approx(5.0, rel=0.06)
    assert worth.gain("b", "a", "b") == pytest.approx(0.556, rel=0.01)
    assert worth.gain("a", "a", "b") == pytest.approx(-rare_gain)
    assert worth.gain("a", None, "b") == 0.0  # nothing is as wrong as the other label
    assert worth.largest("ab") == pytest.approx(rare_gain)


def test_all_units_count_alike_in_accuracy() -> None:
    rows = rows_of([("a", "a")] * 2 + [("b", "b")] * 8, group_size=1)
    worth = UnitGains.of(rows, rows, CLOSED.metrics["accuracy"], CLOSED)
    assert worth.gain("a", "b", "a") == pytest.approx(1.0)
    assert worth.gain("b", "a", "b") == pytest.approx(1.0)


def test_more_correct_units_are_no_gain_where_the_rare_class_is_lost() -> None:
    """Ten percent are positive; recall falls from .80 to .45, and specificity rises from .80 to .95."""
    worth = proof_of(10, 90)
    gains = [worth.gain("b", "a", "b")] * 31 + [worth.gain("a", "a", "b")] * 9
    result = weigh(gains, worth.largest("ab"), RATE, 0.025)
    assert sign_test(31, 9) < 0.001
    assert result.verdict != "better"
    assert result.gain.value is not None
    assert result.gain.value < 0.0


def test_equal_judges_that_trade_errors_are_hardly_ever_called_better() -> None:
    """Balanced accuracy stays at .80: recall .80 -> .65, specificity .80 -> .95; a tenth of the units are positive."""
    rng = np.random.default_rng(3)
    worth = proof_of(10, 90)
    rare = worth.gain("a", "b", "a")
    usual = worth.gain("b", "a", "b")
    shares = np.array([0.1 * 0.2 * 0.65, 0.1 * 0.8 * 0.35, 0.9 * 0.2 * 0.95, 0.9 * 0.8 * 0.05])
    runs = 150
    better = better_by_signs = 0
    for _ in range(runs):
        gains = rng.choice([rare, -rare, usual, -usual], size=40, p=shares / shares.sum())
        better += weigh(gains.tolist(), rare, RATE, 0.025).verdict == "better"
        better_by_signs += sign_test(int((gains > 0).sum()), int((gains < 0).sum())) < 0.025
    assert better_by_signs > 0.5 * runs  # what counting correct units says
    assert better <= 0.05 * runs


WON_RARE = LabelledUnit(gold="a", first="b", second="a")
LOST_RARE = LabelledUnit(gold="a", first="a", second="b")
WON_USUAL = LabelledUnit(gold="b", first="a", second="b")
LOST_USUAL = LabelledUnit(gold="b", first="b", second="a")
UNTOLD = LabelledUnit(gold=None, first="a", second="b")


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
    st.lists(st.sampled_from([WON_RARE, LOST_RARE, WON_USUAL, LOST_USUAL, UNTOLD]), min_size=1, max_size=30),
    st.integers(4, 20),
    st.integers(4, 20),
)
def test_weights_that_are_estimates_never_make_a_difference_surer(
    units: list[LabelledUnit], positives: int, negatives: int
) -> None:
    worth = proof_of(positives, negatives)
    estimates = worth.estimates(units, 0.025)
    gains = []
    for unit in units:
        gain = 0.0
        if unit.gold is not None:
            gain = worth.gain(unit.gold, unit.first, unit.second)
        gains.append(gain)
    assert estimates.estimate.by_unit.tolist() == pytest.approx(gains, abs=1e-9)
    result = weigh_estimates(estimates, RATE, 0.025)
    exact = weigh(gains, estimates.estimate.largest, RATE, 0.025)
    assert result.better >= exact.better
    assert result.worse >= exact.worse


def share_right(gold: list[str], answers: list[str]) -> float:
    """Return the accuracy, as a function of a user's."""
    right = 0
    for label, answer in zip(gold, answers, strict=True):
        right += label == answer
    return right / len(gold)


def mean_recall(gold: list[str], answers: list[str]) -> float:
    """Return the balanced accuracy, as a function of a user's."""
    recalls = []
    for label in "ab":
        hits = sum(answer == truth == label for truth, answer in zip(gold, answers, strict=True))
        recalls.append(hits / gold.count(label))
    return sum(recalls) / 2


SEALED_ROWS = rows_of([("a", "a")] * 6 + [("b", "b")] * 54, group_size=1)


@pytest.mark.parametrize("metric", [CLOSED.metrics["accuracy"], own_metric(share_right, {})])
def test_weights_are_certain_where_units_count_alike(metric: Metric) -> None:
    worth = UnitGains.of(SEALED_ROWS, SEALED_ROWS, metric, CLOSED)
    estimates = worth.estimates([WON_RARE, LOST_USUAL], 0.025)
    assert estimates.low is estimates.high is estimates.estimate
    assert estimates.estimate.by_unit.tolist() == pytest.approx([1.0, -1.0])


@pytest.mark.parametrize("side", ["low", "estimate", "high"])
def test_a_function_takes_whole_units(side: str) -> None:
    units = [LOST_RARE, WON_USUAL, WON_USUAL]
    gains = []
    for metric in (CLOSED.metrics["balanced_accuracy"], own_metric(mean_recall, {})):
        worth = UnitGains.of(SEALED_ROWS, SEALED_ROWS, metric, CLOSED)
        gains.append(getattr(worth.estimates(units, 0.025), side).by_unit.tolist())
    by_metric, by_function = gains
    assert by_function == pytest.approx(by_metric, rel=0.1)


def test_equal_judges_with_shared_luck_are_called_better_within_the_level() -> None:
    """Balanced accuracy stays at .80; a tenth are positive, nine tenths of the luck shared; 60 sealed units."""
    rng = np.random.default_rng(5)
    kinds = [WON_RARE, LOST_RARE, WON_USUAL, LOST_USUAL]
    independent = np.array([0.1 * 0.2 * 0.65, 0.1 * 0.8 * 0.35, 0.9 * 0.2 * 0.95, 0.9 * 0.8 * 0.05])
    shared = np.array([0.0, 0.1 * 0.15, 0.9 * 0.15, 0.0])
    shares = 0.1 * independent + 0.9 * shared
    worths: dict[int, UnitGains] = {}
    runs = 100
    better = better_if_certain = 0
    for _ in range(runs):
        positives = int(np.clip(rng.binomial(60, 0.1), 1, 59))
        worth = worths.setdefault(positives, proof_of(positives, 60 - positives))
        units = [kinds[kind] for kind in rng.choice(4, size=100, p=shares / shares.sum())]
        estimates = worth.estimates(units, 0.025)
        gains = estimates.estimate
        if weigh(gains.by_unit.tolist(), gains.largest, RATE, 0.025).verdict == "better":
            better_if_certain += 1
            better += weigh_estimates(estimates, RATE, 0.025).verdict == "better"
    assert better_if_certain > 0.05 * runs  # by shares of the classes that were taken as exact
    assert better <= 0.04 * runs


SIDED = ClosedLabels(("good", "fair", "bad"), frozenset({"bad"}))
SCORES = Scores(low=1, high=5)


@pytest.mark.parametrize(
    ("scale", "first", "second", "expected"),
    [
        (SIDED, "good", "fair", False),  # both are on the same side, and equally right
        (SIDED, "good", "bad", True),
        (SIDED, None, "fair", True),
        (SIDED, None, None, False),
        (SCORES, 2, 4, True),
    ],
)
def test_answers_are_apart_where_a_label_can_tell_them_apart(
    scale: Scale, first: Value | None, second: Value | None, expected: bool
) -> None:
    assert label_could_decide(scale, first, second) == expected


def test_a_nearer_score_has_more_credit() -> None:
    assert correctness(SCORES, 5, 4) > correctness(SCORES, 5, 2) > correctness(SCORES, 5, None) == 0.0


@pytest.mark.parametrize(
    ("won", "lost", "metric", "level", "expected"),
    [
        (30, 10, "accuracy", 0.025, 40),
        (30, 10, "accuracy", 0.0125, 40),
        (13, 7, "accuracy", 0.025, 100),
        (13, 7, "accuracy", 0.0125, 150),
        (12, 8, "accuracy", 0.025, None),  # a share of .6 takes more than 200
        (10, 10, "accuracy", 0.025, None),
        (0, 0, "accuracy", 0.025, None),
        (10, 30, "accuracy", 0.025, None),
    ],
)
def test_labels_that_will_mostly_show_the_gain_of_a_sealed_test_are_foreseen(
    won: int, lost: int, metric: str, level: float, expected: int | None
) -> None:
    agreed = 100 - won - lost
    gold = ["a", "b"] * 50
    first = rows_of(_answers(gold, [*[False] * won, *[True] * lost, *[True] * agreed]), group_size=1)
    second = rows_of(_answers(gold, [*[True] * won, *[False] * lost, *[True] * agreed]), group_size=1)
    assert foresee_labels(first, second, CLOSED.metrics[metric], CLOSED, level) == expected


@pytest.mark.parametrize(("metric", "is_foreseen"), [("accuracy", True), ("balanced_accuracy", False)])
def test_labels_are_foreseen_by_the_metric_and_not_by_correct_units(metric: str, is_foreseen: bool) -> None:
    """Twenty usual units are won and five rare ones lost: more correct units, and a lower balanced accuracy."""
    gold = ["a"] * 10 + ["b"] * 90
    losing = [False] * 5 + [True] * 95
    winning = [True] * 10 + [False] * 20 + [True] * 70
    first = rows_of(_answers(gold, winning), group_size=1)
    second = rows_of(_answers(gold, losing), group_size=1)
    foreseen = foresee_labels(first, second, CLOSED.metrics[metric], CLOSED, 0.025)
    assert (foreseen is not None) == is_foreseen


def _answers(gold: list[str], right: list[bool]) -> list[tuple[str, str]]:
    """Return pairs of a label and an answer, which is the other label where it is not right."""
    pairs = []
    for label, is_right in zip(gold, right, strict=True):
        other = "b" if label == "a" else "a"
        pairs.append((label, label if is_right else other))
    return pairs
