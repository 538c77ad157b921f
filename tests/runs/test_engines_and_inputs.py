"""Each command with each kind of input and each kind of model: it does its work, or refuses it in one line."""

import asyncio
import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from batch_runs import collect, without_usage
from engines_and_inputs import COUNT, ENGINES, INPUTS, NAMES, label_of, server_of, write_world
from prepared import begin_with
from proving import filled
from small import cli, killed, ok, read_jsonl

import jurist
from jurist.runs.serving import Serving, application
from jurist.text.images import read_image

SEARCH = {
    "chat": ("--optimizer", "opro", "--set", "steps=1", "--set", "candidates=1"),
    "decision": ("--optimizer", "threshold"),
}
pytestmark = [
    pytest.mark.usefixtures("no_pause"),
    pytest.mark.parametrize("engine", ENGINES),
    pytest.mark.parametrize("kind", INPUTS),
]


@cache
def compilation(kind: str, engine: str) -> Callable[[], object]:
    """Return what compiles the judge of a kind of input on a kind of model."""

    def compile_judge() -> None:
        write_world(kind)
        with server_of(engine) as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", "x")
            model = ("--model", f"{NAMES[engine]}/old", "--api-base", server.url, "--yes")
            options = (*SEARCH[engine], "--max-calls", 900, "--no-words", *model)
            done = ok("compile", f"judges.py:{kind}", "--gold", "gold.jsonl", *options, "--json")
        assert done.json["decision"]["verdict"] == "better"

    return compile_judge


@pytest.fixture
def server(kind: str, engine: str, fake_key: str) -> Iterator[Any]:
    begin_with(compilation(kind, engine))
    with server_of(engine) as server:
        yield server


def asked(server: Any, engine: str, name: str = "old") -> tuple[str, ...]:
    return "--model", f"{NAMES[engine]}/{name}", "--api-base", server.url, "--yes"


def is_right(line: dict[str, Any]) -> bool:
    return bool(line["label"] == label_of(int(line["id"].removeprefix("r"))))


def test_a_batch_gives_the_lines_of_a_run(kind: str, engine: str, server: Any) -> None:
    judge, rows = f"{kind}-check@1", ("--input", "new.jsonl")
    model = asked(server, engine)[:-1]
    submitted = cli("batch", "submit", judge, *rows, "--output", "b.jsonl", "--no-probe", *model)
    if engine == "decision":
        assert submitted.code == 2
        assert submitted.lines == [
            "error: decisions/old is a decision model, and no Batch API takes its questions; use jurist run"
        ]
        return
    assert submitted.code == 0, submitted.err
    assert collect().code == 0
    ok("run", judge, *rows, "--output", "o.jsonl", *model)
    lines = read_jsonl(Path("b.jsonl"))
    assert all(map(is_right, lines))
    assert without_usage(lines) == without_usage(read_jsonl(Path("o.jsonl")))


def test_a_killed_run_goes_on_and_asks_nothing_twice(kind: str, engine: str, server: Any) -> None:
    run = ("run", f"{kind}-check@1", "--input", "new.jsonl", "--output", "o.jsonl", "--concurrency", 2)
    server.delay = 0.02
    killed(server, COUNT // 3, *run, *asked(server, engine), cwd=Path.cwd())
    server.delay = 0
    ok(*run, *asked(server, engine), "--resume")
    lines = read_jsonl(Path("o.jsonl"))
    assert [line["id"] for line in lines] == [f"r{number}" for number in range(COUNT, 2 * COUNT)]
    assert all(map(is_right, lines))
    in_flight_and_refused = 2 + 1  # the chat model may refuse a setting once
    assert COUNT <= server.count <= COUNT + in_flight_and_refused


def test_a_gate_and_a_cascade_score_it(kind: str, engine: str, server: Any) -> None:
    judge, model = f"{kind}-check@1", asked(server, engine)
    gate = ("gate", judge, "--gold", "gold.jsonl", *model[:-1])
    ok(*gate, "--min", "accuracy=0.95")
    assert cli("gate", f"{kind}-check:basic", *gate[2:], "--min", "accuracy=0.95").code == 3
    cascade = ("cascade", f"{kind}-check:basic", judge, "--gold", "gold.jsonl", "--agree", "0.5")
    ok(*cascade, *model)
    ok("run", f"{kind}-check@2", "--input", "new.jsonl", "--output", "o.jsonl", "--yes")
    assert len(read_jsonl(Path("o.jsonl"))) == COUNT


def test_a_served_judge_answers(kind: str, engine: str, server: Any) -> None:
    loaded = jurist.load(f"{kind}-check@1", model=jurist.Model(f"{NAMES[engine]}/old", api_base=server.url))
    order = read_jsonl(Path("new.jsonl"))[0]["order"]
    if kind == "image":
        order = read_image(order, Path.cwd()).address()

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(app=application(Serving(loaded=loaded)))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/judge", json={"order": order})

    answer = asyncio.run(post())
    assert (answer.status_code, answer.json().get("label")) == (200, label_of(COUNT)), answer.text


def test_a_file_of_python_judges_or_images_are_refused(kind: str, engine: str, server: Any) -> None:
    done = cli("export", f"{kind}-check@1", "--to", "python", "-o", "exported.py")
    if kind == "image":
        assert (done.code, len(done.lines)) == (2, 1)
        assert "an input that is not inserted as text" in done.err
        return
    assert done.code == 0, done.err
    assert "tokens of replies" not in done.err  # the probabilities of a decision model are its answer
    spec = importlib.util.spec_from_file_location("exported", "exported.py")
    assert spec
    assert spec.loader
    exported = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exported)
    for number, row in enumerate(read_jsonl(Path("new.jsonl"))[:5], start=COUNT):
        if engine == "decision":
            verdict = exported.judge(server.url, order=row["order"])
        else:
            client = openai.OpenAI(base_url=server.url, api_key="x")
            verdict = exported.judge(client, "old", order=row["order"])
        assert label_of(number) in str(verdict)


