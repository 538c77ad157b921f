"""Items with their checks: what a program returns, what it counts as, and the rates."""

from __future__ import annotations

import json
from typing import Any

import dspy
import pytest

from jurist.errors import JudgeError
from jurist.programs.answers.checks import Check, Checked
from jurist.programs.votes import Sampling

ONE = Checked(field="items", unit="document", checks=("true", "short"))
TWO = Checked(field="items", unit="document", checks=("true", "short"), items=2)


def read(answer: Checked, *items: tuple[Any, Any, Any]) -> Any:
    """Read a reply with (item, true, short) for each item."""
    reply = {
        "items": [item for item, _, _ in items],
        "checks": [{"true": true, "short": short} for _, true, short in items],
    }
    return answer.read(reply, 1)


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
    assert TWO.of_json(json.loads(json.dumps(TWO.to_json(value)))) == value
    assert TWO.unit_value(TWO.unit_parts(value)) == value
    assert TWO.failures(value) == ["short: no", "true: uncertain"]
    assert TWO.category(value) == "true and short"
    assert "short: no" in TWO.feedback("doc", TWO.expected, value)
    assert "1 of 2 items were written" in TWO.feedback("doc", TWO.expected, value[:1])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ({"items": ["a"]}, "gave 1 items and checks=None"),
        ({"items": ["a"], "checks": [{}, {}]}, "gave 1 items"),
        ({"items": ["a"], "checks": [{"true": True}]}, r"came with the checks \['true'\]"),
        ({"items": ["a"], "checks": ["yes"]}, "came with the checks yes"),
    ],
)
def test_a_program_that_gives_other_checks_is_refused(reply: dict[str, Any], said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        ONE.read(reply, 1)


@pytest.mark.parametrize("items", [None, [], "text", {"a": 1}])
def test_no_item_is_no_usable_answer(items: Any) -> None:
    reading = ONE.read({"items": items, "checks": []}, 1)
    assert (reading.values, reading.problem) == ((None,), "no item was written")


def test_of_several_samples_the_first_that_passes_counts_and_ends_them() -> None:
    bad, good, other = (
        read(ONE, row).values[0] for row in (("a", 0 == 1, True), ("b", True, True), ("c", True, True))
    )
    three = Sampling(samples=3)
    assert ONE.combine({bad: 1, good: 1, other: 1}, three) == good
    assert ONE.combine({bad: 1}, three) == bad
    assert ONE.combine({}, three) is None
    assert not ONE.decided({bad: 1}, 1, three)
    assert ONE.decided({bad: 1, good: 1}, 1, three)


@pytest.mark.parametrize(
    "changes", [{"checks": ()}, {"checks": ("a", "a")}, {"checks": ("",)}, {"items": 0}, {"unit": "nothing"}]
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any]) -> None:
    settings = {"field": "items", "unit": "document", "checks": ("a",), **changes}
    with pytest.raises(JudgeError):
        Checked(**settings).check("quiz", ("document",))
