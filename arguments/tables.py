"""The parser of ``jurist table``."""

from __future__ import annotations

from typing import Any

from .shared import (
    add,
    common_options,
    experiment_options,
    gold_option,
    handler,
    model_options,
    sampling_options,
    setting_option,
    split_option,
    strictness_option,
)

__all__ = ["add_table"]

_THREE = """\
CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side, factual, cognitive, their macro
average and overall, by sentences and by words, with 95 % intervals clustered by dialogue or document, and paired
tests against the first.
"""
_THREE_EXAMPLES = """\
examples:
  jurist table cognibench-3 --gold cognibench-mini
  jurist table cognibench-3 --gold labels.jsonl --detector cognibench --detector detector:basic --detector nli:ORG/MODEL
  jurist table cognibench-3 --gold labels.jsonl --detector cognibench:basic --model openai/gpt-4.1 --samples 5 --yes

A sentence's kind is what its gold label says; it is detected when it gets any hallucinated label. Responses on which
an artifact was compiled are left out for all. After Ctrl-C, a limit or a crash, --resume continues and pays nothing
twice.
"""
_FIVE = """\
CogniBench's Table 5 on any gold: auto-labelling in full (contrastive examples, whole responses in one call, several
draws and a vote threshold), without sampling, and without contrastive and formative prompting (the basic prompt, one
sentence a call). The examples are mined on train and chosen on dev; all lines are scored on the same sealed test.
"""
_FIVE_EXAMPLES = """\
examples:
  jurist table cognibench-5 --gold cognibench-mini
  jurist table cognibench-5 --gold labels.jsonl --seed 1 --split 40/20/40 --markdown > table5.md
  jurist table cognibench-5 --gold labels.jsonl --model openai/gpt-4.1-mini --max-cost 5 --yes

The scores under every threshold from 1 to the number of draws are printed as well, from the same votes. After
Ctrl-C, a limit or a crash, --resume continues and pays nothing twice.
"""


def add_table(commands: Any) -> None:
    """Add ``jurist table``."""
    command = commands.add_parser(
        "table", help="the paper's tables on any gold: detectors; auto-labelling taken apart"
    )
    tables = command.add_subparsers(title="tables", metavar="TABLE", required=True)
    _three(add(tables, "cognibench-3", _THREE, handler("papers", "three"), _THREE_EXAMPLES))
    _five(add(tables, "cognibench-5", _FIVE, handler("papers", "five"), _FIVE_EXAMPLES))


def _three(table: Any) -> None:
    gold_option(table, "labelled responses")
    table.add_argument(
        "--detector",
        action="append",
        metavar="JUDGE[@V]|nli:MODEL",
        help="a judge, version or variant, or an NLI model; may be repeated; the first is tested against the "
        "others (default: cognibench:basic and detector:basic)",
    )
    model_options(table, several=True)
    sampling_options(table)
    _shared(table)


def _five(table: Any) -> None:
    gold_option(table, "labelled responses")
    table.add_argument(
        "--judge",
        default="cognibench",
        metavar="JUDGE",
        help="a judge of whole responses with CogniBench's labels (default: cognibench)",
    )
    model_options(table, several=True)
    table.add_argument(
        "--samples", type=int, default=5, metavar="K", help="independent draws per row (default: 5)"
    )
    table.add_argument(
        "--thresholds",
        default="2,3",
        metavar="T,T",
        help="votes that make a sentence hallucinated, one line each (default: 2,3)",
    )
    split_option(table)
    setting_option(table, "the optimizer contrastive")
    _shared(table)


def _shared(table: Any) -> None:
    strictness_option(table)
    experiment_options(table, over=", over all lines and models", what="table")
    common_options(table)
