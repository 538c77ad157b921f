"""Scores of classes and the confusion matrix against scikit-learn."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures import rows_of
from sklearn import metrics as sk

from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import UNANSWERED, class_scores, count_confusions
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets

CLOSED = ClosedLabels("abc")
FIVE = Scores(1, 5, whole=True)
LABELS = LabelSets("abcd")
closed_labels = st.sampled_from("abc")
label_sets = st.sets(st.sampled_from("abcd")).map(lambda labels: tuple(sorted(labels)))


def pairs(values: st.SearchStrategy[Any], max_size: int) -> st.SearchStrategy[Any]:
    return st.lists(st.tuples(values, values), min_size=1, max_size=max_size)


@pytest.mark.parametrize(("kind", "values"), [(CLOSED, closed_labels), (LABELS, label_sets)])
@given(data=st.data())
@settings(max_examples=15)
def test_scores_of_classes_are_scikit_learns(
    kind: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    drawn_pairs = data.draw(pairs(values, max_size=10))
    scores_of_classes = class_scores(rows_of(drawn_pairs), kind)
    assert [scores.label for scores in scores_of_classes] == list(kind.labels)
    for scores in scores_of_classes:
        gold = [scores.label in gold_value for gold_value, _ in drawn_pairs]
        answers = [scores.label in answer for _, answer in drawn_pairs]
        expected = sk.precision_recall_fscore_support(gold, answers, average="binary", zero_division=0)
        divisors = {"precision": sum(answers), "recall": sum(gold), "f1": sum(answers) + sum(gold)}
        for (name, units), value in zip(divisors.items(), expected[:3], strict=True):
            score = getattr(scores, name)
            # a precision of what was never given, and a recall of what gold has not, are not 0 but nothing
            assert (score is None) == (units == 0)
            assert score is None or score.value == pytest.approx(value, abs=1e-9)
        assert scores.gold == sum(gold)


def test_scores_have_no_classes() -> None:
    assert class_scores(rows_of([(1, 2)]), FIVE) == ()


@given(drawn_pairs=pairs(closed_labels, max_size=12))
@settings(max_examples=15)
def test_the_confusion_matrix_is_scikit_learns(drawn_pairs: list[tuple[str, str]]) -> None:
    table = count_confusions(CLOSED, rows_of(drawn_pairs + [("a", None)]))
    golds = [gold for gold, _ in drawn_pairs]
    answers = [answer for _, answer in drawn_pairs]
    expected = sk.confusion_matrix(golds, answers, labels=list("abc"))
    matrix = []
    for gold in "abc":
        row = table.get(gold, {})
        matrix.append([row.get(answer, 0) for answer in "abc"])
        assert row.get(UNANSWERED, 0) == (1 if gold == "a" else 0)
    assert matrix == expected.tolist()
