"""The named metrics against scikit-learn, their conventions, and the bounds against every completion."""

import itertools
import warnings
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import NAMES, rows_of, scores, value_of
from sklearn import metrics as sk

from jurist.errors import JuristError, UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import objective_score
from jurist.evaluation.rows import Row

LABELS = "abcd"
Pair = tuple[str, str | None]


def pairs(labels: str, *, missing: bool, most: int) -> st.SearchStrategy[list[Pair]]:
    answers: st.SearchStrategy[str | None] = st.sampled_from(labels)
    if missing:
        answers = st.none() | answers
    return st.lists(st.tuples(st.sampled_from(labels), answers), min_size=1, max_size=most)


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


@pytest.mark.parametrize("name", NAMES)
@given(data=pairs(LABELS, missing=False, most=40), positive=st.sampled_from(["a", "ab", "bcd"]))
def test_metrics_equal_scikit_learn(name: str, data: list[tuple[str, str]], positive: str) -> None:
    gold, predicted = [pair[0] for pair in data], [pair[1] for pair in data]
    found = value_of(name, gold, predicted, ClosedLabels(LABELS, set(positive)))
    assert found == pytest.approx(counterpart(name, gold, predicted, set(positive)), abs=1e-9)
    assert (
        ClosedLabels(LABELS, set(positive)).metrics[name].low - 1e-12
        <= found
        <= ClosedLabels(LABELS, set(positive)).metrics[name].high + 1e-12
    )


@pytest.mark.parametrize(
    ("name", "gold", "predicted", "value"),
    [
        ("precision", "ab", "bb", 0.0),
        ("recall", "bb", "ab", 0.0),
        ("f1", "bb", "bb", 0.0),
        ("kappa", "aaa", "aaa", 0.0),
        ("kappa", "aaa", "aab", 0.0),
        ("kappa", "ab", "aa", 0.0),
        ("kappa", "ab", "ab", 1.0),
        ("kappa", "ab", "ba", -1.0),
        ("macro_f1", "aa", "aa", 1.0),
        ("macro_f1", "aa", "ab", 1 / 3),
        ("balanced_accuracy", "aa", "ab", 0.5),
        ("balanced_accuracy", "aab", "aba", 0.25),
    ],
)
def test_conventions(name: str, gold: str, predicted: str, value: float) -> None:
    assert value_of(name, gold, predicted, ClosedLabels("abc", {"a"})) == pytest.approx(value, abs=1e-12)


def test_positive_is_a_set_of_labels_and_a_confusion_within_it_is_right() -> None:
    found = scores(rows_of([("a", "b"), ("b", "a"), ("c", "c")]), ClosedLabels("abc", {"a", "b"}))
    assert found["f1"].value == 1.0
    assert found["accuracy"].value == pytest.approx(1 / 3)


def test_a_judge_without_a_positive_side_has_no_precision() -> None:
    rows = rows_of([("a", "a"), ("b", "c")])
    assert set(scores(rows, ClosedLabels("abc"))) == {
        "accuracy",
        "balanced_accuracy",
        "macro_f1",
        "kappa",
    }
    with pytest.raises(UsageError, match="'f1' does not fit this judge; use one of accuracy"):
        objective_score(rows, "f1", ClosedLabels("abc"))
    with pytest.raises(UsageError, match="'recall' does not fit this judge"):
        value_of("recall", "ab", "ab", ClosedLabels("ab"))


def test_an_unknown_metric_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="the metric 'f2' does not fit this judge; use one of precision, recall, f1"
    ):
        scores(rows_of([("a", "a")]), ClosedLabels("ab", {"a"}), metrics=["f2"])


def test_only_answered_units_count_towards_the_value() -> None:
    found = scores(rows_of([("a", "a"), ("a", None), ("b", "b"), ("b", "a")]), ClosedLabels("ab", {"a"}))
    assert found["accuracy"].value == pytest.approx(2 / 3)
    assert (found["accuracy"].worst, found["accuracy"].best) == (0.5, 0.75)
    assert (found["f1"].worst, found["f1"].best) == pytest.approx((0.5, 0.8))


