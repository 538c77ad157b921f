"""``jurist assess``."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..arguments.generate import AssessOptions
from ..errors import UsageError
from ..gold.goldset import Gold
from ..papers.cognibench.assess import (
    DIALOGUES,
    MEASURES,
    Assessed,
    Assessment,
    Measure,
    read_prompts,
)
from ..papers.cognibench.dataset import response_rows
from ..papers.faithqa.assess import is_benchmark
from ..programs.dialogue_checks import range_of
from ..report.scores import number_cell
from ..report.table import Table, table
from . import faithqa, haluagent_assess
from .assessed import assess_models, assessed
from .common import budget_of, target_of
from .generate import below, labeller
from .printing import Part, Result

_TYPES, _RATES = MEASURES[:3], MEASURES[3:]


def run(options: AssessOptions) -> Result:
    """Assess models; exit code 3 if too many prompts have no usable answer."""
    items = haluagent_assess.items_of_benchmark(options.benchmark)
    if items:
        _unused(options, "words", "fact_judge")
        return haluagent_assess.run(options, items)
    if options.benchmark != DIALOGUES and is_benchmark(options.benchmark):
        _unused(options, "words", "calibration")
        return faithqa.assess_queries(options)
    _unused(options, "fact_judge")
    work = _assessment(options)
    done = assess_models(options, work)
    found = done.found
    return assessed(options, done, _json(work, found), _answer_rows(found), _body(work, found))


def _unused(options: AssessOptions, *names: str) -> None:
    """Refuse options that change nothing on this benchmark."""
    for one in names:
        if getattr(options, one) != getattr(AssessOptions, one):
            flag = "--" + one.replace("_", "-")
            raise UsageError(f"{flag} says nothing about {options.benchmark}", hint=f"leave out {flag}")


def _assessment(options: AssessOptions) -> Assessment:
    words = range_of(options.words, "--words")
    judge = labeller(options)
    prompts, name = read_prompts(options.benchmark)
    return Assessment(
        prompts=prompts[: options.limit],
        targets=tuple(target_of(options, model) for model in options.models),
        judge=judge,
        calibration=Gold.load(options.calibration or judge.judge.bundled, judge.judge),
        benchmark=name,
        length=f"between {words.low} and {words.high} words",
        concurrency=options.concurrency,
        budget=budget_of(options),
        seed=options.seed,
    )


def _json(work: Assessment, found: Sequence[Assessed]) -> dict[str, Any]:
    return {
        "benchmark": work.benchmark,
        "prompts": len(work.prompts),
        "calibration": {
            "gold": work.calibration.name,
            "rows": len(work.held_out),
            "left_out": len(work.calibration.cases) - len(work.held_out),
        },
        "models": [one.to_json() for one in found],
    }


def _answer_rows(found: Sequence[Assessed]) -> Iterator[dict[str, Any]]:
    for model in found:
        rows = response_rows(model.answers)
        for row, one in zip(rows, model.answers, strict=True):
            yield {"model": model.model, **row, "response": one.answer.text}


def _body(work: Assessment, found: Sequence[Assessed]) -> list[Part]:
    left_out = len(work.calibration.cases) - len(work.held_out)
    return [
        _measures("shares of statement types: raw; corrected [95 % interval]", _TYPES, found),
        _measures(
            "rates of hallucination, of all and by type: raw; corrected [95 % interval]", _RATES, found
        ),
        _calibration(found[0]),
        f"judge: {work.judge.name} with {work.judge.model.name}, measured on {len(work.held_out)} rows of "
        f"{work.calibration.name} ({left_out} left out because it was compiled on them or on near copies of them)"
        f"{below(work.judge.judge.answer.strictness)}",
        *(note for one in found for note in _notes(one)),
    ]


def _notes(one: Assessed) -> Iterator[str]:
    """Yield what could not be corrected, and what has no answer."""
    for name, measure in one.measures.items():
        what = name.replace("_", " ")
        if measure.corrected.problem:
            yield f"{one.model}: {what} is not corrected: {measure.corrected.problem}"
        elif measure.corrected.clipped:
            yield f"{one.model}: {what} was put back into 0 to 1 after correction"
    if one.empty or one.failed:
        yield f"{one.model}: {one.empty} prompts without an answer, {one.failed} failed"


def _measures(title: str, names: Sequence[str], found: Sequence[Assessed]) -> Table:
    rows = []
    for one in found:
        counts = one.to_json()
        labelled = counts["sentences"] - counts["unlabelled"]
        rows.append(
            [one.model, str(counts["answers"]), str(labelled), *(_cell(one.measures[name]) for name in names)]
        )
    return table(title, ("model", "answers", "sentences", *(name.replace("_", " ") for name in names)), rows)


def _cell(measure: Measure) -> str:
    return f"{number_cell(measure.raw.value)}; {measure.corrected}"


def _calibration(one: Assessed) -> Table:
    """Return how well the judge told each thing on the calibration: the same for every model."""
    rows = []
    for name, measure in one.measures.items():
        told = measure.corrected
        cells = [
            "-" if value is None else f"{value:.3f} of {of}"
            for value, of in ((told.sensitivity, told.positives), (told.specificity, told.negatives))
        ]
        rows.append([name.replace("_", " "), *cells])
    return table("the judge on its calibration", ("what", "sensitivity", "specificity"), rows)
