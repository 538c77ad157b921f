"""Commands that pay and need more than a gold file, killed five times at random: they end as if nobody had."""

import json
import os
import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from batch_runs import collect, rows, submit
from batch_server import BatchServer
from forked import Forked
from loopback import answer, truth_of
from proving import VERSION, compiled_house_rule
from small import (
    FAST,
    claims,
    cli,
    comparable_files,
    killed,
    new_rows,
    ok,
    read_jsonl,
    start,
    write_jsonl,
)

from jurist.gold.goldset import Gold
from jurist.gold.label_journal import LabelJournal
from jurist.keeping.artifacts import Store
from jurist.programs.catalogue import find

IN_FLIGHT = 4
KILLS = 5
CHANGING = {"spend", "spends", "forecast", "created", "seconds", "seconds_per_row", "sha256", "commit", "at"}


def send_or_hold(messages: list[dict[str, Any]]) -> str:
    label = truth_of(json.dumps(messages), ("send", "hold"))
    return f"[[ ## verdict ## ]]\n{label}\n\n[[ ## completed ## ]]"


def prepare_prove(server: Any) -> tuple[object, ...]:
    compiled_house_rule()
    return ("prove", VERSION, "--rows", "new.jsonl", "--trust", "--model", "openai/x")


def prepare_remember(server: Any) -> tuple[object, ...]:
    write_jsonl(Path("gold.jsonl"), claims())
    write_jsonl(Path("more.jsonl"), claims(groups=20)[42:])
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes")
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST, *ends, "--anyway")
    return ("artifacts", "remember", "fect@1", "more.jsonl", "--force")


def prepare_move(server: Any) -> tuple[object, ...]:
    compiled_house_rule()
    return ("move", VERSION, "--model", "openai/x")


def prepare_cascade(server: Any) -> tuple[object, ...]:
    write_jsonl(Path("gold.jsonl"), claims(groups=40))
    models = ("--model", "openai/x", "--model", "openai/y")
    return ("cascade", "fect:basic", "fect:basic", "--gold", "gold.jsonl", *models)


def prepare_panel(server: Any) -> tuple[object, ...]:
    write_jsonl(Path("gold.jsonl"), claims())
    panel = ("--panel", "openai/x", "--panel", "openai/y", "--panel", "openai/z")
    return ("compile", "fect", "--gold", "gold.jsonl", *FAST, *panel, "--anyway")


COMMANDS: dict[str, tuple[Callable[..., str], Callable[[Any], tuple[object, ...]]]] = {
    "prove": (send_or_hold, prepare_prove),
    "remember": (answer, prepare_remember),
    "move": (send_or_hold, prepare_move),
    "cascade": (answer, prepare_cascade),
    "panel": (answer, prepare_panel),
}


