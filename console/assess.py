"""``jurist assess``."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..generating.plans import range_of
from ..gold.goldset import Gold
from ..gold.writing import write_jsonl
from ..keeping.loading import default_temperature
from ..papers.cognibench.assess import (
    MEASURES,
    Assessed,
    Assessment,
    Measure,
    assess,
    foresee_assessment,
    read_prompts,
)
from ..papers.cognibench.dataset import response_rows
from .common import human, print_json, write_text
from .generate import below, judge_of_options, spend_line
from .started import Started
from .tables import Sheet, sheet_table

__all__ = ["run"]

_TYPES, _RATES = MEASURES[:3], MEASURES[3:]


def run(arguments: Namespace) -> int:
    """Assess models; exit code 3 if too many prompts have no usable answer."""
    console, work = human(), _assessment(arguments)
    steps = len(work.held_out) + 2 * len(work.prompts) * len(work.targets)
    if work.judge.note:
        console.print(Text(work.judge.note))
    with Started(arguments, [work.judge.model, *work.targets], lambda: foresee_assessment(work)) as begun:
        start = begun.begin(steps, "calibrating, answering, labelling")
        found, spend = assess(work, start, on_step=begun.step)
    forecast = begun.estimate.to_json() if begun.estimate else None
    result = {**_json(work, found, spend), "forecast": forecast}
    if arguments.answers:
        rows = [{"model": one.model, **row} for one in found for row in _answer_rows(one)]
        write_jsonl(rows, arguments.answers)
    if arguments.output:
        write_text(json.dumps(result, ensure_ascii=False, indent=2), arguments.output)
    if arguments.json:
        print_json(result)
    _say(console, work, found, spend)
    return _code(console, arguments, found)


def _assessment(arguments: Namespace) -> Assessment:
    if not 0 <= arguments.max_unusable <= 1:
        raise UsageError(f"--max-unusable {arguments.max_unusable} is no share", hint="give 0 to 1")
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError(f"--limit {arguments.limit} leaves no prompt", hint="give 1 or more")
    words = range_of(arguments.words, "--words")
    judge = judge_of_options(arguments)
    prompts, name = read_prompts(arguments.benchmark)
    return Assessment(
        prompts=prompts[: arguments.limit],
        targets=tuple(_target(arguments, model) for model in arguments.models),
        judge=judge,
        calibration=Gold.load(arguments.calibration or judge.judge.bundled, judge.judge),
        benchmark=name,
        length=f"between {words.low} and {words.high} words",
        concurrency=arguments.concurrency,
        budget=Budget(calls=arguments.max_calls, cost=arguments.max_cost),
        seed=arguments.seed,
    )


def _target(arguments: Namespace, name: str) -> Model:
    model = Model(
        name=name,
        api_base=None if name == "offline" else arguments.api_base,
        temperature=arguments.temperature,
        max_tokens=arguments.max_tokens,
        timeout=arguments.timeout,
        seed=arguments.seed,
    )
    return default_temperature(model, 2)  # one answer, drawn as a user would get it


def _json(work: Assessment, found: Sequence[Assessed], spend: Any) -> dict[str, Any]:
    return {
        "benchmark": work.benchmark,
        "prompts": len(work.prompts),
        "judge": work.judge.stamp(),
        "calibration": {
            "gold": work.calibration.name,
            "rows": len(work.held_out),
            "left_out": len(work.calibration.cases) - len(work.held_out),
        },
        "models": [one.to_json() for one in found],
        "spend": spend,
    }


def _answer_rows(found: Assessed) -> list[dict[str, Any]]:
    rows = response_rows(found.answers)
    return [{**row, "response": one.answer.text} for row, one in zip(rows, found.answers, strict=True)]


def _say(console: Console, work: Assessment, found: Sequence[Assessed], spend: Any) -> None:
    titles = (
        ("shares of statement types: raw; corrected [95 % interval]", _TYPES),
        ("rates of hallucination, of all and by type: raw; corrected [95 % interval]", _RATES),
    )
    for title, names in titles:
        console.print(sheet_table(_sheet(title, names, found)), "")
    console.print(sheet_table(_judge_sheet(found[0])), "")
    left_out = len(work.calibration.cases) - len(work.held_out)
    strict = below(work.judge.judge.answer.strictness)
    console.print(
        Text(
            f"judge: {work.judge.name} with {work.judge.model.name}, measured on {len(work.held_out)} rows of "
            f"{work.calibration.name} ({left_out} left out because it was compiled on them){strict}"
        )
    )
    for one in found:
        for name, measure in one.measures.items():
            if measure.corrected.problem:
                what = name.replace("_", " ")
                console.print(Text(f"{one.model}: {what} is not corrected: {measure.corrected.problem}"))
            elif measure.corrected.clipped:
                console.print(
                    Text(f"{one.model}: {name.replace('_', ' ')} was put back into 0 to 1 after correction")
                )
        if one.empty or one.failed:
            console.print(Text(f"{one.model}: {one.empty} prompts without an answer, {one.failed} failed"))
    console.print(Text(f"spent: {spend_line(spend)}"))
    if work.judge.model.offline or any(model.offline for model in work.targets):
        console.print(Text("engine: offline, an evidence reader and not a language model"))


def _sheet(title: str, names: Sequence[str], found: Sequence[Assessed]) -> Sheet:
    rows = []
    for one in found:
        counts = one.to_json()
        labelled = counts["sentences"] - counts["unlabelled"]
        rows.append(
            [one.model, str(counts["answers"]), str(labelled), *(_cell(one.measures[name]) for name in names)]
        )
    return Sheet(
        title=title,
        columns=("model", "answers", "sentences", *(name.replace("_", " ") for name in names)),
        rows=rows,
    )


def _cell(measure: Measure) -> str:
    raw = "-" if measure.raw.value is None else f"{measure.raw.value:.3f}"
    return f"{raw}; {measure.corrected}"


def _judge_sheet(one: Assessed) -> Sheet:
    """Return how well the judge told each thing on the calibration: the same for every model."""
    rows = []
    for name, measure in one.measures.items():
        told = measure.corrected
        cells = [
            "-" if value is None else f"{value:.3f} of {of}"
            for value, of in ((told.sensitivity, told.positives), (told.specificity, told.negatives))
        ]
        rows.append([name.replace("_", " "), *cells])
    return Sheet(
        title="the judge on its calibration", columns=("what", "sensitivity", "specificity"), rows=rows
    )


def _code(console: Console, arguments: Namespace, found: Sequence[Assessed]) -> int:
    worst = max(found, key=lambda one: one.unusable)
    if any(one.failed for one in found):
        console.print(Text("--resume asks again for what failed"))
    if worst.unusable > arguments.max_unusable:
        console.print(
            Text(
                f"{worst.model}: {worst.unusable:.1%} of the prompts have no usable answer; "
                f"{arguments.max_unusable:.1%} are allowed (--max-unusable)"
            )
        )
        return 3
    return 0
