"""Metrics of closed labels against scikit-learn, their conventions and bounds; own functions."""

import warnings
from collections.abc import Sequence

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
labels = st.sampled_from(LABELS)
SIDED = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}


def by_scikit_learn(name: str, gold: Sequence[str], answers: Sequence[str], positive: str) -> float:
    """Return the metric by scikit-learn, its NaN for a single constant label replaced by our documented 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in SIDED:
            gold_side = [label in positive for label in gold]
            answer_side = [label in positive for label in answers]
            return float(SIDED[name](gold_side, answer_side, zero_division=0))
        if name == "macro_f1":
            return float(sk.f1_score(gold, answers, average="macro", zero_division=0))
        if name == "balanced_accuracy":
            return float(sk.balanced_accuracy_score(gold, answers))
        if name == "accuracy":
            return float(sk.accuracy_score(gold, answers))
        assert name == "kappa"
        if len(set(gold)) == 1:
            return 0.0
        return float(sk.cohen_kappa_score(gold, answers))


@pytest.mark.parametrize("name", NAMES)
@given(
    pairs=st.lists(st.tuples(labels, labels), min_size=1, max_size=40),
    positive=st.sampled_from(["a", "ab", "bcd"]),
)
def test_metrics_equal_scikit_learn(name: str, pairs: list[tuple[str, str]], positive: str) -> None:
    kind = ClosedLabels(LABELS, set(positive))
    gold = [label for label, _ in pairs]
    answers = [answer for _, answer in pairs]
    value = value_of(name, gold, answers, kind)
    assert value == pytest.approx(by_scikit_learn(name, gold, answers, positive), abs=1e-9)
    assert kind.metrics[name].low - 1e-12 <= value <= kind.metrics[name].high + 1e-12


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


def test_labels_without_sides_have_the_metrics_of_exact_labels() -> None:
    assert set(ClosedLabels("abc").shown) == {"accuracy", "balanced_accuracy", "macro_f1", "kappa"}


THREE = ClosedLabels("abc", {"a"})
three_labels = st.sampled_from("abc")
MISSING_UNITS = st.lists(st.tuples(three_labels, st.none()), min_size=1, max_size=4)
ANSWERED_UNITS = st.lists(st.tuples(three_labels, three_labels), max_size=10)
UNITS_WITH_HOLES = st.tuples(ANSWERED_UNITS, MISSING_UNITS).flatmap(
    lambda parts: st.permutations(parts[0] + parts[1])
)
"""Up to ten answered units and up to four without an answer, shuffled."""


def test_no_answer_at_all_scores_zero_with_full_bounds() -> None:
    bounds = scores(rows_of([("a", None), ("b", None)]), ClosedLabels("ab", {"a"}))
    assert {score.value for score in bounds.values()} == {0.0}
    assert {score.best for score in bounds.values()} == {1.0}
    assert bounds["kappa"].worst == -1.0


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "accuracy", "balanced_accuracy"])
@settings(max_examples=60)
@given(units=UNITS_WITH_HOLES, answer=three_labels)
def test_abstaining_never_pays(name: str, units: list[Pair], answer: str) -> None:
    answers = [unit_answer for _, unit_answer in units]
    hole = answers.index(None)
    filled = list(units)
    filled[hole] = units[hole][0], answer
    score = objective_score(rows_of(units), name, THREE)
    assert score <= objective_score(rows_of(filled), name, THREE) + 1e-12


def hits(gold: Sequence[str], answers: Sequence[str]) -> float:
    """Return the accuracy, as a function of a user's."""
    right = 0
    for label, answer in zip(gold, answers, strict=True):
        right += label == answer
    return right / len(gold)


@given(units=UNITS_WITH_HOLES)
def test_an_own_metric_that_is_accuracy_behaves_like_it(units: list[Pair]) -> None:
    rows = rows_of(units)
    bounds = scores(rows, THREE, metrics=["accuracy", hits])
    accuracy = bounds["accuracy"]
    assert bounds["hits"].value == pytest.approx(accuracy.value, abs=1e-12)
    assert bounds["hits"].worst <= accuracy.worst <= accuracy.best <= bounds["hits"].best
    assert objective_score(rows, hits, ClosedLabels("abc")) == pytest.approx(accuracy.worst)


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), None, "0.5"])
def test_an_own_metric_out_of_range_is_refused(value: object) -> None:
    def strange(gold: Sequence[str], answers: Sequence[str]) -> float:
        return value  # type: ignore[return-value]

    with pytest.raises(JuristError, match=r"the metric 'strange' returned .* for 1 units"):
        scores(rows_of([("a", "a")]), ClosedLabels("ab"), metrics=[strange])


def test_an_own_metric_cannot_take_the_name_of_a_named_one() -> None:
    def f1(gold: Sequence[str], answers: Sequence[str]) -> float:
        return 0.25

    bounds = scores(rows_of([("a", "a")]), ClosedLabels("ab", {"a"}), metrics=[f1])
    assert bounds["custom_f1"].value == 0.25
