"""What ``share`` takes."""

from .command import Command
from .groups import Printed, RowOptions, some_gold
from .options import option, positional


class ShareOptions(RowOptions, Printed):
    output: str = positional("OUTPUT", help="what jurist run has written: JSONL, CSV or Parquet")
    gold: str | None = some_gold("rows of the run's input, drawn at random, with labels of people")
    judge: str | None = option(
        "--judge",
        metavar="JUDGE",
        help="who judged, where the output's own name of it is not enough, as file.py:judge",
    )


SHARE = Command(
    name="share",
    does="share.run",
    options=ShareOptions,
    help="""\
How often a run found what, without the judge's measured errors: each label's share as judged, corrected by what the
judge took for what on its sealed test, and by labelled rows of the run. Asks no model.
""",
    examples="""\
examples:
  jurist share verdicts.jsonl
  jurist share verdicts.jsonl --gold labelled.csv
  jurist share verdicts.parquet --gold labelled.csv --json

The first correction (Rogan and Gladen) takes for granted that the judge errs on these rows as on its sealed test. The
second (prediction-powered inference, PPI++) takes nothing for granted, but that labelled rows were drawn at random.
""",
)
