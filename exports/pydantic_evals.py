"""The judge as an evaluator of Pydantic Evals, for ``Dataset(evaluators=[...])``."""

from collections.abc import Mapping
from typing import Any

from .scorer_file import ScorerFile
from .target import Messages, Row, loader

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
        chat = [_message(one["role"], one["content"]) for one in _JUDGE.messages(row)]
        settings = {"temperature": _SPEC["settings"]["temperature"]}
        replies = [await model_request(self.model, chat, model_settings=settings) for _ in range(_SPEC["samples"])]
        verdict = _JUDGE.judged([(reply.text or "", reply.finish_reason) for reply in replies], row)
        if verdict["score"] is None:
            raise ValueError("; ".join(verdict["errors"]))
        name, reason = verdict["artifact"]["judge"], json.dumps(verdict["votes"])
        return {name: verdict["score"], f"{name} label": EvaluationReason(str(verdict["value"]), reason)}


def _message(role: str, content: str) -> Any:
    return (ModelResponse if role == "assistant" else ModelRequest)(parts=[_PARTS[role](content=content)])
"""

    def sent(self, file: Mapping[str, Any], row: Row) -> Messages:
        """Evaluate a case of the row with a model that records."""
        got: list[Any] = []
        models = loader("pydantic_ai.models.function", self.package)
        parts = loader("pydantic_ai.messages", self.package)

        def answer(messages: Any, info: Any) -> Any:
            got[:] = messages
            return parts.ModelResponse(parts=[parts.TextPart("")])

        evals, judge = loader(self.module, self.package), file["Judge"](models.FunctionModel(answer))
        data = evals.Dataset(name="one", cases=[evals.Case(inputs=dict(row.inputs))], evaluators=[judge])
        data.evaluate_sync(lambda inputs: None, progress=False)
        return [
            {"role": _ROLES[part.part_kind], "content": part.content} for one in got for part in one.parts
        ]
