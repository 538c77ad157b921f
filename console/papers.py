"""``jurist table cognibench-3 | cognibench-5``."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments.table import AblationOptions, DetectorOptions, TableOptions
from ..errors import UsageError
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge
from ..keeping.locating import find_judge
from ..keeping.paying import PaidJob, paying
from ..keeping.resolving import default_temperature
from ..optimizers.base import Event
from ..papers.cognibench.ablation import Ablation
from ..papers.cognibench.detectors import Detectors
from ..papers.cognibench.result import Table
from ..programs.cognibench import COGNIBENCH
from ..programs.strictness import DEFAULT, with_strictness
from ..report.scores import OFFLINE, spend_line
from .approving import agree
from .common import (
    budget_of,
    gold_of,
    judge_of,
    model_of,
    models_of,
    progress,
    settings_of,
    shares_of,
    start_of,
    store_of,
    write_json,
)
from .detected import sheets
from .printing import Part, Result, remark

_DETECTORS = ("cognibench:basic", "detector:basic")


def three(options: DetectorOptions) -> Result:
    """Return CogniBench's Table 3."""
    store = store_of(options)
    work = Detectors(
        contenders=tuple(
            contender
            for reference in options.detectors or _DETECTORS
            for contender in _contenders(options, reference, store)
        ),
        gold=gold_of(options.gold, COGNIBENCH, options),
        strictness=options.strictness or DEFAULT,
        budget=budget_of(options),
        seed=options.seed,
    )
    return _made(options, work)


def five(options: AblationOptions) -> Result:
    """Return CogniBench's Table 5."""
    judge = find_judge(options.judge, store_of(options))

    def show(event: Event) -> None:
        if event.kind != "candidate":
            best = "" if event.best is None else f": {event.best:.3f} on dev"
            remark(f"examples: {event.text}{best}")

    if options.strictness:
        judge = with_strictness(judge, options.strictness)
    models = (model_of(options, name, options.seed) for name in options.names)
    work = Ablation(
        judge=judge,
        gold=gold_of(options.gold, judge, options),
        models=tuple(default_temperature(model, options.samples) for model in models),
        samples=options.samples,
        thresholds=_thresholds(options.thresholds),
        options=settings_of(options.settings),
        shares=shares_of(options.split),
        seed=options.seed,
        budget=budget_of(options),
        concurrency=options.concurrency,
        sink=show,
    )
    return _made(options, work)


def _made(options: TableOptions, work: Detectors | Ablation) -> Result:
    with paying(work, start_of(options, store_of(options))) as job:
        forecast = work.forecast()
        agree(forecast, job.paid, yes=options.yes)
        with progress(work.rows, "asking") as step:
            table = work.table(job, step)
        found = {**table.to_json(), "forecast": forecast.to_json(), "spent": _spent(job)}
        write_json(found, options.output)
    return Result(data=found, body=_body(table, found["spent"]))


def _body(table: Table, spent: Mapping[str, Any]) -> Sequence[Part]:
    warnings = dict.fromkeys(text for one in table.tests for text in one.warnings)
    return [
        *sheets(table),
        *table.notes,
        *(test.words for test in table.tests),
        *(f"warning: {warning}" for warning in warnings),
        spend_line(spent),
        *([OFFLINE] if all(line.model == "offline" for line in table.lines) else []),
    ]


def _spent(job: PaidJob) -> dict[str, Any]:
    spend = job.ledger.spend()
    return {
        "calls": spend.calls,
        "tokens": spend.input_tokens + spend.output_tokens,
        "cost": round(spend.cost, 6),
        "replayed": spend.replayed,
    }


def _contenders(options: DetectorOptions, reference: str, store: Store) -> list[LoadedJudge]:
    """Return a detector with each model; strictness goes to those that have tiers."""
    about: dict[str, Any] = {"model": options.names[0], "concurrency": options.concurrency}
    one = judge_of(reference, options, store, **about, strictness=None)
    if one.judge.answer.levels:
        strictness = options.strictness or DEFAULT
        one = judge_of(reference, options, store, **about, strictness=strictness)
    return [one.with_model(model) for model in models_of(options, one, options.seed)]


def _thresholds(text: str) -> tuple[int, ...]:
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UsageError(f"--thresholds {text!r} are not numbers", hint="write them as 2,3") from None
