"""From a model string to a DSPy language model that goes through a channel."""

import asyncio
import functools
import importlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from typing import Any, Final
from urllib.parse import urlsplit

import dspy
from dspy import (
    LMConfigurationError,
    LMProviderError,
    LMTimeoutError,
    LMTransportError,
    LMUnsupportedFeatureError,
)
from dspy.lm15 import CacheConfig, Config, Reasoning, Request, Response, ThinkingPart

from ..arguments.groups import Endpoint as EndpointSettings
from ..arguments.groups import Prices
from ..arguments.names import EXAMPLE_MODEL
from ..errors import Seed, UsageError, check_types
from .channel import CallContext, Channel, InnerEngine
from .conversion import answer_of, as_ended, reply_text, without_key
from .direct import Direct, wait_in_thread
from .extras import body_fields, check_fields, check_headers, headers_of, pairs_of, secrets_in
from .failure_kinds import FailureKind
from .failures import (
    MAY_TEACH,
    RefusedParameterError,
    UnusableReplyError,
    brief,
    failure_of,
    timed_out,
)
from .hosts import KEY_VARIABLES, check_host
from .identity_cache import IdentityCache
from .journal import WITHOUT_END
from .ledger import Purpose
from .meter import size_of
from .model_names import PANEL, is_decision_model
from .pace import Pace
from .panel import PanelChannel, Seat
from .prices import foreseen_cost, listed_cost, shipped_prices, stated_cost
from .terms import ANTHROPIC, Terms
from .usage import with_all_tokens
from .window import Window

OFFLINE = "offline"
NAME_IN_EXAMPLES = EXAMPLE_MODEL.partition("/")[2]
"""The model of examples, as the client of its provider names it."""
OWN = "jurist/own"
"""Stands for the model of each version: the one that it was proven with, and of a basic prompt the offline engine."""
RECORDED = "recorded:"
"""The start of the name of a file of verdicts that stands for a judge."""
_REASONS = re.compile(
    r"^gemini-(2\.5-(pro|flash(?!-lite))|3)|reason|thinking|(^|-)r1\b|^qwq|^magistral|^grok-4|gpt-oss"
)
"""Names of models that reason unless they are told not to, besides OpenAI's; others may be found out by a reply."""
_REASONING_TOKENS: Final[Mapping[str | None, int]] = {
    "none": 0,
    "minimal": 50,
    "low": 200,
    "medium": 600,
    "high": 1500,
    "xhigh": 3000,
    "max": 6000,
    None: 600,  # providers reason at a medium effort where none is named
}
"""Effort -> the tokens of hidden reasoning that a forecast expects of a reply to a short question."""
_log = logging.getLogger("jurist")


_SETTINGS_OF_LMS: Final = frozenset(
    {"api_base", "temperature", "top_p", "max_tokens", "timeout", "reasoning_effort"}
)
"""Settings of a ``dspy.LM`` that a model has under the same name."""


def _variable_of(key: str) -> str:
    """Return the first environment variable that holds a key and may be named for it; an error without one."""
    for variable, value in os.environ.items():
        if value == key and variable.endswith(("_KEY", "_TOKEN")):
            return variable
    raise UsageError(
        "the key of this dspy.LM is in no environment variable",
        hint="set one, such as OPENAI_API_KEY, so that the key is written nowhere, or leave out a key that "
        "the server does not ask for",
    )


