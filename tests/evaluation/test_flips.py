"""Flips: what counts as a changed answer, and what does not count at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import JuristError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import flips
from jurist.evaluation.rows import Row
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets

LABELS = ClosedLabels(("yes", "no"), frozenset({"no"}))


def rows(*pairs: tuple[Any, Any]) -> list[Row]:
    return [
        Row(id=str(n), group=f"g{n // 2}", gold=tuple(a), predicted=tuple(b))
        for n, (a, b) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("comparison", "before", "after", "flipped", "shift"),
    [
        (LABELS, ["yes"], ["yes"], 0, 0.0),
        (LABELS, ["yes"], ["no"], 1, 1.0),
        (LABELS, ["yes"], [None], 1, 1.0),
        (LABELS, ["yes", None, "no"], ["yes", "no", "no"], 0, 0.0),
        (LABELS, ["yes", "no"], ["yes", "yes"], 1, 0.5),
        (Scores(low=0, high=10), [5.0], [5.0], 0, 0.0),
        (Scores(low=0, high=10), [5.0], [7.5], 1, 0.25),
        (LabelSets(("a", "b", "c")), [("a", "b")], [("a", "b")], 0, 0.0),
        (LabelSets(("a", "b", "c")), [("a", "b")], [("c",)], 1, 1.0),
    ],
)
def test_a_flip_is_a_changed_answer_of_any_kind(
    comparison: Any, before: Any, after: Any, flipped: int, shift: float
) -> None:
    found = flips(rows((before, after)), comparison)
    assert (found.cases, found.flipped) == (1, flipped)
    assert found.rate.value == flipped
    assert found.shift == pytest.approx(shift)
    assert found.silenced == (None in after and before[after.index(None)] is not None)


def test_what_was_not_answered_before_or_failed_after_does_not_count() -> None:
    failed = Row(id="f", group="g", gold=("yes",), predicted=(None,), failed=True)
    found = flips([*rows((["yes"], ["no"]), ([None], ["no"])), failed], LABELS)
    assert (found.cases, found.flipped, found.silenced, found.failed) == (1, 1, 0, 1)
    assert found.answers == {"yes": (1, 1)}
    with pytest.raises(JuristError, match="none of 1 cases"):
        flips([failed], LABELS)


@given(st.lists(st.tuples(st.sampled_from(["yes", "no"]), st.sampled_from(["yes", "no"])), min_size=1))
def test_counts_and_rate_are_of_the_same_cases(pairs: list[tuple[str, str]]) -> None:
    found = flips(rows(*(([a], [b]) for a, b in pairs)), LABELS)
    assert found.flipped == sum(a != b for a, b in pairs)
    assert found.rate.value == pytest.approx(found.flipped / len(pairs)) == pytest.approx(found.shift)
    assert 0 <= found.rate.interval.low <= found.rate.value <= found.rate.interval.high <= 1
    assert sum(flipped for flipped, _ in found.answers.values()) == found.flipped
