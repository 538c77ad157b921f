"""``jurist share``."""

from pathlib import Path

from ..arguments.share import ShareOptions
from ..jobs.sharing import run_shares, who_judged
from .common import gold_of, store_of
from .printing import Result


def run(options: ShareOptions) -> Result:
    """Print the shares of a run."""
    output = Path(options.output)
    judge = who_judged(output, store_of(options), options.judge or "")
    gold = gold_of(options.gold, judge.judge, options) if options.gold else None
    found = run_shares(output, judge, gold)
    return Result(data=found.to_json(), body=[found.table], notes=found.notes)
