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
from typing import Annotated, Any, Final, TypeAlias

import dspy
from dspy import AdapterParseError, LMError
from dspy.lm15 import Message, Request, Response
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo

from ..errors import UsageError
from ..text.drafts import without_drafts
from ..text.plain_replies import value_stated
from ..text.redaction import redact
from ..text.replies import fields_of, said_once, typed
from ..text.templates import CHAT, JSON, PLAIN, Template, with_named_inputs
from .channel import Channel
from .draws import TypedRequest, answers_cut_off, config_of_draw, typed_request
from .dspy_internals import (
    UnboundJSONAdapter,
    apply_output_field_defaults,
    error_boundary,
    format_field_value,
    parse_value,
)
from .frames import FrameOfLanguage, JsonFrameOfLanguage
from .identity_cache import IdentityCache

Signature: TypeAlias = type[dspy.Signature]
"""A signature is a class, whose fields are known from the class."""
_Values: TypeAlias = Mapping[str, object]
"""Field -> value, of a case or of a demonstration."""
_MOST_PROMPTS = 32
"""Prompts that are held: those of a program's predictors, and of a few programs that are compared."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""One half of a surrogate pair, which cannot be sent."""
_CUSTOM_TYPE = "CUSTOM-TYPE"
"""DSPy makes other parts than text of what stands between such markers."""


@dataclass(frozen=True, kw_only=True)
class _Prompt:
    """The messages of a predictor with marks in the place of the inputs, rendered once by DSPy for all cases."""

    request: Request
    """The request for some case."""
    pieces: tuple[str, ...]
    """The text of its last message around the inputs: one more than there are inputs."""
    names: tuple[str, ...]
    """The inputs in the order in which they stand there; each may stand there several times."""
    fields: Mapping[str, FieldInfo]
    """The inputs' fields."""

    def filled(self, inputs: _Values) -> Request | None:
        """Return the request for a case in the current draw; ``None`` if DSPy would make something else of it."""
        if inputs.keys() != self.fields.keys():
            return None
        texts = {name: _value_as_text(field, inputs[name]) for name, field in self.fields.items()}
        text = self.pieces[0]
        for name, piece in zip(self.names, self.pieces[1:], strict=True):
            text += texts[name] + piece
        if _CUSTOM_TYPE in text or not (text.isascii() or _HALF_CHARACTER.search(text) is None):
            return None
        messages = self.request.messages[:-1] + (Message.user(text),)
        return replace(self.request, messages=messages, config=config_of_draw(self.request.config))


class _Recorder:
    """An engine that records the request and answers nothing of use."""

    request: Request | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> _Recorder:
        return self

    def complete(self, request: Request) -> Response:
        """Record a request, and return an answer that nobody reads."""
        self.request = request
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant("-"),
            finish_reason="stop",
            usage=_NO_TOKENS,
        )


_NO_TOKENS = dspy.lm15.Usage(input_tokens=0, output_tokens=0)


def _render_once(
    adapter: dspy.Adapter,
    lm: dspy.LM,
    lm_kwargs: Mapping[str, object],
    signature: Signature,
    demos: Sequence[_Values],
) -> _Prompt | None:
    """Let DSPy render a prompt with marks for inputs; ``None`` if it does more than to put the inputs into a text."""
    if lm_kwargs.get("n") or lm.kwargs.get("n"):
        return None
    fields: dict[str, FieldInfo] = dict(signature.input_fields)
    if not fields or has_special_type(signature):
        return None
    names_of_marks = {f"mark{uuid.uuid4().hex}": name for name in fields}
    marked_inputs = {name: mark for mark, name in names_of_marks.items()}
    recorder = _Recorder()
    # The answer is of no use; what cannot be rendered is said by DSPy's own path.
    with suppress(AdapterParseError, LMError, ValueError, TypeError):
        adapter(lm.copy(engine=recorder), dict(lm_kwargs), signature, demos, marked_inputs)
    request = recorder.request
    if request is None or not request.messages:
        return None
    last_message = request.messages[-1]
    text = last_message.text or ""
    if last_message != Message.user(text):
        return None
    opening = str(request.messages[:-1])
    if any(mark in opening for mark in names_of_marks):
        return None
    pieces = re.split(f"({'|'.join(names_of_marks)})", text)
    names = tuple(names_of_marks[mark] for mark in pieces[1::2])
    if set(names) != set(fields):
        return None
    return _Prompt(request=request, pieces=tuple(pieces[::2]), names=names, fields=fields)


