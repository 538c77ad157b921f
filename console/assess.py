"""``jurist assess``: sentences of dialogues, C-FAITH's items, or FAITHQA's queries."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..arguments.generate import AssessOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import AssessedModels, assess, foresee_assessment
from ..keeping.loaders import load_judge
from ..papers.cognibench.assess import (
    DIALOGUES,
    MEASURES,
    Assessed,
    Assessment,
    read_prompts,
)
from ..papers.cognibench.dataset import response_rows
from ..papers.faithqa.assess import Assessment as QueryAssessment
from ..papers.faithqa.assess import is_benchmark, read_questions
from ..papers.faithqa.results import BREAKDOWNS, compare
from ..papers.haluagent.assess import Assessed as AssessedItems
from ..papers.haluagent.assess import ItemAssessment, check_compares
from ..papers.haluagent.items import FORMATS, Item, read_authors, read_items
from ..papers.haluagent.rates import Rates, paired
from ..programs.dialogue import range_of
from ..programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ..programs.haluagent.judges import QA_CONFLICT
from ..report.scores import number_cell, total_line
from ..report.table import Table, table
from ..signatures.haluagent import TYPES
from .generate import below, labeller
from .inputs import labelling, labelling_model, store_of, target_of
from .printing import Part, Result, remark, write_json
from .terminal import Started

_TYPES, _RATES = MEASURES[:3], MEASURES[3:]


Shown = tuple[dict[str, Any], Iterable[Mapping[str, Any]], Sequence[Part]]
"""What is said of all models: JSON values, a line for each answer, and what people read."""
Show = Callable[[list[Any]], Shown]


def assess_(options: AssessOptions) -> Result:
    """Assess models; exit code 3 if too many questions have no usable answer."""
    work, show = _work(options)
    judge, targets = work.judge, work.targets
    check_files(options.answers, options.output)
    remark(judge.note)
    steps = len(work.held_out) + (len(work.asked) + work.to_judge) * len(targets)
    with Started(options, [judge.model, *targets], lambda: foresee_assessment(work)) as begun:
        doing = "calibrating, answering, judging" if work.held_out else "answering, judging"
        found, spend = assess(work, begun.start(doing, steps), on_step=begun.step)
    told, answers, body = show(found)
    data = {**told, "judge": judge.stamp(), "spend": spend, "forecast": begun.forecast}
    if options.answers:
        write_jsonl(answers, options.answers)
    write_json(data, options.output)
    ending = [total_line(spend)]
    if judge.model.offline or any(model.offline for model in targets):
        ending.append("engine: offline, a text-overlap scorer, not an LLM")
    notes = ["--resume asks again for what failed"] if any(one.failed for one in found) else []
    worst = max(found, key=lambda one: one.unusable)
    if over := worst.unusable > options.max_unusable:
        share, allowed = f"{worst.unusable:.1%}", f"{options.max_unusable:.1%}"
        notes.append(
            f"{worst.model}: {share} of the questions have no usable answer; {allowed} are allowed (--max-unusable)"
        )
    return Result(data=data, body=[*body, *ending], notes=notes, code=3 if over else 0)


def _work(options: AssessOptions) -> tuple[AssessedModels[Any], Show]:
    """Return what is asked of whom, by what the benchmark holds, and what shows it."""
    if items := items_of_benchmark(options.benchmark):
        _unused(options, "words", "fact_judge", "per_cell")
        return _items(options, items)
    if options.benchmark != DIALOGUES and is_benchmark(options.benchmark):
        _unused(options, "words", "calibration")
        return _queries(options)
    _unused(options, "fact_judge", "per_cell")
    return _sentences(options)


def _unused(options: AssessOptions, *names: str) -> None:
    """Refuse options that change nothing on this benchmark."""
    for one in names:
        if getattr(options, one) != getattr(AssessOptions, one):
            flag = "--" + one.replace("_", "-")
            raise UsageError(f"{flag} says nothing about {options.benchmark}", hint=f"leave out {flag}")


def _sentences(options: AssessOptions) -> tuple[Assessment, Show]:
    words = range_of(options.words, "--words")
    judge = labeller(options)
    prompts, name = read_prompts(options.benchmark)
    work = Assessment(
        prompts=prompts[: options.limit],
        targets=tuple(target_of(options, model) for model in options.models),
        judge=judge,
        calibration=Gold.load(options.calibration or judge.judge.bundled, judge.judge),
        benchmark=name,
        length=f"between {words.low} and {words.high} words",
        concurrency=options.concurrency,
        budget=Budget.of(options),
        seed=options.seed,
    )

    def show(found: list[Assessed]) -> Shown:
        left_out = len(work.calibration.cases) - len(work.held_out)
        calibration = {"gold": work.calibration.name, "rows": len(work.held_out), "left_out": left_out}
        models = [one.to_json() for one in found]
        data = {"benchmark": work.benchmark, "prompts": len(work.prompts), "calibration": calibration}
        answers = (
            {"model": one.model, **row, "response": labelled.answer.text}
            for one in found
            for row, labelled in zip(response_rows(one.answers), one.answers, strict=True)
        )
        return {**data, "models": models}, answers, _sentences_body(work, found)

    return work, show


def _sentences_body(work: Assessment, found: Sequence[Assessed]) -> list[Part]:
    left_out = len(work.calibration.cases) - len(work.held_out)
    body: list[Part] = [
        _measures("shares of statement types: raw; corrected [95 % interval]", _TYPES, found),
        _measures(
            "rates of hallucination, of all and by type: raw; corrected [95 % interval]", _RATES, found
        ),
    ]
    rows = []  # the judge on its calibration is the same for every model
    for name, measure in found[0].measures.items():
        told = measure.corrected
        ends = ((told.sensitivity, told.positives), (told.specificity, told.negatives))
        cells = ["-" if value is None else f"{value:.3f} of {of}" for value, of in ends]
        rows.append([name.replace("_", " "), *cells])
    body.append(table("the judge on its calibration", ("what", "sensitivity", "specificity"), rows))
    body.append(
        f"judge: {work.judge.name} with {work.judge.model.name}, measured on {len(work.held_out)} rows of "
        f"{work.calibration.name} ({left_out} left out because it was compiled on them or on near copies of them)"
        f"{below(work.judge.judge.answer.strictness)}"
    )
    for one in found:
        for name, measure in one.measures.items():
            what = name.replace("_", " ")
            if measure.corrected.problem:
                body.append(f"{one.model}: {what} is not corrected: {measure.corrected.problem}")
            elif measure.corrected.clipped:
                body.append(f"{one.model}: {what} was put back into 0 to 1 after correction")
        if one.empty or one.failed:
            body.append(f"{one.model}: {one.empty} prompts without an answer, {one.failed} failed")
    return body


def _measures(title: str, names: Sequence[str], found: Sequence[Assessed]) -> Table:
    rows = []
    for one in found:
        counts = one.to_json()
        labelled = counts["sentences"] - counts["unlabelled"]
        measures = [one.measures[name] for name in names]
        cells = [f"{number_cell(measure.raw.value)}; {measure.corrected}" for measure in measures]
        rows.append([one.model, str(counts["answers"]), str(labelled), *cells])
    return table(title, ("model", "answers", "sentences", *(name.replace("_", " ") for name in names)), rows)


def items_of_benchmark(path: str) -> tuple[Item, ...]:
    """Return the items of a benchmark file, ours or the authors'; none if it is something else."""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            row = json.loads(lines.readline())
    except (OSError, ValueError):
        return ()
    if isinstance(row, dict) and {"id", "format"} <= row.keys():
        return read_items(path)
    theirs = (
        isinstance(row, dict) and {"question"} < row.keys() and {"halu_type", "correct_option"} & row.keys()
    )
    return read_authors(path) if theirs else ()


