"""Metrics of closed labels against scikit-learn, their conventions and bounds; own functions."""

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, rows_of, scores, value_of
from sklearn import metrics as sk

from jurist.errors import JuristError, UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import objective_score

LABELS = "abcd"
Pair = tuple[str, str | None]


def counterpart(name: str, gold: Sequence[str], predicted: Sequence[str], positive: set[str]) -> float:
    """The metric by scikit-learn, its NaN for a single constant label replaced by our documented 0."""
    sides = [[label in positive for label in side] for side in (gold, predicted)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in ("precision", "recall", "f1"):
            found = sk.precision_recall_fscore_support(
                *sides, average="binary", pos_label=True, zero_division=0
            )
            return float(dict(zip(("precision", "recall", "f1"), found[:3], strict=True))[name])
        if name == "macro_f1":
            return float(sk.f1_score(gold, predicted, average="macro", zero_division=0))
        if name == "kappa":
            return 0.0 if len(set(gold)) == 1 else float(sk.cohen_kappa_score(gold, predicted))
        function = {"accuracy": sk.accuracy_score, "balanced_accuracy": sk.balanced_accuracy_score}[name]
        return float(function(gold, predicted))


def value(name: str, pairs: Sequence[tuple[Any, Any]], kind: ClosedLabels) -> float:
    return value_of(name, [gold for gold, _ in pairs], [said for _, said in pairs], kind)


@pytest.mark.parametrize("name", NAMES)
@given(
    data=st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40),
    positive=st.sampled_from(["a", "ab", "bcd"]),
)
def test_metrics_equal_scikit_learn(name: str, data: list[tuple[str, str]], positive: str) -> None:
    kind = ClosedLabels(LABELS, set(positive))
    gold, predicted = zip(*data, strict=True)
    found = value(name, data, kind)
    assert found == pytest.approx(counterpart(name, gold, predicted, set(positive)), abs=1e-9)
    assert kind.metrics[name].low - 1e-12 <= found <= kind.metrics[name].high + 1e-12


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("f2", ClosedLabels("ab", {"a"}), "'f2' does not fit this judge; use one of precision, recall, f1"),
        ("f1", ClosedLabels("abc"), "'f1' does not fit this judge; use one of accuracy"),
    ],
)
def test_metrics_that_do_not_fit_are_refused(name: str, kind: ClosedLabels, message: str) -> None:
    first = kind.labels[0]
    with pytest.raises(UsageError, match=message):
        objective_score(rows_of([(first, first)]), name, kind)
    assert set(ClosedLabels("abc").shown) == {"accuracy", "balanced_accuracy", "macro_f1", "kappa"}


def few_holes(labels: str) -> st.SearchStrategy[list[Pair]]:
    """Up to ten answered units and up to four missing ones, shuffled."""
    missing = st.lists(st.tuples(st.sampled_from(labels), st.none()), min_size=1, max_size=4)
    answered = st.lists(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), max_size=10)
    return st.tuples(answered, missing).flatmap(lambda both: st.permutations([*both[0], *both[1]]))


def test_no_answer_at_all_scores_zero_with_full_bounds() -> None:
    found = scores(rows_of([("a", None), ("b", None)]), ClosedLabels("ab", {"a"}))
    assert {score.value for score in found.values()} == {0.0}
    assert {score.best for score in found.values()} == {1.0}
    assert found["kappa"].worst == -1.0


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("macro_f1", "kappa")])
@settings(max_examples=60)
@given(units=few_holes("abc"), answer=st.sampled_from("abc"))
def test_abstaining_never_pays(name: str, units: list[Pair], answer: str) -> None:
    hole = next(place for place, pair in enumerate(units) if pair[1] is None)
    answered = [*units[:hole], (units[hole][0], answer), *units[hole + 1 :]]
    before, after = (
        objective_score(rows_of(some), name, ClosedLabels("abc", {"a"})) for some in (units, answered)
    )
    assert before <= after + 1e-12


def hits(gold: Sequence[str], predicted: Sequence[str]) -> float:
    return sum(one == two for one, two in zip(gold, predicted, strict=True)) / len(gold)


@given(data=few_holes("abc"))
def test_an_own_metric_that_is_accuracy_behaves_like_it(data: list[Pair]) -> None:
    found = scores(rows_of(data), ClosedLabels("abc", {"a"}), metrics=["accuracy", hits])
    assert found["hits"].value == pytest.approx(found["accuracy"].value, abs=1e-12)
    assert found["hits"].worst <= found["accuracy"].worst <= found["accuracy"].best <= found["hits"].best
    assert objective_score(rows_of(data), hits, ClosedLabels("abc")) == pytest.approx(found["accuracy"].worst)


@pytest.mark.parametrize("given_back", [1.5, -0.1, float("nan"), None, "0.5"])
def test_an_own_metric_out_of_range_is_refused(given_back: object) -> None:
    def strange(gold: Sequence[str], predicted: Sequence[str]) -> float:
        return given_back  # type: ignore[return-value]

    with pytest.raises(JuristError, match=r"the metric 'strange' returned .* for 1 units"):
        scores(rows_of([("a", "a")]), ClosedLabels("ab"), metrics=[strange])


def test_an_own_metric_cannot_take_the_name_of_a_named_one() -> None:
    def f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
        return 0.25

    assert scores(rows_of([("a", "a")]), ClosedLabels("ab", {"a"}), metrics=[f1])["custom_f1"].value == 0.25
