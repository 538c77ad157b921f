"""The kinds of failed requests: one table from status, code and words to a kind, and what follows from each kind.

The status decides first: a code or a word only tells kinds apart that share a status. Words are the provider's own;
what DSPy's client and LiteLLM add to a message is advice to programmers, and says nothing about the request.
"""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dspy import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMLockTimeoutError,
    LMProviderError,
    LMRateLimitError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnexpectedError,
    LMUnsupportedFeatureError,
    LMUnsupportedModelError,
)

from ..errors import GoneModelError, JuristError, ModelError
from ..text.redaction import redact
from .failure_kinds import FailureKind
from .journal import StoredResponse

ROW_REFUSED: Final = frozenset({FailureKind.FILTERED, FailureKind.TOO_LONG})
"""The endpoint refuses this row for what it is: the same request fails again, and says nothing about other rows."""
FATAL: Final = frozenset(
    {
        FailureKind.LONG_LIMIT,
        FailureKind.KEY,
        FailureKind.CREDIT,
        FailureKind.ACCESS,
        FailureKind.MODEL,
        FailureKind.ADDRESS,
        FailureKind.CONFIGURATION,
        FailureKind.UNSUPPORTED,
    }
)
"""Every other row would fail in the same way."""
UNAVAILABLE: Final = frozenset(
    {
        FailureKind.RATE,
        FailureKind.OVERLOAD,
        FailureKind.SERVER,
        FailureKind.NOT_READY,
        FailureKind.TIMEOUT,
        FailureKind.TRANSPORT,
        FailureKind.REPLY,
        FailureKind.THOUGHTS,
    }
)
"""The endpoint, and not the row, is in trouble: many of these in a row say that nothing is answered any more."""
MAY_TEACH: Final = frozenset(
    {FailureKind.SETTINGS, FailureKind.TOO_LONG, FailureKind.UNSUPPORTED, FailureKind.SERVER}
)
"""The words may name a setting that the endpoint does not take."""
TOO_MUCH: Final = frozenset({FailureKind.RATE, FailureKind.OVERLOAD})
"""The endpoint is asked more than it bears."""
_FEW_ATTEMPTS: Final = 4
_MANY_ATTEMPTS: Final = 8
ATTEMPTS: Final = {
    FailureKind.RATE: _MANY_ATTEMPTS,
    FailureKind.OVERLOAD: _MANY_ATTEMPTS,
    FailureKind.SERVER: _MANY_ATTEMPTS,
    FailureKind.NOT_READY: _FEW_ATTEMPTS,
    FailureKind.TIMEOUT: _FEW_ATTEMPTS,
    FailureKind.TRANSPORT: _FEW_ATTEMPTS,
    FailureKind.REPLY: _FEW_ATTEMPTS,
    FailureKind.THOUGHTS: 1,
}
"""The most times that a request is sent; a request that failed in any other way is sent once.

Where an endpoint that has answered before is asked too much, time decides instead (``Pace.has_patience``).
"""
_ATTEMPTS_WHERE_THERE: Final = {FailureKind.TRANSPORT: _MANY_ATTEMPTS, FailureKind.TIMEOUT: 6}
"""The most times that it is sent where the endpoint takes connections and has answered before: it is in trouble."""

_REFUSED: Final = frozenset({400, 413, 422})
_IN_REPLY: Final = frozenset({200})
"""Some gateways, and Gemini, answer 200 and say in the body what is wrong."""


@dataclass(frozen=True)
class _Rule:
    """A kind of failure, and the statuses, codes and words by which it is recognised."""

    kind: FailureKind
    statuses: frozenset[int]
    codes: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    """Texts of which one stands in the provider's words, in lower case. A judged text may be quoted there."""
    begins: tuple[str, ...] = ()
    """Texts with one of which the provider's words begin; only these end a job, as a quoted text does not begin it."""
    hint: str = ""

    def matches(self, status: int, code: str, words: str) -> bool:
        """Say whether a failure with this status, code and words (in lower case) is of this kind."""
        if status not in self.statuses:
            return False
        if not (self.codes or self.words or self.begins):
            return True
        if code in self.codes or words.startswith(self.begins or ("\0",)):
            return True
        return any(text in words for text in self.words)


