"""Cases that are longer than a model reads: said, and not sent when that is certain."""

from collections.abc import Callable
from typing import Any

import pytest
from asking import FECT, asker
from loopback import Loopback

from jurist.engines.channel import CallContext
from jurist.engines.models import Model, connect
from jurist.programs.asking import Asker

Serve = Callable[..., Loopback]
LIMIT = 2000


def case(words: int) -> Any:
    return FECT.case({"conversation": "Agent: " + "hello " * words, "claim": f"claim {words}"})


def refuses(body: dict[str, Any]) -> str:
    tokens = sum(len(message["content"]) for message in body["messages"]) // 6
    said = f"This model's maximum context length is {LIMIT} tokens. However, you requested {tokens} tokens."
    return said if tokens > LIMIT else ""


def test_the_first_refusal_tells_the_limit(serve: Serve) -> None:
    server = serve(refuses=refuses)
    judge = asker(server, concurrency=1)
    found = judge.ask_all([case(10), case(3000), case(12_000), case(20)])
    assert [one.status for one in found] == ["verdict", "failed", "failed", "verdict"]
    assert server.count == 3  # the second long one is not sent
    assert [one.usage.calls for one in found] == [1, 1, 0, 1]
    assert "maximum context length is 2000" in found[1].error
    assert "reads 2000 at once; it was not sent" in found[2].error


@pytest.mark.parametrize("words", [100, 1500])
def test_what_may_fit_is_sent(serve: Serve, words: int) -> None:
    server = serve(refuses=refuses)
    judge = asker(server, concurrency=1)
    judge.ask_all([case(3000), case(words)])
    assert server.count == 2


def test_the_catalogue_tells_it_of_a_model_of_a_provider(fake_key: str) -> None:
    context = CallContext.fresh()
    lm = connect(Model(name="openai/gpt-4"), context)  # reads 8,192 tokens
    verdict = Asker(judge=FECT, program=FECT.basic(), lm=lm).ask(case(20_000))
    assert (verdict.status, context.ledger.spend().calls) == ("failed", 0)
    assert "reads 8192 at once" in verdict.error
