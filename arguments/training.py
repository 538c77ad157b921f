"""The parser of ``training``."""

from __future__ import annotations

from typing import Any

from .shared import add, common_options, handler, split_option

__all__ = ["add_training"]

_TRAINING = """\
Write a training file for fine-tuning a judge: labelled rows as chat messages, one JSON line each.

Each line holds the messages that the judge itself would send for a row, and the reply that says its labels. OpenAI's
fine-tuning and TRL's SFTTrainer take the file as it is. Only groups of the train part of the split are in it, so
that what "jurist compile" with the same seed and shares tests on is never trained on.
"""
_EXAMPLES = """\
examples:
  jurist training --input cognibench-mini --output train.jsonl
  jurist training --input cognibench-l --output train.jsonl --max-tokens 8000
  jurist training --input cognibench-l --output dev.jsonl --part dev
  jurist training --input labels.csv --judge fect:basic --output train.jsonl --part all

docs/finetune.md goes on from there: a fine-tuning script, and how to run the judge with the tuned model.
"""


def add_training(commands: Any) -> None:
    """Add ``jurist training``."""
    command = add(commands, "training", _TRAINING, handler("training", "run"), _EXAMPLES)
    command.add_argument(
        "--input",
        required=True,
        metavar="LABELLED",
        help="labelled rows: a bundled name, a file, a folder, hf:...",
    )
    command.add_argument("--output", required=True, metavar="F.jsonl", help="the file; - is standard output")
    command.add_argument(
        "--judge",
        default="detector:basic",
        metavar="JUDGE[@V]",
        help="whose prompt and reply; it must ask once (default: detector:basic)",
    )
    command.add_argument(
        "--format",
        default="chat",
        choices=("chat",),
        help="chat: one key, messages (default, and the only one)",
    )
    command.add_argument(
        "--part",
        default="train",
        choices=("train", "dev", "all"),
        help="groups to take: train (default), dev for a validation file, or all, which holds nothing back",
    )
    split_option(command)
    command.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="leave out longer examples; an estimate, about four letters a token",
    )
    common_options(command, of="the split")
