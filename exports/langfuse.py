"""The judge as a Langfuse evaluator: the body of ``POST /api/public/v2/evaluators``."""

import json
from collections.abc import Sequence
from typing import Any

from .contents import as_json, limits_of, ungraded
from .prompt import prompt_of, without_braces
from .target import Messages, Row, Subject, Target, loader


class Langfuse(Target):
    """Chat messages with ``{{variables}}``, the labels as categories, and where each variable comes from left open."""

    name = "langfuse"
    suffix = ".json"
    limits = (
        "an approximation: Langfuse asks for its own structured answer (a category and a reasoning) beside this "
        "prompt, and does not read the reply as jurist does",
        "the variables must be mapped to the trace when the evaluator is used",
    )

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt, answer = prompt_of(subject), subject.judge.answer
        stamp = json.dumps(
            {**subject.stamp, "voting": answer.voting_rule, "limits": limits_of(subject, prompt)}
        )
        body = {
            "name": subject.judge.name,
            "description": f"{subject.judge.description} jurist: {stamp}".strip(),
            "type": "llm_as_judge",
            "prompt": prompt.written(without_braces("Langfuse"), "{{{{{}}}}}".format),
            "outputDefinition": _output(subject),
        }
        return as_json(body)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Validate the body as Langfuse's client does, and compile its messages with Langfuse's prompt client."""
        api = loader("langfuse.api", "langfuse")
        parse = loader("langfuse.api.core.pydantic_utilities", "langfuse").parse_obj_as
        chat_prompt = loader("langfuse.model", "langfuse").ChatPromptClient

        given = json.loads(text)
        request = parse(api.CreateLlmAsJudgeEvaluatorRequest, given)
        messages = [
            {"type": "chatmessage", "role": one.role.value, "content": one.content} for one in request.prompt
        ]
        about = {"name": given["name"], "version": 1, "config": {}, "labels": [], "tags": []}
        client = chat_prompt(parse(api.Prompt_Chat, {**about, "type": "chat", "prompt": messages}))
        return [
            [{"role": one["role"], "content": one["content"]} for one in client.compile(**row.variables)]
            for row in rows
        ]


def _output(subject: Subject) -> dict[str, Any]:
    answer = subject.judge.answer
    about = answer.identity()
    if answer.choices and not answer.per_unit:
        chosen = {"categories": list(answer.choices), "shouldAllowMultipleMatches": False}
        return {"dataType": "CATEGORICAL", **chosen}
    if "low" in about and "high" in about:
        return {"dataType": "NUMERIC", "minValue": about["low"], "maxValue": about["high"]}
    raise ungraded(subject, "Langfuse keeps")
