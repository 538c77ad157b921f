"""``jurist share``."""

from __future__ import annotations

from pathlib import Path

from ..arguments.share import ShareOptions
from ..evaluation.prevalence import Prevalence
from ..jobs.sharing import RunShares, Shared, run_shares
from ..keeping.loading import load_judge
from ..report.table import Table, table
from ..runs.found import stamp_of
from .common import gold_of, store_of
from .printing import Result

__all__ = ["run"]


def run(options: ShareOptions) -> Result:
    """Print the shares of a run."""
    output = Path(options.output)
    stamp = stamp_of(output)
    judge = load_judge(
        options.judge or str(stamp["judge"]), store=store_of(options), strictness=stamp["strictness"]
    )
    gold = gold_of(options.gold, judge.judge, options) if options.gold else None
    found = run_shares(output, judge, gold)
    return Result(data=found.to_json(), body=[_table(output, found)], notes=_notes(found))


def _table(output: Path, found: RunShares) -> Table:
    columns = ["share of", "as judged", f"corrected by the proof of {found.judge} [95 % interval]"]
    labelled = found.labelled > 0
    if labelled:
        columns += [f"corrected by {found.labelled} labelled rows", "by these rows alone"]
    rows = [
        [one.name, _raw(one.proof), one.proof, *([one.powered, one.alone] if labelled else [])]
        for one in found.shares
    ]
    missing = f", {found.unanswered} without an answer left out" if found.unanswered else ""
    return table(f"{output}: {found.units} units{missing}", columns, rows)


def _raw(share: Prevalence) -> str:
    return "-" if share.raw is None else f"{share.raw:.3f}"


def _notes(found: RunShares) -> list[str]:
    why: dict[str, list[str]] = {}
    for one in found.shares:
        if one.proof.problem:
            why.setdefault(one.proof.problem, []).append(one.name)
    notes = [f"not corrected by the proof ({'; '.join(names)}): {problem}" for problem, names in why.items()]
    if found.elsewhere:
        notes.append(f"{found.elsewhere} labelled rows are not used: not answered by the run, or compiled on")
    return notes + [said for one in found.shares if (said := _unlike(one))]


def _unlike(one: Shared) -> str:
    if one.powered is None or one.powered.unlike is None:
        return ""
    ours, theirs = one.powered.unlike
    return (
        f"{one.name}: the judge found {ours:.3f} among the labelled rows and {theirs:.3f} among the others: they are "
        "no random draw, so what they correct holds for rows like them only"
    )
