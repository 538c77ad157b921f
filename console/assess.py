"""``jurist assess``: sentences of dialogues, C-FAITH's items, or FAITHQA's queries."""

from typing import Any

from ..arguments.generate import AssessOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..gold.sources import read
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import Assessment, assess
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge
from ..papers.cognibench.assess import DIALOGUES, DialogueAssessment, check_judge, read_prompts
from ..papers.faithqa.assess import QueryAssessment, read_questions
from ..papers.haluagent.assess import ItemAssessment, check_compares
from ..papers.haluagent.items import Item, read_authors, read_items
from ..programs.cognibench import COGNIBENCH
from ..programs.dialogue import range_of
from ..programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ..programs.haluagent.judges import QA_CONFLICT
from ..report.scores import total_line
from .inputs import labelling, labelling_model, store_of, target_of
from .printing import Result, remark, write_json
from .terminal import Terminal


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
    ending = [total_line(spend)]
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
    """Return what is asked of whom, by what the first row of the benchmark holds."""
    source = options.benchmark
    rows = [] if source == DIALOGUES else read(source).rows[:1]
    keys = rows[0][1].keys() if rows else {}
    ours = {"id", "format"} <= set(keys)
    if ours or ("question" in keys and {"halu_type", "correct_option"} & set(keys)):
        _unused(options, "words", "fact_judge", "per_cell")
        return _items(options, read_items(source) if ours else read_authors(source))
    if {"task", "query", "constraints"} <= set(keys):
        _unused(options, "words", "calibration", "unanswered")
        return _queries(options)
    _unused(options, "fact_judge", "per_cell", "unanswered")
    return _dialogues(options)


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
    """Return what every assessment is given; ``bundled`` is the gold that the judge is measured on by default."""
    return {
        "benchmark": options.benchmark,
        "targets": tuple(target_of(options, name, temperature, top_p) for name in options.models),
        "judge": judge,
        "calibration": Gold.load(options.calibration or bundled, judge.judge) if bundled else None,
        "concurrency": options.concurrency,
        "budget": Budget.of(options),
        "seed": options.seed,
    }


def _dialogues(options: AssessOptions) -> DialogueAssessment:
    words = range_of(options.words, "--words")
    judge = labelling(options, COGNIBENCH.name)
    check_judge(judge.judge)  # before its gold is read as the calibration
    return DialogueAssessment(
        prompts=read_prompts(options.benchmark)[: options.limit],
        length=f"between {words.low} and {words.high} words",
        **_shared(options, judge, judge.judge.bundled),
    )


def _items(options: AssessOptions, items: tuple[Item, ...]) -> ItemAssessment:
    judge = labelling(options, QA_CONFLICT.name)
    check_compares(judge)  # before its gold is read as the calibration
    shared = _shared(options, judge, QA_CONFLICT.bundled, temperature=1.0, top_p=0.7)
    return ItemAssessment(items=items[: options.limit], unanswered=options.unanswered, **shared)


def _queries(options: AssessOptions) -> QueryAssessment:
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
