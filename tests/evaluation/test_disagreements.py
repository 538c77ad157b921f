"""Labels where two prompts differ: the sign test holds its level exactly, and the gain's interval covers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import Signs, apart, credit, gain_of, win_share_shown
from jurist.evaluation.paired import fewest_groups, sign_test
from jurist.evaluation.scores import Scores

LEVELS = (0.025, 0.025 / 3, 0.025 / 6)
COUNTS = st.integers(0, 60)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [1, 5, 6, 12, 40, 101])
def test_its_size_is_within_the_level_exactly(labels: int, level: float) -> None:
    size = sum(
        math.comb(labels, wins) / 2**labels
        for wins in range(labels + 1)
        if Signs(wins=wins, losses=labels - wins).verdict(wins - labels / 2, level) == "better"
    )
    assert size < level
    assert (size > 0) == (labels >= fewest_groups(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("labels", [8, 9, 20, 40, 200])
def test_what_is_said_beforehand_has_the_power_that_is_said(labels: int, level: float) -> None:
    share = win_share_shown(labels, level)
    if labels < fewest_groups(level):
        assert share is None
        return
    assert share is not None
    shown = [wins for wins in range(labels + 1) if sign_test(wins, labels - wins) < level]
    power = sum(math.comb(labels, wins) * share**wins * (1 - share) ** (labels - wins) for wins in shown)
    assert math.isclose(power, 0.8, abs_tol=1e-9)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 20), st.floats(0.02, 0.9))
def test_the_interval_holds_the_gain_and_excludes_0_only_with_the_test(
    wins: int, losses: int, ties: int, rate: float
) -> None:
    if not wins + losses + ties:
        return
    gains = [1.0] * wins + [-1.0] * losses + [0.0] * ties
    found = gain_of((rate, rate * 0.7, min(1.0, rate * 1.3)), gains, 0.025)
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert math.isclose(found.value, rate * (wins - losses) / len(gains), abs_tol=1e-12)
    assert -1 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert (found.low > 0) <= (sign_test(wins, losses) <= 0.025)
    assert (found.high < 0) <= (sign_test(losses, wins) <= 0.025)
    turned = gain_of((rate, rate * 0.7, min(1.0, rate * 1.3)), [-one for one in gains], 0.025)
    assert math.isclose(turned.low or 0.0, -found.high, abs_tol=1e-9)


def test_answers_are_apart_where_a_label_can_tell_them_apart() -> None:
    sides = ClosedLabels(("good", "fair", "bad"), frozenset({"bad"}))
    assert not apart(sides, "good", "fair")  # both are on the same side, and equally right
    assert apart(sides, "good", "bad")
    assert apart(sides, None, "fair")
    assert not apart(sides, None, None)
    scale = Scores(low=1, high=5)
    assert apart(scale, 2, 4)
    assert credit(scale, 5, 4) > credit(scale, 5, 2) > credit(scale, 5, None) == 0.0


def test_a_few_large_losses_stand_against_many_small_wins() -> None:
    signs = Signs(wins=30, losses=5)
    assert signs.verdict(0.1, 0.025) == "better"
    assert signs.verdict(-0.1, 0.025) == "not shown to be better"
    assert Signs(wins=2, losses=30).verdict(-0.3, 0.025) == "worse"
