"""The judge as a prompt of a prompt store: LangChain and LangSmith, Langfuse."""

import json
import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from .messages import as_json, described, limits_of
from .target import Messages, Row, Subject, Target, loader, prompt_of

_ROLES = {"system": "System", "user": "Human", "assistant": "AI"}
_SPOKEN = {"system": "system", "human": "user", "ai": "assistant"}


class LangChain(Target):
    """A serialised ``ChatPromptTemplate``; messages without inputs are literal, so no brace in them is a variable."""

    name = "langchain"
    suffix = ".json"

    def render(self, subject: Subject) -> str:
        """Return the JSON text; labels, parser and vote are in the prompt's ``metadata``."""
        prompt = prompt_of(subject)
        templates = prompt.written(lambda text: text.replace("{", "{{").replace("}", "}}"), "{{{}}}".format)
        made = [
            _message(
                plain,
                template["content"],
                [n for n, m in prompt.placeholders.items() if m in plain["content"]],
            )
            for plain, template in zip(prompt.messages, templates, strict=True)
        ]
        kwargs = {
            "input_variables": list(prompt.placeholders),
            "messages": made,
            "metadata": {"jurist": described(subject, prompt)},
        }
        return as_json(_constructor(("prompts", "chat", "ChatPromptTemplate"), kwargs))

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Load it with LangChain, and invoke it."""
        load = loader("langchain_core.load", "langchain-core")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loads is declared beta
            prompt = load.loads(text, allowed_objects="core")
        filled = [prompt.invoke(dict(row.variables)).to_messages() for row in rows]
        return [
            [{"role": _SPOKEN[one.type], "content": one.content} for one in messages] for messages in filled
        ]


def _message(plain: Any, template: str, names: Sequence[str]) -> dict[str, Any]:
    kind = _ROLES[plain["role"]]
    if not names:
        return _constructor(("schema", "messages", f"{kind}Message"), {"content": plain["content"]})
    about = {"input_variables": names, "template": template, "template_format": "f-string"}
    inner = _constructor(("prompts", "prompt", "PromptTemplate"), about)
    return _constructor(("prompts", "chat", f"{kind}MessagePromptTemplate"), {"prompt": inner})


def _constructor(path: tuple[str, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", *path], "kwargs": kwargs}


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
            {
                **subject.stamp,
                "proof": subject.proof,
                "voting": answer.scale.voting_rule,
                "limits": limits_of(subject, prompt),
            }
        )
        body = {
            "name": subject.judge.name,
            "description": f"{subject.judge.description} jurist: {stamp}".strip(),
            "type": "llm_as_judge",
            "prompt": prompt.written(_without_braces, "{{{{{}}}}}".format),
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
    about = answer.scale.identity()
    if answer.scale.choices and not answer.per_unit:
        chosen = {"categories": list(answer.scale.choices), "shouldAllowMultipleMatches": False}
        return {"dataType": "CATEGORICAL", **chosen}
    if "low" in about and "high" in about:
        return {"dataType": "NUMERIC", "minValue": about["low"], "maxValue": about["high"]}
    raise UsageError(
        f"{subject.judge.name} gives neither one of a few labels nor a number, which is what Langfuse keeps",
        hint="export it to another target",
    )


def _without_braces(text: str) -> str:
    if "{{" in text or "}}" in text:
        raise UsageError(
            "the prompt itself holds double braces, which Langfuse would take for a variable",
            hint="compile a prompt without them, or export it to another target",
        )
    return text
