"""What an endpoint takes: answers that cannot be malformed, parameters, and a system message.

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
from dspy.lm15 import Config, Message, Request, Response, ThinkingPart

from .conversion import reply_text
from .draws import typed_request
from .failures import Failure, FailureKind
from .identity_cache import IdentityCache
from .prefixes import SharedPrefixes

_Form = Literal["schema", "object_schema", "object", "prompt"]
_FORMS: Final[tuple[_Form, ...]] = get_args(_Form)
"""How a JSON answer is held to its form, in the order in which it is tried."""
_LOOSE: Final[tuple[_Form, ...]] = ("object", "prompt")
"""The forms for an answer of which there is no strict schema."""
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
    "maxoutputtokens",
    "max_new_tokens",
    "completion)",
)
_ABOUT_FORM: Final = (
    "response_format",
    "json_schema",
    "json_object",
    "schema",
    "structured",
    "json mode",
    "output format",
    "output_config",
    "output_format",
    "mime",
    "grammar",
)
_ABOUT_SYSTEM: Final = re.compile(
    r"system role|role '?\"?system|'system' with this model|system (message|instruction|prompt)"
    r"|developer instruction|roles must alternate"
)
ANTHROPIC: Final = "anthropic/"
"""A provider that keeps the beginning of a prompt only up to where it is marked, and knows no bare JSON object."""
_PARAMETERS: Final = ("temperature", "top_p", "logprobs", "reasoning")
_CALLED: Final = {"reasoning": "reasoning_effort"}
"""Parameter -> what endpoints call it, where that is another name."""
_INSTEAD: Final = {"logprobs": "probabilities are shares of votes from now on"}
_log = logging.getLogger("jurist")


def schema_of(signature: Any) -> dict[str, Any] | None:
    """Return the strict JSON schema of an answer, its fields in their order; ``None`` where strict mode has none."""
    fields: dict[str, Any] = {
        name: (field.annotation, ...) for name, field in signature.output_fields.items()
    }
    model = pydantic.create_model(signature.__name__, **fields)
    schema: dict[str, Any] = _strict(model.model_json_schema())
    return schema if _is_strict(schema) else None


def schema_name(signature: Any) -> str:
    """Return the name of an answer's schema, in the characters that endpoints take."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", signature.__name__)[:64]


