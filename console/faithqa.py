"""``jurist generate faithqa``, and ``jurist assess`` on what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..arguments.faithqa import BenchmarkOptions
from ..arguments.generate import AssessOptions
from ..engines.models import Model
from ..errors import UsageError
from ..generating.writing import rejects_path
from ..gold.documents import read_documents
from ..gold.writing import write_jsonl
from ..jobs.foresee import foresee_items
from ..keeping.loading import LoadedJudge, load_judge
from ..keeping.resolving import default_temperature
from ..papers.faithqa.assess import Assessed, Assessment, Response, assess, foresee, read_questions
from ..papers.faithqa.benchmark import Benchmark, Built, build
from ..papers.faithqa.plans import TASKS, Plan
from ..papers.faithqa.results import Cell, cells, compare, missing_rates, violations
from ..programs.catalogue import find
from ..programs.faithqa.facts import FACT_CHECK
from ..programs.faithqa.judges import SATISFACTION
from ..programs.faithqa.writing import Task
from ..report.table import Table, table
from .common import budget_of, model_of, store_of, verifier_model, write_text
from .generate import total_line
from .printing import Part, Result
from .started import Started

__all__ = ["assess_models", "generate"]

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


def assess_models(options: AssessOptions) -> Result:
    """Assess models on a benchmark; exit code 3 if too many queries have no score."""
    work = _assessment(options)
    steps = 2 * len(work.questions) * len(work.targets)
    with Started(options, [work.judge.model, *work.targets], lambda: foresee(work)) as begun:
        found, spend = assess(work, begun.begin(steps, "answering, marking"), on_step=begun.step)
    data = {
        "benchmark": options.benchmark,
        "queries": len(work.questions),
        "judge": work.judge.stamp(),
        "models": [_model_json(one) for one in found],
        "pairs": [asdict(pair) for pair in compare(found, options.seed)],
        "spend": spend,
    }
    if options.answers:
        write_jsonl(
            ({"model": one.model, **row.to_json()} for one in found for row in one.responses), options.answers
        )
    if options.output:
        write_text(json.dumps(data, ensure_ascii=False, indent=2), options.output)
    worst = max(found, key=lambda one: one.unusable)
    notes = []
    if worst.unusable > options.max_unusable:
        share = f"{worst.model}: {worst.unusable:.1%} of the queries have no score"
        notes.append(f"{share}; {options.max_unusable:.1%} are allowed (--max-unusable)")
    return Result(
        data=data, body=_results(work, found, spend, options.seed), notes=notes, code=3 if notes else 0
    )


def _assessment(options: AssessOptions) -> Assessment:
    questions = read_questions(options.benchmark)[: options.limit]
    return Assessment(
        questions=questions,
        targets=tuple(_target(options, name) for name in options.models),
        judge=_judge(options, SATISFACTION.name, options.judge, options.samples),
        facts=_judge(options, FACT_CHECK.name, None, 1),
        concurrency=options.concurrency,
        budget=budget_of(options),
    )


def _target(options: AssessOptions, name: str) -> Model:
    model = model_of(options, name, options.seed)
    return default_temperature(replace(model, api_base=None) if name == "offline" else model, 1)


def _judge(options: AssessOptions, name: str, given: str | None, samples: int) -> LoadedJudge:
    store = store_of(options)
    compiled = any(one.latest for one in store.list(name))
    loaded = load_judge(
        given or (name if compiled else f"{name}:basic"),
        store=store,
        samples=samples,
        threshold=options.threshold if given else None,
        concurrency=options.concurrency,
    )
    if loaded.judge.answer.identity() != find(name).answer.identity():
        raise UsageError(f"{loaded.name} does not mark constraints", hint=f"name a version of {name}")
    return loaded.with_model(
        Model(
            name=options.judge_model,
            api_base=options.judge_api_base,
            temperature=options.judge_temperature,
            timeout=options.timeout,
            seed=options.seed,
        )
    )


_TABLES: tuple[tuple[str, str, Callable[[Response], tuple[str, ...] | None]], ...] = (
    ("overview", "by task (as Table 3)", lambda one: (one.question.task,)),
    (
        "facts",
        "fact queries by topic and difficulty (as Table 4)",
        lambda one: (
            (one.question.topic or "-", one.question.difficulty) if one.question.task == "fact" else None
        ),
    ),
    (
        "creative",
        "creative writing by form and difficulty (as Table 9)",
        lambda one: (
            (one.question.task, one.question.difficulty) if one.question.task in ("story", "poem") else None
        ),
    ),
)


def _model_json(one: Assessed) -> dict[str, Any]:
    tables = {
        name: {" ".join(key): cell.to_json() for key, cell in cells(one, by).items()}
        for name, _, by in _TABLES
    }
    missing = {
        row: {column: share.to_json() for column, share in columns.items()}
        for row, columns in missing_rates(one).items()
    }
    return {"model": one.model, **tables, "missing": missing, "violations": violations(one)}


def _results(work: Assessment, found: Sequence[Assessed], spend: Any, seed: int) -> list[Part]:
    offline = work.judge.model.offline or any(model.offline for model in work.targets)
    parts: list[Part] = []
    for _, title, by in _TABLES:
        rows = [
            [one.model, " ".join(key), *_cell(cell)] for one in found for key, cell in cells(one, by).items()
        ]
        if rows:
            columns = (
                "model",
                "what",
                "queries",
                "Perfect [95 %]",
                "Constraint Score [95 %]",
                "factual [95 %]",
            )
            parts.append(table(title, columns, rows))
    parts += [_missing(found), _violations(found), *_pairs(found, seed)]
    return [
        *parts,
        "Perfect: no constraint violated; factual: hallucinated responses whose facts are accurate",
        f"judge: {work.judge.name} with {work.judge.model.name}",
        f"spent: {total_line(spend)}",
        *(["engine: offline, an evidence reader and not a language model"] if offline else []),
    ]


def _cell(cell: Cell) -> list[str]:
    return [str(cell.responses), str(cell.perfect), str(cell.score), str(cell.factual)]


def _missing(found: Sequence[Assessed]) -> Table:
    rows = [
        [one.model, row, column, str(share), f"{share.of:.0f}"]
        for one in found
        for row, columns in missing_rates(one).items()
        for column, share in columns.items()
    ]
    return table(
        "missing material (as Tables 10 and 11): hallucinated responses by missing part; kinds of failure: T1 the "
        "missing article is not mentioned, T2 it is invented",
        ("model", "task and topic", "missing or kind", "share [95 %]", "responses"),
        rows,
    )


def _violations(found: Sequence[Assessed]) -> Table:
    rows = [
        [one.model, task, category, *(f"{by_mark[mark]:.3f}" for mark in ("omitted", "misinterpreted"))]
        for one in found
        for task, categories in violations(one).items()
        for category, by_mark in categories.items()
        if any(by_mark.values())
    ]
    return table(
        "violated constraints by category, as shares of a task's violations (as Figure 4)",
        ("model", "task", "category", "omitted", "misinterpreted"),
        rows,
    )


def _pairs(found: Sequence[Assessed], seed: int) -> list[Table]:
    rows = [
        [
            pair.first,
            pair.second,
            str(pair.queries),
            str(pair.difference),
            "-" if pair.p is None else f"{pair.p:.3g}",
        ]
        for pair in compare(found, seed)
    ]
    if not rows:
        return []
    return [
        table(
            "pairs of models on the same queries: difference of Constraint Scores, paired permutation test",
            ("first", "second", "queries", "difference [95 %]", "p"),
            rows,
        )
    ]
