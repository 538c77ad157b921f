"""The smallest effects against brute force, scipy, statsmodels and simulation."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower

from jurist.errors import UsageError
from jurist.evaluation.paired import mcnemar
from jurist.evaluation.power import clustered_error, detectable, gains, noncentrality, one_way, smallest_net

LEVELS = (0.05, 0.05 / 3, 0.05 / 66, 0.2)


@pytest.mark.parametrize("alpha", LEVELS)
def test_the_smallest_net_is_that_of_brute_force_over_all_splits(alpha: float) -> None:
    for discordant in range(1, 60):
        found = [
            discordant - 2 * b
            for b in range(discordant // 2 + 1)
            if stats.binomtest(b, discordant, 0.5).pvalue < alpha
        ]
        assert smallest_net(discordant, alpha) == min(found, default=None), discordant
    assert smallest_net(0, alpha) is None


@pytest.mark.parametrize("alpha", LEVELS)
def test_one_way_is_the_first_number_that_can_be_significant(alpha: float) -> None:
    least = one_way(alpha)
    assert stats.binomtest(0, least, 0.5).pvalue < alpha <= stats.binomtest(0, least - 1, 0.5).pvalue
    assert smallest_net(least, alpha) == least
    assert smallest_net(least - 1, alpha) is None


@pytest.mark.parametrize(("groups", "size", "alpha"), [(13, 6, 0.025), (36, 5, 0.05), (200, 1, 0.05 / 6)])
def test_a_gain_that_is_said_to_be_mostly_shown_is(groups: int, size: int, alpha: float) -> None:
    rng, said, runs = np.random.default_rng(4), gains(np.full(groups, size), alpha), 400
    assert said.likely is not None
    shown = 0
    for _ in range(runs):
        draw = rng.random((groups, size))
        won, lost = draw < 1.5 * said.likely, draw > 1 - said.likely / 2
        sums = (won.sum(axis=1) - lost.sum(axis=1)).astype(float)
        flips = rng.choice([-1.0, 1.0], (999, groups))
        reached = (np.abs(flips @ sums) >= abs(sums.sum()) - 1e-9).sum()
        p = max(mcnemar(int(lost.sum()), int(won.sum())).p, (reached + 1) / 1000)
        shown += p < alpha and stats.ttest_1samp(sums, 0.0).pvalue < alpha and sums.sum() > 0
    assert 0.65 < shown / runs < 0.85


@pytest.mark.parametrize("alpha", LEVELS)
def test_no_gain_below_the_least_can_be_shown(alpha: float) -> None:
    said = gains(np.full(25, 4), alpha)
    corrected = round(said.least * said.units)
    assert mcnemar(0, corrected).p < alpha <= mcnemar(0, corrected - 1).p
    assert said.likely is not None
    assert said.least < said.likely


def test_what_uneven_groups_and_few_units_can_show() -> None:
    even, uneven = gains(np.full(10, 10), 0.05), gains(np.array([82, *[2] * 9]), 0.05)
    assert even.likely is not None
    assert (uneven.units, uneven.groups, uneven.likely) == (100, 10, None)
    assert str(even) == (
        "100 units in 10 groups, tested at the level 0.05: a gain of less than 0.060 of correct units cannot be shown, "
        f"one of {even.likely:.3f} mostly is"
    )
    assert str(gains(np.full(7, 1), 0.025)).endswith("cannot be shown, no gain is likely to be")


def test_six_units_one_way_are_needed_at_five_per_cent() -> None:
    assert (one_way(0.05), smallest_net(100, 0.05), smallest_net(5, 0.05)) == (6, 22, None)


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("units", [10, 410])
def test_detectable_differences_are_those_of_statsmodels(alpha: float, power: float, units: int) -> None:
    found = detectable(1.0 / np.sqrt(units), alpha, power)
    # its solver stops early; its power function is exact
    assert NormalIndPower().power(found, units, alpha, ratio=0) == pytest.approx(power, abs=1e-9)
    assert noncentrality(alpha, power) == pytest.approx(found * np.sqrt(units), abs=1e-9)


def test_a_difference_of_that_size_is_found_that_often() -> None:
    rng, error = np.random.default_rng(0), 0.03
    size = detectable(error, 0.05)
    assert size is not None
    z = rng.normal(size, error, 200_000) / error
    assert np.mean(np.abs(z) > stats.norm.isf(0.025)) == pytest.approx(0.8, abs=0.004)


def test_in_simulated_experiments_mcnemar_finds_it_about_that_often() -> None:
    rng, units, discordance = np.random.default_rng(1), 400, 0.3
    size = detectable(np.sqrt(discordance / units), 0.05)
    assert size is not None
    up, down = (discordance + size) / 2, (discordance - size) / 2
    counts = rng.multinomial(units, [up, down, 1 - up - down], 2000)
    found = [stats.binomtest(int(c), int(b + c), 0.5).pvalue < 0.05 for b, c, _ in counts]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)  # exact McNemar is a little conservative


@given(
    groups=st.lists(st.lists(st.floats(-1, 1), min_size=1, max_size=5), min_size=2, max_size=12),
)
@settings(max_examples=60)
def test_the_clustered_error_is_that_of_a_regression_with_clusters(groups: list[list[float]]) -> None:
    values = np.array([value for group in groups for value in group])
    group = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": group})
    assert clustered_error(values, group) == pytest.approx(float(fit.bse[0]), abs=1e-9)


def test_with_single_units_it_is_the_ordinary_error() -> None:
    values = np.random.default_rng(2).normal(size=50)
    assert clustered_error(values, np.arange(50)) == pytest.approx(stats.sem(values), abs=1e-12)
    assert clustered_error(values, np.zeros(50, dtype=np.int64)) == 0.0


def test_nothing_seen_says_nothing() -> None:
    assert detectable(0.0, 0.05) is None


@pytest.mark.parametrize(("alpha", "power"), [(0.0, 0.8), (1.0, 0.8), (0.05, 0.05), (0.05, 1.0)])
def test_levels_out_of_range(alpha: float, power: float) -> None:
    with pytest.raises(UsageError):
        noncentrality(alpha, power)


@pytest.mark.parametrize("call", [one_way, lambda alpha: smallest_net(9, alpha)])
@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan")])
def test_no_level_no_test(call: object, alpha: float) -> None:
    with pytest.raises(UsageError):
        call(alpha)  # type: ignore[operator]
