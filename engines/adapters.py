"""DSPy's prompt formats, with what was asked travelling beside the messages.

The prompt is what DSPy's adapter writes, byte for byte. Beside it, signature, demonstrations and inputs are kept
as they are for as long as the call lasts, for an engine that does not read prompts (:data:`typed_request`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import dspy
from dspy.utils.exceptions import AdapterParseError

from ..errors import UsageError

__all__ = ["ADAPTERS", "ChatAdapter", "JsonAdapter", "TypedRequest", "XmlAdapter", "adapter", "typed_request"]


@dataclass(frozen=True, kw_only=True, eq=False)
class TypedRequest:
    """One request as it was before it became a prompt.

    Attributes:
        adapter: what writes the prompt, and the form in which a reply is expected.
        signature: fields, types and instruction.
        demos: demonstrations, field -> value; fields may be missing.
        inputs: input field -> value.
    """

    adapter: dspy.Adapter
    signature: type[dspy.Signature]
    demos: Sequence[Mapping[str, Any]]
    inputs: Mapping[str, Any]


typed_request: ContextVar[TypedRequest | None] = ContextVar("jurist_typed_request", default=None)
"""The request whose prompt is being answered in this context."""


@contextmanager
def _beside(request: TypedRequest) -> Iterator[None]:
    token = typed_request.set(request)
    try:
        yield
    finally:
        typed_request.reset(token)


class _Typed:
    """What our adapters add to DSPy's: the typed request, and one kind of error for every unusable reply."""

    def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self._request(signature, demos, inputs)):
            return super().__call__(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    async def acall(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self._request(signature, demos, inputs)):
            return await super().acall(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    def _request(self, signature: Any, demos: Any, inputs: Any) -> TypedRequest:
        return TypedRequest(adapter=self, signature=signature, demos=demos, inputs=inputs)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply; one that is nested too deep for the parser is as unusable as any other."""
        try:
            return dict(super().parse(signature, completion))  # type: ignore[misc]
        except (RecursionError, ValueError) as error:
            raise AdapterParseError(
                adapter_name=type(self).__name__,
                signature=signature,
                lm_response=completion[:1000],
                message=f"the reply cannot be parsed ({type(error).__name__})",
            ) from error


class ChatAdapter(_Typed, dspy.ChatAdapter):
    """Fields under ``[[ ## name ## ]]``, without the second paid call after a failed parse."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"use_json_adapter_fallback": False, **settings})


class JsonAdapter(_Typed, dspy.JSONAdapter):
    """One JSON object."""


class XmlAdapter(_Typed, dspy.XMLAdapter):
    """Fields in tags, without the second paid call after a failed parse."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"use_json_adapter_fallback": False, **settings})


_BY_NAME: Final[Mapping[str, type[dspy.Adapter]]] = {
    "chat": ChatAdapter,
    "json": JsonAdapter,
    "xml": XmlAdapter,
}
ADAPTERS: Final = tuple(_BY_NAME)


def adapter(name: str) -> dspy.Adapter:
    """Return the adapter ``chat``, ``json`` or ``xml``.

    Raises:
        UsageError: there is no such adapter.
    """
    if name not in _BY_NAME:
        raise UsageError(f"no adapter is called {name!r}", hint=f"use one of {', '.join(ADAPTERS)}")
    return _BY_NAME[name]()
