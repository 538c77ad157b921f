"""``jurist generate`` with its kinds, and ``jurist assess`` with those of the papers: dialogues, items, queries."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..arguments.generate import (
    AssessOptions,
    BenchmarkOptions,
    DialogueOptions,
    HaluAgentOptions,
    ItemsOptions,
)
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JudgeError, UnknownJudgeError, UsageError, plural, suggest_name
from ..gold.documents import Document, read_documents
from ..gold.goldset import Gold
from ..gold.new_rows import read_rows
from ..gold.rejects import Rejects
from ..gold.sources import OnBad, read
from ..gold.splits import draw_cases
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import Assessment, assess
from ..jobs.generation import Generation, generate, rejects_path
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge
from ..papers.cognibench.assess import DIALOGUES, DialogueAssessment, check_judge, read_prompts
from ..papers.cognibench.dialogues import dialogue_rows, draw_per_topic
from ..papers.faithqa.assess import QueryAssessment, read_questions
from ..papers.faithqa.benchmark import plan_rows, query_statistics, statistics_table
from ..papers.haluagent.assess import ItemAssessment, check_conflict_judge
from ..papers.haluagent.items import Item, read_authors, read_items
from ..papers.haluagent.making import card_tables, write_benchmark
from ..programs.catalogue import GENERATORS
from ..programs.cognibench import COGNIBENCH
from ..programs.dialogue import Range, range_of
from ..programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ..programs.faithqa.writing import TASKS
from ..programs.generator import generator_of
from ..programs.haluagent.judges import QA_CONFLICT
from ..programs.haluagent.writing import HALUAGENT, with_document_questions
from ..programs.languages import case_texts
from ..report.scores import OFFLINE, joint_spend_line
from ..text.wording import count_words
from .inputs import labelling, labelling_model, target_of, verifier_model
from .printing import Part, Result, print_notes, write_json
from .rows import store_of
from .terminal import Terminal

_Description: TypeAlias = tuple[dict[str, Any], list[Part]]
"""What an output holds, as JSON values and for people."""


def generate_items(options: ItemsOptions) -> Result:
    """Write the items of any generator; exit code 3 if too many were rejected."""
    loaded = _writer(options)
    cases = tuple(read_rows(options.input, loaded.judge))
    loaded = loaded.for_texts(case_texts(cases))
    return _write_items(options, Generation(loaded=loaded, cases=cases, budget=Budget.of(options)))


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
            verifiers=options.verifiers,
            language=options.language,
        ).with_model(Model.of(options, name=options.model))
        loaded = loaded.with_adapter(options.adapter)
    except UnknownJudgeError as error:
        hint = suggest_name(name, GENERATORS, "or path/to/file.py:generator")
        raise JudgeError(f"no generator is called {name!r}", hint=hint) from error
    generator_of(loaded.judge)
    return loaded


def _write_items(
    options: ItemsOptions,
    job: Generation,
    describe: Callable[[Path], _Description] = lambda output: ({}, []),
    *,
    noun: str = "items",
    output: Path | None = None,
) -> Result:
    """Write items; exit code 3 if too many were rejected.

    Args:
        options: of the command.
        job: what is written, by whom.
        describe: returns what the file that was written holds.
        noun: what people call the items.
        output: the file; default: that of the options.
    """
    output = output or Path(options.output)
    terminal = Terminal(options)
    generated = generate(job, output, terminal)
    description, body = describe(output)
    data: dict[str, Any] = {"output": options.output, "generator": job.loaded.name}
    data |= description
    data |= generated.to_json()
    data["forecast"] = terminal.forecast
    if generated.done_before:
        body.append(f"{options.output} holds this very job already; nothing was asked")
        return Result(data=data, body=body)
    line = f"{output}: {'; '.join(generated.words)}"
    if generated.unusable:
        line += f"; the others are in {rejects_path(output)}, with reasons"
    line += f"; {joint_spend_line([generated.spend.get('total') or {}])}"
    body.append(line)
    if job.loaded.model.offline:
        body.append(OFFLINE)
    notes = []
    if generated.failed:
        notes.append(f"{generated.failed} {noun} failed; --resume asks for them again")
    if generated.unusable <= options.max_rejected:
        return Result(data=data, body=body, notes=notes)
    share = f"{generated.unusable:.1%} of the {noun} were rejected or failed"
    notes.append(f"{share}; {options.max_rejected:.1%} are allowed (--max-rejected)")
    return Result(data=data, body=body, notes=notes, code=3)


def generate_dialogues(options: DialogueOptions) -> Result:
    """Write dialogues; exit code 3 if too many were rejected."""
    turns, words = range_of(options.turns, "--turns"), range_of(options.words, "--words")
    documents: Sequence[Document] = read_documents(options.input)
    if options.per_topic is not None:
        documents = draw_per_topic(documents, options.per_topic, options.seed)
    rows = dialogue_rows(documents, options.seed, turns=turns, words=words)
    short_words = _short_documents_words(documents, turns, words)
    print_notes(short_words)
    loaded = _writer(options)
    job = Generation(
        loaded=loaded,
        cases=tuple(map(loaded.judge.case, rows)),
        budget=Budget.of(options),
        settings={"seed": options.seed},
    )
    result = _write_items(options, job, noun="dialogues")
    if result.code and short_words:
        return replace(result, notes=[*result.notes, f"why: {short_words}"])
    return result


def _short_documents_words(documents: Sequence[Document], turns: Range, words: Range) -> str:
    """Return how many documents are shorter than the answers that are asked for, and what to ask; empty if none is."""
    lengths = sorted(count_words(document.text) for document in documents)
    needed = turns.low * words.low
    short_count = sum(length < needed for length in lengths)
    if not short_count:
        return ""
    fitting = min(words.low, max(5, lengths[0] // 10 * 5))  # about half of the shortest document
    return (
        f"{short_count} of {plural(len(lengths), 'document')} have fewer words ({lengths[0]} to {lengths[-1]}) than "
        f"the {needed} that {turns.low} answers of {words.low} words or more take: longer documents, or "
        f"--turns 1 --words {fitting}-{words.high}, fit together"
    )


def generate_faithqa(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks: Sequence[str] = TASKS
    if options.tasks:
        tasks = tuple(name.strip() for name in options.tasks.split(","))
    rows = plan_rows(read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = _writer(options)

    def describe(path: Path) -> _Description:
        statistics = query_statistics(path)
        return {"statistics": statistics}, [statistics_table(statistics)]

    job = Generation(loaded=loaded, cases=tuple(map(loaded.judge.case, rows)), budget=Budget.of(options))
    return _write_items(options, job, describe)


def generate_haluagent(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    loaded = _writer(replace(options, generator=options.generator or HALUAGENT.name))
    folder = Path(options.output)
    job = _questions_to_ask(options, loaded)
    topics = {}
    for document in read_documents(options.input, "knowledge"):
        topics[document.id] = str(document.topic or document.extra.get("label") or "")

    def describe(verified: Path) -> _Description:
        card = write_benchmark(job, verified, topics=topics, seed=options.seed)
        parts: list[Part] = list(card_tables(card))
        parts.append(f"card: {folder / 'CARD.json'}")
        return card, parts

    result = _write_items(options, job, describe, output=folder / "verified.jsonl")
    if result.data["statistics"]["items"]:
        return result
    notes = list(result.notes)
    notes.append(f"{folder} holds no item: nothing that was written passed")
    return replace(result, code=3, notes=notes)


def _questions_to_ask(options: HaluAgentOptions, loaded: LoadedJudge) -> Generation:
    """Return the job that asks the first documents their questions, those of a document one after the other."""
    asking = with_document_questions(
        loaded.judge,
        per_document=options.per_document,
        types=options.types,
        characters=options.characters,
    )
    cases = Gold.load(options.input, asking).cases
    groups = tuple(dict.fromkeys(case.group for case in cases))[: options.limit]
    cases = tuple(case for case in cases if case.group in groups)
    if options.per_document is not None:
        drawn_ids = {case.id for case in draw_cases(cases, "type", options.per_document, options.seed)}
        cases = tuple(case for case in cases if case.id in drawn_ids)
    return Generation(loaded=loaded.for_texts(case_texts(cases)), cases=cases, budget=Budget.of(options))


def assess_models(options: AssessOptions) -> Result:
    """Assess models; exit code 3 if too many questions have no usable answer."""
    work = _assessment_of(options)
    check_files(options.answers, options.output)
    terminal = Terminal(options)
    results, spend = assess(work, terminal)
    measured, answers, parts = work.view(results)
    data = dict(measured)
    data |= {"judge": work.judge.stamp(), "spend": spend, "forecast": terminal.forecast}
    if options.answers:
        write_jsonl(answers, options.answers)
    write_json(data, options.output)
    body = list(parts)
    body.append(joint_spend_line([spend.get("total") or {}]))
    if work.judge.model.offline or any(model.offline for model in work.targets):
        body.append("engine: offline, a text-overlap scorer, not an LLM")
    notes = []
    if any(model.failed for model in results):
        notes.append("--resume asks again for what failed")
    worst = max(results, key=lambda model: model.unusable)
    if worst.unusable <= options.max_unusable:
        return Result(data=data, body=body, notes=notes)
    notes.append(
        f"{worst.model}: {worst.unusable:.1%} of the questions have no usable answer; "
        f"{options.max_unusable:.1%} are allowed (--max-unusable)"
    )
    return Result(data=data, body=body, notes=notes, code=3)


def _assessment_of(options: AssessOptions) -> Assessment:
    """Return the assessment for a benchmark; its first row decides the kind."""
    names = _first_row_names(options.benchmark)
    if names >= {"id", "format"}:
        _refuse_unused(options, "fact_judge", "per_cell")
        return _item_assessment(options, _usable_items(options, read_items))
    if "question" in names and not names.isdisjoint({"halu_type", "correct_option"}):
        _refuse_unused(options, "fact_judge", "per_cell")
        return _item_assessment(options, _usable_items(options, read_authors))
    if names >= {"task", "query", "constraints"}:
        _refuse_unused(options, "calibration", "unanswered", "rejects")
        return _query_assessment(options)
    _refuse_unused(options, "fact_judge", "per_cell", "unanswered", "rejects")
    return _dialogue_assessment(options)


def _usable_items(
    options: AssessOptions, read_rows_of: Callable[[str, OnBad], tuple[Item, ...]]
) -> tuple[Item, ...]:
    """Return the items of a benchmark; with ``--rejects`` the rows that are none are set aside and counted."""
    rejects = Rejects(options.rejects)
    rejects.check_apart(options.benchmark)
    with rejects:
        items = read_rows_of(options.benchmark, rejects.add)
        refusal = rejects.refusal()
        if refusal is not None and not (options.rejects and items):
            raise refusal
    if rejects.count:
        print_notes(
            f"{rejects.count} rows of {options.benchmark} are no items: they are in {options.rejects}"
        )
    return items


def _first_row_names(benchmark: str) -> set[str]:
    """Return the names in the first row of a benchmark; none of one without rows, and of jurist's own dialogues."""
    if benchmark == DIALOGUES:
        return set()
    for _, row in read(benchmark).rows[:1]:
        return set(row)
    return set()


