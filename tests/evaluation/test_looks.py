"""Looks at labels before all are in: together they reach their levels as rarely as one test does."""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jurist.evaluation.disagreements import LabelGains, alike_test, weigh
from jurist.evaluation.looks import LabelLook, level_of_look, plan_looks

LEVEL = 0.025


def gains_of(gains: Sequence[float]) -> LabelGains:
    """Return gains, of which the largest in size counts as much as any unit can."""
    return LabelGains(by_unit=np.array(gains), largest=max([abs(gain) for gain in gains], default=1.0) or 1.0)


@pytest.mark.parametrize(
    ("labels", "level", "expected"),
    [
        (7, LEVEL, [7]),  # a look at 4 or 6 labels could show nothing
        (12, LEVEL, [9, 12]),
        (19, LEVEL, [15, 19]),
        (20, LEVEL, [15, 20]),
        (22, LEVEL, [11, 17, 22]),
        (40, LEVEL, [20, 30, 40]),
        (41, LEVEL, [21, 31, 41]),
        (200, LEVEL, [100, 150, 200]),
        (22, LEVEL / 4, [17, 22]),
        (8, LEVEL / 2, [8]),
    ],
)
def test_looks_are_planned_at_half_three_quarters_and_all(
    labels: int, level: float, expected: list[int]
) -> None:
    looks = plan_looks(labels, level)
    assert [look.labels for look in looks] == expected
    spent = [look.spent for look in looks]
    assert spent == sorted(spent)
    assert spent[-1] == level
    for look in looks:
        assert alike_test(look.labels, 0) < look.spent


@pytest.mark.parametrize(
    ("labels", "wins"),
    [
        (20, [13, 16]),
        (40, [17, 22, 27]),
        (60, [24, 31, 39]),
        (100, [36, 49, 61]),
    ],
)
def test_wins_that_are_shown_at_each_look_where_units_count_alike(labels: int, wins: list[int]) -> None:
    """The wins of the last look are those of one test of all labels."""
    looks = plan_looks(labels, LEVEL)
    found = []
    for place, look in enumerate(looks):
        level = level_of_look(gains_of([1.0] * look.labels), looks[: place + 1])
        fewest = look.labels
        while alike_test(fewest - 1, look.labels - fewest + 1) < level:
            fewest -= 1
        found.append(fewest)
    assert found == wins


def flips_of(gains: Sequence[float]) -> Iterator[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Yield gains with each choice of signs."""
    for signs in product((1.0, -1.0), repeat=len(gains)):
        yield np.array(gains) * signs


@settings(max_examples=10, deadline=None)
@example([1.1, 1.0, 0.5, 1.1, 5.0, 1.1, 0.5, 1.0, 0.5, 5.0, 1.0])
@given(st.lists(st.sampled_from([0.5, 1.0, 1.1, 5.0, 0.0]), min_size=4, max_size=11))
def test_all_flips_of_units_reach_any_look_as_rarely_as_the_level(gains: list[float]) -> None:
    """The size of looks whose units count unequally, over all that can happen: a larger level has more to spend."""
    level = 0.2
    looks = [
        LabelLook(labels=math.ceil(len(gains) / 2), spent=level * 0.75),
        LabelLook(labels=math.ceil(len(gains) * 0.75), spent=level * 0.9),
        LabelLook(labels=len(gains), spent=level),
    ]
    levels = []
    sums_of_flips = []
    for place, look in enumerate(looks):
        levels.append(level_of_look(gains_of(gains[: look.labels]), looks[: place + 1]))
        sums_of_flips.append(np.array([flip.sum() for flip in flips_of(gains[: look.labels])]).round(9))
    pair = 2.0 * gains_of(gains).largest
    reached = 0
    for flip in flips_of(gains):
        for look, look_level, sums in zip(looks, levels, sums_of_flips, strict=True):
            total = flip[: look.labels].sum().round(9)
            p, p_below, p_above = ((sums >= total + shift).mean() for shift in (0.0, -pair, pair))
            if max(p, (p_below + 2.0 * p + p_above) / 4.0) < look_level:
                reached += 1
                break
    assert reached <= level * 2 ** len(gains)
    assert all(one <= look.spent for one, look in zip(levels, looks, strict=True))


@given(st.lists(st.sampled_from([0.5, 1.0, -1.0, -5.0, 0.0]), min_size=1, max_size=12))
def test_the_level_of_a_look_does_not_depend_on_who_won(gains: list[float]) -> None:
    looks = [LabelLook(labels=max(1, len(gains) // 2), spent=0.05), LabelLook(labels=len(gains), spent=0.1)]
    levels = {level_of_look(gains_of([sign * gain for gain in gains]), looks) for sign in (1.0, -1.0)}
    assert levels == {level_of_look(gains_of([abs(gain) for gain in gains]), looks)}


@pytest.mark.parametrize("gains", [[], [0.0, 0.0, 0.0]])
def test_units_that_nobody_could_tell_reach_no_look(gains: list[float]) -> None:
    look = LabelLook(labels=len(gains), spent=LEVEL)
    level = level_of_look(gains_of(gains), [look])
    assert level == LEVEL
    if gains:
        assert weigh(gains, 1.0, (0.2, 0.1, 0.3), level).verdict == "not shown to be better"


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(1.0,), (0.55, 5.0), (0.5, 1.0, 2.0)])
def test_three_looks_call_equal_prompts_better_as_rarely_as_the_level(weights: tuple[float, ...]) -> None:
    rng = np.random.default_rng(11)
    runs = 400
    looks = plan_looks(40, LEVEL)
    better = 0
    for _ in range(runs):
        gains = rng.choice(weights, size=40) * rng.choice([-1.0, 1.0], size=40)
        for place, look in enumerate(looks):
            first = gains[: look.labels]
            if first.sum() <= 1.4 * math.sqrt((first**2).sum()):
                continue
            level = level_of_look(LabelGains(by_unit=first, largest=max(weights)), looks[: place + 1])
            if weigh(first.tolist(), max(weights), (0.2, 0.15, 0.25), level).verdict == "better":
                better += 1
                break
    assert better <= (LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / runs)) * runs


def size_where_units_count_alike(looks: Sequence[LabelLook]) -> float:
    """Return the exact chance that equal prompts are called better at any look."""
    open_plans = np.ones(1)  # by wins: the chance that no look has ended the plan
    ended = 0.0
    labels = 0
    for place, look in enumerate(looks):
        level = level_of_look(gains_of([1.0] * look.labels), looks[: place + 1])
        further = look.labels - labels
        labels = look.labels
        steps = [math.comb(further, wins) / 2**further for wins in range(further + 1)]
        open_plans = np.convolve(open_plans, steps)
        for wins in range(look.labels + 1):
            if alike_test(wins, look.labels - wins) < level:
                ended += open_plans[wins]
                open_plans[wins] = 0.0
    return ended


@pytest.mark.parametrize("labels", [7, 20, 41, 60, 100, 200])
@pytest.mark.parametrize("spending", [(0.8, 0.9, 1.0), (0.125, 0.421875, 1.0)])
def test_the_chance_of_a_false_win_over_all_looks_is_within_the_level(
    labels: int, spending: tuple[float, ...]
) -> None:
    looks = []
    for share, spent in zip((0.5, 0.75, 1.0), spending, strict=True):
        looks.append(LabelLook(labels=math.ceil(share * labels), spent=LEVEL * spent))
    assert size_where_units_count_alike(looks) <= LEVEL + 0.001  # levels are computed from 40,000 flips
