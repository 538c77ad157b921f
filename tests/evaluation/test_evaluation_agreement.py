"""Agreement of raters: laws, gaps, groups, degenerate raters, refusals."""

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jurist.errors import JuristError, UsageError
from jurist.evaluation.agreement import Agreement, rater_agreement
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.intervals import Estimate

Unit = tuple[str | None, ...]


def units(raters: int, *, gaps: bool) -> st.SearchStrategy[list[Unit]]:
    label: st.SearchStrategy[str | None] = st.sampled_from("abc")
    if gaps:
        label = st.none() | label
    return st.lists(st.tuples(*[label] * raters), min_size=2, max_size=20)


def columns(rows: list[Unit]) -> dict[str, list[str | None]]:
    return {f"r{place}": list(given) for place, given in enumerate(zip(*rows, strict=True))}


def values(found: Agreement) -> list[float]:
    estimates = [found.raw, found.fleiss.kappa, found.alpha, found.ordinal]
    for row in found.table:
        estimates += [row.specific, row.fleiss, row.alpha]
    return [estimate.value for estimate in estimates if estimate is not None]


def comparable(rows: list[Unit]) -> bool:
    return any(sum(label is not None for label in row) > 1 for row in rows)


@settings(max_examples=40)
@given(labels=st.lists(st.sampled_from("abc"), min_size=2, max_size=20), raters=st.integers(2, 5))
def test_raters_who_never_differ_agree_fully(labels: list[str], raters: int) -> None:
    assume(len(set(labels)) > 1)
    found = rater_agreement({f"r{place}": list(labels) for place in range(raters)}, ordered=True)
    assert values(found) == pytest.approx([1.0] * len(values(found)))
    assert len(found.pairs) == raters * (raters - 1) // 2
    assert [pair.kappa.value for pair in found.pairs] == pytest.approx([1.0] * len(found.pairs))


@settings(max_examples=40)
@given(rows=st.integers(2, 4).flatmap(lambda raters: units(raters, gaps=True)), seed=st.integers(0, 9))
def test_the_order_of_raters_and_units_does_not_matter(rows: list[Unit], seed: int) -> None:
    assume(comparable(rows))
    groups = [f"g{place // 2}" for place in range(len(rows))]
    before = rater_agreement(columns(rows), groups=groups, comparison=ClosedLabels("abc"), ordered=True)
    order, names = list(range(len(rows))), list(columns(rows))
    random.Random(seed).shuffle(order)
    random.Random(seed).shuffle(names)
    moved = columns([rows[place] for place in order])
    after = rater_agreement(
        {name: moved[name] for name in names},
        groups=[groups[place] for place in order],
        comparison=ClosedLabels("abc"),
        ordered=True,
    )
    assert values(after) == pytest.approx(values(before), abs=1e-12)
    ends = [(found.alpha.interval.low, found.fleiss.kappa.interval.high) for found in (before, after)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    kappas = [
        {frozenset((pair.first, pair.second)): pair.kappa.value for pair in found.pairs}
        for found in (before, after)
    ]
    assert kappas[0] == pytest.approx(kappas[1], abs=1e-12)


@settings(max_examples=40)
@given(rows=units(3, gaps=True))
def test_every_value_is_in_its_range_and_every_interval_has_its_ends_in_order(rows: list[Unit]) -> None:
    assume(comparable(rows))
    found = rater_agreement(columns(rows), comparison=ClosedLabels("abc"), ordered=True)
    shares = [found.raw, *(row.specific for row in found.table), *(pair.raw for pair in found.pairs)]
    beyond = [found.fleiss.kappa, found.alpha, found.ordinal, *(pair.kappa for pair in found.pairs)]
    for low, estimates in ((0.0, shares), (-1.0, beyond)):
        for estimate in estimates:
            assert isinstance(estimate, Estimate)
            assert low - 1e-9 <= estimate.value <= 1.0 + 1e-9
            assert low - 1e-9 <= estimate.interval.low <= estimate.interval.high <= 1.0 + 1e-9


@settings(max_examples=40)
@given(rows=units(2, gaps=False))
def test_fleiss_of_two_raters_is_scotts_pi(rows: list[Unit]) -> None:
    found = rater_agreement(columns(rows))
    every = [label for row in rows for label in row]
    chance = sum((every.count(label) / len(every)) ** 2 for label in set(every))
    assume(chance < 1)
    observed = sum(one == two for one, two in rows) / len(rows)
    assert found.fleiss.kappa.value == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)


@settings(max_examples=40)
@given(rows=st.integers(2, 4).flatmap(lambda raters: units(raters, gaps=False)))
def test_alpha_is_fleiss_corrected_for_the_size_of_the_sample(rows: list[Unit]) -> None:
    # without gaps 1 - alpha = (1 - Fleiss' kappa) (n - 1) / n, n being the number of ratings
    found = rater_agreement(columns(rows))
    assume(len(found.table) > 1)
    ratings = len(rows) * len(rows[0])
    wanted = 1 - (1 - found.fleiss.kappa.value) * (ratings - 1) / ratings
    assert found.alpha.value == pytest.approx(wanted, abs=1e-9)
    assert found.alpha.value >= found.fleiss.kappa.value - 1e-12


