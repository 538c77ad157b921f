"""``jurist compare``."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..engines.meter import Budget
from ..errors import UsageError
from ..gold.goldset import Gold
from ..jobs.comparing import Comparison, compare
from ..jobs.experiment import Answers, Experiment, Running, running
from ..jobs.forecast import Forecast, foresee
from ..keeping.artifacts import Store
from ..keeping.loading import load_judge
from .approving import Bill, approve
from .common import human, open_model_of, print_json, progress, store_of, write_text
from .compared import cost_line, sheets
from .strata import People
from .tables import OFFLINE, show_sheets

__all__ = ["run"]


def run(arguments: Namespace) -> int:
    """Compare judges on gold."""
    if arguments.json and arguments.markdown:
        raise UsageError(
            "--json and --markdown both write to standard output", hint="use --output F.json for the JSON"
        )
    store, console = store_of(arguments), human()
    experiment = _experiment(arguments, store)
    root = Path(arguments.checkpoint) if arguments.checkpoint else store.checkpoints
    with running(experiment, root, resume=arguments.resume, fresh=arguments.fresh) as job:
        forecast = foresee(experiment)
        _announce(console, forecast, job)
        approve(_bill(forecast, job), yes=arguments.yes)
        answers = _asked(job)
        comparison = compare(
            answers,
            gold=experiment.gold.name,
            left_out=experiment.left_out,
            pairs=arguments.pairs,
            seed=arguments.seed,
        )
        people = People.of(experiment, answers, arguments.seed)
        found = {**comparison.to_json(), **people.to_json(), "forecast": forecast.to_json()}
        if arguments.output:
            _written(found, arguments.output)
    _report(console, arguments, comparison, people, found)
    return 0


def _experiment(arguments: Namespace, store: Store) -> Experiment:
    models = [open_model_of(arguments, name) for name in dict.fromkeys(arguments.model or ["offline"])]
    loaded = [
        load_judge(
            reference,
            store=store,
            samples=arguments.samples,
            threshold=arguments.threshold,
            concurrency=arguments.concurrency,
            strictness=arguments.strictness,
        )
        for reference in arguments.judges
    ]
    contenders = [one for judge in loaded for one in judge.on(models, draws=arguments.repeats)]
    return Experiment(
        contenders=tuple(contenders),
        gold=Gold.load(arguments.gold, contenders[0].judge),
        repeats=arguments.repeats,
        budget=Budget(calls=arguments.max_calls, cost=arguments.max_cost),
    )


def _announce(console: Console, forecast: Forecast, job: Running) -> None:
    kept = f"; {job.paid_before} answers are paid already" if job.paid_before else ""
    console.print(Text(f"before: {forecast.words}{kept}"))
    limit = job.experiment.budget.calls
    if limit is not None and limit < forecast.calls:
        console.print(Text(f"--max-calls {limit} will stop it before the end; --resume continues from there"))
    for note in dict.fromkeys(one.note for one in job.experiment.contenders if one.note):
        console.print(Text(note))
    if job.experiment.repeats > 1 and any(one.model.temperature == 0 for one in job.experiment.contenders):
        console.print(Text("at temperature 0, repeats differ only by what the model itself still varies"))


def _bill(forecast: Forecast, job: Running) -> Bill:
    budget, contenders = job.experiment.budget, job.experiment.contenders
    calls = forecast.billed if budget.calls is None else min(forecast.billed, budget.calls)
    calls = max(0, calls - job.paid_before)
    cost = None if forecast.unpriced else forecast.cost * calls / max(1, forecast.billed)
    if cost is not None and budget.cost is not None:
        cost = min(cost, budget.cost)
    hosted = {one.model.name for one in contenders if one.model.api_base is None}
    return Bill(
        calls=calls,
        cost=cost,
        unpriced=tuple(name for name in forecast.unpriced if name in hosted),
        unknown=forecast.unpriced,
        bounded=budget.calls is not None,
        capped=budget.cost is not None,
    )


def _asked(job: Running) -> list[Answers]:
    experiment = job.experiment
    rows = len(experiment.cases) * experiment.repeats + len(experiment.gold.ambiguous)
    with progress(rows * len(experiment.contenders), "asking") as bar:
        return job.ask(lambda: bar.advance(bar.task_ids[0]))


def _written(found: dict[str, Any], path: str) -> None:
    write_text(json.dumps(found, ensure_ascii=False, indent=2), path)


def _report(
    console: Console, arguments: Namespace, comparison: Comparison, people: People, found: dict[str, Any]
) -> None:
    tables = sheets(comparison)
    if arguments.json:
        print_json(found)
    show_sheets(console, tables, markdown=arguments.markdown)
    for line in people.lines():
        console.print(Text(line))
    for one in comparison.tests:
        console.print(Text(one.words))
    for warning in dict.fromkeys(text for one in comparison.tests for text in one.warnings):
        console.print(Text(f"warning: {warning}"))
    console.print(Text(cost_line(comparison)))
    if all(one.model == "offline" for one in comparison.contenders):
        console.print(OFFLINE)
