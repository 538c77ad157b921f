"""The prompt of one predictor, rendered once by DSPy: for every further case only the case is filled in.

The first time DSPy's own path renders a request, with marks in the place of the inputs, and what it would send is
kept. A case is then put where the marks stand, and the request goes to the channel at once: byte for byte what DSPy
would send for it (a law in the tests). Whatever does not fit takes DSPy's own path.
"""

from __future__ import annotations

import copy
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import dspy
from dspy.adapters.utils import format_field_value
from dspy.clients.errors import error_boundary
from dspy.lm15 import Message, Request, Response
from dspy.utils.exceptions import AdapterParseError, LMError

from .channel import Channel

_KEPT = 32
"""Prompts that are kept: those of a program's predictors, and of a few programs that are compared."""
_MARKER = "CUSTOM-TYPE"  # DSPy makes other parts than text of what stands between such markers


@dataclass(frozen=True, kw_only=True)
class _Prompt:
    """What is sent for any case."""

    request: Request  # for some case
    pieces: tuple[str, ...]  # the text of its last message around the inputs: one more than there are inputs
    names: tuple[
        str, ...
    ]  # the inputs, in the order in which they stand there; each may stand there several times
    fields: Mapping[str, Any]  # the inputs' fields

    def filled(self, inputs: Mapping[str, Any]) -> Request | None:
        """Return the request for a case; ``None`` if DSPy would make something else of it."""
        if inputs.keys() != self.fields.keys():
            return None
        texts = {name: _text(field, inputs[name]) for name, field in self.fields.items()}
        text = self.pieces[0] + "".join(
            texts[name] + piece for name, piece in zip(self.names, self.pieces[1:], strict=True)
        )
        if _MARKER in text or not _encodable(text):
            return None
        return replace(self.request, messages=(*self.request.messages[:-1], Message.user(text)))


class Prompts:
    """The prompts that one adapter has rendered."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, int], tuple[tuple[Any, ...], _Prompt | None]] = OrderedDict()

    def request(
        self, adapter: Any, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Any, inputs: Any
    ) -> tuple[Channel, Request] | None:
        """Return what is sent for a case, and through which channel; ``None`` if it has to take DSPy's own path."""
        channel = getattr(lm, "engine", None)
        if not isinstance(channel, Channel) or type(lm) is not dspy.LM or _watched(adapter, lm):
            return None
        place = (id(signature), id(demos))
        # Predictors are changed in place: what was rendered holds as long as nothing of it has changed.
        told = (signature, [dict(demo) for demo in demos], lm, dict(lm.kwargs), dict(lm_kwargs))
        kept = self._known.get(place)
        if kept is None or kept[0] != told:
            prompt = _rendered(adapter, lm, lm_kwargs, signature, demos)
            kept = self._known[place] = (signature, copy.deepcopy(told[1]), *told[2:]), prompt
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        prompt = kept[1]
        request = prompt and prompt.filled(inputs)
        return None if request is None else (channel, request)

    @staticmethod
    async def answered(
        channel: Channel, request: Request, lm: Any, signature: Any, adapter: Any
    ) -> list[Any]:
        """Send a request and return what DSPy's path would: the fields of the reply."""
        with error_boundary(lm.model, unexpected=True):
            response: Response = await channel.acomplete(request)
        if not response.text:
            raise AdapterParseError(
                adapter_name=type(adapter).__name__,
                signature=signature,
                lm_response="",
                message="The LM returned an empty or null response.",
            )
        return [adapter.parse(signature, response.text)]


class _Keeper:
    """An engine that keeps the request and answers nothing of use."""

    request: Request | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> _Keeper:
        return self

    def complete(self, request: Request) -> Response:
        self.request = request
        return Response(
            id=None, model=request.model, message=Message.assistant("-"), finish_reason="stop", usage=_NONE
        )


_NONE = dspy.lm15.Usage(input_tokens=0, output_tokens=0)


def _rendered(
    adapter: Any, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Sequence[Any]
) -> _Prompt | None:
    """Let DSPy render a prompt with marks for inputs; ``None`` if it does more than to put the inputs into a text."""
    if lm_kwargs.get("n") or lm.kwargs.get("n") or not signature.input_fields or special(signature):
        return None
    marks = {name: f"mark{uuid.uuid4().hex}" for name in signature.input_fields}
    keeper = _Keeper()
    # The answer is of no use; what cannot be rendered is said by DSPy's own path.
    with suppress(AdapterParseError, LMError, ValueError, TypeError):
        adapter(lm.copy(engine=keeper), dict(lm_kwargs), signature, demos, dict(marks))
    request = keeper.request
    if request is None or not request.messages or request.messages[-1].role != "user":
        return None
    text, names, pieces = request.messages[-1].text or "", list[str](), list[str]()
    if request.messages[-1] != Message.user(text) or any(
        mark in str(request.messages[:-1]) for mark in marks.values()
    ):
        return None
    while found := min(
        ((text.find(mark), name) for name, mark in marks.items() if mark in text), default=None
    ):
        pieces.append(text[: found[0]])
        names.append(found[1])
        text = text[found[0] + len(marks[found[1]]) :]
    if set(names) != set(marks):
        return None
    fields = dict(signature.input_fields)
    return _Prompt(request=request, pieces=(*pieces, text), names=tuple(names), fields=fields)


def special(signature: Any) -> bool:
    """Whether a field is of a type of DSPy's own, which may become more than text."""
    return any(
        str(getattr(part, "__module__", "")).startswith("dspy")
        for field in signature.fields.values()
        for part in (field.annotation, *getattr(field.annotation, "__args__", ()))
    )


def _watched(adapter: Any, lm: Any) -> bool:
    """Whether somebody wants to see each call as DSPy makes it."""
    settings = dspy.settings
    seen = (settings.callbacks, settings.usage_tracker, settings.send_stream, lm.callbacks, adapter.callbacks)
    return any(seen) or not settings.disable_history


def _text(field: Any, value: Any) -> str:
    return value if type(value) is str else str(format_field_value(field_info=field, value=value))


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
