"""``jurist run``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..arguments.run import RunOptions
from ..cases import Case
from ..engines.meter import Budget
from ..errors import UsageError
from ..gold.new_rows import read_rows
from ..jobs.estimate import Estimate, free
from ..jobs.measuring import part_of
from ..keeping.loading import LoadedJudge
from ..runs.runner import Summary, run_judge
from .approving import agree
from .common import Bar, budget_of, judge_of, model_of, store_of, verifier_model
from .printing import Result, remark

__all__ = ["run"]


def run(options: RunOptions) -> Result:
    """Judge rows; exit code 3 if too many are unusable, 1 if a limit left some."""
    if options.output == "-" and options.resume:
        raise UsageError(
            "--resume needs an --output file: what standard output got cannot be read again",
            hint="name a file with --output",
        )
    budget = budget_of(options)
    loaded = _loaded(options)
    cases, beside = read_rows(options.input, loaded.judge)
    if loaded.proven_for not in ("", loaded.judge.answer.strictness):
        remark(
            f"{loaded.name} was proven for strictness {loaded.proven_for} and runs with "
            f"{loaded.judge.answer.strictness}: its scores do not hold for that"
        )
    if loaded.note:
        remark(loaded.note)
    output = sys.stdout if options.output == "-" else Path(options.output)
    with Bar() as bar:

        def begin(todo: Sequence[Case], spent: int) -> None:
            _ask(loaded, todo, budget, spent, yes=options.yes)
            bar.begin(f"judging with {loaded.name}", len(cases), len(cases) - len(todo))

        summary = run_judge(
            loaded,
            cases,
            output,
            budget=budget,
            resume=options.resume,
            on_begin=begin,
            on_row=lambda verdict: bar.step(),
        )
    return _result(options, loaded, summary, beside)


def _loaded(options: RunOptions) -> LoadedJudge:
    store = store_of(options)
    found = judge_of(
        options.judge,
        options,
        store,
        concurrency=options.concurrency,
        strictness=options.strictness,
        verifier=verifier_model(options, options.timeout, options.seed),
    )
    model = model_of(options, options.model, options.seed)
    return replace(found.with_model(model), stopping=options.stopping)


def _ask(loaded: LoadedJudge, todo: Sequence[Case], budget: Budget, spent: int, *, yes: bool) -> None:
    """Say what is about to be spent on a real model, and ask above the limits."""
    if all(map(free, loaded.models)) or not todo:
        return
    sampling = loaded.sampling
    least = sampling.fewest if loaded.stopping == "settled" else sampling.samples
    number = len(todo) * least, len(todo) * sampling.samples
    part = part_of("judge", loaded.asker(), loaded.models, todo, number)
    seen = Estimate(what=f"{len(todo)} rows", parts=(part,), budget=budget)
    agree(seen, {}, yes=yes, spent=spent)


def _ended(options: RunOptions, summary: Summary) -> tuple[int, list[str]]:
    """Return the exit code, and why it is not 0."""
    if summary.stopped:
        again = (
            "start again with a new --output for them" if options.output == "-" else "--resume judges them"
        )
        why = summary.stopped if summary.signal else f"stopped: {summary.stopped}"
        code = 128 + summary.signal if summary.signal else 1
        return code, [f"{why}; {summary.left} rows are left, {again}"]
    if summary.unusable <= options.max_unusable:
        return 0, []
    failed = summary.verdicts.get("failed", 0) > 0 and options.output != "-"
    share, allowed = f"{summary.unusable:.1%}", f"{options.max_unusable:.1%}"
    return 3, [
        f"{share} of the rows have no usable verdict; {allowed} are allowed (--max-unusable)"
        + ("; --resume asks the failed ones again" if failed else "")
    ]


def _result(options: RunOptions, loaded: LoadedJudge, summary: Summary, beside: int) -> Result:
    counts, spend = summary.to_json(), summary.spend
    abstained = f", {counts['abstained_before']} of them abstained" if counts["abstained_before"] else ""
    parts = (
        f"{counts['rows']} rows ({counts['resumed']} done before{abstained})",
        f"{counts['verdict']} verdicts, {counts['abstained']} abstained, {counts['failed']} failed",
        *summary.total_words,
        *([f"{beside} rows of the input hold nothing for this judge"] if beside else []),
        *summary.lines,
        f"{spend['calls']} calls, {spend['input_tokens'] + spend['output_tokens']} tokens, {spend['cost']:.4f} USD",
    )
    line, (code, notes) = f"{loaded.name}: " + "; ".join(parts), _ended(options, summary)
    if options.output == "-":  # standard output has the rows, and nothing else
        return Result(data={}, notes=[line, *notes], code=code)
    about = {"judge": loaded.name, "output": options.output, "note": loaded.note}
    data = {**about, **counts, "beside": beside, "spend": spend}
    return Result(data=data, body=[line], notes=notes, code=code)