_CREDIT_CODES: Final = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",  # Moonshot
        "1113",  # Z.AI
    }
)
_MODEL_CODES: Final = frozenset(
    {"model_not_found", "model_not_available", "unsupported_model", "DeploymentNotFound"}
)
_FILTER_CODES: Final = frozenset(
    {
        "content_filter",  # Azure
        "content_policy_violation",
        "ResponsibleAIPolicyViolation",
        "invalid_prompt",  # OpenAI
        "data_inspection_failed",  # Alibaba
        "promptFeedback",  # Gemini, as are all that follow
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
_FILTER_WORDS: Final = (
    "content management policy",  # Azure
    "content filtering policy",  # Anthropic
    "flagged as potentially violating",  # OpenAI
    "requires moderation and your input was flagged",  # OpenRouter
    "prompt blocked:",  # Gemini
)
_LENGTH_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "request_too_large",  # Anthropic
        "exceed_context_size_error",  # llama.cpp
        "string_above_max_length",
    }
)
_LENGTH_WORDS: Final = (
    "maximum context length",  # OpenAI, vLLM
    "context length",  # Ollama
    "context window",
    "available context size",  # llama.cpp
    "prompt is too long",  # Anthropic
    "input is too long",  # Bedrock
    "input token count",  # Gemini
    "too many tokens",
    "maximum number of tokens",
    "maximum allowed length",
)
_MODEL_WORDS: Final = ("the model ", "model '", 'model "', "model `", "model: ", "models/")
_RULES: Final = (
    # Too fast, or never again
    _Rule(FailureKind.CREDIT, frozenset({200, 400, 402, 413, 422, 429}), codes=_CREDIT_CODES),
    # Gemini names a limit of a day, and a wait of some seconds all the same; OpenRouter names no wait.
    _Rule(
        FailureKind.LONG_LIMIT, frozenset({429}), words=("requestsperday", "tokensperday", "models-per-day")
    ),
    _Rule(FailureKind.RATE, frozenset({429})),
    _Rule(FailureKind.RATE, _IN_REPLY, codes=frozenset({"rate_limit_exceeded", "rate_limit_error"})),
    # The key, the account
    _Rule(FailureKind.KEY, frozenset({401})),
    _Rule(FailureKind.KEY, _IN_REPLY, codes=frozenset({"invalid_api_key", "authentication_error"})),
    _Rule(
        FailureKind.KEY,
        _REFUSED,
        begins=("api key not valid", "api key not found", "api key expired"),
        hint="check the key in GEMINI_API_KEY, or in the variable that --api-key-env names",
    ),
    _Rule(
        FailureKind.CREDIT,
        _REFUSED,
        begins=("your credit balance is too low", "you have reached your specified api usage limits"),
        hint="buy credits or raise the spending limit at the provider",
    ),
    _Rule(FailureKind.CREDIT, frozenset({402})),
    _Rule(FailureKind.ACCESS, _REFUSED, begins=("user location is not supported",)),
    # The row
    _Rule(
        FailureKind.FILTERED,
        _REFUSED | _IN_REPLY | {403},
        codes=_FILTER_CODES,
        words=_FILTER_WORDS,
    ),
    _Rule(FailureKind.TOO_LONG, _REFUSED | _IN_REPLY, codes=_LENGTH_CODES),
    _Rule(FailureKind.TOO_LONG, _REFUSED, words=_LENGTH_WORDS),
    _Rule(FailureKind.TOO_LONG, frozenset({413})),
    # The model, the address
    _Rule(FailureKind.MODEL, _REFUSED | _IN_REPLY | {403, 404}, codes=_MODEL_CODES),
    _Rule(
        FailureKind.MODEL,
        frozenset({404}),
        words=("try pulling it first",),
        hint="get the model with `ollama pull NAME`, or check its name",
    ),
    _Rule(FailureKind.MODEL, frozenset({404}), words=_MODEL_WORDS),
    _Rule(FailureKind.ADDRESS, frozenset({301, 302, 303, 307, 308, 404, 405})),
    # The request
    _Rule(FailureKind.SETTINGS, frozenset({403}), words=("logprobs",)),
    _Rule(FailureKind.ACCESS, frozenset({403})),
    _Rule(FailureKind.SETTINGS, _REFUSED | {501}),
    # The server
    _Rule(FailureKind.TIMEOUT, frozenset({408})),
    _Rule(FailureKind.NOT_READY, frozenset({409, 423, 425})),
    _Rule(FailureKind.OVERLOAD, frozenset({503, 529})),
    _Rule(FailureKind.SERVER, frozenset(range(500, 600))),
    # A reply that is cut, is no JSON, or says that something behind the endpoint failed
    _Rule(FailureKind.REPLY, frozenset(range(200, 300))),
    _Rule(FailureKind.SETTINGS, frozenset(range(400, 500))),
)

