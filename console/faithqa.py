"""``jurist generate faithqa``, and ``jurist assess`` on what it wrote."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..arguments.faithqa import BenchmarkOptions
from ..arguments.generate import AssessOptions
from ..engines.models import Model
from ..errors import UsageError
from ..gold.documents import read_documents
from ..jobs.generation import Generation
from ..keeping.loading import load_judge
from ..papers.faithqa.assess import Assessment, read_questions
from ..papers.faithqa.benchmark import plan_rows, statistics
from ..papers.faithqa.results import BREAKDOWNS, compare
from ..programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ..programs.faithqa.writing import LIMIT, OMISSION, TASKS
from ..report.table import table
from .assessed import assess_models, assessed
from .common import budget_of, labelling, labelling_model, store_of, target_of
from .generate import writer, written
from .printing import Part, Result, remark


def generate(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks = tuple(name.strip() for name in options.tasks.split(",")) if options.tasks else TASKS
    rows = plan_rows(read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = writer(options)
    cases = tuple(loaded.judge.case(row) for row in rows)
    return written(options, Generation(loaded=loaded, cases=cases, budget=budget_of(options)), _described)


def _described(path: Path) -> tuple[dict[str, Any], list[Part]]:
    found = statistics(path)
    rows = [
        [
            task,
            *(one["difficulty"].get(name, 0 if task in OMISSION else "-") for name in ("easy", "hard")),
            one["total"],
            *(_counts(one[name]) for name in ("missing", "topic")),
        ]
        for task, one in found["tasks"].items()
    ]
    title = (
        f"statistics (as FAITHQA Tables 1 and 8): {found['total']} queries; easy is up to {LIMIT} constraints"
    )
    return {"statistics": found}, [table(title, ("task", "easy", "hard", "total", "missing", "topics"), rows)]


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items()) or "-"


def assess_queries(options: AssessOptions) -> Result:
    """Assess models on a benchmark; exit code 3 if too many queries have no score."""
    work = _assessment(options)
    done = assess_models(options, work)
    found, pairs = done.found, compare(done.found, options.seed)
    data = {
        "benchmark": options.benchmark,
        "queries": len(work.questions),
        "models": [
            {"model": one.model, **{name: part.to_json(one) for name, part in BREAKDOWNS.items()}}
            for one in found
        ],
        "facts": work.facts.name,
        "pairs": [pair.to_json() for pair in pairs],
    }
    answers = ({"model": one.model, **row.to_json()} for one in found for row in one.responses)
    body: list[Part] = [
        *(shown for one in BREAKDOWNS.values() if (shown := one.table(found)).rows),
        *(pair.words for pair in pairs),
        f"judge: {work.judge.name} with {work.judge.model.name}; facts: {work.facts.name}",
    ]
    return assessed(options, done, data, answers, body)


def _assessment(options: AssessOptions) -> Assessment:
    judge = labelling(options, SATISFACTION.name)
    if judge.judge.answer.scale.identity() != SATISFACTION.answer.scale.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    store = store_of(options)
    checking, asked = options.fact_judge or FACT_CHECK.name, Model(name=options.judge_model)
    facts = load_judge(checking, store=store, model=asked, concurrency=options.concurrency)
    if facts.note:
        remark(facts.note)
    if facts.judge.answer.scale.identity() != FACT_CHECK.answer.scale.identity():
        raise UsageError(f"{facts.name} does not check facts", hint=f"name a version of {FACT_CHECK.name}")
    return Assessment(
        questions=read_questions(options.benchmark)[: options.limit],
        targets=tuple(target_of(options, name) for name in options.models),
        judge=judge,
        facts=facts.with_model(labelling_model(options)),
        concurrency=options.concurrency,
        budget=budget_of(options),
    )
