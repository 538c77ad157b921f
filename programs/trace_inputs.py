"""The readers with which exported files read traces, as the judge itself reads them. Only the standard library."""

from collections.abc import Mapping
from typing import Any, Final

from ..text.trace_reading import step_texts, trace_text
from .answers.portable import INPUT_READERS

TRACE_INPUT: Final = "trace"
"""The type of an input that is one text of numbered steps."""
STEPS_INPUT: Final = "steps"
"""The type of an input that is a list of steps, each of which gets a label."""
MODULES: Final = (
    "text.trace_steps",
    "text.trace_messages",
    "text.trace_spans",
    "text.trace_reading",
    "programs.trace_inputs",
)
"""The modules that an exported file carries along for such inputs."""


def _read_trace_input(value: object, column: Mapping[str, Any]) -> str:
    """Return the text of a trace, cut as the judge cuts it."""
    return trace_text(value, column["step_limit"], column["trace_limit"])


def _read_steps_input(value: object, column: Mapping[str, Any]) -> list[str]:
    """Return the texts of a trace's steps, cut as the judge cuts them."""
    return step_texts(value, column["step_limit"])


# An exported file that carries this module reads such inputs once the module is loaded.
INPUT_READERS[TRACE_INPUT] = _read_trace_input
INPUT_READERS[STEPS_INPUT] = _read_steps_input