def has_special_type(signature: Signature) -> bool:
    """Say whether a field is of a type of DSPy's own, which may become more than text."""
    for field in signature.fields.values():
        annotation = field.annotation
        if _is_of_dspy(annotation) or any(map(_is_of_dspy, getattr(annotation, "__args__", ()))):
            return True
    return False


def _is_of_dspy(annotation: object) -> bool:
    """Say whether a type is defined by DSPy."""
    return str(getattr(annotation, "__module__", "")).startswith("dspy")


def _is_watched(adapter: dspy.Adapter, lm: dspy.LM) -> bool:
    """Say whether somebody wants to see each call as DSPy makes it."""
    settings = dspy.settings
    if not settings.disable_history or lm.callbacks or adapter.callbacks:
        return True
    return bool(settings.callbacks or settings.usage_tracker or settings.send_stream)


def _value_as_text(field: FieldInfo, value: object) -> str:
    """Return a value as it stands in a prompt."""
    if type(value) is str:
        return value
    return str(format_field_value(field_info=field, value=value))


@contextmanager
def _answering(
    adapter: dspy.Adapter, signature: Signature, demos: Sequence[_Values], inputs: _Values
) -> Iterator[None]:
    """Let the engines of this context see the typed request whose prompt they answer."""
    request = TypedRequest(adapter=adapter, signature=signature, demos=demos, inputs=inputs)
    token = typed_request.set(request)
    try:
        yield
    finally:
        typed_request.reset(token)


_RenderedFrom: TypeAlias = tuple[
    Signature, list[dict[str, object]], dspy.LM, dict[str, object], dict[str, object]
]
"""The sources of a prompt: signature, demonstrations, model, the model's settings, and those of the call."""


