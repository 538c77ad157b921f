"""What each command that asks a model pays when it is started again: nothing, or all of it, where the help says so."""

import asyncio
import re
import signal
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import quiz
from batch_server import BatchServer
from loopback import Loopback, field_of, truth_of
from pages import typed_answer
from prepared import begin_with
from small import FAST, Done, claims, cli, ended, ok, read_jsonl, write_jsonl
from talks import conversing

import jurist
from jurist.arguments.commands import all_commands
from jurist.runs.serving import Serving, application

LABELLED = claims(groups=40)
MORE = claims(groups=46)[120:]
NEW = claims(groups=130)[140:]
TRUTH = {row["claim"]: row["factual"] for row in claims(groups=130)}
GOLD = ("--gold", "gold.jsonl")
LABELLING = ("--judge", "cognibench:basic", "--judge-model", "openai/y", "--samples", 2)


def learning(messages: list[dict[str, Any]]) -> str:
    """Answer a claim mostly rightly with demonstrations, and by chance without any."""
    claim = field_of(str(messages[-1]["content"]), "claim")
    label = truth_of(claim)
    if len(messages) > 2:
        label = TRUTH.get(claim, True) is not truth_of(claim, (True, *[False] * 9))
    return f"[[ ## factual ## ]]\n{label}\n\n[[ ## completed ## ]]"


def answered(messages: list[dict[str, Any]]) -> str:
    """Answer as the model of every command here."""
    system = str(messages[0]["content"])
    if "`factual`" in system:
        return learning(messages)
    if "`labels`" in system or "`assistant_message`" in system:
        return conversing(messages)
    if "`verdict`" in system or "`question`" in system:
        return quiz.answer(messages)
    return typed_answer(messages)


def prepare() -> None:
    """Leave a proven version of FECT, and the files that the commands read."""
    write_jsonl(Path("gold.jsonl"), LABELLED)
    write_jsonl(Path("more.jsonl"), MORE)
    names = ("group", "conversation", "claim")
    write_jsonl(Path("new.jsonl"), [{name: row[name] for name in names} for row in NEW])
    response = {
        "reference": "The mill was built in 1832 and has two wheels.",
        "question": "What of it?",
        "sentences": ["It was built in 1832.", "It has nine wheels."],
        "labels": ["faithful", "invented"],
    }
    write_jsonl(Path("prompts.jsonl"), [{**response, "group": f"g{n}"} for n in range(2)])
    quiz.documents(Path("documents.jsonl"), 3)
    with pytest.MonkeyPatch.context() as patch, Loopback(learning) as server:
        patch.setenv("OPENAI_API_KEY", "none")
        ends = ("--model", "openai/x", "--api-base", server.url, "--yes")
        ok("compile", "fect", *GOLD, *FAST, "--no-words", *ends)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    begin_with(prepare)
    with BatchServer(answered) as server:
        yield server


USED_AGAIN: dict[str, tuple[object, ...]] = {
    "evaluate JUDGE": ("evaluate", "fect@1", *GOLD),
    "evaluate harden": ("evaluate", "harden", "fect@1", *GOLD, "--only", "role", "--cases", 4),
    "compile": ("compile", "fect", *GOLD, *FAST, "--no-words", "--model", "openai/x"),
    "prove": ("prove", "fect@1", "--rows", "new.jsonl"),
    "move": ("move", "fect@1", "--model", "openai/z"),
    "compare": ("compare", "fect@1", "fect:basic", *GOLD, "--model", "openai/x"),
    "cascade": ("cascade", "fect:basic", "fect@1", *GOLD, "--model", "openai/x", "--risk", 0.5),
    "artifacts remember": ("artifacts", "remember", "fect@1", "more.jsonl", "--force"),
    "artifacts refit": ("artifacts", "refit", "fect@1"),
    "generate NAME": (
        *("generate", f"{quiz.QUIZ}:generator:basic", "--input", "documents.jsonl", "--output", "q.jsonl"),
        *("--model", "openai/x", "--max-rejected", 1),
    ),
    "assess": ("assess", "openai/x", "--benchmark", "prompts.jsonl", *LABELLING),
    "table cognibench-3": (
        *("table", "cognibench-3", "--gold", "cognibench-mini", "--detector", "cognibench:basic"),
        *("--model", "openai/x"),
    ),
}
"""The commands that pay nothing when they are started again."""
ASKED_ANEW: dict[str, tuple[object, ...]] = {
    "gate": ("gate", "fect@1", *GOLD, "--min", "accuracy=0.1"),
    "run JUDGE": ("run", "fect@1", "--input", "more.jsonl", "--output", "out.jsonl"),
    "batch submit": ("batch", "submit", "fect@1", "--input", "more.jsonl", "--output", "out.jsonl"),
}
"""The commands that ask anew each time."""
OF_THE_SAME_CODE = {"generate dialogue", "generate faithqa", "generate haluagent", "batch collect"}
A_TEST_OF_ITS_OWN = {"serve"}


def test_every_command_with_a_limit_on_calls_is_in_a_table() -> None:
    paying = {
        command.command for command in all_commands() if "calls" in {one.name for one in fields(command)}
    }
    assert paying == USED_AGAIN.keys() | ASKED_ANEW.keys() | OF_THE_SAME_CODE | A_TEST_OF_ITS_OWN


