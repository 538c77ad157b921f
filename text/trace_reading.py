"""Traces of agents in any known layout, as steps and as the text that a judge reads.

Only the standard library: exported files carry this source along.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from .trace_messages import find_messages, steps_of_messages
from .trace_spans import Span, find_spans, spans_by_trace, steps_of_spans
from .trace_steps import STEP_LIMIT, TRACE_LIMIT, Step, number_steps, step_text, value_text

LAYOUTS: Final = (
    "messages of OpenAI, Anthropic or LangChain, spans of OpenTelemetry or OpenInference, an export of Langfuse, "
    "LangSmith, MLflow or Phoenix, or a list of steps"
)
"""The layouts that jurist reads, in words for errors and help."""
_STEP_NAMES: Final = frozenset({"actor", "words", "tool", "arguments", "result", "error"})
"""The names in a step as :func:`steps_as_json` writes it."""


def read_steps(value: object) -> list[Step]:
    """Return the steps of a trace in any of the layouts that jurist knows (:data:`LAYOUTS`).

    Args:
        value: the trace, as JSON values, or as a text that holds JSON.

    Raises:
        ValueError: it has no known layout, has no step, or holds several traces.
    """
    try:
        steps = _read_layout(value)
    except RecursionError as error:
        raise ValueError("the trace is nested too deeply") from error
    if not steps:
        raise ValueError("the trace has no step")
    return steps


def _read_layout(value: object) -> list[Step]:
    """Return the steps of a trace by the first layout that fits it; an empty list for a trace without steps."""
    data = value
    if isinstance(value, str):
        try:
            data = json.loads(value)
        except ValueError as error:
            problem = f"the text holds no JSON that can be read: {error}"
            raise ValueError(f"{problem}; a trace is {LAYOUTS}") from error
    steps = _steps_from_json(data)
    if steps is not None:
        return steps
    spans = find_spans(data)  # before messages, which the spans of a trace hold too
    if spans is not None:
        return _steps_of_one_trace(spans)
    messages = find_messages(data)
    if messages is not None:
        return steps_of_messages(messages)
    raise ValueError(f"the layout of the trace is not known; a trace is {LAYOUTS}")


def _steps_of_one_trace(spans: Sequence[Span]) -> list[Step]:
    """Return the steps of spans; a ``ValueError`` where they belong to several traces."""
    traces = spans_by_trace(spans)
    if len(traces) > 1:
        raise ValueError(
            f"the spans belong to {len(traces)} traces; write a row for each: jurist gold traces"
        )
    return steps_of_spans(spans)


def holds_tool_calls(value: object) -> bool:
    """Say whether a value is a trace in which a tool was called, in a layout that is known."""
    if isinstance(value, str) and not _looks_like_json(value):
        return False
    try:
        return any(step.tool for step in read_steps(value))
    except ValueError:
        return False


def _steps_from_json(data: object) -> list[Step] | None:
    """Return the steps that :func:`steps_as_json` wrote; ``None`` for any other layout."""
    if not isinstance(data, list) or not data:
        return None
    steps: list[Step] = []
    for item in data:
        if not isinstance(item, Mapping) or "actor" not in item or not item.keys() <= _STEP_NAMES:
            return None
        result = item.get("result")
        steps.append(
            Step(
                actor=str(item["actor"]),
                words=value_text(item.get("words")),
                tool=str(item.get("tool") or ""),
                arguments=value_text(item.get("arguments")),
                result=None if result is None else value_text(result),
                error=value_text(item.get("error")),
            )
        )
    return steps


def step_texts(value: object, limit: int = STEP_LIMIT) -> list[str]:
    """Return the steps of a trace as texts; a list of texts comes back as it is, whatever their length.

    Raises:
        ValueError: as :func:`read_steps`.
    """
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    return [step_text(step, limit) for step in read_steps(value)]


def trace_text(value: object, step_limit: int = STEP_LIMIT, trace_limit: int = TRACE_LIMIT) -> str:
    """Return a trace as one text of numbered steps; a text that does not begin like JSON comes back as it is.

    Raises:
        ValueError: as :func:`read_steps`.
    """
    if isinstance(value, str) and not _looks_like_json(value):
        return value
    return number_steps(step_texts(value, step_limit), trace_limit)


def _looks_like_json(text: str) -> bool:
    """Say whether a text begins like an object or a list of JSON."""
    return text[:1] in ("{", "[")


def steps_as_json(steps: Sequence[Step]) -> list[dict[str, str]]:
    """Return steps as JSON values without their empty parts; :func:`read_steps` gives the steps back."""
    items: list[dict[str, str]] = []
    for step in steps:
        item = {"actor": step.actor}
        if step.words:
            item["words"] = step.words
        if step.tool:
            item["tool"] = step.tool
        if step.arguments:
            item["arguments"] = step.arguments
        if step.result is not None:  # an empty result was in the trace
            item["result"] = step.result
        if step.error:
            item["error"] = step.error
        items.append(item)
    return items
