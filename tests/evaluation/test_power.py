"""The gains that can be shown, against simulation."""

import numpy as np
import pytest

from jurist.evaluation.paired import fewest_groups, gains

LEVELS = (0.05, 0.05 / 3, 0.05 / 66, 0.2)


@pytest.mark.parametrize(
    ("together", "least", "most"), [(0.0, 0.7, 1.0), (0.15, 0.65, 0.85), (0.3, 0.45, 0.75)]
)
@pytest.mark.parametrize(("groups", "size", "alpha"), [(13, 6, 0.025), (36, 5, 0.05)])
def test_a_gain_that_is_said_to_be_mostly_confirmed_is(
    groups: int, size: int, alpha: float, together: float, least: float, most: float
) -> None:
    """By the one-sided permutation of whole groups, where units of a group gain together moderately."""
    rng, said, runs = np.random.default_rng(4), gains(np.full(groups, size), alpha), 150
    assert said.likely is not None
    shown = 0
    for _ in range(runs):
        own, of_group = rng.random((groups, size)), rng.random((groups, 1))
        draw = np.where(rng.random((groups, size)) < np.sqrt(together), of_group, own)
        won, lost = draw < 1.5 * said.likely, draw > 1 - said.likely / 2
        sums = (won.sum(axis=1) - lost.sum(axis=1)).astype(float)
        flips = rng.choice([-1.0, 1.0], (499, groups))
        shown += (1 + (flips @ sums >= sums.sum() - 1e-9).sum()) / 500 < alpha
    assert least < shown / runs < most or (size == 1 and 0.65 < shown / runs < 0.85)


@pytest.mark.parametrize("alpha", LEVELS)
def test_no_gain_below_the_least_can_be_shown(alpha: float) -> None:
    said, fewest = gains(np.full(25, 4), alpha), fewest_groups(alpha)
    assert said.smallest == fewest / 100
    assert 2.0**-fewest < alpha <= 2.0 ** (1 - fewest)
    assert said.likely is not None
    assert said.smallest < said.likely


def test_what_uneven_groups_and_few_units_can_show() -> None:
    even, uneven = gains(np.full(10, 10), 0.05), gains(np.array([82, *[2] * 9]), 0.05)
    assert even.likely is not None
    assert (uneven.units, uneven.groups, uneven.likely) == (100, 10, None)
    assert str(even) == (
        f"gains of about {np.ceil(100 * even.likely):.0f} points in correct answers can be confirmed, below 5 points "
        "none can (100 labelled units in 10 groups, level 0.05)"
    )
    assert "below 86 points cannot be confirmed, and any larger one may be missed" in str(
        gains(np.full(7, 1), 0.025)
    )
