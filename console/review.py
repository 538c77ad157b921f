"""``jurist gold review``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..arguments.gold import ReviewOptions, SheetOptions
from ..errors import GoldError
from ..gold.goldset import Gold
from ..gold.raters import Rule
from ..gold.review import Judged, candidates, read_judged, review_lines, sources_of
from ..gold.sheets_out import Written, format_of, open_lines, write_sheet
from ..keeping.naming import find_judge
from ..programs.judge import Judge
from .common import gold_of, store_of
from .gold import gold_name
from .printing import Result


def run(options: ReviewOptions) -> Result:
    """Write the units whose label is worth most as a sheet."""
    path, judge = Path(options.output), find_judge(options.judge, store_of(options))
    format_ = format_of(path, options.format)
    judged = read_judged(options.verdicts, judge)
    gold = None if options.gold is None else Gold.load(options.gold, judge, labelled=False)
    known = {case.id: case for case in gold.cases} if gold else {}
    found = candidates(judged, judge, known)
    summary = _summary(judged, found)
    if not found:
        wavering = any(line.samples > 1 for line in judged)
        hint = "" if wavering else "; run with --samples 5 --stopping all to see where it wavers"
        return Result(data={"candidates": 0}, body=[summary, f"nothing to review, and no file written{hint}"])
    rows = _rows(options, judged, judge, gold)
    lines = review_lines(found[: options.top], {case.id: case for case in rows.cases})
    written = write_sheet(lines, rows, path, rater=options.rater, format_=format_)
    wrote = _wrote(written, options.judge, options.gold or "")
    return replace(wrote, data={"candidates": len(found), **wrote.data}, body=[summary, *wrote.body])


def _summary(judged: Sequence[Judged], found: Sequence[object]) -> str:
    units = sum(len(line.values) for line in judged if not line.failed)
    failed = sum(line.failed for line in judged)
    return f"{len(found)} units to review, {units} were judged; failed rows, which are passed over: {failed}"


def _rows(options: ReviewOptions, judged: Sequence[Judged], judge: Judge, gold: Gold | None) -> Gold:
    """Return the inputs of the judged rows: of the gold set, of ``--input``, or of the files the run names."""
    known = {case.id for case in gold.cases} if gold else set()
    files = sources_of(judged, known) if options.input is None else [options.input]
    if not files and gold is not None:
        return gold
    sources = [_source(file) for file in files]
    try:
        return Gold.load([*([options.gold] if options.gold else []), *sources], judge, labelled=False)
    except GoldError as error:
        if options.input is not None:
            raise
        hint = "name the rows that were judged with --input"
        raise GoldError(f"the rows of the run cannot be read again: {error.message}", hint=hint) from error


def _source(file: str) -> str:
    """Return what to read for a file named in a run: a bundled set is named by its own file there."""
    return file if Path(file).exists() else file.removesuffix("/gold.jsonl")


def sheet(options: SheetOptions) -> Result:
    """Write the units that people should label."""
    path = Path(options.output)
    format_ = format_of(path, options.format)
    gold = gold_of(gold_name(options), find_judge(options.judge, store_of(options)), options, labelled=False)
    lines = open_lines(gold, rater=options.rater, every=options.every)
    said = any(case.known or case.ratings for case in (*gold.cases, *gold.ambiguous))
    written = write_sheet(lines, gold, path, rater=options.rater, format_=format_)
    return _wrote(written, options.judge, gold_name(options) if said else "")


def _wrote(written: Written, judge: str, gold: str) -> Result:
    """Return what was written; say how it becomes gold: together with the set ``gold``, if that has labels already."""
    merge: Rule = "reviewed" if gold else "unanimous"
    files = [str(path) for path in written.files]
    sources = " ".join(part for part in (gold, files[0] if len(files) == 1 else "export.json") if part)
    long = (
        f"{written.long} cells are longer than Excel keeps, which cuts them: use another program, "
        "or --format labelstudio"
    )
    then = f"when it is filled in: jurist gold import {judge} {sources} --merge {merge} --output NEW.jsonl"
    return Result(
        data={"units": written.units, "cases": written.cases, "files": files},
        body=[f"{written.units} units of {written.cases} cases written to {', '.join(files)}"],
        notes=[*([long] if written.long else []), then],
    )
