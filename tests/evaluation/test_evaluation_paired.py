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
from jurist.evaluation.rows import Row
from jurist.evaluation.scale import resolve
from jurist.evaluation.units import encode


def rows_of(gold: Sequence[str], answers: Sequence[str]) -> list[Row]:
    """One group per string, one unit per character, '-' for a missing answer."""
    pairs = enumerate(zip(gold, answers, strict=True))
    return [row(f"{place:03d}", *pair, group=f"{place:03d}") for place, pair in pairs]


@given(b=st.integers(0, 300), c=st.integers(0, 300))
def test_mcnemar_is_the_binomial_test_and_the_sign_test_its_one_side(b: int, c: int) -> None:
    expected = stats.binomtest(b, b + c, 0.5).pvalue if b + c else 1.0
    assert McNemar.of(b, c).p == pytest.approx(expected, abs=1e-9, rel=1e-6) == McNemar.of(c, b).p
    greater = stats.binomtest(b, b + c, alternative="greater").pvalue if b + c else 1.0
    assert sign_test(b, c) == pytest.approx(greater)
    assert 0.0 < McNemar.of(0, 5000).p < 1e-300


def test_mcnemar_on_rows_counts_missing_as_wrong_and_sides_if_there_are_any() -> None:
    gold = ["ab", "cab"]
    one, two = rows_of(gold, ["a-", "bab"]), rows_of(gold, ["bb", "c-c"])
    exact = mcnemar_of(one, two, ClosedLabels("abc"))
    assert (exact.b, exact.c) == (3, 2)
    sided = mcnemar_of(one, two, ClosedLabels("abc", {"a", "b"}))
    # Unit 1 is right for both (a, b are one side); unit 2 corrected; 3 corrected; 4 and 5 broken.
    assert (sided.b, sided.c) == (2, 2)


def systems(seed: int, *, groups: int, most: int, labels: str = "ab") -> tuple[list[Row], list[Row]]:
    rng = random.Random(seed)

    def text(size: int, marks: str) -> str:
        return "".join(rng.choice(marks) for _ in range(size))

    gold = [text(rng.randint(1, most), labels) for _ in range(groups)]
    said = [[text(len(truth), labels + "-") for truth in gold] for _ in range(2)]
    return rows_of(gold, said[0]), rows_of(gold, said[1])


def enumerated(one: list[Row], two: list[Row], name: str, labels: str) -> tuple[float, float]:
    """The one-sided p-values, better and worse, by swapping rows; the systems must have no gaps."""
    differences = []
    for swap in itertools.product([False, True], repeat=len(one)):
        left = [b if swapped else a for a, b, swapped in zip(one, two, swap, strict=True)]
        right = [a if swapped else b for a, b, swapped in zip(one, two, swap, strict=True)]
        scored = [objective_score(rows, name, ClosedLabels(labels, {"a"})) for rows in (left, right)]
        differences.append(scored[1] - scored[0])
    better = np.mean([value >= differences[0] - 1e-12 for value in differences])
    worse = np.mean([value <= differences[0] + 1e-12 for value in differences])
    return float(better), float(worse)


def without_gaps(rows: list[Row]) -> list[Row]:
    return [
        Row(id=r.id, group=r.group, gold=r.gold, predicted=tuple(x or "b" for x in r.predicted)) for r in rows
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [1, 2])
def test_permutation_equals_enumeration(name: str, seed: int) -> None:
    one, two = (without_gaps(rows) for rows in systems(seed, groups=7, most=4, labels="abc"))
    kind = ClosedLabels("abc", {"a"})
    found, cautious = (permutation(one, two, name, kind, cautious=way) for way in (False, True))
    assert found.exact
    assert (cautious.better >= found.better, cautious.worse >= found.worse) == (True, True)
    assert (found.better, found.worse) == pytest.approx(enumerated(one, two, name, "abc"), abs=1e-12)
    assert found.p == min(1.0, 2.0 * min(found.better, found.worse))


