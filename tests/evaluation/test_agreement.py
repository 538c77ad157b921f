"""Agreement of raters: published examples, scikit-learn and krippendorff, laws, groups, refusals."""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from jurist.errors import JuristError
from jurist.evaluation.agreement import Agreement, rater_agreement
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Estimate
from jurist.evaluation.scores import Scores

Ratings = dict[str, list[Any]]
"""Rater -> label of each unit, ``None`` for a missing one."""
LABELS = "abcd"
KIND = ClosedLabels(LABELS)


def ratings_from(*columns: Sequence[Any]) -> Ratings:
    """Return ratings from a column of each rater, "." for a missing label."""
    ratings: Ratings = {}
    for number, column in enumerate(columns):
        ratings[f"r{number}"] = [None if label == "." else label for label in column]
    return ratings


def units_of(ratings: Ratings) -> list[tuple[Any, ...]]:
    """Return the labels of each unit, ``None`` for a missing one."""
    return list(zip(*ratings.values(), strict=True))


def labels_of_units(ratings: Ratings) -> list[list[Any]]:
    """Return the labels of each unit that has two or more."""
    units = []
    for unit in units_of(ratings):
        labels = [label for label in unit if label is not None]
        if len(labels) > 1:
            units.append(labels)
    return units


def drawn_ratings(largest: int = 4, labels: Sequence[Any] = LABELS) -> st.SearchStrategy[Ratings]:
    """Return up to so many raters with two units or more, of which one has two ratings."""
    labels_or_gap = st.sampled_from([None] + list(labels))
    columns = st.tuples(st.integers(2, largest), st.integers(2, 25)).flatmap(
        lambda sizes: st.lists(
            st.lists(labels_or_gap, min_size=sizes[1], max_size=sizes[1]),
            min_size=sizes[0],
            max_size=sizes[0],
        )
    )
    return columns.map(lambda drawn: ratings_from(*drawn)).filter(
        lambda ratings: bool(labels_of_units(ratings))
    )


def pairs_of_labels(ratings: Ratings) -> tuple[list[Any], list[Any]]:
    """Return the first and the second labels of all pairs of ratings of one unit, in both orders."""
    first_labels = []
    second_labels = []
    for labels in labels_of_units(ratings):
        for first, second in itertools.permutations(labels, 2):
            first_labels.append(first)
            second_labels.append(second)
    return first_labels, second_labels


def labels_of_pair(ratings: Ratings, first: str, second: str) -> tuple[list[Any], list[Any]]:
    """Return the labels of two raters for the units that both labelled."""
    first_labels = []
    second_labels = []
    for first_label, second_label in zip(ratings[first], ratings[second], strict=True):
        if first_label is not None and second_label is not None:
            first_labels.append(first_label)
            second_labels.append(second_label)
    return first_labels, second_labels


def values(agreement: Agreement) -> list[float]:
    """Return every coefficient; -9 stands for one that is undefined."""
    estimates = [agreement.raw, agreement.alpha]
    for row in agreement.table:
        estimates.append(row.specific)
        estimates.append(row.alpha)
    return [-9.0 if estimate is None else estimate.value for estimate in estimates]


def test_example_a_of_krippendorff_2011() -> None:
    agreement = rater_agreement(ratings_from("0100000010", "1110010000"))
    assert agreement.alpha is not None
    assert agreement.alpha.value == pytest.approx(0.095, abs=5e-4)


