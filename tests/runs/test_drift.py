"""Drift: a fair game if there is none, at any stopping time, and soon shown if there is."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.runs.canary import LEVEL, Drift

COUNTS = st.integers(0, 40)
COINS = [(1, 0), (0, 1), (1, 1), (1, -1)]
"""By how much a row is more right, and finds more, if its coin falls one way; the other way the opposite."""


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.sampled_from(COINS))
def test_no_coin_makes_the_evidence_grow_on_average(
    worse: int, better: int, more: int, fewer: int, coin: tuple[int, int]
) -> None:
    now = Drift(worse=worse, better=better, more=more, fewer=fewer)
    ways = [
        now.with_row(is_changed=True, right_change=side * coin[0], found_change=side * coin[1])
        for side in (1, -1)
    ]
    assert sum(one.evidence for one in ways) / 2 == pytest.approx(now.evidence, rel=1e-9)


def shown_within(rows: int, coin: tuple[int, int], chance: float) -> float:
    """The exact probability that drift is shown after any of so many rows whose coin falls one way so often."""
    left, shown = {Drift(): 1.0}, 0.0
    for _ in range(rows):
        after: dict[Drift, float] = defaultdict(float)
        for now, probability in left.items():
            for side, share in ((1, chance), (-1, 1 - chance)):
                after[
                    now.with_row(is_changed=True, right_change=side * coin[0], found_change=side * coin[1])
                ] += probability * share
        shown += sum(probability for one, probability in after.items() if one.shown)
        left = {one: probability for one, probability in after.items() if not one.shown}
    return shown


@pytest.mark.parametrize("coin", COINS)
def test_without_drift_it_is_hardly_ever_shown_whenever_one_stops(coin: tuple[int, int]) -> None:
    assert 0.005 < shown_within(150, coin, 0.5) <= LEVEL


@pytest.mark.parametrize(
    ("coin", "chance", "rows", "least"),
    [((-1, 0), 0.9, 25, 0.9), ((0, 1), 0.95, 25, 0.9), ((-1, 1), 0.8, 40, 0.85)],
)
def test_drift_is_soon_shown(coin: tuple[int, int], chance: float, rows: int, least: float) -> None:
    assert shown_within(rows, coin, chance) >= least


def test_rows_that_are_answered_as_then_say_nothing() -> None:
    same = Drift().with_row(is_changed=False, right_change=0, found_change=0)
    assert (same.evidence, same.shown) == (1.0, False)
    assert "all answered as in the proof" in str(same)
    assert "not one" in str(Drift())
