"""``jurist run``."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.text import Text

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..errors import UsageError
from ..gold.new_rows import read_rows
from ..jobs.estimate import Questions, estimate
from ..jobs.forecast import free
from ..keeping.loading import LoadedJudge
from ..runs.runner import Summary, run_cases
from .approving import announce, approve, bill
from .common import Bar, human, judge_of, print_json, store_of

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Judge rows; exit code 3 if too many are unusable, 1 if a limit left some."""
    console = human()
    _check(arguments)
    budget = Budget(calls=arguments.max_calls, cost=arguments.max_cost)
    loaded = replace(
        judge_of(arguments, arguments.judge, store_of(arguments)),
        stopping=arguments.stopping,
        context=CallContext.fresh(budget),
    )
    cases, beside = read_rows(arguments.input, loaded.judge)
    if loaded.proven_for not in ("", loaded.judge.answer.strictness):
        console.print(
            Text(
                f"{loaded.name} was proven for strictness {loaded.proven_for} and runs with "
                f"{loaded.judge.answer.strictness}: its scores do not hold for that"
            )
        )
    if loaded.note:
        console.print(Text(loaded.note))
    output = sys.stdout if arguments.output == "-" else Path(arguments.output)
    with Bar() as bar:

        def begin(todo: Sequence[Case]) -> None:
            _ask(loaded, todo, budget, yes=arguments.yes)
            bar.begin(f"judging with {loaded.name}", len(cases), len(cases) - len(todo))

        summary = run_cases(
            loaded.asker(),
            cases,
            output,
            stamp=loaded.stamp(),
            resume=arguments.resume,
            on_begin=begin,
            on_row=lambda verdict: bar.step(),
        )
    _report(arguments, loaded, summary, beside)
    return _ended(arguments, summary)


def _check(arguments: Namespace) -> None:
    if not 0 <= arguments.max_unusable <= 1:
        raise UsageError(f"--max-unusable {arguments.max_unusable} is no share", hint="give 0 to 1")
    if arguments.output == "-" and arguments.resume:
        raise UsageError(
            "--resume needs an --output file: what standard output got cannot be read again",
            hint="name a file with --output",
        )


def _ask(loaded: LoadedJudge, todo: Sequence[Case], budget: Budget, *, yes: bool) -> None:
    """Say what is about to be spent on a real model, and ask above the limits."""
    if free(loaded.model) or not todo:
        return
    sampling = loaded.sampling
    least = sampling.fewest if loaded.stopping == "settled" else sampling.samples
    number = len(todo) * least, len(todo) * sampling.samples
    seen = estimate(
        [Questions(asker=loaded.asker, model=loaded.model, cases=todo, number=number)], f"{len(todo)} rows"
    )
    announce(seen, budget, 0)
    approve(bill(seen, budget, 0, [loaded.model]), yes=yes)


def _ended(arguments: Namespace, summary: Summary) -> int:
    if summary.stopped:
        again = (
            "start again with a new --output for them" if arguments.output == "-" else "--resume judges them"
        )
        human().print(Text(f"stopped: {summary.stopped}; {summary.left} rows are left, {again}"))
        return 1
    if summary.unusable > arguments.max_unusable:
        failed = summary.verdicts.get("failed", 0) > 0 and arguments.output != "-"
        human().print(
            Text(
                f"{summary.unusable:.1%} of the rows have no usable verdict; {arguments.max_unusable:.1%} are allowed "
                "(--max-unusable)" + ("; --resume asks the failed ones again" if failed else "")
            )
        )
        return 3
    return 0


def _report(arguments: Namespace, loaded: LoadedJudge, summary: Summary, beside: int) -> None:
    counts, spend = summary.to_json(), loaded.context.ledger.to_json()["total"]
    if arguments.json and arguments.output != "-":
        about = {"judge": loaded.name, "output": arguments.output, "note": loaded.note}
        print_json({**about, **counts, "beside": beside, "spend": spend})
    abstained = f", {counts['abstained_before']} of them abstained" if counts["abstained_before"] else ""
    parts = (
        f"{counts['rows']} rows ({counts['resumed']} done before{abstained})",
        f"{counts['verdict']} verdicts, {counts['abstained']} abstained, {counts['failed']} failed",
        *summary.total_words,
        *([f"{beside} rows of the input hold nothing for this judge"] if beside else []),
        *summary.lines,
        f"{spend['calls']} calls, {spend['input_tokens'] + spend['output_tokens']} tokens, {spend['cost']:.4f} USD",
    )
    human().print(Text(f"{loaded.name}: " + "; ".join(parts)))
