"""A server that reads only the end of a long prompt, and does not say so."""

import json
from typing import Any

import pytest
from asking import FECT, asker
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback

from jurist.engines.models import Model, address_of
from jurist.engines.window import Window


@given(
    window=st.sampled_from([2048, 4096, 10_000]),
    sizes=st.lists(st.integers(400, 80_000), min_size=1, max_size=30),
    density=st.floats(0.2, 0.5),
)
def test_a_prompt_that_fills_the_window_is_noticed(window: int, sizes: list[int], density: float) -> None:
    seen = Window()
    seen.missing_from(4000, round(4000 * density) | 1)
    for size in sizes:
        tokens = round(size * density) | 1
        missing = seen.missing_from(size, min(tokens, window))
        if tokens < window:
            assert missing == 0
        elif tokens > 1.05 * window:
            # A prompt cut by 2 % or less passes for whole and lowers the density by as much; counts are rounded.
            assert missing == pytest.approx(tokens - window, abs=0.02 * tokens + 2)


def test_dropped_messages_are_noticed_and_numbers_that_count_nothing_are_not() -> None:
    seen = Window()
    assert seen.missing_from(20_000, 5_001) == 0
    assert seen.missing_from(20_000, 901) == 4_100
    assert seen.missing_from(20_000, 100) == 0


def test_a_row_whose_prompt_was_cut_is_an_abstention_and_says_why() -> None:
    def counted(body: dict[str, Any]) -> int:
        return min(2048, len(json.dumps(body["messages"])) // 4 | 1)

    cases = [FECT.case({"conversation": "Agent: " + "hello " * n, "claim": "c"}) for n in (400, 3000, 500)]
    with Loopback(tokens=counted) as server:
        found = asker(server, concurrency=1).ask_all(cases)
        assert [verdict.status for verdict in found] == ["verdict", "abstained", "verdict"]
        assert [verdict.error_kind for verdict in found] == ["", "context length", ""]
        assert found[1].error.startswith("too long for the model: the server has read 2048 of about 4")
        assert "OLLAMA_CONTEXT_LENGTH" in found[1].error
        assert server.count == 3


@pytest.mark.parametrize(
    ("name", "given_address", "asked"),
    [
        ("ollama_chat/m", "http://host:11434", "http://host:11434/v1"),
        ("ollama_chat/m", "http://host:11434/", "http://host:11434/v1"),
        ("ollama/m", "http://host/ollama", "http://host/ollama/v1"),
        ("ollama/m", "http://host:11434/api", "http://host:11434/v1"),
        ("ollama_chat/m", "http://host:11434/v1", "http://host:11434/v1"),
        ("openai/m", "http://host:11434", "http://host:11434/v1"),
        ("openai/m", "http://host:8000", "http://host:8000"),
        ("openai/m", "http://host:8000/v1", "http://host:8000/v1"),
        ("openai/m", None, None),
    ],
)
def test_ollama_is_asked_where_it_speaks_the_protocol(name: str, given_address: Any, asked: Any) -> None:
    assert address_of(Model(name=name, api_base=given_address)) == asked
