"""The t-test over groups: against scipy, its added units, its skewness, when it is taken, and its level."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.clustered_t import LEAST_P, ClusteredT, OneSidedT
from jurist.evaluation.metrics import own_metric
from jurist.evaluation.paired import compare_pair, run_test
from jurist.evaluation.permutation import Permutation
from jurist.evaluation.scores import Scores
from jurist.evaluation.units import Units

KIND = ClosedLabels(("yes", "no"), {"yes"})


def units_of(gold: str, first: str, second: str, groups: list[int]) -> Units:
    """Return units by letters: ``y`` and ``n``."""
    names, group = np.unique(groups, return_inverse=True)
    return Units(
        kind=KIND,
        values=KIND.domain,
        gold=codes_of(gold),
        predicted=np.stack([codes_of(first), codes_of(second)]),
        group=group,
        groups=len(names),
    )


def codes_of(letters: str) -> np.ndarray:
    """Return the place of each label among the labels of the scale."""
    return np.array(["yn".index(letter) for letter in letters])


def letters_of(is_yes: np.ndarray) -> str:
    return "".join(np.where(is_yes, "y", "n").tolist())


def draw_units(seed: int, groups: int = 20, size: int = 3) -> Units:
    """Return the answers of two judges, wrong in 30 and in 20 percent, to groups of one size."""
    rng = np.random.default_rng(seed)
    gold = rng.random(groups * size) < 0.4
    first_wrong, second_wrong = rng.random((2, groups * size)) < np.array([[0.3], [0.2]])
    group_of_unit = np.repeat(np.arange(groups), size).tolist()
    return units_of(
        letters_of(gold), letters_of(gold ^ first_wrong), letters_of(gold ^ second_wrong), group_of_unit
    )


@given(st.integers(0, 10**6))
def test_of_single_units_and_accuracy_it_is_the_paired_t_with_two_pairs_more(seed: int) -> None:
    units = draw_units(seed, groups=40, size=1)
    test = ClusteredT.of(units, KIND.metrics["accuracy"])
    first_right, second_right = (units.predicted == units.gold).astype(float)
    gains = second_right - first_right
    # Two classes have two units more each, which gain one and lose one: in 40 units these are two pairs.
    error = np.sqrt(gains.var(ddof=1) / 40 + 2 * 2 / 40**2)
    assert test.difference == pytest.approx(gains.mean())
    assert test.error == pytest.approx(error, rel=0.02)
    assert test.degrees == pytest.approx(39)
    assert test.better == pytest.approx(max(LEAST_P, scipy.stats.t.sf(gains.mean() / test.error, 39)))


@given(st.integers(0, 10**6), st.sampled_from(["accuracy", "balanced_accuracy", "f1", "kappa", "macro_f1"]))
def test_the_interval_excludes_no_difference_exactly_where_one_is_shown(seed: int, name: str) -> None:
    units = draw_units(seed)
    for level in (0.025, 0.3):
        paired = compare_pair(units, KIND.metrics[name], seed=0, tested=level)
        assert isinstance(paired.test, ClusteredT)
        ends = paired.interval
        assert (ends.low > 0.0) == (paired.direction == "better")
        assert (ends.high < 0.0) == (paired.direction == "worse")
        assert ends.low <= paired.difference <= ends.high
        turned = compare_pair(
            units.answering(units.predicted[::-1]), KIND.metrics[name], seed=0, tested=level
        )
        assert (turned.test.better, turned.test.worse) == (paired.test.worse, paired.test.better)


SIX_GROUPS = list(range(6)) * 4


@pytest.mark.parametrize(
    ("groups", "level", "metric", "is_t"),
    [
        (SIX_GROUPS, 0.025, "f1", True),
        (list(range(5)) * 4 + [4] * 4, 0.025, "f1", False),  # five groups
        (SIX_GROUPS, 0.0125, "f1", False),  # a second opening needs seven groups
        ([0] * 13 + list(range(1, 12)), 0.025, "f1", False),  # a group with more than half of the units
        ([0] * 12 + list(range(1, 13)), 0.025, "f1", True),
        (SIX_GROUPS, 0.025, "precision", False),  # not shown to keep its level
    ],
)
def test_it_is_taken_where_it_keeps_its_level(
    groups: list[int], level: float, metric: str, is_t: bool
) -> None:
    units = units_of("yn" * 12, "yyny" * 6, "yn" * 12, groups)
    test = run_test(units, KIND.metrics[metric], seed=0, level=level)
    assert isinstance(test, ClusteredT if is_t else Permutation)


def test_functions_of_ones_own_are_swapped() -> None:
    def f1(gold: str, predicted: str) -> float:
        return float(gold == predicted)

    units = units_of("yn" * 12, "yyny" * 6, "yn" * 12, SIX_GROUPS)
    assert isinstance(run_test(units, own_metric(f1, {}), seed=0, level=0.025), Permutation)


def test_a_rare_class_without_an_error_makes_nothing_sure() -> None:
    """One positive unit in thirty, missed by the first: that is one error, however large its part of the metric is."""
    units = units_of("y" + "n" * 29, "n" * 30, "y" + "n" * 29, list(range(30)))
    test = run_test(units, KIND.metrics["balanced_accuracy"], seed=0, level=0.025)
    assert test.difference == 0.5
    assert test.better > 0.1


def test_no_p_is_below_that_of_random_swaps() -> None:
    units = units_of("yn" * 100, "ny" * 100, "yn" * 100, list(range(200)))
    test = ClusteredT.of(units, KIND.metrics["accuracy"])
    assert (test.better, test.worse) == (LEAST_P, pytest.approx(1.0))
    assert test.gains.bound(LEAST_P) == -np.inf
    assert replace(test, gains=replace(test.gains, difference=0.0)).better == 0.5


FIVE = Scores(1, 5, whole=True)


def units_of_scores(gold: Sequence[int], first: Sequence[int], second: Sequence[int]) -> Units:
    """Return scores from 1 to 5, each unit a group of its own."""
    return Units(
        kind=FIVE,
        values=(1, 2, 3, 4, 5),
        gold=np.array(gold) - 1,
        predicted=np.array([first, second]) - 1,
        group=np.arange(len(gold)),
        groups=len(gold),
    )


def draw_scores(seed: int, count: int = 40) -> Units:
    """Return the scores of two judges, with errors of 1.1 and of 0.7."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, count)
    noise = rng.normal(size=(2, count)) * np.array([[1.1], [0.7]])
    first, second = np.clip(np.rint(gold + noise), 1, 5).astype(int)
    return units_of_scores(gold.tolist(), first.tolist(), second.tolist())