class Terms:
    """The settings that one endpoint accepts, as far as its refusals have shown."""

    def __init__(self, model: str, *, foreign: bool) -> None:
        self._model = model
        self._forms = _FORMS
        if model.startswith(ANTHROPIC):
            self._forms = ("schema", "prompt")
        self._refused = dict[str, int | None]()  # parameter -> what is sent in its place
        self._both_limits = foreign
        # The least tokens needed for which a default limit was refused; None where none was.
        self._limit_refused_from: int | None = None
        self._takes_system = True
        self._heard = False
        self.prefixes = SharedPrefixes()  # of the prompts that were sent there
        self._config = IdentityCache(self._changed)
        self._at_first = self.known

    @property
    def held_by(self) -> str:
        """How JSON output is enforced, known from the first reply on; empty before."""
        return self._forms[0] if self._heard else ""

    @property
    def known(self) -> str:
        """The terms that refusals and replies have shown so far, as JSON."""
        return json.dumps(
            [self._forms, self._refused, self._both_limits, self._limit_refused_from, self._takes_system]
        )

    @property
    def learnt(self) -> str:
        """The terms as JSON; empty if this job has found nothing new."""
        return "" if self.known == self._at_first else self.known

    @property
    def refusals(self) -> str:
        """In words what an earlier job has learnt."""
        refused = list[str]()
        for name, most in self._refused.items():
            refused.append(name if most is None else f"more than {most} {name}")
        refused += [_SAID[form] for form in json.loads(self._at_first)[0] if form not in self._forms]
        if self._limit_refused_from is not None:
            refused.append(
                "a limit on replies" if self._limit_refused_from == 0 else "a limit on long replies"
            )
        if not self._takes_system:
            refused.append("a system message")
        return f"refused before, and is not asked for: {', '.join(refused) or 'a limit on replies under two names'}"

    def as_of(self, known: str) -> "Terms":
        """Return these terms as they were, or will be, when that is known: for what is sent now and answered later."""
        other = copy.copy(self)
        forms, other._refused, other._both_limits, limit, *later = json.loads(known)
        other._forms = tuple(forms)
        if isinstance(limit, bool):  # as versions before wrote it: whether there is a limit
            limit = None if limit else 0
        other._limit_refused_from = limit
        other._takes_system = later[0] if later else True
        other._config = IdentityCache(other._changed)
        return other

    def apply(self, request: Request) -> Request:
        """Return a request as this endpoint takes it, without the seed, which is the number of a sample and ours."""
        # the typed request in hand decides whether its answer is JSON
        typed = typed_request.get()
        held = typed.signature if typed is not None and isinstance(typed.adapter, dspy.JSONAdapter) else None
        limit = None
        if typed is not None and request.config.max_tokens is None:
            limit = self._default_limit(_needed(request))
        if request.system and not self._takes_system:
            request = _without_system(request)
        return replace(request, config=self._config(request.config, held, limit))

    def _default_limit(self, needed: int) -> int | None:
        """Return the tokens after which a reply that needs so many is cut, ``None`` where it is not."""
        if self._limit_refused_from is not None and needed >= self._limit_refused_from:
            return None
        return next((limit for limit in _LIMITS if limit >= needed), None)

    def _changed(self, config: Config, held: Any, limit: int | None) -> Config:
        limit = limit if config.max_tokens is None else config.max_tokens
        changes: dict[str, Any] = {"seed": None, "max_tokens": limit}
        for name, value in self._refused.items():
            if getattr(config, name) is not None:
                changes[name] = value
        extensions: dict[str, Any] = {}
        if held is not None:
            form, extensions = _held_to(held, self._form_of(held))
            changes |= form
        if self._both_limits and limit is not None:
            extensions["max_tokens"] = limit
        if extensions:
            changes["extensions"] = {**(config.extensions or {}), **extensions}
        return replace(config, **changes)

    def _form_of(self, signature: Any) -> _Form:
        """Return the first form that the endpoint takes and the answer has."""
        if schema_of(signature) is not None:
            return self._forms[0]
        return next(form for form in self._forms if form in _LOOSE)

    def settings_of(self, sent: Request) -> frozenset[str]:
        """Return the names of what an endpoint may refuse in a request."""
        config = sent.config
        names = {"request"}
        names.update(name for name in (*_PARAMETERS, "max_tokens") if getattr(config, name) is not None)
        if sent.system:
            names.add("system")
        form = _form_sent(sent)
        if form != "prompt":
            names.add(form)
        return frozenset(names)

    def learn(self, request: Request, sent: Request, failure: Failure, status: int | None) -> None:
        """Take note of a refusal of what was sent for a request, where the provider's words name a setting."""
        words = _without_quotes(failure.words, sent).lower()
        kind = failure.kind
        refuses = kind in (FailureKind.SETTINGS, FailureKind.UNSUPPORTED)
        # llama.cpp's server answers 500 to a form, or to log-probabilities, that it does not know.
        odd = kind is FailureKind.SERVER and status == 500
        about_limit = any(word in words for word in _ABOUT_LIMIT)
        named = [
            name
            for name in _PARAMETERS
            if getattr(sent.config, name) is not None and _CALLED.get(name, name) in words
        ]
        form = _form_sent(sent)
        if named and (refuses or (odd and named[0] == "logprobs")):
            self._leave_out(named[0], sent, fewer=_fewer(sent, words) if named[0] == "logprobs" else None)
        elif (
            refuses
            and about_limit
            and "max_tokens" in (sent.config.extensions or {})
            and "max_tokens" in words
        ):
            self._both_limits = False
            self._config = IdentityCache(self._changed)
        elif (refuses or kind is FailureKind.TOO_LONG) and about_limit and _has_default_limit(request, sent):
            self._refuse_limit(request, sent, words)
        elif refuses and sent.system and _ABOUT_SYSTEM.search(words):
            self._merge_system()
        elif form != "prompt" and (
            (refuses and any(word in words for word in _ABOUT_FORM)) or (odd and "response_format" in words)
        ):
            self._give_up(form)

    def heard(self, request: Request, sent: Request, response: Response) -> bool:
        """Take note of a reply; return whether it is worth another try, now without a limit."""
        self._heard = True
        if response.finish_reason == "length" and _has_default_limit(request, sent):
            text, thoughts = reply_text(response), response.message.parts_of(ThinkingPart)
            if thoughts or response.usage.reasoning_tokens or not text.strip() or "<think" in text:
                self._leave_limit(0, "thinks before it answers")
                return True
        if sent.config.logprobs is not None and not response.logprobs and reply_text(response):
            self._leave_out("logprobs", sent, "gives no")
        return False

    def _refuse_limit(self, request: Request, sent: Request, words: str) -> None:
        """Send no limit with requests as long as this one, or with any where the words name no number of tokens."""
        if str(sent.config.max_tokens) in words or "completion)" in words:
            self._leave_limit(_needed(request), "leaves less room for a reply than its default limit")
        else:
            self._leave_limit(0, "refuses the default limit on a reply")

    def _leave_limit(self, needed: int, why: str) -> None:
        before = self._limit_refused_from
        if before is not None and before <= needed:
            return  # another request has learned it in between
        self._limit_refused_from = needed
        which = "replies" if needed == 0 else "replies to requests of this length"
        if before is None or needed == 0:
            _log.warning("%s %s: %s have no limit from now on", self._model, why, which)

    def _merge_system(self) -> None:
        if self._takes_system:
            self._takes_system = False
            _log.warning(
                "%s takes no system message: it stands before the text of the user from now on", self._model
            )

    def _leave_out(self, name: str, sent: Request, does: str = "refuses", fewer: int | None = None) -> None:
        requested = getattr(sent.config, name)
        if self._refused.get(name, requested) != requested:
            return  # another request has learned it in between
        self._refused[name] = None if name in self._refused else fewer
        self._config = IdentityCache(self._changed)
        instead = _INSTEAD.get(name, "left out from now on")
        if fewer := self._refused[name]:
            name, instead = f"{requested} {name}", f"{fewer} are asked for from now on"
        _log.warning("%s %s %s: %s", self._model, does, name, instead)

    def _give_up(self, form: _Form) -> None:
        if form not in self._forms:
            return  # another request has learned it in between
        self._forms = tuple(other for other in self._forms if other != form)
        self._config = IdentityCache(self._changed)
        _log.warning(
            "%s refuses %s: asked by %s from now on", self._model, _SAID[form], _SAID[self._forms[0]]
        )