def test_example_c_of_krippendorff_2011() -> None:
    """Four observers, twelve units."""
    ratings = ratings_from("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    agreement = rater_agreement(ratings)
    assert agreement.alpha is not None
    assert agreement.alpha.value == pytest.approx(0.743, abs=5e-4)
    assert (agreement.units, agreement.skipped) == (11, 1)


def test_table_1_of_cohen_1968() -> None:
    """200 cases by two raters."""
    cells = {"xx": 88, "xy": 14, "xz": 18, "yx": 10, "yy": 40, "yz": 10, "zx": 2, "zy": 6, "zz": 12}
    first = "".join(cell[0] * count for cell, count in cells.items())
    second = "".join(cell[1] * count for cell, count in cells.items())
    (pair,) = rater_agreement(ratings_from(first, second)).pairs
    assert (pair.units, pair.raw.value) == (200, pytest.approx(0.70))
    assert pair.kappa is not None
    assert pair.kappa.value == pytest.approx(0.492, abs=5e-4)


@settings(max_examples=50)
@given(ratings=drawn_ratings(5))
def test_pairs_have_the_coefficients_of_scikit_learn(ratings: Ratings) -> None:
    pairs = rater_agreement(ratings, KIND).pairs
    pairs_with_units = []
    for first, second in itertools.combinations(ratings, 2):
        if labels_of_pair(ratings, first, second)[0]:
            pairs_with_units.append((first, second))
    assert [(pair.first, pair.second) for pair in pairs] == pairs_with_units
    for pair in pairs:
        first_labels, second_labels = labels_of_pair(ratings, pair.first, pair.second)
        assert pair.units == len(first_labels)
        assert pair.raw.value == pytest.approx(sk.accuracy_score(first_labels, second_labels))
        if len(set(first_labels + second_labels)) > 1:
            assert pair.kappa is not None
            expected = sk.cohen_kappa_score(first_labels, second_labels)
            assert pair.kappa.value == pytest.approx(expected, abs=1e-9)
        else:
            assert pair.kappa is None


@pytest.mark.parametrize(
    ("columns", "labels", "expected"),
    [
        # Gwet's four raters with gaps (cac.raw4raters of the package irrCAC); one unit has a single rating
        (("123321412...", "1233224125..", ".33323422513", "12332441251."), "12345", 0.775),
        # Both never give b: chance agreement is 0, and alpha is undefined.
        (("aaaa", "aaaa"), "ab", 1.0),
        # 90 units both a, 10 only one: pa .9, and a has .95 of the ratings, so chance is .095.
        (("a" * 100, "a" * 90 + "b" * 10), "ab", (0.9 - 0.095) / (1 - 0.095)),
        # Two raters who never agree on two labels, each given as often
        (("abab", "baba"), "ab", -1.0),
    ],
)
def test_ac1_of_published_and_of_computed_examples(
    columns: Sequence[str], labels: str, expected: float
) -> None:
    agreement = rater_agreement(ratings_from(*columns), ClosedLabels(labels))
    assert agreement.ac1 is not None
    assert agreement.ac1.value == pytest.approx(expected, abs=5e-4)
    assert agreement.ac1.interval.low <= agreement.ac1.value <= agreement.ac1.interval.high


def test_ac1_is_of_two_labels_or_more_and_not_of_scores() -> None:
    assert rater_agreement(ratings_from("aa", "aa")).ac1 is None
    assert rater_agreement(ratings_from([1, 2], [1, 3]), Scores(1, 5, whole=True)).ac1 is None


def nominal_alpha(counts: np.ndarray) -> float | None:
    """Return alpha by the package krippendorff, ``None`` where only one label was given."""
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


@settings(max_examples=100)
@given(ratings=drawn_ratings(5))
def test_coefficients_are_those_of_scikit_learn_and_krippendorff(ratings: Ratings) -> None:
    agreement = rater_agreement(ratings, KIND)
    counts = np.array([[labels.count(label) for label in LABELS] for labels in labels_of_units(ratings)])
    first_labels, second_labels = pairs_of_labels(ratings)
    assert agreement.raw.value == pytest.approx(sk.accuracy_score(first_labels, second_labels))
    alpha = nominal_alpha(counts)
    if alpha is None:
        assert agreement.alpha is None
    else:
        assert agreement.alpha is not None
        assert agreement.alpha.value == pytest.approx(alpha, abs=1e-9)
    specific = sk.f1_score(first_labels, second_labels, labels=list(LABELS), average=None, zero_division=0.0)
    for code, row in enumerate(agreement.table):
        times_given = counts[:, code]
        if times_given.any():
            assert row.specific is not None
            assert row.specific.value == pytest.approx(specific[code])
        else:
            assert row.specific is None
        alpha = nominal_alpha(np.stack([times_given, counts.sum(axis=1) - times_given], axis=1))
        if alpha is None:
            assert row.alpha is None
        else:
            assert row.alpha is not None
            assert row.alpha.value == pytest.approx(alpha, abs=1e-9)


@settings(max_examples=50)
@given(ratings=drawn_ratings(5))
def test_the_labels_of_each_rater_are_counted(ratings: Ratings) -> None:
    table = rater_agreement(ratings, KIND).table
    for row in table:
        expected = dict.fromkeys(ratings, 0)
        for unit in units_of(ratings):
            if len(unit) - unit.count(None) > 1:
                for rater, label in zip(ratings, unit, strict=True):
                    expected[rater] += label == row.label
        assert row.given == expected


@settings(max_examples=50)
@given(ratings=drawn_ratings(5))
def test_intervals_stay_within_what_coefficients_can_be(ratings: Ratings) -> None:
    agreement = rater_agreement(ratings, KIND)
    shares = [agreement.raw]
    beyond_chance = [agreement.alpha]
    for row in agreement.table:
        shares.append(row.specific)
        beyond_chance.append(row.alpha)
    for pair in agreement.pairs:
        shares.append(pair.raw)
        beyond_chance.append(pair.kappa)
    for lowest, estimates in ((0.0, shares), (-1.0, beyond_chance)):
        for estimate in estimates:
            if estimate is not None:
                ends = estimate.interval
                assert lowest - 1e-9 <= ends.low <= ends.high <= 1.0 + 1e-9


@settings(max_examples=60)
@given(ratings=drawn_ratings(labels=(1, 2, 3, 4, 5)))
def test_alpha_of_scores_is_the_interval_alpha_and_raw_the_mean_similarity(ratings: Ratings) -> None:
    first_scores, second_scores = pairs_of_labels(ratings)
    assume(len(set(first_scores)) > 1)
    agreement = rater_agreement(ratings, Scores(1, 5, whole=True))
    expected = interval_alpha(ratings)
    for alpha in (agreement.alpha, agreement.interval_alpha):
        assert alpha is not None
        assert alpha.value == pytest.approx(expected, abs=1e-9)
    assert agreement.raw.value == pytest.approx(mean_similarity(first_scores, second_scores))
    assert agreement.table == ()
    for pair in agreement.pairs:
        first_scores, second_scores = labels_of_pair(ratings, pair.first, pair.second)
        assert (pair.units, pair.kappa) == (len(first_scores), None)
        assert pair.raw.value == pytest.approx(mean_similarity(first_scores, second_scores))


def interval_alpha(ratings: Ratings) -> float:
    """Return the interval alpha of numbers by the package krippendorff."""
    matrix = np.array(list(ratings.values()), dtype=np.float64)  # a missing score is NaN
    return float(krippendorff.alpha(matrix, level_of_measurement="interval"))


@pytest.mark.parametrize(
    ("comparison", "write"),
    [(Scores(1, 5, whole=True), int), (ClosedLabels("12345"), str)],
    ids=["scores", "labels"],
)
@settings(max_examples=60)
@given(ratings=drawn_ratings(labels=(1, 2, 3, 4, 5)))
def test_numbers_have_the_weighted_kappas_of_scikit_learn_and_the_interval_alpha(
    comparison: Scores | ClosedLabels, write: Callable[[int], int | str], ratings: Ratings
) -> None:
    first_scores, second_scores = pairs_of_labels(ratings)
    assume(len(set(first_scores + second_scores)) > 1)
    written: dict[str, list[int | str | None]] = {}
    for rater, scores in ratings.items():
        written[rater] = [None if score is None else write(score) for score in scores]
    agreement = rater_agreement(written, comparison)
    assert agreement.interval_alpha is not None
    assert agreement.interval_alpha.value == pytest.approx(interval_alpha(ratings), abs=1e-9)
    for pair in agreement.pairs:
        first_scores, second_scores = labels_of_pair(ratings, pair.first, pair.second)
        kappas = {"quadratic": pair.quadratic_kappa, "linear": pair.linear_kappa}
        for weights, kappa in kappas.items():
            if len(set(first_scores + second_scores)) < 2:
                assert kappa is None
                continue
            expected = sk.cohen_kappa_score(
                first_scores, second_scores, labels=[1, 2, 3, 4, 5], weights=weights
            )
            assert kappa is not None
            assert kappa.value == pytest.approx(expected, abs=1e-9)
            assert -1.0 <= kappa.interval.low <= kappa.interval.high <= 1.0


@pytest.mark.parametrize("labels", ["ab1", "12"])
def test_labels_that_are_no_numbers_or_only_two_have_no_weighted_kappa(labels: str) -> None:
    agreement = rater_agreement(ratings_from(labels * 2, labels[::-1] * 2), ClosedLabels(labels))
    assert (agreement.has_numbers, agreement.interval_alpha) == (False, None)
    assert [(pair.quadratic_kappa, pair.linear_kappa) for pair in agreement.pairs] == [(None, None)]


def mean_similarity(first: list[int], second: list[int]) -> float:
    """Return the mean similarity of two scores from 1 to 5."""
    return float(1 - np.mean(np.abs(np.subtract(first, second))) / 4)


def test_raters_who_never_differ_agree_fully() -> None:
    agreement = rater_agreement(ratings_from("ab", "ab", "ab"))
    assert agreement.raw.value == 1.0
    assert agreement.alpha is not None
    assert agreement.alpha.value == pytest.approx(1.0)
    for pair in agreement.pairs:
        assert pair.raw.value == 1.0
        assert pair.kappa is not None
        assert pair.kappa.value == pytest.approx(1.0)


def test_raters_who_only_give_one_label_show_nothing_beyond_chance() -> None:
    agreement = rater_agreement(ratings_from("aa", "aa", "aa"))
    assert agreement.raw.value == 1.0
    assert agreement.alpha is None
    assert [pair.kappa for pair in agreement.pairs] == [None, None, None]


@settings(max_examples=40)
@given(ratings=drawn_ratings(), seed=st.integers(0, 9), lonely=st.lists(st.sampled_from(LABELS), max_size=5))
def test_order_names_of_labels_and_lonely_ratings_do_not_matter(
    ratings: Ratings, seed: int, lonely: list[str]
) -> None:
    units = units_of(ratings)
    groups = [f"g{place // 2}" for place in range(len(units))]
    agreement = rater_agreement(ratings, KIND, groups=groups)
    order = list(range(len(units)))
    raters = list(ratings)
    shuffler = random.Random(seed)
    shuffler.shuffle(order)
    shuffler.shuffle(raters)
    new_label = {"a": "w", "b": "x", "c": "y", "d": "z", None: None}
    new_ratings: Ratings = {}
    for rater in raters:
        new_ratings[rater] = [new_label[ratings[rater][place]] for place in order]
        if rater == "r0":
            new_ratings[rater] += [new_label[label] for label in lonely]
        else:
            new_ratings[rater] += [None] * len(lonely)
    new_groups = [groups[place] for place in order] + ["lonely"] * len(lonely)
    new_agreement = rater_agreement(new_ratings, ClosedLabels("wxyz"), groups=new_groups)
    assert values(new_agreement) == pytest.approx(values(agreement), abs=1e-12)
    assert new_agreement.units == agreement.units
    assert new_agreement.skipped == agreement.skipped + len(lonely)
    if agreement.alpha and new_agreement.alpha:
        ends = agreement.alpha.interval
        new_ends = new_agreement.alpha.interval
        assert (new_ends.low, new_ends.high) == pytest.approx((ends.low, ends.high), abs=1e-9)


def width(estimate: Estimate) -> float:
    """Return the width of an interval."""
    return estimate.interval.high - estimate.interval.low


HUNDRED_UNITS = ratings_from("ab" * 50, "ab" * 25 + "ba" * 25, "ab" * 50)


def test_groups_are_the_unit_of_resampling() -> None:
    by_unit = rater_agreement(HUNDRED_UNITS)
    by_ten = rater_agreement(HUNDRED_UNITS, groups=[str(place // 10) for place in range(100)])
    assert (by_unit.groups, by_ten.groups) == (100, 10)
    for estimate, estimate_by_ten in (
        (by_unit.alpha, by_ten.alpha),
        (by_unit.pairs[0].kappa, by_ten.pairs[0].kappa),
        (by_unit.raw, by_ten.raw),
    ):
        assert estimate is not None
        assert estimate_by_ten is not None
        assert estimate.value == estimate_by_ten.value
        assert width(estimate_by_ten) > 2 * width(estimate)
        assert (estimate.interval.groups, estimate_by_ten.interval.groups) == (100, 10)


def test_one_group_says_nothing_of_alpha() -> None:
    alpha = rater_agreement(HUNDRED_UNITS, groups=["g"] * 100).alpha
    assert alpha is not None
    assert (alpha.interval.low, alpha.interval.high, alpha.interval.groups) == (-1, 1, 1)


@pytest.mark.parametrize("ratings", [{"r": ["a", None], "s": [None, "b"]}, {"r": [], "s": []}])
def test_units_that_nobody_else_rated_show_no_agreement(ratings: Ratings) -> None:
    with pytest.raises(JuristError, match="units is labelled by two raters"):
        rater_agreement(ratings)