_HINTS: Final = {
    FailureKind.CONFIGURATION: "set the provider's API key in its environment variable, such as OPENAI_API_KEY or "
    "TYPESAFE_API_KEY",
    FailureKind.KEY: "check the API key in the environment variable of this provider",
    FailureKind.CREDIT: "check the account's credit and quota",
    FailureKind.ACCESS: "check that your key, your project and your region may use this model",
    FailureKind.MODEL: "check the model's name (provider/model) and that your key may use it",
    FailureKind.ADDRESS: "check --api-base: an OpenAI-compatible server mostly answers under /v1, as in "
    "http://localhost:8000/v1",
    FailureKind.TRANSPORT: "check the address (--api-base), and that the server is running",
    FailureKind.TIMEOUT: "the server accepts connections but does not answer; try a longer --timeout",
    FailureKind.LONG_LIMIT: "start again with --resume then, or let the job wait with a longer --patience",
    FailureKind.UNSUPPORTED: "leave out the setting that is named, or name another model",
}
_GONE: Final = frozenset({FailureKind.MODEL, FailureKind.ADDRESS, FailureKind.TRANSPORT})
"""Kinds of failures by which a model looks that was shut down."""
_GENERAL_HINT: Final = "check the model and its settings"


class UnusableReplyError(LMProviderError):
    """A reply with nothing of use in it: a failure of the endpoint, though the reply may be billed."""

    def __init__(
        self,
        answer: StoredResponse,
        problem: str = "the endpoint sent an empty reply",
        kind: FailureKind = FailureKind.REPLY,
    ) -> None:
        self.answer = answer
        self.kind = kind
        super().__init__(problem)


class LongLimitError(LMRateLimitError):
    """The endpoint takes no further request for longer than anybody waits."""

    def __init__(self, limit: LMError, seconds: float) -> None:
        until = datetime.now() + timedelta(seconds=seconds)
        super().__init__(
            f"{brief(provider_words(limit)).removesuffix('.')}; the endpoint takes requests again in "
            f"{_duration(seconds)}, at {until:%Y-%m-%d %H:%M}",
            status=limit.status,
        )


def _duration(seconds: float) -> str:
    """Return a number of seconds in words: 432 is ``7 min 12 s``."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


class RefusedParameterError(LMInvalidRequestError):
    """The endpoint refused a parameter that is left out from now on: the same request is worth another try, at once."""

    def __init__(self, refusal: LMError) -> None:
        super().__init__(refusal.message, status=refusal.status, retry_after=0.0)


class RefusedRowError(LMInvalidRequestError):
    """The endpoint refused this row in an earlier start of the job; it is not asked again."""

    def __init__(self, kind: FailureKind, words: str) -> None:
        self.kind = kind
        super().__init__(words)


# Errors without a status come from DSPy's client, from LiteLLM or from a connection. Specific classes come first.
_BY_CLASS: Final[tuple[tuple[type[LMError], FailureKind], ...]] = (
    (RefusedParameterError, FailureKind.LEARNT),
    (LongLimitError, FailureKind.LONG_LIMIT),
    (ContextWindowExceededError, FailureKind.TOO_LONG),
    (LMUnsupportedModelError, FailureKind.MODEL),
    (LMInvalidRequestError, FailureKind.SETTINGS),
    (LMAuthError, FailureKind.KEY),
    (LMBillingError, FailureKind.CREDIT),
    (LMRateLimitError, FailureKind.RATE),
    (LMServerError, FailureKind.SERVER),
    (LMTimeoutError, FailureKind.TIMEOUT),
    (LMTransportError, FailureKind.TRANSPORT),
    (LMLockTimeoutError, FailureKind.NOT_READY),
    (LMConfigurationError, FailureKind.CONFIGURATION),
    (LMUnsupportedFeatureError, FailureKind.UNSUPPORTED),
    (LMProviderError, FailureKind.REPLY),
)
_OWN: Final = (RefusedParameterError, LongLimitError, UnusableReplyError)
_NO_PROVIDER: Final = "LLM Provider NOT provided"
"""LiteLLM's words for a model whose prefix names no provider."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed request: its kind, the provider's words, and what to do next."""

    kind: FailureKind
    words: str
    """The provider's words, without the additions of clients."""
    hint: str


