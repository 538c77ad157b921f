"""Items with their checks: what a program returns, what it counts as, and the rates."""

import json
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import JudgeError
from jurist.evaluation.checked_items import Check, CheckedItem, CheckedItems
from jurist.evaluation.rows import Row
from jurist.evaluation.units import encode
from jurist.evaluation.votes import Sampling
from jurist.programs.answers.whole import Checked

ONE = Checked(field="written", unit="document", checks=("true", "short"))
TWO = Checked(field="written", unit="document", checks=("true", "short"), items=2)
WORDS = st.sampled_from(["yes", "no", "uncertain", "unusable"])


def read(answer: Checked, *items: tuple[Any, Any, Any]) -> Any:
    """Read a reply with (item, true, short) for each item."""
    reply = {
        "written": [item for item, _, _ in items],
        "checks": [{"true": true, "short": short} for _, true, short in items],
    }
    return answer.read(reply, {})


@pytest.mark.parametrize(
    ("given", "verdict", "reason"),
    [
        (True, "yes", ""),
        (False, "no", ""),
        (" Yes ", "yes", ""),
        ("uncertain", "uncertain", ""),
        (dspy.Prediction(verdict="no", reason="not in the document"), "no", "not in the document"),
        ({"verdict": "yes", "reason": None}, "yes", ""),
        (Check(verdict="no", reason="r"), "no", "r"),
        ("maybe", "unusable", "the verdict was 'maybe'"),
        (None, "unusable", "the verdict was None"),
        (1, "unusable", "the verdict was 1"),
    ],
)
def test_what_a_check_may_say(given: Any, verdict: str, reason: str) -> None:
    check = Check.of(given)
    assert (check.verdict, check.reason) == (verdict, reason)


def test_a_reply_is_read_and_written_back() -> None:
    reading = read(TWO, ({"q": "Q?", "n": 1}, True, "no"), (["a", 2], "uncertain", True))
    (value,) = reading.values
    assert [item.passed for item in value] == [False, False]
    assert [item.data for item in value] == [{"q": "Q?", "n": 1}, ["a", 2]]
    assert reading.counts == {"uncertain": 1}
    assert TWO.scale.of_json(json.loads(json.dumps(TWO.scale.to_json(value)))) == value
    assert TWO.unit_value(TWO.unit_parts(value)) == value
    assert TWO.scale.failures(value) == ["short: no", "true: uncertain"]
    assert TWO.scale.category(value) == "true and short"
    assert "short: no" in TWO.scale.feedback("doc", TWO.scale.expected, value)
    assert "1 of 2 items were written" in TWO.scale.feedback("doc", TWO.scale.expected, value[:1])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"written": ["a"]}, "gave 1 items and checks=None"),
        ({"written": ["a"], "checks": [{}, {}]}, "gave 1 items"),
        ({"written": ["a"], "checks": [{"true": True}]}, r"came with the checks \['true'\]"),
        ({"written": ["a"], "checks": ["yes"]}, "came with the checks yes"),
    ],
)
def test_a_program_that_gives_other_checks_is_refused(reply: dict[str, Any], said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        ONE.read(reply, {})


@pytest.mark.parametrize("items", [None, [], "text", {"a": 1}])
def test_no_item_is_no_usable_answer(items: Any) -> None:
    reading = ONE.read({"written": items, "checks": []}, {})
    assert (reading.values, reading.problem) == ((None,), "no item was written")


def test_of_several_samples_the_first_that_passes_counts_and_ends_them() -> None:
    bad, good, other = (
        read(ONE, row).values[0] for row in (("a", 0 == 1, True), ("b", True, True), ("c", True, True))
    )
    three = Sampling(samples=3)
    assert ONE.scale.combine({bad: 1, good: 1, other: 1}, three) == good
    assert ONE.scale.combine({bad: 1}, three) == bad
    assert ONE.scale.combine({}, three) is None
    assert not ONE.scale.is_decided({bad: 1}, 1, three)
    assert ONE.scale.is_decided({bad: 1, good: 1}, 1, three)


@pytest.mark.parametrize(
    "changes", [{"checks": ()}, {"checks": ("a", "a")}, {"checks": ("",)}, {"items": 0}, {"unit": "nothing"}]
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any]) -> None:
    settings = {"field": "items", "unit": "document", "checks": ("a",), **changes}
    with pytest.raises(JudgeError):
        Checked(**settings).check("quiz", ("document",))


def items_of(rows: list[tuple[str, str]]) -> tuple[CheckedItem, ...]:
    return tuple(
        CheckedItem(content=str(n), checks=(Check(verdict=true), Check(verdict=short)))
        for n, (true, short) in enumerate(rows)
    )


@given(
    st.lists(st.none() | st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=3), min_size=1, max_size=8)
)
def test_rates_are_shares_of_the_wanted_items(documents: list[list[tuple[str, str]] | None]) -> None:
    """Counted here by hand; a document without an answer has none of its items."""
    kind = CheckedItems(TWO.checks)
    rows = [
        Row(
            id=str(n),
            group=str(n),
            gold=(TWO.scale.expected,),
            predicted=(None if found is None else items_of(found),),
        )
        for n, found in enumerate(documents)
    ]
    units = encode(kind, rows)
    metrics = kind.metrics
    written = [found or [] for found in documents]
    wanted = sum(max(2, len(found)) for found in written)
    passed = sum(one == ("yes", "yes") for found in written for one in found)
    short = sum(one[1] == "yes" for found in written for one in found)
    worst = units.worst
    assert metrics["validation_rate"].of(worst) == pytest.approx(passed / wanted)
    assert metrics["short_rate"].of(worst) == pytest.approx(short / wanted)
    right = [kind.right(TWO.scale.expected, items_of(found)) for found in written]
    assert right == [len(found) >= 2 and all(one == ("yes", "yes") for one in found) for found in written]