def _items(options: AssessOptions, items: tuple[Item, ...]) -> tuple[ItemAssessment, Show]:
    judge = labelling(options, QA_CONFLICT.name)
    check_compares(judge)  # before its gold is read as the calibration
    work = ItemAssessment(
        items=items[: options.limit],
        targets=tuple(target_of(options, name, 1.0, 0.7) for name in options.models),
        judge=judge,
        calibration=Gold.load(options.calibration or QA_CONFLICT.bundled, judge.judge),
        unanswered=options.unanswered,
        benchmark=options.benchmark,
        concurrency=options.concurrency,
        budget=Budget.of(options),
        seed=options.seed,
    )

    def show(found: list[AssessedItems]) -> Shown:
        data: dict[str, Any] = {
            "benchmark": work.benchmark,
            "items": len(work.items),
            "calibration": {"gold": work.calibration.name, "rows": len(work.held_out)},
            "models": [one.to_json() for one in found],
            "paired": [
                {
                    "first": one.first,
                    "second": one.second,
                    "only_first": one.mcnemar.b,
                    "only_second": one.mcnemar.c,
                    "p": one.p,
                    "p_holm": one.p_holm,
                }
                for one in paired({one.model: one.found for one in found})
                if one.mcnemar
            ],
        }
        answers = (
            {
                "model": one.model,
                "id": result.item.id,
                "format": result.item.format,
                "reply": reply,
                "hallucinated": result.hallucinated,
                "failed": result.failed,
            }
            for one in found
            for reply, result in zip(one.replies, one.found, strict=True)
        )
        return data, answers, _items_body(work, found, data["paired"])

    return work, show


