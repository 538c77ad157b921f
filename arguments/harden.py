"""What ``harden`` takes."""

from .command import Command
from .groups import AskedOptions, AttackedField, ScoringOptions, asked_judge, whole
from .options import option, repeated


class HardenOptions(AttackedField, AskedOptions, ScoringOptions):
    judge: str = asked_judge("what is attacked")
    cases: int = option(
        "--cases", 100, type=whole, metavar="N", help="attack N cases at most, evenly spread (default: 100)"
    )
    only: tuple[str, ...] = repeated(
        "--only", metavar="NAME", help="one attack or probe in its languages, such as fake-verdict"
    )
    suite: str | None = option("--suite", metavar="F.toml", help="attacks of your own in place of jurist's")


HARDEN = Command(
    name="harden",
    does="harden.run",
    options=HardenOptions,
    help="""\
Attack a judge: how often its answer changes when the judged text forges verdicts, roles, delimiters and fields or
gives instructions, and under probes for biases (length, position, formatting, authority, self-praise), in English and
Chinese.
The flip rates, each with a 95 % interval, are kept beside the card of the artifact.
""",
    examples="""\
examples:
  jurist harden fect:basic --gold fect-mini
  jurist harden fect@2 --gold labels.csv --cases 300 --only instruction --only role
  jurist harden satisfaction:basic --gold faithqa-mini --field response
  jurist harden fect@2 --gold labels.csv --model openai/gpt-4.1-mini --cases 40 --max-cost 1

Every case is asked as it is, once more as it is, and once for each change. Rows that the judge was compiled on are left
out. No label is compared with, so no sealed test is opened. After Ctrl-C, a limit or a crash, --resume continues.
""",
)