class _Typed:
    """The mixin of our adapters: typed requests, and one kind of error for every unusable reply."""

    def __call__(
        self,
        lm: dspy.LM,
        lm_kwargs: dict[str, object],
        signature: Signature,
        demos: Sequence[_Values],
        inputs: _Values,
    ) -> Any:
        with _answering(self, signature, demos, inputs):
            return super().__call__(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    async def acall(
        self,
        lm: dspy.LM,
        lm_kwargs: dict[str, object],
        signature: Signature,
        demos: Sequence[_Values],
        inputs: _Values,
    ) -> Any:
        """Answer a case as DSPy's adapter does, from a prompt that is rendered once where that is possible."""
        with _answering(self, signature, demos, inputs):
            request = self.request(lm, lm_kwargs, signature, demos, inputs)
            if request is None:
                return await super().acall(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]
            with error_boundary(lm.model, unexpected=True):
                response: Response = await lm.engine.acomplete(request)
            text = response.text
            if not text:
                raise self._unusable(signature, "", "The LM returned an empty or null response.")
            return [self.parse(signature, text)]

    def request(
        self,
        lm: dspy.LM,
        lm_kwargs: Mapping[str, object],
        signature: Signature,
        demos: Sequence[_Values],
        inputs: _Values,
    ) -> Request | None:
        """Return the request of a case for a channel; ``None`` if the case has to take DSPy's own path."""
        has_channel = type(lm) is dspy.LM and isinstance(getattr(lm, "engine", None), Channel)
        if not has_channel or _is_watched(self, lm):
            return None
        key = (id(signature), id(demos))
        # Predictors are changed in place: a rendered prompt holds as long as nothing of its sources has changed.
        rendered_from: _RenderedFrom = (
            signature,
            [dict(demo) for demo in demos],
            lm,
            dict(lm.kwargs),
            dict(lm_kwargs),
        )
        entry = self._prompts.get(key)
        if entry is None or entry[0] != rendered_from:
            prompt = _render_once(self, lm, lm_kwargs, signature, demos)
            entry = (_with_copied_demos(rendered_from), prompt)
            self._prompts[key] = entry
            if len(self._prompts) > _MOST_PROMPTS:
                self._prompts.popitem(last=False)
        prompt = entry[1]
        if prompt is None:
            return None
        return prompt.filled(inputs)

    @cached_property
    def _prompts(self) -> OrderedDict[tuple[int, int], tuple[_RenderedFrom, _Prompt | None]]:
        """The prompts that were rendered, each with its sources."""
        return OrderedDict()

    def parse(self, signature: Signature, completion: str) -> dict[str, Any]:
        """Return the fields of a reply, as far as it says each of them once: a draft or half of one is no answer."""
        fields = _outputs(signature)
        values: list[tuple[str, object]] = []
        name = ""
        try:
            for name, raw in self._sections(fields, without_drafts(completion)):
                values.append((name, value_of(raw, fields[name].annotation)))
            reply = said_once(values)
            if list(reply) != list(fields):
                reply = apply_output_field_defaults(signature, reply)
            missing = [name for name in fields if name not in reply]
            if missing:
                raise ValueError(f"no {', '.join(missing)} in {redact(completion[:1000])[:120]!r}")
        except (RecursionError, ValueError) as error:
            problem = _describe_defect(error, name)
            raise self._unusable(signature, completion[:1000], problem, dict(values)) from error
        return reply

    def _sections(self, fields: Mapping[str, FieldInfo], text: str) -> Iterable[tuple[str, object]]:
        """Return output field and text, or data, in the order in which a reply gives them."""
        short = [name for name, field in fields.items() if field.annotation is not str]
        return fields_of(text, fields, short, was_cut=_lacks_end(text))

    def _unusable(
        self, signature: Signature, text: str, problem: str, values: Mapping[str, object] | None = None
    ) -> AdapterParseError:
        """Return the error for a reply of which these values could be read."""
        return AdapterParseError(
            adapter_name=type(self).__name__,
            signature=signature,
            lm_response=text,
            message=problem,
            parsed_result=values,
        )


def _with_copied_demos(parts: _RenderedFrom) -> _RenderedFrom:
    """Return the sources of a prompt with demonstrations that nobody else changes."""
    signature, demos, lm, model_settings, call_settings = parts
    return signature, copy.deepcopy(demos), lm, model_settings, call_settings


def _name_inputs(signature: Signature) -> Signature:
    """Return a signature whose instruction names its inputs where it has variables: values have their own place."""
    instruction = signature.instructions
    instruction_with_names = with_named_inputs(instruction, signature.input_fields)
    if instruction_with_names == instruction:
        return signature
    with_names: Signature = signature.with_instructions(instruction_with_names)
    return with_names


_naming_inputs: Final[IdentityCache[Signature]] = IdentityCache(_name_inputs)


class ChatAdapter(_Typed, FrameOfLanguage, dspy.ChatAdapter):
    """Fields under ``[[ ## name ## ]]``, without the second paid call after a failed parse."""

    def __init__(self, *, has_variables: bool = False, **settings: Any) -> None:
        settings.setdefault("use_json_adapter_fallback", False)
        super().__init__(**settings)
        self._has_variables = has_variables  # whether ``{{name}}`` in an instruction is an input

    def format_task_description(self, signature: Signature) -> str:
        """Return the part of the system message that describes the task."""
        if self._has_variables:
            signature = _naming_inputs(signature)
        return str(super().format_task_description(signature))


class JsonAdapter(_Typed, JsonFrameOfLanguage, UnboundJSONAdapter):
    """One JSON object. How the endpoint is held to it is the endpoint's business, not the prompt's."""

    def __init__(self, *, has_variables: bool = False) -> None:
        super().__init__()
        self._has_variables = has_variables  # whether ``{{name}}`` in an instruction is an input

    def format_task_description(self, signature: Signature) -> str:
        """Return the part of the system message that describes the task."""
        if self._has_variables:
            signature = _naming_inputs(signature)
        return str(super().format_task_description(signature))


class PlainAdapter(_Typed, dspy.Adapter):
    """The user's own prompt with the values in it, and nothing else; the whole reply says the answer.

    A demonstration is a turn of its own: the prompt with the values of a labelled row, and the label as the reply.
    """

    has_fields: Final = False  # in its replies

    def __init__(self, template: Template, meanings: Mapping[str, object]) -> None:
        super().__init__()
        self._template = template  # the prompt as the user wrote it
        self._meanings = meanings  # words of a reply that are no label -> the value that they mean

    def format(self, signature: Signature, demos: Sequence[_Values], inputs: _Values) -> list[dict[str, str]]:
        """Return the messages for a case: the opening, a turn for each demonstration, and the turn of the case."""
        template = self._template.revised(signature.instructions)
        messages = [{"role": role, "content": text} for role, text in template.opening]
        messages += self.format_demos(signature, demos)
        messages += template.filled_turn(_texts_by_input(signature, inputs))
        return messages

    def format_demos(self, signature: Signature, demos: Sequence[_Values]) -> list[dict[str, str]]:
        """Return the messages that show demonstrations; one without a label shows nothing."""
        template = self._template.revised(signature.instructions)
        messages = list[dict[str, str]]()
        for demo in demos:
            messages += self._turn_of_demo(template, signature, demo)
        return messages

    def _turn_of_demo(self, template: Template, signature: Signature, demo: _Values) -> list[dict[str, str]]:
        """Return the messages that show a demonstration; none without a label."""
        labels = {name: demo[name] for name in signature.output_fields if name in demo}
        if not labels:
            return []
        texts = dict.fromkeys(signature.input_fields, "(not given)") | _texts_by_input(signature, demo)
        turn = template.filled_turn(texts)
        reply = self.format_assistant_message_content(signature, labels)
        if turn[-1]["role"] == "assistant":  # the prompt begins the reply
            reply = f"{turn.pop()['content']}{reply}"
        messages = list[dict[str, str]]()
        for message in turn:
            role = "user" if message["role"] == "system" else message["role"]
            messages.append({"role": role, "content": message["content"]})
        messages.append({"role": "assistant", "content": reply})
        return messages

    def format_assistant_message_content(
        self, signature: Signature, outputs: _Values, missing_field_message: str | None = None
    ) -> str:
        """Return the reply that gives the output: a label or a number alone, a list as JSON."""
        ((name, value),) = outputs.items()
        return _value_as_text(signature.output_fields[name], value)

    def _sections(self, fields: Mapping[str, FieldInfo], text: str) -> Iterable[tuple[str, object]]:
        """Return the output field with the value that the reply states."""
        ((name, field),) = fields.items()
        if _lacks_end(text):
            raise ValueError(f"{name} may be half of what it was to be")
        return [(name, value_stated(text, bounded_schema(field), self._meanings))]


class TextAdapter(PlainAdapter):
    """A prompt with values in it, of which the whole reply is the one output, in whatever words."""

    def _sections(self, fields: Mapping[str, FieldInfo], text: str) -> Iterable[tuple[str, object]]:
        """Return the output field with the reply."""
        (name,) = fields
        if not text.strip():
            raise ValueError("it is empty")
        return [(name, text.strip())]


def _texts_by_input(signature: Signature, values: _Values) -> dict[str, str]:
    """Return input field -> its value as text, of the inputs that there are."""
    texts = dict[str, str]()
    for name, field in signature.input_fields.items():
        if name in values:
            texts[name] = _value_as_text(field, values[name])
    return texts


def _json_schema(annotation: object) -> Mapping[str, Any]:
    """Return the JSON Schema of a type; an empty one for a type that has none."""
    try:
        return _reader(annotation).json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def _bounded_json_schema(field: FieldInfo) -> Mapping[str, Any]:
    """Return the JSON Schema of a field's type together with its bounds."""
    if not field.metadata:
        return _json_schema(field.annotation)
    annotation_and_bounds = (field.annotation, *field.metadata)
    return _json_schema(Annotated[annotation_and_bounds])


_reader: Final[IdentityCache[TypeAdapter[Any]]] = IdentityCache(TypeAdapter)
_schema: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(_json_schema)
bounded_schema: Final[IdentityCache[Mapping[str, Any]]] = IdentityCache(_bounded_json_schema)
"""Output field -> the JSON Schema of its type, with the ends of its scale."""


def value_of(raw: object, annotation: Any) -> Any:
    """Return a field's text or data as its type."""
    if isinstance(annotation, type) and issubclass(annotation, (dspy.Type, enum.Enum)):
        return parse_value(raw, annotation)  # such a type has a parser of its own
    value = typed(_schema(annotation), raw)
    return _reader(annotation).validate_python(value)


async def predicted(predictor: dspy.Predict, inputs: _Values) -> dspy.Prediction:
    """Return the prediction of ``predictor.acall(**inputs)``, without DSPy's callbacks, usage and trace."""
    adapter, signature = dspy.settings.adapter, predictor.signature
    has_settings = predictor.lm or predictor.config or predictor.fields or predictor.callbacks
    if has_settings or _is_traced() or not isinstance(adapter, _Typed) or not _is_plain(signature):
        return await predictor.acall(**inputs)
    if inputs.keys() != _inputs(signature).keys():
        return await predictor.acall(**inputs)
    completions = await adapter.acall(dspy.settings.lm, {}, signature, predictor.demos, inputs)
    return dspy.Prediction(completions[0])


def _is_traced() -> bool:
    """Say whether DSPy's settings ask for something that is seen at a predictor alone."""
    settings = dspy.settings
    if settings.callbacks or settings.trace is not None or settings.track_usage:
        return True
    return bool(settings.usage_tracker or settings.send_stream)


def _lacks_end(text: str) -> bool:
    """Say whether a text is a reply without its drafts, or the last of one, that was ended before it was over."""
    return any(without_drafts(answer.text).endswith(text) for answer in answers_cut_off())


def _describe_defect(error: Exception, name: str) -> str:
    """Return on one line what is wrong with a reply, or with its field."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(map(str, (name,) + first["loc"]))
        return f"{path}: {first['msg']}, not {str(first['input'])[:100]!r}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)


_inputs: Final[IdentityCache[Mapping[str, FieldInfo]]] = IdentityCache(
    lambda signature: signature.input_fields
)
_outputs: Final[IdentityCache[Mapping[str, FieldInfo]]] = IdentityCache(
    lambda signature: signature.output_fields
)
_is_plain: Final[IdentityCache[bool]] = IdentityCache(lambda signature: not has_special_type(signature))
_BY_NAME: Final[Mapping[str, type[ChatAdapter | JsonAdapter]]] = {CHAT: ChatAdapter, JSON: JsonAdapter}
ADAPTERS: Final = tuple(_BY_NAME)
"""The forms of every prompt."""


def adapter(
    name: str, template: Template | None = None, meanings: Mapping[str, object] | None = None
) -> dspy.Adapter:
    """Return the adapter ``chat``, ``json``, or, of a prompt that stands as it was written, ``plain``."""
    if name == PLAIN and template is not None:
        return PlainAdapter(template, meanings or {})
    if name not in _BY_NAME:
        raise UsageError(
            f"no adapter is called {name!r}", hint=f"use one of {', '.join(ADAPTERS + (PLAIN,))}"
        )
    return _BY_NAME[name](has_variables=template is not None)
