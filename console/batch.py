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
from ..errors import CheckpointError, Interrupted, JuristError, StoppedError, UsageError, signal_name
from ..jobs.estimate import is_free
from ..keeping.loading import LoadedJudge
from ..report.scores import spend_in, taken_words
from ..report.table import Table, table
from ..runs.batch_service import BatchEndpoint, BatchService, batch_discount
from ..runs.batch_store import Batch, BatchStore
from ..runs.batching import BatchRun, Collected, opened
from ..runs.outputs import batches_of, check_no_batches, checkpoint_of, lines_in
from ..runs.runner import RunPlan
from .bars import Bar
from .inputs import answering_model, judge_of
from .printing import Result, print_notes
from .rows import store_of
from .run import foreseen, result_of, rows_of

_BEGIN = "jurist batch submit begins them"


def submit_batches(options: SubmitOptions) -> Result:
    """Send the first batches of a run."""
    if "-" in (options.input, options.output):
        raise UsageError("the rows of batches are read again when they are collected", hint="name files")
    output = Path(options.output)
    if options.fresh:
        check_no_batches(output, forget=True)
    with _batch_hints(output), opened(output, new=True) as store, Bar() as bar:
        if output.is_file() and output.stat().st_size:
            hint = "name another file; jurist run --resume continues this one"
            raise UsageError(f"{output} exists", hint=hint)

        def begin(plan: RunPlan) -> None:
            share = batch_discount(run.judge.model.name)
            notes = []
            if share < 1:
                notes.append(f"asked in batches, at {share:.0%} of that price")
            estimate = foreseen(run.judge, plan, settings.budget, yes=options.yes, notes=notes)
            price = 0.0
            if estimate:
                price = share * max(part.prices[1] for part in estimate.asks)
            store.tell({"price": price})
            bar.begin(f"writing requests of {run.judge.name}", plan.rows)

        run = _run(store, options, bar)
        _check(run.judge, store)
        settings = replace(run.settings, fresh=options.fresh)
        run = replace(run, settings=settings, on_begin=begin, probes=not options.no_probe, note=print_notes)
        state = run.submit({"options": asdict(options)})
        probe = run.probe_spend
    result = _with_probe(_state_result(options, run.judge, state), probe)
    if not (state.done or state.unsent or state.summary.stopped):
        result = replace(result, code=0)  # all is under way
    return result


def show_batches(options: StatusOptions) -> Result:
    """Say how batches stand, as their provider says now."""
    folder = batches_of(Path(options.output))
    complete = _complete(Path(options.output))
    if complete:
        return complete
    if not folder.exists():
        raise CheckpointError(f"no batches of {options.output} are under way", hint=_BEGIN)
    with BatchStore(folder / "batches.sqlite") as store:
        options_then = _submitted(store)
        loaded = judge_of(
            options_then.judge, options_then, store_of(options_then), answering_model(options_then)
        )
        service = _service(store, options_then, loaded.model)
        waiting = store.flying
        batches = []
        entries = []
        for batch in store.batches():
            looked_at = _look_at(service, batch)
            batches.append(looked_at)
            entries.append(_batch_entry(looked_at))
    return Result(
        data={"output": options.output, "waiting": waiting, "batches": entries},
        body=[_batch_table(batches), f"{waiting} requests wait for their replies"],
    )


def collect_batches(options: CollectOptions) -> Result:
    """Take what has come; exit code 1 if some rows still wait, 3 if too many are unusable."""
    output = Path(options.output)
    complete = _complete(output)
    if complete:
        return complete
    with _batch_hints(output), opened(output) as store, Bar() as bar:
        submitted = _submitted(store)
        if options.calls is not None:
            submitted = replace(submitted, calls=options.calls)
        if options.cost is not None:
            submitted = replace(submitted, cost=options.cost)
        run = _run(store, submitted, bar)
        collected = run.collect()
        while options.wait and not (collected.done or collected.unsent or collected.summary.stopped):
            while run.waiting:
                time.sleep(options.every)
            collected = run.collect()
        probe = run.probe_spend
    return _with_probe(_state_result(submitted, run.judge, collected), probe)


def _complete(output: Path) -> Result | None:
    """Return the result for an output whose batches have all been collected; ``None`` for another output."""
    if batches_of(output).exists() or not output.is_file():
        return None
    judge = _judge_of_lines(output)
    if judge is None:
        return None
    notes = []
    if checkpoint_of(output).exists():
        notes.append("jurist run --resume asks what failed")
    return Result(
        data={"output": str(output), "judge": judge, "pending": 0, "batches": []},
        body=[f"{output} of {judge}: all that was sent in batches is collected"],
        notes=notes,
    )


def _judge_of_lines(output: Path) -> object:
    """Return the judge that the first line of an output names; ``None`` if it names none."""
    for _, line in lines_in(output):
        if isinstance(line, dict):
            return line.get("judge")
    return None


