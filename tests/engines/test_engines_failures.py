"""Failures: what is tried again, what ends the work, and that no message holds a secret."""

from typing import Any

import pytest
from dspy.utils import exceptions as dspy_errors

from jurist.engines.channel import CallContext
from jurist.engines.failures import (
    ATTEMPTS,
    FATAL,
    ROW_REFUSED,
    UNAVAILABLE,
    FailureKind,
    LongLimitError,
    brief,
    failure_of,
    kind_of,
    model_error,
    provider_words,
)
from jurist.engines.models import Model, connect
from jurist.errors import UsageError


def error(name: str, message: str = "it went wrong", **details: Any) -> Any:
    kind = getattr(dspy_errors, name)
    return kind(message=message, **details)


def test_one_line_and_short() -> None:
    long = error("LMServerError", "a\nb\n\n  To fix:\n    - pass RouterConfig\n" + "c" * 900)
    assert brief(long) == "a b"
    assert len(brief(error("LMServerError", "word " * 500))) <= 300
    assert brief("one two three", 12) == "one two ..."
    assert brief("one two three", 13) == "one two three"
    said = str(
        model_error(
            error("LMNotConfiguredError", 'no key. Set X_API_KEY, or pass api_key="..." to dspy.LM(...).')
        )
    )
    assert "dspy" not in said
    assert "X_API_KEY" in said


