"""A judge as a scorer of a framework that asks its own models: Inspect, Pydantic Evals."""

import asyncio
from collections.abc import Mapping
from typing import Any

from .scorers import ScorerFile
from .target import Row, loader


class Inspect(ScorerFile):
    """A ``@scorer``; not a ``model_graded_qa``, which fills one user message and reads a grade by a pattern."""

    name, module, package = "inspect", "inspect_ai.scorer", "inspect-ai"
    limits = (*ScorerFile.limits, "models are asked through Inspect, without a schema of the reply")
    about = """Needs inspect-ai, and a model of Inspect.

    Task(dataset=samples, scorer=judge("openai/gpt-4.1-mini"))

A sample has $call in its metadata. Where no reply was usable, it is unscored."""
    imports = """from inspect_ai.model import (
    ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
)
from inspect_ai.scorer import Score, Scorer, Target, mean as mean_score, scorer, stderr
from inspect_ai.solver import TaskState"""
    code = '''_CHAT = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@scorer(metrics=[mean_score(), stderr()], name=_SPEC["artifact"]["judge"])
def judge(model: str | Model | None = None) -> Scorer:
    """Return the scorer; without a model, it asks the one with the role "grader"."""

    async def score(state: TaskState, target: Target) -> Score:
        said = {"input": state.input_text, "output": state.output.completion}
        row = _JUDGE.inputs_of({**said, **state.metadata}, state.output.completion)
        grader = get_model(model, role=None if model else "grader")
        config = GenerateConfig(temperature=_SPEC["settings"]["temperature"])

        async def complete(messages: list[dict[str, str]], more: Any) -> tuple[str, object]:
            reply = await grader.generate(_chat(messages), config=config)
            return reply.completion, reply.stop_reason if reply.choices else None

        verdict = await _JUDGE.ask_async(complete, row)
        if verdict["score"] is None:
            return Score.unscored(explanation="; ".join(verdict["errors"]), metadata=verdict)
        return Score(value=verdict["score"], answer=str(verdict["value"]), metadata=verdict)

    return score


def _chat(messages: list[dict[str, str]]) -> list[Any]:
    return [_CHAT[one["role"]](content=one["content"]) for one in messages]
'''

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Score a state of the row with Inspect's mock model, which is given what a model is."""
        models, solver = loader("inspect_ai.model", "inspect-ai"), loader("inspect_ai.solver", "inspect-ai")

        def answer(messages: Any, *rest: Any) -> Any:
            sent = [{"role": one.role, "content": one.content} for one in messages]
            (reply,) = client.chat.completions.create(messages=sent).choices
            said = models.ModelOutput.from_content("mock", reply.message.content or "-")
            said.usage = models.ModelUsage()  # else its tokens are counted with a file from the network
            return said

        state = solver.TaskState(
            model="mock", sample_id=1, epoch=1, input="", messages=[], metadata=dict(row.inputs)
        )
        score = file["judge"](models.get_model("mockllm/model", custom_outputs=answer, memoize=False))
        return asyncio.run(score(state, None))


_ROLES = {"system-prompt": "system", "user-prompt": "user", "text": "assistant"}


class PydanticEvals(ScorerFile):
    """An ``Evaluator``; not an ``LLMJudge``, which puts a rubric into a prompt of its own."""

    name, module, package = "pydantic-evals", "pydantic_evals", "pydantic-evals"
    limits = (*ScorerFile.limits, "models are asked through Pydantic AI, without a schema of the reply")
    about = """Needs pydantic-evals, and a model of Pydantic AI.

    Dataset(name="rows", cases=cases, evaluators=[Judge("openai:gpt-4.1-mini")]).evaluate_sync(task)

A case has $call in its inputs or its metadata. Where no reply was usable, the report counts an evaluator failure."""
    imports = """from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext"""
    code = """_PARTS = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}


@dataclass
class Judge(Evaluator):
    model: Any

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, Any]:
        row = {"input": ctx.inputs, "output": ctx.output, "expected": ctx.expected_output}
        for one in (ctx.metadata, ctx.inputs):
            row |= one if isinstance(one, Mapping) else {}
        row = _JUDGE.inputs_of(row, ctx.output)
        settings = {"temperature": _SPEC["settings"]["temperature"]}

        async def complete(messages: list[dict[str, str]], more: Any) -> tuple[str, object]:
            sent = [_message(**one) for one in messages]
            reply = await model_request(self.model, sent, model_settings=settings)
            return reply.text or "", reply.finish_reason

        verdict = await _JUDGE.ask_async(complete, row)
        if verdict["score"] is None:
            raise ValueError("; ".join(verdict["errors"]))
        name, reason = verdict["artifact"]["judge"], json.dumps(verdict["votes"])
        return {name: verdict["score"], f"{name} label": EvaluationReason(str(verdict["value"]), reason)}


def _message(role: str, content: str) -> Any:
    return (ModelResponse if role == "assistant" else ModelRequest)(parts=[_PARTS[role](content=content)])
"""

    def score(self, file: Mapping[str, Any], client: Any, row: Row) -> object:
        """Evaluate a case of the row with a function as its model."""
        models = loader("pydantic_ai.models.function", self.package)
        types = loader("pydantic_ai.messages", self.package)

        def answer(messages: Any, info: Any) -> Any:
            parts = [part for one in messages for part in one.parts]
            sent = [{"role": _ROLES[one.part_kind], "content": one.content} for one in parts]
            (reply,) = client.chat.completions.create(messages=sent).choices
            return types.ModelResponse(parts=[types.TextPart(reply.message.content or "")])

        evals, judge = loader(self.module, self.package), file["Judge"](models.FunctionModel(answer))
        data = evals.Dataset(name="one", cases=[evals.Case(inputs=dict(row.inputs))], evaluators=[judge])
        return data.evaluate_sync(lambda inputs: None, progress=False)