def failure_of(error: LMError) -> Failure:
    """Return the kind of a failed request, the provider's own words, and the next step for the user."""
    words = provider_words(error)
    status = _status_of(error)
    if isinstance(error, _OWN) or status is None or _NO_PROVIDER in words:
        kind = _kind_without_status(error)
        hint = _HINTS.get(kind, _GENERAL_HINT)
        if kind is FailureKind.TRANSPORT and "certificate" in words.lower():
            hint = "if its certificate is of your own authority, name the authority's file in SSL_CERT_FILE"
        return Failure(kind=kind, words=words, hint=hint)
    lower_case_words = words.lower()
    for rule in _RULES:
        if rule.matches(status, error.provider_code or "", lower_case_words):
            return Failure(
                kind=rule.kind, words=words, hint=rule.hint or _HINTS.get(rule.kind, _GENERAL_HINT)
            )
    return Failure(kind=FailureKind.UNEXPECTED, words=words, hint=_GENERAL_HINT)


def kind_of(error: LMError) -> FailureKind:
    """Return the kind of a failed request."""
    return failure_of(error).kind


def _status_of(error: LMError) -> int | None:
    """Return the HTTP status of a failure, which the body of a reply with status 200 may hold."""
    code = error.provider_code or ""
    in_body = int(code) if re.fullmatch(r"4\d\d", code) else None
    # A gateway that says 502 in the body of a 200 speaks of a provider behind it: that reply is unusable.
    status: int | None = error.status
    if status is None and code and isinstance(error, LMProviderError):
        status = 200
    if in_body is not None and status == 200:
        return in_body
    return status


def _kind_without_status(error: LMError) -> FailureKind:
    """Return the kind of a failure by its class."""
    if _NO_PROVIDER in error.message:
        return FailureKind.CONFIGURATION
    if isinstance(error, UnusableReplyError | RefusedRowError):
        return error.kind
    for error_class, kind in _BY_CLASS:
        if isinstance(error, error_class):
            return kind
    return FailureKind.UNEXPECTED


# DSPy's client appends advice to programmers; LiteLLM does so too, and puts the names of its exceptions in front.
_APPENDED: Final = re.compile(
    r"\n\n {2}(?:To fix:|credential came from).*|To drop these, set `litellm\..*|, or pass api_key=.*?\(\.\.\.\)"
    r"|\. Handle with `litellm\.\w+`\.",
    re.DOTALL,
)
_PUT_IN_FRONT: Final = re.compile(
    r"(?P<model>\[[^\]]*\] )?(?=litellm\.)"
    r"(?:litellm\.\w+: |(?:\w+|Timeout )Error: |\w+Error - "
    r"|\w+Exception:?(?: [\w ]{0,30}(?:[Ee]rr+or|Timeout|Authentication))? - )+"
)


def _without_additions(message: str) -> str:
    """Return a message without the additions of DSPy's client and LiteLLM; the model in front of it stays."""
    words = _APPENDED.sub("", message)
    in_front = _PUT_IN_FRONT.match(words)
    if in_front:
        words = (in_front["model"] or "") + words[in_front.end() :]
    return words.strip()


