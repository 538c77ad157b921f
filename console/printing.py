"""What commands print: results on standard output, as tables, Markdown, HTML or JSON; remarks on standard error."""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from ..arguments.groups import Form
from ..errors import UsageError, printable
from ..report.document import Plot, Tone
from ..report.render import as_html, as_markdown, as_text, escape_html, escape_markdown, folded
from ..report.table import Table

_COLOURS: Mapping[Tone, str] = {"good": "green", "bad": "red", "open": "yellow"}
_FRAME = 4  # columns that a frame takes


class Verbatim(str):
    """Text that is printed as it is, such as a prompt or a diff."""

    __slots__ = ()


_Printed: TypeAlias = Table | Verbatim | str
Part: TypeAlias = Table | Plot | Verbatim | str
"""A table, text as it is, a paragraph whose lines may break at words, or a plot, which no command prints."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a command has decided: on a terminal a frame in the colour of the outcome, elsewhere its parts alone."""

    title: str  # the outcome in a few words
    tone: Tone
    parts: Sequence[Part]


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a command found."""

    data: Mapping[str, Any]  # for ``--json``; empty if standard output has what the command wrote there
    body: Sequence[Part | Card] = ()  # for people, in the order in which it is read
    notes: Sequence[str] = ()  # what is said about it afterwards, on standard error
    code: int = 0  # the exit code


def show(result: Result, form: Form) -> None:
    """Print a result on standard output, and its notes on standard error."""
    if sys.stdout.isatty() and not (form.json or form.markdown or form.html):
        console = Console(highlight=False)
        for part in result.body:
            if isinstance(part, Card):
                console.print(_framed(part, console.width))
            else:
                sys.stdout.write(rendered(Result(data={}, body=[part]), form))
                sys.stdout.flush()
    else:
        sys.stdout.write(rendered(result, form))
    sys.stdout.flush()
    remark(*result.notes)


def rendered(result: Result, form: Form) -> str:
    """Return what :func:`show` prints on standard output."""
    if form.json:
        return json.dumps(result.data, ensure_ascii=False, indent=2) + "\n" if result.data else ""
    write = _markdown if form.markdown else _html if form.html else _text
    flat = [part for one in result.body for part in (one.parts if isinstance(one, Card) else [one])]
    # Names, paths and labels come from elsewhere, and would be obeyed by a terminal.
    return printable("".join(write(part) for part in flat if part and not isinstance(part, Plot)))


def _framed(card: Card, width: int) -> Panel:
    """Return a card for a terminal: the names of lines stand out, evidence and warnings have their colours."""
    text, colour = Text(), _COLOURS[card.tone]
    for part in card.parts:
        if isinstance(part, Table):
            text.append(printable(as_text(part, width - _FRAME)) + "\n")
        elif part and not isinstance(part, Plot):
            name, colon, rest = printable(part).partition(": ")
            decides = name == "decision"
            style = {"decision": f"bold {colour}", "warning": "yellow"}.get(name, "bold")
            # a decision rests on several facts: each has a line of its own
            for number, fact in enumerate(
                (rest if colon else name).split("; ") if decides else [rest or name]
            ):
                lead = "  " if number else f"{name}{colon}" if colon else ""
                lines = folded(f"{lead}{fact}", width - _FRAME, "  ")
                for place, line in enumerate(lines):
                    head = len(lead) if not place and not number else 0
                    text.append(line[:head], style=style)
                    text.append(line[head:] + "\n", style="dim" if decides and number else "")
    text.rstrip()
    title = Text(printable(card.title), style=f"bold {colour}")
    return Panel(text, title=title, title_align="left", border_style=colour, padding=(1, 1))


def remark(*texts: str) -> None:
    """Say what is no result, and not empty, on standard error."""
    for text in filter(None, texts):
        sys.stderr.write("\n".join(folded(printable(text), _width(sys.stderr))) + "\n")
        sys.stderr.flush()


def write_text(text: str, path: str | None) -> None:
    """Write to a file, or to standard output for ``None`` or ``-``."""
    if path in (None, "-"):
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    target = Path(str(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}", hint="name a file that can be written") from error


def write_json(data: Mapping[str, Any], path: str | None) -> None:
    """Write an object to the file of ``--output``, if one is named. Raises what :func:`write_text` raises."""
    if path:
        write_text(json.dumps(data, ensure_ascii=False, indent=2), path)


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; ``None`` for a file or a pipe, where a row stays on its line."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _text(part: _Printed) -> str:
    if isinstance(part, Table):
        return as_text(part, _width(sys.stdout)) + "\n"
    if isinstance(part, Verbatim):
        return part if part.endswith("\n") else f"{part}\n"
    return "\n".join(folded(part, _width(sys.stdout))) + "\n"


def _markdown(part: _Printed) -> str:
    if isinstance(part, Table):
        return as_markdown(part) + "\n"
    if isinstance(part, Verbatim):
        return "".join(f"    {line}\n" for line in part.split("\n")) + "\n"
    return escape_markdown(part) + "\n\n"


def _html(part: _Printed) -> str:
    if isinstance(part, Table):
        return as_html(part)
    tag = "pre" if isinstance(part, Verbatim) else "p"
    return f"<{tag}>{escape_html(part)}</{tag}>\n"
