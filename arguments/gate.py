"""What ``gate`` takes."""

import argparse

from .command import Command
from .groups import AskedOptions, AttackedField, ScoringOptions, allowed, asked_judge, share
from .options import flag, option, repeated


def _limit(text: str) -> tuple[str, float]:
    metric, _, value = text.partition("=")
    try:
        return metric.strip(), float(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} has no number: write METRIC=NUMBER, as f1=0.8") from error


class CriteriaOptions(AttackedField):
    """What a judge must meet, beside the limits of its metrics."""

    sure: bool = flag("--sure", help="hold the worse end of the 95 %% interval against --min and --max")
    margin: float | None = option(
        "--margin",
        metavar="M",
        help="with --not-worse-than: fail unless the interval shows that it is worse by M at most",
    )
    max_flip: float | None = option(
        "--max-flip",
        type=share,
        metavar="SHARE",
        help="attack the judge as jurist harden does, and fail if an attack or a probe flips more of its answers",
    )
    max_unusable: float = allowed("--max-unusable", 0.05, "largest share of units without an answer")


class GateOptions(CriteriaOptions, AskedOptions, ScoringOptions):
    judge: str = asked_judge("what is to pass")
    minimum: tuple[tuple[str, float], ...] = repeated(
        "--min", type=_limit, metavar="METRIC=VALUE", help="the lowest value that passes"
    )
    maximum: tuple[tuple[str, float], ...] = repeated(
        "--max", type=_limit, metavar="METRIC=VALUE", help="the highest value that passes, of an error"
    )
    not_worse_than: str | None = option(
        "--not-worse-than",
        metavar="@TAG|JUDGE@V|constant",
        help="fail if the judge is shown to be worse than this one, or than the best constant answer (or: words, "
        "neighbours)",
    )
    junit: str | None = option("--junit", metavar="F.xml", help="write the checks as JUnit, for CI")


GATE = Command(
    name="gate",
    does="gate.run",
    options=GateOptions,
    help="""\
Pass or fail a judge in CI: limits of its metrics on gold, not worse than another version in a paired test, and not
moved by attacks.
""",
    examples="""\
examples:
  jurist gate fect --gold labels.csv --min f1=0.8 --not-worse-than @prod
  jurist gate fect@3 --gold labels.csv --min f1=0.75 --sure --junit gate.xml --markdown >> $GITHUB_STEP_SUMMARY
  jurist gate fect@3 --gold labels.csv --min f1=0.8 --max-flip 0.02 --not-worse-than @prod
  jurist gate reply-score --gold labels.csv --max mae=0.5 --not-worse-than constant

Exit code 0 if every check holds, 3 if one does not, 1 if it could not be found out.
In pytest: jurist.testing.assert_judge.
""",
)
