"""``jurist batch``."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from signal import SIGINT
from typing import Any

from ..arguments.run import CollectOptions, StatusOptions, SubmitOptions
from ..engines.models import Model, key_of
from ..errors import CheckpointError, JuristError, StoppedError, UsageError, signal_name
from ..jobs.estimate import is_free
from ..keeping.loading import LoadedJudge
from ..report.scores import spend_in, taken_words
from ..report.table import Table, table
from ..runs.batch_service import BatchEndpoint, BatchService, batch_discount
from ..runs.batch_store import Batch, BatchStore, batches_of, check_no_batches
from ..runs.batching import BatchRun, Collected, opened
from ..runs.outputs import checkpoint_of, lines_in
from ..runs.runner import RunPlan
from .bars import Bar
from .printing import Result, remark
from .run import foreseen, result_of, rows_of

_BEGIN = "jurist batch submit begins them"


def submit(options: SubmitOptions) -> Result:
    """Send the first batches of a run."""
    if "-" in (options.input, options.output):
        raise UsageError("the rows of batches are read again when they are collected", hint="name files")
    output = Path(options.output)
    if options.fresh:
        check_no_batches(output, forget=True)
    with _going_on(output), opened(output, new=True) as store, Bar() as bar:
        if output.is_file() and output.stat().st_size:
            hint = "name another file; jurist run --resume continues this one"
            raise UsageError(f"{output} exists", hint=hint)

        def begin(plan: RunPlan) -> None:
            share = batch_discount(run.judge.model.name)
            notes = [f"asked in batches, at {share:.0%} of that price"] if share < 1 else []
            estimate = foreseen(run.judge, plan, settings.budget, yes=options.yes, notes=notes)
            store.tell({"price": share * max(part.prices[1] for part in estimate.asks) if estimate else 0.0})
            bar.begin(f"writing requests of {run.judge.name}", plan.rows)

        run = _run(store, options, bar)
        _check(run.judge, store)
        settings = replace(run.settings, fresh=options.fresh)
        run = replace(run, settings=settings, on_begin=begin, probes=not options.no_probe, note=remark)
        sent = run.submit({"options": asdict(options)})
        probe = run.probe_spend
    result = _result(options, run.judge, sent)
    result = _with_probe(result, probe)
    under_way = not (sent.done or sent.unsent or sent.summary.stopped)
    return replace(result, code=0) if under_way else result


def status(options: StatusOptions) -> Result:
    """Say how batches stand, as their provider says now."""
    folder = batches_of(Path(options.output))
    if complete := _complete(Path(options.output)):
        return complete
    if not folder.exists():
        raise CheckpointError(f"no batches of {options.output} are under way", hint=_BEGIN)
    with BatchStore(folder / "batches.sqlite") as store:
        service, waiting = _service(store, _submitted(store)), store.flying
        now = [_now(service, batch) for batch in store.batches()]
    return Result(
        data={"output": options.output, "waiting": waiting, "batches": [*map(_json, now)]},
        body=[_table(now), f"{waiting} requests wait for their replies"],
    )


def collect(options: CollectOptions) -> Result:
    """Take what has come; exit code 1 if some rows still wait, 3 if too many are unusable."""
    output = Path(options.output)
    if complete := _complete(output):
        return complete
    with _going_on(output), opened(output) as store, Bar() as bar:
        submitted = _submitted(store)
        raised = {name: getattr(options, name) for name in ("calls", "cost")}
        submitted = replace(submitted, **{name: limit for name, limit in raised.items() if limit is not None})
        run = _run(store, submitted, bar)
        collected = run.collect()
        while options.wait and not (collected.done or collected.unsent or collected.summary.stopped):
            while run.waiting:
                time.sleep(options.every)
            collected = run.collect()
        probe = run.probe_spend
    return _with_probe(_result(submitted, run.judge, collected), probe)


def _complete(output: Path) -> Result | None:
    """Return the result for an output whose batches have all been collected; ``None`` for another output."""
    if batches_of(output).exists() or not output.is_file():
        return None
    judge = next((line.get("judge") for _, line in lines_in(output) if isinstance(line, dict)), None)
    if judge is None:
        return None
    return Result(
        data={"output": str(output), "judge": judge, "pending": 0, "batches": []},
        body=[f"{output} of {judge}: all that was sent in batches is collected"],
        notes=["jurist run --resume asks what failed"] if checkpoint_of(output).exists() else [],
    )


def _run(store: BatchStore, options: SubmitOptions, bar: Bar) -> BatchRun:
    loaded, source, settings = rows_of(options)
    return BatchRun(
        store=store,
        service=_service(store, options),
        judge=loaded,
        source=source,
        output=Path(options.output),
        settings=settings,
        on_begin=lambda plan: bar.begin(f"reading what has come for {loaded.name}", plan.rows),
        on_row=bar.step,
    )


def _service(store: BatchStore, options: SubmitOptions) -> BatchService:
    return BatchService(store, key_of(Model.of(options, name=options.model)), options.timeout)


def _now(service: BatchService, batch: Batch) -> Batch:
    """Return a batch as its provider says that it stands; nothing is taken of it."""
    if batch.ended or not batch.id:
        return batch
    provided = service.look(batch)
    counts = provided.request_counts
    return replace(batch, status=provided.status + (f" {counts.completed}/{counts.total}" if counts else ""))


def _submitted(store: BatchStore) -> SubmitOptions:
    try:
        return SubmitOptions(**store.about["options"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(
            "these batches were begun by another version of jurist", hint="collect them with that version"
        ) from error


def _check(loaded: LoadedJudge, store: BatchStore) -> None:
    """Refuse models that are not asked in batches, before anybody is asked about their price."""
    if any(map(is_free, loaded.models)):
        raise UsageError(f"{loaded.model.name} is not asked in batches", hint="jurist run asks it at once")
    if len({model.api_base for model in loaded.models}) > 1:
        raise UsageError("batches go to one address", hint="leave --judge-api-base out")
    for model in loaded.models:
        BatchEndpoint(model, store)


@contextmanager
def _going_on(output: Path) -> Iterator[None]:
    """Say how batches go on, where a run would say how it does."""

    def again() -> str:
        return f"jurist batch collect {output}" if batches_of(output).exists() else "jurist batch submit"

    try:
        yield
    except (StoppedError, KeyboardInterrupt) as stop:
        number = stop.signal if isinstance(stop, StoppedError) else SIGINT
        why = f"stopped by {signal_name(number)}" if number else str(stop)
        raise StoppedError(why, hint=f"{again()} goes on", signal=number) from None
    except JuristError as error:
        words = "start again with --resume"
        if words not in error.hint:
            raise
        hint = error.hint.replace(words, f"start again with {again()}")
        raise type(error)(error.message, hint=hint) from error


def _result(options: SubmitOptions, loaded: LoadedJudge, state: Collected) -> Result:
    """Return how batches stand; of those that are done, what a run says at its end."""
    summary = state.summary
    if state.done:
        return result_of(options, loaded, summary)
    counts = summary.to_json()
    notes = [f"stopped: {summary.stopped}"] if summary.stopped else []
    if state.unsent:
        notes.append(f"{state.unsent} requests were not sent: raise --max-calls or --max-cost")
    notes.append(f"jurist batch collect {options.output} goes on" if state.batches else "nothing was sent")
    return Result(
        data={
            **{"judge": loaded.name, "output": options.output},
            **{"pending": state.pending, "unsent": state.unsent},
            **counts,
            "spend": summary.spend,
            "batches": [*map(_json, state.batches)],
        },
        body=[
            _table(state.batches),
            f"{loaded.name}: {counts['left']} of {counts['rows']} rows and {state.pending} requests wait",
        ],
        notes=notes,
        code=1 if summary.signal is None else 128 + summary.signal,
    )


def _with_probe(result: Result, probe: Mapping[str, Any]) -> Result:
    """Return a result that also says what the live request before the first batch has taken, if there was one."""
    if not probe:
        return result
    note = f"besides, one row was asked at once before the first batch: {taken_words(spend_in(probe))}"
    return replace(result, data={**result.data, "probe": probe}, notes=[*result.notes, note])


def _json(batch: Batch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in ("number", "id", "status", "requests", "error")}


def _table(batches: Sequence[Batch]) -> Table:
    rows = [[batch.number, batch.id or "-", batch.status, batch.requests, batch.error] for batch in batches]
    return table("", ["batch", "id", "status", "requests", "error"], rows)
