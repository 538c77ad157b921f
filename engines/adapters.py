"""DSPy's prompt formats, byte for byte, with what is asked beside the prompt."""

from __future__ import annotations

import copy
import enum
import re
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final

import dspy
from dspy import AdapterParseError, LMError
from dspy.lm15 import Message, Request, Response
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from ..errors import UsageError
from ..text.drafts import without_drafts
from ..text.plain_replies import value_stated
from ..text.redaction import redact
from ..text.replies import fields_of, said_once, typed
from ..text.templates import CHAT, JSON, PLAIN, Template, with_named_inputs
from .channel import Channel
from .draws import TypedRequest, answers_cut_off, typed_request
from .dspy_internals import (
    UnboundJSONAdapter,
    apply_output_field_defaults,
    error_boundary,
    format_field_value,
    parse_value,
)
from .identity_cache import IdentityCache

_KEPT = 32
"""Prompts that are kept: those of a program's predictors, and of a few programs that are compared."""
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair, which cannot be sent
_MARKER = "CUSTOM-TYPE"  # DSPy makes other parts than text of what stands between such markers


@dataclass(frozen=True, kw_only=True)
class _Prompt:
    """The messages of a predictor with marks in the place of the inputs, rendered once by DSPy for all cases."""

    request: Request  # for some case
    pieces: tuple[str, ...]  # the text of its last message around the inputs: one more than there are inputs
    # the inputs, in the order in which they stand there; each may stand there several times
    names: tuple[str, ...]
    fields: Mapping[str, Any]  # the inputs' fields

    def filled(self, inputs: Mapping[str, Any]) -> Request | None:
        """Return the request for a case; ``None`` if DSPy would make something else of it."""
        if inputs.keys() != self.fields.keys():
            return None
        texts = {name: _text(field, inputs[name]) for name, field in self.fields.items()}
        text = self.pieces[0] + "".join(
            texts[name] + piece for name, piece in zip(self.names, self.pieces[1:], strict=True)
        )
        if _MARKER in text or not (text.isascii() or _HALF.search(text) is None):
            return None
        return replace(self.request, messages=(*self.request.messages[:-1], Message.user(text)))


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
    marks = {f"mark{uuid.uuid4().hex}": name for name in signature.input_fields}
    keeper = _Keeper()
    # The answer is of no use; what cannot be rendered is said by DSPy's own path.
    with suppress(AdapterParseError, LMError, ValueError, TypeError):
        adapter(
            lm.copy(engine=keeper),
            dict(lm_kwargs),
            signature,
            demos,
            {name: mark for mark, name in marks.items()},
        )
    request = keeper.request
    if request is None or not request.messages or request.messages[-1].role != "user":
        return None
    text, before = request.messages[-1].text or "", str(request.messages[:-1])
    if request.messages[-1] != Message.user(text) or any(mark in before for mark in marks):
        return None
    pieces = re.split(f"({'|'.join(marks)})", text)
    names = tuple(marks[mark] for mark in pieces[1::2])
    fields = dict(signature.input_fields)
    if set(names) != set(fields):
        return None
    return _Prompt(request=request, pieces=tuple(pieces[::2]), names=names, fields=fields)


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


@contextmanager
def _beside(adapter: Any, signature: Any, demos: Any, inputs: Any) -> Iterator[None]:
    request = TypedRequest(adapter=adapter, signature=signature, demos=demos, inputs=inputs)
    token = typed_request.set(request)
    try:
        yield
    finally:
        typed_request.reset(token)


