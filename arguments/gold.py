"""What ``gold`` with its actions and ``review`` take."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import (
    PORT,
    Form,
    GoldOptions,
    Printed,
    RowOptions,
    SeedOptions,
    SplitOptions,
    StrictnessOptions,
    name,
    port,
    some_gold,
    whole,
)
from .options import Options, flag, option, positional

_Rule = Literal["unanimous", "majority", "adjudicated", "reviewed"]


class JudgedGold(RowOptions, Printed):
    """A judge, and gold of it: named by ``--gold`` as everywhere, or in its place."""

    judge: str = positional("JUDGE", help="the judge whose labels these are")
    place: str | None = positional(
        "PATH|NAME", nargs="?", type=name, help="a bundled name, a file, a folder, hf:org/name"
    )
    named: str | None = some_gold("the same, as an option")


class CheckOptions(SplitOptions, SeedOptions, JudgedGold):
    helps: ClassVar[Mapping[str, str]] = {"seed": "of the split (default: 0)"}


class SplitGoldOptions(CheckOptions):
    output: str = option(required=True, metavar="DIR", help="the folder to write")


class AgreementOptions(JudgedGold):
    merge: _Rule | None = option(help="list the units that this rule leaves ambiguous")
    ordinal: bool = flag(help="the judge's labels are ordered: give the ordinal alpha too")


class ImportOptions(RowOptions, Printed):
    judge: str = positional("JUDGE", help="the judge whose labels these are")
    gold: tuple[str, ...] = positional(
        "PATH|NAME", nargs="+", type=name, help="files, sheets, exports, ...; several are joined"
    )
    output: str = option(required=True, metavar="F.jsonl", help="the file to write")
    merge: _Rule | None = option(
        help="make gold labels of the ratings by this rule; what it leaves ambiguous is written without a label"
    )


class SheetFormat(Options):
    """A sheet for people to label."""

    output: str = option(
        required=True, metavar="F", help="the sheet to write: .csv, or .json for Label Studio"
    )
    rater: str = option("annotator", metavar="NAME", help="who is going to label")
    format: str | None = option(choices=("csv", "labelstudio"), help="of the sheet (default: by the suffix)")


class SheetOptions(SheetFormat, JudgedGold):
    every: bool = flag(name="--all", help="also units that have a gold label")


class ReviewOptions(SheetFormat, Printed):
    judge: str = positional("JUDGE", help="the judge whose labels these are")
    verdicts: str = option(required=True, metavar="F.jsonl", help="what jurist run wrote")
    gold: str | None = some_gold("also units on which judge and gold, or raters, differ")
    input: str | None = option(
        metavar="PATH|NAME", help="the rows that were judged (default: the files the run names)"
    )
    top: int | None = option(type=whole, help="the first N units only (default: all candidates)")


class DynamicsOptions(GoldOptions, StrictnessOptions, Form):
    helps: ClassVar[Mapping[str, str]] = {
        "gold": "labelled rows of the cognibench judge, or a dataset folder"
    }

    parts: int = option(5, type=whole, help="into how many parts an answer is cut")
    csv: str | None = option(metavar="F.csv", help="write the tables as CSV too")
    plots: str | None = option(metavar="DIR", help="draw the figures into a folder")


GOLD = (
    Command(
        name="gold check",
        does="gold.check",
        options=CheckOptions,
        help="Validate a gold set and describe it: everything that is wrong at once, with counts.",
        examples="""\
examples:
  jurist gold check fect --gold labels.csv
  jurist gold check fect --gold labels.csv --column answer=claim --map yes=factual --map no=non_factual
  jurist gold check fect --gold labels.csv --rejects bad.jsonl

The same --column, --map and --rejects go with compile, evaluate, compare and gold import, which writes the mended rows.
""",
    ),
    Command(
        name="gold import",
        does="gold.import_",
        options=ImportOptions,
        help="Read any known format, filled sheets included, and write canonical JSONL.",
        examples="""\
