"""What ``review`` takes."""

from .command import Command
from .gold import JudgedGold
from .groups import port, whole
from .options import flag, option

PORT = 8421


class PageOptions(JudgedGold):
    output: str = option(
        "-o --output",
        required=True,
        metavar="F.jsonl",
        help="where labels are kept; an existing file goes on",
    )
    verdicts: str | None = option(
        "--verdicts", metavar="F.jsonl", help="what jurist run wrote: what the judge wavers on comes first"
    )
    rater: str = option("--rater", "", metavar="NAME", help="the name that the page proposes")
    guideline: str | None = option(
        "--guideline",
        metavar="F.md",
        help="how to label (default: the bundled set's, else the basic prompt)",
    )
    every: bool = flag("--all", help="also units that have a gold label on which nobody and nothing differs")
    top: int | None = option("--top", type=whole, metavar="N", help="the first N units only")
    port: int = option("--port", PORT, type=port, metavar="N", help=f"of the page (default: {PORT})")


REVIEW = Command(
    name="review",
    does="reviewing.run",
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
