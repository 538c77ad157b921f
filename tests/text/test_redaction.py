"""No key and no address with credentials reaches a message, a card or a history."""

import re
from pathlib import Path
from typing import Any

import dspy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.keeping.artifacts import Store
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState
from jurist.text.redaction import HIDDEN, publishable, redact

SECRETS = [
    "sk-abcdefgh12345678",
    "sk-proj-AbC_dEf-123456789012",
    "sk-ant-api03-abcdefghijklmnop",
    "gsk_abcdefghijklmnopqrstuv",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "AKIAABCDEFGHIJKLMNOP",
    "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
    "xoxb-1234567890-abcdefghij",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-def_ghi",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "key={}", '{{"a": "{}"}}', "Bearer {}"])
def test_key_shaped_text_is_hidden_wherever_it_stands(secret: str, frame: str) -> None:
    text = frame.format(secret)
    for written in (str(publishable({"note": [{"x": text}]})), redact(text)):
        assert secret not in written
        assert HIDDEN in written


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcd1234efgh5678",
        "key sk-abcd********wxyz is wrong",
        "sent Authorization: Bearer abc.def.ghi",
        "GET https://user:hunter22@host:8000/v1 failed",
        "failed to connect to user:hunter22@host:8000",
        "sk-abcd1234efgh,user:hunter22@host refused the connection",
        "token gsk-0123456789 and xai-0123456789",
        "GET http://0123456789@host/v1?api_key=hunter22 failed",
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


@pytest.mark.parametrize(
    "text",
    [
        "risk-assessment-of-methods",
        "task-oriented-dialogue",
        "The bearer presenting the note is anonymous.",
        "Is it a standard bearer?",
        "Ask: is the claim supported? a@b.example wrote so; see https://x.example/a?page=2#top",
        "desk-12345678",
        "[[ ## label ## ]] {claim} <b>&amp;</b> 中文",
    ],
)
def test_plain_text_stays(text: str) -> None:
    assert publishable({"instruction": text}) == {"instruction": text}


NAMES = (
    "api_key API-KEY apikey openai_api_key password Authorization x-api-key secret access_token client_secret"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_values_under_telling_names_are_hidden(name: str) -> None:
    assert publishable({"params": {name: "hunter2"}}) == {"params": {name: HIDDEN}}


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("api_base", "https://user:pass@host:8000/v1?api-version=2#x", "https://host:8000/v1"),
        ("api_base", "http://us%40er:p@ss@host/v1", "http://host/v1"),
        ("model", "openai/gpt-4.1-mini", "openai/gpt-4.1-mini"),
        ("model", "ollama_chat/llama3.1:8b", "ollama_chat/llama3.1:8b"),
        ("model", "u:p@host:80/m", "host:80/m"),
        ("prompt_model", "azure/x?y", "azure/x?y"),
        (
            "note",
            "see https://u:p@host/x?page=1&api_key=abc&b=2",
            "see https://host/x?page=1&api_key=***&b=2",
        ),
    ],
)
def test_addresses(name: str, text: str, kept: str) -> None:
    assert publishable({name: text}) == {name: kept}


def test_values_of_key_variables_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_API_KEY", "plainwordssecret")
    monkeypatch.setenv("SHORT_KEY", "none")
    assert publishable({"a": "x plainwordssecret y none"}) == {"a": f"x {HIDDEN} y none"}


@settings(max_examples=40)
@given(st.text(max_size=80), st.sampled_from(["x", "model", "api_base", "note"]))
def test_twice_changes_nothing_more(text: str, name: str) -> None:
    once = publishable({name: text})
    assert publishable(once) == once
    assert "\ud800" not in str(once)


def test_a_saved_artifact_holds_no_secret(tmp_path: Path) -> None:
    judge = Judge(
        name="toy", signature=dspy.Signature("text: str -> ok: bool"), positive=frozenset({"false"})
    )
    bad: dict[str, Any] = {
        "optimizer": {
            "name": "opro",
            "params": {"api_key": "hunter2-abc", "headers": ["Bearer " + SECRETS[0]]},
        },
        "model": {"name": "openai/x", "api_base": "http://me:hunter2-abc@host/v1?key=hunter2-abc"},
        "prompt_model": {"name": "https://me:hunter2-abc@host/v1"},
    }
    store = Store(tmp_path)
    artifact = store.save(
        judge, PromptState.of(judge.basic()), bad, [bad, {"note": SECRETS[1]}], make_latest=True
    )
    written = "".join(path.read_text("utf-8") for path in artifact.path.iterdir())
    assert not [secret for secret in ("hunter2", "me:", *SECRETS) if secret in written]
    assert artifact.card["model"]["api_base"] == "http://host/v1"
    assert store.verify() == []
