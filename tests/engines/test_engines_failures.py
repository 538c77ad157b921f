"""Failures: what is tried again, what ends the work, and that no message holds a secret."""

from typing import Any

import pytest
from dspy.utils import exceptions as dspy_errors

from jurist.engines.channel import CallContext
from jurist.engines.failures import brief, model_error
from jurist.engines.models import Model, connect
from jurist.errors import UsageError


def error(name: str, message: str = "it went wrong", **details: Any) -> Any:
    kind = getattr(dspy_errors, name)
    return kind(message=message, **details)


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
