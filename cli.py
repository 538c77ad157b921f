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
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

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

_COMPILE = """\
Compile a judge against gold labels: split by conversation or document, let an optimizer rewrite the prompt on
train and choose on dev, prove basic against compiled on the sealed test, and keep the result as an artifact.
"""
_COMPILE_EXAMPLES = """\
examples:
  jurist compile cognibench --gold cognibench-mini
  jurist compile fect --gold labels.csv --optimizer fewshot --seed 1
  jurist compile judge.py:judge --gold house-rule
  jurist compile fect --gold labels.csv --model openai/gpt-4.1-mini --max-calls 2000 --max-cost 3
  jurist compile fect --gold labels.csv --model openai/my-model --api-base http://localhost:8000/v1

The default model, "offline", is an evidence reader that needs no key and no network. It is not a language model.
A limit holds for the whole job, the proof included. After Ctrl-C or a crash, --resume continues and pays nothing
twice.
"""
_RUN = "Judge new rows, one JSON line each: id, verdict, votes, reasoning, error, usage, artifact hash."
_RUN_EXAMPLES = """\
examples:
  jurist run fect --input claims.jsonl --output verdicts.jsonl
  jurist run cognibench@2 --input rows.csv --output out.jsonl --samples 5 --threshold 3
  cat claims.jsonl | jurist run fect:basic --input - --output - > verdicts.jsonl
"""
_COMPARE = "Score judges on the same gold, with intervals, and test the first against each other one, paired."
_COMPARE_EXAMPLES = """\
examples:
  jurist compare fect fect:basic --gold labels.csv
  jurist compare fect@2 fect@1 --gold labels.csv --repeats 3 --json

Rows that one of the artifacts was compiled on are left out, and counted.
"""
_EXPORT_EXAMPLES = """\
examples:
  jurist export fect --to messages --output fect.json
  jurist export cognibench@1 --to markdown
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
    _judges(commands)
    _compile(commands)
    _run(commands)
    _compare(commands)
    _export(commands)
    _artifacts(commands)
    _gold(commands)
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


def _handler(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    def call(arguments: argparse.Namespace) -> int:
        return int(getattr(import_module(f".console.{module}", __package__), function)(arguments) or 0)

    return call


def _command(commands: Any, name: str, help_: str, handler: Callable[..., int], examples: str = "") -> Any:
    command = commands.add_parser(
        name,
        help=help_.split(":")[0].split("\n")[0].rstrip(".").lower(),
        description=help_,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(handler=handler)
    return command


def _judges(commands: Any) -> None:
    command = _command(commands, "judges", "The catalogue of judges.", _handler("catalogue", "judges"))
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _compile(commands: Any) -> None:
    command = _command(commands, "compile", _COMPILE, _handler("compile", "run"), _COMPILE_EXAMPLES)
    command.add_argument("judge", metavar="JUDGE", help="a built-in judge, or path/to/file.py:judge")
    command.add_argument(
        "--gold",
        metavar="PATH|NAME",
        help="labelled rows: a bundled name, a file, a folder, hf:org/name; default: JUDGE-mini",
    )
    command.add_argument(
        "--optimizer",
        default=None,
        metavar="NAME",
        help="opro, fewshot, or several joined by + (default: opro+fewshot)",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the optimizer; may be repeated",
    )
    _model_options(command)
    command.add_argument(
        "--prompt-model", metavar="M", help="model that writes prompts (default: the judge's)"
    )
    command.add_argument(
        "--max-calls",
        type=int,
        metavar="N",
        help="never make one call more, the proof included (default: 4000)",
    )
    command.add_argument("--max-cost", type=float, metavar="USD", help="stop before the cost goes over this")
    command.add_argument(
        "--max-tokens-total", type=int, metavar="N", help="stop before input and output tokens go over this"
    )
    command.add_argument("--max-seconds", type=float, metavar="S", help="stop when this much time has passed")
    command.add_argument(
        "--split",
        default="50/20/30",
        metavar="T/D/T",
        help="shares of train, dev and test (default: 50/20/30)",
    )
    _sampling_options(command)
    command.add_argument(
        "--adapter",
        default="chat",
        choices=("chat", "json", "xml"),
        help="DSPy's prompt format (default: chat)",
    )
    command.add_argument("--metric", metavar="NAME", help="compile for another metric than the judge's own")
    command.add_argument("--resume", action="store_true", help="continue an interrupted run of the same job")
    command.add_argument("--fresh", action="store_true", help="forget an interrupted run of the same job")
    command.add_argument(
        "--force", action="store_true", help="make it the latest version even if it is not shown to be better"
    )
    _common(command)


def _run(commands: Any) -> None:
    command = _command(commands, "run", _RUN, _handler("run", "run"), _RUN_EXAMPLES)
    command.add_argument(
        "judge", metavar="JUDGE[@VERSION]", help="latest version, a certain one, or JUDGE:basic"
    )
    command.add_argument(
        "--input", required=True, metavar="F", help="rows to judge; - is standard input (JSONL)"
    )
    command.add_argument(
        "--output", required=True, metavar="F.jsonl", help="where the lines go; - is standard output"
    )
    _model_options(command)
    _sampling_options(command)
    command.add_argument(
        "--resume", action="store_true", help="continue the output file; failed rows are asked again"
    )
    command.add_argument(
        "--max-unusable",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="share of failed and abstained rows above which the exit code is 3 (default: 0.05)",
    )
    _common(command)


def _compare(commands: Any) -> None:
    command = _command(commands, "compare", _COMPARE, _handler("compare", "run"), _COMPARE_EXAMPLES)
    command.add_argument(
        "judges", nargs="+", metavar="JUDGE[@V]|JUDGE:basic", help="two or more, of the same judge"
    )
    command.add_argument("--gold", required=True, metavar="PATH|NAME", help="labelled rows")
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="ask everything N times, with other draws (default: 1)",
    )
    _model_options(command)
    _sampling_options(command)
    _common(command)


def _export(commands: Any) -> None:
    command = _command(
        commands,
        "export",
        "Write a judge's prompt for another system.",
        _handler("export", "run"),
        _EXPORT_EXAMPLES,
    )
    command.add_argument(
        "judge", metavar="JUDGE[@VERSION]", help="latest version, a certain one, or JUDGE:basic"
    )
    command.add_argument("--to", required=True, metavar="FORMAT", help="messages or markdown")
    command.add_argument("--output", metavar="F", help="the file to write (default: standard output)")
    command.add_argument("--store", metavar="DIR", help="folder of artifacts")


def _artifacts(commands: Any) -> None:
    command = commands.add_parser("artifacts", help="list, show, diff, tag and verify compiled judges")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = _command(actions, "list", "All artifacts.", _handler("artifacts", "list_"))
    show = _command(
        actions, "show", "One artifact: prompt, scores, decision, provenance.", _handler("artifacts", "show")
    )
    show.add_argument("artifact", metavar="JUDGE[@VERSION]")
    show.add_argument("--history", action="store_true", help="every candidate that was tried")
    diff = _command(
        actions, "diff", "What changed from one prompt to another.", _handler("artifacts", "diff")
    )
    diff.add_argument("first", metavar="JUDGE[@V]|JUDGE:basic")
    diff.add_argument("second", metavar="JUDGE[@V]|JUDGE:basic")
    tag = _command(actions, "tag", "Give a version a name.", _handler("artifacts", "tag"))
    tag.add_argument("artifact", metavar="JUDGE@VERSION")
    tag.add_argument("tag", metavar="TAG")
    verify = _command(actions, "verify", "Find any changed byte.", _handler("artifacts", "verify"))
    verify.add_argument("artifact", metavar="JUDGE[@VERSION]", nargs="?", help="default: all of them")
    for action in (listing, show, diff, tag, verify):
        action.add_argument(
            "--store", metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
        )
    for action in (listing, show, verify):
        action.add_argument("--json", action="store_true", help="print one JSON object")


def _gold(commands: Any) -> None:
    command = commands.add_parser("gold", help="check, import and split gold sets; agreement of their raters")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = _command(actions, "check", "Validate a gold set and describe it.", _handler("gold", "check"))
    imports = _command(
        actions, "import", "Read any known format and write canonical JSONL.", _handler("gold", "import_")
    )
    split = _command(actions, "split", "Write train, dev and test as files.", _handler("gold", "split"))
    agreement = _command(
        actions,
        "agreement",
        "How far raters agree, how well each does against the rest, and what merging leaves ambiguous.",
        _handler("gold", "agreement"),
    )
    for action in (check, imports, split, agreement):
        action.add_argument("judge", metavar="JUDGE", help="the judge whose labels these are")
        action.add_argument("gold", metavar="PATH|NAME", help="a bundled name, a file, a folder, hf:org/name")
        action.add_argument("--store", metavar="DIR", help=argparse.SUPPRESS)
    imports.add_argument("--output", required=True, metavar="F.jsonl", help="the file to write")
    split.add_argument("--output", required=True, metavar="DIR", help="the folder to write")
    agreement.add_argument(
        "--merge",
        choices=("unanimous", "majority", "adjudicated"),
        help="list the units that this rule leaves ambiguous",
    )
    agreement.add_argument(
        "--ordinal", action="store_true", help="the judge's labels are ordered: give the ordinal alpha too"
    )
    agreement.add_argument("--seed", type=int, default=0, metavar="N", help="of the bootstrap (default: 0)")
    for action in (check, split):
        action.add_argument(
            "--split",
            default="50/20/30",
            metavar="T/D/T",
            help="shares of train, dev and test (default: 50/20/30)",
        )
        action.add_argument("--seed", type=int, default=0, metavar="N", help="of the split (default: 0)")
    for action in (check, agreement):
        action.add_argument("--json", action="store_true", help="print one JSON object")


def _model_options(command: Any) -> None:
    command.add_argument(
        "--model",
        default="offline",
        metavar="M",
        help='"offline" (default), or a DSPy model string such as openai/gpt-4.1-mini',
    )
    command.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    command.add_argument(
        "--temperature", type=float, metavar="T", help="0 to 2 (default: 0 for one sample, 0.7 for several)"
    )
    command.add_argument(
        "--max-tokens", type=int, metavar="N", help="limit on one reply (default: the provider's)"
    )
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds one request may take (default: 120)",
    )
    command.add_argument(
        "--concurrency", type=int, default=8, metavar="N", help="rows in flight at once (default: 8)"
    )


def _sampling_options(command: Any) -> None:
    command.add_argument(
        "--samples", type=int, metavar="K", help="independent draws per row (default: 1, or as proven)"
    )
    command.add_argument(
        "--threshold",
        type=int,
        metavar="T",
        help="votes for a positive verdict (default: fitted, or more than half)",
    )


def _common(command: Any) -> None:
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of every random choice (default: 0)"
    )
    command.add_argument(
        "--store", metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
