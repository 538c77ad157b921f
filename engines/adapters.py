"""DSPy's prompt formats, with what was asked travelling beside the messages.

The prompt is what DSPy's adapter writes, byte for byte. Beside it, signature, demonstrations and inputs are kept
as they are for as long as the call lasts, for an engine that does not read prompts (:mod:`jurist.engines.typed`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final
from xml.etree import ElementTree

import dspy
from dspy.adapters.utils import apply_output_field_defaults
from dspy.utils.exceptions import AdapterParseError
from pydantic import TypeAdapter, ValidationError

from ..errors import UsageError
from ..text.escaping import defuse
from ..text.replies import chat_fields, json_fields, said_once, without_drafts
from .draws import current_draw
from .failures import redact
from .kept import Kept
from .quick import Prompts, special
from .replies import value_of
from .typed import TypedRequest, typed_request

_END: Final = "[[ ## completed ## ]]"


@contextmanager
def _beside(request: TypedRequest) -> Iterator[None]:
    token = typed_request.set(request)
    try:
        yield
    finally:
        typed_request.reset(token)


class _Typed(ABC):
    """What our adapters add to DSPy's: the typed request, and one kind of error for every unusable reply."""

    def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self._request(signature, demos, inputs)):
            return super().__call__(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    async def acall(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> Any:
        with _beside(self._request(signature, demos, inputs)):
            shown = self.shown(signature, inputs)
            quick = self._prompts.request(self, lm, lm_kwargs, signature, demos, shown)
            if quick is not None:
                return await Prompts.answered(*quick, lm, signature, self)
            return await super().acall(lm, lm_kwargs, signature, demos, inputs)  # type: ignore[misc]

    @cached_property
    def _prompts(self) -> Prompts:
        return Prompts()

    def shown(self, signature: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return inputs as this format may write them: what only it would read as a field, defused."""
        return inputs

    def _request(self, signature: Any, demos: Any, inputs: Any) -> TypedRequest:
        return TypedRequest(adapter=self, signature=signature, demos=demos, inputs=inputs)

    def parse(self, signature: Any, completion: str) -> dict[str, Any]:
        """Return the fields of a reply, as far as it says each of them once: a draft or half of one is no answer."""
        fields, values, name = _outputs(signature), [], ""
        try:
            for name, given in self._given(fields, without_drafts(completion, fields)):
                values.append((name, value_of(given, fields[name].annotation)))
            found = said_once(values)
            if list(found) != list(fields):
                found = apply_output_field_defaults(signature, found)
            if missing := [name for name in fields if name not in found]:
                raise ValueError(f"no {', '.join(missing)} in {redact(completion[:1000])[:120]!r}")
        except (RecursionError, ValueError) as error:
            raise AdapterParseError(
                adapter_name=type(self).__name__,
                signature=signature,
                lm_response=completion[:1000],
                message=_words(error, name),
                parsed_result=dict(values),
            ) from error
        return found

    @abstractmethod
    def _given(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        """Return output field and text, or data, in the order in which a reply gives them."""


class ChatAdapter(_Typed, dspy.ChatAdapter):
    """Fields under ``[[ ## name ## ]]``, without the second paid call after a failed parse."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"use_json_adapter_fallback": False, **settings})

    def _given(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        given = chat_fields(text, fields)
        if (
            given
            and fields[given[-1][0]].annotation is not str
            and _END not in text
            and _lacks_end(text, fields)
        ):
            raise ValueError(f"{given[-1][0]} may be half of what it was to be")  # 1 of 10, True of Truest
        return given


class JsonAdapter(_Typed, dspy.JSONAdapter):
    """One JSON object. How the endpoint is held to it is the endpoint's business, not the prompt's."""

    def _prepare_response_format(self, lm: Any, lm_kwargs: Any, signature: Any) -> None:
        """Leave it to the channel, which finds out what the endpoint takes."""

    def _given(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        return json_fields(text, fields)


class XmlAdapter(_Typed, dspy.XMLAdapter):
    """Fields in tags, without the second paid call after a failed parse."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"use_json_adapter_fallback": False, **settings})

    def shown(self, signature: Any, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return inputs without a tag of the signature's fields."""
        safe: Mapping[str, Any] = defuse(dict(inputs), signature.fields)
        return safe

    def format_user_message_content(self, signature: Any, inputs: Any, *parts: Any, **named: Any) -> str:
        """Write a case, or a demonstration's, with :meth:`shown` inputs."""
        text: str = super().format_user_message_content(
            signature, self.shown(signature, inputs), *parts, **named
        )
        return text

    def _given(self, fields: Mapping[str, Any], text: str) -> Iterable[tuple[str, Any]]:
        try:
            root = ElementTree.fromstring(f"<dspy_root>{text}</dspy_root>")
        except ElementTree.ParseError as error:
            raise ValueError(f"it is not XML: {error}") from error
        for name, elements in self._group_children(root).items():
            if name not in fields:
                continue
            schema = TypeAdapter(fields[name].annotation).json_schema(by_alias=False)
            # A list may be given as one element with items, or as one element an item.
            groups = [elements] if schema.get("type") == "array" else [[element] for element in elements]
            for group in groups:
                yield name, self._elements_to_value(group, schema, schema.get("$defs", {}))


async def predicted(predictor: dspy.Predict, inputs: Mapping[str, Any]) -> dspy.Prediction:
    """Return what ``predictor.acall(**inputs)`` does, without what is done around it for those who watch."""
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


def _lacks_end(text: str, fields: Mapping[str, Any]) -> bool:
    """Whether a text is a reply without its drafts, or the last of one, that was ended before it was over."""
    cut = current_draw.get().cut or ()
    return any(without_drafts(answer.text, fields).endswith(text) for answer in cut)


def _words(error: Exception, name: str) -> str:
    """Return on one line what is wrong with a reply, or with its field."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, (name, *first["loc"])))
        return f"{place}: {first['msg']}, not {str(first['input'])[:100]!r}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


_inputs: Final[Kept[Mapping[str, Any]]] = Kept(lambda signature: signature.input_fields)
_outputs: Final[Kept[Mapping[str, Any]]] = Kept(lambda signature: signature.output_fields)
_is_plain: Final[Kept[bool]] = Kept(lambda signature: not special(signature))
_BY_NAME: Final[Mapping[str, type[dspy.Adapter]]] = {
    "chat": ChatAdapter,
    "json": JsonAdapter,
    "xml": XmlAdapter,
}
ADAPTERS: Final = tuple(_BY_NAME)


def adapter(name: str) -> dspy.Adapter:
    """Return the adapter ``chat``, ``json`` or ``xml``."""
    if name not in _BY_NAME:
        raise UsageError(f"no adapter is called {name!r}", hint=f"use one of {', '.join(ADAPTERS)}")
    return _BY_NAME[name]()