@settings(max_examples=40)
@given(rows=units(3, gaps=True), alone=st.lists(st.sampled_from("abc"), max_size=5))
def test_units_that_one_rater_or_nobody_labelled_change_nothing(rows: list[Unit], alone: list[str]) -> None:
    assume(comparable(rows))
    before = rater_agreement(columns(rows), comparison=ClosedLabels("abc"), ordered=True)
    more: list[Unit] = [*rows, *[(label, None, None) for label in alone], (None, None, None)]
    after = rater_agreement(columns(more), comparison=ClosedLabels("abc"), ordered=True)
    assert values(after) == pytest.approx(values(before), abs=1e-12)
    assert (after.units, after.skipped) == (before.units, before.skipped + len(alone) + 1)


@settings(max_examples=30)
@given(rows=units(2, gaps=False))
def test_two_labels_have_no_order(rows: list[Unit]) -> None:
    binary: list[Unit] = [tuple("b" if label == "c" else label for label in row) for row in rows]
    found = rater_agreement(columns(binary), comparison=ClosedLabels(["a", "b"]), ordered=True)
    assert found.ordinal is not None
    assert found.ordinal.value == pytest.approx(found.alpha.value, abs=1e-9)


def test_the_order_of_labels_matters_to_the_ordinal_alpha_only() -> None:
    data: dict[str, list[str | None]] = {"r": list("lmhlmhlm"), "s": list("lmhmmhlh")}
    one = rater_agreement(data, comparison=ClosedLabels(["l", "m", "h"]), ordered=True)
    two = rater_agreement(data, comparison=ClosedLabels(["m", "l", "h"]), ordered=True)
    assert one.ordinal is not None
    assert two.ordinal is not None
    assert one.ordinal.value > two.ordinal.value
    assert one.alpha.value == pytest.approx(two.alpha.value)
    assert rater_agreement(data).ordinal is None


def test_one_constant_label_agrees_fully_and_shows_nothing() -> None:
    found = rater_agreement({"r": ["a"] * 4, "s": ["a"] * 4}, ordered=True)
    (pair,) = found.pairs
    assert (found.raw.value, pair.raw.value) == (1.0, 1.0)
    assert found.ordinal is not None
    for estimate in (pair.kappa, found.fleiss.kappa, found.alpha, found.ordinal):
        assert (estimate.value, estimate.interval.low, estimate.interval.high) == (0.0, -1.0, 1.0)


def test_groups_are_the_unit_of_resampling() -> None:
    data: dict[str, list[str | None]] = {
        "r": ["a", "b"] * 50,
        "s": ["a", "b"] * 25 + ["b", "a"] * 25,
        "t": ["a", "b"] * 50,
    }
    apart = rater_agreement(data)
    together = rater_agreement(data, groups=[str(place // 10) for place in range(100)])
    assert (apart.groups, together.groups) == (100, 10)
    for one, two in (
        (apart.alpha, together.alpha),
        (apart.fleiss.kappa, together.fleiss.kappa),
        (apart.pairs[0].kappa, together.pairs[0].kappa),
        (apart.raw, together.raw),
    ):
        assert one.value == two.value
        assert two.interval.high - two.interval.low > 2 * (one.interval.high - one.interval.low)
        assert (one.interval.groups, two.interval.groups) == (100, 10)
    alone = rater_agreement(data, groups=["g"] * 100)
    assert (alone.alpha.interval.low, alone.alpha.interval.high, alone.alpha.interval.groups) == (-1, 1, 1)
    assert (alone.raw.interval.low, alone.raw.interval.high) == (0.0, 1.0)


def test_a_pair_without_a_common_unit_is_left_out() -> None:
    found = rater_agreement({"r": ["a", "b", None], "s": [None, "b", "a"], "t": ["a", None, None]})
    assert [(pair.first, pair.second, pair.units) for pair in found.pairs] == [("r", "s", 1), ("r", "t", 1)]
    assert (found.units, found.skipped) == (2, 1)


def test_given_labels_order_the_table_and_may_be_unused() -> None:
    found = rater_agreement({"r": ["a", "b"], "s": ["a", "a"]}, comparison=ClosedLabels(["c", "b", "a"]))
    assert [(row.label, row.given) for row in found.table] == [
        ("c", {"r": 0, "s": 0}),
        ("b", {"r": 1, "s": 0}),
        ("a", {"r": 1, "s": 2}),
    ]
    assert [row.specific.value for row in found.table] == [0.0, 0.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("data", "more", "error", "said"),
    [
        ({"r": ["a", "b"], "s": ["a"]}, {}, UsageError, "the raters gave 2, 1 labels for units of 1 groups"),
        ({"r": ["a"], "s": ["a"]}, {"groups": ["g", "h"]}, UsageError, "1, 1 labels for units of 2 groups"),
        ({"r": ["a"]}, {}, UsageError, "the labels of 1 raters"),
        ({}, {}, UsageError, "the labels of 0 raters"),
        (
            {"r": ["a"], "s": ["b"]},
            {"comparison": ClosedLabels("ac")},
            JuristError,
            "rater 's': the label 'b' is not one",
        ),
        ({"r": ["a", None], "s": [None, "b"]}, {}, JuristError, "none of the 2 units is labelled by two"),
        ({"r": [], "s": []}, {}, JuristError, "none of the 0 units"),
    ],
)
def test_refusals(data: dict[str, list[str | None]], more: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        rater_agreement(data, **more)
