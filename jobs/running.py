"""Running a judge over new rows, which may be anything in Python."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from ..engines.meter import Budget
from ..errors import StoppedError
from ..gold.new_rows import Source
from ..runs.runner import RunSettings, run_judge
from ..runs.summary import Summary
from .judges import JudgeLike, judges_of
from .surface import (
    Loading,
    MappingLike,
    ModelLike,
    budget_of,
    check_options,
    counted,
    mapping_of,
    store_of,
    warn,
)


def run(
    judge: JudgeLike,
    rows: str | os.PathLike[str] | Any,
    output: str | os.PathLike[str],
    *,
    model: ModelLike | None = None,
    budget: Budget | None = None,
    mapping: MappingLike | None = None,
    keep: Sequence[str] | None = None,
    resume: bool = False,
    fresh: bool = False,
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[Loading],
) -> Summary:
    """Judge any number of rows into a file, a line a row, as ``jurist run``: no row is held or paid for twice.

    Args:
        judge: see :data:`JudgeLike`.
        rows: what ``jurist run --input`` takes (a file, a folder, ``hf:org/name``); or mappings, DSPy's examples, or a
            table of pandas, Polars, PyArrow or ``datasets``. A generator is read once, as it is judged.
        output: ``.jsonl`` or ``.csv``. Rows that cannot be used are set aside beside it.
        model: who answers; default: ``offline``, and of a judge that was loaded its own.
        budget: hard limits.
        mapping: the names of columns in the rows, where they are not the judge's.
        keep: columns that travel into the output; default: all that are not judged.
        resume: continue what an earlier run left; rows that failed are asked again.
        fresh: forget an unfinished run of this output.
        store, options: as for :func:`compare`.

    Returns:
        The counts of the run.

    Raises:
        StoppedError: Ctrl-C or a limit; the lines so far are kept. GoldError: the rows cannot be read, or none can
        be used. UsageError: the output cannot be used. CheckpointError: it is of another run, or unfinished.
        JudgeError, ArtifactError: as :func:`load`. ModelError: the model cannot be used at all.
    """
    check_options(options)
    (loaded,) = judges_of([judge], model, store_of(store), options)
    warn(loaded.note)
    found = mapping_of(mapping)
    found.check(loaded.judge)
    named = isinstance(rows, str | os.PathLike)
    source = Source(
        name=os.fspath(rows) if named else "<rows>",
        judge=loaded.judge,
        mapping=found,
        given=None if named else rows,
    )
    settings = RunSettings(
        budget=budget_of(budget),
        keep=(keep,) if isinstance(keep, str) else keep,
        resume=resume,
        fresh=fresh,
    )
    with counted(loaded.name, None) as step:
        summary = run_judge(loaded, source, Path(output), settings=settings, on_row=step)
    if summary.stopped:
        hint = "add resume=True to judge the rows that are left"
        raise StoppedError(
            f"{summary.stopped}; what was judged is in {output}", hint=hint, signal=summary.signal
        )
    return summary
