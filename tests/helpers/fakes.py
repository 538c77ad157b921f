"""A strict scripted engine: it sits where a real one does, and an unscripted call fails the test."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Request, Response, Usage

from jurist.engines.channel import CallContext, Channel, InnerEngine
from jurist.engines.journal import Journal
from jurist.engines.ledger import Ledger
from jurist.engines.meter import Budget, Meter

Answer = str | BaseException


class Scripted(InnerEngine):
    """Answers by a list of answers, used once each and in order, or by a function of the request.

    An answer that is an exception is raised. ``cost`` is what each answer costs.
    """

    def __init__(
        self, script: Sequence[Answer] | Callable[[Request], Answer], *, cost: float | None = 0.0
    ) -> None:
        self.script, self.cost = script, cost
        self.requests: list[Request] = []
        self.now = self.peak = 0

    def complete(self, request: Request) -> tuple[Response, float | None]:
        index = len(self.requests)
        self.requests.append(request)
        if callable(self.script):
            said = self.script(request)
        elif index < len(self.script):
            said = self.script[index]
        else:
            pytest.fail(f"unscripted call {index}: {user_of(request)[-300:]}")
        if isinstance(said, BaseException):
            raise said
        response = Response(
            id=None,
            model=request.model,
            message=Message.assistant(said),
            finish_reason="stop",
            usage=Usage(input_tokens=10, output_tokens=2),
        )
        return response, self.cost

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        self.now += 1
        self.peak = max(self.peak, self.now)
        try:
            await asyncio.sleep(0)
            return self.complete(request)
        finally:
            self.now -= 1


def context_with(budget: Budget | None = None, journal: Journal | None = None) -> CallContext:
    """Return a context with a budget and a journal."""
    journal = Journal() if journal is None else journal
    return CallContext(ledger=Ledger(), meter=Meter(budget), journal=journal)


def lm_of(inner: Any, context: CallContext, purpose: Any = "judge", **settings: Any) -> dspy.LM:
    """Return a language model whose calls go through ``context`` to ``inner``, as ``connect`` makes it."""
    return Channel(inner, context, purpose).lm("test/scripted", **settings)


def reply(adapter: str, **fields: Any) -> str:
    """Return a correct reply in an adapter's format."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    if adapter == "json":
        return json.dumps(fields)
    blocks = [f"[[ ## {name} ## ]]\n{text}" for name, text in texts.items()]
    return "\n\n".join([*blocks, "[[ ## completed ## ]]"])


def system_of(request: Request) -> str:
    """Return the system text of a request."""
    system = request.system
    return system if isinstance(system, str) else "".join(part.text for part in system or ())


def user_of(request: Request) -> str:
    """Return the last user message of a request."""
    return request.messages[-1].text or ""
