"""The engine: ``complete(request) -> response`` by how texts overlap (docs/offline.md)."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dspy.lm15 import ImagePart, Message, Request, Response, Usage

from ...errors import ModelError
from ...text.terms import count_tokens
from ..adapters import ADAPTERS
from ..draws import LABEL_PROBABILITIES, TypedRequest, typed_request
from .answers import Decisions, answer
from .request import parse_request
from .sampler import Sampler

MODEL = "jurist/offline"
Messages: TypeAlias = Sequence[tuple[str, str]]
"""(role, text) of each message."""


class OfflineEngine:
    """Answers DSPy requests by how texts overlap."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __deepcopy__(self, memo: dict[int, object]) -> "OfflineEngine":
        return self  # DSPy copies programs, and a copy must not become another engine

    def complete(self, request: Request) -> Response:
        """Return the response to a request, the same for equal (engine seed, request)."""
        if any(message.parts_of(ImagePart) for message in request.messages):
            raise ModelError(
                "the offline engine reads texts, and this judge sees images",
                hint="name a model that reads images with --model",
            )
        typed = _typed_request_in_hand()
        messages = _read_messages(request)
        sampler = self._make_sampler(request, messages)
        outputs = answer(parse_request(typed), sampler)
        text = typed.adapter.format_assistant_message_content(typed.signature, outputs.values).strip()
        provider_data: dict[str, object] | None = None
        if request.config.logprobs is not None:
            provider_data = {LABEL_PROBABILITIES: _probabilities_by_field(outputs.decisions)}
        input_tokens = 0
        for _, body in messages:
            input_tokens += count_tokens(body)
        return Response(
            id=None,
            model=MODEL,
            message=Message.assistant(text),
            finish_reason="stop",
            usage=Usage(input_tokens=input_tokens, output_tokens=count_tokens(text)),
            provider_data=provider_data,
        )

    def _make_sampler(self, request: Request, messages: Messages) -> Sampler:
        """Return the sampler of a request; its draws follow from the engine's seed and the request alone."""
        hasher = hashlib.sha256(f"{self.seed}|{request.config.seed}|".encode())
        for role, body in messages:
            hasher.update(f"{role}|{len(body)}|".encode() + body.encode("utf-8", "surrogatepass"))
        rng = random.Random(int.from_bytes(hasher.digest()[:8], "big"))
        return Sampler(temperature=float(request.config.temperature or 0.0), rng=rng)


def _typed_request_in_hand() -> TypedRequest:
    typed = typed_request.get()
    if typed is None:
        raise ModelError(
            "the offline engine reads typed requests, not prompts, and got a prompt alone",
            hint=f"ask through jurist.engines.adapters.adapter(NAME), NAME one of {', '.join(ADAPTERS)}",
        )
    return typed


def _read_messages(request: Request) -> Messages:
    system = request.system or ""
    if not isinstance(system, str):
        parts: list[str] = []
        for part in system:
            parts.append(str(getattr(part, "text", "")))
        system = "\n".join(parts)
    messages = [("system", system)]
    for message in request.messages:
        messages.append((message.role, message.text or ""))
    return messages


def _probabilities_by_field(decisions_by_field: Mapping[str, Decisions]) -> dict[str, list[dict[str, float]]]:
    """Return output field -> label -> probability of each of its decisions."""
    probabilities_by_field: dict[str, list[dict[str, float]]] = {}
    for name, decisions in decisions_by_field.items():
        field_probabilities = probabilities_by_field.setdefault(name, [])
        for decision in decisions:
            probabilities: dict[str, float] = {}
            for label, probability in decision.probabilities.items():
                probabilities[label] = round(probability, 6)
            field_probabilities.append(probabilities)
    return probabilities_by_field