def test_no_answer_at_all_scores_zero_with_full_bounds() -> None:
    found = scores(rows_of([("a", None), ("b", None)]), ClosedLabels("ab", {"a"}))
    assert {score.value for score in found.values()} == {0.0}
    assert {score.best for score in found.values()} == {1.0}
    assert found["kappa"].worst == -1.0


def fillings(data: Sequence[Pair], labels: str) -> list[list[Pair]]:
    holes = [place for place, (_, answer) in enumerate(data) if answer is None]
    found = []
    for answers in itertools.product(labels, repeat=len(holes)):
        filled = list(data)
        for place, answer in zip(holes, answers, strict=True):
            filled[place] = (data[place][0], answer)
        found.append(filled)
    return found


def few_holes(labels: str) -> st.SearchStrategy[list[Pair]]:
    """Up to ten answered units and up to four missing ones, shuffled."""
    missing = st.lists(st.tuples(st.sampled_from(labels), st.none()), min_size=1, max_size=4)
    answered = st.lists(st.tuples(st.sampled_from(labels), st.sampled_from(labels)), max_size=10)
    return st.tuples(answered, missing).flatmap(lambda both: st.permutations([*both[0], *both[1]]))


@pytest.mark.parametrize("labels", ["ab", "abc", "abcd"])
@settings(max_examples=60)
@given(data=st.data())
def test_bounds_are_reached_and_contain_every_completion(labels: str, data: st.DataObject) -> None:
    units = data.draw(few_holes(labels))
    found = scores(rows_of(units), ClosedLabels(labels, {"a"}))
    filled = fillings(units, labels)
    for name, score in found.items():
        values = [
            value_of(
                name, [pair[0] for pair in way], [str(pair[1]) for pair in way], ClosedLabels(labels, {"a"})
            )
            for way in filled
        ]
        assert score.worst == pytest.approx(min(values), abs=1e-12), name
        assert score.best == pytest.approx(max(values), abs=1e-12), name


def test_macro_f1_bound_when_the_wrong_label_must_be_chosen_with_care() -> None:
    # The hits are on a and b; all holes are gold a, so a itself cannot take a wrong answer.
    units: list[Pair] = [*[("a", "a")] * 4, *[("b", "b")] * 2, ("c", "a"), *[("a", None)] * 4]
    found = scores(rows_of(units), ClosedLabels("abcd"))["macro_f1"]
    values = [
        value_of("macro_f1", [pair[0] for pair in way], [str(pair[1]) for pair in way], ClosedLabels("abcd"))
        for way in fillings(units, "abcd")
    ]
    assert found.worst == pytest.approx(min(values), abs=1e-12)


def test_macro_f1_is_not_always_lowest_when_a_new_label_joins() -> None:
    # Answering a costs the only label with hits a third; a fifth label in the mean costs but a fifth.
    units: list[Pair] = [("a", "a"), ("b", "c"), ("c", "d"), ("d", "b"), ("b", None)]
    assert scores(rows_of(units), ClosedLabels("abcde"))["macro_f1"].worst == pytest.approx(
        (2 / 3) / 4, abs=1e-12
    )


