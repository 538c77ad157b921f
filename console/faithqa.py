"""``jurist generate faithqa``, and ``jurist assess`` on what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..arguments.faithqa import BenchmarkOptions
from ..arguments.generate import AssessOptions
from ..errors import UsageError
from ..gold.documents import read_documents
from ..jobs.generation import Generation
from ..keeping.loading import LoadedJudge, load_judge
from ..papers.faithqa.assess import Assessed, Assessment, Response, read_questions
from ..papers.faithqa.benchmark import statistics
from ..papers.faithqa.plans import TASKS, Plan, plan_rows
from ..papers.faithqa.results import cells, compare, missing_rates, violations
from ..programs.faithqa.facts import FACT_CHECK
from ..programs.faithqa.judges import SATISFACTION
from ..programs.faithqa.writing import Task
from ..report.table import Table, table
from .assessed import assess_models, assessed
from .common import budget_of, labelling, latest_or_basic, store_of, target_of
from .generate import total_line, writer, written
from .printing import Part, Result

__all__ = ["assess_queries", "generate"]


def generate(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks = tuple(_task(name.strip()) for name in options.tasks.split(",")) if options.tasks else TASKS
    plan = Plan(documents=read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = writer(options)
    cases = tuple(loaded.judge.case(row) for row in plan_rows(plan))
    return written(options, Generation(loaded=loaded, cases=cases, budget=budget_of(options)), _described)


def _task(name: str) -> Task:
    for task in TASKS:
        if task == name:
            return task
    raise UsageError(f"there is no task {name!r}", hint=f"use some of {', '.join(TASKS)}")


def _described(path: Path) -> tuple[dict[str, Any], list[Part]]:
    found = statistics(path)
    rows = [
        [
            task,
            *(str(one.get(name, "-")) for name in ("easy", "hard", "total")),
            *(_counts(one.get(name, {})) for name in ("missing", "topics")),
        ]
        for task, one in found["tasks"].items()
    ]
    title = f"statistics (as FAITHQA Tables 1 and 8): {found['total']} queries; easy is up to 4 constraints"
    return {"statistics": found}, [table(title, ("task", "easy", "hard", "total", "missing", "topics"), rows)]


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items()) or "-"


def assess_queries(options: AssessOptions) -> Result:
    """Assess models on a benchmark; exit code 3 if too many queries have no score."""
    work = _assessment(options)
    done = assess_models(options, work)
    found = done.found
    pairs = compare(found, options.seed)
    data = {
        "benchmark": options.benchmark,
        "queries": len(work.questions),
        "judge": work.judge.stamp(),
        "models": [_model_json(one) for one in found],
        "pairs": [pair.to_json() for pair in pairs],
    }
    answers = ({"model": one.model, **row.to_json()} for one in found for row in one.responses)
    offline = work.judge.model.offline or any(model.offline for model in work.targets)
    body: list[Part] = [
        *_tables(found),
        "Perfect: no constraint violated; factual: hallucinated responses whose facts are accurate",
        *(pair.words for pair in pairs),
        f"judge: {work.judge.name} with {work.judge.model.name}",
        f"spent: {total_line(done.spend)}",
        *(["engine: offline, an evidence reader and not a language model"] if offline else []),
    ]
    return assessed(options, done, data, answers, body)


def _assessment(options: AssessOptions) -> Assessment:
    judge = labelling(options, SATISFACTION.name)
    if judge.judge.answer.identity() != SATISFACTION.answer.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    return Assessment(
        questions=read_questions(options.benchmark)[: options.limit],
        targets=tuple(target_of(options, name) for name in options.models),
        judge=judge,
        facts=_facts(options).with_model(judge.model),
        concurrency=options.concurrency,
        budget=budget_of(options),
    )


def _facts(options: AssessOptions) -> LoadedJudge:
    store = store_of(options)
    return load_judge(latest_or_basic(FACT_CHECK.name, store), store=store, concurrency=options.concurrency)


_BY: Final[Mapping[str, tuple[str, Callable[[Response], tuple[str, ...] | None]]]] = {
    "overview": ("by task (as Table 3)", lambda one: (one.question.task,)),
    "facts": (
        "fact queries by topic and difficulty (as Table 4)",
        lambda one: (
            (one.question.topic or "-", one.question.difficulty) if one.question.task == "fact" else None
        ),
    ),
    "creative": (
        "creative writing by form and difficulty (as Table 9)",
        lambda one: (
            (one.question.task, one.question.difficulty) if one.question.task in ("story", "poem") else None
        ),
    ),
}


def _model_json(one: Assessed) -> dict[str, Any]:
    tables = {
        name: {
            " ".join(key): {what: share.to_json() for what, share in cell.items()}
            for key, cell in cells(one, by).items()
        }
        for name, (_, by) in _BY.items()
    }
    missing = {
        row: {column: share.to_json() for column, share in columns.items()}
        for row, columns in missing_rates(one).items()
    }
    return {"model": one.model, **tables, "missing": missing, "violations": violations(one)}


def _tables(found: Sequence[Assessed]) -> list[Table]:
    columns = ("model", "what", "queries", "Perfect [95 %]", "Constraint Score [95 %]", "factual [95 %]")
    by_cell = [
        table(title, columns, rows)
        for title, by in _BY.values()
        if (rows := [row for one in found for row in _cell_rows(one, by)])
    ]
    missing = table(
        "missing material (as Tables 10 and 11): hallucinated responses by missing part; kinds of failure: T1 the "
        "missing article is not mentioned, T2 it is invented",
        ("model", "task and topic", "missing or kind", "share [95 %]", "responses"),
        [
            [one.model, row, column, str(share), f"{share.of:.0f}"]
            for one in found
            for row, shown in missing_rates(one).items()
            for column, share in shown.items()
        ],
    )
    violated = table(
        "violated constraints by category, as shares of a task's violations (as Figure 4)",
        ("model", "task", "category", "omitted", "misinterpreted"),
        [
            [one.model, task, category, *(f"{share:.3f}" for share in by_mark.values())]
            for one in found
            for task, categories in violations(one).items()
            for category, by_mark in categories.items()
            if any(by_mark.values())
        ],
    )
    return [*by_cell, missing, violated]


def _cell_rows(one: Assessed, by: Any) -> Iterable[list[str]]:
    for key, cell in cells(one, by).items():
        yield [one.model, " ".join(key), f"{cell['score'].of:.0f}", *map(str, cell.values())]
