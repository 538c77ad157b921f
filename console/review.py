"""``jurist gold review``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from ..errors import GoldError, UsageError
from ..gold.goldset import Gold
from ..gold.merging import Rule
from ..gold.review import Judged, candidates, read_judged, review_lines, sources_of
from ..gold.sheets_out import Written, format_of, open_lines, write_sheet
from ..keeping.loading import find_judge
from ..programs.judge import Judge
from .common import human, store_of

__all__ = ["run", "sheet"]


def run(arguments: Namespace) -> None:
    """Write the units on which the judge is least sure as a sheet, the least sure first."""
    if arguments.top is not None and arguments.top < 1:
        raise UsageError(f"--top {arguments.top} leaves nothing", hint="give 1 or more")
    path, judge = Path(arguments.output), find_judge(arguments.judge, store_of(arguments))
    format_ = format_of(path, arguments.format)
    judged = read_judged(arguments.verdicts, judge)
    gold = None if arguments.gold is None else Gold.load(arguments.gold, judge, labelled=False)
    known = {case.id: case for case in gold.cases} if gold else {}
    found = candidates(judged, judge, known)
    console = human()
    console.print(Text(_summary(judged, found)))
    if not found:
        hint = (
            ""
            if any(line.samples > 1 for line in judged)
            else "; run with --samples 5 --stopping all to see where it wavers"
        )
        console.print(Text(f"nothing to review, and no file written{hint}"))
        return
    rows = _rows(arguments, judged, judge, gold)
    lines = review_lines(found[: arguments.top], {case.id: case for case in rows.cases})
    _say(
        write_sheet(lines, rows, path, rater=arguments.rater, format_=format_),
        arguments.judge,
        gold=arguments.gold or "",
        merge="adjudicated",
    )


def _summary(judged: Sequence[Judged], found: Sequence[object]) -> str:
    units = sum(len(line.values) for line in judged if not line.failed)
    failed = sum(line.failed for line in judged)
    return f"{len(found)} of {units} judged units are candidates; {failed} rows failed and are passed over"


def _rows(arguments: Namespace, judged: Sequence[Judged], judge: Judge, gold: Gold | None) -> Gold:
    """Return the inputs of the judged rows: of the gold set, of ``--input``, or of the files the run names."""
    known = {case.id for case in gold.cases} if gold else set()
    files = sources_of(judged, known) if arguments.input is None else [arguments.input]
    if not files and gold is not None:
        return gold
    sources = [_source(file) for file in files]
    try:
        return Gold.load([*([arguments.gold] if gold else []), *sources], judge, labelled=False)
    except GoldError as error:
        if arguments.input is not None:
            raise
        hint = "name the rows that were judged with --input"
        raise GoldError(f"the rows of the run cannot be read again: {error.message}", hint=hint) from error


def _source(file: str) -> str:
    """Return what to read for a file named in a run: a bundled set is named by its own file there."""
    return file if Path(file).exists() else file.removesuffix("/gold.jsonl")


def sheet(arguments: Namespace) -> None:
    """Write the units that people should label."""
    path = Path(arguments.output)
    format_ = format_of(path, arguments.format)
    gold = Gold.load(arguments.gold, find_judge(arguments.judge, store_of(arguments)), labelled=False)
    lines = open_lines(gold, rater=arguments.rater, every=arguments.all)
    _say(write_sheet(lines, gold, path, rater=arguments.rater, format_=format_), arguments.judge)


def _say(written: Written, judge: str, *, gold: str = "", merge: Rule = "unanimous") -> None:
    """Say what was written, and how it becomes gold: together with the set ``gold``, by the rule ``merge``."""
    console, first = human(), written.files[0]
    files = ", ".join(map(str, written.files))
    console.print(Text(f"{written.units} units of {written.cases} cases written to {files}"))
    if written.long:
        console.print(
            Text(
                f"{written.long} cells are longer than Excel keeps, which cuts them: use another program, "
                "or --format labelstudio"
            )
        )
    sources = " ".join(
        part for part in (gold, str(first if len(written.files) == 1 else "export.json")) if part
    )
    console.print(
        Text(f"when it is filled in: jurist gold import {judge} {sources} --merge {merge} --output NEW.jsonl")
    )
