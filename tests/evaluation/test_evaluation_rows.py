"""Rows, counts, pairing and encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measures import row

from jurist.errors import JuristError, UsageError
from jurist.evaluation.closed_labels import ClosedLabels
from jurist.evaluation.rows import Counts, JudgedRow, matched, tally
from jurist.evaluation.units import encode


def test_tally_tells_abstained_failed_and_unlabelled_apart() -> None:
    rows = [
        row("1", "ab", "aa"),
        row("2", "ab-", "a--"),
        row("3", "ab", "--", failed=True),
        row("4", "--", "a-"),
        row("5", "", ""),
        row("6", "-a", "-a"),
    ]
    found = tally(rows)
    assert found.units == Counts(total=11, answered=4, abstained=1, failed=2, unlabelled=4)
    assert found.cases == Counts(total=6, answered=2, abstained=1, failed=1, unlabelled=2)
    assert found.units.labelled == 7
    assert found.units.coverage == pytest.approx(4 / 7)
    assert tally(rows[3:4]).units.coverage == 0.0  # nothing is labelled


@given(st.lists(st.tuples(st.text("ab-", max_size=4), st.booleans())))
def test_the_counts_add_up(cases: list[tuple[str, bool]]) -> None:
    rows = [
        row(str(place), gold, "-" * len(gold) if failed else gold[::-1], failed=failed)
        for place, (gold, failed) in enumerate(cases)
    ]
    for counts in (tally(rows).units, tally(rows).cases):
        assert counts.answered + counts.abstained + counts.failed + counts.unlabelled == counts.total


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([row("1", "a", "a")], "judged different cases: 1 occur once only, such as '2'"),
        ([row("1", "a", "a"), row("2", "b", "a")], "case '2' has another gold label or group"),
        ([row("1", "a", "a", group="h"), row("2", "a", "a")], "case '1' has another gold label or group"),
    ],
)
def test_pairing_refuses(second: list[JudgedRow], message: str) -> None:
    with pytest.raises(JuristError, match=message):
        matched([row("1", "a", "b"), row("2", "a", "b")], second)


def test_pairing_goes_by_id() -> None:
    first = [row("1", "a", "b"), row("2", "b", "b")]
    second = [row("2", "b", "a"), row("1", "a", "a")]
    assert matched(first, second) == [second[1], second[0]]


@pytest.mark.parametrize(
    ("rows", "labels", "positive", "error", "message"),
    [
        ([row("1", "-", "a")], "ab", "a", JuristError, "none of the 1 rows has a labelled unit"),
        ([row("1", "a", "a")], "aab", "a", UsageError, "names a label twice"),
        ([row("1", "a", "a")], "", "", UsageError, "empty"),
        ([row("1", "a", "a")], "ab", "ab", UsageError, "no proper part"),
        ([row("1", "a", "a")], "ab", "c", UsageError, "no proper part"),
    ],
)
def test_encoding_refuses(
    rows: list[JudgedRow], labels: str, positive: str, error: type[JuristError], message: str
) -> None:
    with pytest.raises(error, match=message):
        encode(ClosedLabels(labels, frozenset(positive)), rows)


def test_encoding_sorts_by_group_and_leaves_out_unlabelled_units() -> None:
    units = encode(
        ClosedLabels("ab", {"a"}), [row("2", "ab", "b-", group="z"), row("1", "-b", "ab", group="k")]
    )
    assert units.gold.tolist() == [1, 0, 1]
    assert units.predicted.tolist() == [[1, 1, -1]]
    assert units.group.tolist() == [0, 1, 1]
    assert units.right is not None
    assert units.right.tolist() == [[True, False, False]]
    assert units.wrong.tolist() == [0, 1, 0]
    assert units.pairs[1] == [("a", "b"), ("b", "b")]
    assert units.pairs[0].tolist() == [[1, 0, -1]]
