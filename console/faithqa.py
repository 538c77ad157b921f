"""``jurist generate faithqa``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.faithqa import BenchmarkOptions
from ..errors import UsageError
from ..generating.writing import rejects_path
from ..gold.documents import read_documents
from ..jobs.foresee import foresee_items
from ..keeping.loading import load_judge
from ..papers.faithqa.benchmark import Benchmark, Built, build
from ..papers.faithqa.plans import TASKS, Plan
from ..programs.faithqa.writing import Task
from ..report.table import Table, table
from .common import budget_of, model_of, store_of, verifier_model
from .generate import total_line
from .printing import Result
from .started import Started

__all__ = ["generate"]

_TEMPERATURE = 0.7
_OFFLINE = "engine: offline, which fills patterns by rules and is not a language model"


def generate(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    job = _benchmark(options)
    output = Path(options.output)
    with Started(options, job.loaded.models, lambda: foresee_items(job.generation())) as begun:
        start = begun.begin(options.size, "writing queries")
        made = build(job, output, start, on_query=begun.step)
    data = {"output": options.output, "statistics": made.statistics, **made.written.to_json()}
    if made.written.before:
        done = f"{options.output} holds this very job already; nothing was asked"
        return Result(data=data, body=[done, _table(made.statistics)])
    notes = _notes(made, options)
    return Result(
        data=data,
        body=[
            _table(made.statistics),
            _line(made, output),
            *made.written.words,
            *([_OFFLINE] if job.loaded.model.offline else []),
        ],
        notes=notes,
        code=3 if notes else 0,
    )


def _benchmark(options: BenchmarkOptions) -> Benchmark:
    tasks = tuple(_task(name.strip()) for name in options.tasks.split(",")) if options.tasks else TASKS
    plan = Plan(documents=read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    model = model_of(options, options.model, options.seed)
    if options.temperature is None and not model.fixed_temperature:
        model = replace(model, temperature=_TEMPERATURE)
    loaded = load_judge(
        options.generator,
        store=store_of(options),
        model=model,
        samples=options.attempts,
        concurrency=options.concurrency,
        verifier=verifier_model(options, options.timeout, options.seed),
    )
    return Benchmark(plan=plan, loaded=loaded, budget=budget_of(options))


def _task(name: str) -> Task:
    for task in TASKS:
        if task == name:
            return task
    raise UsageError(f"there is no task {name!r}", hint=f"use some of {', '.join(TASKS)}")


def _table(found: Mapping[str, Any]) -> Table:
    rows = []
    for task, one in found["tasks"].items():
        missing = ", ".join(f"{part} {count}" for part, count in one.get("missing", {}).items()) or "-"
        topics = ", ".join(f"{topic} {count}" for topic, count in one["topics"].items()) or "-"
        rows.append(
            [task, str(one.get("easy", "-")), str(one.get("hard", "-")), str(one["total"]), missing, topics]
        )
    return table(
        f"statistics (as FAITHQA Tables 1 and 8): {found['total']} queries; easy is up to 4 constraints",
        ("task", "easy", "hard", "total", "missing", "topics"),
        rows,
    )


def _line(made: Built, output: Path) -> str:
    written = made.written
    parts = [f"{output}: {written.kept} of {written.documents} queries"]
    if written.rejected or written.failed:
        rejects = rejects_path(output)
        parts.append(f"{written.rejected} rejected and {written.failed} failed, with reasons in {rejects}")
    return "; ".join([*parts, total_line(written.spend)])


def _notes(made: Built, options: BenchmarkOptions) -> list[str]:
    written = made.written
    if written.unusable <= options.max_rejected:
        return []
    share = f"{written.unusable:.1%} of the queries were rejected or failed"
    return [f"{share}; {options.max_rejected:.1%} are allowed (--max-rejected)"]