class _Typed:
    """The mixin of our adapters: typed requests, and one kind of error for every unusable reply."""

    def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self, signature, demos, inputs):
            return super().__call__(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    async def acall(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self, signature, demos, inputs):
            request = self.request(lm, lm_kwargs, signature, demos, inputs)
            if request is None:
                return await super().acall(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]
            with error_boundary(lm.model, unexpected=True):
                response: Response = await lm.engine.acomplete(request)
            if not response.text:
                raise self._unusable(signature, "", "The LM returned an empty or null response.")
            return [self.parse(signature, response.text)]

    def request(
        self, lm: Any, lm_kwargs: Mapping[str, Any], signature: Any, demos: Any, inputs: Any
    ) -> Request | None:
        """Return the request of a case for a channel; ``None`` if the case has to take DSPy's own path."""
        if (
            not isinstance(getattr(lm, "engine", None), Channel)
            or type(lm) is not dspy.LM
            or _watched(self, lm)
        ):
            return None
        key = (id(signature), id(demos))
        # Predictors are changed in place: what was rendered holds as long as nothing of it has changed.
        parts = (signature, [dict(demo) for demo in demos], lm, dict(lm.kwargs), dict(lm_kwargs))
        kept = self._prompts.get(key)
        if kept is None or kept[0] != parts:
            prompt = _rendered(self, lm, lm_kwargs, signature, demos)
            kept = self._prompts[key] = (signature, copy.deepcopy(parts[1]), *parts[2:]), prompt
            if len(self._prompts) > _KEPT:
                self._prompts.popitem(last=False)
        return kept[1] and kept[1].filled(inputs)

    @cached_property
    def _prompts(self) -> OrderedDict[tuple[int, int], tuple[tuple[Any, ...], _Prompt | None]]:
        """The prompts that were rendered, each with what it was rendered from."""
        return OrderedDict()

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply, as far as it says each of them once: a draft or half of one is no answer."""
        fields = _outputs(signature)
        values: list[tuple[str, Any]] = []
        name = ""
        try:
            for name, raw in self._sections(fields, without_drafts(completion)):
                values.append((name, value_of(raw, fields[name].annotation)))
            reply = said_once(values)
            if list(reply) != list(fields):
                reply = apply_output_field_defaults(signature, reply)
            if missing := [name for name in fields if name not in reply]:
                raise ValueError(f"no {', '.join(missing)} in {redact(completion[:1000])[:120]!r}")
        except (RecursionError, ValueError) as error:
            raise self._unusable(signature, completion[:1000], _words(error, name), dict(values)) from error
        return reply

    def _sections(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        """Return output field and text, or data, in the order in which a reply gives them."""
        short = [name for name, field in fields.items() if field.annotation is not str]
        return fields_of(text, fields, short, was_cut=_lacks_end(text))

    def _unusable(self, signature: Any, text: str, why: str, read: Any = None) -> AdapterParseError:
        return AdapterParseError(
            adapter_name=type(self).__name__,
            signature=signature,
            lm_response=text,
            message=why,
            parsed_result=read,
        )


def _name_inputs(signature: Any) -> Any:
    """Return a signature whose instruction names its inputs where it has variables: values have their own place."""
    instruction = signature.instructions
    named = with_named_inputs(instruction, signature.input_fields)
    return signature if named == instruction else signature.with_instructions(named)


_naming_inputs: Final[IdentityCache[Any]] = IdentityCache(_name_inputs)


class ChatAdapter(_Typed, dspy.ChatAdapter):
    """Fields under ``[[ ## name ## ]]``, without the second paid call after a failed parse."""

    def __init__(self, *, has_variables: bool = False, **settings: Any) -> None:
        super().__init__(**{"use_json_adapter_fallback": False, **settings})
        self._has_variables = has_variables  # whether ``{{name}}`` in an instruction is an input

    def format_task_description(self, signature: Any) -> str:
        """Return the part of the system message that describes the task."""
        described = _naming_inputs(signature) if self._has_variables else signature
        return str(super().format_task_description(described))


class JsonAdapter(_Typed, UnboundJSONAdapter):
    """One JSON object. How the endpoint is held to it is the endpoint's business, not the prompt's."""

    def __init__(self, *, has_variables: bool = False) -> None:
        super().__init__()
        self._has_variables = has_variables  # whether ``{{name}}`` in an instruction is an input

    def format_task_description(self, signature: Any) -> str:
        """Return the part of the system message that describes the task."""
        described = _naming_inputs(signature) if self._has_variables else signature
        return str(super().format_task_description(described))


class PlainAdapter(_Typed, dspy.Adapter):
    """The user's own prompt with the values in it, and nothing else; the whole reply says the answer.

    A demonstration is a turn of its own: the prompt with the values of a labelled row, and the label as the reply.
    """

    has_fields: Final = False  # in its replies

    def __init__(self, template: Template, meanings: Mapping[str, Any]) -> None:
        super().__init__()
        self._template = template  # the prompt as the user wrote it
        self._meanings = meanings  # what a reply may say in other words -> the value that it means

    def format(self, signature: Any, demos: Sequence[Any], inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the messages for a case: the opening, a turn for each demonstration, and the turn of the case."""
        template = self._template.revised(signature.instructions)
        opening = [{"role": role, "content": text} for role, text in template.opening]
        values = _texts_of(signature, inputs)
        return [*opening, *self.format_demos(signature, demos), *template.filled_turn(values)]

    def format_demos(self, signature: Any, demos: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the messages that show demonstrations; one without a label shows nothing."""
        template = self._template.revised(signature.instructions)
        messages: list[dict[str, Any]] = []
        for demo in demos:
            labels = {name: demo[name] for name in signature.output_fields if name in demo}
            if not labels:
                continue
            unknown = dict.fromkeys(signature.input_fields, "(not given)")
            turn = template.filled_turn({**unknown, **_texts_of(signature, demo)})
            reply = self.format_assistant_message_content(signature, labels)
            if turn[-1]["role"] == "assistant":  # the prompt begins the reply
                reply = f"{turn.pop()['content']}{reply}"
            for message in turn:
                role = "user" if message["role"] == "system" else message["role"]
                messages.append({"role": role, "content": message["content"]})
            messages.append({"role": "assistant", "content": reply})
        return messages

    def format_assistant_message_content(
        self, signature: Any, outputs: Mapping[str, Any], missing_field_message: str | None = None
    ) -> str:
        """Return the reply that gives the output: a label or a number alone, a list as JSON."""
        ((name, value),) = outputs.items()
        return _text(signature.output_fields[name], value)

    def _sections(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        ((name, field),) = fields.items()
        if _lacks_end(text):
            raise ValueError(f"{name} may be half of what it was to be")
        return [(name, value_stated(text, bounded_schema(field), self._meanings))]


def _texts_of(signature: Any, values: Mapping[str, Any]) -> dict[str, str]:
    """Return input field -> its value as text, of the inputs that there are."""
    return {
        name: _text(field, values[name]) for name, field in signature.input_fields.items() if name in values
    }


def _schema_of(annotation: Any) -> Mapping[str, Any]:
    """Return the JSON Schema of a type; an empty one for a type that has none."""
    try:
        return _reader(annotation).json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def bounded_schema(field: Any) -> Mapping[str, Any]:
    """Return the JSON Schema of an output field's type, with the ends of its scale."""
    schema: Mapping[str, Any] = _bounded_schema(field)
    return schema


_reader: Final[IdentityCache[TypeAdapter[Any]]] = IdentityCache(TypeAdapter)
_schema: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(_schema_of)
_bounded_schema: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(
    lambda field: _schema_of(
        Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    )
)


def value_of(raw: Any, annotation: Any) -> Any:
    """Return a field's text or data as its type."""
    if isinstance(annotation, type) and issubclass(annotation, (dspy.Type, enum.Enum)):
        return parse_value(raw, annotation)  # which has a parser of its own
    value = typed(_schema(annotation), raw)
    return _reader(annotation).validate_python(value)


async def predicted(predictor: dspy.Predict, inputs: Mapping[str, Any]) -> dspy.Prediction:
    """Return the prediction of ``predictor.acall(**inputs)``, without DSPy's callbacks, usage and trace."""
    now, signature = dspy.settings, predictor.signature
    own = predictor.lm or predictor.config or predictor.fields or predictor.callbacks
    watched = (
        now.callbacks or now.trace is not None or now.track_usage or now.usage_tracker or now.send_stream
    )
    if own or watched or not isinstance(now.adapter, _Typed) or not _is_plain(signature):
        return await predictor.acall(**inputs)
    if inputs.keys() != _inputs(signature).keys():
        return await predictor.acall(**inputs)
    completions = await now.adapter.acall(now.lm, {}, signature, predictor.demos, inputs)
    return dspy.Prediction(completions[0])


def _lacks_end(text: str) -> bool:
    """Whether a text is a reply without its drafts, or the last of one, that was ended before it was over."""
    return any(without_drafts(answer.text).endswith(text) for answer in answers_cut_off())


def _words(error: Exception, name: str) -> str:
    """Return on one line what is wrong with a reply, or with its field."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(map(str, (name, *first["loc"])))
        return f"{path}: {first['msg']}, not {str(first['input'])[:100]!r}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


_inputs: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(lambda signature: signature.input_fields)
_outputs: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(lambda signature: signature.output_fields)
_is_plain: Final[IdentityCache[bool]] = IdentityCache(lambda signature: not special(signature))
_BY_NAME: Final[Mapping[str, type[ChatAdapter | JsonAdapter]]] = {CHAT: ChatAdapter, JSON: JsonAdapter}
ADAPTERS: Final = tuple(_BY_NAME)
"""The forms of every prompt."""


def adapter(
    name: str, template: Template | None = None, meanings: Mapping[str, Any] | None = None
) -> dspy.Adapter:
    """Return the adapter ``chat``, ``json``, or, of a prompt that stands as it was written, ``plain``."""
    if name == PLAIN and template is not None:
        return PlainAdapter(template, meanings or {})
    if name not in _BY_NAME:
        raise UsageError(f"no adapter is called {name!r}", hint=f"use one of {', '.join((*ADAPTERS, PLAIN))}")
    return _BY_NAME[name](has_variables=template is not None)
