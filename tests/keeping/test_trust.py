"""Nothing that an artifact names is executed before its seal holds and the user trusts it; no card breaks a command."""

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import JSON
from hypothesis import given
from hypothesis import strategies as st
from judges import changed
from small import OWN, cli, ok, write_jsonl

import jurist
from jurist.errors import ArtifactError, JudgeError, printable
from jurist.keeping.artifacts import Store
from jurist.keeping.card import Card
from jurist.keeping.loaders import load_judge
from jurist.keeping.naming import judge_of_artifact
from jurist.keeping.sealing import CARD, HISTORY, PROGRAM, canonical_json, seal_card
from jurist.keeping.trust import Trust
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.text.files import data_file

EVIL = "from pathlib import Path\nPath('executed').write_text('yes')\n" + OWN
COMMANDS = (
    ("artifacts", "show", "may-go"),
    ("export", "may-go@1", "--to", "messages"),
    ("run", "may-go", "--input", "new.jsonl", "--output", "out.jsonl"),
    ("evaluate", "may-go:basic", "--gold", "new.jsonl"),
    ("gold", "check", "may-go", "new.jsonl"),
)


def resealed(folder: Path, **changes: Any) -> None:
    """Change a card as whoever passes an artifact on can: the seal has no key."""
    card = {**json.loads((folder / CARD).read_text()), **changes}
    whole = seal_card((folder / PROGRAM).read_bytes(), (folder / HISTORY).read_bytes(), card)
    (folder / CARD).write_bytes(canonical_json(whole))


