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
"""The layouts that are read, for messages."""
_STEP_NAMES: Final = frozenset({"actor", "words", "tool", "arguments", "result", "error"})


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
    """Return the steps of a trace in the first layout that it has; none for a trace without steps."""
    data = value
    if isinstance(value, str):
        try:
            data = json.loads(value)
        except ValueError as error:
            raise ValueError(f"the text holds no JSON; a trace is {LAYOUTS}") from error
    steps = _own_steps(data)
    if steps is None:
        steps = _steps_of_one_trace(find_spans(data))  # before messages, which the spans of a trace hold, too
    if steps is None:
        messages = find_messages(data)
        if messages is not None:
            steps = steps_of_messages(messages)
    if steps is None:
        raise ValueError(f"the layout of the trace is not known; a trace is {LAYOUTS}")
    return steps


def _steps_of_one_trace(spans: Sequence[Span] | None) -> list[Step] | None:
    """Return the steps of spans that belong to one trace; ``None`` where there are no spans."""
    if spans is None:
        return None
    traces = spans_by_trace(spans)
    if len(traces) > 1:
        raise ValueError(
            f"the spans belong to {len(traces)} traces; write a row for each: jurist gold traces"
        )
    return steps_of_spans(spans)


def is_trace(value: object) -> bool:
    """Say whether a value is a trace in which a tool was called, in a layout that is known."""
    if isinstance(value, str) and value[:1] not in ("{", "["):
        return False
    try:
        return any(step.tool for step in read_steps(value))
    except ValueError:
        return False


def _own_steps(data: object) -> list[Step] | None:
    """Return the steps of a list of steps as jurist writes them; ``None`` for any other layout."""
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
    """Return the steps of a trace as texts; a list of texts is one of steps already.

    Raises:
        ValueError: as :func:`read_steps`.
    """
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value
    return [step_text(step, limit) for step in read_steps(value)]


def trace_text(value: object, step_limit: int = STEP_LIMIT, trace_limit: int = TRACE_LIMIT) -> str:
    """Return a trace as one text of numbered steps; a text that holds no JSON as it is.

    Raises:
        ValueError: as :func:`read_steps`.
    """
    if isinstance(value, str) and value[:1] not in ("{", "["):
        return value
    return number_steps(step_texts(value, step_limit), trace_limit)


def steps_as_json(steps: Sequence[Step]) -> list[dict[str, str]]:
    """Return steps as JSON values, without what is empty; :func:`read_steps` gives them back."""
    items: list[dict[str, str]] = []
    for step in steps:
        item = {"actor": step.actor, "words": step.words, "tool": step.tool, "arguments": step.arguments}
        if step.result is not None:
            item["result"] = step.result
        item["error"] = step.error
        items.append({name: text for name, text in item.items() if text or name in ("actor", "result")})
    return items
