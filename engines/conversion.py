"""Requests and responses of DSPy as plain values: what the journal keeps of them, and back."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dspy.lm15 import (
    Config,
    DataPart,
    ImagePart,
    Message,
    RefusalPart,
    Request,
    Response,
    ToolCallPart,
    Usage,
)

from ..text.escaping import well_formed
from ..text.replies import is_whole
from .identity_cache import IdentityCache
from .journal import WINDOW_FULL, StoredResponse

_MOST_TOKENS: Final = 2**53  # an endpoint may say anything, and a journal holds no larger number
_FULL_WINDOW: Final = ("model_context_window_exceeded", "model_length")  # Anthropic's word, and Mistral's
_SHORTEST_KEY: Final = 12  # characters; what is shorter ("none", "local") is also an ordinary word

config_with: Final[IdentityCache[Config]] = IdentityCache(
    lambda config, seed, logprobs: replace(config, seed=seed, logprobs=logprobs)
)
"""(config, seed, logprobs) -> the config with this seed and number of log-probabilities, the same object each time."""


def content_of(request: Request) -> dict[str, object]:
    """Return the content of a request that identifies it, as JSON values."""
    config, system = request.config, request.system
    if not isinstance(system, str | None):
        system = "".join(part.text for part in system)
    content = {
        "model": request.model,
        "system": system,
        "messages": [_identity_of(message) for message in request.messages],
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "seed": config.seed,
        "response_format": config.response_format,
    }
    # These are left out where nobody set them, as journals of earlier releases did not know them.
    if config.logprobs is not None:
        content["logprobs"] = config.logprobs
    if config.top_p is not None:
        content["top_p"] = config.top_p
    return content


def _identity_of(message: Message) -> list[object]:
    """Return role and text of a message, and a hash of each of its images."""
    identity: list[object] = [message.role, message.text]
    for image in message.parts_of(ImagePart):
        identity.append(hashlib.sha256(str(image.data or image.url).encode()).hexdigest())
    return identity


def answer_of(
    response: Response, cost: float | None, probabilities: Mapping[str, Sequence[Mapping[str, float]]]
) -> StoredResponse:
    """Return the answer in a response, without the model's thinking."""
    usage = response.usage
    return StoredResponse(
        text=well_formed(reply_text(response)),
        finish_reason=_end_of(response),
        input_tokens=min(usage.input_tokens or 0, _MOST_TOKENS),
        output_tokens=min(usage.output_tokens or 0, _MOST_TOKENS),
        cached_tokens=min(usage.cache_read_tokens or 0, _MOST_TOKENS),
        reasoning_tokens=min(usage.reasoning_tokens or 0, _MOST_TOKENS),
        cost=cost,
        model=well_formed(response.model),
        probabilities=probabilities,
    )


def _end_of(response: Response) -> str:
    """Return why a reply ended, also where DSPy's client has one word for two reasons."""
    # The model says in the provider's own form that it will not answer.
    if response.message.parts_of(RefusalPart):
        return "content_filter"
    if _reason_of_provider(response) in _FULL_WINDOW:
        return WINDOW_FULL
    return str(response.finish_reason)


def _reason_of_provider(response: Response) -> object:
    """Return the provider's own word for the end of a reply: Anthropic's, or that of an OpenAI-compatible endpoint."""
    return (response.provider_data or {}).get("stop_reason") or _of_choice(response, "finish_reason")


def reply_text(response: Response) -> str:
    """Return the text of a reply as it came, or that with which the model refused one."""
    # DSPy's client reads a reply that was held to a schema, and gives data in its place, in which the last of two
    # values that contradict each other has won.
    text: str | None = response.text
    if text:
        return text
    refusals = response.message.parts_of(RefusalPart)
    if refusals:
        return "\n".join(part.text for part in refusals)
    data = response.message.parts_of(DataPart)
    if not data:
        return _text_of_tool_call(response)
    if len(data) != 1:
        return ""
    content = _of_choice(response, "message", "content")
    return _text_or_json(content, data[0].value)


def _text_of_tool_call(response: Response) -> str:
    """Return the text of a reply's only tool call, where some servers put an answer; empty without exactly one call."""
    calls = response.message.parts_of(ToolCallPart)
    if len(calls) != 1:
        return ""
    arguments = _of_choice(response, "message", "tool_calls", 0, "function", "arguments")
    return _text_or_json(arguments, calls[0].input)


def _text_or_json(text: object, data: object) -> str:
    """Return the text that a provider sent; else the data that DSPy's client has read from it, as JSON."""
    if isinstance(text, str):
        return text
    return json.dumps(data, ensure_ascii=False)


def as_ended(response: Response) -> Response:
    """Return a response that is no whole one if its endpoint does not say so."""
    # DSPy's client takes every reason that it does not know (``model_length``, ``abort``, ``max_tokens``) for ``stop``.
    reason = _of_choice(response, "finish_reason")
    if response.finish_reason != "stop" or is_whole(reason):
        return response
    words = str(reason).lower()
    if "length" in words or "tokens" in words:
        return replace(response, finish_reason="length")
    return replace(response, finish_reason="error")


def _of_choice(response: Response, *path: str | int) -> Any:
    """Return the value at a path of an OpenAI-compatible response's first choice; ``None`` if it has none there."""
    try:
        value = (response.provider_data or {})["choices"][0]
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def without_key(response: Response, key: str) -> Response:
    """Return a response that does not show the key, as a server may that shows what it was sent: replies are kept."""
    if len(key) < _SHORTEST_KEY:
        return response
    reply, model = reply_text(response), response.model
    text, model_without_key = hide_key(reply, key), hide_key(model, key)
    if text == reply and model_without_key == model:
        return response
    return replace(response, message=Message.assistant(text), model=model_without_key)


def hide_key(text: str, key: str) -> str:
    """Return a text with stars in the place of the key."""
    if len(key) < _SHORTEST_KEY:
        return text
    return text.replace(key, "***")


def response_of(answer: StoredResponse, request: Request) -> Response:
    """Return the response that an answer was."""
    finish_reason: Any = answer.finish_reason
    if finish_reason == WINDOW_FULL:
        finish_reason = "length"
    return Response(
        id=None,
        model=answer.model or request.model,
        message=Message.assistant(answer.text),
        finish_reason=finish_reason,
        usage=Usage(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens),
    )
