"""Traces of agents as an input of a judge: the type :class:`Trace`."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

import pydantic
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .trace_reading import LAYOUTS, step_texts, trace_text
from .trace_steps import STEP_LIMIT, TRACE_LIMIT

_JSON_SCHEMA: Final[dict[str, object]] = {
    "anyOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}],
    "description": f"a trace: {LAYOUTS}",
}


class Trace(str):
    """The trace of an agent as an input of a judge: who said what, which tools were called, and what they returned.

    A column of this type may hold messages with tool calls (OpenAI, Anthropic, LangChain), spans of OpenTelemetry or
    OpenInference, exports of Langfuse, LangSmith, MLflow and Phoenix, or a list of steps with ``actor`` and ``words``,
    or ``tool``, ``arguments`` and ``result``; as JSON values or as a text that holds them. The model reads numbered
    steps. A text that begins with neither ``{`` nor ``[`` stays as it is.

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
            ValueError: the layout is not known, the trace has no step, or the value holds several traces.
        """
        return trace_text(value, cls.step_limit, cls.trace_limit)

    @classmethod
    def steps_of(cls, value: object) -> list[str]:
        """Return the texts of the steps of a trace, without numbers. Raises ``ValueError`` like :meth:`text_of`."""
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


def _reporting_faults(reader: Callable[[object], object]) -> Callable[[object], object]:
    """Return a reader that reports a ``ValueError`` of another one to pydantic, in the same words.

    An input without a value (``None``) stays so, for pydantic to judge.
    """

    def read_value(value: object) -> object:
        if value is None:
            return value
        try:
            return reader(value)
        except ValueError as error:
            raise PydanticCustomError("trace", "{why}", {"why": str(error)}) from error

    return read_value
