"""The output of commands: results on standard output, as tables, Markdown or JSON; notes on standard error."""

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias, Union

from ..arguments.groups import Form
from ..errors import UsageError, printable, writing_standard_output
from ..report.render import fold_text, render_markdown, render_text
from ..report.table import Table
from ..text.quoting import in_markdown

if TYPE_CHECKING:
    from ..report.verdict import VerdictCard


class Verbatim(str):
    """Text that is printed as it is, such as a prompt or a diff."""

    __slots__ = ()


class MarkdownText(str):
    """Text that is Markdown already, for ``--markdown``."""

    __slots__ = ()


_PlainPart: TypeAlias = Table | Verbatim | MarkdownText | str
"""A table, text as it is, or a paragraph whose lines may break at words."""
Part: TypeAlias = Union[Table, Verbatim, MarkdownText, "VerdictCard", str]
"""A plain part, or a card, which has plain parts of its own."""
_WIDEST = 110
"""Columns of a card at most."""
_COLOURS = {"good": "green", "bad": "red", "open": "yellow"}


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a command: parts to print, JSON, and the exit code."""

    data: Mapping[str, Any]  # for ``--json``; empty if standard output has what the command wrote there
    body: Sequence[Part] = ()  # for people, in the order in which it is read
    notes: Sequence[str] = ()  # printed after the body, on standard error
    code: int = 0  # the exit code


# One stream for each command that runs now; a command that another one starts is the last.
_standard_outputs: list[TextIO] = []


@contextmanager
def reserve_standard_output() -> Iterator[None]:
    """Send to standard error whatever is printed, such as by a user's own judge: standard output is for results."""
    _standard_outputs.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _standard_outputs.pop()


def result_stream() -> TextIO:
    """Return the real standard output, also while :func:`reserve_standard_output` is in force."""
    if _standard_outputs:
        return _standard_outputs[-1]
    return sys.stdout


def print_result(result: Result, form: Form) -> None:
    """Print a result on standard output and its notes on standard error; nothing waits for a key."""
    # A pager would hide the decision and the next step behind a key, and wait for ever where nobody presses one.
    text = result_text(result, form)
    with writing_standard_output():
        sys.stdout.write(text)
        sys.stdout.flush()
    print_notes(*result.notes)


def result_text(result: Result, form: Form) -> str:
    """Return the text that :func:`print_result` prints on standard output."""
    if form.json:
        if not result.data:
            return ""
        return json.dumps(result.data, ensure_ascii=False, indent=2) + "\n"
    frames_cards = not form.markdown and sys.stdout.isatty()
    texts = []
    for part in result.body:
        if isinstance(part, str | Table):
            texts.append(_part_text(part, form))
        elif frames_cards:
            texts.append(_frame(part))
        else:
            texts.extend(_part_text(plain_part, form) for plain_part in part.plain)
    return "".join(texts)


def _part_text(part: _PlainPart, form: Form) -> str:
    """Return a part as text or Markdown that is safe to print; an empty part has no text."""
    if not part:
        return ""
    text = _part_markdown(part) if form.markdown else _part_plainly(part)
    # Names, paths and labels come from elsewhere, and a terminal would obey control characters in them.
    return printable(text)


def _frame(card: "VerdictCard") -> str:
    """Return a card in a frame of the colour of its tone, as wide as the terminal and no wider than it can be read."""
    from rich.console import Console, Group
    from rich.panel import Panel
    from rich.text import Text

    width = min(shutil.get_terminal_size().columns, _WIDEST)
    colour = _COLOURS[card.tone]
    paragraphs = []
    for part in card.plain:
        style = ""
        if isinstance(part, Table):
            text = f"\n{render_text(part, width - 4)}"
        else:
            text = "\n".join(fold_text(part, width - 4))
            if part.startswith("warning:"):
                style = "yellow"
        if part is card.decision:
            style = f"bold {colour}"
        paragraphs.append(Text(printable(text), style=style))
    console = Console(file=sys.stdout, width=width, highlight=False)
    with console.capture() as captured:
        console.print(Panel(Group(*paragraphs), border_style=colour))
    return captured.get()


def print_notes(*texts: str) -> None:
    """Print notes, progress and warnings on standard error, each on lines of its own; empty texts are left out."""
    for text in texts:
        if text:
            sys.stderr.write("\n".join(fold_text(printable(text), _width(sys.stderr))) + "\n")
            sys.stderr.flush()


def write_text(text: str, path: str | None) -> None:
    """Write a text to a file, or to standard output where the path is ``None`` or ``-``.

    Raises:
        UsageError: the file cannot be written.
    """
    if path in (None, "-"):
        with writing_standard_output():
            result_stream().write(_ended_line(text))
        return
    target = Path(str(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", hint="name a file that can be written") from error


def write_json(data: Mapping[str, object], path: str | None) -> None:
    """Write an object as JSON to a file, if one is named; errors are those of :func:`write_text`."""
    if path:
        write_text(json.dumps(data, ensure_ascii=False, indent=2), path)


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; ``None`` for a file or a pipe, where a row stays on its line."""
    if not stream.isatty():
        return None
    return shutil.get_terminal_size().columns


def _ended_line(text: str) -> str:
    """Return a text with a line feed at its end."""
    return text if text.endswith("\n") else f"{text}\n"


def _part_plainly(part: _PlainPart) -> str:
    """Return a part as text for a terminal or a file."""
    if isinstance(part, Table):
        return render_text(part, _width(sys.stdout)) + "\n"
    if isinstance(part, Verbatim):
        return _ended_line(part)
    return "\n".join(fold_text(part, _width(sys.stdout))) + "\n"


def _part_markdown(part: _PlainPart) -> str:
    """Return a part as Markdown; text that is printed as it is becomes a block of code."""
    if isinstance(part, Table):
        return render_markdown(part) + "\n"
    if isinstance(part, MarkdownText):
        return _ended_line(part)
    if isinstance(part, Verbatim):
        block = ""
        for line in part.split("\n"):
            block += f"    {line}\n"
        return block + "\n"
    return in_markdown(part) + "\n\n"