def test_a_rare_class_of_which_little_is_known_does_not_pass_for_sure() -> None:
    """One judge misses more, the other alarms more, both with the same balanced accuracy in the long run."""
    rng, runs, shown = np.random.default_rng(1), 100, {False: 0, True: 0}
    kind = ClosedLabels("ab", {"a"})
    for run in range(runs):
        gold = ["".join("a" if rng.random() < 0.04 else "b" for _ in range(6)) for _ in range(25)]
        rates = {"first": {"a": 0.3, "b": 0.3}, "second": {"a": 0.45, "b": 0.15}}
        said = [
            ["".join(x if rng.random() >= rate[x] else "ab"[x == "a"] for x in text) for text in gold]
            for rate in rates.values()
        ]
        for way in shown:
            pair = [rows_of(gold, one) for one in said]
            found = permutation(*pair, "balanced_accuracy", kind, seed=run, draws=399, cautious=way)
            shown[way] += found.better < 0.025
    assert shown[False] > 0.08 * runs  # what the plain permutation says too often
    assert shown[True] <= 0.025 * runs + 2 * (0.025 * 0.975 * runs) ** 0.5


@pytest.mark.parametrize("others", [5, 12])
def test_where_one_group_holds_most_units_the_others_must_show_it_too(others: int) -> None:
    """A group of 60 units and some of 20 groups of 2 are corrected: 2^-6 with the large one, 2^-5 without."""
    gold = ["ab" * 30, *["ab"] * 20]
    one = [truth[::-1] for truth in gold]
    two = [truth if place <= others else truth[::-1] for place, truth in enumerate(gold)]
    kind = ClosedLabels("ab", {"a"})
    plain, cautious = (
        permutation(rows_of(gold, one), rows_of(gold, two), "f1", kind, cautious=way) for way in (False, True)
    )
    assert plain.better < 0.025
    assert (cautious.better < 0.025) == (others == 12)


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_with_one_unit_per_group_and_accuracy_it_is_exact_mcnemar(seed: int) -> None:
    one, two = systems(seed, groups=12, most=1)
    found = permutation(one, two, "accuracy", ClosedLabels("ab"))
    assert found.p == pytest.approx(mcnemar_of(one, two, ClosedLabels("ab")).p, abs=1e-12)
    assert found.p == permutation(two, one, "accuracy", ClosedLabels("ab")).p
    assert found.difference == -permutation(two, one, "accuracy", ClosedLabels("ab")).difference
    assert permutation(one, one, "f1", ClosedLabels("ab", {"a"})).p == 1.0


def test_swaps_are_enumerated_over_few_groups_that_differ_and_drawn_over_many() -> None:
    gold, kind = ["ab"] * 200, ClosedLabels("ab")
    few = permutation(rows_of(gold, ["ab"] * 195 + ["ba"] * 5), rows_of(gold, gold), "accuracy", kind)
    assert (few.exact, few.groups, few.swaps, few.p) == (True, 5, 32, 2 / 32)
    gold = ["a"] * 40
    one, two = rows_of(gold, ["a"] * 14 + ["b"] * 26), rows_of(gold, ["b"] * 14 + ["a"] * 26)
    many = permutation(one, two, "accuracy", kind, seed=1)
    assert (many.exact, many.groups, many.swaps) == (False, 40, 10_000)
    # The standard error of the estimate is 0.0024 at this p.
    assert many.p == pytest.approx(mcnemar_of(one, two, kind).p, abs=0.012)
    assert many == permutation(one[::-1], two, "accuracy", kind, seed=1)
    assert many.p != permutation(one, two, "accuracy", kind, seed=2).p
    sure = permutation(rows_of(gold, ["b"] * 40), rows_of(gold, gold), "accuracy", kind, draws=99)
    assert sure.better == pytest.approx(1 / 100)  # a drawn p-value is never zero


@pytest.mark.parametrize(
    ("groups", "said"),
    [(1, "nothing can be shown"), (5, "takes 6 groups"), (14, "about 12 of them"), (20, "^$"), (5000, "^$")],
)
def test_what_so_many_groups_cannot_show_is_said(groups: int, said: str) -> None:
    assert re.search(said, limits(groups, 0.025))


@given(st.dictionaries(st.text("xyz", max_size=3), st.floats(0, 1), max_size=5))
def test_holm_equals_closed_testing(p_values: dict[str, float]) -> None:
    found = holm(p_values)
    assert list(found) == list(p_values)
    for name in p_values:
        # The largest Bonferroni p over all families of hypotheses that include this one.
        others = [other for other in p_values if other != name]
        families = [
            [name, *some] for size in range(len(others) + 1) for some in itertools.combinations(others, size)
        ]
        expected = max(min(1.0, len(some) * min(p_values[key] for key in some)) for some in families)
        assert found[name] == pytest.approx(expected, abs=1e-12)
        assert p_values[name] <= found[name] <= 1.0


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