@given(st.integers(0, 10**6), st.sampled_from(FIVE.choosable))
def test_the_interval_of_scores_excludes_no_difference_exactly_where_one_is_shown(
    seed: int, name: str
) -> None:
    units = draw_scores(seed)
    turned_units = units.answering(units.predicted[::-1])
    for level in (0.025, 0.3):
        paired = compare_pair(units, FIVE.metrics[name], seed=0, tested=level)
        assert isinstance(paired.test, ClusteredT)
        ends = paired.interval
        signs = {"better": 1, "worse": -1, None: 0}
        sign = signs[paired.direction]
        if not paired.higher_is_better:
            sign = -sign
        assert (ends.low > 0.0) == (sign == 1)
        assert (ends.high < 0.0) == (sign == -1)
        assert ends.low <= paired.difference <= ends.high
        turned = compare_pair(turned_units, FIVE.metrics[name], seed=0, tested=level)
        assert turned.test.better == pytest.approx(paired.test.worse)
        assert turned.test.worse == pytest.approx(paired.test.better)


@given(st.floats(-1.0, 8.0), st.floats(0.0, 1.0), st.integers(2, 200))
def test_a_skewed_statistic_has_the_p_of_the_quantile_that_is_corrected_to_it(
    quantile: float, skewness: float, degrees: int
) -> None:
    statistic = quantile + skewness * (1 + 2 * quantile**2) / 6
    test = OneSidedT(difference=3.0 * statistic, error=3.0, degrees=degrees, skewness=skewness)
    level = scipy.stats.t.sf(quantile, degrees)
    assert test.p == pytest.approx(max(LEAST_P, level), rel=1e-6, abs=1e-9)
    if level > LEAST_P:
        assert test.bound(level) == pytest.approx(
            0.0, abs=1e-6
        )  # the supposed difference that is just rejected