examples:
  jurist gold import fect fect_benchmark.csv --output gold.jsonl
  jurist gold import fect labels.csv --column answer=claim --map yes=factual --rejects bad.jsonl --output gold.jsonl
  jurist gold import fect ann.csv bob.csv --merge unanimous --output gold.jsonl
  jurist gold import fect gold.jsonl review.csv --merge reviewed --output gold2.jsonl
""",
    ),
    Command(
        name="gold split",
        does="gold.split",
        options=SplitGoldOptions,
        help="Write train, dev and test as files.",
    ),
    Command(
        name="gold agreement",
        does="gold.agreement",
        options=AgreementOptions,
        help="How far raters agree, how well each does against the rest, and what merging leaves ambiguous.",
    ),
    Command(
        name="gold sheet",
        does="gold.sheet",
        options=SheetOptions,
        help="Write the units to label: a CSV for a spreadsheet, or tasks for Label Studio.",
        examples="""\
examples:
  jurist gold sheet fect claims.jsonl --output ann.csv --rater ann
  jurist gold sheet fect claims.jsonl --output tasks.json

Units that have a gold label, or a label of this rater, are left out. A filled sheet goes to jurist gold import.
""",
    ),
    Command(
        name="gold dynamics",
        does="generate.dynamics",
        options=DynamicsOptions,
        help="How statements and hallucinations change by turn and by position in the answer (Figures 5 and 7).",
        examples="""\
examples:
  jurist gold dynamics --gold cognibench-mini
  jurist gold dynamics --gold dataset/ --plots figures/ --csv dynamics.csv
""",
    ),
    Command(
        name="gold review",
        does="gold.review",
        options=ReviewOptions,
        help="Write the units whose label is worth most as a sheet: the judge wavers, or judge, gold or raters differ.",
        examples="""\
examples:
  jurist run fect --input claims.jsonl --samples 5 --stopping all --output verdicts.jsonl
  jurist gold review fect --verdicts verdicts.jsonl --output review.csv --rater ann --top 50
  jurist gold import fect gold.jsonl review.csv --merge reviewed --output gold2.jsonl
""",
    ),
)


class PageOptions(JudgedGold):
    output: str = option(
        name="-o --output",
        required=True,
        metavar="F.jsonl",
        help="where labels are kept; an existing file goes on",
    )
    verdicts: str | None = option(
        metavar="F.jsonl", help="what jurist run wrote: what the judge wavers on comes first"
    )
    rater: str = option("", metavar="NAME", help="the name that the page proposes")
    guideline: str | None = option(
        metavar="F.md", help="how to label (default: the bundled set's, else the basic prompt)"
    )
    every: bool = flag(
        name="--all", help="also units that have a gold label on which nobody and nothing differs"
    )
    top: int | None = option(type=whole, help="the first N units only")
    port: int = option(PORT, type=port, help=f"of the page (default: {PORT})")


REVIEW = Command(
    name="review",
    does="pages.review",
    options=PageOptions,
    help="""\
A page on this machine on which people label the units that matter, those first whose label is worth most: where raters
differ, where the judge wavers or differs from gold; then what has no label. JUDGE@V takes the gold and the cases of
train and dev that it was compiled on, and asks first about those on which the prompts that were tried differ most. From
the keyboard, with the guideline beside; several raters never see each other's labels. A label is on the disk before the
page says that it is saved.
""",
    examples="""\
examples:
  jurist review fect claims.jsonl -o labels.jsonl --rater ann
  jurist run fect --input claims.jsonl --samples 5 --stopping all --output verdicts.jsonl
  jurist review fect claims.jsonl --verdicts verdicts.jsonl -o labels.jsonl
  jurist gold import fect claims.jsonl labels.jsonl --merge reviewed --output gold2.jsonl
  jurist review fect@1 -o labels.jsonl

Ctrl-C ends it; the same command goes on. Needs: pip install 'jurist[serve]'
""",
)
