"""What ``prove`` takes."""

from .command import Command
from .groups import Endpoint, PaidOptions, RowOptions, Transport, VerifierOptions, port, whole
from .groups import name as named
from .options import flag, option, positional
from .review import PORT


class ProveOptions(RowOptions, Endpoint, Transport, VerifierOptions, PaidOptions):
    artifact: str = positional("JUDGE@VERSION")
    rows: str | None = option(
        "--rows",
        type=named,
        metavar="PATH|NAME",
        help="rows that nobody labelled; labels in them are not read",
    )
    number: int = option(
        "--labels", 40, type=whole, metavar="N", help="labels to plan, one a group (default: 40)"
    )
    model: str | None = option(
        "--model", metavar="M", help="who answers (default: the model it was proven with)"
    )
    sheet: str | None = option(
        "--sheet", exclusive="how", metavar="F.csv", help="write the planned units as a sheet for a person"
    )
    review: bool = flag(
        "--review",
        exclusive="how",
        help="label them on a page on this machine; Ctrl-C ends it, the same goes on",
    )
    answers: str | None = option(
        "--answers", exclusive="how", metavar="F.csv", help="the sheet that came back: decides"
    )
    rater: str = option(
        "--rater", "annotator", metavar="NAME", help="who is going to label (default: annotator)"
    )
    port: int = option("--port", PORT, type=port, metavar="N", help=f"of the page (default: {PORT})")


PROVE = Command(
    name="prove",
    does="prove.run",
    options=ProveOptions,
    help="""\
Show whether a version is better than its basic prompt by labels where the two differ: both are asked about rows that
nobody labelled, people label a planned number of those on which they differ, one a group, at random, without seeing who
said what, and an exact sign test decides. It takes a fraction of the labels of a sealed test, and opens none.
""",
    examples="""\
examples:
  jurist prove fect@2 --rows new.jsonl                       # asks both, and says what 40 labels will confirm
  jurist prove fect@2 --sheet labels.csv --rater ann         # for a spreadsheet; or --review, a page on this machine
  jurist prove fect@2 --answers labels.csv                   # the sheet that came back: decides

The plan is fixed before any label is seen, and decided when all of its labels are in. Another one for the same version
(other --rows, or --fresh) counts, and its level falls: 0.025, 0.0083, 0.0042. Where nobody can tell, leave the label
empty and write a reason under "ambiguity". A version that is shown better is made latest, if its sealed test shows it
to be better than a constant answer too.
""",
)