class Model(EndpointSettings):
    """Which model answers, and how it is reached.

    Attributes:
        name: ``offline`` or a DSPy model string.
        api_base: address of an OpenAI-compatible server.
        temperature: 0 to 2; ``None`` leaves it to the provider.
        top_p: share of the probability that tokens are drawn from, 0 to 1; ``None`` leaves it to the provider.
        max_tokens: limit on a reply; ``None`` for one by the size of the question.
        timeout: seconds one request may take; a request without a limit can hang for ever.
        patience: seconds that an endpoint which has answered before is waited for: where nobody is there, 0 for none;
            where requests come too soon, 60 at least.
        rpm: requests a minute that are never exceeded; ``None`` for no limit.
        seed: of the offline engine's draws.
        key_env: the environment variable that holds the key, ending in ``_KEY`` or ``_TOKEN``; default: the provider's.
        reasoning_effort: how much a reasoning model thinks before it answers, ``none`` to ``max``; ``None`` leaves it
            to the provider.
        headers: name and value of further HTTP headers; ``$VARIABLE`` in a value is read from the environment.
        body: name and JSON of further fields of the body of each request.
        price_in: US dollars of a million input tokens, with ``price_out``; ``None`` for those of the price table.
        price_out: US dollars of a million output tokens.
        price_cached: US dollars of a million cached input tokens; ``None`` for ``price_in``.
        members: of a panel, its models, each of which draws once for a row; see :meth:`panel`.
        terms: how members of the panel that a version was proven with are reached, by their names: their keys,
            addresses, headers and prices, which no card keeps.
    """

    name: str = field(default=OFFLINE, kw_only=False)
    seed: Seed = 0
    members: "tuple[Model, ...]" = ()
    terms: "tuple[Model, ...]" = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Refuse addresses and settings that cannot work."""
        if self.members:
            return
        for name, as_json in (("headers", False), ("body", True)):
            object.__setattr__(self, name, pairs_of(getattr(self, name), as_json=as_json))
        check_types(Model, vars(self))
        if not self.name:
            raise UsageError("the model has no name", hint="write it as provider/model, or use offline")
        provider, _, name = self.name.partition("/")
        if not (self.offline or self.recorded or (provider.strip() and name.strip())):
            # DSPy's client guesses the provider of some bare names, and then fails at the first reply.
            hint = f"write it as provider/model, for example {EXAMPLE_MODEL}"
            raise UsageError(f"the model {self.name!r} does not name provider and model", hint=hint)
        if not self.timeout > 0:
            hint = "give a number above 0"
            raise UsageError(f"a time-out of {self.timeout} seconds allows nothing", hint=hint)
        for name, count in (("rpm", self.rpm), ("max_tokens", self.max_tokens)):
            if count is not None and count < 1:
                raise UsageError(f"{name}={count} is not possible", hint="give a whole number, 1 or more")
        if not self.patience >= 0:
            raise UsageError(f"a patience of {self.patience} seconds is none", hint="give 0 or more")
        if self.key_env is not None and not self.key_env.upper().endswith(("_KEY", "_TOKEN")):
            # The values of such variables are taken out of all that is written.
            hint = "name the environment variable that holds the key, and not the key"
            raise UsageError(f"{self.key_env!r} does not end in _KEY or _TOKEN", hint=hint)
        if self.api_base is not None:
            self._check_address(self.api_base)
        if (self.price_in is None) != (self.price_out is None):
            hint = "give both: US dollars of a million input and of a million output tokens"
            raise UsageError("price_in and price_out go together", hint=hint)
        check_headers(self.headers)
        check_fields(self.body)
        for name, value, maximum in (("temperature", self.temperature, 2), ("top_p", self.top_p, 1)):
            if value is not None and not 0 <= value <= maximum:
                raise UsageError(f"{name} {value} is out of range", hint=f"give a number from 0 to {maximum}")

    @classmethod
    def panel(cls, members: "Sequence[Model]") -> "Model":
        """Return several models as one: each draws once for a row, and their votes weigh the same.

        Raises:
            UsageError: a model is named twice, or is a panel itself.
        """
        in_order = sorted(members, key=lambda member: member.name)  # who is named first does not matter
        names = [member.name for member in in_order]
        if len(set(names)) < len(names) or not names:
            raise UsageError(f"a panel of {', '.join(names) or 'nobody'}", hint="name each model once")
        if any(member.members for member in in_order):
            raise UsageError("a panel in a panel", hint="name its models")
        return cls(name=PANEL + " + ".join(names), members=tuple(in_order))

    @property
    def each(self) -> "tuple[Model, ...]":
        """The models that are asked: the members of a panel, else this one."""
        return self.members or (self,)

    @classmethod
    def of_lm(cls, lm: dspy.LM) -> "Model":
        """Return the model that a language model of DSPy names; its calls are counted, limited and kept as any.

        Raises:
            UsageError: it has settings that jurist does not send, or a key that no environment variable holds.
        """
        settings = dict[str, Any]()
        for name, value in lm.kwargs.items():
            if value is not None:
                settings[name] = value
        key = settings.pop("api_key", None)
        key_variable = _variable_of(key) if key else None
        if "max_completion_tokens" in settings:  # of reasoning models
            settings["max_tokens"] = settings.pop("max_completion_tokens")
        if getattr(lm, "engine", "auto") != "auto":
            settings["engine"] = "its own"
        unknown_settings = sorted(settings.keys() - _SETTINGS_OF_LMS)
        if unknown_settings:
            hint = f"jurist.Model({lm.model!r}, ...) has all that it sends"
            raise UsageError(f"jurist does not send {', '.join(unknown_settings)} of this dspy.LM", hint=hint)
        return cls(name=lm.model, key_env=key_variable, **settings)

    def _check_address(self, address: str) -> None:
        """Refuse an address that is no plain one, or that belongs to no model."""
        server = address.partition("//")[2].partition("/")[0]
        if not re.match(r"https?://[^\s/]+", address) or "@" in server or "?" in address:
            # The client cannot send what else one may hold, a key among it, and it is not to end up in messages.
            raise UsageError(
                "--api-base is not a plain address",
                hint="write it as http://host:port/v1; a key goes into the provider's environment variable, for "
                "example OPENAI_API_KEY",
            )
        if self.name == OFFLINE:
            hint = "add --model openai/NAME, with the name the server knows"
            raise UsageError("--api-base needs a model", hint=hint)

    @property
    def fixed_temperature(self) -> bool:
        """Whether the model refuses any temperature but its own: OpenAI's reasoning families."""
        if self.members:
            return all(member.fixed_temperature for member in self.members)
        return bool(re.match(r"(o\d|gpt-[5-9](?!.*-chat))", self.name.rpartition("/")[2].lower()))

    @property
    def expected_reasoning(self) -> int:
        """The tokens of hidden reasoning to expect in a reply, by the effort; 0 of a model not known to reason."""
        if self.decides:
            return 0
        if self.members:
            return sum(member.expected_reasoning for member in self.members) // len(self.members)
        effort = self.reasoning_effort
        name = self.name.rpartition("/")[2].lower()
        if effort is None and not (self.fixed_temperature or _REASONS.search(name)):
            return 0
        return _REASONING_TOKENS[effort]

    @property
    def further_settings(self) -> dict[str, Any]:
        """The settings that decide its answers beside name, temperature and limits, as JSON; empty by default."""
        settings: dict[str, Any] = {}
        if self.top_p is not None:
            settings["top_p"] = self.top_p
        if self.reasoning_effort is not None:
            settings["reasoning_effort"] = self.reasoning_effort
        if self.body:
            settings["body"] = body_fields(self)
        if self.members:
            settings["members"] = [member.described for member in self.members]
        return settings

    @property
    def described(self) -> dict[str, Any]:
        """The settings that decide its answers, as JSON values without credentials."""
        return {
            "name": self.name,
            "api_base": self.api_base,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            **self.further_settings,
        }

    @property
    def endpoint(self) -> str:
        """The identity of who answers, in a job, and in the terms and answers that are kept for the next one."""
        return f"{self.name} {self.api_base}"

    @property
    def has_price(self) -> bool:
        """Whether what a call costs is known beforehand."""
        if self.members:
            return all(member.has_price for member in self.members)
        return self.offline or self.recorded or foreseen_cost(self.name, Prices.of(self), 1, 1) is not None

    @property
    def offline(self) -> bool:
        """Whether the built-in text-overlap scorer answers."""
        if self.members:
            return all(member.offline for member in self.members)
        return self.name == OFFLINE

    @property
    def is_own(self) -> bool:
        """Whether it stands for the model of each version."""
        return self.name == OWN

    @property
    def reads_instructions(self) -> bool:
        """Whether the words of an instruction can change its answers, so that it is worth asking for other words."""
        return not (self.offline or self.recorded)

    @property
    def decides(self) -> bool:
        """Whether it is a decision model, which is asked questions, and answers with probabilities and no text."""
        return is_decision_model(self.name)

    @property
    def writes_text(self) -> bool:
        """Whether it can do a task of its own, as it writes text: not the offline engine, and no decision model."""
        return self.reads_instructions and not any(member.decides for member in self.each)

    @property
    def reads_demonstrations(self) -> bool:
        """Whether a prompt may show it worked examples."""
        return not any(member.decides for member in self.each)

    @property
    def recorded(self) -> bool:
        """Whether a file of verdicts stands for a model: nothing is sent, and nothing is paid."""
        return self.name.startswith(RECORDED)


