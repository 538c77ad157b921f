"""A judge with a real decision model: compiled, proven, run, killed, and refused where it cannot answer."""

import asyncio
import csv
import json
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from deciders import Forwarder, serving_sparrow
from forked import Forked
from pages import ROOT, blocks
from small import Done, cli, ok

import jurist
from jurist.keeping.artifacts import Store
from jurist.runs.serving import Serving, application

PAGE = ROOT / "docs" / "decision-models.md"
JUDGE = f"{ROOT}/docs/device_review.py:judge"
ROWS = 40


@pytest.fixture(scope="module")
def sparrow() -> Iterator[str]:
    with serving_sparrow() as address:
        yield address


@pytest.fixture(scope="module")
def folder(sparrow: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder in which the commands of the page were run: a compiled version of the judge, and rows to judge."""
    folder = tmp_path_factory.mktemp("decided")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        Path("docs").symlink_to(ROOT / "docs")
        lines = []
        with Path("new.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, ("review",))
            table.writeheader()
            for number in range(ROWS):
                row = {"review": f"It ran for {number} days and then broke."}
                table.writerow(row)
                lines.append(json.dumps(row))
        Path("rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
        for block in blocks(PAGE):
            for command in block.commands if block.language == "sh" else ():
                if command.startswith("jurist "):
                    argv = shlex.split(command.replace("http://localhost:8000", sparrow))[1:]
                    done = cli(*argv)
                    assert done.code == 0, (command, done.err)
        yield folder


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))


def asked(address: str, name: str = "systemone/sparrow") -> tuple[str, ...]:
    return "--model", name, "--api-base", address


@pytest.mark.slow
def test_a_compilation_names_its_model_and_shows_it_no_row(folder: Path) -> None:
    artifact = Store(folder / "compiled").load("device-review@1")
    assert artifact.about.model.name == "systemone/sparrow"
    assert all(not prompt.demos for prompt in artifact.state.predictors.values())


@pytest.mark.slow
def test_the_page_says_what_its_first_command_prints(folder: Path, sparrow: str) -> None:
    done = ok("evaluate", f"{JUDGE}:basic", "--gold", "device-reviews", *asked(sparrow), "--json")
    score = done.json["scores"]["balanced_accuracy"]
    said = f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]".replace("0.", ".")
    assert said in PAGE.read_text(encoding="utf-8")


ANSWERED = {
    "run": ("run", "device-review@1", "--input", "rows.jsonl", "--output", "ran.jsonl"),
    "evaluate": ("evaluate", "device-review@1", "--gold", "device-reviews"),
    "compare": ("compare", "device-review@1", "device-review:basic", "--gold", "device-reviews"),
    "gate": ("gate", "device-review@1", "--gold", "device-reviews", "--min", "balanced_accuracy=0.5"),
    "cascade": ("cascade", "device-review:basic", "--gold", "device-reviews", "--agree", "0.4"),
    "report": ("report", "device-review@1", "-o", "report.html"),
    "a file of Python": ("export", "device-review@1", "--to", "python", "-o", "judge.py"),
    "a description": ("export", "device-review:basic", "--to", "markdown"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ANSWERED)
def test_what_a_version_does_with_a_decision_model(folder: Path, sparrow: str, command: str) -> None:
    address = () if ANSWERED[command][0] in ("report", "export") else asked(sparrow)
    done = cli(*ANSWERED[command], *address)
    assert done.code == 0, done.err


@pytest.mark.slow
def test_a_served_version_answers_by_the_decision_model(folder: Path, sparrow: str) -> None:
    loaded = jurist.load("device-review@1", model=jurist.Model("systemone/sparrow", api_base=sparrow))
    row = json.loads(Path("rows.jsonl").read_text(encoding="utf-8").splitlines()[0])

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(app=application(Serving(loaded=loaded)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/judge", json=row)

    answer = asyncio.run(post())
    assert answer.status_code == 200, answer.text
    assert answer.json()["label"] == loaded(**row).values[0]


REFUSED = {
    "another target": (
        ("export", "device-review@1", "--to", "autoevals", "-o", "scorer.py"),
        "asks a decision model",
    ),
    "batch": (
        ("batch", "submit", "device-review@1", "--input", "rows.jsonl", "-o", "b.jsonl"),
        "no Batch API takes",
    ),
    "samples": (
        ("run", "device-review:basic", "--input", "rows.jsonl", "-o", "s.jsonl", "--samples", "3"),
        "same probabilities",
    ),
    "proposer": (
        ("compile", JUDGE, "--gold", "device-reviews", "--prompt-model", "systemone/sparrow", "--yes"),
        "writes no prompts",
    ),
    "demonstrations": (
        ("compile", JUDGE, "--gold", "device-reviews", "--optimizer", "fewshot", "--yes"),
        "shown no demonstrations",
    ),
    "questions": (
        ("compile", JUDGE, "--gold", "device-reviews", "--optimizer", "questions", "--yes"),
        "a decision model writes no questions",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_a_decision_model_cannot_do_is_one_line(folder: Path, sparrow: str, case: str) -> None:
    command, words = REFUSED[case]
    with_model = () if command[0] == "export" else asked(sparrow)
    done = cli(*command, *with_model)
    errors = [line for line in done.lines if line.startswith("error:")]
    assert done.code in (1, 2)
    assert len(errors) == 1
    assert words in errors[0]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_asks_no_question_twice(folder: Path, sparrow: str) -> None:
    command = ("run", "device-review:basic", "--input", "rows.jsonl", "--output", "killed.jsonl")
    with Forwarder(sparrow, seconds=0.05) as server:
        options = (*asked(server.url), "--concurrency", "2")
        process = Forked(*command, *options, cwd=folder)
        while len(server.bodies) < ROWS // 3:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        time.sleep(0.2)
        done: Done = cli(*command, *options, "--resume")
        assert done.code == 0, done.err
        in_flight = 2
        assert len(server.bodies) <= ROWS + in_flight
    lines = Path("killed.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert sorted(row["row"] for row in rows) == list(range(1, ROWS + 1))
    assert all(row["status"] == "verdict" for row in rows)