def _run(store: BatchStore, options: SubmitOptions, bar: Bar) -> BatchRun:
    """Return the run whose rows are asked in batches."""
    loaded, source, settings = rows_of(options)
    if not loaded.models:
        raise UsageError(
            f"{loaded.name} asks no model: words decide, and nothing can be sent in batches",
            hint=f"jurist run {options.judge} --input {options.input} --output {options.output}",
        )
    return BatchRun(
        store=store,
        service=_service(store, options, loaded.model),
        judge=loaded,
        source=source,
        output=Path(options.output),
        settings=settings,
        on_begin=lambda plan: bar.begin(f"reading what has come for {loaded.name}", plan.rows),
        on_row=bar.step,
    )


def _service(store: BatchStore, options: SubmitOptions, model: Model) -> BatchService:
    """Return the service of batches of a model's provider."""
    return BatchService(store, key_of(model), options.timeout)


def _look_at(service: BatchService, batch: Batch) -> Batch:
    """Return a batch as its provider says that it stands; nothing is taken of it."""
    if batch.ended or not batch.id:
        return batch
    provided = service.look(batch)
    status = provided.status
    counts = provided.request_counts
    if counts:
        status += f" {counts.completed}/{counts.total}"
    return replace(batch, status=status)


def _submitted(store: BatchStore) -> SubmitOptions:
    """Return the options with which batches were begun."""
    try:
        return SubmitOptions(**store.about["options"])
    except (KeyError, TypeError) as error:
        raise CheckpointError(
            "these batches were begun by another version of jurist", hint="collect them with that version"
        ) from error


def _check(loaded: LoadedJudge, store: BatchStore) -> None:
    """Refuse models that are not asked in batches, before anybody is asked about their price."""
    if any(model.members for model in loaded.models):
        raise UsageError(
            f"{loaded.name} is asked with a panel, whose batches would go to several providers",
            hint="jurist run asks it at once",
        )
    if any(map(is_free, loaded.models)):
        raise UsageError(f"{loaded.model.name} is not asked in batches", hint="jurist run asks it at once")
    addresses = {model.api_base for model in loaded.models}
    if len(addresses) > 1:
        raise UsageError("batches go to one address", hint="leave --judge-api-base out")
    for model in loaded.models:
        BatchEndpoint(model, store)


@contextmanager
def _batch_hints(output: Path) -> Iterator[None]:
    """Say how batches go on, where a run would say how it does."""

    def command() -> str:
        if batches_of(output).exists():
            return f"jurist batch collect {output}"
        return "jurist batch submit"

    try:
        yield
    except StoppedError as stop:
        raise StoppedError(str(stop), hint=f"{command()} goes on") from None
    except KeyboardInterrupt as stop:
        number = stop.signal if isinstance(stop, Interrupted) else SIGINT
        why = f"stopped by {signal_name(number)}"
        raise Interrupted(why, hint=f"{command()} goes on", signal=number) from None
    except JuristError as error:
        words = "start again with --resume"
        if words not in error.hint:
            raise
        hint = error.hint.replace(words, f"start again with {command()}")
        raise type(error)(error.message, hint=hint) from error


def _state_result(options: SubmitOptions, loaded: LoadedJudge, state: Collected) -> Result:
    """Return how batches stand; of those that are done, what a run says at its end."""
    summary = state.summary
    if state.done:
        return result_of(options, loaded, summary)
    counts = summary.to_json()
    data: dict[str, Any] = {
        "judge": loaded.name,
        "output": options.output,
        "pending": state.pending,
        "unsent": state.unsent,
    }
    data |= counts
    data["spend"] = summary.spend
    data["batches"] = [_batch_entry(batch) for batch in state.batches]
    notes = []
    if summary.stopped:
        notes.append(f"stopped: {summary.stop_words}")
    if state.unsent:
        notes.append(f"{state.unsent} requests were not sent: raise --max-calls or --max-cost")
    if state.batches:
        notes.append(f"jurist batch collect {options.output} goes on")
    else:
        notes.append("nothing was sent")
    return Result(
        data=data,
        body=[
            _batch_table(state.batches),
            f"{loaded.name}: {counts['left']} of {counts['rows']} rows and {state.pending} requests wait",
        ],
        notes=notes,
        code=1 if summary.signal is None else 128 + summary.signal,
    )


def _with_probe(result: Result, probe: Mapping[str, Any]) -> Result:
    """Return a result that also says what the live request before the first batch has taken, if there was one."""
    if not probe:
        return result
    data = dict(result.data)
    data["probe"] = probe
    notes = list(result.notes)
    words = taken_words(spend_in(probe))
    notes.append(f"besides, one row was asked at once before the first batch: {words}")
    return replace(result, data=data, notes=notes)


def _batch_entry(batch: Batch) -> dict[str, object]:
    """Return a batch as JSON values."""
    return {name: getattr(batch, name) for name in ("number", "id", "status", "requests", "error")}


def _batch_table(batches: Sequence[Batch]) -> Table:
    """Return a row for each batch."""
    rows = []
    for batch in batches:
        rows.append([batch.number, batch.id or "-", batch.status, batch.requests, batch.error])
    return table("", ["batch", "id", "status", "requests", "error"], rows)
