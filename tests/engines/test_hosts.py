"""Rows and a provider's key go to a host of others only where the user knows it, whatever a card names."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judges import basic
from loopback import Loopback
from small import cli, write_jsonl

import jurist
from jurist.console import questions
from jurist.console.questions import NotApprovedError, approve_keys
from jurist.engines import hosts
from jurist.engines.embedding import embedding_model
from jurist.engines.hosts import check_host, key_transfer
from jurist.engines.models import Model
from jurist.errors import UsageError
from jurist.keeping.artifacts import Store
from jurist.keeping.card_parts import ModelCard
from jurist.programs.fect import FECT
from jurist.text.files import data_file

HOST = "https://llm.example.com/v1"


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    for name in ("ANTHROPIC_API_KEY", "AZURE_API_KEY", "TYPESAFE_API_KEY", "JURIST_API_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hosts, "_named_lines", {})


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


@pytest.mark.parametrize(
    ("name", "address", "key", "passes"),
    [
        # of this machine
        ("openai/m", "http://127.0.0.1:8000/v1", "OPENAI_API_KEY", True),
        ("openai/m", "http://localhost:8000/v1", "OPENAI_API_KEY", True),
        ("openai/m", "http://127.0.0.1.evil.example/v1", None, False),
        ("openai/m", "http://localhost.evil.example/v1", None, False),
        # of the provider
        ("openai/m", "https://api.openai.com/v1", "OPENAI_API_KEY", True),
        ("openai/m", "https://eu.api.openai.com/v1", "OPENAI_API_KEY", True),
        ("openai/m", "http://api.openai.com/v1", "OPENAI_API_KEY", False),
        ("openai/m", "https://api.openai.com.evil.example/v1", "OPENAI_API_KEY", False),
        ("openai/m", "https://evil.example\\.api.openai.com/v1", "OPENAI_API_KEY", False),
        ("openai/m", "https://evil.openai.com/v1", "OPENAI_API_KEY", False),
        ("anthropic/m", "https://api.openai.com/v1", "ANTHROPIC_API_KEY", False),
        ("anthropic/m", "https://api.anthropic.com", "ANTHROPIC_API_KEY", True),
        ("azure/m", "https://ours.openai.azure.com", "AZURE_API_KEY", True),
        ("azure/m", "https://ours.cognitiveservices.azure.com", "AZURE_API_KEY", True),
        ("azure/m", "https://ours.services.ai.azure.com", "AZURE_API_KEY", True),
        ("azure/m", "https://evil.eastus.cloudapp.azure.com", "AZURE_API_KEY", False),
        ("azure/m", "https://evil.azure.com", "AZURE_API_KEY", False),
        ("gemini/m", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", True),
        ("gemini/m", "https://evil.storage.googleapis.com", "GEMINI_API_KEY", False),
        # of a private network, without a key
        ("openai/m", "http://10.0.0.7:8000/v1", None, True),
        ("openai/m", "http://vllm:8000/v1", None, True),
        ("openai/m", "http://vllm.judges.svc.cluster.local/v1", None, True),
        ("ollama_chat/m", "http://192.168.1.5:11434", None, True),
        ("openai/m", "http://10.0.0.7:8000/v1", "OPENAI_API_KEY", False),
        ("gemini/m", "http://10.0.0.7:8000/v1", None, False),
        ("openai/m", "http://[::ffff:8.8.8.8]/v1", None, False),
        ("openai/m", "http://134744072/v1", None, False),
        # of anybody
        ("openai/m", "http://evil.example/v1", "OPENAI_API_KEY", False),
        ("openai/m", "https://evil.example/v1", None, False),
        ("decisions/m", "https://evil.example/v1", "OPENAI_API_KEY", False),
        ("systemone/m", "https://evil.example", "TYPESAFE_API_KEY", False),
    ],
)
def test_which_addresses_of_a_card_are_asked(
    monkeypatch: pytest.MonkeyPatch, name: str, address: str, key: str | None, passes: bool
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    if key is not None:
        monkeypatch.setenv(key, "sk-test-0123456789")
    model = ModelCard(name=name, api_base=address).model()
    check_host(Model(name=name, api_base=address))  # who names it, may
    check_host(replace(model, key_env="MY_KEY"))
    if passes:
        check_host(model)
        return
    with pytest.raises(UsageError) as refused:
        check_host(model)
    assert address.partition("://")[2].partition("/")[0] in refused.value.message
    assert name in refused.value.message
    assert ("your rows" if key is None else f"{key} and your rows") in refused.value.hint


@pytest.mark.parametrize(
    ("named", "passes"),
    [
        ("llm.example.com", True),
        ("other.example.com, https://LLM.example.com/v1", True),
        ("http://llm.example.com", False),
        ("example.com", False),
        ("", False),
    ],
)
def test_the_environment_names_addresses(monkeypatch: pytest.MonkeyPatch, named: str, passes: bool) -> None:
    monkeypatch.setenv("JURIST_API_HOSTS", named)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    model = ModelCard(name="openai/m", api_base=HOST).model()
    if passes:
        approve_keys([model], yes=False)
    else:
        with pytest.raises(UsageError, match=r"llm\.example\.com"):
            approve_keys([model], yes=True)


def test_an_address_of_a_card_stays_one_wherever_it_is_copied_to() -> None:
    model = ModelCard(name="openai/m", api_base=HOST).model()
    panel = ModelCard(name="panel", members=[ModelCard(name="openai/m", api_base=HOST)]).model()
    for copied in (replace(model, seed=3), embedding_model(model, "openai/e"), panel.members[0]):
        with pytest.raises(UsageError, match="a card names"):
            check_host(copied)


def _save(**model: Any) -> str:
    """Save a version into ``./compiled``, as whoever passes artifacts on can."""
    card = {"model": {"name": "openai/m", "temperature": 0.0, **model}}
    return Store("compiled").save(FECT, basic(FECT), card, [], make_latest=True).ref


@pytest.mark.parametrize(
    ("compiled_with", "run_with", "passes"),
    [
        ({}, {}, True),
        ({"key_env": "MY_KEY"}, {"key_env": "MY_KEY"}, True),
        ({"key_env": "MY_KEY"}, {}, False),
        (None, {}, False),
    ],
)
def test_a_version_is_asked_where_it_was_compiled(
    monkeypatch: pytest.MonkeyPatch,
    compiled_with: dict[str, str] | None,
    run_with: dict[str, str],
    passes: bool,
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789")
    if compiled_with is not None:
        check_host(Model(name="openai/m", api_base=HOST, **compiled_with))
    _save(api_base=HOST)
    monkeypatch.setattr(hosts, "_named_lines", {})  # another process
    version = Store("compiled").load("fect@1").about.model.model()
    if passes:
        check_host(replace(version, **run_with))
    else:
        with pytest.raises(UsageError, match=r"a card names https://llm\.example\.com"):
            check_host(replace(version, **run_with))
    assert "sk-" not in (data_file("key-hosts").read_text() if data_file("key-hosts").exists() else "")


@pytest.fixture(scope="module")
def proxy() -> Iterator[Loopback]:
    """A server that answers for every host, as a proxy."""
    with Loopback() as server:
        yield server


@pytest.fixture
def evil(proxy: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """The server behind ``http://evil.example``."""
    proxy.hits.clear()
    monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
    monkeypatch.delenv("no_proxy", raising=False)
    return proxy


