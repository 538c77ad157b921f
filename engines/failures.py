"""Which failures of an endpoint are worth another try, which end the job, and how to say them."""

import re

from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMError,
    LMInvalidRequestError,
    LMProviderError,
    LMRateLimitError,
    LMServerError,
    LMTimeoutError,
    LMTransportError,
    LMUnexpectedError,
    LMUnsupportedFeatureError,
    LMUnsupportedModelError,
)

from ..errors import JuristError, ModelError
from ..text.redaction import redact
from .journal import Answer


class EmptyReplyError(LMProviderError):
    """An answer without a choice, or with nothing of use in it: a failure of the endpoint, though it may be billed."""

    def __init__(self, answer: Answer, problem: str = "the endpoint sent an empty reply") -> None:
        self.answer = answer
        super().__init__(problem)


class RefusedParameterError(LMInvalidRequestError):
    """The endpoint refused a parameter that is left out from now on: the same request is worth another try, at once."""

    def __init__(self, refusal: LMError) -> None:
        super().__init__(refusal.message, status=refusal.status, retry_after=0.0)


_IN_A_ROW = 10  # failed verdicts


class Breaker:
    """Ends work whose answers fail one after the other, without one in between: going on would only spend more."""

    def __init__(self) -> None:
        self._row = 0
        self.last = ""
        """What the last failed call was told, whatever came of it."""

    def note(self, failed: bool, why: str) -> None:
        """Take note of how a case ended: by a failure of the machinery, and which."""
        self._row = self._row + 1 if failed else 0
        if self._row >= _IN_A_ROW:
            raise ModelError(
                f"{self._row} answers in a row failed: {why}",
                hint="check the model's server, ask it less (--rpm, --concurrency), and start again with --resume",
            )


_FATAL = (
    LMAuthError,
    LMBillingError,
    LMConfigurationError,
    LMUnsupportedModelError,
    LMUnsupportedFeatureError,
)
_TRANSIENT = (LMRateLimitError, LMServerError, LMTimeoutError, LMTransportError)
_HINTS: tuple[tuple[type[LMError], str], ...] = (
    (
        LMConfigurationError,
        "set the provider's API key in its environment variable, for example OPENAI_API_KEY",
    ),
    (LMAuthError, "check the API key in the environment variable of this provider"),
    (LMBillingError, "check the account's credit and quota"),
    (LMUnsupportedModelError, "check the model's name (provider/model) and that your key may use it"),
    (LMTransportError, "check the address (--api-base), and that the server is running"),
    (LMTimeoutError, "the server accepts connections but does not answer; try a longer --timeout"),
)
# DSPy's client ends its messages with advice to programmers, which a command line should not repeat.
_ADVICE = re.compile(r"\n\n {2}(To fix:|credential came from).*|, or pass api_key=.*?\(\.\.\.\)", re.DOTALL)


def retryable(error: LMError) -> bool:
    """Say whether another try may succeed: overload, time-outs, broken connections, unusable bodies."""
    if isinstance(error, (*_TRANSIENT, EmptyReplyError, RefusedParameterError)):
        return True
    # An HTTP 200 with a truncated or non-JSON body is a bare provider error without a failing status.
    return type(error) is LMProviderError and (error.status is None or error.status < 400)


def fatal(error: LMError) -> bool:
    """Say whether every other row would fail in the same way."""
    if isinstance(error, ContextWindowExceededError):
        return False
    if "LLM Provider NOT provided" in str(error):  # LiteLLM's refusal of an unknown provider/ prefix
        return True
    return isinstance(error, _FATAL) or getattr(error, "status", None) in (401, 402, 403, 404)


def backoff(error: LMError, attempt: int) -> float:
    """Return the seconds to wait before try ``attempt + 1``: what the server asked for, else 0.5, 1, 2, ... to 30."""
    asked = getattr(error, "retry_after", None)
    return min(float(asked), 60.0) if asked is not None else min(0.5 * 2.0**attempt, 30.0)


def absent(error: LMError, away: bool) -> bool:
    """Say whether nobody was there; of a server that was ``away``, also whether it still starts."""
    nobody = isinstance(error, LMTransportError) and "failed to connect" in str(error)
    return nobody or (away and error.status in (502, 503, 504))


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


def our_own(error: LMError) -> JuristError | None:
    """Return the error of ours that DSPy wrapped as an unexpected failure of an engine, if it is one."""
    cause = error.__cause__
    return cause if isinstance(error, LMUnexpectedError) and isinstance(cause, JuristError) else None


def brief(error: object) -> str:
    """Return an error, or what is said of one, on one line of at most 300 characters, redacted."""
    text = redact(_ADVICE.sub("", str(error)))
    return text if len(text) <= 300 else f"{text[:296].rpartition(' ')[0] or text[:296]} ..."


def model_error(error: LMError) -> ModelError:
    """Return the one-line error that ends the work."""
    hint = next(
        (hint for kind, hint in _HINTS if isinstance(error, kind)), "check the model and its settings"
    )
    if "LLM Provider NOT provided" in str(error):
        return ModelError(
            f"no provider is known for the model {error.model!r}", hint="write it as provider/model"
        )
    return ModelError(brief(error), hint=hint)