def _refuse_unused(options: AssessOptions, *names: str) -> None:
    """Refuse options that change nothing on this benchmark."""
    for name in names:
        if getattr(options, name) != getattr(AssessOptions, name):
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} says nothing about {options.benchmark}", hint=f"leave out {flag}")


def _common_arguments(
    options: AssessOptions,
    judge: LoadedJudge,
    bundled: str = "",
    temperature: float | None = None,
    top_p: float | None = None,
) -> dict[str, Any]:
    """Return the arguments of every assessment; ``bundled`` is the default gold for measuring the judge."""
    targets = []
    for name in options.models:
        targets.append(target_of(options, name, temperature, top_p))
    calibration = None
    if bundled:
        calibration = Gold.load(options.calibration or bundled, judge.judge)
    return {
        "benchmark": options.benchmark,
        "targets": tuple(targets),
        "judge": judge,
        "calibration": calibration,
        "concurrency": options.concurrency,
        "budget": Budget.of(options),
        "seed": options.seed,
    }


def _dialogue_assessment(options: AssessOptions) -> DialogueAssessment:
    judge = labelling(options, COGNIBENCH.name)
    check_judge(judge.judge)  # before its gold is read as the calibration
    return DialogueAssessment(
        prompts=read_prompts(options.benchmark)[: options.limit],
        **_common_arguments(options, judge, judge.judge.bundled),
    )


