"""Answers that cannot be malformed, where the endpoint takes it, and parameters that it does not take.

Lists of models that refuse a parameter go stale: what an endpoint refuses is found out from its first refusal,
said once, and left out of every later request of the job. The prompt stays the same.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final, Literal

import pydantic
from dspy.lm15 import Request
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
    LMUnsupportedModelError,
)

from .adapters import JsonAdapter, TypedRequest, typed_request
from .failures import RefusedParameterError

__all__ = ["STRUCTURES", "Structure", "Terms", "schema_of"]

Structure = Literal["auto", "schema", "object", "prompt"]
"""How a JSON answer is held to its form: by its schema, as an object, by the prompt, or as the endpoint takes it."""
STRUCTURES: Final[tuple[Structure, ...]] = ("auto", "schema", "object", "prompt")
_FALLBACKS: Final[dict[Structure, tuple[Structure, ...]]] = {
    "auto": ("schema", "object", "prompt"),
    "schema": ("schema",),
    "object": ("object",),
    "prompt": ("prompt",),
}
_SAID: Final[dict[Structure, str]] = {
    "schema": "a JSON schema",
    "object": "a JSON object",
    "prompt": "prompt alone",
}
_PARAMETERS: Final = ("temperature",)
_log = logging.getLogger("jurist")


def schema_of(typed: TypedRequest) -> dict[str, Any]:
    """Return the strict JSON schema of an answer: fields in their order, reasoning before the label, labels as enum."""
    fields: dict[str, Any] = {
        name: (field.annotation, ...) for name, field in typed.signature.output_fields.items()
    }
    model = pydantic.create_model(typed.signature.__name__, **fields)
    schema: dict[str, Any] = _strict(model.model_json_schema())
    return schema


class Terms:
    """What one endpoint takes, as far as its refusals have shown.

    Args:
        model: its name, to be said.
        structure: how JSON answers are held to their form.
    """

    def __init__(self, model: str, structure: Structure) -> None:
        self._model, self._formats, self._refused = model, _FALLBACKS[structure], set[str]()

    @property
    def structure(self) -> Structure:
        """How JSON answers are asked for now."""
        return self._formats[0]

    def apply(self, request: Request) -> Request:
        """Return a request as this endpoint takes it; the one in hand decides whether its answer is JSON."""
        changes: dict[str, Any] = dict.fromkeys(self._refused)
        typed = typed_request.get()
        if typed is not None and isinstance(typed.adapter, JsonAdapter):
            changes["response_format"] = _format(typed, self.structure)
        return replace(request, config=replace(request.config, **changes)) if changes else request

    def learn(self, sent: Request, error: LMError) -> RefusedParameterError | None:
        """Take note of a refusal; return the error that asks for another try, if there is anything to leave out."""
        if not _refusal(error):
            return None
        text = error.message.lower()
        form = sent.config.response_format
        if form is not None and len(self._formats) > 1 and _about_format(text):
            if form == self.apply(sent).config.response_format:  # nobody else has learned it in between
                refused, *left = self._formats
                self._formats = tuple(left)
                _log.warning(
                    "%s refuses %s: asked by %s from now on", self._model, _SAID[refused], _SAID[left[0]]
                )
            return RefusedParameterError(error)
        for name in _PARAMETERS:
            if getattr(sent.config, name) is not None and name in text:
                if name not in self._refused:
                    self._refused.add(name)
                    _log.warning("%s refuses %s: left out from now on", self._model, name)
                return RefusedParameterError(error)
        return None


def _refusal(error: LMError) -> bool:
    if isinstance(error, (ContextWindowExceededError, LMUnsupportedModelError)):
        return False
    return isinstance(error, (LMInvalidRequestError, LMUnsupportedFeatureError)) or error.status in (400, 422)


def _about_format(text: str) -> bool:
    return any(
        word in text for word in ("response_format", "json_schema", "json_object", "schema", "structured")
    )


def _format(typed: TypedRequest, structure: Structure) -> dict[str, Any] | None:
    if structure == "prompt":
        return None
    if structure == "object":
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "name": typed.signature.__name__,
        "schema": schema_of(typed),
        "strict": True,
    }


def _strict(schema: Any) -> Any:
    """Return a schema as strict endpoints take it: closed objects, all fields required, no defaults and no titles."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        name: {key: _strict(one) for key, one in value.items()}
        if name in ("properties", "$defs")
        else _strict(value)
        for name, value in schema.items()
        if name not in ("title", "default")
    }
    if "properties" in found:
        found |= {"required": list(found["properties"]), "additionalProperties": False}
    return found
