"""Judges that read traces: every command takes them as it takes texts."""

import asyncio
import csv
import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from small import cli, ok, read_jsonl, write_jsonl

import jurist
from jurist.programs.definition import read_definition, write_definition
from jurist.runs.serving import Serving, application
from jurist.text.trace_reading import read_steps

ROOT = Path(__file__).parents[2]
GOLD = read_jsonl(ROOT / "datasets" / "agent-traces" / "gold.jsonl")
STEP_JUDGE = '''
from typing import Literal
import dspy, jurist, pydantic

class StepLabel(pydantic.BaseModel):
    n: int
    label: Literal["fine", "wrong"]

class CheckSteps(dspy.Signature):
    """Say of each step of the trace whether the policy allows it."""
    policy: str = dspy.InputField()
    trace: jurist.Trace = dspy.InputField()
    labels: list[StepLabel] = dspy.OutputField()

judge = jurist.Judge(name="step-check", signature=CheckSteps, positive="wrong")
'''


@pytest.fixture(autouse=True)
def _folder_with_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "docs" / "agent_check.py", "agent_check.py")
    Path("step_check.py").write_text(STEP_JUDGE, "utf-8")


def conduct_judge() -> jurist.Judge:
    """Return the judge of the documentation."""
    return jurist.judge("agent_check.py:judge")


def module_of(path: str) -> ModuleType:
    """Import an exported file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of a row of the bundled set."""
    return {"policy": row["policy"], "trace": row["trace"]}


def test_bundled_traces_stand_in_ten_layouts_and_hold_words_and_tools() -> None:
    assert len({row["layout"] for row in GOLD}) == 10
    for row in GOLD:
        steps = read_steps(row["trace"])
        assert steps[0].actor == "user"
        assert steps[-1].words
    ok("gold", "check", "agent_check.py", "agent-traces")


def test_a_table_and_json_lines_give_the_same_verdicts() -> None:
    rows = [inputs_of(row) for row in GOLD[:10]]
    write_jsonl(Path("rows.jsonl"), rows)
    with Path("rows.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["policy", "trace"])
        table.writeheader()
        for row in rows:
            table.writerow({"policy": row["policy"], "trace": json.dumps(row["trace"])})
    for suffix in ("jsonl", "csv"):
        ok(
            "run",
            "agent_check.py:judge:basic",
            "--input",
            f"rows.{suffix}",
            "--output",
            f"out-{suffix}.jsonl",
        )
    from_lines, from_table = read_jsonl(Path("out-jsonl.jsonl")), read_jsonl(Path("out-csv.jsonl"))
    assert [row["case"] for row in from_lines] == [row["case"] for row in from_table]
    assert [row["label"] for row in from_lines] == [row["label"] for row in from_table]


def test_each_step_is_a_unit() -> None:
    write_jsonl(Path("rows.jsonl"), [inputs_of(row) for row in GOLD[:10]])
    ok("run", "step_check.py:judge:basic", "--input", "rows.jsonl", "--output", "out.jsonl")
    for row, line in zip(GOLD, read_jsonl(Path("out.jsonl")), strict=False):
        assert [unit["text"] for unit in line["units"]] == jurist.Trace.steps_of(row["trace"])


def test_labels_of_steps_are_gold() -> None:
    row = inputs_of(GOLD[0])
    step_count = len(read_steps(row["trace"]))
    labels = ["fine", None, *["wrong"] * (step_count - 2)]
    write_jsonl(Path("gold.jsonl"), [{**row, "labels": labels}])
    gold = jurist.Gold.load("gold.jsonl", jurist.judge("step_check.py:judge"))
    assert gold.cases[0].gold == tuple(labels)
    write_jsonl(Path("gold.jsonl"), [{**row, "labels": labels[1:]}])
    done = cli("gold", "check", "step_check.py:judge", "gold.jsonl")
    assert f"{step_count - 1} labels for {step_count} units" in done.out + done.err


@pytest.mark.parametrize("name", ["agent_check", "step_check"])
def test_an_exported_file_sends_what_the_judge_sends(name: str) -> None:
    judge = jurist.judge(f"{name}.py:judge")
    ok("export", f"{name}.py:judge:basic", "--to", "python", "--output", f"exported_{name}.py")
    exported = module_of(f"exported_{name}.py")
    for row in GOLD:
        shown = judge.prompt_values(judge.case(inputs_of(row)).inputs)["trace"]
        assert shown in exported.messages(**inputs_of(row))[-1]["content"]
        assert exported.messages(**inputs_of(row)) == exported.messages(
            policy=row["policy"], trace=json.dumps(row["trace"])
        )
    with pytest.raises(ValueError, match="the layout of the trace is not known"):
        exported.messages(policy="p", trace={"a": 1})


def post(app: Any, body: dict[str, Any]) -> httpx.Response:
    """Return what a served judge answers to a row."""

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1"
        ) as client:
            return await client.post("/judge", json=body)

    return asyncio.run(asked())


def test_a_served_judge_takes_a_trace_as_it_is() -> None:
    app = application(Serving(loaded=jurist.load("agent_check.py:judge:basic")))
    row = inputs_of(GOLD[4])
    answer = post(app, row)
    assert answer.status_code == 200
    as_text = post(app, {**row, "trace": jurist.Trace.text_of(row["trace"])})
    assert as_text.json()["case"] == answer.json()["case"]
    refused = post(app, {**row, "trace": {"a": 1}})
    assert refused.status_code == 422
    assert "the layout of the trace is not known" in refused.text


def test_a_version_needs_no_file() -> None:
    judge = conduct_judge()
    definition = write_definition(judge)
    assert definition is not None
    copy = read_definition(json.loads(json.dumps(definition)))
    assert copy.case(GOLD[0]).inputs == judge.case(GOLD[0]).inputs


def test_a_new_judge_finds_traces() -> None:
    write_jsonl(Path("gold.jsonl"), GOLD)
    Path("prompt.md").write_text("Accept or reject?\n{{policy}}\n{{trace}}\n", "utf-8")
    ok("new", "conduct", "--from", "prompt.md", "--gold", "gold.jsonl", "--column", "verdict=label")
    source = Path("conduct.py").read_text("utf-8")
    assert "policy: str = " in source
    assert "trace: jurist.Trace = " in source
    ok("evaluate", "conduct.py:judge:basic", "--gold", "gold.jsonl")


def test_a_row_without_a_layout_is_one_line() -> None:
    write_jsonl(Path("gold.jsonl"), [*GOLD, {**GOLD[0], "trace": {"a": 1}}])
    done = cli("evaluate", "agent_check.py:judge:basic", "--gold", "gold.jsonl")
    assert done.code == 1
    assert f"gold.jsonl:{len(GOLD) + 1}" in done.err
    assert "the layout of the trace is not known" in done.err
    assert "Traceback" not in done.err
