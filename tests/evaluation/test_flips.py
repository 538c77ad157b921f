"""Flips: what counts as a changed answer, and what does not count at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.cases import Values
from jurist.errors import JuristError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.disagreements import count_flips
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.scale import Scale
from jurist.evaluation.scores import Scores
from jurist.evaluation.sets import LabelSets

LABELS = ClosedLabels(("yes", "no"), frozenset({"no"}))
SCORES = Scores(low=0, high=10)
LABEL_SETS = LabelSets(("a", "b", "c"))
FAILED = JudgedRow(id="f", group="g", gold=("yes",), predicted=(None,), failed=True)
labels = st.sampled_from(["yes", "no"])


def row(number: int, before: Values, after: Values) -> JudgedRow:
    """Return a case that was answered as it is, and with its text changed; two cases are of one group."""
    return JudgedRow(id=str(number), group=f"g{number // 2}", gold=before, predicted=after)


@pytest.mark.parametrize(
    ("comparison", "before", "after", "flipped", "silenced", "shift"),
    [
        (LABELS, ("yes",), ("yes",), 0, 0, 0.0),
        (LABELS, ("yes",), ("no",), 1, 0, 1.0),
        (LABELS, ("yes",), (None,), 1, 1, 1.0),
        (LABELS, ("yes", None, "no"), ("yes", "no", "no"), 0, 0, 0.0),
        (LABELS, ("yes", "no"), ("yes", "yes"), 1, 0, 0.5),
        (SCORES, (5.0,), (5.0,), 0, 0, 0.0),
        (SCORES, (5.0,), (7.5,), 1, 0, 0.25),
        (LABEL_SETS, (("a", "b"),), (("a", "b"),), 0, 0, 0.0),
        (LABEL_SETS, (("a", "b"),), (("c",),), 1, 0, 1.0),
    ],
)
def test_a_flip_is_a_changed_answer_of_any_kind(
    comparison: Scale, before: Values, after: Values, flipped: int, silenced: int, shift: float
) -> None:
    result = count_flips([row(0, before, after)], comparison)
    assert (result.cases, result.flipped, result.silenced) == (1, flipped, silenced)
    assert result.rate.value == flipped
    assert result.shift == pytest.approx(shift)


def test_what_was_not_answered_before_or_failed_after_does_not_count() -> None:
    result = count_flips([row(0, ("yes",), ("no",)), row(1, (None,), ("no",)), FAILED], LABELS)
    assert (result.cases, result.flipped, result.silenced, result.failed) == (1, 1, 0, 1)
    assert result.answers == {"yes": (1, 1)}


def test_flips_need_an_answer() -> None:
    with pytest.raises(JuristError, match="none of 1 cases"):
        count_flips([FAILED], LABELS)


@given(st.lists(st.tuples(labels, labels), min_size=1))
def test_counts_and_rate_are_of_the_same_cases(pairs: list[tuple[str, str]]) -> None:
    rows = []
    changed = 0
    for number, (before, after) in enumerate(pairs):
        rows.append(row(number, (before,), (after,)))
        changed += before != after
    result = count_flips(rows, LABELS)
    assert result.flipped == changed
    assert result.rate.value == pytest.approx(changed / len(pairs)) == pytest.approx(result.shift)
    assert 0 <= result.rate.interval.low <= result.rate.value <= result.rate.interval.high <= 1
    assert sum(flipped for flipped, _ in result.answers.values()) == changed
