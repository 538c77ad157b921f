"""Traces of agents as the text that a judge reads: the input type :class:`Trace`."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final

import pydantic
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .trace_messages import find_messages, steps_of_messages
from .trace_spans import Span, find_spans, spans_by_trace, steps_of_spans
from .trace_steps import STEP_LIMIT, TRACE_LIMIT, Step, number_steps, step_text, value_text

LAYOUTS: Final = (
    "messages of OpenAI, Anthropic or LangChain, spans of OpenTelemetry or OpenInference, an export of Langfuse, "
    "LangSmith, MLflow or Phoenix, or a list of steps"
)
"""The layouts that are read, for messages."""
_JSON_SCHEMA: Final[dict[str, object]] = {
    "anyOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}],
    "description": f"a trace: {LAYOUTS}",
}
_STEP_NAMES: Final = frozenset({"actor", "words", "tool", "arguments", "result", "error"})


def read_steps(value: object) -> list[Step]:
    """Return the steps of a trace in any of the layouts that jurist knows (:data:`LAYOUTS`).

    Args:
        value: the trace, as JSON values, or as a text that holds JSON.

    Raises:
        ValueError: it has no known layout, has no step, or holds several traces.
    """
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
    if not steps:
        raise ValueError("the trace has no step")
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


class Trace(str):
    """The trace of an agent as an input of a judge: who said what, which tools were called, and what they returned.

    A column of this type may hold messages with tool calls (OpenAI, Anthropic, LangChain), spans of OpenTelemetry or
    OpenInference, exports of Langfuse, LangSmith, MLflow and Phoenix, or a list of steps with ``actor`` and ``words``,
    or ``tool``, ``arguments`` and ``result``; as JSON values or as a text that holds them. The model reads numbered
    steps. A text that holds no JSON stays as it is.

    A judge whose answer has a label for each numbered unit gets one for each step.

    Attributes:
        step_limit: the most characters that are shown of a step's words, arguments and result each; a subclass may
            have others. What lies between the beginning and the end of a longer text is counted, not shown.
        trace_limit: the most characters of a trace; of a longer one, steps in its middle are left out and counted. A
            judge of each step is shown all of them.
    """

    step_limit: ClassVar[int] = STEP_LIMIT
    trace_limit: ClassVar[int] = TRACE_LIMIT

    @classmethod
    def text_of(cls, value: object) -> str:
        """Return a trace as the text that a model reads.

        Raises:
            ValueError: the layout is not known, or the trace has no step.
        """
        if isinstance(value, str) and value[:1] not in ("{", "["):
            return value
        return number_steps(step_texts(value, cls.step_limit), cls.trace_limit)

    @classmethod
    def steps_of(cls, value: object) -> list[str]:
        """Return the texts of the steps of a trace. Raises ``ValueError`` like :meth:`text_of`."""
        return step_texts(value, cls.step_limit)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Return the schema of a row's field, which becomes the text of the trace."""
        return core_schema.no_info_before_validator_function(
            _reporting_faults(cls.text_of), core_schema.str_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: object) -> dict[str, object]:
        """Return the JSON schema of a row's field."""
        return dict(_JSON_SCHEMA)

    @classmethod
    def list_type(cls) -> Any:
        """Return the type of a row's field that becomes a list of steps, for a judge that gives each step a label."""
        return Annotated[
            list[str],
            pydantic.BeforeValidator(_reporting_faults(cls.steps_of)),
            pydantic.WithJsonSchema(_JSON_SCHEMA),
        ]


def _reporting_faults(read: Callable[[object], object]) -> Callable[[object], object]:
    """Return a reader whose ``ValueError`` is a fault of pydantic with the same words; it leaves ``None`` as it is."""

    def read_value(value: object) -> object:
        if value is None:
            return value
        try:
            return read(value)
        except ValueError as error:
            raise PydanticCustomError("trace", "{why}", {"why": str(error)}) from error

    return read_value


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