def test_a_page_says_how_the_model_is_asked(kind: str, engine: str, server: Any) -> None:
    ok("export", f"{kind}-check@1", "--to", "markdown", "-o", "page.md")
    page = Path("page.md").read_text(encoding="utf-8")
    if engine == "decision":
        assert "A decision model is asked this as a question" in page
        assert "The judge is positive from a probability of 0." in page
        assert "as it is sent" not in page
    elif kind == "image":
        assert "no page can show the whole prompt" in page
    else:
        assert "{{order}}" in page


def test_a_version_moves_to_another_model(kind: str, engine: str, server: Any) -> None:
    ok("artifacts", "tag", f"{kind}-check@1", "prod")
    move = ("move", f"{kind}-check@1", *asked(server, engine, "new"), "--margin", "0.3", "--json")
    card = ok(*move).json
    assert (card["moved"]["outcome"], card["parent"], card["tags"]) == ("as good", 1, ["prod"])
    ok(
        "run",
        f"{kind}-check@prod",
        "--input",
        "new.jsonl",
        "--output",
        "o.jsonl",
        *asked(server, engine, "new"),
    )
    assert all(map(is_right, read_jsonl(Path("o.jsonl"))))


def test_labels_prove_it_and_a_sheet_of_review_is_gold(kind: str, engine: str, server: Any) -> None:
    model = asked(server, engine)
    ok("prove", f"{kind}-check@1", "--rows", "new.jsonl", *model)
    ok("prove", f"{kind}-check@1", "--sheet", "sheet.csv")
    done = ok("prove", f"{kind}-check@1", "--answers", filled(Path("sheet.csv"), label_of_sheet), "--json")
    assert done.json["decision"]["verdict"] == "better"
    ok("review", f"{kind}-check@1", "new.jsonl", "-o", "labels.csv", "--top", 10)
    elsewhere = Path("elsewhere")
    elsewhere.mkdir()
    filled(Path("labels.csv"), label_of_sheet).rename("labels.csv")
    imported = ("gold", "import", f"{kind}-check", "labels.csv", "--merge", "unanimous")
    ok(*imported, "--output", elsewhere / "gold.jsonl")
    gold = jurist.Gold.load(elsewhere / "gold.jsonl", jurist.judge(f"judges.py:{kind}"))
    assert len(gold.cases) == 10
    assert all(case.labels for case in gold.cases)


def label_of_sheet(inputs: Any) -> str:
    order = inputs["order"]
    found = re.search(r"Order (\d+) of|(\d+)\.png", order)
    assert found, order
    return label_of(int(found[1] or found[2]))


def test_a_report_shows_it(kind: str, engine: str, server: Any) -> None:
    ok("report", f"{kind}-check@1", "--gold", "gold.jsonl", "--output", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert f"{kind}-check@1" in page
    shutil.rmtree("compiled/.checkpoints", ignore_errors=True)
    ok("artifacts", "verify")
