"""The settings that an endpoint accepts: forms of a JSON answer, parameters, limits, and a system message.

Lists of models that refuse a parameter go stale: what an endpoint refuses is found out from its first refusal,
logged once, and left out of every later request of the job. The prompt stays the same.
"""

import copy
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, get_args

import dspy
from dspy.lm15 import Config, Message, Request, Response, ThinkingPart

from .conversion import reply_text
from .draws import typed_request
from .failure_kinds import FailureKind
from .failures import Failure
from .identity_cache import IdentityCache
from .prefixes import SharedPrefixes
from .strict_schemas import schema_name, schema_of

_Form = Literal["schema", "object_schema", "object", "prompt"]
_FORMS: Final[tuple[_Form, ...]] = get_args(_Form)
"""The ways to make an endpoint answer in the JSON that is asked for, the strictest first: the order of trial."""
_SCHEMALESS_FORMS: Final[tuple[_Form, ...]] = ("object", "prompt")
"""The ways for an answer that has no strict schema."""
_FORM_NAMES: Final[dict[_Form, str]] = {
    "schema": "a JSON schema",
    "object_schema": "a JSON object with a schema",  # llama.cpp's server, Together, Fireworks
    "object": "a JSON object",
    "prompt": "the prompt alone",
}
_REFUSALS: Final = (FailureKind.SETTINGS, FailureKind.UNSUPPORTED)
"""The kinds of failure of a request that an endpoint refuses for its settings."""
_LEAST_LIMIT: Final = 2048
_LIMITS: Final[tuple[int, ...]] = tuple(_LEAST_LIMIT * 2**step for step in range(12))
"""Tokens after which a reply that nobody limited is cut; few, so that settings are made once for many requests."""
# Lower-case words by which messages of refusals name the limit on a reply, the form of a JSON answer and a system
# message. OpenAI and servers like it count the tokens "(100 in the messages, 4096 in the completion)".
_WORDS_FOR_LIMIT: Final = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "max_new_tokens",
    "completion)",
)
_WORDS_FOR_FORM: Final = (
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
_WORDS_FOR_SYSTEM: Final = re.compile(
    r"system role|role '?\"?system|'system' with this model|system (message|instruction|prompt)"
    r"|developer instruction|roles must alternate"
)
ANTHROPIC: Final = "anthropic/"
"""The start of the names of models that take no form but a schema, and cache the start of a prompt up to a mark."""
_PARAMETERS: Final = ("temperature", "top_p", "logprobs", "reasoning")
"""Parameters that an endpoint may refuse."""
_PROVIDER_NAMES: Final = {"reasoning": "reasoning_effort"}
"""Parameter -> its name in messages of endpoints, if that is another."""
_CONSEQUENCES: Final = {"logprobs": "probabilities are shares of votes from now on"}
"""Parameter -> the end of the warning that it is left out from now on, if that has a consequence for users."""
_log = logging.getLogger("jurist")


class Terms:
    """The settings that one endpoint accepts, as far as its refusals have shown."""

    def __init__(self, model: str, *, has_other_address: bool) -> None:
        self._model = model
        self._forms = _FORMS
        if model.startswith(ANTHROPIC):
            self._forms = ("schema", "prompt")
        self._refused = dict[str, int | None]()
        """Parameter -> the value that is sent in its place; ``None`` if it is left out."""
        self._sends_both_limits = has_other_address
        """Whether the limit on a reply is sent as ``max_tokens`` too, which servers of one's own may know alone."""
        self._limit_refused_from: int | None = None
        """The least tokens needed for which a default limit was refused; ``None`` where none was."""
        self._takes_system = True
        self._has_replied = False
        self.prefixes = SharedPrefixes()
        """The beginnings of the prompts that were sent there."""
        self._adapted_configs = IdentityCache(self._adapt_config)
        """Config, signature and default limit -> the config that is sent."""
        self._json_at_first = self.as_json

    @property
    def json_form(self) -> str:
        """The way in which JSON answers are asked for, such as ``schema``; empty before the first reply."""
        return self._forms[0] if self._has_replied else ""

    @property
    def as_json(self) -> str:
        """The terms so far, as JSON that :meth:`restored` reads."""
        return json.dumps(
            {
                "forms": self._forms,
                "refused": self._refused,
                "sends_both_limits": self._sends_both_limits,
                "limit_refused_from": self._limit_refused_from,
                "takes_system": self._takes_system,
            }
        )

    @property
    def json_if_changed(self) -> str:
        """The terms as JSON; empty if this job has learnt nothing new."""
        terms = self.as_json
        return "" if terms == self._json_at_first else terms

    @property
    def refusals(self) -> str:
        """The settings that an earlier job found to be refused, as a phrase of a message."""
        refused = list[str]()
        for name, fewer in self._refused.items():
            refused.append(name if fewer is None else f"more than {fewer} {name}")
        for form in json.loads(self._json_at_first)["forms"]:
            if form not in self._forms:
                refused.append(_FORM_NAMES[form])
        if self._limit_refused_from == 0:
            refused.append("a limit on replies")
        elif self._limit_refused_from is not None:
            refused.append("a limit on long replies")
        if not self._takes_system:
            refused.append("a system message")
        if not refused:
            refused.append("a limit on replies under two names")
        return f"refused before, and is not asked for: {', '.join(refused)}"

    def restored(self, terms_as_json: str) -> "Terms":
        """Return a copy of these terms that knows the JSON of an earlier job or batch, made by :attr:`as_json`.

        What an earlier release wrote as a list is not read: its refusals are found out again.
        """
        terms = copy.copy(self)
        values = json.loads(terms_as_json)
        if isinstance(values, list):
            return terms
        terms._forms = tuple(values["forms"])
        terms._refused = values["refused"]
        terms._sends_both_limits = values["sends_both_limits"]
        terms._limit_refused_from = values["limit_refused_from"]
        terms._takes_system = values["takes_system"]
        terms._adapted_configs = IdentityCache(terms._adapt_config)
        return terms

    def apply(self, request: Request) -> Request:
        """Return a request with settings that this endpoint accepts; the seed goes, as it only numbers samples."""
        config = self._accepted_config(request)
        if request.system and not self._takes_system:
            request = _without_system(request)
        return replace(request, config=config)

    def _accepted_config(self, request: Request) -> Config:
        """Return the settings of a request as this endpoint accepts them."""
        typed = typed_request.get()
        # The typed request in hand decides whether its answer is JSON.
        json_signature, limit = None, None
        if typed is not None:
            if isinstance(typed.adapter, dspy.JSONAdapter):
                json_signature = typed.signature
            if request.config.max_tokens is None:
                limit = self._default_limit(_tokens_needed(request))
        return self._adapted_configs(request.config, json_signature, limit)

    def _default_limit(self, needed: int) -> int | None:
        """Return the default limit for a reply that may need a number of tokens; ``None`` for no limit."""
        if self._limit_refused_from is not None and needed >= self._limit_refused_from:
            return None
        for limit in _LIMITS:
            if limit >= needed:
                return limit
        return None

    def _adapt_config(
        self, config: Config, json_signature: type[dspy.Signature] | None, default_limit: int | None
    ) -> Config:
        """Return settings that this endpoint accepts, for a JSON answer of a signature or, without one, a text."""
        limit = default_limit if config.max_tokens is None else config.max_tokens
        changes: dict[str, Any] = {"seed": None, "max_tokens": limit}
        for name, value in self._refused.items():
            if getattr(config, name) is not None:
                changes[name] = value
        extensions = dict(config.extensions or {})
        if json_signature is not None:
            form = self._form_of(json_signature)
            response_format = _response_format(json_signature, form)
            if form == "object_schema":  # DSPy knows no such form
                extensions["response_format"] = response_format
            elif response_format:
                changes["response_format"] = response_format
        if self._sends_both_limits and limit is not None:
            extensions["max_tokens"] = limit
        if extensions:
            changes["extensions"] = extensions
        return replace(config, **changes)

    def _form_of(self, signature: type[dspy.Signature]) -> _Form:
        """Return the first form that the endpoint accepts and that is possible for the answers of a signature."""
        if schema_of(signature) is not None:
            return self._forms[0]
        return next(form for form in self._forms if form in _SCHEMALESS_FORMS)

    def settings_of(self, request: Request) -> frozenset[str]:
        """Return the names of the settings with which a request would be sent, and which an endpoint may refuse."""
        has_system = bool(request.system) and self._takes_system
        return _names_of_settings(self._accepted_config(request), has_system)

    def learn(self, request: Request, sent: Request, failure: Failure, status: int | None) -> None:
        """Learn from a failure of ``sent``, the request as it was adapted, if the provider's words name a setting."""
        words = _without_quotes(failure.words, sent).lower()
        is_refusal = failure.kind in _REFUSALS
        # llama.cpp's server answers 500 if it does not know a form, or log-probabilities.
        is_odd_refusal = failure.kind is FailureKind.SERVER and status == 500
        parameter = _parameter_in(words, sent)
        if parameter == "logprobs" and (is_refusal or is_odd_refusal):
            self._drop_parameter(parameter, sent, fewer=_fewer_alternatives(sent, words))
            return
        if parameter and is_refusal:
            self._drop_parameter(parameter, sent)
            return
        if _has_one_of(_WORDS_FOR_LIMIT, words) and self._learn_limit(request, sent, words, failure.kind):
            return
        if is_refusal and sent.system and _WORDS_FOR_SYSTEM.search(words):
            self._merge_system()
            return
        form = _form_in(sent.config)
        names_form = is_refusal and _has_one_of(_WORDS_FOR_FORM, words)
        if form != "prompt" and (names_form or (is_odd_refusal and "response_format" in words)):
            self._drop_form(form)

    def _learn_limit(self, request: Request, sent: Request, words: str, kind: FailureKind) -> bool:
        """Learn from words about the limit on a reply; return whether that was the setting to blame."""
        is_refusal = kind in _REFUSALS
        has_two_limits = "max_tokens" in (sent.config.extensions or {})
        if is_refusal and has_two_limits and "max_tokens" in words:
            self._sends_both_limits = False
            self._forget_configs()
            return True
        if (is_refusal or kind is FailureKind.TOO_LONG) and _has_default_limit(request, sent):
            self._refuse_limit(request, sent, words)
            return True
        return False

    def note_reply(self, request: Request, sent: Request, response: Response) -> bool:
        """Learn from a reply; return whether the request is sent again, as the default limit cut off its answer."""
        self._has_replied = True
        if response.finish_reason == "length" and _has_default_limit(request, sent):
            text, thoughts = reply_text(response), response.message.parts_of(ThinkingPart)
            if thoughts or response.usage.reasoning_tokens or not text.strip() or "<think" in text:
                self._drop_default_limit(0, "thinks before it answers")
                return True
        if sent.config.logprobs is not None and not response.logprobs and reply_text(response):
            self._drop_parameter("logprobs", sent, "gives no")
        return False

    def _forget_configs(self) -> None:
        """Forget the adapted settings, as other settings are sent from now on."""
        self._adapted_configs = IdentityCache(self._adapt_config)

    def _refuse_limit(self, request: Request, sent: Request, words: str) -> None:
        """Send no default limit with requests as long as this one, or with any if the words name no number."""
        if str(sent.config.max_tokens) in words or "completion)" in words:
            self._drop_default_limit(
                _tokens_needed(request), "leaves less room for a reply than its default limit"
            )
        else:
            self._drop_default_limit(0, "refuses the default limit on a reply")

    def _drop_default_limit(self, needed: int, reason: str) -> None:
        """Send no default limit from now on if a reply may need ``needed`` tokens or more, and log the reason."""
        refused_from = self._limit_refused_from
        if refused_from is not None and refused_from <= needed:
            return  # another request has learnt it in between
        self._limit_refused_from = needed
        affected_replies = "replies" if needed == 0 else "replies to requests of this length"
        if refused_from is None or needed == 0:
            _log.warning("%s %s: %s have no limit from now on", self._model, reason, affected_replies)

    def _merge_system(self) -> None:
        """Send no system message from now on, and log it once."""
        if self._takes_system:
            self._takes_system = False
            _log.warning(
                "%s takes no system message: it stands before the text of the user from now on", self._model
            )

    def _drop_parameter(
        self, name: str, sent: Request, verb: str = "refuses", fewer: int | None = None
    ) -> None:
        """Leave a parameter out from now on, or send the value ``fewer`` in its place, and log it.

        ``verb`` says in the log how the endpoint showed that it does not know the parameter.
        """
        requested = getattr(sent.config, name)
        if self._refused.get(name, requested) != requested:
            return  # another request has learnt it in between
        if name in self._refused:  # fewer were refused, too
            fewer = None
        self._refused[name] = fewer
        self._forget_configs()
        if fewer:
            refused, consequence = f"{requested} {name}", f"{fewer} are asked for from now on"
        else:
            refused, consequence = name, _CONSEQUENCES.get(name, "left out from now on")
        _log.warning("%s %s %s: %s", self._model, verb, refused, consequence)

    def _drop_form(self, form: _Form) -> None:
        """Ask for no JSON answer in a form from now on, and log the form that is next."""
        if form not in self._forms:
            return  # another request has learnt it in between
        self._forms = tuple(name for name in self._forms if name != form)
        self._forget_configs()
        refused, next_form = _FORM_NAMES[form], _FORM_NAMES[self._forms[0]]
        _log.warning("%s refuses %s: asked by %s from now on", self._model, refused, next_form)


def _tokens_needed(request: Request) -> int:
    """Return the most tokens that a reply needs: some for reasoning and labels, and the question, if it is echoed."""
    question: str = request.messages[-1].text or ""
    return _LEAST_LIMIT + len(question.encode("utf-8", "surrogatepass"))


def _has_one_of(phrases: Sequence[str], words: str) -> bool:
    """Say whether one of several phrases stands in a provider's words."""
    return any(phrase in words for phrase in phrases)


def _has_default_limit(request: Request, sent: Request) -> bool:
    """Say whether the limit that was sent is the default one, as the request itself has none."""
    return request.config.max_tokens is None and sent.config.max_tokens is not None


def _parameter_in(words: str, sent: Request) -> str:
    """Return the first parameter of a request that a provider's words name; empty without one."""
    for name in _PARAMETERS:
        if getattr(sent.config, name) is not None and _PROVIDER_NAMES.get(name, name) in words:
            return name
    return ""


def _without_system(request: Request) -> Request:
    """Return a request whose system message stands before the text of its first message."""
    text = request.system
    if not isinstance(text, str):
        text = "".join(part.text for part in text)
    first = request.messages[0]
    merged = Message.user(f"{text}\n\n{first.text or ''}")
    return replace(request, system=None, messages=(merged,) + tuple(request.messages[1:]))


def _without_quotes(words: str, sent: Request) -> str:
    """Return the words of a refusal without the texts of the request, as some servers quote them."""
    for message in sent.messages:
        text = message.text or ""
        if text:
            words = words.replace(text, " ").replace(json.dumps(text)[1:-1], " ")
    return words


def _list_settings(config: Config, has_system: bool) -> frozenset[str]:
    """Return the names of settings that an endpoint may refuse, of a request with or without a system message."""
    names = {"request"}
    for name in _PARAMETERS:
        if getattr(config, name) is not None:
            names.add(name)
    if config.max_tokens is not None:
        names.add("max_tokens")
    if has_system:
        names.add("system")
    form = _form_in(config)
    if form != "prompt":
        names.add(form)
    return frozenset(names)


_names_of_settings: Final[IdentityCache[frozenset[str]]] = IdentityCache(_list_settings)


def _form_in(config: Config) -> _Form:
    """Return the form in which a request asks for its answer; ``prompt`` for an answer that is no JSON."""
    response_format = config.response_format
    if response_format is None:
        has_schema = (config.extensions or {}).get("response_format")
        return "object_schema" if has_schema else "prompt"
    return "schema" if response_format.get("type") == "json_schema" else "object"


def _fewer_alternatives(sent: Request, words: str) -> int | None:
    """Return the largest number in a refusal that is below the alternatives asked for; ``None`` without one."""
    model_name = sent.model.rpartition("/")[2].lower()
    fewer: int | None = None
    for digits in re.findall(r"\d+", words.replace(model_name, "")):
        number = int(digits)
        if 0 < number < (sent.config.logprobs or 0):
            fewer = max(number, fewer or 0)
    return fewer


def _response_format(signature: type[dspy.Signature], form: _Form) -> dict[str, object] | None:
    """Return the ``response_format`` of a request for an answer in a form; ``None`` for ``prompt``."""
    if form == "prompt":
        return None
    if form == "object":
        return {"type": "json_object"}
    schema = schema_of(signature)
    if form == "object_schema":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_schema", "name": schema_name(signature), "schema": schema, "strict": True}
