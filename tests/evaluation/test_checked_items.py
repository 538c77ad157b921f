"""Items with their checks: what a program returns, what it counts as, and the rates."""

import json
from typing import Any

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jurist.errors import JudgeError
from jurist.evaluation.checked_items import Check, CheckedItem, CheckedItems, CheckWord
from jurist.evaluation.rows import JudgedRow
from jurist.evaluation.units import encode
from jurist.evaluation.votes import Sampling
from jurist.programs.answers.whole import Checked
from jurist.programs.verdicts import Verdict

ONE = Checked(field="written", unit="document", checks=("true", "short"))
TWO = Checked(field="written", unit="document", checks=("true", "short"), items=2)
WORDS = st.sampled_from(["yes", "no", "uncertain", "unusable"])


def read(answer: Checked, *items: tuple[object, object, object]) -> Verdict:
    """Read a reply with (item, true, short) for each item."""
    contents = []
    checks = []
    for content, true, short in items:
        contents.append(content)
        checks.append({"true": true, "short": short})
    return answer.read({"written": contents, "checks": checks}, {})


@pytest.mark.parametrize(
    ("outcome", "verdict", "reason"),
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
def test_what_a_check_may_say(outcome: object, verdict: str, reason: str) -> None:
    check = Check.of(outcome)
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
    ("reply", "message"),
    [
        ({"written": ["a"]}, "gave 1 items and checks=None"),
        ({"written": ["a"], "checks": [{}, {}]}, "gave 1 items"),
        ({"written": ["a"], "checks": [{"true": True}]}, r"came with the checks \['true'\]"),
        ({"written": ["a"], "checks": ["yes"]}, "came with the checks yes"),
    ],
)
def test_a_program_that_gives_other_checks_is_refused(reply: dict[str, object], message: str) -> None:
    with pytest.raises(JudgeError, match=message):
        ONE.read(reply, {})


@pytest.mark.parametrize("items", [None, [], "text", {"a": 1}])
def test_no_item_is_no_usable_answer(items: object) -> None:
    reading = ONE.read({"written": items, "checks": []}, {})
    assert (reading.values, reading.error) == ((None,), "no item was written")


def test_of_several_samples_the_first_that_passes_counts_and_ends_them() -> None:
    (bad,) = read(ONE, ("a", False, True)).values
    (good,) = read(ONE, ("b", True, True)).values
    (as_good,) = read(ONE, ("c", True, True)).values
    three = Sampling(samples=3)
    assert ONE.scale.combine({bad: 1, good: 1, as_good: 1}, three) == good
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


def items_of(verdicts: list[tuple[CheckWord, CheckWord]]) -> tuple[CheckedItem, ...]:
    """Return an item for each pair of verdicts."""
    items = []
    for number, (true, short) in enumerate(verdicts):
        checks = (Check(verdict=true), Check(verdict=short))
        items.append(CheckedItem(content=str(number), checks=checks))
    return tuple(items)


DOCUMENTS = st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=3), min_size=1, max_size=8)
"""The verdicts of the items of each document; without any there is no answer."""


@given(DOCUMENTS)
def test_rates_are_shares_of_the_wanted_items(documents: list[list[tuple[CheckWord, CheckWord]]]) -> None:
    """Counted here by hand; a document without an answer has none of its items."""
    kind = CheckedItems(TWO.checks)
    rows = []
    wanted_items = passed = short_items = 0
    for number, verdicts in enumerate(documents):
        answer = items_of(verdicts) or None
        id_ = str(number)
        rows.append(JudgedRow(id=id_, group=id_, gold=(TWO.scale.expected,), predicted=(answer,)))
        wanted_items += max(2, len(verdicts))
        passed_here = verdicts.count(("yes", "yes"))
        passed += passed_here
        short_items += sum(short == "yes" for _, short in verdicts)
        is_right = kind.right(TWO.scale.expected, items_of(verdicts))
        assert is_right == (len(verdicts) >= 2 and passed_here == len(verdicts))
    worst = encode(kind, rows).worst
    assert kind.metrics["validation_rate"].of(worst) == pytest.approx(passed / wanted_items)
    assert kind.metrics["short_rate"].of(worst) == pytest.approx(short_items / wanted_items)
