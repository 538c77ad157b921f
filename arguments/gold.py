"""What ``gold`` with its actions and ``review`` take."""

from .groups import (
    Printed,
    RaterOptions,
    RowOptions,
    Rule,
    SeedOptions,
    SplitOptions,
    gold_option,
    nonempty_name,
    port,
    positive_integer,
    share_or_percent,
)
from .options import choice, flag, option, positional


class JudgedGold(RaterOptions, RowOptions, Printed, group=True):
    """A judge, and gold of it: named by ``--gold`` as everywhere, or in its place."""

    judge: str = positional("JUDGE", "the judge whose labels these are")
    source: str | None = positional(
        "PATH|NAME",
        "a bundled name, a file, a folder, hf:org/name",
        nargs="?",
        type=nonempty_name,
        exclusive="gold",
    )
    gold: str | None = gold_option("labelled rows, in place of PATH|NAME", exclusive="gold")


class CheckOptions(
    SplitOptions,
    SeedOptions,
    JudgedGold,
    command="gold check",
    does="gold.check_command",
    helps={"seed": "seed of the split (default: 0)"},
):
    """Check labelled rows and describe them: every fault in one list, with counts.

    examples:
      jurist gold check fect --gold labels.csv --column answer=claim --map yes=factual --rejects bad.jsonl

    compile, evaluate, compare and gold import take the same --column, --map and --rejects.
    """


class ImportOptions(RaterOptions, RowOptions, Printed, command="gold import", does="gold.import_command"):
    """Read any known format, filled sheets included, and write canonical JSONL.

    examples:
      jurist gold import fect labels.csv --column answer=claim --rejects bad.jsonl --output gold.jsonl
      jurist gold import fect ann.csv bob.csv --merge unanimous --output gold.jsonl
      jurist gold import fect gold.jsonl review.csv --merge reviewed --output gold2.jsonl
      jurist gold import score.py:judge raw.csv --raters ann,bob --merge median -o g.jsonl
    """

    judge: str = positional("JUDGE", "the judge whose labels these are")
    gold: tuple[str, ...] = positional(
        "PATH|NAME", "files, sheets, exports, ...; several are joined", nargs="+", type=nonempty_name
    )
    output: str = option("F.jsonl", "the file to write")
    merge: Rule | None = choice(
        "make gold labels of the ratings by this rule; ambiguous units are written without a label"
    )


class TracesOptions(Printed, command="gold traces", does="gold.write_traces"):
    """Write a row for each trace in exports of tracing tools, files of spans, or conversations with tool calls.

    Reads messages of OpenAI, Anthropic and LangChain, spans of OpenTelemetry and OpenInference, and exports of
    Langfuse, LangSmith, MLflow and Phoenix. A judge reads the rows in an input of the type jurist.Trace.

    examples:
      jurist gold traces spans.json --output traces.jsonl
      jurist run agent_check.py:judge --input traces.jsonl --output verdicts.jsonl
    """

    sources: tuple[str, ...] = positional(
        "PATH", "files of traces: JSON, JSONL, CSV or Parquet", nargs="+", type=nonempty_name
    )
    output: str = option("F.jsonl", "the file to write")


class PlanGoldOptions(SplitOptions, JudgedGold, command="gold plan", does="gold_plan.plan_labels"):
    """Say what a compilation with 100, 200 or 400 labels could show, and which labels help most. Asks no model.

    examples:
      jurist gold plan fect --gold labels.csv      # from the labels that are there
      jurist gold plan fect@1                      # from what both prompts answered on the sealed test of a version
    """


class SplitGoldOptions(CheckOptions, command="gold split", does="gold.write_parts"):
    """Write train, dev and test as files."""

    output: str = option("DIR", "the folder to write")


class AgreementOptions(JudgedGold, command="gold agreement", does="gold.measure_agreement"):
    """Measure how far raters agree, how well each agrees with the rest, and how much merging leaves ambiguous."""


class ReviewOptions(
    JudgedGold,
    SeedOptions,
    command="review",
    does="pages.review_units",
    helps={"seed": "seed of --sample (default: 0)"},
):
    """Label rows, on a page on this machine or in a sheet. The most informative units come first: where raters
    differ, where the judge wavers or differs from gold; then units without a label. JUDGE@V takes the gold that it was
    compiled on.

    examples:
      jurist review fect claims.jsonl -o labels.jsonl --rater ann          # a page, from the keyboard
      jurist review fect claims.jsonl -o ann.csv --rater ann               # a sheet for a spreadsheet
      jurist review fect claims.jsonl --verdicts verdicts.jsonl -o labels.jsonl
      jurist review fect claims.jsonl -o labels.jsonl --rater ann,bob --overlap 20%     # a link and a share for each
      jurist review label-check bench/verified.jsonl -o ann.csv --rater ann --sample 300
      jurist gold import fect claims.jsonl labels.jsonl --merge reviewed --output gold2.jsonl

    Raters never see each other's labels on the page; settle their differences at /resolve. Ctrl-C ends the page, and
    the same command goes on. A sheet leaves out units that its rater has labelled.
    Needs: pip install 'jurist[serve]'
    """

    output: str = option(
        "F",
        "the file of the labels: F.jsonl opens a page, F.csv is a sheet",
    )
    verdicts: str | None = option(
        "F.jsonl", "the output of jurist run for these rows: units on which the judge wavers come first"
    )
    rater: str = option(
        "NAME[,NAME...]",
        "who labels: a name on the page or in a sheet, or links for several",
        "",
    )
    overlap: float | None = option(
        "SHARE",
        "the share of the rows that all of --rater a,b label, such as 20%%; each other row goes to one of them "
        "(default: all label everything)",
        type=share_or_percent,
    )
    guideline: str | None = option("F.md", "how to label (default: the bundled set's, else the basic prompt)")
    every: bool = flag("also units with a gold label with which raters and judge agree", flags="--all")
    top: int | None = option("N", "the first N units only", type=positive_integer)
    sample: int | None = option(
        "N",
        "N units drawn at random, labelled or not; each rater gets the same ones with the same --seed",
        type=positive_integer,
    )
    host: str = option(
        "ADDRESS",
        "address of the page (default: 127.0.0.1); on other machines raters need links",
        "127.0.0.1",
    )
    port: int = option("N", "port of the page", 8421, type=port)
