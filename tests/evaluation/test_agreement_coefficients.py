"""Kappa and alpha against published worked examples and against sklearn, statsmodels and krippendorff."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk
from statsmodels.stats import inter_rater

from jurist.evaluation.agreement import rater_agreement
from jurist.evaluation.chance import (
    coincidences,
    krippendorff_distance,
    krippendorff_nominal,
    krippendorff_ordinal,
    value_table,
)
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import summed
from jurist.evaluation.raters import encode_ratings
from jurist.evaluation.scores import Scores

Given = dict[str, list[str | None]]

LABELS = "abcd"

# Fleiss 1971, Table 1: how many of six psychiatrists gave each of 30 patients each diagnosis
# (depression, personality disorder, schizophrenia, neurosis, other).
PSYCHIATRY = (
    "00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 "
    "00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006"
)

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = {"A": "123321412...", "B": "1233224125.3", "C": ".3332342251.", "D": "12332441251."}


def table_raters(table: str) -> Given:
    """Raters who gave the labels that a table of counts says; which of them gave which is free."""
    units = [[str(label) for label, n in enumerate(row) for _ in range(int(n))] for row in table.split()]
    return {f"rater {place}": list(given) for place, given in enumerate(zip(*units, strict=True))}


def observers() -> Given:
    return {name: [None if value == "." else value for value in text] for name, text in OBSERVERS.items()}


def ratings(raters: int, *, gaps: bool, labels: Sequence[Any] = LABELS) -> st.SearchStrategy[Given]:
    label: st.SearchStrategy[str | None] = st.sampled_from(labels)
    if gaps:
        label = st.none() | label
    unit = st.tuples(*[label] * raters)
    return st.lists(unit, min_size=2, max_size=25).map(
        lambda units: {f"r{place}": [unit[place] for unit in units] for place in range(raters)}
    )


def test_the_example_of_fleiss() -> None:
    found = rater_agreement(table_raters(PSYCHIATRY), comparison=ClosedLabels("01234"))
    assert (found.fleiss.ratings, found.fleiss.units, found.fleiss.left_out) == (6, 30, 0)
    assert found.fleiss.kappa.value == pytest.approx(0.430, abs=5e-4)
    by_label = [one.fleiss.value for one in found.table]
    assert by_label == pytest.approx([0.245, 0.245, 0.520, 0.471, 0.566], abs=5e-4)
    # the paper's totals of each diagnosis
    assert [sum(one.given.values()) for one in found.table] == [26, 26, 30, 55, 43]


def test_the_example_of_krippendorff() -> None:
    found = rater_agreement(observers(), comparison=ClosedLabels("12345"), ordered=True)
    assert found.alpha.value == pytest.approx(0.743, abs=5e-4)
    assert found.ordinal is not None
    assert found.ordinal.value == pytest.approx(0.815, abs=5e-4)
    # unit 12 has one value only and cannot be paired
    assert (found.units, found.skipped) == (11, 1)
    assert (found.fleiss.ratings, found.fleiss.units, found.fleiss.left_out) == (4, 8, 3)


def test_the_binary_example_of_krippendorff() -> None:
    # the same paper, example A: two observers, ten units, no missing data
    found = rater_agreement({"Meg": list("0100000010"), "Owen": list("1110010000")})
    assert found.alpha.value == pytest.approx(0.095, abs=5e-4)


def test_the_example_of_cohen() -> None:
    # Cohen 1968, Table 1: 200 cases by two raters; unweighted kappa
    cells = {"xx": 88, "xy": 14, "xz": 18, "yx": 10, "yy": 40, "yz": 10, "zx": 2, "zy": 6, "zz": 12}
    pairs = [pair for pair, count in cells.items() for _ in range(count)]
    found = rater_agreement({"A": [pair[0] for pair in pairs], "B": [pair[1] for pair in pairs]})
    (pair,) = found.pairs
    assert (pair.units, pair.raw.value) == (200, pytest.approx(0.70))
    assert pair.kappa.value == pytest.approx(0.492, abs=5e-4)


@settings(max_examples=60)
@given(data=ratings(3, gaps=True))
def test_each_pair_equals_scikit_learn_on_the_units_both_labelled(data: Given) -> None:
    assume(encodable(data))
    found = rater_agreement(data, comparison=ClosedLabels(LABELS))
    for pair in found.pairs:
        both = [
            (one, two)
            for one, two in zip(data[pair.first], data[pair.second], strict=True)
            if one is not None and two is not None
        ]
        left, right = [one for one, _ in both], [two for _, two in both]
        assert pair.units == len(both)
        assert pair.raw.value == pytest.approx(sk.accuracy_score(left, right), abs=1e-9)
        if len({*left, *right}) > 1:
            assert pair.kappa.value == pytest.approx(sk.cohen_kappa_score(left, right), abs=1e-9)
        for label, kappa in pair.by_label.items():
            one, two = [x == label for x in left], [x == label for x in right]
            if len({*one, *two}) > 1:
                assert kappa.value == pytest.approx(sk.cohen_kappa_score(one, two), abs=1e-9)


@settings(max_examples=60)
@given(data=st.integers(2, 5).flatmap(lambda raters: ratings(raters, gaps=False)))
def test_fleiss_equals_statsmodels(data: Given) -> None:
    found = rater_agreement(data, comparison=ClosedLabels(LABELS))
    counts = encode_ratings(data, comparison=ClosedLabels(LABELS)).counts
    assume(len(used := counts.sum(axis=0).nonzero()[0]) > 1)
    assert found.fleiss.kappa.value == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-9)
    for code in used:
        against_rest = np.stack([counts[:, code], len(data) - counts[:, code]], axis=1)
        wanted = inter_rater.fleiss_kappa(against_rest)
        assert found.table[code].fleiss.value == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=60)
@given(data=ratings(4, gaps=True))
def test_fleiss_is_over_the_commonest_number_of_ratings(data: Given) -> None:
    assume(encodable(data))
    found = rater_agreement(data, comparison=ClosedLabels(LABELS)).fleiss
    counts = encode_ratings(data, comparison=ClosedLabels(LABELS)).counts
    sizes = Counter(size for size in counts.sum(axis=1).tolist() if size >= 2)
    assert found.units == sizes[found.ratings] == max(sizes.values())
    assert found.units + found.left_out == sizes.total()
    chosen = counts[counts.sum(axis=1) == found.ratings]
    if (chosen.sum(axis=0) > 0).sum() > 1:
        assert found.kappa.value == pytest.approx(inter_rater.fleiss_kappa(chosen), abs=1e-9)


@settings(max_examples=80)
@given(data=st.integers(2, 5).flatmap(lambda raters: ratings(raters, gaps=True)))
def test_alpha_equals_the_package_krippendorff(data: Given) -> None:
    assume(encodable(data))
    found = rater_agreement(data, comparison=ClosedLabels(LABELS), ordered=True)
    matrix = [[np.nan if x is None else LABELS.index(x) for x in given] for given in data.values()]
    pairable = [unit for unit in zip(*matrix, strict=True) if np.isfinite(unit).sum() > 1]
    values = {x for unit in pairable for x in unit if not np.isnan(x)}
    assume(len(values) > 1)
    domain = list(range(len(LABELS)))
    for mine, level in ((found.alpha, "nominal"), (found.ordinal, "ordinal")):
        wanted = krippendorff.alpha(matrix, value_domain=domain, level_of_measurement=level)
        assert mine is not None
        assert mine.value == pytest.approx(wanted, abs=1e-9)
    for code, row in enumerate(found.table):
        if code in values:
            against_rest = [[x if np.isnan(x) else float(x == code) for x in given] for given in matrix]
            wanted = krippendorff.alpha(against_rest, value_domain=[0, 1], level_of_measurement="nominal")
            assert row.alpha.value == pytest.approx(wanted, abs=1e-9)


def test_leaving_out_a_group_is_the_alpha_of_the_others() -> None:
    counts = np.array([[2, 1, 0, 0], [0, 0, 2, 0], [1, 0, 0, 1], [0, 3, 0, 0]])
    sums = summed(coincidences(counts), np.array([0, 0, 1, 1]))
    for of, level in ((krippendorff_nominal, "nominal"), (krippendorff_ordinal, "ordinal")):
        wanted = [
            krippendorff.alpha(value_counts=counts[places], level_of_measurement=level)
            for places in ([2, 3], [0, 1])
        ]
        assert of(sums.left).tolist() == pytest.approx(wanted)


@settings(max_examples=40)
@given(data=ratings(2, gaps=True))
def test_specific_agreement_of_two_raters_is_their_f1(data: Given) -> None:
    assume(encodable(data))
    found = rater_agreement(data, comparison=ClosedLabels(LABELS))
    both = [pair for pair in zip(*data.values(), strict=True) if None not in pair]
    left, right = [one for one, _ in both], [two for _, two in both]
    wanted = sk.f1_score(left, right, labels=list(LABELS), average=None, zero_division=0.0)
    assert [row.specific.value for row in found.table] == pytest.approx(list(wanted), abs=1e-9)
    assert found.raw.value == pytest.approx(sk.accuracy_score(left, right), abs=1e-9)
    for row in found.table:
        assert row.given == {"r0": left.count(row.label), "r1": right.count(row.label)}


def test_specific_agreement_of_several_raters_is_of_pairs_of_ratings() -> None:
    # unit 1: a a b, unit 2: a b (the third rater gave none)
    found = rater_agreement({"r": ["a", "a"], "s": ["a", "b"], "t": ["b", None]})
    # ordered pairs with an a: unit 1 two ratings x two others, unit 2 one x one; of these 2 agree
    assert found.table[0].specific.value == pytest.approx(2 / 5)
    assert found.table[1].specific.value == 0.0
    # 3 + 1 unordered pairs, one of which agrees
    assert found.raw.value == pytest.approx(1 / 4)


def encodable(data: Given) -> bool:
    return any(sum(x is not None for x in unit) > 1 for unit in zip(*data.values(), strict=True))


@settings(max_examples=60)
@given(data=st.integers(2, 4).flatmap(lambda raters: ratings(raters, gaps=True, labels=(1, 2, 3, 4, 5))))
def test_alpha_of_scores_is_the_interval_alpha_of_the_package(data: dict[str, list[int | None]]) -> None:
    columns = list(zip(*data.values(), strict=True))
    pairable = [[x for x in unit if x is not None] for unit in columns]
    assume(len({x for unit in pairable if len(unit) > 1 for x in unit}) > 1)
    found = rater_agreement(data, Scores(1, 5, 1))
    matrix = [[np.nan if x is None else float(x) for x in given] for given in data.values()]
    expected = krippendorff.alpha(matrix, level_of_measurement="interval")
    assert found.alpha.value == pytest.approx(expected, abs=1e-9)
    near = [1 - abs(one - two) / 4 for unit in pairable for one, two in itertools.permutations(unit, 2)]
    assert found.raw.value == pytest.approx(np.mean(near))
    assert (found.fleiss, found.table) == (None, ())
    for pair in found.pairs:
        both = [
            1 - abs(one - two) / 4
            for one, two in zip(data[pair.first], data[pair.second], strict=True)
            if one is not None and two is not None
        ]
        assert (pair.units, pair.kappa) == (len(both), None)
        assert pair.raw.value == pytest.approx(np.mean(both))


@settings(max_examples=30)
@given(data=st.integers(2, 4).flatmap(lambda raters: ratings(raters, gaps=True)))
def test_alpha_of_closed_labels_is_the_one_of_the_distance_0_or_1(data: Given) -> None:
    assume(encodable(data))
    kind = ClosedLabels(LABELS)
    counts = encode_ratings(data, kind).counts
    sums = value_table(counts[counts.sum(axis=1) > 1], 1.0 - np.eye(len(LABELS))).sum(axis=0)
    alpha = krippendorff_distance(sums, 1.0 - np.eye(len(LABELS)))
    assert float(alpha) == pytest.approx(rater_agreement(data, kind).alpha.value, abs=1e-9)