def ends_of(server: Loopback, argv: tuple[object, ...]) -> tuple[object, ...]:
    ends = ("--api-base", server.url, "--yes")
    return (*ends, "--judge-api-base", server.url) if argv[0] == "assess" else ends


def paid(server: BatchServer, *argv: object) -> tuple[int, Done]:
    """Return the requests that a command sends, at once and in batches, and how it ends."""
    before = server.count + len(server.bodies)
    done = cli(*argv, *ends_of(server, argv))
    assert done.code in (0, 1, 3), done.err
    assert done.code != 1 or argv[0] == "move", done.err  # 1: it is not known whether it is as good
    return server.count + len(server.bodies) - before, done


@pytest.mark.parametrize("command", USED_AGAIN)
def test_a_finished_command_pays_nothing_again_unless_it_is_told_to(
    command: str, server: BatchServer
) -> None:
    argv = USED_AGAIN[command]
    first, _ = paid(server, *argv)
    Path("q.jsonl").unlink(missing_ok=True)  # with its output, a generation says that it is done
    again, done = paid(server, *argv)
    assert (first > 0, again) == (True, 0), done.err
    fresh = paid(server, *argv, "--fresh")[0]
    assert fresh == first


def test_a_compilation_with_the_same_answers_makes_the_same_version(server: BatchServer) -> None:
    argv = (*USED_AGAIN["compile"], "--max-calls", 600, "--json")
    _, first = paid(server, *argv)
    _, again = paid(server, *argv)
    versions = [Path(done.json["artifact"]) for done in (first, again)]
    assert [path.name for path in versions] == ["2", "3"]
    for name in ("program.json", "history.jsonl"):
        assert (versions[1] / name).read_bytes() == (versions[0] / name).read_bytes()
    assert (first.json["spend"]["calls"] > 0, again.json["spend"]["calls"]) == (True, 0)
    total = again.json["spend"]["by_purpose"]["total"]
    assert total["reused"] == first.json["spend"]["calls"]


ANSWERED_IN_PART: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {
    "more rows": (
        ("evaluate", "fect:basic", "--gold", "half.jsonl", "--model", "openai/x"),
        ("evaluate", "fect:basic", *GOLD, "--model", "openai/x"),
    ),
    "another model": (
        ("compare", "fect@1", "fect:basic", *GOLD, "--model", "openai/x"),
        ("compare", "fect@1", "fect:basic", *GOLD, "--model", "openai/x", "--model", "openai/y"),
    ),
    "more rows for a proof by labels": (
        ("prove", "fect@1", "--rows", "few.jsonl"),
        ("prove", "fect@1", "--rows", "new.jsonl"),
    ),
    "a refit of what was compiled": (USED_AGAIN["compile"], ("artifacts", "refit", "fect@2")),
    "a proof of a changed prompt": (USED_AGAIN["compile"], USED_AGAIN["artifacts remember"]),
}
"""A command, and one that asks the same in part."""


@pytest.mark.parametrize("name", ANSWERED_IN_PART)
def test_a_forecast_says_how_many_calls_are_not_paid(name: str, server: BatchServer) -> None:
    first, second = ANSWERED_IN_PART[name]
    write_jsonl(Path("half.jsonl"), LABELLED[:60])
    write_jsonl(Path("few.jsonl"), read_jsonl(Path("new.jsonl"))[:12])
    cli(*first, *ends_of(server, first))
    calls, done = paid(server, *second)
    in_all, _ = paid(server, *second, "--fresh")
    said = re.search(r"; (\d+) of them not paid: answers of 20.* UTC are used again; --fresh asks", done.err)
    assert said is not None, done.err
    assert 0 < int(said.group(1)) == in_all - calls < in_all


@pytest.mark.parametrize("command", ASKED_ANEW)
def test_a_command_that_asks_anew_pays_again(command: str, server: BatchServer) -> None:
    argv = ASKED_ANEW[command]
    first, _ = paid(server, *argv)
    if "--output" in argv:
        argv = tuple("other.jsonl" if word == "out.jsonl" else word for word in argv)
    assert paid(server, *argv)[0] == first > 0


def test_a_server_asks_about_each_request_anew(server: BatchServer) -> None:
    import httpx

    model = jurist.Model(name="openai/x", api_base=server.url)
    serving = application(Serving(loaded=jurist.load("fect@1", model=model)))
    row = {name: MORE[0][name] for name in ("conversation", "claim")}

    async def ask() -> int:
        transport = httpx.ASGITransport(app=serving)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/judge", json=row)).status_code

    assert [asyncio.run(ask()) for _ in range(2)] == [200, 200]
    assert server.count == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", [*USED_AGAIN, "gate", "run JUDGE"])
def test_a_command_stopped_by_ctrl_c_goes_on_and_pays_nothing_twice(
    command: str, server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = {**USED_AGAIN, **ASKED_ANEW}[command]
    whole, _ = paid(server, *argv)
    folder = tmp_path / "stopped"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    begin_with(prepare)
    before = server.count
    server.delay = 0.02
    code, words = ended(server, whole // 2, *argv, *ends_of(server, argv), cwd=folder, by=signal.SIGINT)
    server.delay = 0.0
    assert (code, "--resume" in words.splitlines()[-1]) == (130, True), words
    stopped = server.count - before
    rest, _ = paid(server, *argv, "--resume")
    assert (0 < stopped < whole, stopped + rest) == (True, whole)
