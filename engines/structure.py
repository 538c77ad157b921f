"""What an endpoint takes: answers that cannot be malformed, and parameters.

Lists of models that refuse a parameter go stale: what an endpoint refuses is found out from its first refusal,
said once, and left out of every later request of the job. The prompt stays the same.
"""

import copy
import json
import logging
import re
from dataclasses import replace
from typing import Any, Final, Literal, get_args

import dspy
import pydantic
from dspy.lm15 import CacheConfig, Config, Request, Response, ThinkingPart
from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedFeatureError,
    LMUnsupportedModelError,
)

from .conversion import text_of
from .draws import typed_request
from .failures import RefusedParameterError
from .kept import Kept

_Form = Literal["schema", "object_schema", "object", "prompt"]
_FORMS: Final[tuple[_Form, ...]] = get_args(_Form)
"""How a JSON answer is held to its form, in the order in which it is tried."""
_SAID: Final[dict[_Form, str]] = {
    "schema": "a JSON schema",
    "object_schema": "a JSON object with a schema",  # llama.cpp's server, Together, Fireworks
    "object": "a JSON object",
    "prompt": "the prompt alone",
}
_LEAST: Final = 2048
_LIMITS: Final = tuple(_LEAST * 2**step for step in range(12))
"""Tokens after which a reply that nobody limited is cut; few, so that settings are made once for many requests."""
_ABOUT_LIMIT: Final = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "completion)",
)
_MARKED: Final = "anthropic/"
"""A provider that keeps the beginning of a prompt only up to where it is marked."""
_PARAMETERS: Final = ("temperature", "top_p", "logprobs")
_INSTEAD: Final = {"logprobs": "probabilities are shares of votes from now on"}
_log = logging.getLogger("jurist")


def schema_of(signature: Any) -> dict[str, Any]:
    """Return the strict JSON schema of an answer: fields in their order, reasoning before the label, labels as enum."""
    fields: dict[str, Any] = {
        name: (field.annotation, ...) for name, field in signature.output_fields.items()
    }
    model = pydantic.create_model(signature.__name__, **fields)
    schema: dict[str, Any] = _strict(model.model_json_schema())
    return schema