def _needed(request: Request) -> int:
    """Return the tokens that a reply may need: some for reasoning and labels, and the question, if it is echoed."""
    return _LEAST + len((request.messages[-1].text or "").encode("utf-8", "surrogatepass"))


def _has_default_limit(request: Request, sent: Request) -> bool:
    """Whether the limit on the reply is the default, which nobody asked for."""
    return request.config.max_tokens is None and sent.config.max_tokens is not None


def _without_system(request: Request) -> Request:
    """Return a request whose system message stands before the text of its first message."""
    system = request.system
    text = system if isinstance(system, str) else "".join(part.text for part in system)
    first, *others = request.messages
    merged = Message.user(f"{text}\n\n{first.text or ''}")
    return replace(request, system=None, messages=(merged, *others))


def _without_quotes(words: str, sent: Request) -> str:
    """Return the words of a refusal without the texts of the request, which some servers quote: they teach nothing."""
    for message in sent.messages:
        text = message.text or ""
        if text:
            words = words.replace(text, " ").replace(json.dumps(text)[1:-1], " ")
    return words


def _form_sent(sent: Request) -> _Form:
    """Return the form to which a request holds its answer."""
    form = sent.config.response_format
    if form is not None:
        return "schema" if form.get("type") == "json_schema" else "object"
    return "object_schema" if (sent.config.extensions or {}).get("response_format") else "prompt"


