"""A reply that is nested too deep for DSPy's parsers is an abstention like any other unusable reply."""

from typing import Any

import pytest
from dspy.lm15 import Message, Request, Response, Usage

from jurist.engines.channel import CallContext, Channel
from jurist.programs.asking import Asker
from jurist.programs.catalogue import find

REPLIES = {
    "list": "[" * 20_000,
    "object": '{"FIELD":' * 3_000,
    "braces": "{" * 3_000,
    "field": "[[ ## FIELD ## ]]\n" + "[" * 5_000,
    "tags": "<FIELD>" * 2_000,
    "digits": "[[ ## FIELD ## ]]\n" + "9" * 6_000,
}


class Always:
    """Answers every request with one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def complete(self, request: Request) -> tuple[Response, float | None]:
        usage, message = Usage(input_tokens=1, output_tokens=1), Message.assistant(self.text)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage), 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        return self.complete(request)


@pytest.mark.parametrize("adapter", ["chat", "json", "xml"])
@pytest.mark.parametrize("name", ["fect", "cognibench"])
@pytest.mark.parametrize("reply", REPLIES)
def test_nested_replies_are_abstentions(name: str, adapter: str, reply: str) -> None:
    judge = find(name)
    row: dict[str, Any] = {"conversation": "c", "claim": "c", "reference": "r", "sentences": ["a", "b"]}
    channel = Channel(
        Always(REPLIES[reply].replace("FIELD", judge.answer.field)), CallContext.fresh(), "judge"
    )
    lm = channel.lm("jurist/fake")
    verdict = Asker(judge=judge, program=judge.basic(), lm=lm, adapter=adapter).ask(judge.case(row))
    assert verdict.status == "abstained"
    assert set(verdict.values) == {None}
    assert verdict.error.startswith("unusable reply")