def provider_words(error: LMError) -> str:
    """Return the provider's words about a failed request, without the additions of DSPy's client and LiteLLM."""
    return _without_additions(error.message)


_MOST_FAILED_IN_A_ROW: Final = 10
"""Verdicts that may fail one after the other, before the work ends."""


class Breaker:
    """Ends work whose answers fail one after the other, without one in between: going on would only spend more."""

    def __init__(self) -> None:
        self._failed_in_a_row = 0
        self.last_failure = ""
        """The kind and the words of the last failed call, whatever came of it."""

    def note(self, failure: str, why: str) -> None:
        """Take note of the kind of failure with which a case ended, empty if the model answered, and of the words."""
        if failure and failure not in UNAVAILABLE:
            return  # the endpoint refused this row, which says nothing about the next one
        if not failure:
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            raise ModelError(
                f"{self._failed_in_a_row} answers in a row failed: {why}",
                hint="check the model's server, ask it less (--rpm, --concurrency) or wait longer for an answer "
                "(--timeout), and start again with --resume",
            )


def attempts_for(kind: FailureKind, *, is_there: bool) -> int:
    """Return how often a request that fails in this way is sent at most; more often where the endpoint is there."""
    if is_there and kind in _ATTEMPTS_WHERE_THERE:
        return _ATTEMPTS_WHERE_THERE[kind]
    return ATTEMPTS.get(kind, 1)


def retryable(error: LMError) -> bool:
    """Say whether another try may succeed: overload, time-outs, broken connections, unusable bodies."""
    kind = kind_of(error)
    return kind in ATTEMPTS or kind is FailureKind.LEARNT


def fatal(error: LMError) -> bool:
    """Say whether every other row would fail in the same way."""
    return kind_of(error) in FATAL


def backoff(error: LMError, attempt: int) -> float:
    """Return the seconds to wait before try ``attempt + 1``: 0.5, 1, 2, ... to 30, or as the server has asked."""
    growing = min(0.5 * 2.0 ** min(attempt, 10), 30.0)  # a limit may be met thousands of times
    if error.retry_after is None:
        return growing
    # A server that refuses a third time has asked for too little: the window of a limit may be a minute.
    return float(error.retry_after) if attempt < 2 else max(float(error.retry_after), growing)


def met_nobody(error: LMError, *, is_away: bool) -> bool:
    """Say whether nobody was there; where the server is away, a gateway that finds none behind it counts too."""
    if isinstance(error, LMTransportError) and "failed to connect" in str(error):
        return True
    return is_away and error.status in (502, 503, 504)


def timed_out(error: LMError) -> bool:
    """Say whether a transport error means that nobody answered in time, rather than that nobody was there."""
    names: set[str] = set()
    cause: BaseException | None = error
    for _ in range(16):  # a ring of causes must not hang
        if cause is None:
            break
        names.add(type(cause).__name__)
        cause = cause.__cause__
    return bool(names & {"ReadTimeout", "TimeoutError"}) and not names & {"ConnectTimeout", "ConnectError"}


def jurist_error_in(error: LMError) -> JuristError | None:
    """Return the error of ours that DSPy wrapped as an unexpected failure of an engine, if it is one."""
    cause = error.__cause__
    if isinstance(error, LMUnexpectedError) and isinstance(cause, JuristError):
        return cause
    return None


_MOST_CHARACTERS: Final = 300
"""Characters of an error on one line."""


def brief(error: object, limit: int = _MOST_CHARACTERS) -> str:
    """Return an error, or what is said of one, on one line of at most ``limit`` characters, redacted."""
    text = redact(_without_additions(str(error)))
    if len(text) <= limit:
        return text
    text = text[: limit - 4]
    complete_words = text.rpartition(" ")[0]
    return f"{complete_words or text} ..."


def model_error(error: LMError) -> ModelError:
    """Return the one-line error that ends the work."""
    if _NO_PROVIDER in str(error):
        return ModelError(
            f"no provider is known for the model {error.model!r}", hint="write it as provider/model"
        )
    kind = kind_of(error)
    error_type = GoneModelError if kind in _GONE else ModelError
    return error_type(brief(error), hint=failure_of(error).hint)
