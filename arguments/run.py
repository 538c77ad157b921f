"""What ``run`` with its actions, ``batch`` with its own, and ``serve`` take."""

import argparse
from typing import Literal

from .groups import (
    AskedOptions,
    Form,
    HardLimits,
    Limits,
    RowOptions,
    allowed,
    asked_judge,
    nonempty_name,
    nonnegative_integer,
    port,
    positive_integer,
    seconds,
)
from .options import choice, file_name, flag, option, positional


def _shard(text: str) -> tuple[int, int]:
    """Return the number of a shard, from 1, and the number of all shards, which ``2/4`` names."""
    number, _, shards = text.partition("/")
    if not (number.isdecimal() and shards.isdecimal() and 1 <= int(number) <= int(shards)):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no shard: write 2/4 for the second of four")
    return int(number), int(shards)


class JudgedRows(
    Limits,
    AskedOptions,
    RowOptions,
    group=True,
    helps={
        "calls": "hard limit on calls; the rows that are left wait for --resume",
        "rejects": "where rows that cannot be used are set aside, with the reasons (default: OUTPUT.rejected.jsonl)",
    },
):
    """Which rows are judged, and where the lines go."""

    judge: str = asked_judge()
    input: str = option(
        "F",
        "rows to judge: JSONL, CSV, Excel, Parquet, a folder of them, hf:org/name; - is standard input",
        type=nonempty_name,
    )
    output: str = option("F.jsonl", "where the lines go: .jsonl or .csv; - is standard output (JSONL)")
    keep: str = option(
        "NAMES",
        "columns that travel into the output, with commas; all that are not judged (default), or none",
        "all",
    )
    stopping: Literal["settled", "all"] = choice(
        "draw samples until no outcome of the row can change (default), or all; the verdicts are the same",
        "settled",
    )
    probabilities: Literal["votes", "tokens"] = choice(
        "tokens: write how probable each label was, read from the log-probabilities of the reply's tokens "
        "where the endpoint gives them (default: the votes alone)",
        "votes",
    )
    max_unusable: float = allowed(
        0.05, "share of failed, abstained and rejected rows above which the exit code is 3"
    )


class RunOptions(JudgedRows, command="run JUDGE", does="run.run_command"):
    """Judge new rows, one line each: id, verdict, votes, reasoning, error, usage, artifact hash.

    examples:
      jurist run fect --input claims.jsonl --output verdicts.jsonl
      cat claims.jsonl | jurist run fect:basic --input - --output - > verdicts.jsonl
      jurist run fect --input calls/ --output out.csv --column transcript=conversation --column summary=claim
      jurist run fect --input claims.csv --output out.jsonl --model {MODEL} --max-cost 2 --yes
    """

    shard: tuple[int, int] | None = option(
        "I/N",
        "judge the I-th of N parts of the rows, by their hash, into a file of its own "
        "(OUTPUT-I-of-N.jsonl); jurist run join puts the files together",
        type=_shard,
        rare=True,
    )
    canary: bool = flag(
        "before anything else, ask rows of the version's sealed test again; exit code 3 if they are answered less "
        "rightly, or more or less is found",
        rare=True,
    )
    engine: Literal["local", "ray"] = choice(
        "where rows are judged: in this process (default), or on the workers of a Ray cluster, in shards",
        "local",
        rare=True,
    )
    workers: int | None = option(
        "N", "workers on Ray (default: one for each CPU of the cluster)", type=positive_integer, rare=True
    )
    resume: bool = flag("continue the output file; failed rows are asked again", exclusive="unfinished")
    fresh: bool = flag(
        "forget what an unfinished run of this output has paid for", exclusive="unfinished", rare=True
    )


class JoinOptions(Form, command="run join", does="run.join_shards"):
    """Join the outputs of jurist run --shard: the lines of one run, in the order of the input.

    examples:
      jurist run fect --input claims.jsonl --output verdicts.jsonl --shard 1/2
      jurist run fect --input claims.jsonl --output verdicts.jsonl --shard 2/2
      jurist run join verdicts-*-of-2.jsonl --output verdicts.jsonl

    Exit code 3: a shard is not finished, and its rows are not all there.
    """

    shards: tuple[str, ...] = positional("F-I-of-N.jsonl", "the output of each jurist run --shard", nargs="+")
    output: str = option("F", "where the lines go: .jsonl or .csv")


