"""Requests and responses of DSPy as plain values: what the journal keeps of them, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dspy.lm15 import Config, DataPart, Message, RefusalPart, Request, Response, ToolCallPart, Usage

from ..text.escaping import well_formed
from ..text.replies import is_whole
from .journal import WINDOW_FULL, Answer
from .kept import Kept

_MOST: Final = 2**53  # tokens: an endpoint may say anything, and a journal holds no larger number
_FULL_WINDOW: Final = ("model_context_window_exceeded", "model_length")  # Anthropic's word, and Mistral's
_SHORTEST: Final = 12  # characters of a key; what is shorter ("none", "local") is also an ordinary word

settled: Final[Kept[Config]] = Kept(
    lambda config, seed, logprobs: replace(config, seed=seed, logprobs=logprobs)
)
"""Settings, a seed and a number of log-probabilities -> the settings with these, the same object each time."""


def content_of(request: Request) -> dict[str, Any]:
    """Return the content of a request that identifies it, as JSON values."""
    config = request.config
    system = (
        request.system if isinstance(request.system, str | None) else "".join(p.text for p in request.system)
    )
    return {
        "model": request.model,
        "system": system,
        "messages": [[message.role, message.text] for message in request.messages],
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "seed": config.seed,
        "response_format": config.response_format,
        # left out where they are not asked for, as in journals of before there were any
        **{name: value for name in ("logprobs", "top_p") if (value := getattr(config, name)) is not None},
    }


def answer_of(
    response: Response, cost: float | None, probabilities: Mapping[str, Sequence[Mapping[str, float]]]
) -> Answer:
    """Return the answer in a response, without the model's thinking."""
    usage = response.usage
    return Answer(
        text=well_formed(text_of(response)),
        finish_reason=_end_of(response),
        input_tokens=min(usage.input_tokens or 0, _MOST),
        output_tokens=min(usage.output_tokens or 0, _MOST),
        cached_tokens=min(usage.cache_read_tokens or 0, _MOST),
        reasoning_tokens=min(usage.reasoning_tokens or 0, _MOST),
        cost=cost,
        model=well_formed(response.model),
        probabilities=probabilities,
    )


def _end_of(response: Response) -> str:
    """Return why a reply ended, also where DSPy's client has one word for two reasons."""
    if _refused(response):
        return "content_filter"
    if _reason_of_provider(response) in _FULL_WINDOW:
        return WINDOW_FULL
    return str(response.finish_reason)


def _reason_of_provider(response: Response) -> Any:
    """Return the provider's own word for the end of a reply: Anthropic's, or that of an OpenAI-compatible endpoint."""
    return (response.provider_data or {}).get("stop_reason") or _of_choice(response, "finish_reason")


def _refused(response: Response) -> bool:
    """Whether a reply says, in the provider's own form, that the model will not answer."""
    return bool(response.message.parts_of(RefusalPart))


def text_of(response: Response) -> str:
    """Return the text of a reply as it came, or that with which the model refused one."""
    # DSPy's client reads one that was held to a schema, and gives data in its place, in which the last of two values
    # that contradict each other has won.
    text: str | None = response.text
    if text:
        return text
    if refusals := response.message.parts_of(RefusalPart):
        return "\n".join(part.text for part in refusals)
    data = [part.value for part in response.message.parts if isinstance(part, DataPart)]
    if not data:
        return _text_of_tool_call(response)
    if len(data) != 1:
        return ""
    content = _of_choice(response, "message", "content")
    return content if isinstance(content, str) else json.dumps(data[0], ensure_ascii=False)


def _text_of_tool_call(response: Response) -> str:
    """Return the text of a reply's only tool call, where some servers put an answer; empty without exactly one call."""
    calls = response.message.parts_of(ToolCallPart)
    if len(calls) != 1:
        return ""
    sent = _of_choice(response, "message", "tool_calls", 0, "function", "arguments")
    return sent if isinstance(sent, str) else json.dumps(calls[0].input, ensure_ascii=False)


def as_ended(response: Response) -> Response:
    """Return a response that is no whole one if its endpoint does not say so."""
    # DSPy's client takes every reason that it does not know (``model_length``, ``abort``, ``max_tokens``) for ``stop``.
    reason = _of_choice(response, "finish_reason")
    if response.finish_reason != "stop" or is_whole(reason):
        return response
    limited = any(word in str(reason).lower() for word in ("length", "tokens"))
    return replace(response, finish_reason="length" if limited else "error")


def _of_choice(response: Response, *names: str | int) -> Any:
    """Return the first choice of an OpenAI-compatible response; ``None`` for responses of another kind."""
    try:
        value = (response.provider_data or {})["choices"][0]
        for name in names:
            value = value[name]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def without_key(response: Response, key: str) -> Response:
    """Return a response that does not show the key, as a server may that shows what it was sent: replies are kept."""
    text, model = hiding(text_of(response), key), hiding(response.model, key)
    if (text, model) == (text_of(response), response.model):
        return response
    return replace(response, message=Message.assistant(text), model=model)


def hiding(text: str, key: str) -> str:
    """Return a text with stars in the place of the key."""
    return text if len(key) < _SHORTEST else text.replace(key, "***")


def response_of(answer: Answer, request: Request) -> Response:
    """Return the response that an answer was."""
    finish_reason: Any = "length" if answer.finish_reason == WINDOW_FULL else answer.finish_reason
    return Response(
        id=None,
        model=answer.model or request.model,
        message=Message.assistant(answer.text),
        finish_reason=finish_reason,
        usage=Usage(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens),
    )
