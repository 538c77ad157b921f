"""What ``report`` takes."""

from .command import Command
from .groups import Printed, name, some_gold
from .options import option, positional


class ReportOptions(Printed):
    subject: str = positional(
        "JUDGE[@VERSION]|F.json|F.jsonl",
        type=name,
        help="a compiled judge, or what evaluate, compare or run wrote",
    )
    output: str | None = option(
        "-o --output",
        metavar="F.html",
        help="where the page is written (default: named after its subject)",
    )
    gold: str | None = some_gold(
        "the gold set it was proven on, for the inputs of the cases (default: as named on the card)"
    )


REPORT = Command(
    name="report",
    does="report.run",
    options=ReportOptions,
    help="""\
One page about a compiled judge, in one file that needs no network: whether compiling helped, on what evidence, what
changed in the prompt, and every case of the sealed test to search and read. Of a saved result (--output or --json of
evaluate, compare, assess; the JSON lines of a run), what it holds.
""",
    examples="""\
examples:
  jurist report fect
  jurist report fect@2 -o report.html
  jurist evaluate fect:basic --gold labels.csv --output result.json && jurist report result.json
  jurist report may-send --gold labels.csv -o report.html
""",
)
