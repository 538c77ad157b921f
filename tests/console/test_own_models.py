"""Who answers where nobody names a model: a version its own model, a basic prompt beside it that one, else offline."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import dspy
import pytest
import quiz
from batch_server import BatchServer
from judges import changed
from loopback import Loopback, answer
from small import claims, cli, new_rows, ok, read_jsonl, write_jsonl

import jurist
from jurist.arguments.commands import all_commands
from jurist.console import pages
from jurist.keeping.artifacts import Store
from jurist.programs.catalogue import find

OWN = "openai/own"
GOLD = ("--gold", "gold.jsonl")
ROWS = ("--input", "new.jsonl", "--output", "out.jsonl")
COMMANDS: dict[str, tuple[object, ...]] = {
    "evaluate JUDGE": ("evaluate", "fect@1", *GOLD),
    "evaluate harden": ("evaluate", "harden", "fect@1", *GOLD, "--only", "fake-verdict"),
    "compile": ("compile", "fect", *GOLD, "--start", "fect@1", "--optimizer", "threshold"),
    "prove": ("prove", "fect@1", "--rows", "new.jsonl"),
    "compare": ("compare", "fect@1", "fect:basic", *GOLD),
    "cascade": ("cascade", "fect:basic", "fect@1", *GOLD),
    "run JUDGE": ("run", "fect@1", *ROWS),
    "gate": ("gate", "fect@1", *GOLD, "--min", "accuracy=0.1"),
    "serve": ("serve", "fect@1"),
    "batch submit": ("batch", "submit", "fect@1", *ROWS),
    "generate NAME": ("generate", "quiz@1", "--input", "documents.jsonl", "--output", "items.jsonl"),
    "assess": ("assess", "offline", "--benchmark", "dialogues", "--limit", "1", "--judge", "cognibench@1"),
    "table cognibench-3": (
        *("table", "cognibench-3", "--gold", "cognibench-mini"),
        *("--detector", "cognibench@1", "--detector", "cognibench:basic"),
    ),
}
"""The command as its options name it -> its words, without a model."""
OF_THE_SAME_CODE = {"generate dialogue", "generate faithqa", "generate haluagent"}
NAMES_ITS_MODEL = {"move"}


def answered(messages: list[dict[str, Any]]) -> str:
    """Answer as the endpoint of every judge here, and of the generator."""
    is_quiz = any(name in str(messages[0]["content"]) for name in ("`question`", "`verdict`"))
    return quiz.answer(messages) if is_quiz else answer(messages)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A server at whose address a version of each judge was proven, and the files that the commands read."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    write_jsonl(Path("gold.jsonl"), claims(20))
    write_jsonl(Path("sealed.jsonl"), claims(40)[60:])
    write_jsonl(Path("new.jsonl"), new_rows(30))
    quiz.documents(Path("documents.jsonl"), 2)
    with BatchServer(answered) as server:
        for name in ("fect", "cognibench", f"{quiz.QUIZ}:generator"):
            save(name, {"name": OWN, "api_base": server.url})
        yield server


def save(name: str, model: dict[str, Any]) -> None:
    """Keep a version that was proven with a model."""
    judge = find(name)
    records: dict[str, list[dict[str, Any]]] = {}
    if judge.name == "fect":  # ``prove`` weighs labels by the answers to a sealed test
        cases = jurist.Gold.load("sealed.jsonl", judge).cases
        records["proof.jsonl"] = []
        for case in cases:
            gold = list(case.gold or ())
            said = {"status": "verdict", "values": gold}
            known = {"case": case.id, "group": case.group, "gold": gold}
            records["proof.jsonl"].append({**known, "basic": said, "compiled": said})
    card = {"model": model, "judge_ref": name}
    Store("compiled").save(judge, changed(judge), card, [], make_latest=True, records=records)


def models_asked(server: Loopback) -> set[str]:
    return {hit.body["model"] for hit in server.hits if "model" in hit.body}


def test_every_command_that_asks_judges_is_in_the_table() -> None:
    asking = set()
    for command in all_commands():
        names = {item.name for item in fields(command)}
        asks_models = names & {"model", "models", "judge_model"}
        if asks_models and names & {"judge", "judges", "artifact", "detectors", "generator"}:
            asking.add(command.command)
    assert asking == COMMANDS.keys() | OF_THE_SAME_CODE | NAMES_ITS_MODEL


@pytest.mark.parametrize("command", COMMANDS)
def test_a_version_asks_the_model_that_it_was_proven_with(
    command: str, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[str] = []
    monkeypatch.setattr(pages, "listen", lambda app, host, port, subject, *_: served.append(subject))
    yes = ("--yes",) if command != "serve" else ()
    done = cli(*COMMANDS[command], *yes)
    assert "error" not in done.err or command == "prove"  # here both prompts give the same answers
    first = next(line for line in done.err.splitlines() if not line.startswith("executing"))
    if command == "compile":
        assert "model openai/own as fect@1" in first
    else:
        assert f"@1 asks {OWN}, with which it was proven; --model names another" in first
    assert "offline" not in first
    if command == "serve":
        assert served == [f"fect@1 with {OWN} at"]
    else:
        assert models_asked(server) == {"own"}


PYTHON: dict[str, Callable[[], object]] = {
    "load": lambda: jurist.load("fect@1")(**new_rows(1)[0]),
    "load, by its name": lambda: jurist.load("fect")(**new_rows(1)[0]),
    "run": lambda: jurist.run("fect@1", new_rows(3), "out.jsonl"),
    "evaluate": lambda: jurist.evaluate("fect@1", claims(4)),
    "harden": lambda: jurist.harden("fect@1", claims(4), only=["fake-verdict"]),
    "compare": lambda: jurist.compare(["fect@1", "fect:basic"], claims(4)),
    "cascade": lambda: jurist.cascade(["fect:basic", "fect@1"], claims(4)),
    "gate": lambda: jurist.gate("fect@1", claims(10), minimum={"accuracy": 0.1}),
    "table": lambda: jurist.table("cognibench-mini", ["cognibench@1"]),
    "prove": lambda: jurist.prove("fect@1", new_rows(30)),
    "compile": lambda: jurist.compile("fect", "gold.jsonl", start="fect@1", optimizer="threshold"),
    "generate": lambda: jurist.generate("quiz@1", "documents.jsonl", "items.jsonl"),
    "assess": lambda: jurist.assess("offline", "dialogues", judge="cognibench@1", limit=1),
}


@pytest.mark.parametrize("call", PYTHON)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_python_asks_it_too(call: str, server: BatchServer) -> None:
    too_few = pytest.raises(jurist.JuristError, match="differ") if call == "prove" else nullcontext()
    with too_few:
        PYTHON[call]()
    assert models_asked(server) == {"own"}


def test_batches_of_its_own_model_are_looked_at_and_collected(
    server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")  # a server of one's own asks for none
    ok(*COMMANDS["batch submit"], "--yes")
    assert "completed 30/30" in ok("batch", "status", "out.jsonl").out
    ok("batch", "collect", "out.jsonl")
    assert len(read_jsonl(Path("out.jsonl"))) == 30
    assert models_asked(server) == {"own"}


def test_each_version_of_a_comparison_asks_its_own_and_basic_the_first(server: BatchServer) -> None:
    save("fect", {"name": "openai/new", "api_base": server.url})
    done = ok("compare", "fect@2", "fect:basic", "fect@1", *GOLD, "--yes", "--json")
    models = [judge["model"] for judge in done.json["judges"]]
    assert models == ["openai/new", "openai/new", OWN]


@pytest.mark.parametrize(
    ("card", "named", "asked"),
    [
        ({"temperature": 0.3, "max_tokens": 50}, (), {"temperature": 0.3, "max_tokens": 50}),
        (
            {"temperature": 0.3, "max_tokens": 50},
            ("--max-tokens", "60"),
            {"temperature": 0.3, "max_tokens": 60},
        ),
        ({"temperature": 0.0}, ("--temperature", "0.5"), {"temperature": 0.5}),
        ({"temperature": 0.0}, ("--samples", "3", "--temperature", "0.5"), {"temperature": 0.5}),
        ({"temperature": 0.0}, ("--samples", "3"), {"temperature": 0.7}),
        ({"body": {"top_k": 3}}, (), {"top_k": 3}),
        ({"body": {"top_k": 3}}, ("--body", "top_k=4"), {"top_k": 4}),
    ],
)
def test_what_no_option_says_is_as_it_was_proven(
    card: dict[str, Any], named: tuple[str, ...], asked: dict[str, Any], server: BatchServer
) -> None:
    save("fect", {"name": OWN, "api_base": server.url, **card})
    ok("run", "fect@2", *ROWS, "--yes", *named)
    body = server.hits[-1].body
    assert {name: body.get(name) for name in asked} == asked


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (("--model", "offline"), "fect@1 was proven with openai/own, not with offline"),
        (("--api-base", "http://127.0.0.1:9/v1", "--patience", "0"), "failed to connect to 127.0.0.1:9"),
    ],
)
def test_what_an_option_names_goes_before(named: tuple[str, ...], said: str, server: BatchServer) -> None:
    assert said in cli("run", "fect@1", *ROWS, "--yes", *named).err
    assert not server.hits


def test_a_version_of_the_offline_engine_runs_offline(server: BatchServer) -> None:
    save("fect", {"name": "offline"})
    done = ok("run", "fect@2", *ROWS)
    assert "asks" not in done.err
    assert not server.hits


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/own", "OPENAI_API_KEY"),
        ("systemone/sparrow", "--api-base"),
        ("typesafe/jev-latest", "TYPESAFE_API_KEY"),
        ("decisions/gpt-6-luna", "OPENAI_API_KEY"),
    ],
)
@pytest.mark.parametrize("command", ["run", "gate"])
def test_one_line_names_the_key_or_the_address_that_is_missing(
    model: str, said: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "TYPESAFE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    write_jsonl(Path("gold.jsonl"), claims(40))
    write_jsonl(Path("new.jsonl"), new_rows(3))
    judge = find("fect")
    state = changed(judge)
    plain = type(state).of(dspy.Predict(judge.signature))
    Store("compiled").save(judge, plain, {"model": {"name": model}}, [], make_latest=True)
    done = cli(*COMMANDS["run JUDGE" if command == "run" else command], "--yes", "--patience", "0")
    errors = [line for line in done.err.splitlines() if line.startswith("error")]
    assert len(errors) == 1, done.err
    assert said in errors[0]
    assert done.code != 0
