"""What every export holds besides its prompt: labels, output schema, parser, vote, inputs and the artifact's hash."""

import json
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from .prompt import Prompt
from .target import Subject

_SECTIONS = {
    "chat": (
        "a line that starts with [[ ## NAME ## ]] opens the section NAME; its value is the stripped text "
        "up to the next such line; a section that is given twice with different values is no answer"
    ),
    "json": (
        "the reply is one JSON object, and text around it does not count; its keys are the fields' names. Where the "
        "endpoint takes a response_format, jurist sends that of the settings too"
    ),
    "xml": (
        "the value of a field is what stands between <NAME> and </NAME>, entities resolved; a list or an object is "
        "nested tags as the prompt shows them"
    ),
}
_HEADERS = {"chat": r"\[\[ ## (\w+) ## \]\]", "json": None, "xml": r"<(\w+)>"}
_OTHERWISE = "a reply without a usable answer is an abstention, to be counted, never a default label"


def contents(subject: Subject, prompt: Prompt) -> dict[str, Any]:
    """Return as JSON values what two systems with one prompt must also share to be one judge."""
    judge = subject.judge
    return {
        "inputs": [_input(subject, prompt, name) for name in prompt.placeholders],
        "tags": list(prompt.tags),
        **judge.answer.scale.identity(),
        "output_field": judge.answer.field,
        "adapter": prompt.adapter,
        "parser": _parser(subject, prompt),
        "settings": {"temperature": temperature_of(subject), **response_format(prompt)},
        "thresholds": subject.card.get("thresholds"),
        "voting": judge.answer.scale.voting_rule,
        "artifact": subject.stamp,
    }


def described(subject: Subject, prompt: Prompt) -> dict[str, Any]:
    """Return :func:`contents`, and what a target that holds one prompt cannot do of what the judge does."""
    return {**contents(subject, prompt), "limits": limits_of(subject, prompt)}


def as_json(whole: Mapping[str, Any]) -> str:
    """Return the text of a JSON file."""
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def ungraded(subject: Subject, what: str) -> UsageError:
    """Return that a judge gives neither one of a few labels nor a number."""
    return UsageError(
        f"{subject.judge.name} gives neither one of a few labels nor a number, which is what {what}",
        hint="export it to another target",
    )


def limits_of(subject: Subject, prompt: Prompt) -> tuple[str, ...]:
    """Return what a target that holds one prompt and nothing else cannot do of what the judge does."""
    answer, samples = subject.judge.answer, subject.samples
    written = [name for name in prompt.placeholders if answer.render_rule(name) != "as-is"]
    rendered = f", and {', '.join(written)} rendered" if written else ""
    return (
        f"values go in as jurist.exports.variables gives them (field markers in judged text defused{rendered})",
        *([f"one filling is one sample of {samples}; {answer.scale.voting_rule}"] if samples > 1 else []),
        *subject.limits,
        *(["every sample asks twice, in both orders"] if answer.presentations > 1 else []),
        *(["units that a reply leaves out are not asked for again"] if answer.repeatable else []),
    )


def temperature_of(subject: Subject) -> float:
    """Return the temperature at which the judge is asked."""
    asked = subject.model.temperature if subject.model else None
    return asked if asked is not None else 0.7 if subject.samples > 1 else 0.0


def response_format(prompt: Prompt) -> dict[str, Any]:
    """Return what an OpenAI-compatible endpoint takes that can hold replies to a schema; nothing but for JSON."""
    if prompt.adapter != "json":
        return {}
    schema = {"name": "reply", "strict": True, "schema": reply_schema(prompt)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def reply_schema(prompt: Prompt) -> dict[str, Any]:
    """Return the JSON Schema of a reply: an object with every output field, and no others."""
    from pydantic import create_model

    fields: dict[str, Any] = {
        name: (info.annotation, ...) for name, info in prompt.signature.output_fields.items()
    }
    closed: dict[str, Any] = _closed(create_model("Reply", **fields).model_json_schema())
    return closed


def _closed(schema: Any) -> Any:
    """Return a schema in which no object takes other keys, as strict endpoints demand."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed


def _input(subject: Subject, prompt: Prompt, name: str) -> dict[str, Any]:
    annotation = prompt.signature.input_fields[name].annotation
    column = subject.judge.row_model.model_fields.get(name)
    return {
        "name": name,
        "placeholder": prompt.placeholders[name],
        "render": subject.judge.answer.render_rule(name),
        "type": "text" if annotation is str else "json",
        "filled": any(getattr(one, "min_length", 0) for one in (column.metadata if column else ())),
    }


def _parser(subject: Subject, prompt: Prompt) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return {
        "sections": _SECTIONS[prompt.adapter],
        "header": _HEADERS[prompt.adapter],
        "fields": [
            {"name": name, "schema": TypeAdapter(info.annotation).json_schema()}
            for name, info in prompt.signature.output_fields.items()
        ],
        "answer": subject.judge.answer.parser_rule(),
        "otherwise": _OTHERWISE,
    }