def reached(model: Model) -> InnerEngine:
    """Return the offline engine, or the endpoint, which answer at once."""
    if model.offline:
        return _Offline(model.seed)
    if model.decides:
        from .decision_models import DecisionModel  # few models are

        return DecisionModel(
            model.name, model, key_of(model), model.further_settings, has_price=model.has_price
        )
    return Endpoint(model)


Reach = Callable[[Model], InnerEngine]
"""A function that returns the engine by which a model is reached."""


def connect(
    model: Model, context: CallContext, purpose: Purpose = "judge", reach: Reach = reached
) -> dspy.LM:
    """Return a DSPy language model whose every call goes through ``context``."""
    if model.members:
        return _connect_panel(model, context, purpose, reach)
    inner = reach(model)
    if isinstance(inner, Endpoint):
        inner.share(context)
    pace = context.paces.setdefault(model.endpoint, Pace(model.rpm, model.patience))
    name = "jurist/offline" if model.offline else model.name
    settings = _without_none(temperature=model.temperature, top_p=model.top_p, max_tokens=model.max_tokens)
    # Another seed asks for other draws, also where no seed is sent.
    kept_under = "" if model.offline else f"{model.endpoint} {model.seed}"
    try:
        return Channel(inner, context, purpose, pace, kept_under).lm(name, **settings)
    except LMConfigurationError as error:  # reasoning models refuse most temperatures and low limits
        raise UsageError(brief(error), hint="use --temperature 1 and no --max-tokens") from error


