"""A provider's key goes to a host that is not the provider's only where the user knows it."""

import io
from typing import Any

import pytest

from jurist.console import questions
from jurist.console.questions import NotApprovedError, approve_keys
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.keeping.key_hosts import key_transfer

HOST = "https://llm.example.com/v1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"name": "openai/m", "api_base": HOST}, "OPENAI_API_KEY goes to llm.example.com"),
        (
            {"name": "openai/m", "api_base": "http://10.0.0.7:8000/v1"},
            "OPENAI_API_KEY goes to 10.0.0.7:8000, unencrypted (http)",
        ),
        (
            {"name": "openai/m", "api_base": "http://api.openai.com/v1"},
            "OPENAI_API_KEY goes to api.openai.com, unencrypted (http)",
        ),
        (
            {"name": "openai/m", "api_base": "https://notopenai.com/v1"},
            "OPENAI_API_KEY goes to notopenai.com",
        ),
        ({"name": "openai/m"}, None),
        ({"name": "openai/m", "api_base": "https://eu.api.openai.com/v1"}, None),
        ({"name": "openai/m", "api_base": "http://localhost:8000/v1"}, None),
        ({"name": "openai/m", "api_base": "http://127.0.0.1:8000/v1"}, None),
        ({"name": "openai/m", "api_base": "http://[::1]:8000/v1"}, None),
        ({"name": "openai/m", "api_base": HOST, "key_env": "OTHER_KEY"}, None),
        ({"name": "anthropic/m", "api_base": HOST}, None),
        ({"name": "offline"}, None),
    ],
)
def test_where_a_key_goes(settings: dict[str, Any], words: str | None) -> None:
    transfer = key_transfer(Model(**settings))
    assert (transfer.words if transfer else None) == words


class Terminal(io.StringIO):
    """Standard input of somebody who types."""

    def isatty(self) -> bool:
        return True


def test_a_person_is_asked_once_for_a_host(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Model(name="openai/m", api_base=HOST)
    replies = iter(["n\n", "y\n"])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr(questions, "_typed_line", lambda seconds: next(replies))
    with pytest.raises(NotApprovedError, match="key_env"):
        approve_keys([model], yes=False)
    approve_keys([model, model], yes=False)
    approve_keys([model], yes=False)
    assert capsys.readouterr().err.count("goes to llm.example.com; go on? [y/N]") == 2


def test_yes_goes_on_and_says_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    model = Model(name="openai/m", api_base=HOST)
    approve_keys([model, model], yes=True)
    said = capsys.readouterr().err
    assert said.count("OPENAI_API_KEY goes to llm.example.com; --api-key-env NAME") == 1
    assert "sk-test" not in said


def test_where_nobody_can_answer_the_key_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(UsageError) as refused:
        approve_keys([Model(name="openai/m", api_base=HOST)], yes=False)
    assert refused.value.message == "OPENAI_API_KEY goes to llm.example.com"
    assert "sk-test" not in str(refused.value)
    approve_keys([Model(name="openai/m", api_base=HOST, key_env="OPENAI_API_KEY")], yes=False)
    assert not capsys.readouterr().err
