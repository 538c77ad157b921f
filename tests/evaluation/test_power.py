"""The gains that can be shown, against simulation."""

import numpy as np
import pytest

from jurist.evaluation.paired import fewest_groups, gains

LEVELS = (0.05, 0.05 / 3, 0.05 / 66, 0.2)


@pytest.mark.parametrize(
    ("correlation", "lowest", "highest"), [(0.0, 0.7, 1.0), (0.15, 0.65, 0.85), (0.3, 0.45, 0.75)]
)
@pytest.mark.parametrize(("groups", "size", "alpha"), [(13, 6, 0.025), (36, 5, 0.05)])
def test_a_gain_that_is_said_to_be_mostly_confirmed_is(
    groups: int, size: int, alpha: float, correlation: float, lowest: float, highest: float
) -> None:
    """By the one-sided permutation of whole groups, where units of a group gain together moderately."""
    rng = np.random.default_rng(4)
    likely = gains(np.full(groups, size), alpha).likely
    assert likely is not None
    runs = 150
    confirmed = 0
    for _ in range(runs):
        unit_draws = rng.random((groups, size))
        group_draws = rng.random((groups, 1))
        follows_group = rng.random((groups, size)) < np.sqrt(correlation)
        draws = np.where(follows_group, group_draws, unit_draws)
        gained = draws < 1.5 * likely
        lost = draws > 1 - likely / 2
        sums = (gained.sum(axis=1) - lost.sum(axis=1)).astype(float)
        flips = rng.choice([-1.0, 1.0], (499, groups))
        reaching = (flips @ sums >= sums.sum() - 1e-9).sum()
        confirmed += (1 + reaching) / 500 < alpha
    assert lowest < confirmed / runs < highest


@pytest.mark.parametrize("alpha", LEVELS)
def test_no_gain_below_the_least_can_be_shown(alpha: float) -> None:
    showable = gains(np.full(25, 4), alpha)
    fewest = fewest_groups(alpha)
    assert showable.smallest == fewest / 100
    assert 2.0**-fewest < alpha <= 2.0 ** (1 - fewest)
    assert showable.likely is not None
    assert showable.smallest < showable.likely


def test_what_uneven_groups_and_few_units_can_show() -> None:
    even = gains(np.full(10, 10), 0.05)
    uneven = gains(np.array([82] + [2] * 9), 0.05)
    assert even.likely is not None
    assert (uneven.units, uneven.groups, uneven.likely) == (100, 10, None)
    assert str(even) == (
        f"gains of about {np.ceil(100 * even.likely):.0f} points in correct answers can be confirmed, below 5 points "
        "none can (100 labelled units in 10 groups, level 0.05)"
    )
    few_units = str(gains(np.full(7, 1), 0.025))
    assert "below 86 points cannot be confirmed, and any larger one may be missed" in few_units
