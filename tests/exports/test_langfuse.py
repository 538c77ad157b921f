"""The evaluator of Langfuse: what the public API takes, and what no evaluator of Langfuse can hold."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from prompts import subject

import jurist
from jurist.errors import UsageError
from jurist.exports import EXPORTERS
from jurist.jobs.exporting import export_text, subject_of
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.programs.state import PromptState


def judge_with(annotation: Any, **settings: Any) -> Judge:
    """Return a judge of two inputs whose answer has this type."""

    class Ask(dspy.Signature):
        """Judge the reply."""

        expected: str = dspy.InputField()
        reply: str = dspy.InputField()
        verdict: annotation = dspy.OutputField()

    return Judge(name="asked", signature=Ask, **settings)


def evaluator_of(judge: Judge) -> dict[str, Any]:
    """Return the evaluator of a judge's basic prompt."""
    return dict(json.loads(export_text(PromptState.of(judge.basic()), judge, "langfuse")))


KINDS: dict[str, tuple[Judge, dict[str, object]]] = {
    "yes or no": (judge_with(bool, positive="false"), {"dataType": "BOOLEAN"}),
    "labels": (
        judge_with(Literal["send", "hold"], positive="hold"),
        {"dataType": "CATEGORICAL", "categories": ["send", "hold"], "shouldAllowMultipleMatches": False},
    ),
    "levels": (judge_with(Literal[1, 2, 3]), {"dataType": "NUMERIC", "minValue": 1, "maxValue": 3}),
    "several labels": (
        judge_with(list[Literal["rude", "long"]]),
        {"dataType": "CATEGORICAL", "categories": ["rude", "long"], "shouldAllowMultipleMatches": True},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_of_the_judge_are_those_of_the_score(kind: str) -> None:
    judge, wanted = KINDS[kind]
    evaluator = evaluator_of(judge)
    definition = evaluator["outputDefinition"]
    assert (
        definition.pop("scoreValueInstructions")
        == "The value of the field verdict, as the prompt describes it."
    )
    assert definition == wanted
    assert evaluator["variableMapping"] == [
        {"variable": "expected", "source": "expected_output"},
        {"variable": "reply", "source": "output"},
    ]


def test_the_prompt_is_the_judges_and_names_its_proof(tmp_path: Path) -> None:
    program = FECT.basic()  # the demonstrations of the artifact hold variables of all kinds
    given = replace(subject(FECT, tmp_path / "store"), program=program, state=PromptState.of(program))
    evaluator = json.loads(EXPORTERS["langfuse"].render(given))
    messages = json.loads(EXPORTERS["messages"].render(given))["messages"]
    assert evaluator["prompt"] == messages
    assert given.card is not None
    assert given.card.sha256 is not None
    assert given.card.sha256 in evaluator["description"]
    assert (evaluator["name"], evaluator["type"]) == (f"jurist {given.ref}", "llm_as_judge")


@pytest.mark.parametrize("name", ["cognibench", "detector", "constraints"])
def test_what_no_score_of_langfuse_is_is_refused(name: str) -> None:
    with pytest.raises(
        UsageError, match="an evaluator of Langfuse gives one label, several labels, or a number"
    ):
        evaluator_of(find(name))


def test_another_variable_in_the_prompt_is_refused() -> None:
    judge = judge_with(Literal["send", "hold"], positive="hold")
    program = judge.basic()
    predictor = program.predictors()[0]
    predictor.demos = [dspy.Example(expected="Write {{ name }} there.", reply="x", verdict="hold")]
    given = replace(subject_of(PromptState.of(program), judge), program=program)
    with pytest.raises(UsageError, match=r"holds {{name}}, which Langfuse takes for a variable"):
        EXPORTERS["langfuse"].render(given)


@pytest.mark.targets
@pytest.mark.parametrize("kind", KINDS)
def test_langfuses_own_types_take_it_and_its_client_sends_it(kind: str) -> None:
    import httpx
    from langfuse.api.client import LangfuseAPI
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.evaluators import CreateEvaluatorRequest, CreateEvaluatorRequest_LlmAsJudge

    evaluator = evaluator_of(KINDS[kind][0])
    request = parse_obj_as(CreateEvaluatorRequest, evaluator)  # type: ignore[arg-type]
    assert isinstance(request, CreateEvaluatorRequest_LlmAsJudge)
    sent: list[httpx.Request] = []

    def take(message: httpx.Request) -> httpx.Response:
        sent.append(message)
        return httpx.Response(400, json={"message": "seen"})

    client = LangfuseAPI(
        base_url="http://langfuse.test",
        username="public",
        password="secret",
        httpx_client=httpx.Client(transport=httpx.MockTransport(take)),
    )
    with pytest.raises(Exception, match="seen"):
        client.evaluators.create(request=request)
    assert sent[0].url.path == "/api/public/v2/evaluators"
    assert json.loads(sent[0].content) == evaluator


def test_it_is_a_target_of_the_command() -> None:
    assert json.loads(jurist.export("fect:basic", "langfuse"))["type"] == "llm_as_judge"
