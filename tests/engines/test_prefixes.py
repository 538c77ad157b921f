"""Where the cache mark of Anthropic stands: at the end of what cases share, and nowhere where nothing is shared."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from dspy.lm15 import Message, Request
from hypothesis import given
from hypothesis import strategies as st
from wire import Wire, anthropic_reply

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.engines.prefixes import SharedPrefixes

LONG = "The policy of the house, word for word. " * 100
SHORT = "Judge the claim."


def prompt(system: str, shown: Sequence[str], case: str) -> Request:
    """Return a request with rows shown as turns before the case."""
    turns = [message for row in shown for message in (Message.user(row), Message.assistant("yes"))]
    return Request(model="m", system=system, messages=(*turns, Message.user(case)))


FIXED = ["a demonstration", "another one"]
CASES = [f"case {number}" for number in range(6)]
MARKS = {
    "instruction alone": ([prompt(LONG, [], case) for case in CASES], [0, 1, 1, 1, 1, 1]),
    "the same demonstrations": ([prompt(LONG, FIXED, case) for case in CASES], [0, 5, 5, 5, 5, 5]),
    "rows chosen for each case": (
        [prompt(LONG, [f"near {case}", "far"], case) for case in CASES],
        [0, 1, 1, 1, 1, 1],
    ),
    "fixed ones before chosen ones": (
        [prompt(LONG, [*FIXED, f"near {case}"], case) for case in CASES],
        [0, 5, 5, 5, 5, 5],
    ),
    "demonstrations that a search changes": (
        [prompt(LONG, [f"set {number}", "another"], case) for number in range(3) for case in CASES],
        [0, *[5] * 5, 1, *[5] * 5, 1, *[5] * 5],
    ),
    "a prompt with demonstrations among many without": (
        [
            *(prompt(LONG, [], f"first {number}") for number in range(20)),
            *(prompt(LONG, FIXED, case) for case in CASES),
        ],
        [0, *[1] * 19, 0, *[5] * 5],
    ),
    "few rows to choose from": (
        [prompt(LONG, [f"row {number % 7}", f"row {number % 5}"], f"case {number}") for number in range(40)],
        [0, *[1] * 39],
    ),
    "one case alone": ([prompt(LONG, FIXED, CASES[0])], [0]),
    "one case that is sent again": ([prompt(LONG, FIXED, CASES[0])] * 4, [0, 0, 0, 0]),
    "too short for a cache": ([prompt(SHORT, [], case) for case in CASES], [0] * 6),
    "short without its demonstrations": ([prompt(SHORT, [LONG], case) for case in CASES], [0, 3, 3, 3, 3, 3]),
    "a prompt of its own for each": ([prompt(LONG + case, FIXED, case) for case in CASES], [0] * 6),
}


@pytest.mark.parametrize("name", MARKS)
def test_the_mark_stands_at_the_end_of_what_cases_share(name: str) -> None:
    requests, parts = MARKS[name]
    prefixes = SharedPrefixes()
    assert [prefixes.shared_parts(request) for request in requests] == parts


@given(
    st.lists(
        st.tuples(st.sampled_from([LONG, SHORT]), st.lists(st.text(), max_size=3), st.text()), max_size=30
    )
)
def test_no_mark_reaches_the_case_or_what_was_not_there_before(
    asked: list[tuple[str, list[str], str]],
) -> None:
    prefixes, before = SharedPrefixes(), list[Request]()
    for system, shown, case in asked:
        request = prompt(system, shown, case)
        parts = prefixes.shared_parts(request)
        assert 0 <= parts <= len(request.messages)
        if parts:
            same = [
                one
                for one in before
                if one.system == system and one.messages[: parts - 1] == request.messages[: parts - 1]
            ]
            assert same
        before.append(request)


def test_the_wire_has_the_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-the-tests")
    with Wire(anthropic_reply(input_tokens=1, output_tokens=1)) as wire:
        lm = connect(Model(name="anthropic/claude-sonnet-4-5", api_base=wire.url), CallContext.fresh())
        engine: Any = lm._engine_spec
        for case in CASES[:2]:
            engine.complete(replace(prompt(LONG, FIXED, case), model="anthropic/claude-sonnet-4-5"))
    marked = [
        ["cache_control" in str(part) for part in (one.body["system"], *one.body["messages"])]
        for one in wire.arrived
    ]
    assert marked == [[False] * 6, [True, False, False, False, True, False]]
