"""McNemar and the permutation test against scipy and enumeration; Holm against closed testing."""

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, mcnemar_of, permutation, row
from scipy import stats

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import objective_score
from jurist.evaluation.paired import McNemar, compare_pair, holm, limits, sign_test
from jurist.evaluation.permutation import permute
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import resolve
from jurist.evaluation.units import encode


def rows_of(gold: Sequence[str], answers: Sequence[str]) -> list[JudgedRow]:
    """One group per string, one unit per character, '-' for a missing answer."""
    rows = []
    for place, (gold_marks, answer_marks) in enumerate(zip(gold, answers, strict=True)):
        name = f"{place:03d}"
        rows.append(row(name, gold_marks, answer_marks, group=name))
    return rows


@given(b=st.integers(0, 300), c=st.integers(0, 300))
def test_mcnemar_is_the_binomial_test_and_the_sign_test_its_one_side(b: int, c: int) -> None:
    two_sided = greater = 1.0
    if b + c:
        two_sided = stats.binomtest(b, b + c, 0.5).pvalue
        greater = stats.binomtest(b, b + c, alternative="greater").pvalue
    assert McNemar.of(b, c).p == pytest.approx(two_sided, abs=1e-9, rel=1e-6) == McNemar.of(c, b).p
    assert sign_test(b, c) == pytest.approx(greater)


def test_mcnemar_is_never_zero() -> None:
    assert 0.0 < McNemar.of(0, 5000).p < 1e-300


def test_mcnemar_on_rows_counts_missing_as_wrong_and_sides_if_there_are_any() -> None:
    gold = ["ab", "cab"]
    first = rows_of(gold, ["a-", "bab"])
    second = rows_of(gold, ["bb", "c-c"])
    exact = mcnemar_of(first, second, ClosedLabels("abc"))
    assert (exact.b, exact.c) == (3, 2)
    sided = mcnemar_of(first, second, ClosedLabels("abc", {"a", "b"}))
    # Unit 1 is right for both (a, b are one side); unit 2 corrected; 3 corrected; 4 and 5 broken.
    assert (sided.b, sided.c) == (2, 2)


def systems(
    seed: int, *, groups: int, largest: int, labels: str = "ab"
) -> tuple[list[JudgedRow], list[JudgedRow]]:
    """Return the random answers of two systems, with gaps, to groups of up to so many units."""
    rng = random.Random(seed)

    def text(size: int, marks: str) -> str:
        return "".join(rng.choice(marks) for _ in range(size))

    gold = [text(rng.randint(1, largest), labels) for _ in range(groups)]
    first = [text(len(marks), labels + "-") for marks in gold]
    second = [text(len(marks), labels + "-") for marks in gold]
    return rows_of(gold, first), rows_of(gold, second)


def enumerated(
    first: list[JudgedRow], second: list[JudgedRow], name: str, kind: ClosedLabels
) -> tuple[float, float]:
    """Return the one-sided p, better and worse, by swapping rows; the systems must have no gaps."""
    differences = []
    for swap in itertools.product([False, True], repeat=len(first)):
        swapped_first = []
        swapped_second = []
        for first_row, second_row, is_swapped in zip(first, second, swap, strict=True):
            if is_swapped:
                first_row, second_row = second_row, first_row
            swapped_first.append(first_row)
            swapped_second.append(second_row)
        score = objective_score(swapped_first, name, kind)
        differences.append(objective_score(swapped_second, name, kind) - score)
    observed = differences[0]
    better = np.mean(np.array(differences) >= observed - 1e-12)
    worse = np.mean(np.array(differences) <= observed + 1e-12)
    return float(better), float(worse)


def without_gaps(rows: list[JudgedRow]) -> list[JudgedRow]:
    """Return rows with "b" in the place of each missing answer."""
    filled = []
    for row_with_gaps in rows:
        answers = tuple(answer or "b" for answer in row_with_gaps.predicted)
        filled.append(replace(row_with_gaps, predicted=answers))
    return filled


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_permutation_equals_enumeration(name: str, seed: int) -> None:
    first, second = map(without_gaps, systems(seed, groups=7, largest=4, labels="abc"))
    kind = ClosedLabels("abc", {"a"})
    plain = permutation(first, second, name, kind)
    cautious = permutation(first, second, name, kind, cautious=True)
    assert plain.exact
    assert cautious.better >= plain.better
    assert cautious.worse >= plain.worse
    assert (plain.better, plain.worse) == pytest.approx(enumerated(first, second, name, kind), abs=1e-12)
    assert plain.p == min(1.0, 2.0 * min(plain.better, plain.worse))


SIDED = ClosedLabels("ab", {"a"})


def test_a_rare_class_of_which_little_is_known_does_not_pass_for_sure() -> None:
    """One judge misses more, the other alarms more, both with the same balanced accuracy in the long run."""
    rng = np.random.default_rng(1)

    def judge(gold: list[str], error_rates: dict[str, float]) -> list[JudgedRow]:
        answers = []
        for marks in gold:
            group_answers = ""
            for label in marks:
                is_right = rng.random() >= error_rates[label]
                group_answers += label if is_right else "ab".replace(label, "")
            answers.append(group_answers)
        return rows_of(gold, answers)

    runs = 100
    shown = shown_cautiously = 0
    for run in range(runs):
        gold = ["".join("a" if rng.random() < 0.04 else "b" for _ in range(6)) for _ in range(25)]
        first = judge(gold, {"a": 0.3, "b": 0.3})
        second = judge(gold, {"a": 0.45, "b": 0.15})
        plain = permutation(first, second, "balanced_accuracy", SIDED, seed=run, draws=399)
        cautious = permutation(first, second, "balanced_accuracy", SIDED, seed=run, draws=399, cautious=True)
        shown += plain.better < 0.025
        shown_cautiously += cautious.better < 0.025
    assert shown > 0.08 * runs  # what the plain permutation says too often
    assert shown_cautiously <= 0.025 * runs + 2 * (0.025 * 0.975 * runs) ** 0.5


