"""What ``batch`` takes."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from .command import Command
from .groups import Form, HardLimits, whole
from .options import flag, option, positional
from .run import JudgedRows


class SubmitOptions(JudgedRows):
    helps: ClassVar[Mapping[str, str]] = {
        **JudgedRows.helps,
        "input": "rows to judge: JSONL, CSV, Parquet, a folder of them, hf:org/name",
        "output": "where the lines go: .jsonl, .csv or .parquet",
        "calls": "never send one request more; the rows that are left wait for batch collect",
        "cost": "send no more than this is estimated to pay for",
    }

    stopping: Literal["settled", "all"] = option(
        "--stopping",
        "all",
        help="ask all samples in one batch (default), or in several, until no outcome of the row can change",
    )
    max_requests: int = option(
        "--max-requests", 50_000, type=whole, metavar="N", help="requests of one file (default: 50000)"
    )
    max_bytes: int = option(
        "--max-bytes",
        200_000_000,
        type=whole,
        metavar="N",
        help="length of one file (default: 200000000)",
    )
    fresh: bool = flag(
        "--fresh", help="forget batches of this output, and what an unfinished run has paid for"
    )


class BatchOptions(Form):
    output: str = positional("OUTPUT", help="the --output of batch submit")


class CollectOptions(HardLimits, BatchOptions):
    helps: ClassVar[Mapping[str, str]] = {
        "calls": "never send one request more, over all batches (default: as submitted)",
        "cost": "send no more than this is estimated to pay for, over all batches (default: as submitted)",
    }

    wait: bool = flag("--wait", help="look again until everything is there")
    every: int = option(
        "--every", 60, type=whole, metavar="S", help="seconds between two looks (default: 60)"
    )


BATCH: tuple[Command, ...] = (
    Command(
        name="batch submit",
        does="batch.submit",
        options=SubmitOptions,
        help="Send what jurist run would ask to a Batch API: at most a day later, and at half the price of OpenAI's.",
        examples="""\
examples:
  jurist batch submit fect --input claims.csv --output verdicts.jsonl --model openai/gpt-4.1-mini --max-cost 5 --yes
  jurist batch status verdicts.jsonl
  jurist batch collect verdicts.jsonl --wait

For OpenAI and servers with its /files and /batches (--api-base). Killed at any moment, batch collect goes on; no batch
is begun twice.
""",
    ),
    Command(
        name="batch status",
        does="batch.status",
        options=BatchOptions,
        help="Say how the batches of an output stand.",
    ),
    Command(
        name="batch collect",
        does="batch.collect",
        options=CollectOptions,
        help="Write the lines of the rows whose answers have come; send what failed, expired or is asked next.",
        examples="""\
exit codes: 0 all rows have their lines; 1 some still wait; 3 all, but too many failed or abstained

examples:
  jurist batch collect verdicts.jsonl
  jurist batch collect verdicts.jsonl --wait --every 300
""",
    ),
    Command(
        name="batch cancel",
        does="batch.cancel",
        options=BatchOptions,
        help="""\
Cancel the batches of an output that are under way: what they brought until then is paid and kept, batch collect writes
it, and the same batch submit as before sends the rest again.
""",
    ),
)
