"""Scores of classes and the confusion matrix against scikit-learn."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import rows_of
from sklearn import metrics as sk

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import UNANSWERED, class_scores, confused
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets

FIVE, LABELS = Scores(1, 5, whole=True), LabelSets("abcd")
some_labels = st.sets(st.sampled_from("abcd")).map(lambda chosen: tuple(sorted(chosen)))


def pairs(values: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(values, values), min_size=1, max_size=most)


@pytest.mark.parametrize("kind", [ClosedLabels("abc"), LABELS])
@given(data=st.data())
@settings(max_examples=15)
def test_scores_of_classes_are_scikit_learns(kind: Any, data: st.DataObject) -> None:
    closed = isinstance(kind, ClosedLabels)
    drawn = data.draw(pairs(st.sampled_from("abc") if closed else some_labels, most=10))
    found = class_scores(rows_of(drawn), kind)
    assert [one.label for one in found] == list(kind.labels)
    for one in found:
        gold, said = ([one.label in value for value in side] for side in zip(*drawn, strict=True))
        expected = sk.precision_recall_fscore_support(gold, said, average="binary", zero_division=0)[:3]
        counted = {"precision": sum(said), "recall": sum(gold), "f1": sum(said) + sum(gold)}
        for (name, units), value in zip(counted.items(), expected, strict=True):
            score = getattr(one, name)
            # a precision of what was never given, and a recall of what gold has not, are not 0 but nothing
            assert (score is None) == (units == 0)
            assert score is None or score.value == pytest.approx(value, abs=1e-9)
        assert one.gold == sum(gold)
    assert class_scores(rows_of([(1, 2)]), FIVE) == ()


@given(data=pairs(st.sampled_from("abc"), most=12))
@settings(max_examples=15)
def test_the_confusion_matrix_is_scikit_learns(data: list[tuple[str, str]]) -> None:
    found = confused(ClosedLabels("abc"), rows_of([*data, ("a", None)]))
    expected = sk.confusion_matrix(*zip(*data, strict=True), labels=list("abc"))
    counted = [[found.get(gold, {}).get(said, 0) for said in "abc"] for gold in "abc"]
    assert counted == expected.tolist()
    assert {gold: said[UNANSWERED] for gold, said in found.items() if said[UNANSWERED]} == {"a": 1}
