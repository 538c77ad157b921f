"""The parser of ``assess``."""

from __future__ import annotations

from typing import Any

from .generate import judge_options
from .shared import (
    add,
    common_options,
    endpoint_options,
    handler,
    limit_options,
    named,
    unusable_option,
    yes_option,
)

__all__ = ["add_assess"]

_ASSESS = """\
Let models answer about references, label every sentence of their answers with a judge, and print shares of statement
types and rates of hallucination (CogniBench, Figure 8): as the judge found them, and corrected for its own
sensitivity and specificity, measured on gold that it was not compiled on.
"""
_EXAMPLES = """\
examples:
  jurist assess offline --benchmark dialogues
  jurist assess openai/gpt-4.1-mini openai/gpt-4.1 --benchmark dialogues --judge cognibench@2 \\
    --judge-model openai/gpt-4.1 --calibration labels.jsonl --max-cost 5
  jurist assess openai/my-model --api-base http://localhost:8000/v1 --benchmark dialogues.jsonl --json

With a real model, the calls, tokens and cost to be expected are printed first; above 1000 calls or 1 USD you are asked.
--benchmark dialogues are the prompts of the bundled cognibench-mini; a file has rows with "turns" (as jurist generate
dialogue writes them) or rows of the cognibench judge. After Ctrl-C, a limit or a crash, --resume continues and pays
nothing twice.
"""


def add_assess(commands: Any) -> None:
    """Add ``jurist assess``."""
    command = add(commands, "assess", _ASSESS, handler("assess", "run"), _EXAMPLES)
    command.add_argument(
        "models", nargs="+", metavar="MODEL", help='"offline", or a DSPy model string; one row each'
    )
    command.add_argument(
        "--benchmark",
        required=True,
        metavar="dialogues|FILE",
        help="what is asked: the bundled prompts, or rows",
    )
    judge_options(command)
    command.add_argument(
        "--calibration",
        type=named,
        metavar="GOLD",
        help="gold to measure the judge on (default: cognibench-mini); rows its artifact has seen are left out",
    )
    command.add_argument("--limit", type=int, metavar="N", help="the first N prompts only")
    endpoint_options(command, temperature="of the models, 0 to 2 (default: 0.7)", flight="answers")
    command.add_argument(
        "--words",
        default="40-200",
        metavar="MIN-MAX",
        help="length the models are asked for (default: 40-200)",
    )
    command.add_argument("--answers", metavar="F.jsonl", help="write the labelled answers too")
    command.add_argument("--output", metavar="F.json", help="write the JSON object to a file too")
    limit_options(command, over=", all models together")
    yes_option(command)
    unusable_option(command, "prompts without a usable, labelled answer")
    common_options(command)