ROW = {"conversation": "agent: The order has shipped.", "claim": "The order has shipped."}


def test_python_sends_nothing_to_the_host_of_a_strangers_card(evil: Loopback) -> None:
    judge = jurist.load(_save(api_base="http://evil.example/v1"), store="compiled")
    for ask in (lambda: judge(**ROW), lambda: judge.batch([ROW]), lambda: judge.as_module()(**ROW)):
        with pytest.raises(UsageError, match=r"a card names http://evil\.example") as refused:
            ask()
        assert "jurist.Model(api_base=" in str(refused.value)
    assert not evil.hits
    named = jurist.load(
        "fect@1", store="compiled", model=Model("openai/m", api_base="http://evil.example/v1")
    )
    assert named(**ROW).status == "verdict"
    assert evil.hits[0].authorization == "Bearer sk-test-0123456789"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--yes"], 2, "a card names http://evil.example as the address of openai/m"),
        (["--yes", "--api-base", "http://evil.example/v1"], 0, "OPENAI_API_KEY goes to evil.example"),
        (["--api-key-env", "OPENAI_API_KEY"], 0, "1 row"),
    ],
)
def test_a_command_needs_the_host_and_not_a_yes(
    evil: Loopback, options: list[str], code: int, words: str
) -> None:
    _save(api_base="http://evil.example/v1")
    write_jsonl(Path("new.jsonl"), [ROW])
    done = cli("run", "fect@1", "--input", "new.jsonl", "--output", "out.jsonl", *options)
    assert done.code == code, done.lines
    assert words in "\n".join(done.lines)
    assert bool(evil.hits) == (code == 0)
