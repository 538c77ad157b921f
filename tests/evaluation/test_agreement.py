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
from jurist.evaluation.scores import Scores

Given = dict[str, list[Any]]
LABELS = "abcd"
KIND = ClosedLabels(LABELS)

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = {"A": "123321412...", "B": "1233224125.3", "C": ".3332342251.", "D": "12332441251."}
# Cohen 1968, Table 1: 200 cases by two raters.
CELLS = {"xx": 88, "xy": 14, "xz": 18, "yx": 10, "yy": 40, "yz": 10, "zx": 2, "zy": 6, "zz": 12}


def named(units: Sequence[Sequence[Any]]) -> Given:
    return {
        f"r{place}": [None if one == "." else one for one in ratings]
        for place, ratings in enumerate(zip(*units, strict=True))
    }


def ratings(
    fewest: int = 2, most: int = 4, *, gaps: bool = True, labels: Sequence[Any] = LABELS
) -> st.SearchStrategy[Given]:
    """Raters with two units or more, of which one has two ratings."""
    one = st.sampled_from([None, *labels] if gaps else labels)
    units = st.integers(fewest, most).flatmap(
        lambda raters: st.lists(st.tuples(*[one] * raters), min_size=2, max_size=25)
    )
    return units.filter(lambda rows: any(len(row) - row.count(None) > 1 for row in rows)).map(named)


def counts_of(data: Given, labels: Sequence[Any] = LABELS) -> np.ndarray:
    return np.array([[unit.count(label) for label in labels] for unit in zip(*data.values(), strict=True)])


def both(data: Given, first: str, second: str) -> tuple[list[Any], list[Any]]:
    pairs = [pair for pair in zip(data[first], data[second], strict=True) if None not in pair]
    return [one for one, _ in pairs], [two for _, two in pairs]


def values(found: Agreement) -> list[float]:
    """Return every coefficient; -9 stands for one that is undefined."""
    rows = [(row.specific, row.alpha) for row in found.table]
    return [
        -9.0 if estimate is None else estimate.value for estimate in (found.raw, found.alpha, *sum(rows, ()))
    ]


@pytest.mark.parametrize(
    ("data", "of", "published"),
    [
        (
            list(zip(*OBSERVERS.values(), strict=True)),
            lambda found: [found.alpha.value, found.units, found.skipped],
            [0.743, 11, 1],
        ),
        (
            list(zip("0100000010", "1110010000", strict=True)),  # example A of Krippendorff 2011
            lambda found: [found.alpha.value],
            [0.095],
        ),
        (
            [pair for pair, count in CELLS.items() for _ in range(count)],
            lambda found: [found.pairs[0].units, found.pairs[0].raw.value, found.pairs[0].kappa.value],
            [200, 0.70, 0.492],
        ),
    ],
    ids=["Krippendorff C", "Krippendorff A", "Cohen"],
)
def test_published_examples(data: Any, of: Callable[[Any], list[float]], published: list[float]) -> None:
    assert of(rater_agreement(named(data))) == pytest.approx(published, abs=5e-4)


def one_against_all(counts: np.ndarray, code: int) -> np.ndarray:
    return np.stack([counts[:, code], counts.sum(axis=1) - counts[:, code]], axis=1)


@settings(max_examples=100)
@given(data=ratings(2, 5))
def test_coefficients_are_those_of_scikit_learn_and_krippendorff(data: Given) -> None:
    found, counts = rater_agreement(data, KIND), counts_of(data)
    common = [pair for pair in itertools.combinations(data, 2) if both(data, *pair)[0]]
    assert [(pair.first, pair.second) for pair in found.pairs] == common
    for pair in found.pairs:
        left, right = both(data, pair.first, pair.second)
        assert (pair.units, pair.raw.value) == (len(left), pytest.approx(sk.accuracy_score(left, right)))
        if len({*left, *right}) > 1:
            assert pair.kappa is not None
            assert pair.kappa.value == pytest.approx(sk.cohen_kappa_score(left, right), abs=1e-9)
        else:
            assert pair.kappa is None
    rated = counts[counts.sum(axis=1) > 1]
    several = len(rated.sum(axis=0).nonzero()[0]) > 1
    if several:
        wanted = krippendorff.alpha(value_counts=rated, level_of_measurement="nominal")
        assert found.alpha is not None
        assert found.alpha.value == pytest.approx(wanted, abs=1e-9)
    else:
        assert found.alpha is None
    units = [[x for x in unit if x is not None] for unit in zip(*data.values(), strict=True)]
    first, second = zip(*(pair for unit in units for pair in itertools.permutations(unit, 2)), strict=True)
    specific = sk.f1_score(first, second, labels=list(LABELS), average=None, zero_division=0.0)
    assert found.raw.value == pytest.approx(sk.accuracy_score(first, second))
    given_at_all = rated.any(axis=0)
    assert [row.specific is not None for row in found.table] == list(given_at_all)
    assert [row.specific.value for row in found.table if row.specific] == pytest.approx(
        list(specific[given_at_all])
    )
    for code, row in enumerate(found.table):
        given = [[row.label == x for x in ratings] for ratings in zip(*data.values(), strict=True)]
        kept = [one for one, unit in zip(given, units, strict=True) if len(unit) > 1]
        assert list(row.given.values()) == [sum(column) for column in zip(*kept, strict=True)]
        if several and rated[:, code].any():
            wanted = krippendorff.alpha(
                value_counts=one_against_all(rated, code), level_of_measurement="nominal"
            )
            assert row.alpha is not None
            assert row.alpha.value == pytest.approx(wanted, abs=1e-9)
        else:
            assert row.alpha is None
    shares = [found.raw, *(row.specific for row in found.table), *(pair.raw for pair in found.pairs)]
    beyond = [found.alpha, *(pair.kappa for pair in found.pairs)]
    for low, estimates in ((0.0, shares), (-1.0, beyond)):
        for ends in (estimate.interval for estimate in estimates if estimate):
            assert low - 1e-9 <= ends.low <= ends.high <= 1.0 + 1e-9


