"""What ``run`` takes."""

import argparse
from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import AskedOptions, Form, Limits, RowOptions, allowed, asked_judge, name, whole
from .options import flag, option, positional


def _shard(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no shard: write 2/4 for the second of four")
    return int(number), int(of)


class JudgedRows(Limits, AskedOptions, RowOptions):
    """Which rows are judged, and where the lines go."""

    helps: ClassVar[Mapping[str, str]] = {
        "calls": "never make one call more; the rows that are left wait for --resume",
        "rejects": "where rows that cannot be used are set aside, with the reasons (default: OUTPUT.rejected.jsonl)",
    }

    judge: str = asked_judge()
    input: str = option(
        "--input",
        required=True,
        metavar="F",
        help="rows to judge: JSONL, CSV, Parquet, a folder of them, hf:org/name; - is standard input",
    )
    output: str = option(
        "--output",
        required=True,
        metavar="F.jsonl",
        help="where the lines go: .jsonl, .csv or .parquet; - is standard output (JSONL)",
    )
    keep: str = option(
        "--keep",
        "all",
        metavar="NAMES",
        help="columns that travel into the output, with commas; all that are not judged (default), or none",
    )
    on_bad_row: Literal["reject", "stop"] = option(
        "--on-bad-row",
        "reject",
        help="set a row that cannot be used aside, with the reason, and judge the others (default), or stop",
    )
    unordered: bool = flag("--unordered", help="write lines as they come, not in the order of the input")
    stopping: Literal["settled", "all"] = option(
        "--stopping",
        "settled",
        help="draw samples until no outcome of the row can change (default), or all; the verdicts are the same",
    )
    probabilities: Literal["votes", "tokens"] = option(
        "--probabilities",
        "votes",
        help="tokens: write how probable each label was, read from the log-probabilities of the reply's tokens where "
        "the endpoint gives them (default: the votes alone)",
    )
    max_unusable: float = allowed(
        "--max-unusable", 0.05, "share of failed, abstained and rejected rows above which the exit code is 3"
    )


class RunOptions(JudgedRows):
    shard: tuple[int, int] | None = option(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="judge the I-th of N parts of the rows, by their hash, into a file of its own (OUTPUT-I-of-N.jsonl); "
        "jurist join puts the files together",
    )
    canary: bool = flag(
        "--canary",
        help="before anything else, ask rows of the version's sealed test again, and say if the model has drifted",
    )
    canary_gold: str | None = option(
        "--canary-gold",
        type=name,
        metavar="PATH|NAME",
        help="where those rows are (default: the gold that the version was compiled with)",
    )
    on_drift: Literal["warn", "stop"] = option(
        "--on-drift",
        "warn",
        help="what the canary does where drift is shown: say so (default), or end the run before its rows are asked",
    )
    engine: Literal["local", "ray"] = option(
        "--engine",
        "local",
        help="where rows are judged: in this process (default), or on the workers of a Ray cluster, in shards",
    )
    workers: int | None = option(
        "--workers", type=whole, metavar="N", help="workers on Ray (default: one for each CPU of the cluster)"
    )
    resume: bool = flag(
        "--resume", exclusive="unfinished", help="continue the output file; failed rows are asked again"
    )
    retry_failed: bool = flag(
        "--retry-failed",
        exclusive="unfinished",
        help="ask the failed rows of the output file again, and no others",
    )
    fresh: bool = flag(
        "--fresh", exclusive="unfinished", help="forget what an unfinished run of this output has paid for"
    )


RUN = Command(
    name="run",
    does="run.run",
    options=RunOptions,
    help="Judge new rows, one line each: id, verdict, votes, reasoning, error, usage, artifact hash.",
    examples="""\
examples:
  jurist run fect --input claims.jsonl --output verdicts.jsonl
  jurist run cognibench@2 --input rows.csv --output out.jsonl --samples 5 --threshold 3
  cat claims.jsonl | jurist run fect:basic --input - --output - > verdicts.jsonl
  jurist run fect --input calls/ --output out.parquet --column transcript=conversation --column summary=claim
  jurist run fect --input claims.csv --output out.jsonl --model openai/gpt-4.1-mini --max-cost 2 --yes
  jurist run fect --input claims.csv --output out.jsonl --canary --on-drift stop

With a real model calls, tokens and cost are estimated first, and above 1000 calls or 1 USD you are asked, or have
said --yes. After a limit, Ctrl-C or a crash, --resume judges the rows that are left; no finished row is paid twice.
""",
)


class JoinOptions(Form):
    shards: tuple[str, ...] = positional(
        "F-I-of-N.jsonl", nargs="+", help="the output of each jurist run --shard"
    )
    output: str = option(
        "--output", required=True, metavar="F", help="where the lines go: .jsonl, .csv or .parquet"
    )


JOIN = Command(
    name="join",
    does="run.joined",
    options=JoinOptions,
    help="Join the outputs of jurist run --shard: the lines of one run, in the order of the input.",
    examples="""\
examples:
  jurist run fect --input claims.jsonl --output verdicts.jsonl --shard 1/2
  jurist run fect --input claims.jsonl --output verdicts.jsonl --shard 2/2
  jurist join verdicts-*-of-2.jsonl --output verdicts.jsonl

Exit code 3: a shard is not finished, and its rows are not all there.
""",
)
