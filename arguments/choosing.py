"""The parser of ``artifacts choose``."""

from __future__ import annotations

from typing import Any

from .shared import add, gold_option, handler, limit_options, output_options, transport_options, yes_option

__all__ = ["add_choose"]

_CHOOSE = """\
Make another candidate of a compilation the artifact: a point of its front of cost and score, or any of its history.
It becomes a new version, proven beside the basic prompt on the same sealed test. The card says how often that test
has been opened, and the p value of the decision is corrected for it (Bonferroni): choosing until something looks
better proves nothing.
"""
_EXAMPLES = """\
examples:
  jurist artifacts show fect@2 --history
  jurist artifacts choose fect@2 1f0c93ab77de
  jurist artifacts choose fect@2 1f0c --gold labels.csv --json

The model, its settings and the split are those on the card. Only keys come from the environment.
With a real model you are asked before more than 1000 calls or 1 USD, or have said --yes.
"""


def add_choose(actions: Any) -> None:
    """Add ``jurist artifacts choose``."""
    command = add(actions, "choose", _CHOOSE, handler("choose", "run"), _EXAMPLES)
    command.add_argument("artifact", metavar="JUDGE@VERSION")
    command.add_argument("candidate", metavar="CANDIDATE", help="its id, or the beginning of it")
    gold_option(command, "the gold set it was compiled on (default: as named on the card)", required=False)
    command.add_argument("--api-base", metavar="URL", help="address of the model (default: the card's)")
    transport_options(command)
    limit_options(command, what="choice")
    yes_option(command)
    command.add_argument(
        "--force", action="store_true", help="make it the latest version even if it is not shown to be better"
    )
    output_options(command)