def test_kappa_of_three_labels_can_be_best_with_a_wrong_answer() -> None:
    # All answers are wrong; agreeing on the common label raises chance agreement more than agreement.
    units: list[Pair] = [*[("a", "b")] * 80, *[("b", "a")] * 10, *[("b", "c")] * 10, ("a", None)]
    right = [(gold, answer or "a") for gold, answer in units]
    agreeing = value_of(
        "kappa", [pair[0] for pair in right], [pair[1] for pair in right], ClosedLabels("abc")
    )
    best = max(
        value_of("kappa", [pair[0] for pair in way], [str(pair[1]) for pair in way], ClosedLabels("abc"))
        for way in fillings(units, "abc")
    )
    found = scores(rows_of(units), ClosedLabels("abc"))["kappa"].best
    assert found == pytest.approx(best, abs=1e-12)
    assert found > agreeing


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(units=few_holes("abc"), answer=st.sampled_from("abc"))
def test_abstaining_never_pays(name: str, units: list[Pair], answer: str) -> None:
    hole = next(place for place, pair in enumerate(units) if pair[1] is None)
    answered = [*units[:hole], (units[hole][0], answer), *units[hole + 1 :]]

    def objective(data: Sequence[Pair]) -> float:
        return objective_score(rows_of(data), name, ClosedLabels("abc", {"a"}))

    assert objective(units) <= objective(answered) + 1e-12
    assert objective(units) == pytest.approx(
        scores(rows_of(units), ClosedLabels("abc", {"a"}))[name].worst, abs=1e-12
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("precision", 1 / 2), ("recall", 1 / 2), ("f1", 1 / 2), ("accuracy", 1 / 2), ("kappa", 0.0)],
)
def test_the_objective_counts_a_missing_unit_as_the_other_side(name: str, value: float) -> None:
    rows = rows_of([("a", "a"), ("a", None), ("b", "b"), ("b", None)])
    assert objective_score(rows, name, ClosedLabels("ab", {"a"})) == pytest.approx(value)


@settings(max_examples=50)
@given(data=pairs("abc", missing=True, most=12), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(data: list[Pair], order: object) -> None:
    rows = rows_of(data)
    shuffled = list(rows)
    shuffle: Callable[[list[Row]], None] = order.shuffle  # type: ignore[attr-defined]
    shuffle(shuffled)
    assert scores(rows, ClosedLabels("abc", {"a"})) == scores(shuffled, ClosedLabels("abc", {"a"}))


def hits(gold: Sequence[str], predicted: Sequence[str]) -> float:
    return sum(one == two for one, two in zip(gold, predicted, strict=True)) / len(gold)


@given(data=pairs("abc", missing=True, most=12))
def test_an_own_metric_that_is_accuracy_behaves_like_it(data: list[Pair]) -> None:
    found = scores(rows_of(data), ClosedLabels("abc", {"a"}), metrics=["accuracy", hits])
    assert found["hits"].value == pytest.approx(found["accuracy"].value, abs=1e-12)
    assert found["hits"].worst <= found["accuracy"].worst <= found["accuracy"].best <= found["hits"].best
    assert objective_score(rows_of(data), hits, ClosedLabels("abc")) == pytest.approx(found["accuracy"].worst)


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), None, "0.5"])
def test_an_own_metric_out_of_range_is_refused(value: object) -> None:
    def strange(gold: Sequence[str], predicted: Sequence[str]) -> float:
        return value  # type: ignore[return-value]

    with pytest.raises(JuristError, match=r"the metric 'strange' returned .* for 1 units"):
        scores(rows_of([("a", "a")]), ClosedLabels("ab"), metrics=[strange])


def test_an_own_metric_cannot_take_the_name_of_a_named_one() -> None:
    def f1(gold: Sequence[str], predicted: Sequence[str]) -> float:
        return 0.25

    assert scores(rows_of([("a", "a")]), ClosedLabels("ab", {"a"}), metrics=[f1])["custom_f1"].value == 0.25


def test_bounds_of_many_missing_units_are_still_exact_for_two_labels() -> None:
    units: list[Pair] = [*[("a", "a")] * 30, *[("b", "a")] * 10, *[("a", None)] * 700, *[("b", None)] * 900]
    found = scores(rows_of(units), ClosedLabels("ab", {"a"}))
    wrong = [("ba"["ab".index(gold)] if answer is None else answer) for gold, answer in units]
    right = [answer or gold for gold, answer in units]
    gold = [pair[0] for pair in units]
    for name, score in found.items():
        assert score.worst == pytest.approx(counterpart(name, gold, wrong, {"a"}), abs=1e-9)
        assert score.best == pytest.approx(counterpart(name, gold, right, {"a"}), abs=1e-9)