@settings(max_examples=60)
@given(data=ratings(labels=(1, 2, 3, 4, 5)))
def test_alpha_of_scores_is_the_interval_alpha_and_raw_the_mean_similarity(data: Given) -> None:
    units = [[x for x in unit if x is not None] for unit in zip(*data.values(), strict=True)]
    assume(len({x for unit in units if len(unit) > 1 for x in unit}) > 1)
    found = rater_agreement(data, Scores(1, 5, whole=True))
    matrix = [[np.nan if x is None else float(x) for x in one] for one in data.values()]
    wanted = krippendorff.alpha(matrix, level_of_measurement="interval")
    assert found.alpha.value == pytest.approx(wanted, abs=1e-9)
    near = [1 - abs(one - two) / 4 for unit in units for one, two in itertools.permutations(unit, 2)]
    assert found.raw.value == pytest.approx(np.mean(near))
    assert found.table == ()
    for pair in found.pairs:
        left, right = both(data, pair.first, pair.second)
        assert (pair.units, pair.kappa) == (len(left), None)
        assert pair.raw.value == pytest.approx(1 - np.mean(np.abs(np.subtract(left, right))) / 4)


@pytest.mark.parametrize("labels", ["ab", "aa"])
def test_raters_who_never_differ_agree_fully_or_show_nothing(labels: str) -> None:
    found = rater_agreement({f"r{place}": list(labels) for place in range(3)})
    assert {found.raw.value, *(pair.raw.value for pair in found.pairs)} == {1.0}
    beyond = [found.alpha, *(pair.kappa for pair in found.pairs)]
    if labels == "aa":
        assert set(beyond) == {None}
    else:
        assert [estimate.value for estimate in beyond if estimate] == pytest.approx([1.0] * 4)


@settings(max_examples=40)
@given(data=ratings(), seed=st.integers(0, 9), alone=st.lists(st.sampled_from(LABELS), max_size=5))
def test_order_names_of_labels_and_lonely_ratings_do_not_matter(
    data: Given, seed: int, alone: list[str]
) -> None:
    units, shuffled = list(zip(*data.values(), strict=True)), random.Random(seed)
    groups = [f"g{place // 2}" for place in range(len(units))]
    before = rater_agreement(data, KIND, groups=groups)
    order, raters = list(range(len(units))), list(range(len(data)))
    shuffled.shuffle(order)
    shuffled.shuffle(raters)
    moved = [*(units[place] for place in order), *((label, *[None] * (len(data) - 1)) for label in alone)]
    renamed = dict(zip(LABELS, "wxyz", strict=True)) | {None: None}
    after = rater_agreement(
        {f"r{place}": [renamed[unit[place]] for unit in moved] for place in raters},
        ClosedLabels("wxyz"),
        groups=[*(groups[place] for place in order), *["lonely"] * len(alone)],
    )
    assert values(after) == pytest.approx(values(before), abs=1e-12)
    assert (after.units, after.skipped) == (before.units, before.skipped + len(alone))
    if before.alpha and after.alpha:
        assert before.alpha.interval.low == pytest.approx(after.alpha.interval.low, abs=1e-9)
        assert before.alpha.interval.high == pytest.approx(after.alpha.interval.high, abs=1e-9)


def test_groups_are_the_unit_of_resampling() -> None:
    data = {"r": ["a", "b"] * 50, "s": ["a", "b"] * 25 + ["b", "a"] * 25, "t": ["a", "b"] * 50}
    apart = rater_agreement(data)
    together = rater_agreement(data, groups=[str(place // 10) for place in range(100)])
    assert (apart.groups, together.groups) == (100, 10)
    for one, two in (
        (apart.alpha, together.alpha),
        (apart.pairs[0].kappa, together.pairs[0].kappa),
        (apart.raw, together.raw),
    ):
        assert one is not None
        assert two is not None
        assert one.value == two.value
        assert two.interval.high - two.interval.low > 2 * (one.interval.high - one.interval.low)
        assert (one.interval.groups, two.interval.groups) == (100, 10)
    alone = rater_agreement(data, groups=["g"] * 100)
    assert (alone.alpha.interval.low, alone.alpha.interval.high, alone.alpha.interval.groups) == (-1, 1, 1)


@pytest.mark.parametrize("data", [{"r": ["a", None], "s": [None, "b"]}, {"r": [], "s": []}])
def test_units_that_nobody_else_rated_show_no_agreement(data: Given) -> None:
    with pytest.raises(JuristError, match="units is labelled by two raters"):
        rater_agreement(data)
