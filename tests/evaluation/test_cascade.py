"""The level of a cascade: what is claimed of its agreement holds as often as it is said to."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from jurist.evaluation.cascade import chosen, crossed, fewest, least_agreement, steps, trust_in
from jurist.evaluation.trust import SureAnswer

ROWS = st.lists(st.booleans(), min_size=1, max_size=60)


def judged(skills: list[float], rows: int, size: int, random: np.random.Generator) -> tuple[list, list, list]:
    """Judges of two labels that are the surer the righter, on rows in groups that share how hard they are."""
    group = np.arange(rows) // size
    hard = np.exp(random.normal(scale=0.4, size=rows // size + 1)[group] * (size > 1))
    truth, said, right = random.random(rows) < 0.4, list[list[SureAnswer]](), list[list[bool]]()
    for skill in skills:
        sees = np.where(truth, skill, -skill) + random.normal(size=rows) * hard
        share = 1 / (1 + np.exp(-1.5 * np.abs(sees)))
        said.append(
            [("yes" if one > 0 else "no", float(sure)) for one, sure in zip(sees, share, strict=True)]
        )
        right.append(((sees > 0) == truth).tolist())
    return said, right, [str(one) for one in group]


@pytest.mark.parametrize(("skills", "size"), [([0.8, 1.6], 1), ([0.8, 1.6], 5), ([0.9], 1)])
def test_a_level_that_is_chosen_keeps_what_it_says(skills: list[float], size: int) -> None:
    random, runs, broken, shown = np.random.default_rng(7), 20, 0, 0
    later, right, _ = judged(skills, 6000, size, random)
    for _ in range(runs):
        said, good, group = judged(skills, 120, size, random)
        sure = [crossed(*pair, group) for pair in zip(said, good, strict=True)]
        best = chosen(list(steps(sure, good, group, agree=0.85, risk=0.2)), 0.85)
        if best is None:
            continue
        shown += 1
        probable = [
            [trust.of(one) for one in told]
            for told, trust in zip(later, map(trust_in, said, good), strict=True)
        ]
        who = [
            next((n for n, own in enumerate(row) if own >= best.level), None)
            for row in zip(*probable, strict=True)
        ]
        hits = [right[judge][row] for row, judge in enumerate(who) if judge is not None]
        broken += sum(hits) < 0.85 * len(hits)
    assert broken / runs <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / runs)
    assert shown > runs / 2 or skills == [0.9]


@given(right=ROWS, risk=st.sampled_from([0.05, 0.1, 0.3]))
def test_the_bound_of_rows_by_themselves_is_the_exact_one(right: list[bool], risk: float) -> None:
    found = least_agreement(np.array(right), np.arange(len(right)), risk)
    exact = binomtest(sum(right), len(right)).proportion_ci(1 - 2 * risk, "exact").low
    assert found == pytest.approx(float(exact), abs=1e-9)


@given(right=ROWS, copies=st.integers(2, 5))
def test_rows_that_repeat_each_other_show_no_more(right: list[bool], copies: int) -> None:
    groups = np.arange(len(right))
    alone = least_agreement(np.array(right), groups, 0.1)
    several = least_agreement(np.repeat(right, copies), np.repeat(groups, copies), 0.1)
    assert several <= alone + 0.02


def test_the_strictest_level_is_tested_first_and_the_first_that_fails_is_the_last() -> None:
    said, right, groups = judged([0.9, 1.7], 300, 1, np.random.default_rng(1))
    sure = [crossed(*pair, groups) for pair in zip(said, right, strict=True)]
    found = list(steps(sure, right, groups, agree=0.9, risk=0.1))
    assert [one.level for one in found] == sorted((one.level for one in found), reverse=True)
    assert [one.answered for one in found] == sorted(one.answered for one in found)
    assert all(one.bound >= 0.9 for one in found[:-1])
    assert chosen(found, 0.9) == (found[-1] if found[-1].bound >= 0.9 else found[-2])


def test_what_is_told_of_a_row_does_not_come_from_its_group() -> None:
    said, right, groups = judged([1.0], 100, 5, np.random.default_rng(2))
    other = [not good if group == "3" else good for good, group in zip(right[0], groups, strict=True)]
    before, after = (crossed(said[0], one, groups) for one in (right[0], other))
    assert [row for row, group in enumerate(groups) if group == "3" and before[row] != after[row]] == []
    assert before != after


@pytest.mark.parametrize(("agree", "risk", "rows"), [(0.9, 0.1, 22), (0.95, 0.1, 45), (0.9, 0.05, 29)])
def test_so_few_rows_can_show_it_at_all(agree: float, risk: float, rows: int) -> None:
    assert fewest(agree, risk) == rows
    bounds = [
        least_agreement(np.ones(many, dtype=np.bool_), np.arange(many), risk) for many in (rows - 1, rows)
    ]
    assert bounds[0] < agree <= bounds[1]


def test_a_judge_that_is_never_sure_and_one_that_says_nothing() -> None:
    trust = trust_in([("yes", 1.0), ("no", 1.0), None] * 20, [True, False, False] * 20)
    assert trust.of(("yes", 1.0)) > 0.8 > 0.2 > trust.of(("no", 1.0))
    assert trust.of(None) == 0.0
    assert trust_in([None], [False]).of(("yes", 0.9)) == pytest.approx(0.5, abs=0.2)
