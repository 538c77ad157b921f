"""The t-test over groups: against scipy, its pair of units, when it is taken, and that it keeps its level."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.clustered_t import LEAST_P, ClusteredT
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


def test_functions_of_ones_own_and_scores_are_swapped() -> None:
    def f1(gold: str, predicted: str) -> float:
        return float(gold == predicted)

    units = units_of("yn" * 12, "yyny" * 6, "yn" * 12, SIX_GROUPS)
    assert isinstance(run_test(units, own_metric(f1, {}), seed=0, level=0.025), Permutation)
    assert not Scores(1, 5).metrics["mae"].by_t


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
    assert replace(test, gain=0.0).better == 0.5
