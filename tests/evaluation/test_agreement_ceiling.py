"""The human ceiling: each rater against the majority of the others, on the judge's own metrics."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from jurist.evaluation.agreement import Ceiling, human_ceiling
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import measure
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scores import Scores

KIND = ClosedLabels(("yes", "no"), {"yes"})
LABEL_OF_MARK = {"y": "yes", "n": "no", ".": None}
Ratings = dict[str, list[str | None]]
ratings_of_a_unit = st.sampled_from(["yes", "no", None])


def labels_of(marks: str) -> list[str | None]:
    """Return a rater's label of each unit, from one mark for each."""
    return [LABEL_OF_MARK[mark] for mark in marks]


def ceiling(ratings: Ratings, metric: str, kind: ClosedLabels = KIND) -> Ceiling:
    """Return the ceiling of raters, each unit a group of its own."""
    units = len(next(iter(ratings.values())))
    return human_ceiling(ratings, metric, kind, groups=list(map(str, range(units))))


def test_each_rater_is_measured_like_a_judge_against_the_others() -> None:
    ratings = {
        "ann": labels_of("yynnyn"),
        "bob": labels_of("ynnnyy"),
        "cem": labels_of("yynyyn"),
        "dan": labels_of("nynyy."),
    }
    result = ceiling(ratings, "f1")
    units_of_raters = [(score.rater, score.units, score.left_out) for score in result.raters]
    assert units_of_raters == [("ann", 6, 0), ("bob", 6, 0), ("cem", 6, 0), ("dan", 5, 0)]
    # of bob, cem, dan: yes (2 of 3), yes (2 of 3), no, yes (2 of 3), yes, and, without dan, yes and no
    golds_of_units = [["yes"] * 3, ["yes"] * 3, ["no"] * 3, ["yes"] * 3, ["yes"] * 3, ["yes", "no"]]
    rows_of_ann = []
    for unit, (golds, label) in enumerate(zip(golds_of_units, ratings["ann"], strict=True)):
        for number, gold in enumerate(golds):
            row = JudgedRow(id=f"{unit}/{number}", group=str(unit), gold=(gold,), predicted=(label,))
            rows_of_ann.append(row)
    assert result.raters[0].measured.scores == measure(rows_of_ann, "f1", KIND).scores
    values = [score.measured["f1"].value for score in result.raters]
    mean = result.mean["f1"]
    assert mean.value == pytest.approx(sum(values) / 4)
    assert mean.interval.low < mean.value < mean.interval.high
    assert result.metric == "f1"


def test_a_fourth_rater_scores_higher_against_all_three_than_each_against_the_others() -> None:
    """Four raters are right in 85 % of balanced units, one independently of the other, as docs/statistics.md says."""
    rng = np.random.default_rng(0)
    units = 4000
    is_yes = np.arange(units) % 2 == 0
    says_yes = is_yes == (rng.random((4, units)) < 0.85)  # (raters, units)
    labels = np.where(says_yes, "yes", "no").tolist()
    three = ceiling({"ann": labels[0], "bob": labels[1], "cem": labels[2]}, "balanced_accuracy")
    merged = np.where(says_yes[:3].sum(axis=0) >= 2, "yes", "no").tolist()
    rows = []
    for unit, (gold, answer) in enumerate(zip(merged, labels[3], strict=True)):
        rows.append(JudgedRow(id=str(unit), group=str(unit), gold=(gold,), predicted=(answer,)))
    fourth = measure(rows, "balanced_accuracy", KIND)["balanced_accuracy"].value
    assert three.mean["balanced_accuracy"].value == pytest.approx(0.745, abs=0.01)
    assert fourth == pytest.approx(0.8075, abs=0.02)


@settings(max_examples=40)
@given(units=st.lists(st.tuples(ratings_of_a_unit, ratings_of_a_unit), min_size=2, max_size=20))
def test_two_raters_are_each_the_other_s_gold(units: list[tuple[str | None, str | None]]) -> None:
    pairs = [pair for pair in units if None not in pair]
    assume(pairs)
    result = ceiling({"r": [label for label, _ in units], "s": [label for _, label in units]}, "f1")
    first, second = result.raters
    assert first.units == second.units == len(pairs)
    first_labels = [label for label, _ in pairs]
    second_labels = [label for _, label in pairs]
    expected = sk.precision_score(second_labels, first_labels, pos_label="yes", zero_division=0.0)
    assert first.measured["precision"].value == second.measured["recall"].value
    assert first.measured["precision"].value == pytest.approx(expected)
    assert result.mean["f1"].value == pytest.approx(first.measured["f1"].value)


def test_a_rater_without_a_unit_to_compare_is_left_out() -> None:
    ratings = {"ann": labels_of("yn."), "bob": labels_of("yn."), "cem": labels_of("..n")}
    result = ceiling(ratings, "accuracy", ClosedLabels(("yes", "no")))
    assert [score.rater for score in result.raters] == ["ann", "bob"]


def test_where_nobody_agrees_each_of_the_others_is_gold() -> None:
    result = ceiling({"r": ["a"], "s": ["b"], "t": ["c"]}, "accuracy", ClosedLabels("abc"))
    assert result.mean["accuracy"].value == 0.0


@pytest.mark.parametrize("rule", [None, "mean"])
def test_scores_are_held_against_the_mean_of_the_others(rule: Any) -> None:
    ratings: dict[str, list[int]] = {
        "ann": [1, 2, 3, 4, 5, 3],
        "bob": [2, 2, 4, 4, 4, 3],
        "cem": [1, 3, 3, 5, 5, 3],
    }
    groups = list(map(str, range(6)))
    found = human_ceiling(ratings, "mae", Scores(1, 5, whole=True), groups=groups, rule=rule)
    means_of_others = {"ann": [1.5, 2.5, 3.5, 4.5, 4.5, 3], "bob": [1, 2.5, 3, 4.5, 5, 3]}
    for score in found.raters[:2]:
        gold = means_of_others[score.rater]
        assert score.measured["mae"].value == pytest.approx(
            sk.mean_absolute_error(gold, ratings[score.rater])
        )
    deviations = [score.measured["mean_deviation"].value for score in found.raters]
    assert sum(deviations) == pytest.approx(0.0, abs=0.35)
    assert min(deviations) < 0 < max(deviations)
