"""What ``artifacts`` with its actions and ``report`` take."""

from .command import Command
from .groups import Limits, Printed, Resume, Transport, name, some_gold
from .options import flag, option, positional


class ShowOptions(Printed):
    artifact: str = positional("JUDGE[@VERSION]")
    history: bool = flag(help="every candidate that was tried, and score against calls")
    prompt: bool = flag(help="the prompt alone")
    diff: bool = flag(help="what compiling changed in the basic prompt")
    confusion: bool = flag(help="what people said against what both prompts said, on the sealed test")
    plot: str | None = option(metavar="F.svg|F.png", help="write a plot of score against calls")


class DiffOptions(Printed):
    first: str = positional("JUDGE[@VERSION]|JUDGE:basic")
    second: str = positional("JUDGE[@VERSION]|JUDGE:basic")


class TagOptions(Printed):
    artifact: str = positional("JUDGE@VERSION")
    tag: str = positional("TAG")


class LineageOptions(Printed):
    judge: str = positional("JUDGE")


class PackOptions(Printed):
    artifact: str = positional("JUDGE[@VERSION]")
    output: str | None = option(metavar="F.zip", help="default: JUDGE-VERSION.zip")


class UnpackOptions(Printed):
    file: str = positional("FILE")


class VerifyOptions(Printed):
    artifact: str | None = positional("JUDGE[@VERSION]", nargs="?", help="default: all of them")


class ChooseOptions(Transport, Limits, Resume, Printed):
    artifact: str = positional("JUDGE@VERSION")
    candidate: str = positional("CANDIDATE", help="its name in the history, its id, or the beginning of that")
    gold: str | None = some_gold("the gold set it was compiled on (default: as named on the card)")
    api_base: str | None = option(metavar="URL", help="address of the model (default: the card's)")
    force: bool = flag(help="make it the latest version even if it is not shown to be better")


ARTIFACTS = (
    Command(name="artifacts list", does="artifacts.list_", options=Printed, help="All artifacts."),
    Command(
        name="artifacts show",
        does="artifacts.show",
        options=ShowOptions,
        help="One artifact: prompt, scores, decision, provenance.",
        examples="""\
examples:
  jurist artifacts show fect
  jurist artifacts show fect@2 --history
  jurist artifacts show fect@2 --diff
  jurist artifacts show fect@2 --plot score.svg
""",
    ),
    Command(
        name="artifacts diff",
        does="artifacts.diff",
        options=DiffOptions,
        help="What changed from one prompt to another.",
    ),
    Command(name="artifacts tag", does="artifacts.tag", options=TagOptions, help="Give a version a name."),
    Command(
        name="artifacts verify",
        does="artifacts.verify",
        options=VerifyOptions,
        help="Find any changed byte.",
    ),
    Command(
        name="artifacts lineage",
        does="artifacts.lineage",
        options=LineageOptions,
        help="The versions of a judge: what each came from, how, and what was decided.",
    ),
    Command(
        name="artifacts pack",
        does="artifacts.pack_",
        options=PackOptions,
        help="Write one artifact as one file.",
    ),
    Command(
        name="artifacts unpack",
        does="artifacts.unpack_",
        options=UnpackOptions,
        help="""\
Put a packed artifact into the store, if its seal holds.
It keeps its version where that number is free; else it gets the next one, and its card says which it was.
""",
    ),
    Command(
        name="artifacts choose",
        does="compile.choose_candidate",
        options=ChooseOptions,
        help="""\
Make another candidate of a compilation the artifact: a point of its front of cost and score, or any of its history.
It becomes a new version, proven beside the basic prompt on the same sealed test. The card says how often that test
has been opened, and the level of the decision falls with it: choosing until something looks
better proves nothing.
""",
        examples="""\
examples:
  jurist artifacts show fect@2 --history
  jurist artifacts choose fect@2 1f0c93ab77de
  jurist artifacts choose fect@2 1f0c --gold labels.csv --json

The model, its settings and the split are those on the card. Only keys come from the environment.
With a real model you are asked before more than 1000 calls or 1 USD, or have said --yes.
""",
    ),
)


class ReportOptions(Printed):
    subject: str = positional(
        "JUDGE[@VERSION]|F.json|F.jsonl",
        type=name,
        help="a compiled judge, or what evaluate, compare or run wrote",
    )
    output: str | None = option(
        name="-o --output",
        metavar="F.html",
        help="where the page is written (default: named after its subject)",
    )
    gold: str | None = some_gold(
        "the gold set it was proven on, for the inputs of the cases (default: as named on the card)"
    )


REPORT = Command(
    name="report",
    does="artifacts.report",
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
