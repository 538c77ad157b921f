"""The command ``jurist``: parses, calls one function, prints.

Every command is one function in :mod:`jurist.console`, imported when it is
called, so that ``jurist --help`` is immediate. Results go to standard output,
progress, notes and errors to standard error. Exit codes: 0 done; 1 the work
could not be done (one line says why and what to do next); 2 wrong usage; 3 done,
but more rows failed or abstained than allowed; 130 ended by Ctrl-C
(143 by SIGTERM, 129 by SIGHUP).
"""

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from io import TextIOWrapper
from typing import Any, NoReturn

from .arguments.command import Parser, add_commands, load_command, say
from .arguments.commands import GROUPS, SECTIONS, all_commands, commands_beside
from .arguments.completion import SHELLS, completion_script
from .errors import (
    STANDARD_OUTPUT,
    Interrupted,
    JuristError,
    answering_command_line,
    has_begun_paid_work,
    system_message,
)

_EPILOG = """\
examples:
  jurist new may-answer --from prompt.md --labels yes,no
  jurist compile may_answer.py:judge --gold labels.csv
  jurist run may-answer --input rows.jsonl --output verdicts.jsonl

jurist COMMAND --help has the options of a command, jurist --version the version.
eval "$(jurist --completion bash)" completes them with TAB; zsh and fish, too.
exit codes: 0 done; 1 could not be done; 2 wrong usage; 3 done, but too many rows
failed or abstained; 130 Ctrl-C
"""
_INTERRUPTED = 130
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main(argv: Sequence[str] | None = None, *, owns_process: bool = False) -> int:
    """Run the command line; return the exit code. ``owns_process`` says that the process ends with it."""
    with answering_command_line():
        try:
            return _main(argv, owns_process)
        except KeyboardInterrupt:
            if has_begun_paid_work():
                say("stopped by Ctrl-C")
            else:
                say("stopped by Ctrl-C; no model was asked and nothing was paid; run the same command again")
            return _INTERRUPTED


def program() -> NoReturn:
    """Run the command line and end the process with its code."""
    atexit.register(_ignore_signals)  # Python calls what is registered first last
    if isinstance(sys.stdout, TextIOWrapper):
        # Files are in UTF-8, whatever the system's; what a terminal has no character for is escaped.
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    exit_code = main(owns_process=True)
    _end_at_signals(exit_code)
    sys.exit(exit_code)


def _end_at_signals(exit_code: int) -> None:
    """Let a signal end the process at once with the code of the command, which has printed its result."""

    def end(number: int, frame: object) -> NoReturn:
        os._exit(exit_code)

    for number in _ENDING_SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, end)


def _ignore_signals() -> None:
    """Ignore signals: Python removes its handlers at the end, and a signal would then replace the exit code."""
    for number in _ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _main(argv: Sequence[str] | None, owns_process: bool) -> int:
    try:
        words = sys.argv[1:] if argv is None else argv
        parser = build_parser(words)
        arguments = parser.parse_args(words)
        if not hasattr(arguments, "command"):
            parser.print_help(sys.stderr)
            return 2
        if sys.platform == "win32":
            raise JuristError(
                "jurist locks files as POSIX systems do, and Windows does not",
                hint="run it in WSL 2 or in a container",
            )
        run = load_command(arguments.command, owns_process=owns_process)
        return run(arguments)
    except Interrupted as stop:
        say(str(stop))
        return stop.exit_code
    except JuristError as error:
        say(f"error: {error}")
        return error.exit_code
    except OSError as error:
        is_of_output = error.filename == STANDARD_OUTPUT
        # If the reader of standard output (head, less) went away, there is nothing to say.
        if not (is_of_output and isinstance(error, BrokenPipeError)):
            place = error.filename or type(error).__name__
            say(": ".join(filter(None, ("error", str(place), system_message(error)))))
        if is_of_output and owns_process:
            # What it still holds cannot be written either: keep Python from trying, and complaining, at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def build_parser(words: Sequence[str] = ()) -> Parser:
    """Return the parser of a command line: of all commands, or of those beside the one that its first word names."""
    parser = Parser(
        prog="jurist",
        description="The compiler for LLM judges: compile against human labels, prove, keep, run, compare, export.",
        epilog=_EPILOG,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=14),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.add_argument("--completion", action=_Completion, choices=SHELLS, help=argparse.SUPPRESS)
    commands = commands_beside(words[0]) if words else ()
    if commands:
        add_commands(parser, commands, GROUPS)
    else:
        add_commands(parser, all_commands(), GROUPS, SECTIONS)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(version("jurist"))  # noqa: T201 - this is the command's output
        parser.exit()


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: object, shell: Any, *_: Any) -> None:
        print(completion_script(shell, all_commands()), end="")  # noqa: T201 - this is the command's output
        parser.exit()
