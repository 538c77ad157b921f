"""The life of paid work: signals, what is kept, exit codes, and one budget over all that it takes to end."""

import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes import Scripted, lm_of, reply
from small import claims, cli, ended, killed, ok, reached, read_jsonl, start, write_jsonl

from jurist.engines.meter import Budget, Meter
from jurist.engines.models import Model, connect
from jurist.errors import Interrupted, JuristError, StoppedError
from jurist.keeping.paying import PaidJob, SignalStop, Start, paying
from jurist.programs.asking import Asker
from jurist.programs.fect import FECT
from jurist.programs.settings import AskSettings

ROWS, IN_FLIGHT = 40, 4
CASES = [FECT.case({"conversation": "Agent: hello", "claim": f"claim {n}"}) for n in range(ROWS)]
YES = reply("chat", factual=True)
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "SIGHUP"}


@pytest.fixture(autouse=True)
def _folder(no_waiting: None) -> None:
    write_jsonl(Path("rows.jsonl"), claims(10, 4))


class Asking:
    """Work of two roles: the rows, asked by both."""

    roles = ("first", "second")

    def __init__(self, calls: int | None = None) -> None:
        self.budget = Budget(calls=calls)

    def fingerprint(self) -> dict[str, Any]:
        return {"asking": "rows"}


def ask(job: PaidJob, engine: Scripted, role: str = "first", on_stop: Callable[[], str] = lambda: "") -> None:
    job.on_stop = on_stop
    lm = lm_of(engine, job.contexts[role])
    Asker(judge=FECT, program=FECT.basic(), lm=lm, settings=AskSettings(concurrency=IN_FLIGHT)).ask_all(CASES)


def argv(command: str, server: Any, *more: object) -> tuple[object, ...]:
    named = ("--model", "openai/x", "--api-base", server.url, "--concurrency", IN_FLIGHT)
    what = {
        "run": ("run", "fect:basic", "--input", "rows.jsonl", "--output", "o.jsonl"),
        "compare": ("compare", "fect:basic", "--gold", "rows.jsonl", "--repeats", 2, "--temperature", 0),
    }
    return (*what[command], *named, *more)


# signals


@pytest.mark.parametrize(
    ("command", "end"),
    [("run", signal.SIGINT), ("compare", signal.SIGTERM), ("run", signal.SIGHUP)],
    ids=lambda value: NAMES.get(value, value),
)
def test_a_signal_lets_what_is_in_flight_arrive_and_nothing_else_begin(
    command: str, end: signal.Signals, serve: Callable[..., Any], tmp_path: Path
) -> None:
    server = serve(delay=0.2)
    code, err = ended(server, 10, *argv(command, server), cwd=tmp_path, by=end)
    assert code == CODES[end], err
    assert "Traceback" not in err
    assert f"stopped by {NAMES[end]}; " in err.splitlines()[-1]
    assert "--resume" in err.splitlines()[-1]
    assert server.count < ROWS
    server.delay = 0.0
    ok(*argv(command, server, "--resume"))
    assert server.count == (ROWS if command == "run" else 2 * ROWS)


def test_a_second_signal_ends_at_once(serve: Callable[..., Any], tmp_path: Path) -> None:
    server = serve(faults=lambda index, body: "hang" if index >= 6 else None)
    process = start(*argv("run", server), cwd=tmp_path)
    reached(server, process, 6 + IN_FLIGHT)
    process.send_signal(signal.SIGTERM)
    while "in flight may arrive within" not in process.said[1]:
        assert process.poll() is None
        time.sleep(0.01)
    assert f"SIGTERM: no further call is sent; {IN_FLIGHT} in flight" in process.said[1]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert server.in_flight == IN_FLIGHT, "it did not wait for what hangs"
    assert process.returncode == CODES[signal.SIGTERM], err  # the first says why it was stopped
    assert err.splitlines()[-1].startswith("stopped by SIGTERM; 6 paid answers are kept in ")