def _item_assessment(options: AssessOptions, items: tuple[Item, ...]) -> ItemAssessment:
    judge = labelling(options, QA_CONFLICT.name).for_texts(item.question for item in items)
    check_conflict_judge(judge)  # before its gold is read as the calibration
    return ItemAssessment(
        items=items[: options.limit],
        unanswered=options.unanswered,
        **_common_arguments(options, judge, QA_CONFLICT.bundled, temperature=1.0, top_p=0.7),
    )


def _query_assessment(options: AssessOptions) -> QueryAssessment:
    judge = labelling(options, SATISFACTION.name)
    if judge.judge.answer.scale.identity() != SATISFACTION.answer.scale.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    facts = load_judge(
        options.fact_judge or FACT_CHECK.name,
        store=store_of(options),
        model=Model(name=options.judge_model),
        concurrency=options.concurrency,
    )
    print_notes(facts.note)
    if facts.judge.answer.scale.identity() != FACT_CHECK.answer.scale.identity():
        raise UsageError(f"{facts.name} does not check facts", hint=f"name a version of {FACT_CHECK.name}")
    return QueryAssessment(
        questions=read_questions(options.benchmark, options.per_cell, options.seed)[: options.limit],
        facts=facts.with_model(labelling_model(options)),
        **_common_arguments(options, judge, temperature=0.3),
    )
