"""Failures: what is tried again, what ends the work, and that no message holds a secret."""

import re
from typing import Any

import pytest
from dspy.utils import exceptions as dspy_errors
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.channel import CallContext
from jurist.engines.failures import brief, model_error, redact
from jurist.engines.models import Model, connect
from jurist.errors import UsageError


def error(name: str, message: str = "it went wrong", **details: Any) -> Any:
    kind = getattr(dspy_errors, name)
    return kind(message=message, **details)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcd1234efgh5678",
        "key sk-abcd********wxyz is wrong",
        "sent Authorization: Bearer abc.def.ghi",
        "GET https://user:hunter22@host:8000/v1 failed",
        "failed to connect to user:hunter22@host:8000",
        "token gsk-0123456789 and xai-0123456789",
    ],
)
def test_secrets_by_their_shape(text: str) -> None:
    said = redact(text)
    assert "***" in said
    assert not re.search(r"abcd1234|abcd\*{3,}w|abc\.def|hunter22|0123456789", said)


secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=40).filter(
    lambda text: "*" not in text
)


@settings(max_examples=40)
@given(st.lists(secrets, min_size=1, max_size=4, unique=True), st.text(max_size=30))
def test_secrets_of_the_environment(values: list[str], around: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for number, value in enumerate(values):
            patch.setenv(f"SOME{number}_{('API_KEY', 'TOKEN', 'SECRET', 'PASSWORD')[number % 4]}", value)
        said = redact(around + " ".join(values) + around)
    assert not any(value in said.replace("***", " ") for value in values if value not in around)


def test_one_line_and_short() -> None:
    long = error("LMServerError", "a\nb\n\n  To fix:\n    - pass RouterConfig\n" + "c" * 900)
    assert brief(long) == "a b"
    assert len(brief(error("LMServerError", "word " * 500))) <= 300
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
        {"api_base": "localhost:8000/v1"},
        {"api_base": "file:///etc/passwd"},
        {"api_base": "http://me:hunter22@host/v1"},
        {"api_base": "http://sk-me@host/v1"},
        {"api_base": "http://host/v1?api-key=hunter22"},
        {"api_base": ""},
        {"temperature": -0.1},
        {"temperature": 2.1},
        {"temperature": float("nan")},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"name": ""},
        {"name": "offline", "api_base": "http://localhost:8000/v1"},
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
