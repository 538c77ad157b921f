"""``jurist join``."""

from __future__ import annotations

from pathlib import Path

from ..arguments.run import JoinOptions
from ..runs.outputs import checkpoint_of, claimed
from ..runs.shards import join
from .printing import Result

__all__ = ["run"]


def run(options: JoinOptions) -> Result:
    """Join the outputs of shards; exit code 3 if one of them is unfinished."""
    shards, output = [Path(name) for name in options.shards], Path(options.output)
    with claimed(output, options.shards, going_on=False):
        rows = join(shards, output)
    unfinished = [str(path) for path in shards if checkpoint_of(path).exists()]
    return Result(
        data={"output": options.output, "rows": rows, "shards": len(shards), "unfinished": unfinished},
        body=[f"{options.output}: {rows} rows of {len(shards)} shards"],
        notes=[f"{path} is not finished; run it with --resume, then join again" for path in unfinished],
        code=3 if unfinished else 0,
    )