class Terms:
    """What one endpoint takes, as far as its refusals have shown."""

    def __init__(self, model: str, *, foreign: bool) -> None:
        self._model, self._forms = model, _FORMS
        self._refused = dict[str, int | None]()  # parameter -> what is sent in its place
        self._both_limits, self._limited, self._heard = foreign, True, False
        self._with_default = list[Config]()
        self._config = Kept(self._changed)
        self._at_first = self.known

    @property
    def held_by(self) -> str:
        """How JSON output is enforced, known from the first reply on; empty before."""
        return self._forms[0] if self._heard else ""

    @property
    def known(self) -> str:
        """What refusals and replies have shown so far, as JSON."""
        return json.dumps([self._forms, self._refused, self._both_limits, self._limited])

    @property
    def learnt(self) -> str:
        """The same; empty if it is what every endpoint is taken for."""
        return "" if self.known == self._at_first else self.known

    @property
    def refusals(self) -> str:
        """In words what an earlier job has learnt."""
        left = [name if most is None else f"more than {most} {name}" for name, most in self._refused.items()]
        left += [_SAID[form] for form in _FORMS if form not in self._forms]
        left += [] if self._limited else ["a limit on replies"]
        return (
            f"refused before, and is not asked for: {', '.join(left) or 'a limit on replies under two names'}"
        )

    def as_of(self, known: str) -> "Terms":
        """Return these terms as they were, or will be, when that is known: for what is sent now and answered later."""
        other = copy.copy(self)
        forms, refused, other._both_limits, other._limited = json.loads(known)
        other._forms, other._refused, other._config = tuple(forms), refused, Kept(other._changed)
        return other

    def apply(self, request: Request) -> Request:
        """Return a request as this endpoint takes it, without the seed, which is the number of a sample and ours."""
        # the typed request in hand decides whether its answer is JSON
        typed = typed_request.get()
        held = typed.signature if typed is not None and isinstance(typed.adapter, dspy.JSONAdapter) else None
        limit = None
        if typed is not None and self._limited and request.config.max_tokens is None:
            # some tokens for reasoning and labels, and what was asked about, if it is echoed
            needed = _LEAST + len((request.messages[-1].text or "").encode("utf-8", "surrogatepass"))
            limit = next((limit for limit in _LIMITS if limit >= needed), None)
        return replace(request, config=self._config(request.config, held, limit, len(request.messages)))

    def _changed(self, config: Config, held: Any, limit: int | None, messages: int) -> Config:
        limit = limit if config.max_tokens is None else config.max_tokens
        wanted = {name: value for name, value in self._refused.items() if getattr(config, name) is not None}
        changes: dict[str, Any] = {"seed": None, "max_tokens": limit, **wanted}
        if self._model.startswith(_MARKED):  # the last message has the case, what comes before never changes
            changes["cache"] = CacheConfig(prefix_until_index=messages - 2) if messages > 1 else CacheConfig()
        extensions: dict[str, Any] = {}
        if held is not None:
            form, extensions = _held_to(held, self._forms[0])
            changes |= form
        if self._both_limits and limit is not None:
            extensions["max_tokens"] = limit
        if extensions:
            changes["extensions"] = {**(config.extensions or {}), **extensions}
        changed = replace(config, **changes)
        if limit != config.max_tokens:
            self._with_default.append(changed)
        return changed

    def learn(self, sent: Request, error: LMError) -> RefusedParameterError | None:
        """Take note of a refusal; return the error that asks for another try, if there is anything to leave out."""
        text = error.message.lower()
        too_long = isinstance(error, ContextWindowExceededError)
        if too_long and self._has_default(sent) and any(word in text for word in _ABOUT_LIMIT):
            self._leave_limit("leaves less room for a reply than its default limit")
            return RefusedParameterError(error)
        if too_long or isinstance(error, LMUnsupportedModelError):
            return None
        refusal = isinstance(error, LMInvalidRequestError | LMUnsupportedFeatureError)
        refusal = refusal or error.status in (400, 422)
        extensions = sent.config.extensions or {}
        held = sent.config.response_format or extensions.get("response_format")
        named = [name for name in _PARAMETERS if getattr(sent.config, name) is not None and name in text]
        # llama.cpp's server answers 500 to a parameter or a form that it does not know.
        about_form = ("response_format", *(("json_schema", "json_object", "schema", "structured") * refusal))
        if named and (refusal or named[0] == "logprobs"):
            self._leave_out(named[0], sent, fewer=_fewer(sent, text) if named[0] == "logprobs" else None)
        elif "max_tokens" in extensions and "max_tokens" in text and refusal:
            self._both_limits, self._config = False, Kept(self._changed)
        elif self._has_default(sent) and refusal and any(word in text for word in _ABOUT_LIMIT):
            self._leave_limit("refuses the default limit on a reply")
        elif len(self._forms) > 1 and held and any(word in text for word in about_form):
            self._give_up(sent)
        else:
            return None
        return RefusedParameterError(error)

    def heard(self, sent: Request, response: Response) -> bool:
        """Take note of a reply; return whether it is worth another try, now without a limit."""
        self._heard = True
        if response.finish_reason == "length" and self._has_default(sent):
            text, thoughts = text_of(response), response.message.parts_of(ThinkingPart)
            if thoughts or response.usage.reasoning_tokens or not text.strip() or "<think" in text:
                self._leave_limit("thinks before it answers")
                return True
        if sent.config.logprobs is not None and not response.logprobs and text_of(response):
            self._leave_out("logprobs", sent, "gives no")
        return False

    def _has_default(self, sent: Request) -> bool:
        return any(config is sent.config for config in self._with_default)

    def _leave_limit(self, why: str) -> None:
        if self._limited:
            self._limited = False
            _log.warning("%s %s: replies have no limit from now on", self._model, why)

    def _leave_out(self, name: str, sent: Request, does: str = "refuses", fewer: int | None = None) -> None:
        asked = getattr(sent.config, name)
        if self._refused.get(name, asked) != asked:
            return  # another request has learned it in between
        self._refused[name] = None if name in self._refused else fewer
        self._config = Kept(self._changed)
        left = _INSTEAD.get(name, "left out from now on")
        if fewer := self._refused[name]:
            name, left = f"{asked} {name}", f"{fewer} are asked for from now on"
        _log.warning("%s %s %s: %s", self._model, does, name, left)

    def _give_up(self, sent: Request) -> None:
        if self.apply(sent).config != sent.config:
            return  # another request has learned it in between
        refused, *left = self._forms
        self._forms, self._config = tuple(left), Kept(self._changed)
        _log.warning("%s refuses %s: asked by %s from now on", self._model, _SAID[refused], _SAID[left[0]])


def _fewer(sent: Request, text: str) -> int | None:
    """Return the most alternatives that a refusal speaks of, below those that were asked for."""
    numbers = map(int, re.findall(r"\d+", text.replace(sent.model.rpartition("/")[2].lower(), "")))
    return max((number for number in numbers if 0 < number < (sent.config.logprobs or 0)), default=None)


def _held_to(signature: Any, form: _Form) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of a request's settings holds its answer to a form: settings that DSPy knows, and others."""
    if form == "schema":
        named = {"name": signature.__name__, "schema": schema_of(signature), "strict": True}
        return {"response_format": {"type": "json_schema", **named}}, {}
    if form == "object_schema":
        return {}, {"response_format": {"type": "json_object", "schema": schema_of(signature)}}
    return ({"response_format": {"type": "json_object"}} if form == "object" else {}), {}


def _strict(schema: Any) -> Any:
    """Return a schema as strict endpoints take it: closed objects, all fields required, no defaults and no titles."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = dict[str, Any]()
    for name, value in schema.items():
        if name in ("properties", "$defs"):  # their keys are names, which may be called like a keyword
            strict[name] = {key: _strict(part) for key, part in value.items()}
        elif name not in ("title", "default"):
            strict[name] = _strict(value)
    if "properties" in strict:
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict
