"""The parsers of ``judges``, ``compile``, ``run``, ``compare`` and ``export``."""

from __future__ import annotations

from typing import Any

from .shared import (
    add,
    budget_options,
    common_options,
    experiment_options,
    gold_option,
    handler,
    limit_options,
    model_options,
    sampling_options,
    setting_option,
    split_option,
    strictness_option,
    unusable_option,
    yes_option,
)

__all__ = ["add_compare", "add_compile", "add_export", "add_judges", "add_run"]

_COMPILE = """\
Compile a judge against gold labels: split by conversation or document, let an optimizer rewrite the prompt on
train and choose on dev, prove basic against compiled on the sealed test, and keep the result as an artifact.
"""
_COMPILE_EXAMPLES = """\
examples:
  jurist compile cognibench --gold cognibench-mini
  jurist compile fect --gold labels.csv --optimizer fewshot --seed 1
  jurist compile judge.py:judge --gold house-rule
  jurist compile fect --gold labels.csv --model openai/gpt-4.1-mini --max-calls 2000 --max-cost 3 --yes
  jurist compile fect --gold labels.csv --model openai/my-model --api-base http://localhost:8000/v1

The default model, "offline", is an evidence reader that needs no key and no network. It is not a language model.
A limit holds for the whole job, the proof included. Calls, tokens and cost are estimated first; with a real model
and more than 1000 calls or 1 USD, you are asked, or have said --yes. After Ctrl-C or a crash, --resume continues
and pays for no answer twice that had arrived.
"""
_RUN = "Judge new rows, one JSON line each: id, verdict, votes, reasoning, error, usage, artifact hash."
_RUN_EXAMPLES = """\
examples:
  jurist run fect --input claims.jsonl --output verdicts.jsonl
  jurist run cognibench@2 --input rows.csv --output out.jsonl --samples 5 --threshold 3
  cat claims.jsonl | jurist run fect:basic --input - --output - > verdicts.jsonl
  jurist run fect --input claims.csv --output out.jsonl --model openai/gpt-4.1-mini --max-cost 2 --yes

With a real model calls, tokens and cost are estimated first, and above 1000 calls or 1 USD you are asked, or have
said --yes. After a limit, Ctrl-C or a crash, --resume judges the rows that are left; no finished row is paid twice.
"""
_COMPARE = """\
Score judges on the same gold: judges x models x repeats, with two kinds of 95 % interval (other rows; asked again),
self-consistency, and paired tests corrected together (Holm).
"""
_COMPARE_EXAMPLES = """\
examples:
  jurist compare fect fect:basic --gold labels.csv
  jurist compare fect:basic fect@2 --gold labels.csv --repeats 10 --pairs all --json
  jurist compare fect:basic fect --gold labels.csv --repeats 10 \\
    --model openai/gpt-4.1 --model openai/gpt-4.1-mini --max-cost 5 --yes --output result.json

Rows that one of the artifacts was compiled on are left out, and counted. With one repeat the test is exact McNemar
on units; with several, a permutation test of the mean metric that exchanges whole conversations. Calls, tokens and
cost are estimated before anything is sent. After Ctrl-C, a limit or a crash, --resume continues and pays nothing
twice.
"""
_EXPORT_EXAMPLES = """\
examples:
  jurist export fect --to messages --output fect.json
  jurist export cognibench@1 --to markdown
"""


def add_judges(commands: Any) -> None:
    """Add ``jurist judges``."""
    command = add(commands, "judges", "The catalogue of judges.", handler("catalogue", "judges"))
    command.add_argument("--json", action="store_true", help="print one JSON object")


def add_compile(commands: Any) -> None:
    """Add ``jurist compile``."""
    command = add(commands, "compile", _COMPILE, handler("compile", "run"), _COMPILE_EXAMPLES)
    command.add_argument("judge", metavar="JUDGE", help="a built-in judge, or path/to/file.py:judge")
    gold_option(
        command,
        "labelled rows: a bundled name, a file, a folder, hf:org/name; default: the judge's bundled set",
        required=False,
    )
    command.add_argument(
        "--optimizer",
        default=None,
        metavar="NAME",
        help="opro, fewshot (or demos), optuna, contrastive, cfaith, opro-paper, bootstrap, copro, mipro, gepa, simba, "
        "infer-rules, or several joined by + (default: opro+fewshot)",
    )
    setting_option(command, "the optimizer")
    model_options(command)
    command.add_argument(
        "--prompt-model", metavar="M", help="model that writes prompts (default: the judge's)"
    )
    limit_options(command, over=", the proof included (default: 4000)")
    command.add_argument(
        "--max-tokens-total", type=int, metavar="N", help="stop before input and output tokens go over this"
    )
    command.add_argument("--max-seconds", type=float, metavar="S", help="stop when this much time has passed")
    split_option(command)
    sampling_options(command)
    strictness_option(command)
    command.add_argument(
        "--adapter",
        default="chat",
        choices=("chat", "json", "xml"),
        help="DSPy's prompt format (default: chat)",
    )
    command.add_argument(
        "--metric",
        metavar="NAME",
        help="compile for another metric than the judge's own: f1, macro_f1, accuracy, balanced_accuracy, kappa, "
        "precision, recall, validation_rate (cases right as a whole), neg_mse (labels that are numbers)",
    )
    yes_option(command)
    command.add_argument(
        "--force", action="store_true", help="make it the latest version even if it is not shown to be better"
    )
    common_options(command)


def add_run(commands: Any) -> None:
    """Add ``jurist run``."""
    command = add(commands, "run", _RUN, handler("run", "run"), _RUN_EXAMPLES)
    command.add_argument(
        "judge", metavar="JUDGE[@VERSION]", help="latest version, a certain one, or JUDGE:basic"
    )
    command.add_argument(
        "--input", required=True, metavar="F", help="rows to judge; - is standard input (JSONL)"
    )
    command.add_argument(
        "--output", required=True, metavar="F.jsonl", help="where the lines go; - is standard output"
    )
    model_options(command)
    sampling_options(command)
    strictness_option(command)
    command.add_argument(
        "--stopping",
        default="settled",
        choices=("settled", "all"),
        help="draw samples until no outcome of the row can change (default), or all; the verdicts are the same",
    )
    command.add_argument(
        "--resume", action="store_true", help="continue the output file; failed rows are asked again"
    )
    budget_options(command, over="; the rows that are left wait for --resume")
    yes_option(command)
    unusable_option(command, "failed and abstained rows")
    common_options(command)


def add_compare(commands: Any) -> None:
    """Add ``jurist compare``."""
    command = add(commands, "compare", _COMPARE, handler("compare", "run"), _COMPARE_EXAMPLES)
    command.add_argument(
        "judges",
        nargs="+",
        metavar="JUDGE[@V]|JUDGE:basic",
        help="judges, versions and variants with the same labels; each is asked with each model",
    )
    gold_option(command, "labelled rows")
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="ask everything N times, with other draws (default: 1)",
    )
    command.add_argument(
        "--pairs",
        choices=("first", "all"),
        default="first",
        help="test the first against each other one, or all pairs (default: first)",
    )
    model_options(command, several=True)
    sampling_options(command)
    strictness_option(command)
    experiment_options(command, over=", over all judges and models")
    common_options(command)


def add_export(commands: Any) -> None:
    """Add ``jurist export``."""
    command = add(
        commands,
        "export",
        "Write a judge's prompt for another system.",
        handler("export", "run"),
        _EXPORT_EXAMPLES,
    )
    command.add_argument(
        "judge", metavar="JUDGE[@VERSION]", help="latest version, a certain one, or JUDGE:basic"
    )
    command.add_argument("--to", required=True, metavar="FORMAT", help="messages or markdown")
    command.add_argument("--output", metavar="F", help="the file to write (default: standard output)")
    command.add_argument("--store", metavar="DIR", help="folder of artifacts")
