"""The parsers of ``artifacts`` and ``gold``."""

from __future__ import annotations

import argparse
from typing import Any

from .choosing import add_choose
from .generate import add_dynamics
from .shared import add, gold_option, handler, named, seed_option

__all__ = ["add_artifacts", "add_gold"]

_IMPORT = "Read any known format, filled sheets included, and write canonical JSONL."
_IMPORT_EXAMPLES = """\
examples:
  jurist gold import fect fect_benchmark.csv --output gold.jsonl
  jurist gold import fect ann.csv bob.csv --merge unanimous --output gold.jsonl
  jurist gold import fect gold.jsonl review.csv --merge adjudicated --output gold2.jsonl
"""
_SHEET = "Write the units to label: a CSV for a spreadsheet, or tasks for Label Studio."
_SHEET_EXAMPLES = """\
examples:
  jurist gold sheet fect claims.jsonl --output ann.csv --rater ann
  jurist gold sheet fect claims.jsonl --output tasks.json

Units that have a gold label, or a label of this rater, are left out. A filled sheet goes to jurist gold import.
"""
_REVIEW = "Write the units on which a judge's own votes split as a sheet, the most split first."
_REVIEW_EXAMPLES = """\
examples:
  jurist run fect --input claims.jsonl --samples 5 --stopping all --output verdicts.jsonl
  jurist gold review fect --verdicts verdicts.jsonl --output review.csv --rater ann --top 50
  jurist gold import fect gold.jsonl review.csv --merge adjudicated --output gold2.jsonl
"""

_SHOW_EXAMPLES = """\
examples:
  jurist artifacts show fect
  jurist artifacts show fect@2 --history
  jurist artifacts show fect@2 --diff
  jurist artifacts show fect@2 --plot score.svg
"""


def add_artifacts(commands: Any) -> None:
    """Add ``jurist artifacts`` and its actions."""
    command = commands.add_parser("artifacts", help="list, show, diff, tag and verify compiled judges")
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = add(actions, "list", "All artifacts.", handler("artifacts", "list_"))
    show = add(
        actions,
        "show",
        "One artifact: prompt, scores, decision, provenance.",
        handler("artifacts", "show"),
        _SHOW_EXAMPLES,
    )
    show.add_argument("artifact", metavar="JUDGE[@VERSION]")
    _show_options(show)
    diff = add(actions, "diff", "What changed from one prompt to another.", handler("artifacts", "diff"))
    diff.add_argument("first", metavar="JUDGE[@V]|JUDGE:basic")
    diff.add_argument("second", metavar="JUDGE[@V]|JUDGE:basic")
    tag = add(actions, "tag", "Give a version a name.", handler("artifacts", "tag"))
    tag.add_argument("artifact", metavar="JUDGE@VERSION")
    tag.add_argument("tag", metavar="TAG")
    verify = add(actions, "verify", "Find any changed byte.", handler("artifacts", "verify"))
    verify.add_argument("artifact", metavar="JUDGE[@VERSION]", nargs="?", help="default: all of them")
    add_choose(actions)
    for action in (listing, show, diff, tag, verify):
        action.add_argument(
            "--store", metavar="DIR", help="folder of artifacts (default: $JURIST_STORE, else ./compiled)"
        )
    for action in (listing, show, verify):
        action.add_argument("--json", action="store_true", help="print one JSON object")


def _show_options(show: Any) -> None:
    show.add_argument(
        "--history", action="store_true", help="every candidate that was tried, and score against calls"
    )
    show.add_argument("--prompt", action="store_true", help="the prompt alone")
    show.add_argument("--diff", action="store_true", help="what compiling changed in the basic prompt")
    show.add_argument(
        "--plot", metavar="F.svg|F.png", help="write a plot of score against calls (needs the extra plots)"
    )


def add_gold(commands: Any) -> None:
    """Add ``jurist gold`` and its actions."""
    command = commands.add_parser(
        "gold", help="check, import and split gold sets, have them labelled; agreement of raters"
    )
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = add(actions, "check", "Validate a gold set and describe it.", handler("gold", "check"))
    imports = add(actions, "import", _IMPORT, handler("gold", "import_"), _IMPORT_EXAMPLES)
    split = add(actions, "split", "Write train, dev and test as files.", handler("gold", "split"))
    agreement = add(
        actions,
        "agreement",
        "How far raters agree, how well each does against the rest, and what merging leaves ambiguous.",
        handler("gold", "agreement"),
    )
    sheet = add(actions, "sheet", _SHEET, handler("review", "sheet"), _SHEET_EXAMPLES)
    add_dynamics(actions)
    review = add(actions, "review", _REVIEW, handler("review", "run"), _REVIEW_EXAMPLES)
    for action in (check, imports, split, agreement, sheet, review):
        action.add_argument("judge", metavar="JUDGE", help="the judge whose labels these are")
        action.add_argument("--store", metavar="DIR", help=argparse.SUPPRESS)
    for action in (check, split, agreement, sheet):
        action.add_argument(
            "gold", type=named, metavar="PATH|NAME", help="a bundled name, a file, a folder, hf:org/name"
        )
    imports.add_argument(
        "gold",
        nargs="+",
        type=named,
        metavar="PATH|NAME",
        help="files, sheets, exports, ...; several are joined",
    )
    imports.add_argument("--output", required=True, metavar="F.jsonl", help="the file to write")
    imports.add_argument(
        "--merge",
        choices=("unanimous", "majority", "adjudicated"),
        help="make gold labels of the ratings by this rule; what it leaves ambiguous is written without a label",
    )
    _sheet_options(sheet, review)
    split.add_argument("--output", required=True, metavar="DIR", help="the folder to write")
    agreement.add_argument(
        "--merge",
        choices=("unanimous", "majority", "adjudicated"),
        help="list the units that this rule leaves ambiguous",
    )
    agreement.add_argument(
        "--ordinal", action="store_true", help="the judge's labels are ordered: give the ordinal alpha too"
    )
    seed_option(agreement, "the bootstrap")
    for action in (check, split):
        action.add_argument(
            "--split",
            default="50/20/30",
            metavar="T/D/T",
            help="shares of train, dev and test (default: 50/20/30)",
        )
        seed_option(action, "the split")
    for action in (check, agreement):
        action.add_argument("--json", action="store_true", help="print one JSON object")


def _sheet_options(sheet: Any, review: Any) -> None:
    sheet.add_argument("--all", action="store_true", help="also units that have a gold label")
    review.add_argument("--verdicts", required=True, metavar="F.jsonl", help="what jurist run wrote")
    gold_option(review, "also units on which judge and gold differ", required=False)
    review.add_argument(
        "--input", metavar="PATH|NAME", help="the rows that were judged (default: the files the run names)"
    )
    review.add_argument(
        "--top", type=int, metavar="N", help="the first N units only (default: all candidates)"
    )
    for action in (sheet, review):
        action.add_argument(
            "--output", required=True, metavar="F", help="the sheet to write: .csv, or .json for Label Studio"
        )
        action.add_argument(
            "--rater", default="annotator", metavar="NAME", help="who is going to label (default: annotator)"
        )
        action.add_argument(
            "--format", choices=("csv", "labelstudio"), help="of the sheet (default: by the suffix)"
        )
