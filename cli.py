"""The command ``jurist``: parses, calls one function, prints.

Every command is one function in :mod:`jurist.console`, imported when it is
called, so that ``jurist --help`` is immediate. Exit codes: 0 done; 1 the work
could not be done (one line says why and what to do next); 2 wrong usage; 3 done,
but more rows failed or abstained than allowed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from .arguments.assess import add_assess
from .arguments.generate import add_generate
from .arguments.keeping import add_artifacts, add_gold
from .arguments.tables import add_table
from .arguments.training import add_training
from .arguments.work import add_compare, add_compile, add_export, add_judges, add_run
from .errors import JuristError

__all__ = ["build_parser", "main"]

_EPILOG = """\
exit codes: 0 done; 1 could not be done; 2 wrong usage; 3 done, but too many rows failed or abstained

examples:
  jurist judges
  jurist compile cognibench --gold cognibench-mini
  jurist run cognibench --input rows.jsonl --output verdicts.jsonl
  jurist compare cognibench cognibench:basic --gold cognibench-mini
  jurist export cognibench --to messages --output judge.json
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    if not hasattr(arguments, "handler"):
        parser.print_help(sys.stderr)
        return 2
    try:
        return int(arguments.handler(arguments) or 0)
    except JuristError as error:
        _say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("stopped by Ctrl-C; what was written is kept, and --resume continues where the command has it")
        return 1
    except BrokenPipeError:
        # The reader of our output (head, less) went away; say nothing, and keep Python from saying it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="jurist",
        description="The compiler for LLM judges: compile against human labels, prove, keep, run, compare, export.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_judges(commands)
    add_compile(commands)
    add_run(commands)
    add_compare(commands)
    add_table(commands)
    add_export(commands)
    add_training(commands)
    add_artifacts(commands)
    add_gold(commands)
    add_generate(commands)
    add_assess(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Say what is wrong on one line, as every other error is said."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(version("jurist"))  # noqa: T201 - this is the command's output
        parser.exit()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
