"""Scorers in their frameworks: a label becomes a score, and a row without a usable reply is none."""

import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from unittest.mock import patch
from uuid import UUID

import dspy
import pytest
from loopback import Loopback
from parity import executed, nasty_cases, parity, rows_of
from prompts import subject

from jurist.errors import UsageError
from jurist.exports import EXPORTERS
from jurist.exports.portable_file import ScorerFile
from jurist.jobs.exporting import export_text, subject_of
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState

ROW = {"conversation": "Agent: Hello.", "claim": "They said hello."}
REPLIES = {
    "factual": "[[ ## factual ## ]]\nTrue\n\n[[ ## completed ## ]]",
    "non_factual": "[[ ## factual ## ]]\nFalse\n\n[[ ## completed ## ]]",
    "unusable": "I would rather not say.",
    "withheld": "",
}
WANTED = {"factual": 1.0, "non_factual": 0.0}


def client(reply: str) -> Any:
    """Return an OpenAI-compatible client that always answers the same."""
    choice = SimpleNamespace(message=SimpleNamespace(content=reply), finish_reason="stop")
    message = SimpleNamespace(choices=[choice])
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_: message)))


def in_autoevals(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    found = file["Judge"](client(reply), "m").eval(ROW["claim"], conversation=ROW["conversation"])
    return found.score, found.metadata


def in_opik(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    found = file["Judge"](client(reply), "m", track=False).score(**ROW)
    return None if found.scoring_failed else found.value, found.metadata


def in_phoenix(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    import pandas as pd
    from phoenix.evals import evaluate_dataframe

    frame = evaluate_dataframe(pd.DataFrame([ROW]), [file["judge"](client(reply), "m")])
    found = frame["fect_score"][0]
    return found.get("score"), found["metadata"]


def in_deepeval(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    case = LLMTestCase(input="", actual_output=ROW["claim"], metadata={"conversation": ROW["conversation"]})
    shown = DisplayConfig(show_indicator=False, print_results=False)
    judge = file["Judge"](client(reply), "m")
    done = evaluate([case], [judge], display_config=shown, async_config=AsyncConfig(run_async=False))
    (found,) = done.test_results[0].metrics_data
    assert (found.error is None, found.success) == (found.score is not None, found.score == 1)
    return found.score, judge.verdict


def in_pydantic_evals(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_evals import Case, Dataset

    model = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart(reply)]))
    cases = [Case(inputs={"conversation": ROW["conversation"]})]
    data: Any = Dataset(name="one", cases=cases, evaluators=[file["Judge"](model)])
    (found,) = data.evaluate_sync(lambda inputs: ROW["claim"], progress=False).cases
    assert bool(found.evaluator_failures) == (not found.scores)
    return (found.scores["fect"].value if found.scores else None), None


def in_inspect(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import TaskState

    def answer(*_: Any) -> ModelOutput:
        said = ModelOutput.from_content("mock", reply)
        said.choices = said.choices if reply else []  # as of what a provider has withheld
        said.usage = ModelUsage()
        return said

    grader = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    state: Any = TaskState(model="mock", sample_id=1, epoch=1, input="", messages=[], metadata=dict(ROW))
    found = asyncio.run(file["judge"](grader)(state, None))
    return None if math.isnan(found.value) else found.value, found.metadata


def in_mlflow(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    inputs = {"conversation": ROW["conversation"]}
    found = file["judge"](client(reply), "m").run(inputs=inputs, outputs=ROW["claim"])
    assert (found.value is None) == (found.error is not None)
    return found.value, None


def in_langsmith(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    from langsmith import schemas
    from langsmith.evaluation import run_evaluator

    number, begun = UUID(int=1), datetime.now(UTC)
    run = schemas.Run(
        id=number, name="row", inputs={}, outputs={}, start_time=begun, run_type="chain", trace_id=number
    )
    evaluator = run_evaluator(file["judge"](client(reply), "m"))
    found = evaluator.evaluate_run(run, schemas.Example(id=number, inputs=dict(ROW)))
    assert found.key == "fect"
    return found.score, None


def in_promptfoo(file: Mapping[str, Any], reply: str) -> tuple[float | None, Any]:
    with patch.dict(file["get_assert"].__globals__, {"OpenAI": lambda **_: client(reply)}):
        about = {"vars": {"conversation": ROW["conversation"]}, "config": {"model": "m"}}
        found = file["get_assert"](ROW["claim"], about)
    assert found["pass"] == (found["reason"] == "factual")
    return None if found["reason"] not in WANTED else found["score"], None


FRAMEWORKS: dict[str, Callable[[Mapping[str, Any], str], tuple[float | None, Any]]] = {
    "autoevals": in_autoevals,
    "opik": in_opik,
    "phoenix": in_phoenix,
    "deepeval": in_deepeval,
    "pydantic-evals": in_pydantic_evals,
    "inspect": in_inspect,
    "mlflow": in_mlflow,
    "langsmith": in_langsmith,
}


@pytest.mark.targets
@pytest.mark.parametrize("target", sorted(FRAMEWORKS))
def test_a_framework_scores_as_it_does(target: str, tmp_path: Path) -> None:
    given = subject(FECT, tmp_path / "store")
    file = executed(EXPORTERS[target].render(given))
    for said, reply in REPLIES.items():
        score, about = FRAMEWORKS[target](file, reply)
        assert score == WANTED.get(said)
        if about is not None:
            assert about["artifact"]["sha256"] == given.stamp["sha256"]
            assert about["votes"] == [{said: 3} if said in WANTED else {}]


def test_promptfoo_gets_a_score_and_a_reason_for_what_an_application_says(tmp_path: Path) -> None:
    file = executed(EXPORTERS["promptfoo"].render(subject(FECT, tmp_path / "store")))
    for said, reply in REPLIES.items():
        assert in_promptfoo(file, reply) == (WANTED.get(said), None)


@pytest.mark.promptfoo
def test_promptfoo_itself_runs_the_assertion(tmp_path: Path) -> None:
    state = PromptState.of(FECT.basic())
    (tmp_path / "judge.py").write_text(export_text(state, FECT, "promptfoo"), "utf-8")
    with Loopback(
        lambda messages: REPLIES["factual" if "hello" in messages[-1]["content"] else "non_factual"]
    ) as server:
        config = {"model": "m", "base_url": server.url}
        whole = {
            "prompts": ["{{claim}}"],
            "providers": ["echo"],
            "defaultTest": {"assert": [{"type": "python", "value": "file://judge.py", "config": config}]},
            "tests": [{"vars": {**ROW, "claim": claim}} for claim in ("They said hello.", "They left.")],
        }
        (tmp_path / "promptfooconfig.json").write_text(json.dumps(whole), "utf-8")
        env = {**os.environ, "PROMPTFOO_CONFIG_DIR": str(tmp_path), "PROMPTFOO_DISABLE_TELEMETRY": "1"}
        env |= {"PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_PYTHON": sys.executable, "OPENAI_API_KEY": "none"}
        command = ["promptfoo", "eval", "-c", "promptfooconfig.json", "--no-cache", "--output", "out.json"]
        subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    results = json.loads((tmp_path / "out.json").read_text("utf-8"))["results"]["results"]
    assert [(one["success"], one["score"]) for one in sorted(results, key=lambda one: one["testIdx"])] == [
        (True, 1),
        (False, 0),
    ]


class Answers(dspy.Signature):
    """Is the question answered?"""

    input: str = dspy.InputField()
    output: str = dspy.InputField()
    expected: str = dspy.InputField()
    verdict: Literal["yes", "no"] = dspy.OutputField()


@pytest.mark.targets
@pytest.mark.parametrize("target", sorted(FRAMEWORKS))
def test_inputs_may_have_the_names_that_frameworks_use(target: str) -> None:
    judge = Judge(name="answers", signature=Answers, positive=frozenset({"no"}), unit="output")
    given = subject_of(PromptState.of(judge.basic()), judge)
    assert parity(target, given, rows_of(given, nasty_cases(judge))) == []


@pytest.mark.parametrize(
    "target", [name for name, exporter in EXPORTERS.items() if isinstance(exporter, ScorerFile)]
)
@pytest.mark.parametrize("name", ["haluagent", "constraints"])
def test_what_is_no_number_is_refused(name: str, target: str) -> None:
    judge = find(name)
    with pytest.raises(UsageError, match="no one number"):
        export_text(PromptState.of(judge.basic()), judge, target)