class SubmitOptions(
    JudgedRows,
    command="batch submit",
    does="batch.submit_batches",
    helps={
        "input": "rows to judge: JSONL, CSV, Excel, Parquet, a folder of them, hf:org/name",
        "output": "where the lines go: .jsonl or .csv",
        "calls": "never send one request more; the rows that are left wait for batch collect",
        "cost": "send no more than this is estimated to pay for",
    },
):
    """Send what jurist run would ask to a Batch API: at most a day later, and at half the price of OpenAI's.

    examples:
      jurist batch submit fect --input claims.csv --output verdicts.jsonl --model {MODEL} --max-cost 5 --yes
      jurist batch status verdicts.jsonl
      jurist batch collect verdicts.jsonl --wait

    For OpenAI and servers with its /files and /batches (--api-base). The first row is asked at once before, at the
    price of a live call, so that you learn of a refusal from one request. If a command is killed, batch collect goes
    on, and begins no batch twice.
    """

    stopping: Literal["settled", "all"] = choice(
        "ask all samples in one batch (default), or in several, until no outcome of the row can change", "all"
    )
    fresh: bool = flag("forget batches of this output, and what an unfinished run has paid for")
    no_probe: bool = flag("send no live request before the first batch: for an endpoint without a live API")


class StatusOptions(Form, command="batch status", does="batch.show_batches"):
    """Show the state of the batches of an output."""

    output: str = positional("OUTPUT", "the --output of batch submit", type=file_name)


class CollectOptions(
    HardLimits,
    StatusOptions,
    command="batch collect",
    does="batch.collect_batches",
    helps={
        "calls": "never send one request more, over all batches (default: as submitted)",
        "cost": "send no more than this is estimated to pay for, over all batches (default: as submitted)",
    },
):
    """Write the lines of the rows whose answers have come; send what failed, expired or is asked next.

    exit codes: 0 all rows have their lines; 1 some still wait; 3 all, but too many failed or abstained

    examples:
      jurist batch collect verdicts.jsonl
      jurist batch collect verdicts.jsonl --wait --every 300
    """

    wait: bool = flag("look again until every row has its line")
    every: int = option("S", "seconds between two looks", 60, type=positive_integer)


class ServeOptions(AskedOptions, command="serve", does="pages.serve_judge"):
    """Serve a judge over HTTP: POST a case to /judge or a list to /judge/batch, and get verdicts as jurist run writes
    them. /docs and /openapi.json describe both, made from the judge's typed fields. GET /health names the judge and
    its model, /ready says whether a case could be judged now, /metrics counts cases, times and cost (Prometheus).

    examples:
      jurist serve fect
      jurist serve fect@2 --model {MODEL} --max-cost 20 --concurrency 32
      JURIST_TOKEN=... jurist serve fect@2 --host 0.0.0.0 --token-env JURIST_TOKEN
      curl -s localhost:8422/judge -H 'content-type: application/json' -d '{"conversation": "...", "claim": "..."}'

    jurist keeps and logs nothing of a case. If a client leaves, its cases are not judged. Ctrl-C or SIGTERM ends the
    server after the requests in flight.
    Needs: pip install 'jurist[serve]'
    """

    judge: str = asked_judge()
    host: str = option(
        "ADDRESS",
        "where to listen (default: 127.0.0.1, this machine alone); another one needs a token",
        "127.0.0.1",
    )
    port: int = option("N", "where to listen", 8422, type=port)
    token_env: str | None = option(
        "NAME", "the environment variable that holds the token which requests must bear (default: none)"
    )
    max_cases: int = option("N", "cases of one request", 100, type=positive_integer)
    max_body: int = option("BYTES", "length of one request", 1 << 20, type=positive_integer)
    deadline: float | None = option(
        "S", "seconds after which a case without a verdict has failed (default: none)", type=seconds
    )
    drain: int = option(
        "S",
        "seconds after SIGTERM in which /ready says 503 and cases are still judged, for a balancer to notice",
        0,
        type=nonnegative_integer,
    )
    access_log: bool = flag("write a line for each request to standard error; nothing of a case is in it")
