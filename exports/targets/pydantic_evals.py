"""The judge as a scorer of Pydantic Evals."""

from ..portable_file import ScorerFile

# An ``Evaluator``; not an ``LLMJudge``, which puts a rubric into a prompt of its own.
exporter = ScorerFile(
    "pydantic-evals",
    needs="pydantic-evals, and a model of Pydantic AI",
    has_client=False,
    usage=('Dataset(name="rows", cases=cases, evaluators=[Judge("openai:$model")]).evaluate_sync(task)'),
    note=(
        "A case has $call in its inputs or its metadata. Where no reply was usable, the report counts an "
        "evaluator failure."
    ),
    limit="models are asked through Pydantic AI, without a schema of the reply",
    imports="""
from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
""",
    code="""
_PARTS = {"system": SystemPromptPart, "user": UserPromptPart, "assistant": TextPart}


@dataclass
class Judge(Evaluator):
    model: Any

    async def evaluate(self, ctx: EvaluatorContext) -> dict[str, Any]:
        row = {"input": ctx.inputs, "output": ctx.output, "expected": ctx.expected_output}
        for part in (ctx.metadata, ctx.inputs):
            if isinstance(part, Mapping):
                row |= part
        inputs = _JUDGE.inputs_of(row, ctx.output)
        settings = {"temperature": _SPEC["settings"]["temperature"]}

        async def complete(messages: list[dict[str, str]], settings_of_step: Any) -> tuple[str, object]:
            request = [_message(**message) for message in messages]
            reply = await model_request(self.model, request, model_settings=settings)
            return reply.text or "", reply.finish_reason

        verdict = await _JUDGE.ask_async(complete, inputs)
        if verdict["score"] is None:
            raise ValueError(verdict["reason"])
        name, reason = verdict["artifact"]["judge"], json.dumps(verdict["votes"])
        return {name: verdict["score"], f"{name} label": EvaluationReason(str(verdict["value"]), reason)}


def _message(role: str, content: str) -> Any:
    return (ModelResponse if role == "assistant" else ModelRequest)(parts=[_PARTS[role](content=content)])
""",
)
