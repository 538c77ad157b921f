"""What the replies of each provider say of their tokens, and what is counted and priced of it."""

from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Message, Request
from wire import Wire, anthropic_reply, gemini_reply, openai_reply

from jurist.engines.channel import CallContext
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Meter
from jurist.engines.models import Model, connect

# Dollars per million tokens as in the table that DSPy ships: input, cached input, written cache, output.
GPT_5_MINI = (0.25, 0.025, 0.25, 2.0)
HAIKU = (1.0, 0.1, 1.25, 5.0)
FLASH = (0.3, 0.03, 0.3, 2.5)

OPENAI = openai_reply(
    prompt_tokens=1000,
    completion_tokens=640,
    total_tokens=1640,
    prompt_tokens_details={"cached_tokens": 900},
    completion_tokens_details={"reasoning_tokens": 600},
)
ANTHROPIC = anthropic_reply(
    input_tokens=50, cache_read_input_tokens=2000, cache_creation_input_tokens=400, output_tokens=30
)
GEMINI = gemini_reply(
    promptTokenCount=1000,
    cachedContentTokenCount=300,
    candidatesTokenCount=20,
    thoughtsTokenCount=400,
    totalTokenCount=1420,
)
GATEWAY = openai_reply(
    model="grok",
    prompt_tokens=100,
    completion_tokens=10,
    total_tokens=160,
    completion_tokens_details={"reasoning_tokens": 50},
)
REPLIES = {
    # model, reply -> input, output, cached, reasoning, (uncached, cached, written, output) at which prices
    "openai": ("openai/gpt-5-mini", OPENAI, (1000, 640, 900, 600), (100, 900, 0, 640), GPT_5_MINI),
    "anthropic": ("anthropic/claude-haiku-4-5", ANTHROPIC, (2450, 30, 2000, 0), (50, 2000, 400, 30), HAIKU),
    "gemini": ("gemini/gemini-2.5-flash", GEMINI, (1000, 420, 300, 400), (700, 300, 0, 420), FLASH),
    "gateway": ("openai/grok", GATEWAY, (100, 60, 0, 50), None, None),
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a-key-of-the-tests")


def ask(model: str, reply: dict[str, Any], context: CallContext) -> None:
    with Wire(reply) as wire:
        lm = connect(Model(name=model, api_base=wire.url), context)
        engine: Any = lm._engine_spec
        engine.complete(Request(model=model, messages=(Message.user("Is it so?"),)))


@pytest.mark.parametrize("name", REPLIES)
def test_all_tokens_are_counted_and_cached_and_hidden_ones_apart(name: str) -> None:
    model, reply, counts, parts, prices = REPLIES[name]
    context = CallContext.fresh()
    ask(model, reply, context)
    spend = context.ledger.spend()
    seen = (spend.input_tokens, spend.output_tokens, spend.cached_tokens, spend.reasoning_tokens)
    assert seen == counts
    assert context.meter.tokens == counts[0] + counts[1]
    if parts is None or prices is None:
        assert spend.unpriced == 1
        return
    dollars = sum(tokens * price for tokens, price in zip(parts, prices, strict=True)) / 1e6
    assert spend.cost == pytest.approx(dollars, abs=1e-9)


def test_a_journal_replays_hidden_tokens_and_takes_one_of_an_earlier_release(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    for _ in range(2):
        context = CallContext(ledger=Ledger(), meter=Meter(), journal=Journal(path))
        ask("openai/gpt-5-mini", OPENAI, context)
        context.journal.close()
        assert context.ledger.spend().calls + context.ledger.spend().replayed == 1
    journal = Journal(path)
    assert journal._data is not None
    journal._data.all("ALTER TABLE attempts DROP COLUMN reasoning_tokens")
    journal.close()
    context = CallContext(ledger=Ledger(), meter=Meter(), journal=Journal(path))
    ask("openai/gpt-5-mini", OPENAI, context)
    assert context.ledger.spend().replayed == 1
    context.journal.close()
