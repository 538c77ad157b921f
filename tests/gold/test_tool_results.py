"""Results of evaluation tools are gold: people's labels under their own names, those of machines set apart."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small import cli, ok

from jurist.gold.sources import read

FILES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "inspect": (
        """{"eval": {}, "samples": [{
            "input": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}],
            "target": "yes", "output": {"completion": "c"}, "metadata": {"claim": "x"},
            "scores": {
                "graded": {"value": "C", "history": []},
                "ours": {"value": "I", "history": [{"value": "C"}, {"provenance": {"author": "ann", "reason": "why"}}]},
                "lost": {"value": NaN}}}]}""",
        [
            {"input": "user: q\nassistant: a", "output": "c", "expected": "yes"}
            | {"claim": "x", "machine:graded": "C", "ours": "I", "reason:ours": "why"}
        ],
    ),
    "promptfoo": (
        """{"evalId": "e", "results": {"results": [
            {"vars": {"claim": "x"}, "response": {"output": "o"}, "success": false},
            {"vars": {"claim": "y"}, "success": true, "gradingResult": {"comment": "why", "componentResults": [
                {"pass": false, "assertion": {"type": "equals"}},
                {"pass": true, "assertion": {"type": "human"}}]}}]}}""",
        [
            {"output": "o", "claim": "x", "machine:pass": False},
            {"claim": "y", "human": True, "reason:human": "why"},
        ],
    ),
    "deepeval": (
        """{"testCases": [{
            "input": "q", "actualOutput": "a", "expectedOutput": "e", "context": ["c"],
            "metadata": {"label": "yes"}, "metricsData": [{"name": "M", "score": 0.5}, {"name": "N"}]}],
            "metricsScores": []}""",
        [{"input": "q", "output": "a", "expected": "e", "context": ["c"], "label": "yes", "machine:M": 0.5}],
    ),
    "phoenix": (
        """[{"claim": "x",
            "a_score": {"name": "a", "label": "yes", "score": 1.0, "kind": "human", "explanation": "why"},
            "b_score": {"name": "b", "score": 3, "kind": "llm", "explanation": "no"},
            "b_execution_details": {"status": "COMPLETED"}}]""",
        [{"claim": "x", "a": "yes", "machine:b": 3, "reason:a": "why"}],
    ),
    "langfuse": (
        """{"data": [{
            "input": {"claim": "x"}, "output": "o", "sessionId": "s", "metadata": {"m": 1}, "scores": [
                {"name": "label", "value": 1, "stringValue": "yes", "source": "ANNOTATION", "comment": "why"},
                {"name": "label", "value": 0, "stringValue": "no", "source": "EVAL"}]}]}""",
        [
            {"output": "o", "group": "s", "m": 1, "claim": "x", "machine:label": "no", "label": "yes"}
            | {"reason:label": "why"}
        ],
    ),
}


@pytest.mark.parametrize("tool", sorted(FILES))
def test_rows_of_a_tool_tell_people_from_machines(tool: str, tmp_path: Path) -> None:
    given, wanted = FILES[tool]
    (tmp_path / "results.json").write_text(json.dumps(json.loads(given), indent=1), "utf-8")
    assert [row for _, row in read(tmp_path / "results.json").rows] == wanted


@pytest.mark.parametrize(
    "row", [{"samples": [], "claim": "x"}, {"a_score": 1}, {"scores": [1]}, {"results": []}]
)
def test_other_rows_are_left_as_they_are(row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    assert read(tmp_path / "rows.jsonl").rows == [(1, row)]


def test_results_are_gold_under_the_judges_names(tmp_path: Path) -> None:
    samples = [
        {
            "target": "C" if place % 2 else "I",
            "metadata": {"conversation": f"Agent: {place}", "claim": f"claim {place}", "group": f"g{place}"},
        }
        for place in range(12)
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"eval": {}, "samples": samples}, indent=1), "utf-8")
    names = ("--column", "expected=factual", "--map", "C=factual", "--map", "I=non_factual")
    ok("gold", "import", "fect", str(file), *names, "--output", str(tmp_path / "gold.jsonl"))
    found = cli("evaluate", "fect:basic", "--gold", str(file), *names, "--json")
    assert (found.code, found.json["cases"]) == (0, 12)


def made_by_inspect(folder: Path) -> Path:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import ScoreEdit, includes

    def answer(*_: Any) -> ModelOutput:
        said = ModelOutput.from_content("mock", "an answer")
        said.usage = ModelUsage()
        return said

    samples = [Sample(id=n, input="q", target="answer", metadata={"claim": f"c{n}"}) for n in (1, 2)]
    task, model = (
        Task(MemoryDataset(samples), scorer=includes()),
        get_model("mockllm/model", custom_outputs=answer),
    )
    (done,) = eval(task, model, log_dir=str(folder), log_format="json", display="none")
    log = read_eval_log(done.location)
    assert log.samples is not None
    edit_score(log, 2, "includes", ScoreEdit(value="I", provenance=ProvenanceData(author="ann")))
    write_eval_log(log, done.location)
    return Path(done.location)


def made_by_deepeval(folder: Path) -> Path:
    from deepeval import evaluate
    from deepeval.metrics import ExactMatchMetric
    from deepeval.test_case import LLMTestCase

    cases = [LLMTestCase(input="q", actual_output="a", expected_output="a", metadata={"claim": "c1"})]
    evaluate(cases, [ExactMatchMetric()])
    return next(folder.glob("*.json"))


def made_by_phoenix(folder: Path) -> Path:
    import pandas as pd
    from phoenix.evals import Score, create_evaluator, evaluate_dataframe

    @create_evaluator(name="people", kind="human")
    def people(claim: str) -> Score:
        return Score(label="yes")

    done = evaluate_dataframe(pd.DataFrame([{"claim": "c1"}, {"claim": "c2"}]), [people])
    done.to_json(folder / "results.jsonl", orient="records", lines=True)
    return folder / "results.jsonl"


def by_langfuse(folder: Path, kind: str, item: dict[str, Any], meta: dict[str, int]) -> Path:
    """Write what the API answers, as the models of Langfuse's client take and give it."""
    from langfuse import api
    from langfuse.api.core.pydantic_utilities import parse_obj_as

    made = parse_obj_as(getattr(api, kind), {"data": [item], "meta": meta})
    (folder / "items.json").write_text(made.json(), "utf-8")
    return folder / "items.json"