def _connect_panel(model: Model, context: CallContext, purpose: Purpose, reach: Reach) -> dspy.LM:
    """Return the language model of a panel, whose members are asked through channels of their own."""
    seats = []
    for member in model.members:
        lm = connect(member, context, purpose, reach)
        settings = {}
        for name, value in lm.kwargs.items():
            settings["max_tokens" if name == "max_completion_tokens" else name] = value
        seats.append(Seat(member=member.name, name=lm.model, channel=lm.engine, settings=settings))
    return PanelChannel(seats).lm("jurist/panel")


def _without_none(**settings: object) -> dict[str, Any]:
    """Return the settings that have a value."""
    return {name: value for name, value in settings.items() if value is not None}


def key_of(model: Model) -> str | None:
    """Return the key to send; ``None`` for that of the provider's own environment variable.

    Raises:
        UsageError: only a card names the address, or the named variable holds no key.
    """
    check_host(model)
    if model.key_env:
        key = os.environ.get(model.key_env, "").strip()
        if not key:
            hint = "set it to the key of the endpoint"
            raise UsageError(f"the environment variable {model.key_env} holds no key", hint=hint)
        return key
    variable = KEY_VARIABLES.get(model.name.partition("/")[0])
    local = model.api_base and variable and not os.environ.get(variable)
    return "none" if local else None  # local servers ask for no key, DSPy's client does


_OLLAMA = ("ollama", "ollama_chat")
_OLLAMA_PORT = 11434


def address_of(model: Model) -> str | None:
    """Return the address to ask a model at; Ollama speaks OpenAI's protocol under ``/v1``."""
    if model.api_base is None:
        return None
    address = model.api_base.rstrip("/")
    parts = urlsplit(address)
    is_ollama = model.name.partition("/")[0] in _OLLAMA or (parts.port == _OLLAMA_PORT and not parts.path)
    if not is_ollama or parts.path.endswith("/v1"):
        return model.api_base
    return f"{address.removesuffix('/api')}/v1"


def json_form_of(model: Model, context: CallContext) -> str:
    """Return how a model's JSON answers were held to their form in a job; empty if it has not answered there.

    It is ``schema``, ``object_schema`` (an object with a schema), ``object`` or ``prompt``.
    """
    terms = context.terms.get(model.endpoint)
    return terms.json_form if terms else ""


def terms_as_json(model: Model, context: CallContext) -> str:
    """Return the terms of an endpoint that a job has found, for other jobs; empty if the job did not ask there."""
    terms = context.terms.get(model.endpoint)
    return terms.as_json if terms else ""


class _Offline(InnerEngine):
    """The text-overlap scorer behind the channel; it costs nothing."""

    is_local = True

    def __init__(self, seed: int) -> None:
        from .offline import OfflineEngine

        self._engine = OfflineEngine(seed=seed)

    def complete(self, request: Request) -> tuple[Response, float | None]:
        return self._engine.complete(request), 0.0

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        return self._engine.complete(request), 0.0


