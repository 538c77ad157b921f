"""The judge as an LLM-as-a-judge evaluator of Langfuse: the JSON that ``POST /api/public/v2/evaluators`` takes."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..target import Prompt, Subject, UnsuitableTargetError, prompt_of

_VARIABLE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")
"""What Langfuse takes for a variable in a prompt."""
_EXPECTED = ("expected_output", "expected", "reference", "reference_answer", "ground_truth")
"""Inputs that are the expected output of an item of a Langfuse dataset."""


class LangfuseExporter:
    """JSON with the judge's messages, the source of each variable, and the values of the score."""

    name = "langfuse"
    suffix = ".json"
    limits: tuple[str, ...] = (
        "Langfuse asks for a structured reply of its own, with its reasoning first: the scores of the sealed test are "
        "not those of this evaluator",
        "one reply decides, and Langfuse inserts values as they are: several samples, thresholds, and the breaking of "
        "field markers in judged text are not in it",
        "variableMapping supposes that the judged text is the output, and other inputs are fields of the input of an "
        "observation: change it to what yours hold",
    )

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
        _check_variables(subject, prompt)
        evaluator = {
            "name": f"jurist {subject.ref}",
            "description": _description(subject),
            "type": "llm_as_judge",
            "prompt": list(prompt.messages),
            "variableMapping": _variable_mapping(subject, prompt),
            "outputDefinition": _output_definition(subject, prompt),
        }
        return json.dumps(evaluator, ensure_ascii=False, indent=2) + "\n"


def _description(subject: Subject) -> str:
    """Return the decision of the sealed test, and which prompt and which artifact it is about."""
    words = f"{subject.proof}. Prompt {subject.stamp['prompt']}"
    if subject.card is not None:
        words += f", artifact {subject.card.sha256}"
    return words


def _check_variables(subject: Subject, prompt: Prompt) -> None:
    """Refuse a prompt in which Langfuse would see another variable, such as in a demonstration."""
    names = {placeholder.strip("{}") for placeholder in prompt.placeholders.values()}
    for message in prompt.messages:
        for name in _VARIABLE.findall(message["content"]):
            if name not in names:
                raise UnsuitableTargetError(
                    f"the prompt of {subject.ref} holds {{{{{name}}}}}, which Langfuse takes for a variable",
                    target="python",
                    otherwise="leave out the row that holds it",
                )


def _variable_mapping(subject: Subject, prompt: Prompt) -> list[dict[str, str]]:
    """Return the source of each variable: the judged text is the output, others are fields of the input."""
    judge = subject.judge
    judged_input = judge.answer.unit or judge.input_fields[-1]
    mapping: list[dict[str, str]] = []
    for field, placeholder in prompt.placeholders.items():
        source = {"variable": placeholder.strip("{}"), "source": "input"}
        if field == judged_input:
            source["source"] = "output"
        elif field in _EXPECTED:
            source["source"] = "expected_output"
        elif len(prompt.placeholders) > 2:
            source["jsonPath"] = f"$.{field}"
        mapping.append(source)
    return mapping


def _output_definition(subject: Subject, prompt: Prompt) -> dict[str, object]:
    """Return the kind of score that the judge's one field is: a category, several, yes or no, or a number."""
    from pydantic import TypeAdapter

    judge = subject.judge
    field = judge.answer.field
    info = prompt.signature.output_fields.get(field)
    definition = None
    if info is not None and not judge.answer.per_unit and not judge.answer.criteria:
        schema = TypeAdapter(info.annotation).json_schema()
        definition = _definition_of_schema(schema, info.metadata)
    if definition is None:
        raise UnsuitableTargetError(
            f"{subject.ref} gives {judge.answer.scale.expects}, and an evaluator of Langfuse gives one label, several "
            "labels, or a number",
            target="python",
            otherwise="send its verdicts to Langfuse as scores",
        )
    definition["scoreValueInstructions"] = f"The value of the field {field}, as the prompt describes it."
    return definition


def _definition_of_schema(schema: Mapping[str, Any], metadata: Sequence[object]) -> dict[str, object] | None:
    """Return the definition for a field of this JSON schema; ``None`` for what no score of Langfuse is."""
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if schema.get("type") == "boolean":
        return {"dataType": "BOOLEAN"}
    if schema.get("type") == "array":
        item = _definition_of_schema(schema.get("items", {}), ())
        if item is None or item["dataType"] != "CATEGORICAL":
            return None
        return {**item, "shouldAllowMultipleMatches": True}
    if values and all(isinstance(value, str) for value in values):
        return {"dataType": "CATEGORICAL", "categories": values, "shouldAllowMultipleMatches": False}
    if values and all(isinstance(value, int | float) for value in values):
        return {"dataType": "NUMERIC", "minValue": min(values), "maxValue": max(values)}
    if schema.get("type") in ("integer", "number"):
        definition: dict[str, object] = {"dataType": "NUMERIC"}
        for constraint in metadata:
            if getattr(constraint, "ge", None) is not None:
                definition["minValue"] = constraint.ge  # type: ignore[attr-defined]
            if getattr(constraint, "le", None) is not None:
                definition["maxValue"] = constraint.le  # type: ignore[attr-defined]
        return definition
    return None


exporter = LangfuseExporter()
