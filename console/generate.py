"""``jurist generate`` with its kinds, and ``jurist assess`` with those of the papers: dialogues, items, queries."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.generate import (
    AssessOptions,
    BenchmarkOptions,
    DialogueOptions,
    HaluAgentOptions,
    ItemsOptions,
)
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JudgeError, UnknownJudgeError, UsageError, choices
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..gold.new_rows import read_rows
from ..gold.sources import read
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import Assessment, assess
from ..jobs.generation import Generation, generate, rejects_path
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge
from ..papers.cognibench.assess import DIALOGUES, DialogueAssessment, check_judge, read_prompts
from ..papers.cognibench.dialogues import plans
from ..papers.faithqa.assess import QueryAssessment, read_questions
from ..papers.faithqa.benchmark import plan_rows, query_statistics, statistics_table
from ..papers.haluagent.assess import ItemAssessment, check_compares
from ..papers.haluagent.items import Item, read_authors, read_items
from ..papers.haluagent.making import card_tables, write_benchmark
from ..programs.catalogue import GENERATORS
from ..programs.cognibench import COGNIBENCH
from ..programs.dialogue import range_of
from ..programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ..programs.faithqa.writing import TASKS
from ..programs.generator import generator_of
from ..programs.haluagent.judges import QA_CONFLICT
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE, joint_spend_line
from .inputs import labelling, labelling_model, store_of, target_of, verifier_model
from .printing import Part, Result, remark, write_json
from .terminal import Terminal

_Described = Callable[[Path], tuple[dict[str, Any], list[Part]]]
"""Returns what an output holds, as JSON values and for people."""


def items(options: ItemsOptions) -> Result:
    """Write the items of any generator; exit code 3 if too many were rejected."""
    loaded = _writer(options)
    cases = read_rows(options.input, loaded.judge)
    return _items(options, Generation(loaded=loaded, cases=tuple(cases), budget=Budget.of(options)))


def _writer(options: ItemsOptions) -> LoadedJudge:
    """Return who writes, with the models of the options."""
    store, name = store_of(options), options.generator
    try:
        loaded = load_judge(
            name,
            store=store,
            model=Model(name=options.model),
            samples=options.attempts,
            concurrency=options.concurrency,
            verifier=verifier_model(options, options.timeout, options.seed),
        ).with_model(Model.of(options, name=options.model))
        loaded = loaded.with_adapter(options.adapter)
    except UnknownJudgeError as error:
        hint = choices(name, GENERATORS, "or path/to/file.py:generator")
        raise JudgeError(f"no generator is called {name!r}", hint=hint) from error
    generator_of(loaded.judge)
    return loaded


def _items(
    options: ItemsOptions,
    job: Generation,
    table_of: _Described = lambda output: ({}, []),
    *,
    what: str = "items",
    output: Path | None = None,
) -> Result:
    """Write; what people read, exit code 3, and what is left to do follow from how it ended."""
    output, loaded = output or Path(options.output), job.loaded
    terminal = Terminal(options)
    made = generate(job, output, terminal)
    more, parts = table_of(output)
    about = {"output": options.output, "generator": loaded.name}
    data = {**about, **more, **made.to_json(), "forecast": terminal.forecast}
    if made.done_before:
        again = f"{options.output} holds this very job already; nothing was asked"
        return Result(data=data, body=[*parts, again])
    rejects = [f"the others are in {rejects_path(output)}, with reasons"] if made.unusable else []
    line = "; ".join(
        [f"{output}: {'; '.join(made.words)}", *rejects, joint_spend_line([made.spend.get("total") or {}])]
    )
    body = [*parts, line, *([OFFLINE] if loaded.model.offline else [])]
    notes = [f"{made.failed} {what} failed; --resume asks for them again"] if made.failed else []
    if over := made.unusable > options.max_rejected:
        share = f"{made.unusable:.1%} of the {what} were rejected or failed"
        notes.append(f"{share}; {options.max_rejected:.1%} are allowed (--max-rejected)")
    return Result(data=data, body=body, notes=notes, code=3 if over else 0)


def dialogue(options: DialogueOptions) -> Result:
    """Write dialogues; exit code 3 if too many were rejected."""
    turns, words = range_of(options.turns, "--turns"), range_of(options.words, "--words")
    rows = plans(read_documents(options.input), options.seed, turns=turns, words=words)
    loaded = _writer(options)
    job = Generation(
        loaded=loaded,
        cases=tuple(map(loaded.judge.case, rows)),
        budget=Budget.of(options),
        settings={"seed": options.seed},
    )
    return _items(options, job, what="dialogues")


def faithqa(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks = tuple(name.strip() for name in options.tasks.split(",")) if options.tasks else TASKS
    rows = plan_rows(read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = _writer(options)

    def describe(path: Path) -> tuple[dict[str, Any], list[Part]]:
        counted = query_statistics(path)
        return {"statistics": counted}, [statistics_table(counted)]

    cases = tuple(loaded.judge.case(row) for row in rows)
    return _items(options, Generation(loaded=loaded, cases=cases, budget=Budget.of(options)), describe)


def haluagent(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    loaded = _writer(replace(options, generator=options.generator or HALUAGENT.name))
    folder = Path(options.output)
    cases = Gold.load(options.input, loaded.judge).cases[: options.limit]
    job = Generation(loaded=loaded, cases=cases, budget=Budget.of(options))
    documents = read_documents(options.input, "knowledge")
    topics = {document.id: str(document.topic or document.extra.get("label") or "") for document in documents}

    def describe(verified: Path) -> tuple[dict[str, Any], list[Part]]:
        card = write_benchmark(job, verified, topics=topics, seed=options.seed)
        return card, [*card_tables(card), f"card: {folder / 'CARD.json'}"]

    result = _items(options, job, describe, output=folder / "verified.jsonl")
    if result.data["statistics"]["items"]:
        return result
    nothing = f"{folder} holds no item: nothing that was written passed"
    return replace(result, code=3, notes=[*result.notes, nothing])


def assess_(options: AssessOptions) -> Result:
    """Assess models; exit code 3 if too many questions have no usable answer."""
    work = _work(options)
    judge, targets = work.judge, work.targets
    check_files(options.answers, options.output)
    terminal = Terminal(options)
    results, spend = assess(work, terminal)
    measured, answers, body = work.view(results)
    data = {**measured, "judge": judge.stamp(), "spend": spend, "forecast": terminal.forecast}
    if options.answers:
        write_jsonl(answers, options.answers)
    write_json(data, options.output)
    ending = [joint_spend_line([spend.get("total") or {}])]
    if judge.model.offline or any(model.offline for model in targets):
        ending.append("engine: offline, a text-overlap scorer, not an LLM")
    notes = ["--resume asks again for what failed"] if any(model.failed for model in results) else []
    worst = max(results, key=lambda model: model.unusable)
    if over := worst.unusable > options.max_unusable:
        share, allowed = f"{worst.unusable:.1%}", f"{options.max_unusable:.1%}"
        notes.append(
            f"{worst.model}: {share} of the questions have no usable answer; {allowed} are allowed (--max-unusable)"
        )
    return Result(data=data, body=[*body, *ending], notes=notes, code=3 if over else 0)


def _work(options: AssessOptions) -> Assessment:
    """Return the assessment for a benchmark; its first row decides the kind."""
    source = options.benchmark
    rows = [] if source == DIALOGUES else read(source).rows[:1]
    keys = rows[0][1].keys() if rows else {}
    ours = {"id", "format"} <= set(keys)
    if ours or ("question" in keys and {"halu_type", "correct_option"} & set(keys)):
        _unused(options, "fact_judge", "per_cell")
        return _item_work(options, read_items(source) if ours else read_authors(source))
    if {"task", "query", "constraints"} <= set(keys):
        _unused(options, "calibration", "unanswered")
        return _query_work(options)
    _unused(options, "fact_judge", "per_cell", "unanswered")
    return _dialogue_work(options)


def _unused(options: AssessOptions, *names: str) -> None:
    """Refuse options that change nothing on this benchmark."""
    for name in names:
        if getattr(options, name) != getattr(AssessOptions, name):
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} says nothing about {options.benchmark}", hint=f"leave out {flag}")


def _shared(
    options: AssessOptions,
    judge: LoadedJudge,
    bundled: str = "",
    temperature: float | None = None,
    top_p: float | None = None,
) -> dict[str, Any]:
    """Return the arguments of every assessment; ``bundled`` is the default gold for measuring the judge."""
    return {
        "benchmark": options.benchmark,
        "targets": tuple(target_of(options, name, temperature, top_p) for name in options.models),
        "judge": judge,
        "calibration": Gold.load(options.calibration or bundled, judge.judge) if bundled else None,
        "concurrency": options.concurrency,
        "budget": Budget.of(options),
        "seed": options.seed,
    }


def _dialogue_work(options: AssessOptions) -> DialogueAssessment:
    judge = labelling(options, COGNIBENCH.name)
    check_judge(judge.judge)  # before its gold is read as the calibration
    return DialogueAssessment(
        prompts=read_prompts(options.benchmark)[: options.limit],
        **_shared(options, judge, judge.judge.bundled),
    )


def _item_work(options: AssessOptions, items: tuple[Item, ...]) -> ItemAssessment:
    judge = labelling(options, QA_CONFLICT.name)
    check_compares(judge)  # before its gold is read as the calibration
    shared = _shared(options, judge, QA_CONFLICT.bundled, temperature=1.0, top_p=0.7)
    return ItemAssessment(items=items[: options.limit], unanswered=options.unanswered, **shared)


def _query_work(options: AssessOptions) -> QueryAssessment:
    judge = labelling(options, SATISFACTION.name)
    if judge.judge.answer.scale.identity() != SATISFACTION.answer.scale.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    checking, asked = options.fact_judge or FACT_CHECK.name, Model(name=options.judge_model)
    facts = load_judge(checking, store=store_of(options), model=asked, concurrency=options.concurrency)
    remark(facts.note)
    if facts.judge.answer.scale.identity() != FACT_CHECK.answer.scale.identity():
        raise UsageError(f"{facts.name} does not check facts", hint=f"name a version of {FACT_CHECK.name}")
    return QueryAssessment(
        questions=read_questions(options.benchmark, options.per_cell, options.seed)[: options.limit],
        facts=facts.with_model(labelling_model(options)),
        **_shared(options, judge, temperature=0.3),
    )
