"""``jurist run``."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from ..errors import UsageError
from ..loading import LoadedJudge
from ..runs.rows import read_rows
from ..runs.runner import Summary, run_cases
from .common import human, judge_of, print_json, progress, store_of

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Judge rows; exit code 3 if too many are unusable."""
    console = human()
    if not 0 <= arguments.max_unusable <= 1:
        raise UsageError(f"--max-unusable {arguments.max_unusable} is no share", hint="give 0 to 1")
    loaded = replace(judge_of(arguments, arguments.judge, store_of(arguments)), stopping=arguments.stopping)
    cases, beside = read_rows(arguments.input, loaded.judge)
    if loaded.proven_for not in ("", loaded.judge.strictness):
        console.print(
            Text(
                f"{loaded.name} was proven for strictness {loaded.proven_for} and runs with "
                f"{loaded.judge.strictness}: its scores do not hold for that"
            )
        )
    if loaded.note:
        console.print(Text(loaded.note))
    output = sys.stdout if arguments.output == "-" else Path(arguments.output)
    with progress(len(cases), f"judging with {loaded.name}") as bar:
        summary = run_cases(
            loaded.asker(),
            cases,
            output,
            stamp=loaded.stamp(),
            resume=arguments.resume,
            on_row=lambda verdict: bar.advance(bar.task_ids[0]),
        )
    _report(arguments, loaded, summary, beside)
    if summary.unusable > arguments.max_unusable:
        console.print(
            Text(
                f"{summary.unusable:.1%} of the rows have no usable verdict; {arguments.max_unusable:.1%} are allowed "
                "(--max-unusable); --resume asks the failed ones again"
            )
        )
        return 3
    return 0


def _report(arguments: Namespace, loaded: LoadedJudge, summary: Summary, beside: int) -> None:
    counts, spend = summary.to_json(), loaded.desk.ledger.to_json()["total"]
    if arguments.json and arguments.output != "-":
        about = {"judge": loaded.name, "output": arguments.output, "note": loaded.note}
        print_json({**about, **counts, "beside": beside, "spend": spend})
    parts = (
        f"{counts['rows']} rows ({counts['resumed']} done before)",
        f"{counts['verdict']} verdicts, {counts['abstained']} abstained, {counts['failed']} failed",
        f"{counts['positive']} rows with a positive label",
        *([f"{beside} rows of the input hold nothing for this judge"] if beside else []),
        *summary.lines,
        f"{spend['calls']} calls, {spend['input_tokens'] + spend['output_tokens']} tokens, {spend['cost']:.4f} USD",
    )
    human().print(Text(f"{loaded.name}: " + "; ".join(parts)))
