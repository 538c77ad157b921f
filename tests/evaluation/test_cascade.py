"""The level of a cascade: what is claimed of its agreement holds as often as it is said to."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from jurist.evaluation.cascade import (
    Step,
    choose_step,
    cross_fit,
    fewest_rows_needed,
    fit_trust,
    least_agreement,
    try_levels,
)
from jurist.evaluation.trust import SureAnswer

ROWS = st.lists(st.booleans(), min_size=1, max_size=60)


@dataclass(frozen=True)
class Answers:
    """The answers of judges to some rows, and whether they are right."""

    answers: list[list[SureAnswer]]  # of each judge
    right: list[list[bool]]
    groups: list[str]

    def agreement_probabilities(self) -> list[list[float]]:
        """Return how probable it is that each judge is right on each row, by rows of other groups."""
        probabilities = []
        for answers, right in zip(self.answers, self.right, strict=True):
            probabilities.append(cross_fit(answers, right, self.groups))
        return probabilities

    def tested(self, *, agree: float, risk: float) -> list[Step]:
        """Return the levels that are tested."""
        return list(
            try_levels(self.agreement_probabilities(), self.right, self.groups, agree=agree, risk=risk)
        )


def judged(skills: list[float], rows: int, size: int, random: np.random.Generator) -> Answers:
    """Return the answers of judges of two labels that are the surer the righter; rows of a group are as hard."""
    group = np.arange(rows) // size
    hardness = np.exp(random.normal(scale=0.4, size=rows // size + 1)[group] * (size > 1))
    is_yes = random.random(rows) < 0.4
    answers: list[list[SureAnswer]] = []
    right: list[list[bool]] = []
    for skill in skills:
        evidence = np.where(is_yes, skill, -skill) + random.normal(size=rows) * hardness
        shares = 1 / (1 + np.exp(-1.5 * np.abs(evidence)))
        judge_answers: list[SureAnswer] = []
        for answers_yes, share in zip((evidence > 0).tolist(), shares.tolist(), strict=True):
            judge_answers.append(("yes" if answers_yes else "no", share))
        answers.append(judge_answers)
        right.append(((evidence > 0) == is_yes).tolist())
    return Answers(answers, right, group.astype(str).tolist())


@pytest.mark.parametrize(("skills", "size"), [([0.8, 1.6], 1), ([0.8, 1.6], 5), ([0.9], 1)])
def test_a_level_that_is_chosen_keeps_what_it_says(skills: list[float], size: int) -> None:
    random = np.random.default_rng(7)
    runs, count = 20, 2000
    new_rows = judged(skills, count, size, random)
    broken = shown = 0
    for _ in range(runs):
        gold = judged(skills, 120, size, random)
        step = choose_step(gold.tested(agree=0.85, risk=0.2), 0.85)
        if step is None:
            continue
        shown += 1
        hits = answered = 0
        unanswered = set(range(count))
        for judge in range(len(skills)):
            trust = fit_trust(gold.answers[judge], gold.right[judge])
            for row in sorted(unanswered):
                if trust.of(new_rows.answers[judge][row]) >= step.level:
                    unanswered.remove(row)
                    answered += 1
                    hits += new_rows.right[judge][row]
        broken += hits < 0.85 * answered
    assert broken / runs <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / runs)
    assert shown > runs / 2 or skills == [0.9]


@given(right=ROWS, risk=st.sampled_from([0.05, 0.1, 0.3]))
def test_the_bound_of_rows_by_themselves_is_the_exact_one(right: list[bool], risk: float) -> None:
    bound = least_agreement(np.array(right), np.arange(len(right)), risk)
    exact = binomtest(sum(right), len(right)).proportion_ci(1 - 2 * risk, "exact").low
    assert bound == pytest.approx(float(exact), abs=1e-9)


@given(right=ROWS, copies=st.integers(2, 5))
def test_rows_that_repeat_each_other_show_no_more(right: list[bool], copies: int) -> None:
    groups = np.arange(len(right))
    bound = least_agreement(np.array(right), groups, 0.1)
    bound_of_copies = least_agreement(np.repeat(right, copies), np.repeat(groups, copies), 0.1)
    assert bound_of_copies <= bound + 0.02


def test_the_strictest_level_is_tested_first_and_the_first_that_fails_is_the_last() -> None:
    tested = judged([0.9, 1.7], 300, 1, np.random.default_rng(1)).tested(agree=0.9, risk=0.1)
    levels = [step.level for step in tested]
    answered = [step.answered for step in tested]
    assert levels == sorted(levels, reverse=True)
    assert answered == sorted(answered)
    assert all(step.bound >= 0.9 for step in tested[:-1])
    assert choose_step(tested, 0.9) == (tested[-1] if tested[-1].bound >= 0.9 else tested[-2])


def test_what_is_told_of_a_row_does_not_come_from_its_group() -> None:
    gold = judged([1.0], 100, 5, np.random.default_rng(2))
    (answers,) = gold.answers
    (right,) = gold.right
    turned = []
    for is_right, group in zip(right, gold.groups, strict=True):
        turned.append(not is_right if group == "3" else is_right)
    probabilities = cross_fit(answers, right, gold.groups)
    probabilities_if_turned = cross_fit(answers, turned, gold.groups)
    of_group = np.array(gold.groups) == "3"
    assert np.array_equal(np.array(probabilities)[of_group], np.array(probabilities_if_turned)[of_group])
    assert probabilities != probabilities_if_turned


@pytest.mark.parametrize(("agree", "risk", "rows"), [(0.9, 0.1, 22), (0.95, 0.1, 45), (0.9, 0.05, 29)])
def test_so_few_rows_can_show_it_at_all(agree: float, risk: float, rows: int) -> None:
    assert fewest_rows_needed(agree, risk) == rows
    all_right = np.ones(rows, dtype=np.bool_)
    assert least_agreement(all_right[1:], np.arange(rows - 1), risk) < agree
    assert least_agreement(all_right, np.arange(rows), risk) >= agree


def test_a_judge_that_is_never_sure_and_one_that_says_nothing() -> None:
    trust = fit_trust([("yes", 1.0), ("no", 1.0), None] * 20, [True, False, False] * 20)
    assert trust.of(("yes", 1.0)) > 0.8 > 0.2 > trust.of(("no", 1.0))
    assert trust.of(None) == 0.0
    assert fit_trust([None], [False]).of(("yes", 0.9)) == pytest.approx(0.5, abs=0.2)
