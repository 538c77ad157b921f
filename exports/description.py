"""The description of a judge that every export holds, as JSON values, and the values of a row to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..programs.answers import echo, listed  # noqa: F401 - they add how their lists are shown
from ..programs.answers.portable import RENDERERS
from ..programs.judge import is_trace_type
from ..programs.trace_inputs import STEPS_INPUT, TRACE_INPUT
from ..text.escaping import defuse
from ..text.templates import PLAIN
from .portable_judge import InputSpec
from .target import Prompt, Subject

if TYPE_CHECKING:
    from ..programs.judge import Judge

_SECTIONS = {
    "chat": (
        "a line that starts with [[ ## NAME ## ]] opens the section NAME; its value is the stripped text "
        "up to the next such line; a section that is given twice with different values is no answer, and neither is a "
        "reply with text before its first section or after [[ ## completed ## ]]"
    ),
    "json": (
        "the reply is one JSON object, whose keys are the fields' names; white space and a code fence may stand around "
        "it, and a reply with any other text around it is no answer. Where the endpoint takes a response_format, "
        "jurist sends that of the settings too"
    ),
    "plain": "the whole reply says the label or the number in words; other_words are what else it may say for one",
}
_VALUES = (
    "first take out what the model marks as its thinking, such as <think>...</think>. A label is read where it is "
    "named exactly and alone, in any capitals, with or without quotation marks, bold marks and one full stop; a number "
    "is plain digits. 'not LABEL', two labels and any other text are no answer. jurist itself reads fields "
    "under headers where it asked for JSON, too, and JSON where it asked for headers"
)
_HEADERS = {"chat": r"\[\[ ## (\w+) ## \]\]", "json": None, "plain": None}
_OTHERWISE = "a reply without a usable answer is an abstention, to be counted, never a default label"


def contents(subject: Subject, prompt: Prompt) -> dict[str, Any]:
    """Return the description of a judge beside its messages, as JSON values: inputs, parser, thresholds, proof."""
    from pydantic import TypeAdapter

    judge = subject.judge
    temperature = judge.temperature
    if temperature is None:
        temperature = 0.7 if subject.samples > 1 else 0.0
    inputs = []
    for entry in inputs_of(judge):
        inputs.append({**entry, "placeholder": prompt.placeholders.get(entry["name"])})
    fields = []
    for name, info in prompt.signature.output_fields.items():
        fields.append({"name": name, "schema": TypeAdapter(info.annotation).json_schema()})
    parser: dict[str, object] = {
        "sections": _SECTIONS[prompt.adapter],
        "header": _HEADERS[prompt.adapter],
        "values": _VALUES,
        "fields": fields,
        "answer": judge.answer.portable_rule(),
    }
    if prompt.adapter == PLAIN:
        parser["other_words"] = judge.answer.other_words(judge.values)
    parser["otherwise"] = _OTHERWISE
    return {
        "inputs": inputs,
        **judge.answer.scale.identity(),
        "output_field": ", ".join(judge.answer.fields),
        "adapter": prompt.adapter,
        "parser": parser,
        "settings": {"temperature": temperature, **response_format(prompt)},
        "thresholds": _threshold_values(subject),
        "voting": judge.answer.scale.voting_rule_under(subject.thresholds.sampling),
        "artifact": subject.stamp,
        "proof": subject.proof,
    }


def _threshold_values(subject: Subject) -> dict[str, object] | None:
    """Return the thresholds of the card, as it has them; ``None`` where it has none."""
    if subject.card is None or "thresholds" not in subject.card.model_fields_set:
        return None
    return subject.thresholds.to_json()


def inputs_of(judge: Judge) -> list[InputSpec]:
    """Return name, rendering and type of each of the judge's inputs, and whether it must be filled, as JSON values."""
    inputs: list[InputSpec] = []
    for name in judge.input_fields:
        rule = judge.answer.render_rule(name)
        column = judge.row_model.model_fields.get(name)
        annotation = judge.signature.input_fields[name].annotation
        is_text = annotation is str or rule in RENDERERS
        constraints = column.metadata if column else ()
        entry: InputSpec = {
            "name": name,
            "render": rule,
            "type": "text" if is_text else "json",
            "filled": any(getattr(constraint, "min_length", 0) for constraint in constraints),
        }
        if is_trace_type(annotation):
            assert annotation is not None
            entry["type"] = STEPS_INPUT if rule in RENDERERS else TRACE_INPUT
            entry["step_limit"] = annotation.step_limit
            entry["trace_limit"] = annotation.trace_limit
        inputs.append(entry)
    return inputs


def response_format(prompt: Prompt) -> dict[str, object]:
    """Return the ``response_format`` of an OpenAI-compatible endpoint with schemas; nothing unless replies are JSON."""
    if prompt.adapter != "json":
        return {}
    from ..engines.strict_schemas import schema_of

    strict_schema = schema_of(prompt.signature)
    if strict_schema is None:
        return {"response_format": {"type": "json_object"}}
    schema = {"name": "reply", "strict": True, "schema": strict_schema}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def variables(judge: Judge, inputs: Mapping[str, object]) -> dict[str, str]:
    """Return variable -> value of an export for one row: each input as it stands in the judge's prompt."""
    from ..engines.dspy_internals import format_field_value

    fields = {**judge.signature.input_fields, **judge.basic().predictors()[0].signature.input_fields}
    values = defuse(judge.prompt_values(judge.case(inputs).inputs))
    return {name: str(format_field_value(fields[name], value)) for name, value in values.items()}