@functools.cache  # once a model, however often it is connected
def _say_slower(name: str) -> None:
    """Say that DSPy's own client asks a model, and load the library that it needs."""
    _log.warning("%s is asked by DSPy's own client: slower, and at most 100 requests at once", name)
    with suppress(ImportError):  # the first request says what is missing
        importlib.import_module("litellm")  # it takes seconds, which are no part of the time for a request


@functools.cache
def _say_once(name: str, problem: str) -> None:
    _log.warning("%s %s", name, problem)


class Endpoint(InnerEngine):
    """A real endpoint behind the channel: over connections of our own, or by DSPy's client where these do not fit."""

    def __init__(self, model: Model) -> None:
        shipped_prices()
        self.model = model
        options = _without_none(timeout=model.timeout, api_base=address_of(model), api_key=key_of(model))
        client = functools.partial(dspy.LM, model.name, cache=False, num_retries=0)
        self._lm = client(**options)
        self._terms = Terms(model.name, has_other_address=bool(model.api_base))
        sent_headers = headers_of(model)
        self._direct = Direct(self._lm, headers=sent_headers, fields=body_fields(model))
        self._config, self._with_cache = IdentityCache(self._with_effort), IdentityCache(_with_cache)
        if self._direct.fits:
            key = self._direct.key
            if not key.isprintable():
                raise UsageError(
                    f"the key for {model.name} holds a line break, or something else that no key has",
                    hint="set its environment variable to the key alone",
                )
            if key and "api_key" not in options:  # the variable's own may end with a line
                self._lm = client(api_key=key, **options)
        else:
            _say_slower(model.name)
            key = options.get("api_key", "")
            if sent_headers:
                self._lm = client(extra_headers=dict(sent_headers), **options)
        self._secrets = [key] + secrets_in(model, sent_headers)
        self._provider, self._timeout = model.name.partition("/")[0], model.timeout
        # LiteLLM, which asks where no connection of ours fits, counts all models as OpenAI does.
        self._counts_as = self._direct.provider if self._direct.fits else ""
        self._endpoint = model.endpoint
        # Only a server of one's own reads a part of a prompt and answers all the same.
        may_cut = bool(model.api_base) or self._provider in _OLLAMA
        self._window = Window() if may_cut else None

    @property
    def has_price(self) -> bool:
        """Whether what a call costs is known beforehand."""
        return self.model.has_price

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that decide the answers beside the request itself; empty by default."""
        return self.model.further_settings

    def share(self, context: CallContext) -> None:
        """Know what others have found out about this endpoint, and let them know."""
        stored_terms = context.stored_terms.get(self._endpoint)
        if stored_terms and self._endpoint not in context.terms:
            known_terms = self._terms.restored(stored_terms)
            if known_terms.as_json != self._terms.as_json:
                _log.warning("%s %s", self._lm.model, known_terms.refusals)
            self._terms = known_terms
        self._terms = context.terms.setdefault(self._endpoint, self._terms)

    def settings_of(self, request: Request) -> frozenset[str]:
        """Return the names of the settings with which a request would be sent now."""
        return self._terms.settings_of(self._as_set(request))

    def complete(self, request: Request) -> tuple[Response, float | None]:
        """Send a request; return the response and its cost in US dollars, ``None`` if not known."""
        request = self._as_set(request)
        sent = self._terms.apply(request)
        with self._in_time(request, sent):
            marked = self._marked(sent)
            response = (
                wait_in_thread(self._direct.complete(marked))
                if self._direct.changes_requests
                else self._lm(marked)
            )
        return self._priced(request, sent, response)

    async def acomplete(self, request: Request) -> tuple[Response, float | None]:
        """Complete a request inside a running event loop."""
        request = self._as_set(request)
        sent = self._terms.apply(request)
        with self._in_time(request, sent):
            # A client's own limit is between two bytes; a server that trickles would never end.
            async with asyncio.timeout(self._timeout):
                response = await self._ask(self._marked(sent))
        return self._priced(request, sent, response)

    def _marked(self, sent: Request) -> Request:
        """Return a request with a mark at the end of what it shares with others, where the provider needs one."""
        if not self.model.name.startswith(ANTHROPIC):
            return sent
        shared_parts = self._terms.prefixes.shared_parts(sent)
        if not shared_parts:
            return sent
        return replace(sent, config=self._with_cache(sent.config, shared_parts))

    def _as_set(self, request: Request) -> Request:
        """Return a request with the settings of this model that no prompt and no DSPy setting carries."""
        config = self._config(request.config)
        if config is request.config:
            return request
        return replace(request, config=config)

    def _with_effort(self, config: Config) -> Config:
        """Return settings with the model's reasoning effort and, for LiteLLM, its further fields."""
        effort = self.model.reasoning_effort
        if effort is not None:
            config = replace(config, reasoning=Reasoning(effort="off" if effort == "none" else effort))
        fields = body_fields(self.model)
        if fields and not self._direct.fits:  # LiteLLM takes what it does not know as fields of the request
            config = replace(config, extensions=dict(config.extensions or {}) | fields)
        return config

    async def _ask(self, sent: Request) -> Response:
        """Return the response over our connections, or that of DSPy's client where these do not fit."""
        if self._direct.fits:
            try:
                return await self._direct.complete(sent)
            except LMUnsupportedFeatureError as error:
                # It was sent, and the endpoint has said so; or the other client would send less than it has to.
                if error.status is not None or self._direct.changes_requests:
                    raise
        response: Response = await self._lm.acall(sent)
        return response

    @contextmanager
    def _in_time(self, request: Request, sent: Request) -> Iterator[None]:
        """Tell a server that does not answer from one that is not there, and a refused setting from a bad request."""
        try:
            yield
        except (LMProviderError, LMUnsupportedFeatureError) as error:
            failure = failure_of(error)
            if failure.kind in MAY_TEACH:
                self._terms.learn(request, sent, failure, error.status)
                # Whoever has learnt it, this call or another: the request would be another one now.
                if self._terms.apply(request) != sent:
                    raise RefusedParameterError(error) from error
            raise
        except (LMTransportError, TimeoutError) as error:
            if isinstance(error, LMTransportError) and not timed_out(error):
                raise
            raise LMTimeoutError(f"no answer within {self._timeout:g} s", model=self._lm.model) from error

    def _priced(self, request: Request, sent: Request, response: Response) -> tuple[Response, float | None]:
        """Return the answer and its cost. Raises an error for a reply that cannot be an answer."""
        cost = self._cost(sent, response)
        response = as_ended(response)
        usage = with_all_tokens(response.usage, self._counts_as)
        if usage is not response.usage:
            response = replace(response, usage=usage)
        for secret in self._secrets:
            response = without_key(response, secret)
        if self._terms.note_reply(request, sent, response):
            problem = "its thoughts took all that a reply may have"
            raise UnusableReplyError(answer_of(response, cost, {}), problem)
        problem = self._cut_prompt(sent, response)
        if problem:
            _say_once(
                self._lm.model, "reads only a part of a long prompt, and does not say so: those rows fail"
            )
            raise UnusableReplyError(answer_of(response, cost, {}), problem, FailureKind.TOO_LONG)
        if _only_thoughts(response):
            problem = (
                "the reply is empty, and all of its text stands in its reasoning: start the server without its "
                "reasoning parser, or ask for less reasoning"
            )
            _say_once(self._lm.model, f"gives no answer: {problem}")
            raise UnusableReplyError(answer_of(response, cost, {}), problem, FailureKind.THOUGHTS)
        return response, cost

    def _cut_prompt(self, sent: Request, response: Response) -> str:
        """Return a warning if the server read only a part of the prompt; empty if it read all of it."""
        tokens = response.usage.input_tokens or 0
        missing = self._window.missing_from(size_of(sent), tokens) if self._window else 0
        if not missing:
            return ""
        return (
            f"the server has read {tokens} of about {tokens + missing} tokens, and answered without the others: give "
            "the model a larger context window (Ollama: OLLAMA_CONTEXT_LENGTH)"
        )

    def _cost(self, request: Request, response: Response) -> float | None:
        """Return US dollars of a reply as it came, by stated prices where there are some."""
        if self.model.price_in is not None:
            return stated_cost(self.model, with_all_tokens(response.usage, self._counts_as))
        return listed_cost(self._provider, request, response)


def _with_cache(config: Config, shared_parts: int) -> Config:
    """Return settings that mark a beginning of so many parts: the system's text, and messages after it."""
    if shared_parts == 1:
        return replace(config, cache=CacheConfig())
    return replace(config, cache=CacheConfig(prefix_until_index=shared_parts - 2))


def _only_thoughts(response: Response) -> bool:
    """Say whether a whole reply holds what the model thought, and nothing else."""
    has_end = response.finish_reason not in WITHOUT_END
    return has_end and not reply_text(response).strip() and bool(response.message.parts_of(ThinkingPart))
