"""``jurist table cognibench-3 | cognibench-5``."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, find_judge, load_judge
from ..keeping.paying import Paying, paying
from ..optimizers.base import Event
from ..papers.cognibench.ablation import Ablation
from ..papers.cognibench.detectors import Detectors
from ..papers.cognibench.result import Table
from ..programs.cognibench import COGNIBENCH
from ..programs.judge import Judge
from ..programs.strictness import DEFAULT, with_strictness
from .approving import announce, approve, bill
from .common import (
    human,
    model_of,
    open_model_of,
    print_json,
    progress,
    settings_of,
    shares_of,
    store_of,
    write_text,
)
from .detected import sheets
from .tables import OFFLINE, show_sheets

__all__ = ["five", "three"]

_DETECTORS = ("cognibench:basic", "detector:basic")


def three(arguments: Namespace) -> int:
    """Print CogniBench's Table 3."""
    store = store_of(arguments)
    work = Detectors(
        contenders=tuple(
            contender
            for reference in arguments.detector or _DETECTORS
            for contender in _contenders(arguments, reference, store)
        ),
        gold=_gold(arguments, COGNIBENCH),
        strictness=arguments.strictness or DEFAULT,
        budget=_budget(arguments),
        seed=arguments.seed,
    )
    return _made(arguments, work, [one.model for one in work.contenders])


def five(arguments: Namespace) -> int:
    """Print CogniBench's Table 5."""
    judge, console = find_judge(arguments.judge, store_of(arguments)), human()

    def show(event: Event) -> None:
        if event.kind != "candidate":
            best = "" if event.best is None else f": {event.best:.3f} on dev"
            console.print(Text(f"examples: {event.text}{best}"))

    if arguments.strictness:
        judge = with_strictness(judge, arguments.strictness)
    work = Ablation(
        judge=judge,
        gold=_gold(arguments, judge),
        models=tuple(model_of(arguments, arguments.samples, name) for name in _models(arguments)),
        samples=arguments.samples,
        thresholds=_thresholds(arguments.thresholds),
        options=settings_of(arguments.set),
        shares=shares_of(arguments.split),
        seed=arguments.seed,
        budget=_budget(arguments),
        concurrency=arguments.concurrency,
        sink=show,
    )
    return _made(arguments, work, work.models)


def _made(arguments: Namespace, work: Detectors | Ablation, models: Collection[Model]) -> int:
    if arguments.json and arguments.markdown:
        raise UsageError(
            "--json and --markdown both write to standard output", hint="use --output F.json for the JSON"
        )
    console = human()
    root = Path(arguments.checkpoint) if arguments.checkpoint else store_of(arguments).checkpoints
    contexts = partial(Paying, work)
    with paying(work, root, contexts, resume=arguments.resume, fresh=arguments.fresh) as job:
        forecast = work.forecast()
        announce(forecast, work.budget, job.paid_before)
        approve(bill(forecast, work.budget, job.paid_before, models), yes=arguments.yes)
        with progress(work.questions, "asking") as bar:
            table = work.table(job, lambda: bar.advance(bar.task_ids[0]))
        spent = _spent(job)
        found = {**table.to_json(), "forecast": forecast.to_json(), "spent": spent}
        if arguments.output:
            write_text(json.dumps(found, ensure_ascii=False, indent=2), arguments.output)
    _report(console, arguments, table, found)
    return 0


def _report(console: Console, arguments: Namespace, table: Table, found: dict[str, Any]) -> None:
    shown = sheets(table)
    if arguments.json:
        print_json(found)
    show_sheets(console, shown, markdown=arguments.markdown)
    for line in (*table.notes, *(test.words for test in table.tests)):
        console.print(Text(line))
    for warning in dict.fromkeys(text for one in table.tests for text in one.warnings):
        console.print(Text(f"warning: {warning}"))
    spent = found["spent"]
    replayed = f"; {spent['replayed']} answers were paid before" if spent["replayed"] else ""
    console.print(
        Text(f"spent: {spent['calls']} calls, {spent['tokens']} tokens, {spent['cost']:.4f} USD{replayed}")
    )
    if all(line.model == "offline" for line in table.lines):
        console.print(OFFLINE)


def _spent(job: Paying) -> dict[str, Any]:
    spends = [context.ledger.spend() for context in job.contexts]
    return {
        "calls": sum(one.calls for one in spends),
        "tokens": sum(one.input_tokens + one.output_tokens for one in spends),
        "cost": round(sum(one.cost for one in spends), 6),
        "replayed": sum(one.replayed for one in spends),
    }


def _contenders(arguments: Namespace, reference: str, store: Store) -> list[LoadedJudge]:
    """Return a detector with each model; strictness goes to those that have tiers."""

    def loaded(strictness: str | None) -> LoadedJudge:
        return load_judge(
            reference,
            store=store,
            samples=arguments.samples,
            threshold=arguments.threshold,
            concurrency=arguments.concurrency,
            strictness=strictness,
        )

    one = loaded(None)
    if one.judge.answer.levels:
        one = loaded(arguments.strictness or DEFAULT)
    if one.model.classifier:  # it is its own model, whichever others are named
        return [one]
    return [one.with_model(open_model_of(arguments, name)) for name in _models(arguments)]


def _gold(arguments: Namespace, judge: Judge) -> Gold:
    return Gold.load(arguments.gold, judge)


def _models(arguments: Namespace) -> list[str]:
    return list(dict.fromkeys(arguments.model or ["offline"]))


def _budget(arguments: Namespace) -> Budget:
    return Budget(calls=arguments.max_calls, cost=arguments.max_cost)


def _thresholds(text: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UsageError(f"--thresholds {text!r} are not numbers", hint="write them as 2,3") from None