@pytest.mark.parametrize(
    "settings",
    [
        {"api_base": "file:///etc/passwd"},
        {"api_base": "http://me:hunter22@host/v1"},
        {"api_base": "http://sk-me@host/v1"},
        {"api_base": "http://host/v1?api-key=hunter22"},
        {"api_base": ""},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": float("nan")},
        {"timeout": float("nan")},
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as stop:
        Model(**{"name": "openai/x", **settings})
    assert "hunter22" not in str(stop.value)
    assert stop.value.hint


def test_a_reasoning_models_refusal_is_one_line() -> None:
    with pytest.raises(UsageError, match="temperature"):
        connect(Model(name="openai/o3-mini", temperature=0.5), CallContext.fresh())


TOKENS_A_MINUTE = (
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute. "
    "Please reduce the prompt length or the maximum tokens requested, or try again later."
)
CONTEXT_OF_OPENAI = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9012 tokens."
)
KINDS = [
    # status, code, words of the provider, kind
    (429, "rate_limit_error", TOKENS_A_MINUTE, FailureKind.RATE),
    (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota: input_token_count, limit: 250000",
        FailureKind.RATE,
    ),
    (429, "rate_limit_exceeded", "Request too large on tokens per min: Limit 30000", FailureKind.RATE),
    (429, "", "the context window of the prompt is too long", FailureKind.RATE),
    (429, "RESOURCE_EXHAUSTED", "quota GenerateRequestsPerDayPerProjectPerModel", FailureKind.LONG_LIMIT),
    (429, "429", "Rate limit exceeded: free-models-per-day", FailureKind.LONG_LIMIT),
    (429, "insufficient_quota", "You exceeded your current quota", FailureKind.CREDIT),
    (200, "429", "Rate limit exceeded: free-models-per-min", FailureKind.RATE),
    (401, "invalid_api_key", "Incorrect API key provided", FailureKind.KEY),
    (200, "401", "No auth credentials found", FailureKind.KEY),
    (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", FailureKind.KEY),
    (400, "invalid_request_error", "messages.0: 'API key not valid' is no text", FailureKind.SETTINGS),
    (402, "", "Insufficient credits", FailureKind.CREDIT),
    (200, "402", "Insufficient credits", FailureKind.CREDIT),
    (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
        FailureKind.CREDIT,
    ),
    (400, "invalid_request_error", "You have reached your specified API usage limits.", FailureKind.CREDIT),
    (403, "unsupported_country_region_territory", "Country not supported", FailureKind.ACCESS),
    (400, "FAILED_PRECONDITION", "User location is not supported for the API use.", FailureKind.ACCESS),
    (403, "", "You are not allowed to request logprobs from this model", FailureKind.SETTINGS),
    (403, "model_not_found", "Project `p` does not have access to model `m`", FailureKind.MODEL),
    (403, "403", "m requires moderation and your input was flagged for violence", FailureKind.FILTERED),
    (404, "model_not_found", "The model `m` does not exist", FailureKind.MODEL),
    (404, "not_found_error", "model: claude-x", FailureKind.MODEL),
    (404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta", FailureKind.MODEL),
    (404, "DeploymentNotFound", "The API deployment for this resource does not exist.", FailureKind.MODEL),
    (404, "", 'model "llama9" not found, try pulling it first', FailureKind.MODEL),
    (404, "unknown_url", "Unknown request URL: POST /chat/completions.", FailureKind.ADDRESS),
    (404, "", '{"detail": "Not Found"}', FailureKind.ADDRESS),
    (404, "", "404 page not found", FailureKind.ADDRESS),
    (405, "", "Method Not Allowed", FailureKind.ADDRESS),
    (308, "", "", FailureKind.ADDRESS),
    (400, "content_filter", "The response was filtered", FailureKind.FILTERED),
    (400, "", "triggering Azure OpenAI's content management policy", FailureKind.FILTERED),
    (400, "invalid_prompt", "Invalid prompt: it was flagged", FailureKind.FILTERED),
    (400, "invalid_request_error", "Output blocked by content filtering policy", FailureKind.FILTERED),
    (200, "promptFeedback", "Prompt blocked: SAFETY", FailureKind.FILTERED),
    (None, "promptFeedback", "Prompt blocked: SAFETY", FailureKind.FILTERED),
    (None, "SAFETY", "Candidate blocked: SAFETY", FailureKind.FILTERED),
    (200, "SAFETY", "Candidate blocked: SAFETY", FailureKind.FILTERED),
    (400, "context_length_exceeded", CONTEXT_OF_OPENAI, FailureKind.TOO_LONG),
    (400, "400", CONTEXT_OF_OPENAI, FailureKind.TOO_LONG),
    (
        400,
        "invalid_request_error",
        "prompt is too long: 208310 tokens > 200000 maximum",
        FailureKind.TOO_LONG,
    ),
    (413, "request_too_large", "Request exceeds the maximum allowed number of bytes.", FailureKind.TOO_LONG),
    (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum", FailureKind.TOO_LONG),
    (
        400,
        "exceed_context_size_error",
        "the request exceeds the available context size",
        FailureKind.TOO_LONG,
    ),
    (500, "server_error", CONTEXT_OF_OPENAI, FailureKind.SERVER),
    (400, "unsupported_value", "Unsupported value: 'temperature'", FailureKind.SETTINGS),
    (422, "", "extra fields not permitted", FailureKind.SETTINGS),
    (400, "", "the request is not valid", FailureKind.SETTINGS),
    (408, "", "Request timeout", FailureKind.TIMEOUT),
    (425, "", "Too early", FailureKind.NOT_READY),
    (500, "server_error", "internal error", FailureKind.SERVER),
    (502, "", "<html><head><title>502 Bad Gateway</title></head></html>", FailureKind.SERVER),
    (504, "", "", FailureKind.SERVER),
    (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", FailureKind.OVERLOAD),
    (529, "overloaded_error", "Overloaded", FailureKind.OVERLOAD),
    (200, "502", "Provider returned error", FailureKind.REPLY),
    (200, "", "the reply is not JSON", FailureKind.REPLY),
]
CLASSES = [
    "LMProviderError",
    "LMInvalidRequestError",
    "ContextWindowExceededError",
    "LMServerError",
    "LMAuthError",
]


@pytest.mark.parametrize(("status", "code", "words", "kind"), KINDS)
def test_the_status_decides_whatever_the_client_made_of_it(
    status: int | None, code: str, words: str, kind: FailureKind
) -> None:
    for name in CLASSES:
        failed = error(name, words, status=status, provider_code=code or None)
        assert kind_of(failed) is kind
        assert failure_of(failed).hint


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("LMTransportError", FailureKind.TRANSPORT),
        ("LMTimeoutError", FailureKind.TIMEOUT),
        ("LMRateLimitError", FailureKind.RATE),
        ("LMNotConfiguredError", FailureKind.CONFIGURATION),
        ("LMUnsupportedFeatureError", FailureKind.UNSUPPORTED),
        ("ContextWindowExceededError", FailureKind.TOO_LONG),
        ("LMUnexpectedError", FailureKind.UNEXPECTED),
        ("LMProviderError", FailureKind.REPLY),
    ],
)
def test_an_error_without_a_status_is_what_its_class_says(name: str, kind: FailureKind) -> None:
    assert kind_of(error(name)) is kind


def test_each_kind_has_one_consequence() -> None:
    """A kind ends the job, is tried again, or refuses its row; no kind does two of these."""
    consequences = [FATAL, frozenset(ATTEMPTS), ROW_REFUSED]
    for kind in FailureKind:
        assert sum(kind in kinds for kinds in consequences) <= 1, kind
    assert frozenset(ATTEMPTS) == UNAVAILABLE


TOO_FAST = "Rate limit reached for gpt-4.1-mini on tokens per min (TPM): Limit 200000"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("too long\n\n  To fix:\n    - Lower max_tokens to leave more room for input\n", "too long"),
        ("no\n\n  credential came from: OPENAI_API_KEY\n\n  To fix:\n    - Check", "no"),
        ("litellm.BadRequestError: AzureException BadRequestError - it was filtered", "it was filtered"),
        (
            "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - too long",
            "too long",
        ),
        (f"litellm.RateLimitError: AzureException RateLimitError - {TOO_FAST}", TOO_FAST),
        (f"litellm.RateLimitError: RateLimitError: OpenAIException - {TOO_FAST}", TOO_FAST),
        (f"litellm.RateLimitError: BedrockException: Rate Limit Error - {TOO_FAST}", TOO_FAST),
        ("litellm.Timeout: AzureException Timeout - nothing came", "nothing came"),
        ("litellm.Timeout: Timeout Error: OpenAIException - nothing came", "nothing came"),
        ("litellm.InternalServerError: AzureException Internal server error - it failed", "it failed"),
        (
            "litellm.InternalServerError: AnthropicException - busy. Handle with `litellm.InternalServerError`.",
            "busy",
        ),
        ("litellm.AuthenticationError: AzureException AuthenticationError - who?", "who?"),
        ("Error: it went wrong", "Error: it went wrong"),
        ("RateLimitError: slow - down", "RateLimitError: slow - down"),
        ("the text says litellm.BadRequestError: no", "the text says litellm.BadRequestError: no"),
    ],
)
def test_only_the_provider_s_own_words_are_read_and_shown(message: str, words: str) -> None:
    assert provider_words(error("LMInvalidRequestError", message)) == words
    assert brief(error("LMInvalidRequestError", message)) == words
    assert brief(error("LMInvalidRequestError", message, model="azure/judge")) == f"[azure/judge] {words}"
    limit = LongLimitError(error("LMRateLimitError", message, status=429), 432)
    assert brief(limit).startswith(f"{words.removesuffix('.')}; the endpoint takes requests again in 7 min")