def without_changing(data: Any) -> Any:
    """Return a result without the values that every start changes."""
    if isinstance(data, dict):
        return {name: without_changing(value) for name, value in data.items() if name not in CHANGING}
    if isinstance(data, list):
        return [without_changing(item) for item in data]
    return data


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_five_kills_at_random_and_a_resumption_are_one_command(
    name: str,
    serve: Callable[..., Any],
    tmp_path: Path,
    no_waiting: None,
    fake_key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, prepare = COMMANDS[name]
    server = serve(answers)
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    ends = ("--api-base", server.url, "--concurrency", IN_FLIGHT, "--yes", "--json")
    argv = (*prepare(server), *ends)
    for copy in ("whole", "cut"):
        shutil.copytree(prepared, tmp_path / copy)
        if (tmp_path / "data").exists():
            shutil.copytree(tmp_path / "data", tmp_path / f"data-{copy}")

    monkeypatch.chdir(tmp_path / "whole")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-whole"))
    before_whole = server.count
    whole = cli(*argv)
    requests = server.count - before_whole
    assert whole.code in (0, 1, 3), whole.err
    assert requests > 2 * KILLS, whole.err

    monkeypatch.chdir(tmp_path / "cut")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-cut"))
    before_cut, server.delay = server.count, 0.02
    draw = random.Random(name)
    for number in range(KILLS):
        resumption = ["--resume"] if number else []
        killed(server, draw.randint(1, max(1, requests // 8)), *argv, *resumption, cwd=tmp_path / "cut")
        set_clock_back(tmp_path / "cut", seconds=3600 * 24 * number)
    server.delay = 0.0
    done = cli(*argv, "--resume")
    assert done.code == whole.code, done.err
    assert requests <= server.count - before_cut <= requests + KILLS * IN_FLIGHT
    assert without_changing(done.json) == without_changing(whole.json)
    cut = comparable_files(tmp_path / "cut", without_changing)
    assert cut == comparable_files(tmp_path / "whole", without_changing)


def set_clock_back(folder: Path, seconds: int) -> None:
    """Give all files of a folder a time in the future, as they have it after a clock was set back."""
    for path in folder.rglob("*"):
        status = path.stat()
        os.utime(path, (status.st_atime + seconds, status.st_mtime + seconds))


@pytest.mark.slow
def test_a_shard_that_is_killed_five_times_has_each_row_once(
    serve: Callable[..., Any], tmp_path: Path
) -> None:
    count = 120
    server = serve(delay=0.02)
    write_jsonl(Path("rows.jsonl"), new_rows(count))
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes", "--concurrency", IN_FLIGHT)
    argv = ("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl", *ends, "--shard")
    draw = random.Random("shards")
    for number in range(KILLS):
        resumption = ["--resume"] if number else []
        killed(server, draw.randint(1, 10), *argv, "1/2", *resumption, cwd=tmp_path)
        set_clock_back(tmp_path, seconds=3600 * 24 * number)
    ok(*argv, "2/2")
    ok(*argv, "1/2", "--resume")
    ok("run", "join", "o-1-of-2.jsonl", "o-2-of-2.jsonl", "--output", "o.jsonl")
    assert [line["id"] for line in read_jsonl(Path("o.jsonl"))] == [row["id"] for row in new_rows(count)]
    assert count <= server.count <= count + KILLS * IN_FLIGHT


@pytest.mark.slow
def test_a_collection_that_is_killed_five_times_pays_for_no_row_twice(
    tmp_path: Path, fake_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jurist.runs.batch_service._PAUSE", 0.0)
    count = 40
    rows(count)
    running: list[Forked] = []
    kill_after: list[int] = []

    def kill_when_due(what: str) -> None:
        if running and kill_after:
            kill_after[0] -= 1
            if kill_after[0] < 0:
                kill_after.clear()
                os.kill(running[-1].pid, signal.SIGKILL)

    draw = random.Random("batch")
    with BatchServer(polls=1, done=kill_when_due) as server:
        assert submit(server, "--samples", 3).code == 0
        for _ in range(KILLS):
            kill_after[:] = [draw.randint(0, 3)]
            running.append(start("batch", "collect", "b.jsonl", cwd=tmp_path))
            running[-1].communicate(timeout=60)
        kill_after.clear()
        done = collect()
        while done.code == 1 and "wait" in done.out + done.err:
            done = collect()
        assert done.code == 0, done.err
        assert len(server.bodies) == 3 * count
    assert [line["id"] for line in read_jsonl(Path("b.jsonl"))] == [f"r{number}" for number in range(count)]


_SAVING = """
import sys
from pathlib import Path
from jurist.gold.goldset import Gold
from jurist.gold.label_journal import JournalLabel, LabelJournal

journal = LabelJournal(Path("labels.jsonl"))
for number in range(int(argv[0]), 100_000):
    label = JournalLabel(case=f"c{number}", unit=1, rater="ann", label="yes", request=f"r{number}")
    journal.add(label, {"text": "x" * 200}, "g")
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_label_that_was_said_to_be_saved_survives_five_kills(tmp_path: Path) -> None:
    saved: list[int] = []
    draw = random.Random("labels")
    for _ in range(KILLS):
        process = Forked(len(saved) // 2, cwd=tmp_path, code=_SAVING)  # some labels are sent again
        goal = draw.randint(100, 3000)
        while len(process.said[0]) < goal and process.poll() is None:
            pass
        process.kill()
        out, err = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, err
        # a line may be cut by the kill
        saved = sorted({*saved, *map(int, out[: out.rfind("\n") + 1].split())})
        cases = [label.case for label in LabelJournal(Path("labels.jsonl")).labels()]
        assert len(set(cases)) == len(cases)
        assert {f"c{number}" for number in saved} <= set(cases)


_FORGETTING = """
import os, signal, sys
limit, *command = argv
events = 0
def kill_at_limit(event, arguments):
    global events
    if event in ("open", "os.mkdir", "os.rename", "os.link", "os.remove") and "store" in str(arguments[0]):
        events += 1
        if events == int(limit):
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill_at_limit)
code = main(command)
print("events:", events)
raise SystemExit(code)
"""


@pytest.mark.slow
def test_forgetting_a_row_survives_five_kills(tmp_path: Path) -> None:
    write_jsonl(Path("gold.jsonl"), claims())
    ok("compile", "fect", "--gold", "gold.jsonl", *FAST, "--anyway", "--store", "whole/store")
    first = Store(Path("whole/store")).load("fect@1")
    row_id = first.about.gold.seen[0]
    for number in range(KILLS):
        shutil.copytree("whole", f"cut-{number}")
    command = ("artifacts", "forget", "fect@1", row_id, "--store", "store")

    process = Forked(0, *command, cwd=tmp_path / "whole", code=_FORGETTING)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    events = int(out.rpartition("events: ")[2])
    assert events > 2 * KILLS
    whole = Store(Path("whole/store")).load("fect@2")

    draw = random.Random("forget")
    for number, limit in enumerate(draw.sample(range(1, events), KILLS)):
        folder = tmp_path / f"cut-{number}"
        store = Store(folder / "store")
        process = Forked(limit, *command, cwd=folder, code=_FORGETTING)
        _, err = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, err
        assert store.verify() == []
        assert store.load("fect@1").card == first.card

        process = Forked(0, *command, cwd=folder, code=_FORGETTING)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert [version.ref for version in store.list()] == ["fect@1", "fect@2"]
        last = store.load("fect@2")
        assert without_changing(dict(last.card)) == without_changing(dict(whole.card))
        assert last.state == whole.state
        assert store.verify() == []


@pytest.mark.slow
def test_labels_that_the_review_page_said_to_have_saved_survive_five_kills(tmp_path: Path) -> None:
    gold = Gold.of(claims(groups=20), find("fect"), labelled=False)
    write_jsonl(Path("gold.jsonl"), claims(groups=20))
    units = [f"{case.id}:1" for case in gold.cases]
    saved: dict[str, str] = {}
    draw = random.Random("review")
    for number in range(KILLS + 1):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        argv = ("review", "fect", "gold.jsonl", "--all", "-o", "labels.jsonl", "--port", port)
        process = Forked(*argv, cwd=tmp_path)
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"x-jurist": "review"}, trust_env=False
        )
        wait_until_it_answers(client, process)
        said = client.get("/labels", params={"rater": "ann"}).json()["history"]
        assert {step["unit"]: step["label"] for step in said} == saved
        assert len(said) == len(saved)
        kill_after = draw.randint(1, 12) if number < KILLS else len(units)
        sent = 0
        for unit in units:
            if unit in saved:
                continue
            label = draw.choice(["factual", "non_factual"])
            message = {
                "unit": unit,
                "rater": "ann",
                "label": label,
                "category": "",
                "request": f"{unit} {number}",
            }
            if sent == kill_after:
                killing = threading.Timer(draw.random() / 200, process.kill)
                killing.start()
            try:
                answered = client.post("/labels", json=message)
            except httpx.TransportError:
                break  # it is not said to be saved: the page sends it again
            assert answered.json() == {"saved": True}
            saved[unit] = label
            sent += 1
        process.kill()
        process.communicate(timeout=60)
        journalled = {label.unit_name: label.label for label in LabelJournal(Path("labels.jsonl")).labels()}
        for unit, label in saved.items():
            assert journalled[unit] == label
        for unit, label in journalled.items():
            saved[unit] = label  # the last one may be saved and not have been said to be
    assert set(saved) == set(units)
    done = ok(
        *("gold", "import", "fect", "gold.jsonl", "labels.jsonl"),
        *("--merge", "reviewed", "--output", "labelled.jsonl", "--json"),
    )
    assert done.code == 0, done.err
    labels = [row["factual"] for row in read_jsonl(Path("labelled.jsonl"))]
    assert labels == [saved[unit] for unit in units]


def wait_until_it_answers(client: httpx.Client, process: Forked) -> None:
    """Ask for the page until it is there."""
    for _ in range(600):
        assert process.poll() is None, process.said
        try:
            client.get("/")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(process.said)


@pytest.mark.slow
def test_processes_that_save_into_one_store_at_once_lose_no_version(tmp_path: Path) -> None:
    write_jsonl(Path("gold.jsonl"), claims())
    argv = ("compile", "fect", "--gold", "gold.jsonl", *FAST, "--anyway", "--store", "shared")
    processes = [start(*argv, "--seed", seed, cwd=tmp_path) for seed in range(4)]
    for process in processes:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    store = Store(Path("shared"))
    assert sorted(artifact.version for artifact in store.list()) == [1, 2, 3, 4]
    assert store.verify() == []


@pytest.mark.parametrize(
    ("argv", "place"),
    [
        (("compile", "fect", "--gold", "gold.jsonl", *FAST, "--anyway", "--store", "taken"), "taken"),
        (("run", "fect:basic", "--input", "gold.jsonl", "--output", "taken/o.jsonl"), "taken"),
        (("report", "verdicts.jsonl", "--output", "taken/r.html"), "taken"),
        (("gold", "import", "fect", "gold.jsonl", "--output", "taken/g.jsonl"), "taken"),
        (("gold", "split", "fect", "gold.jsonl", "--output", "taken/parts"), "taken"),
        (("evaluate", "fect:basic", "--gold", "gold.jsonl", "--output", "taken/e.json"), "taken"),
    ],
    ids=["store", "output", "report", "import", "split", "evaluate"],
)
def test_a_place_that_takes_no_files_is_one_line_and_nothing_is_lost(
    argv: tuple[object, ...], place: str
) -> None:
    write_jsonl(Path("gold.jsonl"), claims())
    ok("run", "fect:basic", "--input", "gold.jsonl", "--output", "verdicts.jsonl")
    Path(place).write_text("a file", encoding="utf-8")  # no user may write below it, root included
    before = Path("gold.jsonl").read_bytes()
    done = cli(*argv)
    assert done.code in (1, 2)
    errors = [line for line in done.lines if line.startswith("error: ")]
    assert (len(errors), place in errors[0]) == (1, True), done.err
    assert "Traceback" not in done.err
    assert (Path("gold.jsonl").read_bytes(), Path(place).read_text()) == (before, "a file")


def test_a_checkpoint_that_takes_no_files_ends_before_anything_is_paid(
    serve: Callable[..., Any], fake_key: str
) -> None:
    server = serve(answer)
    write_jsonl(Path("gold.jsonl"), claims())
    Path("store").mkdir()
    Path("store", ".checkpoints").write_text("a file", encoding="utf-8")
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes", "--store", "store")
    for argv in (
        ("compile", "fect", "--gold", "gold.jsonl", *FAST, *ends),
        ("evaluate", "fect:basic", "--gold", "gold.jsonl", *ends),
    ):
        done = cli(*argv)
        errors = [line for line in done.lines if line.startswith("error: ")]
        assert (done.code, len(errors), server.count) == (1, 1, 0), done.err
        assert ".checkpoints" in errors[0]


@pytest.mark.slow
def test_one_job_that_two_processes_begin_is_paid_once(
    serve: Callable[..., Any], tmp_path: Path, fake_key: str
) -> None:
    server = serve(answer, delay=0.05)
    write_jsonl(Path("gold.jsonl"), claims(groups=20))
    ends = ("--model", "openai/x", "--api-base", server.url, "--yes", "--concurrency", IN_FLIGHT)
    argv = ("evaluate", "fect:basic", "--gold", "gold.jsonl", *ends)
    processes = [start(*argv, cwd=tmp_path) for _ in range(2)]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in processes]
    assert sorted(code for _, code in ended) == [0, 1], ended
    (refusal,) = [err for err, code in ended if code == 1]
    assert [line for line in refusal.splitlines() if line.startswith("error: ")], refusal
    assert server.count == 60
