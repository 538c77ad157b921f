"""The judge as chat messages with placeholders, what every export holds besides, and how to fill them in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..programs.answers import echo, listed  # noqa: F401 - they add how their lists are shown
from ..programs.answers.portable import RENDERERS
from ..text.escaping import defuse
from .portable_judge import filled
from .target import Messages, Prompt, Row, Subject, Target, prompt_of

if TYPE_CHECKING:
    from ..programs.judge import Judge

FORMAT = "jurist-messages"
_FILLING = (
    "replace every placeholder once, in a single pass, never inside inserted text; "
    "jurist.exports.messages.fill does it, and takes out of the values what the format would obey"
)
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
    from pydantic import TypeAdapter

    judge, temperature = subject.judge, subject.model.temperature if subject.model else None
    temperature = judge.temperature if temperature is None else temperature
    if temperature is None:
        temperature = 0.7 if subject.samples > 1 else 0.0
    return {
        "inputs": [{**one, "placeholder": prompt.placeholders.get(one["name"])} for one in inputs_of(judge)],
        "tags": list(prompt.tags),
        **judge.answer.scale.identity(),
        "output_field": ", ".join(judge.answer.fields),
        "adapter": prompt.adapter,
        "parser": {
            "sections": _SECTIONS[prompt.adapter],
            "header": _HEADERS[prompt.adapter],
            "fields": [
                {"name": name, "schema": TypeAdapter(info.annotation).json_schema()}
                for name, info in prompt.signature.output_fields.items()
            ],
            "answer": judge.answer.parser_rule(),
            "otherwise": _OTHERWISE,
        },
        "settings": {"temperature": temperature, **response_format(prompt)},
        "thresholds": subject.card.get("thresholds"),
        "voting": judge.answer.scale.voting_rule,
        "artifact": subject.stamp,
        "proof": subject.proof,
    }


def inputs_of(judge: Judge) -> list[dict[str, Any]]:
    """Return what is known of each of the judge's inputs, as JSON values."""
    rules = {name: judge.answer.render_rule(name) for name in judge.input_fields}
    columns = {name: judge.row_model.model_fields.get(name) for name in rules}
    return [
        {
            "name": name,
            "render": rules[name],
            "type": "text" if info.annotation is str or rules[name] in RENDERERS else "json",
            "filled": any(getattr(one, "min_length", 0) for one in (column.metadata if column else ())),
        }
        for name, column in columns.items()
        for info in [judge.signature.input_fields[name]]
    ]


def described(subject: Subject, prompt: Prompt) -> dict[str, Any]:
    """Return :func:`contents`, and what a target that holds one prompt cannot do of what the judge does."""
    return {**contents(subject, prompt), "limits": limits_of(subject, prompt)}


def as_json(whole: Mapping[str, Any]) -> str:
    """Return the text of a JSON file."""
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


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


def response_format(prompt: Prompt) -> dict[str, Any]:
    """Return what an OpenAI-compatible endpoint takes that can hold replies to a schema; nothing but for JSON."""
    if prompt.adapter != "json":
        return {}
    schema = {"name": "reply", "strict": True, "schema": reply_schema(prompt)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def reply_schema(prompt: Prompt) -> dict[str, Any]:
    """Return the JSON Schema of a reply, as jurist sends it to strict endpoints."""
    from ..engines.structure import schema_of

    return schema_of(prompt.signature)


class MessagesExporter(Target):
    """JSON with the messages, the placeholders, the labels and the parser."""

    name = "messages"
    suffix = ".json"

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
        exported = {
            "format": FORMAT,
            "messages": list(prompt.messages),
            "filling": _FILLING,
            **contents(subject, prompt),
        }
        return as_json(exported)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Fill it with :func:`fill`'s single pass."""
        content = json.loads(text)
        return [filled(content, row.variables) for row in rows]


def fill(
    exported: Mapping[str, Any] | str, inputs: Mapping[str, Any], judge: Judge | None = None
) -> list[dict[str, str]]:
    """Return the messages for one case, as the judge itself would send them.

    Values are defused (see ``jurist.text.escaping``) and inserted in a single pass, so nothing in a
    judged text is taken for a placeholder, a field or an instruction of the format.
    """
    from dspy.adapters.utils import format_field_value
    from pydantic.fields import FieldInfo

    content: Any = exported
    if isinstance(exported, str):
        try:
            content = json.loads(exported)
        except ValueError:
            content = None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise UsageError(
            f"this is not a {FORMAT} file", hint="make one with: jurist export JUDGE --to messages"
        )
    missing = [spec["name"] for spec in content["inputs"] if spec["name"] not in inputs]
    if missing:
        raise UsageError(f"the inputs {', '.join(missing)} are missing", hint="give every input of the judge")
    if judge is None and any(spec["render"] == "custom" for spec in content["inputs"]):
        raise UsageError(
            f"{content['artifact']['judge']} renders its inputs by its own code", hint="pass judge= to fill"
        )
    values = defuse(dict(inputs) if judge is None else judge.prompt_values(inputs), content["tags"])
    texts = dict[str, str]()
    for spec in content["inputs"]:
        value = values[spec["name"]]
        if judge is None and spec["render"] in RENDERERS:
            value = RENDERERS[spec["render"]](value, range(len(value)), content["labels"])
        kind = FieldInfo(annotation=str if spec["type"] == "text" else object)
        texts[spec["name"]] = str(format_field_value(kind, value))
    return filled(content, texts)
