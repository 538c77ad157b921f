"""The engine: ``complete(request) -> response``, synchronous and asynchronous, for ``dspy.LM``.

It is a text-overlap scorer, not an LLM; docs/offline.md says what it does and what not. It reads no prompt:
what is asked comes beside the messages, from our adapters, and the answer is written by the same adapter.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...text.terms import count_tokens
from ..adapters import ADAPTERS
from ..draws import typed_request
from ..probabilities import label_tokens
from .decisions import Manner
from .request import read_request
from .skills import answer

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


MODEL = "jurist/offline"


class OfflineEngine:
    """Answers DSPy requests by how texts overlap."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __deepcopy__(self, memo: dict[int, Any]) -> OfflineEngine:
        return self  # DSPy copies programs, and a copy must not become another engine

    def dump_state(self) -> dict[str, Any]:
        """Return the arguments that make an equal engine."""
        return {"seed": self.seed}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> OfflineEngine:
        """Make an engine from ``dump_state``."""
        return cls(seed=int(state.get("seed", 0)))

    def complete(self, request: Request) -> Response:
        """Answer one request. Deterministic for equal (engine seed, request)."""
        from dspy.lm15 import Message, Response, Usage

        typed = typed_request.get()
        if typed is None:
            raise ModelError(
                "the offline engine reads typed requests, not prompts, and got a prompt alone",
                hint=f"ask through jurist.engines.adapters.adapter(NAME), NAME one of {', '.join(ADAPTERS)}",
            )
        system = request.system or ""
        if not isinstance(system, str):
            system = "\n".join(str(getattr(part, "text", "")) for part in system)
        messages = [(message.role, message.text or "") for message in request.messages]
        rng = random.Random(_digest(self.seed, system, messages, request.config.seed))
        heat = float(request.config.temperature or 0.0)
        reply = answer(read_request(typed), Manner(temperature=heat, rng=rng))
        text = typed.adapter.format_assistant_message_content(typed.signature, dict(reply.values)).strip()
        wanted = request.config.logprobs is not None
        asked = count_tokens(system) + sum(count_tokens(body) for _, body in messages)
        return Response(
            id=None,
            model=MODEL,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(input_tokens=asked, output_tokens=count_tokens(text)),
            logprobs=label_tokens(typed.signature, text, reply.probabilities) if wanted else None,
        )


class AsyncOfflineEngine(OfflineEngine):
    """The same engine behind an ``async`` method, for ``dspy.LM(..., async_engine=...)``."""

    async def complete(self, request: Request) -> Response:
        """Answer one request, exactly as the synchronous engine does."""
        return OfflineEngine.complete(self, request)


def _digest(seed: int, system: str, messages: list[tuple[str, str]], draw: int | None) -> int:
    hasher = hashlib.sha256(f"{seed}|{draw}|".encode())
    for role, body in (("system", system), *messages):
        hasher.update(f"{role}|{len(body)}|".encode())
        hasher.update(body.encode("utf-8", "surrogatepass"))
    return int.from_bytes(hasher.digest()[:8], "big")
