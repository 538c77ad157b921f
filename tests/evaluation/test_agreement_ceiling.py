"""The human ceiling: each rater against the majority of the others, on the judge's own metrics."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from jurist.evaluation.agreement import Ceiling, human_ceiling
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.measured import measure
from jurist.evaluation.rows import Row

LABELS = ("yes", "no")
KIND = ClosedLabels(LABELS, {"yes"})
Given = dict[str, list[str | None]]


def columns(texts: dict[str, str]) -> Given:
    names = {"y": "yes", "n": "no", ".": None}
    return {rater: [names[mark] for mark in text] for rater, text in texts.items()}


def ceiling(data: Given, metric: str, kind: ClosedLabels = KIND) -> Ceiling:
    units = len(next(iter(data.values())))
    return human_ceiling(data, metric, kind, groups=list(map(str, range(units))))


def test_each_rater_is_measured_like_a_judge_against_the_others() -> None:
    data = columns({"ann": "yynnyn", "bob": "ynnnyy", "cem": "yynyyn", "dan": "nynyy."})
    # of bob, cem, dan: yes (2 of 3), yes (2 of 3), no, yes (2 of 3), yes, and, without dan, yes and no
    rest = [["yes"] * 3, ["yes"] * 3, ["no"] * 3, ["yes"] * 3, ["yes"] * 3, ["yes", "no"]]
    found = ceiling(data, "f1")
    raters = [(one.rater, one.units, one.left_out) for one in found.raters]
    assert raters == [("ann", 6, 0), ("bob", 6, 0), ("cem", 6, 0), ("dan", 5, 0)]
    rows = [
        Row(id=f"{place}/{number}", group=str(place), gold=(gold,), predicted=(label,))
        for place, (golds, label) in enumerate(zip(rest, data["ann"], strict=True))
        for number, gold in enumerate(golds)
    ]
    assert found.raters[0].measured.scores == measure(rows, "f1", KIND).scores
    values = [one.measured["f1"].value for one in found.raters]
    assert found.mean["f1"].value == pytest.approx(sum(values) / 4)
    assert found.mean["f1"].interval.low < found.mean["f1"].value < found.mean["f1"].interval.high
    assert found.metric == "f1"


@settings(max_examples=40)
@given(units=st.lists(st.tuples(*[st.sampled_from([*LABELS, None])] * 2), min_size=2, max_size=20))
def test_two_raters_are_each_the_other_s_gold(units: list[tuple[str | None, str | None]]) -> None:
    both = [(one, two) for one, two in units if one is not None and two is not None]
    assume(both)
    found = ceiling({"r": [one for one, _ in units], "s": [two for _, two in units]}, "f1")
    first, second = found.raters
    assert first.units == second.units == len(both)
    left, right = [one for one, _ in both], [two for _, two in both]
    wanted = sk.precision_score(right, left, pos_label="yes", zero_division=0.0)
    assert first.measured["precision"].value == second.measured["recall"].value
    assert first.measured["precision"].value == pytest.approx(wanted)
    assert found.mean["f1"].value == pytest.approx(first.measured["f1"].value)


def test_a_rater_without_a_unit_to_compare_is_left_out() -> None:
    data = columns({"ann": "yn.", "bob": "yn.", "cem": "..n"})
    found = ceiling(data, "accuracy", ClosedLabels(LABELS))
    assert [one.rater for one in found.raters] == ["ann", "bob"]
    three: Given = {"r": ["a"], "s": ["b"], "t": ["c"]}
    nobody_agrees = ceiling(three, "accuracy", ClosedLabels("abc"))
    assert nobody_agrees.mean["accuracy"].value == 0.0