def test_an_ignored_signal_stays_ignored(serve: Callable[..., Any], tmp_path: Path) -> None:
    server = serve(delay=0.02)
    process = start(*argv("run", server), cwd=tmp_path, ignoring=signal.SIGINT)
    reached(server, process, 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, server.count) == (0, ROWS), err


def test_handlers_are_those_of_before_again() -> None:
    before = [signal.getsignal(number) for number in CODES]
    with SignalStop(Meter()):
        assert [signal.getsignal(number) for number in CODES] != before
    assert [signal.getsignal(number) for number in CODES] == before


def test_what_never_arrives_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jurist.keeping.paying.GRACE", 0.05)
    meter = Meter()
    meter.reserve()
    with SignalStop(meter) as stop:
        signal.raise_signal(signal.SIGTERM)  # something is in flight: nothing is raised
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
    assert (stop.signal, meter.signal) == (signal.SIGTERM, signal.SIGTERM)


def test_with_nothing_in_flight_it_ends_at_once() -> None:
    with SignalStop(Meter()), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


# what is kept


def test_what_ended_well_leaves_nothing(tmp_path: Path) -> None:
    with paying(Asking(), Start(root=tmp_path / "new" / "jobs")) as job:
        ask(job, Scripted(lambda request: YES))
    assert not (tmp_path / "new").exists()
    assert job.spend()["calls"] == job.ledger.spend().calls == ROWS


def test_unfinished_work_stays_and_is_answered_from_its_journals(tmp_path: Path) -> None:
    with paying(Asking(), Start(root=tmp_path)) as job:
        for role in job.contexts:
            ask(job, Scripted(lambda request: YES), role)
        job.unfinished = True
    seen: list[Any] = []
    with paying(Asking(), Start(root=tmp_path, resume=True, on_open=seen.append)) as job:
        ask(job, Scripted([]), "second")
    assert [paid.by_role for paid in seen] == [{"first": ROWS, "second": ROWS}]
    assert job.spend()["lost"] == ROWS  # what the first was paid was of no use this time
    assert not list(tmp_path.glob("*/journal*"))


@pytest.mark.parametrize("calls", [1, 7])
def test_a_limit_holds_over_all_starts_and_says_how_to_go_on(tmp_path: Path, calls: int) -> None:
    engine = Scripted(lambda request: YES)
    for start_ in (Start(root=tmp_path), *[Start(root=tmp_path, resume=True)] * 2):
        with (
            pytest.raises(
                StoppedError,
                match=rf"^the budget of {calls} calls is spent; best so far: x; {calls} paid answers are kept in .*; "
                "raise the limit and make the same call again",
            ) as ended,
            paying(Asking(calls), start_) as job,
        ):
            ask(job, engine, on_stop=lambda: "best so far: x")
        assert ended.value.exit_code == 1
    assert len(engine.requests) == calls


def test_without_a_place_nothing_is_kept(tmp_path: Path) -> None:
    ending = "; no model was asked, nothing was paid and nothing is kept; raise the limit and make the same call again"
    with pytest.raises(StoppedError, match=ending), paying(Asking(2), Start()) as job:
        ask(job, Scripted(lambda request: YES))
    assert not list(tmp_path.glob("**/journal*"))


def test_what_was_refused_leaves_nothing_and_forgets_nothing(tmp_path: Path) -> None:
    def refuse(paid: Any) -> None:
        raise JuristError(str(paid))

    new = tmp_path / "jobs"
    for root, fresh in ((new, False), (tmp_path, True)):
        if fresh:
            with pytest.raises(StoppedError), paying(Asking(3), Start(root=root)) as job:
                ask(job, Scripted(lambda request: YES))
        with (
            pytest.raises(JuristError, match="'first': 0, 'second': 0"),
            paying(Asking(), Start(root=root, fresh=fresh, on_open=refuse)),
        ):
            raise AssertionError("nothing is begun")
    assert not new.exists()
    with paying(Asking(), Start(root=tmp_path, resume=True)) as job:
        assert job.paid.by_role == {"first": 3, "second": 0}