def executed() -> bool:
    return Path("executed").exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An artifact that somebody else compiled from a file with code that leaves a trace."""
    Path("evil.py").write_text(EVIL)
    judge = find("evil.py:judge")
    Store("compiled").save(
        judge, changed(judge, "Mine."), {"judge_ref": "evil.py:judge"}, [], make_latest=True
    )
    Path("executed").unlink()
    data_file("trusted").unlink()
    write_jsonl(Path("new.jsonl"), [{"policy": "p", "reply": "r", "label": "send"}])
    return tmp_path / "compiled" / "may-go" / "1"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_that_is_not_trusted_is_not_executed(folder: Path, command: tuple[str, ...]) -> None:
    done = cli(*command)
    assert done.code == 1
    assert done.lines[-1] == (
        "error: may-go@1 needs the code of evil.py, which you have not trusted yet; read that file, and add --trust"
    )
    assert not executed()


@pytest.mark.parametrize("command", [COMMANDS[1], COMMANDS[2]], ids=" ".join)
def test_nor_with_trust_if_it_is_another_or_before_the_seal_holds(
    folder: Path, command: tuple[str, ...]
) -> None:
    card, history = (folder / CARD).read_bytes(), (folder / HISTORY).read_bytes()
    for changes, words in (
        ({"judge_sha256": None, "judge_code": None}, "does not say from which content of evil.py"),
        ({"judge_sha256": "0" * 64, "judge_code": "0" * 64}, "is not what may-go@1 was compiled from"),
        ({"labels": "other"}, "is damaged: card.json: labels"),
        (None, "is damaged: history.jsonl"),
    ):
        if changes is None:
            (folder / HISTORY).write_bytes(history + b"{}\n")
        else:
            resealed(folder, **changes)
        done = cli(*command, "--trust")
        assert (done.code, executed(), words in done.lines[-1]) == (1, False, True), done.err
        (folder / CARD).write_bytes(card)


def test_what_is_trusted_is_said_and_remembered(folder: Path) -> None:
    done = cli("artifacts", "show", "may-go", "--trust")
    assert (done.code, executed()) == (0, True)
    assert any(line.startswith("executing evil.py (sha256 ") for line in done.lines)
    Path("executed").unlink()
    ok("artifacts", "show", "may-go")
    assert executed()
    rows = [{"policy": "p", "reply": word, "verdict": word} for word in ("send", "hold")]
    write_jsonl(Path("gold.jsonl"), rows)
    both = cli("compare", "may-go@1", "may-go:basic", "--gold", "gold.jsonl")
    assert (both.code, sum("executing evil.py" in line for line in both.lines)) == (0, 1), both.err
    Path("executed").unlink()
    Path("evil.py").write_text(EVIL + "more = 1\n")
    refused = cli("artifacts", "show", "may-go")
    assert (refused.code, executed()) == (1, False)
    assert "the code of evil.py was changed since may-go@1 was compiled from it" in refused.err
    done = ok("artifacts", "show", "may-go", "--trust")
    assert executed()
    assert "its proof is of the code as it was" in done.err


def test_what_lies_in_pycache_is_not_executed(folder: Path) -> None:
    import importlib.util
    import py_compile

    Path("other.py").write_text("raise SystemExit(9)\n")
    cached = importlib.util.cache_from_source("evil.py")
    Path(cached).parent.mkdir(exist_ok=True)
    py_compile.compile(
        "other.py", cfile=cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    ok("artifacts", "show", "may-go", "--trust")


def test_the_modules_that_a_file_imports_are_part_of_what_is_trusted(tmp_path: Path) -> None:
    place = tmp_path / "project"
    (place / "rules").mkdir(parents=True)
    (place / "rules" / "__init__.py").write_text("from rules.words import NAME\n")
    (place / "rules" / "words.py").write_text("import helper\nNAME = 'own'\n")
    (place / "helper.py").write_text("import json\n")
    (place / "mine.py").write_text("import rules\n" + OWN)
    store, name = Store(tmp_path / "store"), f"{place}/mine.py:judge"
    judge = find(name)
    store.save(judge, changed(judge, "Mine."), {"judge_ref": name}, [], make_latest=True)
    assert load_judge("may-go", store=store).name == "may-go@1"  # who compiled it trusts it
    (place / "helper.py").write_text(
        "import json\nfrom pathlib import Path\nPath('executed').write_text('yes')\n"
    )
    with pytest.raises(JudgeError, match="was changed since may-go@1 was compiled from it"):
        load_judge("may-go", store=store)
    assert not executed()
    find(name)  # named by the user: executed, and what is executed is what was just read
    assert executed()


def test_trust_in_python_is_an_argument(folder: Path) -> None:
    with pytest.raises(JudgeError, match="which you have not trusted yet"):
        jurist.load("may-go@1")
    assert not executed()
    assert jurist.load("may-go@1", trust=True).name == "may-go@1"
    assert jurist.judge("may-go").name == "may-go"  # remembered


def test_a_judge_of_another_version_is_not_executed_in_its_place(folder: Path) -> None:
    artifact = Store("compiled").load("may-go@1")
    lines: list[str] = []
    trusting = Store("compiled", trust=Trust(trusts_all=True, say=lines.append))
    assert judge_of_artifact(artifact, trusting).name == "may-go"
    assert len(lines) == 1
    with pytest.raises(ArtifactError, match="no may-go@7"):
        load_judge("may-go@7", store=trusting)


def test_where_nothing_can_be_remembered_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taken").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", "taken")
    done = ok("artifacts", "show", "may-go", "--trust")
    assert any("is not remembered" in line for line in done.lines)


# -- cards -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"thresholds": [1]},
        {"thresholds": {"samples": 10**9}},
        {"thresholds": {"samples": 3, "threshold": 4}},
        {"thresholds": {"samples": True}},
        {"positive": 3},
        {"labels": [1, 2]},
        {"scores": {"compiled": 3}},
        {"decision": "better"},
        {"optimizer": 7},
        {"model": "gpt"},
        {"setting": {"threshold": "high"}},
        {"gold": {"seen": 5}},
        {"versions": [1]},
        {"judge_ref": 7},
        {"adapter": ["chat"]},
    ],
    ids=str,
)
def test_what_no_card_can_say_is_one_line(changes: dict[str, Any]) -> None:
    assert Card.fault({"judge": "a", "version": 1, **changes}).startswith(next(iter(changes)))


def test_no_card_breaks_a_command(tmp_path: Path) -> None:
    write_jsonl(Path("new.jsonl"), [{"conversation": "a", "claim": "b"}])
    Store("compiled").save(FECT, changed(FECT, "Mine."), {}, [], make_latest=True)
    resealed(tmp_path / "compiled" / "fect" / "1", spend=[])
    for command in (("artifacts", "show"), ("run", "--input", "new.jsonl", "--output", "o.jsonl")):
        done = cli(*command, "fect")
        assert done.code == 1
        assert done.lines[-1].startswith("error: fect@1 in compiled is damaged: card.json: spend")
    ok("artifacts", "list")


KEYS = st.sampled_from(["thresholds", "positive", "labels", "scores", "gold", "model", "setting", "version"])


@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_every_fault_is_one_line(card: dict[str, Any]) -> None:
    assert "\n" not in Card.fault({"judge": "a", "version": 1, **card})


@given(st.text())
def test_what_is_printable_moves_no_cursor(text: str) -> None:
    shown = printable(text)
    assert not any(mark in shown for mark in "\x1b\x07\x08\r\x9b\u202e")
    assert printable(shown) == shown
