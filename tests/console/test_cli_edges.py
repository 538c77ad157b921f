"""Edges of the command line where paid work could be lost or paid twice, or a wrong name pass for an empty result."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judges import changed
from small import claims, cli, ok, read_jsonl, start, write_jsonl

from jurist.errors import begin_paid_work
from jurist.gold.goldset import Gold
from jurist.keeping.artifacts import Store
from jurist.programs.fect import FECT

ROWS = 24
BUSY = "another process is writing o.jsonl; wait until it has ended, or name another output file"


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("rows.jsonl"), claims(8))


def argv(server: Any, *more: object) -> tuple[object, ...]:
    return (
        *("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl"),
        *("--model", "openai/x", "--api-base", server.url, *more),
    )


def test_a_second_run_is_refused_until_the_first_has_ended(serve: Callable[..., Any], tmp_path: Path) -> None:
    server = serve(delay=0.2)
    first = start(*argv(server, "--concurrency", 1), cwd=tmp_path)
    while server.count < 2 and first.poll() is None:
        time.sleep(0.01)
    before = Path("o.jsonl").stat().st_ino
    for more in ((), ("--resume",)):
        other = serve()
        done = cli(*argv(other, *more))
        assert (done.code, done.lines, other.count) == (1, [f"error: {BUSY}"], 0)
    assert Path("o.jsonl").stat().st_ino == before
    first.kill()
    first.communicate(timeout=30)
    rest = serve()
    ok(*argv(rest, "--resume"))
    lines = read_jsonl(Path("o.jsonl"))
    assert len(lines) == len({line["id"] for line in lines}) == ROWS
    assert 0 < rest.count < ROWS
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "beside", [".o.jsonl.part", "o.rejected.jsonl", ".o.jsonl.jurist", ".o.jsonl.shards"]
)
def test_nothing_is_written_through_a_link_beside_it(beside: str) -> None:
    Path("elsewhere").touch()
    Path(beside).symlink_to("elsewhere")
    done = cli("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl")
    assert (done.code, Path("elsewhere").read_bytes()) == (2, b"")
    assert f"{beside} is a symbolic link" in done.err
    assert not Path("o.jsonl").exists()
    Path(".p.csv.part.csv").symlink_to("elsewhere")
    ok("run", "fect:basic", "--input", "rows.jsonl", "--output", "p.csv")
    assert (Path("elsewhere").read_bytes(), Path("p.csv").is_symlink()) == (b"", False)


def test_repeating_a_bad_run_does_not_make_it_good(serve: Callable[..., Any]) -> None:
    server = serve(faults=lambda index, body: "garbage")
    first = cli(*argv(server, "--adapter", "chat", "--json"))
    assert (first.code, first.json["abstained"], first.json["abstained_before"]) == (3, ROWS, 0)
    assert "asks the failed ones again" not in first.err  # none failed, so --resume would ask nothing
    sent = server.count
    again = cli(*argv(server, "--resume", "--adapter", "chat", "--json"))
    assert (again.code, again.json["abstained"], again.json["abstained_before"]) == (3, 0, ROWS)
    assert again.json["resumed"] == ROWS
    said = cli(*argv(server, "--resume")).out
    assert f"{ROWS} rows ({ROWS} done before, {ROWS} of them abstained (unreadable reply {ROWS}))" in said
    assert again.lines[-1] == ("100.0% of the rows have no usable verdict; 5.0% are allowed (--max-unusable)")
    assert server.count == sent
    ok(*argv(server, "--resume", "--max-unusable", 1))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_standard_output_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "jurist", "judges"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"error: standard output: No space left on device\n")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError("timed out"), "error: TimeoutError: timed out"),
        (TimeoutError(), "error: TimeoutError"),
        (
            FileNotFoundError(2, "No such file or directory", "lookup.json"),
            "error: lookup.json: No such file or directory",
        ),
        (BrokenPipeError(32, "Broken pipe"), "error: BrokenPipeError: Broken pipe"),
    ],
)
def test_an_error_of_the_system_is_not_blamed_on_standard_output(
    error: OSError, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(Gold, "load", fail)
    done = cli("evaluate", "fect:basic", "--gold", "fect-mini")
    assert (done.code, done.lines) == (1, [words])


HOST = """
import os, sys
from jurist.cli import main
from jurist.gold.goldset import Gold

def fail(*arguments, **settings):
    raise TimeoutError("timed out")

Gold.load = fail
code = main(sys.argv[1:])
is_kept = not os.path.samestat(os.fstat(1), os.stat(os.devnull))
sys.stderr.write(f"{code} {is_kept}")
os._exit(0)  # without the complaint of Python that standard output is gone
"""
"""A program that runs a command and goes on."""


@pytest.mark.parametrize("command", ["judges", "evaluate fect:basic --gold fect-mini"])
def test_a_program_that_runs_a_command_keeps_its_standard_output(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    arguments = [sys.executable, "-c", HOST, *command.split()]
    done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, check=True)
    os.close(writer)
    assert done.stderr.decode().splitlines()[-1] == "1 True"


def test_standard_output_is_in_utf_8_whatever_the_system_writes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "jurist", "export", "haluagent-zh:basic", "--to", "markdown"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert "问题" in done.stdout.decode("utf-8")


def test_a_problem_found_is_in_the_object_and_in_the_exit_code() -> None:
    Store("compiled").save(FECT, changed(FECT), {}, [], make_latest=True)
    card = Path("compiled/fect/1/card.json")
    card.write_bytes(card.read_bytes() + b" ")
    done = cli("artifacts", "verify", "--json")
    assert done.code == 1
    assert [problem["ref"] for problem in done.json["problems"]] == ["fect@1"]
    assert cli("artifacts", "list", "--json").json["artifacts"][0]["problem"]


def test_on_windows_a_command_ends_in_one_line_and_help_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    done = cli("judges")
    assert (done.code, done.out) == (1, "")
    assert done.lines == [
        "error: jurist locks files as POSIX systems do, and Windows does not; run it in WSL 2 or in a container"
    ]
    assert cli("judges", "--help").code == 0


EARLY = "stopped by Ctrl-C; no model was asked and nothing was paid; run the same command again"


@pytest.mark.parametrize(("has_begun", "words"), [(False, EARLY), (True, "stopped by Ctrl-C")])
def test_ctrl_c_says_what_was_asked(has_begun: bool, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **settings: object) -> None:
        if has_begun:
            begin_paid_work()
        raise KeyboardInterrupt

    monkeypatch.setattr(Gold, "load", interrupt)
    done = cli("evaluate", "fect:basic", "--gold", "fect-mini")
    assert (done.code, done.err.splitlines()[-1]) == (130, words)