# a run


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "run fect:basic --input rows.jsonl --output o.jsonl --samples 5 --stopping all",
        "compare fect:basic fect-3d:basic --gold rows.jsonl --repeats 2",
        "generate dialogue --input docs.jsonl --output d.jsonl --turns 3",
    ],
)
def test_five_kills_and_not_one_call_more(words: str, serve: Callable[..., Any], tmp_path: Path) -> None:
    limit = 120
    server = serve(delay=0.02)
    write_jsonl(
        Path("docs.jsonl"),
        [{"id": f"d{n}", "text": f"The mill {n} was built in {1800 + n}."} for n in range(60)],
    )
    named = ("--model", "openai/x", "--api-base", server.url, "--concurrency", 8, "--max-calls", limit)
    argv = (*words.split(), *named)
    for number in range(5):
        killed(server, 10, *argv, *(["--resume"] if number else []), cwd=tmp_path)
    for _ in range(2):
        done = cli(*argv, "--resume")
        assert done.code == 1, done.err
        assert re.search(rf"the budget of {limit} calls is spent", done.err)
    assert 100 <= server.count <= limit
    assert not Path("o.jsonl").exists() or all(
        row["status"] == "verdict" for row in read_jsonl(Path("o.jsonl"))
    )


def test_one_endpoint_has_one_pace_for_all_roles(tmp_path: Path) -> None:
    with paying(Asking(), Start(root=tmp_path)) as job:
        one, two = (connect(Model(name="openai/x", rpm=60), context) for context in job.contexts.values())
    assert one.engine.pace is two.engine.pace


@pytest.mark.parametrize("number", CODES)
def test_no_loop_goes_on_after_a_signal(number: int) -> None:
    """``except Exception`` around a job lets it through, and the job within another job keeps its words."""

    def ask_in_loop() -> None:
        for _ in range(2):
            with suppress(Exception), paying(Asking(2), Start()):
                signal.raise_signal(number)
        raise AssertionError("the loop went on")

    with pytest.raises(Interrupted) as stopped, paying(Asking(2), Start()):
        ask_in_loop()
    assert (stopped.value.signal, stopped.value.exit_code) == (number, 128 + number)
    assert str(stopped.value).count("stopped by ") == 1


def test_a_signal_before_the_first_call_leaves_nothing(tmp_path: Path) -> None:
    ending = "^stopped by Ctrl-C; no model was asked, nothing was paid and nothing is kept; make the same call again$"
    with pytest.raises(Interrupted, match=ending), paying(Asking(2), Start(root=tmp_path / "kept")):
        signal.raise_signal(signal.SIGINT)
    assert not list(tmp_path.glob("**/journal*"))


@pytest.mark.parametrize(
    ("command", "more"),
    [("compare", ("--max-calls", 5)), ("run", ("--max-calls", 5)), ("compare", ())],
    ids=["an unfinished comparison", "an unfinished run", "the answers of a finished comparison"],
)
def test_git_leaves_out_what_is_kept_for_later(
    command: str, more: tuple[object, ...], serve: Callable[..., Any]
) -> None:
    def count_added() -> int:
        added = subprocess.run(["git", "add", "--dry-run", "."], capture_output=True, text=True, check=True)
        assert "checkpoints" not in added.stdout
        assert ".jurist" not in added.stdout
        return len(added.stdout.splitlines())

    subprocess.run(["git", "init", "-q"], check=True)
    before = count_added()
    cli(*argv(command, serve(lambda messages: "[[ ## factual ## ]]\nTrue"), *more))
    kept = [path for path in Path().rglob("*.sqlite") if ".git/" not in str(path)]
    assert kept
    assert count_added() - before == (command == "run")  # the output of the run
