"""What ``compare`` and ``evaluate`` take."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import AskedOptions, ModelsOptions, ScoringOptions, asked_judge
from .options import option, positional


class CompareOptions(ModelsOptions, ScoringOptions):
    helps: ClassVar[Mapping[str, str]] = {"calls": "never make one call more, over all judges and models"}

    judges: tuple[str, ...] = positional(
        "JUDGE[@VERSION]|JUDGE:basic",
        nargs="+",
        help="judges, versions and variants with the same labels; each is asked with each model",
    )
    repeats: int = option(
        "--repeats", 1, metavar="N", help="ask everything N times, with other draws (default: 1)"
    )
    pairs: Literal["first", "all"] = option(
        "--pairs",
        "first",
        help="test the first against each other one, or all pairs (default: first)",
    )
    plot: str | None = option(
        "--plot",
        metavar="F.svg",
        help="draw how far scores are from gold (judges of scores)",
    )


class EvaluateOptions(AskedOptions, ScoringOptions):
    judge: str = asked_judge()
    worst: int = option("--worst", 5, metavar="N", help="how many disagreements to print (default: 5)")


COMPARE = Command(
    name="compare",
    does="compare.run",
    options=CompareOptions,
    help="""\
Score judges on the same gold: judges x models x repeats, with two kinds of 95 % interval (other rows; asked again),
self-consistency, and paired tests corrected together (Holm).
""",
    examples="""\
examples:
  jurist compare fect fect:basic --gold labels.csv
  jurist compare fect:basic fect@2 --gold labels.csv --repeats 10 --pairs all --json
  jurist compare fect:basic fect --gold labels.csv --repeats 10 \\
    --model openai/gpt-4.1 --model openai/gpt-4.1-mini --max-cost 5 --yes --output result.json

Rows that one of the artifacts was compiled on are left out, and counted. With one repeat the test is exact McNemar
on units; with several, a permutation test of the mean metric that exchanges whole conversations. Calls, tokens and
cost are estimated before anything is sent. After Ctrl-C, a limit or a crash, --resume continues and pays nothing
twice.
""",
)
EVALUATE = Command(
    name="evaluate",
    does="evaluate.run",
    options=EvaluateOptions,
    help="""\
Score one judge on gold: every metric with its 95 % interval, what was not answered, and the worst disagreements to
read. Rows that the judge was compiled on are left out, and counted.
""",
    examples="""\
examples:
  jurist evaluate fect:basic --gold fect-mini
  jurist evaluate fect@2 --gold labels.csv --worst 20
  jurist evaluate fect:basic --gold labels.csv --model openai/gpt-4.1-mini --max-calls 500 --json

Calls, tokens and cost are estimated before anything is sent to a real model. After Ctrl-C, a limit or a crash,
--resume continues and pays nothing twice.
""",
)