NOW = "2026-01-01T00:00:00Z"


def made_by_an_experiment(folder: Path) -> Path:
    about = {
        "projectId": "p",
        "environment": "e",
        **dict.fromkeys(("timestamp", "createdAt", "updatedAt"), NOW),
    }
    item = {
        **dict.fromkeys(("id", "traceId", "experimentId", "experimentName", "experimentItemId"), "x"),
        **{"level": "DEFAULT", "environment": "e", "startTime": NOW, "input": {"claim": "c1"}},
        **{"expectedOutput": "e", "experimentItemMetadata": {"page": 1}},
        "scores": [
            {
                "id": "a",
                "name": "label",
                "dataType": "CATEGORICAL",
                "value": "yes",
                "source": "ANNOTATION",
                **about,
            },
            {"id": "b", "name": "safe", "dataType": "BOOLEAN", "value": False, "source": "EVAL", **about},
        ],
    }
    return by_langfuse(folder, "ExperimentItemsResponse", item, {})


def made_of_a_dataset(folder: Path) -> Path:
    item = {
        **dict.fromkeys(("id", "datasetId", "datasetName"), "x"),
        **{"createdAt": NOW, "updatedAt": NOW, "status": "ACTIVE", "metadata": None, "mediaReferences": []},
        **{"input": {"claim": "c1"}, "expectedOutput": "yes"},
    }
    meta = {"page": 1, "limit": 50, "totalItems": 1, "totalPages": 1}
    return by_langfuse(folder, "PaginatedDatasetItems", item, meta)


MADE = {
    "langfuse": (made_by_an_experiment, {"claim", "label", "machine:safe", "expected", "page"}),
    "langfuse, a dataset": (made_of_a_dataset, {"claim", "expected"}),
    "inspect": (made_by_inspect, {"claim", "machine:includes", "expected", "includes"}),
    "deepeval": (made_by_deepeval, {"claim", "machine:Exact Match", "expected", "output"}),
    "phoenix": (made_by_phoenix, {"claim", "people"}),
}


@pytest.mark.targets
@pytest.mark.parametrize("tool", sorted(MADE))
def test_what_the_tool_itself_writes_is_read(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", str(tmp_path))
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    make, names = MADE[tool]
    rows = [row for _, row in read(make(tmp_path)).rows]
    assert rows[0]["claim"] == "c1"
    assert names <= {name for row in rows for name in row}


@pytest.mark.promptfoo
def test_what_promptfoo_itself_writes_is_read(tmp_path: Path) -> None:
    config = {
        "prompts": ["{{claim}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"claim": "c1", "label": "yes"}, "assert": [{"type": "contains", "value": "c"}]}],
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    command = [
        "promptfoo",
        "eval",
        "-c",
        "config.json",
        "--no-table",
        "--no-write",
        "--output",
        "results.json",
    ]
    quiet = {
        "PROMPTFOO_CONFIG_DIR": str(tmp_path),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
    }
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **quiet}, check=True, capture_output=True)
    rows = [row for _, row in read(tmp_path / "results.json").rows]
    assert rows == [{"output": "c1", "claim": "c1", "label": "yes", "machine:pass": True}]
