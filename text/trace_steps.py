"""Steps of an agent's trace, and the text in which a judge reads them.

Only the standard library: exported files carry this source along. How the layouts of others become steps is the
business of :mod:`.trace_messages` and :mod:`.trace_spans`.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

STEP_LIMIT: Final = 2_000
"""The most characters that are shown of a step's words, of its arguments, and of its result."""
TRACE_LIMIT: Final = 60_000
"""The most characters of a trace that is shown whole; beyond, steps in its middle are left out."""
_HEAD_SHARE: Final = 2 / 3
"""The share of a cut text that its beginning makes up; its end makes up the rest."""


class Step(NamedTuple):
    """A step of a trace: words that somebody said, or a tool that was called with what came back."""

    actor: str  # who: user, assistant, system, tool, or the name of an agent
    words: str = ""  # what was said; empty for the call of a tool
    tool: str = ""  # the tool that was called; empty for words
    arguments: str = ""  # of the call, as JSON or text
    result: str | None = None  # what the tool returned; None if the trace does not hold it
    error: str = ""  # the reason why the step failed; empty if it did not


def value_text(value: object) -> str:
    """Return a value of a trace as text: a text as it is, nothing for ``None``, everything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def step_text(step: Step, limit: int = STEP_LIMIT) -> str:
    """Return a step as text: ``actor: words``, or ``actor calls tool`` and a line for each of its parts.

    Further lines of a part begin with a bar, so that no line of a step looks like the beginning of another one.
    """
    if not step.tool:
        lines = [_named_part(step.actor, step.words, limit)]
    else:
        lines = [f"{_on_one_line(step.actor)} calls {_on_one_line(step.tool)}"]
        if step.arguments:
            lines.append(_named_part("arguments", step.arguments, limit))
        if step.result is not None:
            lines.append(_named_part("result", step.result, limit))
        elif not step.error:
            lines.append("result: not in the trace")
    if step.error:
        lines.append(_named_part("error", step.error, limit))
    return "\n  ".join(lines)


def _named_part(name: str, text: str, limit: int) -> str:
    """Return a part of a step after its name; its further lines are indented and begin with a bar."""
    lines = f"{_on_one_line(name)}: {_without_middle(text, limit)}".splitlines()
    return "\n  | ".join(lines)


def number_steps(texts: Sequence[str], limit: int = TRACE_LIMIT) -> str:
    """Return the texts of steps as one text, each step with its number.

    A text above the limit loses steps in its middle. A line in their place says which steps they are. The first and the
    last step always stay.
    """
    numbered: list[str] = []
    for number, text in enumerate(texts, 1):
        numbered.append(f"{number}. {text}")
    if sum(map(len, numbered)) <= limit:
        return "\n".join(numbered)
    head = _count_within(numbered, limit // 2)
    tail = _count_within(numbered[::-1], limit // 2)
    left_out = len(numbered) - head - tail
    if left_out < 1:
        return "\n".join(numbered)
    tail_start = len(numbered) - tail
    note = f"[steps {head + 1} to {tail_start} are left out: {left_out} steps]"
    return "\n".join([*numbered[:head], note, *numbered[tail_start:]])


def _count_within(texts: Sequence[str], limit: int) -> int:
    """Return the number of texts, counted from the first, that fit into a number of characters; at least 1."""
    total = 0
    for count, text in enumerate(texts):
        total += len(text)
        if total > limit:
            return max(count, 1)
    return len(texts)


def _without_middle(text: str, limit: int) -> str:
    """Return a text; of one above the limit its beginning and its end, and between them how much is left out."""
    if len(text) <= limit:
        return text
    head = int(limit * _HEAD_SHARE)
    tail = limit - head
    left_out = len(text) - limit
    return f"{text[:head]} [{left_out} characters are left out] {text[-tail:]}"


def _on_one_line(name: str) -> str:
    """Return a name without line breaks: a line of the trace must not begin inside a name."""
    return " ".join(name.split())
