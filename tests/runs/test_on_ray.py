"""``jurist run --engine ray`` on two local workers: the output of one run, whatever becomes of workers and driver."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engines_and_inputs import ENGINES, INPUTS, NAMES, server_of, write_world
from loopback import truth_of
from small import TALK, cli, new_rows, ok, read_jsonl, start, write_jsonl

pytestmark = pytest.mark.ray
FECT = ("run", "fect:basic", "--input", "rows.jsonl", "--output")
RAY = ("--engine", "ray", "--workers", 2)
CONCURRENCY = 4


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Return a local Ray of two CPUs."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


def on(server: Any, *more: object) -> tuple[object, ...]:
    model = ("--model", "openai/x", "--api-base", server.url, "--yes", "--concurrency", CONCURRENCY)
    return (*FECT, "o.jsonl", *RAY, *model, *more)


def right(rows: list[dict[str, Any]]) -> bool:
    """Whether each row has one line, in their order, with its own verdict."""
    told = [(line["id"], line["label"] == "factual") for line in read_jsonl(Path("o.jsonl"))]
    return told == [(row["id"], truth_of(row["claim"])) for row in rows]


@pytest.mark.parametrize("output", ["o.jsonl", "o.csv"])
def test_the_output_and_the_counts_are_those_of_a_run_without_ray(ray: Any, output: str) -> None:
    text = "".join(json.dumps(row) + "\n" for row in [*new_rows(20), *new_rows(3)])
    Path("rows.jsonl").write_text("not JSON\n" + text, encoding="utf-8")
    here = cli(*FECT, f"here-{output}", "--json", "--samples", 3)
    there = cli(*FECT, output, *RAY, "--json", "--samples", 3)
    assert there.code == here.code == 0, there.err
    assert Path(output).read_bytes() == Path(f"here-{output}").read_bytes()
    assert Path("o.rejected.jsonl").read_bytes() == Path("here-o.rejected.jsonl").read_bytes()
    files = {"output": 0, "rejects": 0}
    assert there.json | files == here.json | files
    assert not [path for path in Path().iterdir() if path.name.startswith(".o")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", INPUTS)
def test_workers_judge_every_kind_of_input_with_every_kind_of_model(
    ray: Any, fake_key: str, kind: str, engine: str
) -> None:
    write_world(kind, 12)
    rows = ("run", f"judges.py:{kind}:basic", "--input", "new.jsonl", "--output")
    with server_of(engine) as server:
        model = ("--model", f"{NAMES[engine]}/old", "--api-base", server.url, "--yes")
        ok(*rows, "here.jsonl", *model)
        ok(*rows, "there.jsonl", *RAY, *model)
    assert len(read_jsonl(Path("there.jsonl"))) == 12
    assert Path("there.jsonl").read_bytes() == Path("here.jsonl").read_bytes()


def test_limits_hold_over_all_workers_and_resume_ends_it(ray: Any, serve: Callable[..., Any]) -> None:
    server, rows = serve(), new_rows(30)
    write_jsonl(Path("rows.jsonl"), rows)
    done = cli(*on(server, "--max-calls", 11))
    assert (done.code, server.count) == (1, 11)
    assert "19 rows are left, --resume judges them" in done.err
    assert len(read_jsonl(Path("o.jsonl"))) == 11
    for argv, said in (
        (on(server), "o.jsonl exists; add --resume"),
        ((*FECT, "o.jsonl", "--resume"), "go on as it was begun, with --engine ray"),
        ((*on(server, "--resume"), "--workers", 1), "this run was begun with 2 workers"),
    ):
        refused = cli(*argv)
        assert (refused.code in (1, 2), said in refused.err, server.count) == (True, True, 11), refused.err
    assert (cli(*on(server, "--resume")).code, server.count, right(rows)) == (0, 30, True)


def test_verdicts_on_rows_that_the_input_lacks_are_kept_and_come_back(ray: Any) -> None:
    def run(count: int, *options: object) -> Any:
        write_jsonl(Path("rows.jsonl"), new_rows(count))
        return cli(*FECT, "o.jsonl", *RAY, *options)

    assert run(8).code == 0
    whole = Path("o.jsonl").read_bytes()
    assert "earlier verdicts on rows that the input lacks: 5 (see o.left-out.jsonl)" in run(3, "--resume").out
    assert len(read_jsonl(Path("o.left-out.jsonl"))) == 5
    assert "8 rows (8 done before)" in run(8, "--resume").out
    assert Path("o.jsonl").read_bytes() == whole
    assert not Path("o.left-out.jsonl").exists()


def test_what_no_worker_can_do_is_said_before_anything_is_asked(ray: Any, serve: Callable[..., Any]) -> None:
    server = serve(faults=lambda index, body: "401")
    write_jsonl(Path("rows.jsonl"), [{"conversation": TALK}])
    for argv, code, said in (
        (on(server), 1, "field 'claim'"),
        (on(server, "--workers", 3), 2, "3 workers take a CPU each, and the cluster has 2"),
        (on(server, "--max-calls", 1), 2, "--max-calls 1 is less than one for each of 2 workers"),
        (on(server, "--input", "-"), 2, "workers cannot read -"),
    ):
        done = cli(*argv)
        assert (done.code, said in done.err, server.count) == (code, True, 0), done.err
    write_jsonl(Path("rows.jsonl"), new_rows(8))
    done = cli(*on(server, "--max-cost", 1))
    assert (done.code, "--max-cost cannot be kept" in done.err, server.count) == (2, True, 0), done.err
    done = cli(*on(server))
    assert (done.code, "Incorrect API key" in done.err) == (1, True), done.err
    assert sorted(path.name for path in Path().iterdir()) == ["rows.jsonl"]


def test_a_worker_that_dies_is_begun_anew(ray: Any, serve: Callable[..., Any]) -> None:
    rows, killed = new_rows(60), list[int]()

    def fault(index: int, body: dict[str, Any]) -> None:
        if index == 20:
            killed.append(worker())
            os.kill(killed[0], signal.SIGKILL)

    server = serve(faults=fault, delay=0.02)
    write_jsonl(Path("rows.jsonl"), rows)
    done = cli(*on(server))
    assert (done.code, len(killed), right(rows)) == (0, 1, True), done.err
    assert 60 <= server.count <= 60 + CONCURRENCY


def worker() -> int:
    """Return the process of a worker."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if b"ray::_judge" in path.read_bytes():
            return int(path.parent.name)
    raise AssertionError("there is no worker")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_is_stopped_or_killed_goes_on_without_paying_again(
    serve: Callable[..., Any], tmp_path: Path, number: signal.Signals
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
    server, rows = serve(delay=0.05), new_rows(120)
    write_jsonl(Path("rows.jsonl"), rows)
    process = start(*on(server), cwd=tmp_path)
    while server.count < 30 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    if number == signal.SIGINT:
        assert (process.returncode, "--resume judges them" in err) == (130, True), err
        assert server.in_flight == 0
    code = 1
    while code == 1:  # what a killed driver leaves of its cluster ends some seconds later
        process = start(*on(server, "--resume"), cwd=tmp_path)
        _, err = process.communicate(timeout=300)
        code = process.returncode
        assert code == 0 or "another process is" in err, err
    assert right(rows)
    assert 120 <= server.count <= 120 + (2 * CONCURRENCY if number == signal.SIGKILL else 0)
