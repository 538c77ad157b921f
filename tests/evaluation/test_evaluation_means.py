"""Validation rate and negative mean squared error, against plain Python and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import scores
from sklearn.metrics import mean_squared_error

from jurist.errors import UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import objective_score
from jurist.evaluation.proof import prove
from jurist.evaluation.rows import Row
from jurist.evaluation.units import encode

LABELS = ("1", "2", "3.5")
KIND = ClosedLabels(LABELS)
NAMES = ("validation_rate", "neg_mse")
answers = st.sampled_from([*LABELS, None])


@st.composite
def row_lists(draw: st.DrawFn) -> list[Row]:
    rows = []
    for number in range(draw(st.integers(1, 8))):
        size = draw(st.integers(1, 4))
        gold = draw(st.lists(answers, min_size=size, max_size=size))
        predicted = draw(st.lists(answers, min_size=size, max_size=size))
        group = draw(st.sampled_from("abc"))
        rows.append(Row(id=str(number), group=group, gold=tuple(gold), predicted=tuple(predicted)))
    rows.append(Row(id="last", group="z", gold=("1",), predicted=("2",)))
    return rows


def plain(rows: list[Row]) -> tuple[float, float]:
    """Return both metrics with what is missing counted as wrong, by the definition."""
    passes, errors = [], []
    for row in rows:
        pairs = [(g, p) for g, p in zip(row.gold, row.predicted, strict=True) if g is not None]
        if pairs:
            passes.append(all(g == p for g, p in pairs))
        for g, p in pairs:
            far = max(LABELS, key=lambda label: (float(label) - float(g)) ** 2)
            errors.append((float(g) - float(far if p is None else p)) ** 2)
    return float(np.mean(passes)), -float(np.mean(errors))


@settings(max_examples=150)
@given(rows=row_lists())
def test_both_are_what_they_are_defined_to_be(rows: list[Row]) -> None:
    rate, error = plain(rows)
    assert objective_score(rows, "validation_rate", KIND) == pytest.approx(rate)
    assert objective_score(rows, "neg_mse", KIND) == pytest.approx(error)
    found = scores(rows, KIND, NAMES)
    for name in NAMES:
        assert found[name].worst == pytest.approx(objective_score(rows, name, KIND))
        assert found[name].worst <= found[name].best + 1e-12
        assert KIND.metrics[name].low <= found[name].value


@settings(max_examples=100)
@given(rows=row_lists())
def test_the_resampled_values_are_those_of_the_repeated_rows(rows: list[Row]) -> None:
    for name in NAMES:
        metric, units = KIND.metrics[name], encode(KIND, rows)
        weights = np.array([[1] * units.groups, [n + 1 for n in range(units.groups)]])
        names = sorted({row.group for row in rows if row.labelled})
        again = [
            Row(id=f"{row.id}/{n}", group=row.group, gold=row.gold, predicted=row.predicted)
            for row in rows
            if row.group in names
            for n in range(names.index(row.group) + 1)
        ]
        expected = [objective_score(some, name, KIND) for some in (rows, again)]
        assert metric.resampled(metric.worst(units), weights) == pytest.approx(expected)


@settings(max_examples=100)
@given(rows=row_lists(), seed=st.integers(0, 9))
def test_a_swap_of_all_groups_turns_the_difference_round(rows: list[Row], seed: int) -> None:
    random_ = np.random.default_rng(seed)
    others = [
        Row(id=r.id, group=r.group, gold=r.gold, predicted=tuple(random_.choice(LABELS) for _ in r.gold))
        for r in rows
    ]
    for name in NAMES:
        metric = KIND.metrics[name]
        units = metric.worst(encode(KIND, rows, others))
        swaps = np.array([[False] * units.groups, [True] * units.groups])
        one, two = metric.each(units)
        assert metric.swapped(units, swaps) == pytest.approx([two - one, one - two])


def test_the_error_is_scikit_learns() -> None:
    random_ = np.random.default_rng(1)
    gold, predicted = (random_.choice(LABELS, 60).tolist() for _ in range(2))
    rows = [
        Row(id=str(n), group=str(n % 9), gold=(g,), predicted=(p,))
        for n, (g, p) in enumerate(zip(gold, predicted, strict=True))
    ]
    expected = -mean_squared_error([float(g) for g in gold], [float(p) for p in predicted])
    assert objective_score(rows, "neg_mse", KIND) == pytest.approx(expected)


@pytest.mark.parametrize("bad", ["good", "nan", "inf", ""])
def test_a_label_that_is_no_number_is_one_clear_error(bad: str) -> None:
    rows = [Row(id="a", group="a", gold=("1",), predicted=("1",))]
    with pytest.raises(UsageError, match="the metric 'neg_mse' does not fit this judge; use one of accuracy"):
        objective_score(rows, "neg_mse", ClosedLabels(("1", bad)))


def test_a_case_passes_only_as_a_whole() -> None:
    rows = [
        Row(id="a", group="a", gold=("1", "2"), predicted=("1", "2")),
        Row(id="b", group="b", gold=("1", "2"), predicted=("1", "1")),
        Row(id="c", group="c", gold=("1", None), predicted=("1", None)),
        Row(id="d", group="d", gold=("1", "2"), predicted=("1", None)),
    ]
    found = scores(rows, KIND, ["validation_rate"])["validation_rate"]
    assert (found.value, found.worst, found.best) == pytest.approx((2 / 3, 2 / 4, 3 / 4))


@pytest.mark.parametrize("name", ["validation_rate", "neg_mse"])
def test_repeats_and_the_proof_take_them(name: str) -> None:
    rows = [Row(id=str(n), group=str(n % 12), gold=("1", "2"), predicted=("2", "2")) for n in range(36)]
    good = [Row(id=r.id, group=r.group, gold=r.gold, predicted=r.gold) for r in rows]
    proof = prove(rows, good, name, KIND)
    assert proof.decision.verdict == "better"
    assert proof.decision.metric == name
    assert name in proof.to_card()["scores"]["compiled"]
    units = encode(KIND, rows, good)
    metric = KIND.metrics[name]
    assert metric.of(units) == pytest.approx(
        np.mean([objective_score(some, name, KIND) for some in (rows, good)])
    )
    weights = np.random.default_rng(0).multinomial(units.groups, [1 / units.groups] * units.groups, 9)
    assert len(metric.resampled(units, weights)) == len(weights)