def _fewer(sent: Request, text: str) -> int | None:
    """Return the most alternatives that a refusal speaks of, below those that were asked for."""
    numbers = map(int, re.findall(r"\d+", text.replace(sent.model.rpartition("/")[2].lower(), "")))
    return max((number for number in numbers if 0 < number < (sent.config.logprobs or 0)), default=None)


def _held_to(signature: Any, form: _Form) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a request that fix the form of its answer: those that DSPy knows, and others."""
    schema = schema_of(signature)
    if form == "schema":
        named = {"name": schema_name(signature), "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", **named}}, {}
    if form == "object_schema":
        return {}, {"response_format": {"type": "json_object", "schema": schema}}
    return ({"response_format": {"type": "json_object"}} if form == "object" else {}), {}


_LEFT_OUT: Final = frozenset({"title", "default", "uniqueItems", "discriminator"})
"""Keywords that strict endpoints refuse, and without which a schema says nearly the same; replies are checked here."""
_STRICT_KEYWORDS: Final = frozenset(
    {
        *(
            "$defs",
            "$ref",
            "additionalProperties",
            "anyOf",
            "const",
            "description",
            "enum",
            "items",
            "properties",
        ),
        *(
            "required",
            "type",
            "format",
            "pattern",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
        ),
        *("multipleOf", "minItems", "maxItems", "minLength", "maxLength"),
    }
)


def _strict(schema: Any) -> Any:
    """Return a schema as strict endpoints take it: closed objects, all fields required, no defaults and no titles."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:  # which may stand alone only
        return {"$ref": schema["$ref"]}
    strict = dict[str, Any]()
    for name, value in schema.items():
        if name in ("properties", "$defs"):  # their keys are names, which may be called like a keyword
            strict[name] = {key: _strict(part) for key, part in value.items()}
        elif name == "prefixItems":  # a tuple: a list of any of its parts, whose length is checked here
            strict["items"] = _any_of(value)
        elif name == "oneOf":
            strict["anyOf"] = _strict(value)
        elif name in ("enum", "const"):
            strict[name] = value
        elif name not in _LEFT_OUT:
            strict[name] = _strict(value)
    if "allOf" in strict and len(strict["allOf"]) == 1:
        strict = {**strict["allOf"][0], **{name: value for name, value in strict.items() if name != "allOf"}}
        if "$ref" in strict:
            return {"$ref": strict["$ref"]}
    if "properties" in strict:
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def _any_of(parts: list[Any]) -> Any:
    """Return the schema of a value that fits one of several."""
    different = list[Any]()
    for part in parts:
        strict = _strict(part)
        if strict not in different:
            different.append(strict)
    return different[0] if len(different) == 1 else {"anyOf": different}


def _is_strict(schema: Any) -> bool:
    """Say whether strict endpoints take a schema: each part has a type, and each object names all of its fields."""
    if isinstance(schema, list):
        return all(_is_strict(part) for part in schema)
    if not isinstance(schema, dict) or schema.keys() - _STRICT_KEYWORDS:
        return False
    if not schema.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    if schema.get("type") == "array" and "items" not in schema:
        return False
    parts = [
        *schema.get("properties", {}).values(),
        *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []),
    ]
    if "items" in schema:
        parts.append(schema["items"])
    return _is_strict(parts)