def _items_body(
    work: ItemAssessment, found: Sequence[AssessedItems], tests: Sequence[Mapping[str, Any]]
) -> list[Part]:
    pairs = [
        [str(value) if isinstance(value, str | int) else f"{value:.3g}" for value in one.values()]
        for one in tests
    ]
    return [
        _formats([(one, one.rates) for one in found]),
        _formats([(one, one.otherwise) for one in found]),
        *_shares("by type, generative items (C-FAITH Table 6)", TYPES, found, "types"),
        *_shares(
            "true-or-false items (Figure 5): hallucinated taken for correct, correct taken for hallucinated",
            ("false_negative", "false_positive"),
            found,
            "errors",
        ),
        *(
            [table("the same items: hallucinated on by one only; larger p of exact McNemar and whole documents, Holm",
                   ("first", "second", "only first", "only second", "p", "p (Holm)"), pairs)]
            if pairs
            else []
        ),
        *(
            f"{one.model}: generative, without the judge's errors: {one.rates.corrected}"
            + (f" ({one.rates.corrected.problem})" if one.rates.corrected.problem else "")
            for one in found
            if one.rates.corrected
        ),
        f"judge: {work.judge.name} with {work.judge.model.name}, measured on {len(work.held_out)} rows of "
        f"{work.calibration.name}",
    ]  # fmt: skip


_COUNTED_AS = {"apart": "unanswered replies left out", "wrong": "unanswered replies count as hallucinated"}


def _formats(found: Sequence[tuple[AssessedItems, Rates]]) -> Table:
    rows = []
    for one, rates in found:
        overall = rates.overall
        mean = "-" if overall is None else "{:.3f} [{:.3f}, {:.3f}]".format(*overall)
        unanswered = str(sum(rates.unanswered.values()))
        cells = [str(rates.formats.get(name, "-")) for name in FORMATS]
        rows.append([one.model, *cells, mean, unanswered, str(rates.failed)])
    return table(
        f"hallucination rates [95 % interval] (C-FAITH Table 5), {_COUNTED_AS[found[0][1].unanswered_as]}",
        ("model", *FORMATS, "overall", "unanswered", "failed"),
        rows,
    )


def _shares(title: str, names: Sequence[str], found: Sequence[AssessedItems], which: str) -> list[Table]:
    """Return a table of shares; none where the benchmark has no item that it is about."""
    if not any(getattr(one.rates, which) for one in found):
        return []
    rows = [[one.model, *(str(getattr(one.rates, which).get(name, "-")) for name in names)] for one in found]
    return [table(title, ("model", *(name.replace("_", " ") for name in names)), rows)]


def _queries(options: AssessOptions) -> tuple[QueryAssessment, Show]:
    judge = labelling(options, SATISFACTION.name)
    if judge.judge.answer.scale.identity() != SATISFACTION.answer.scale.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    store = store_of(options)
    checking, asked = options.fact_judge or FACT_CHECK.name, Model(name=options.judge_model)
    facts = load_judge(checking, store=store, model=asked, concurrency=options.concurrency)
    remark(facts.note)
    if facts.judge.answer.scale.identity() != FACT_CHECK.answer.scale.identity():
        raise UsageError(f"{facts.name} does not check facts", hint=f"name a version of {FACT_CHECK.name}")
    work = QueryAssessment(
        questions=read_questions(options.benchmark, options.per_cell, options.seed)[: options.limit],
        targets=tuple(target_of(options, name, 0.3) for name in options.models),
        judge=judge,
        facts=facts.with_model(labelling_model(options)),
        concurrency=options.concurrency,
        budget=Budget.of(options),
    )

    def show(found: list[Any]) -> Shown:
        pairs = compare(found, options.seed)
        data = {
            "benchmark": options.benchmark,
            "queries": len(work.questions),
            "models": [
                {"model": one.model, "counts": dict(one.counts)}
                | {name: part.to_json(one) for name, part in BREAKDOWNS.items()}
                for one in found
            ],
            "facts": work.facts.name,
            "pairs": [pair.to_json() for pair in pairs],
        }
        answers = ({"model": one.model, **row.to_json()} for one in found for row in one.responses)
        body: list[Part] = [
            *(shown for one in BREAKDOWNS.values() if (shown := one.table(found)).rows),
            *(pair.words for pair in pairs),
            *(
                f"{one.model}: " + ", ".join(f"{count} {name}" for name, count in one.counts.items())
                for one in found
                if one.counts
            ),
            f"judge: {work.judge.name} with {work.judge.model.name}; facts: {work.facts.name}",
        ]
        return data, answers, body

    return work, show