@pytest.mark.parametrize(("corrected", "is_shown"), [(5, False), (12, True)])
def test_where_one_group_holds_most_units_the_others_must_show_it_too(corrected: int, is_shown: bool) -> None:
    """A group of 60 units and some of 20 groups of 2 are corrected: 2^-6 with the large one, 2^-5 without."""
    gold = ["ab" * 30] + ["ab"] * 20
    first = rows_of(gold, ["ba" * 30] + ["ba"] * 20)
    second = rows_of(gold, ["ab" * 30] + ["ab"] * corrected + ["ba"] * (20 - corrected))
    assert permutation(first, second, "f1", SIDED).better < 0.025
    assert (permutation(first, second, "f1", SIDED, cautious=True).better < 0.025) == is_shown


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_with_one_unit_per_group_and_accuracy_it_is_exact_mcnemar(seed: int) -> None:
    first, second = systems(seed, groups=12, largest=1)
    kind = ClosedLabels("ab")
    test = permutation(first, second, "accuracy", kind)
    turned = permutation(second, first, "accuracy", kind)
    assert test.p == pytest.approx(mcnemar_of(first, second, kind).p, abs=1e-12)
    assert test.p == turned.p
    assert test.difference == -turned.difference
    assert permutation(first, first, "f1", SIDED).p == 1.0


def test_swaps_are_enumerated_over_few_groups_that_differ() -> None:
    gold = ["ab"] * 200
    first = rows_of(gold, ["ab"] * 195 + ["ba"] * 5)
    test = permutation(first, rows_of(gold, gold), "accuracy", ClosedLabels("ab"))
    assert (test.exact, test.groups, test.swaps, test.p) == (True, 5, 32, 2 / 32)


def test_swaps_are_drawn_over_many_groups() -> None:
    kind = ClosedLabels("ab")
    gold = ["a"] * 40
    first = rows_of(gold, ["a"] * 14 + ["b"] * 26)
    second = rows_of(gold, ["b"] * 14 + ["a"] * 26)
    test = permutation(first, second, "accuracy", kind, seed=1)
    assert (test.exact, test.groups, test.swaps) == (False, 40, 10_000)
    # The standard error of the estimate is 0.0024 at this p.
    assert test.p == pytest.approx(mcnemar_of(first, second, kind).p, abs=0.012)
    assert test == permutation(first[::-1], second, "accuracy", kind, seed=1)
    assert test.p != permutation(first, second, "accuracy", kind, seed=2).p
    all_wrong = rows_of(gold, ["b"] * 40)
    sure = permutation(all_wrong, rows_of(gold, gold), "accuracy", kind, draws=99)
    assert sure.better == pytest.approx(1 / 100)  # a drawn p-value is never zero


@pytest.mark.parametrize(
    ("groups", "words"),
    [(1, "nothing can be shown"), (5, "takes 6 groups"), (14, "about 12 of them"), (20, "^$"), (5000, "^$")],
)
def test_what_so_many_groups_cannot_show_is_said(groups: int, words: str) -> None:
    assert re.search(words, limits(groups, 0.025))


def closed_testing(name: str, p_values: dict[str, float]) -> float:
    """Return the largest Bonferroni p over all families of hypotheses that include this one."""
    other_names = [other_name for other_name in p_values if other_name != name]
    largest = 0.0
    for size in range(len(p_values)):
        for names in itertools.combinations(other_names, size):
            family = [p_values[name]] + [p_values[other_name] for other_name in names]
            largest = max(largest, min(1.0, len(family) * min(family)))
    return largest


@given(st.dictionaries(st.text("xyz", max_size=3), st.floats(0, 1), max_size=5))
def test_holm_equals_closed_testing(p_values: dict[str, float]) -> None:
    adjusted = holm(p_values)
    assert list(adjusted) == list(p_values)
    for name in p_values:
        assert adjusted[name] == pytest.approx(closed_testing(name, p_values), abs=1e-12)
        assert p_values[name] <= adjusted[name] <= 1.0


@pytest.mark.parametrize(
    ("corrected", "broken", "direction"),
    [
        (5, 0, None),  # 1 of 2^5 swaps reaches it: p = .031
        (6, 0, "better"),  # 1 of 2^6: p = .016
        (0, 5, None),
        (0, 6, "worse"),
        (8, 1, "better"),  # 10 of 2^9: p = .0195
        (7, 1, None),  # 9 of 2^8: p = .035
    ],
)
def test_a_difference_is_shown_below_the_one_sided_level(
    corrected: int, broken: int, direction: str | None
) -> None:
    same = 60
    gold = ["a"] * (corrected + broken + same) + ["b"] * same
    before = ["b"] * corrected + ["a"] * (broken + same) + ["b"] * same
    after = ["a"] * corrected + ["b"] * broken + ["a"] * same + ["b"] * same
    scale = ClosedLabels("ab", {"a"})
    units = encode(scale, rows_of(gold, before), rows_of(gold, after))
    accuracy = resolve("accuracy", scale)
    plain = permute(units, accuracy, seed=0, cautious=False)
    paired = replace(compare_pair(units, accuracy, seed=0, tested=0.025), test=plain)
    assert paired.direction == direction