@given(st.floats(-5.0, 5.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_more_skewed_towards_losses_the_less_is_shown(
    statistic: float, first: float, second: float
) -> None:
    less, more = sorted([first, second])
    straight = OneSidedT(difference=statistic, error=1.0, degrees=30)
    skewed = replace(straight, skewness=less)
    more_skewed = replace(straight, skewness=more)
    assert straight.p <= skewed.p + 1e-12
    assert skewed.p <= more_skewed.p + 1e-12
    assert straight.bound(0.025) >= skewed.bound(0.025) >= more_skewed.bound(0.025)


def test_one_unseen_error_is_added_to_the_variance_and_to_the_skewness() -> None:
    """Of 20 rows, scores of 3, the first judge is one off in ten; the second is always right."""
    units = units_of_scores([3] * 20, [4, 3] * 10, [3] * 20)
    test = ClusteredT.of(units, FIVE.metrics["mae"])
    parts = (np.array([1.0, 0.0] * 10) - 0.5) / 20
    # The answer to a 3 can be 2 off, which is a tenth of the mean error. All 20 groups have a 3, and no error was seen:
    # a quarter of that would do, but the least share is 0.7.
    unseen = 0.7 * 2 / 20
    variance = (parts**2).sum() + unseen**2
    assert test.gains.difference == pytest.approx(0.5)
    assert test.gains.error == pytest.approx(np.sqrt(variance))
    assert test.gains.skewness == pytest.approx(0.5 * unseen**3 / variance**1.5)


def test_the_unseen_error_is_that_of_the_judge_that_gains() -> None:
    """The first judge takes a 1 for a 5 once, the second is always right; ten rows each have a 1 and a 3."""
    gold = [1] * 10 + [3] * 10
    test = ClusteredT.of(units_of_scores(gold, [5, *gold[1:]], gold), FIVE.metrics["mae"])
    gain = 4 / 20
    seen_variance = (gain - gain / 20) ** 2 + 19 * (gain / 20) ** 2
    # An error of 4 moves the mean error by 0.2. It occurred in the first; in the second 0.7 of it counts.
    assert test.gains.error == pytest.approx(np.sqrt(seen_variance + (0.7 * gain) ** 2))
    assert test.losses.error == pytest.approx(np.sqrt(seen_variance + gain**2))


@pytest.mark.parametrize("rows", [40, 100])
def test_a_judge_that_rarely_errs_far_is_not_better_than_one_that_often_errs_a_little(rows: int) -> None:
    """One in 33 scores is as far off as can be; or 8 in 100 are one off: the same mean error in the long run."""
    rng = np.random.default_rng(rows)
    runs = 200
    shown = 0
    for _ in range(runs):
        gold = rng.integers(1, 6, rows)
        far = np.where(gold <= 3, 5, 1)
        near = np.where(gold == 5, 4, gold + 1)
        first = np.where(rng.random(rows) < 0.03 * np.abs(gold - far).mean(), near, gold)
        second = np.where(rng.random(rows) < 0.03, far, gold)
        test = ClusteredT.of(
            units_of_scores(gold.tolist(), first.tolist(), second.tolist()), FIVE.metrics["mae"]
        )
        shown += test.better < 0.025
    assert shown <= 0.05 * runs
