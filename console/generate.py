"""``jurist generate`` with its kinds, and ``jurist assess`` with those of the papers: dialogues, items, queries."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..arguments.generate import (
    AssessOptions,
    BenchmarkOptions,
    DialogueOptions,
    HaluAgentOptions,
    ItemsOptions,
)
from ..engines.meter import Budget
from ..engines.models import OFFLINE, OWN, Model
from ..gold.rejects import Rejects
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import assess
from ..jobs.generation import Recipe, find_recipe, load_generator, write_items
from ..report.scores import OFFLINE_ENGINE, OFFLINE_LINE, joint_spend_line
from .inputs import labelling_model, verifier_model
from .printing import Part, Result, write_json
from .terminal import Terminal


def generate_items(options: ItemsOptions) -> Result:
    """Write the items of any generator; exit code 3 if too many were rejected."""
    return _write_items(options, None)


def generate_dialogues(options: DialogueOptions) -> Result:
    """Write dialogues; exit code 3 if too many were rejected."""
    settings = {"turns": options.turns, "words": options.words, "per_topic": options.per_topic}
    return _write_items(options, find_recipe("dialogue"), settings)


def generate_faithqa(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    return _write_items(options, find_recipe("faithqa"), {"size": options.size, "tasks": options.tasks})


def generate_haluagent(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    settings = {
        "per_document": options.per_document,
        "types": options.types,
        "characters": options.characters,
        "limit": options.limit,
    }
    return _write_items(options, find_recipe("haluagent"), settings)


def _write_items(
    options: ItemsOptions, recipe: Recipe | None, settings: Mapping[str, Any] = MappingProxyType({})
) -> Result:
    """Write items by a recipe with its settings; exit code 3 if too many were rejected, or none passed."""
    terminal = Terminal(options)
    loaded = load_generator(
        options.generator or "haluagent",
        terminal.store,
        model=Model.of(options, name=options.model or OWN),
        attempts=options.attempts,
        adapter=options.adapter,
        concurrency=options.concurrency,
        verifier=verifier_model(options, options.timeout, options.seed),
        verifiers=options.verifiers,
        language=options.language,
    )
    terminal.loaded(loaded)
    written = write_items(
        recipe,
        loaded,
        options.input,
        Path(options.output),
        terminal,
        budget=Budget.of(options),
        seed=options.seed,
        settings=settings,
    )
    counts = written.counts
    data = {**written.to_json(), "output": options.output, "forecast": terminal.forecast}
    body: list[Part] = list(written.body)
    notes = []
    code = 0
    if counts.done_before:
        body.append(written.line)
    else:
        body.append(f"{written.line}; {joint_spend_line([counts.spend.get('total') or {}])}")
        if loaded.model.offline:
            body.append(OFFLINE_LINE)
    if counts.failed:
        notes.append(f"{counts.failed} {written.noun} failed; --resume asks for them again")
    if counts.unusable > options.max_rejected:
        code = 3
        share = f"{counts.unusable:.1%} of the {written.noun} were rejected or failed"
        notes.append(f"{share}; {options.max_rejected:.1%} are allowed (--max-rejected)")
        if written.warning:
            notes.append(f"why: {written.warning}")
    if written.emptiness:
        code = 3
        notes.append(written.emptiness)
    return Result(data=data, body=body, notes=notes, code=code)


def assess_command(options: AssessOptions) -> Result:
    """Assess models; exit code 3 if too many questions have no usable answer."""
    check_files(options.answers, options.output)
    terminal = Terminal(options)
    rejects = None
    if options.rejects is not None:
        rejects = Rejects(options.rejects)
    assessed = assess(
        _assessed_models(options),
        options.benchmark,
        judge=options.judge,
        judge_model=labelling_model(options),
        samples=options.samples,
        threshold=options.threshold,
        strictness=options.strictness,
        language=options.language,
        calibration=options.calibration,
        fact_judge=options.fact_judge,
        limit=options.limit,
        per_cell=options.per_cell,
        unanswered=options.unanswered,
        rejects=rejects,
        concurrency=options.concurrency,
        budget=Budget.of(options),
        seed=options.seed,
        surface=terminal,
    )
    data = {**assessed.to_json(), "forecast": terminal.forecast}
    if options.answers:
        write_jsonl(assessed.answers, options.answers)
    write_json(data, options.output)
    body = list(assessed.parts())
    body.append(joint_spend_line([assessed.spend.get("total") or {}]))
    asked_models = list(options.models)
    if assessed.spend.get("judge"):
        asked_models.append(str(assessed.judge["model"]))
    if OFFLINE in asked_models:
        body.append(OFFLINE_ENGINE)
    notes = []
    if any(model.failed for model in assessed.results):
        notes.append("--resume asks again for what failed")
    worst = max(assessed.results, key=lambda model: model.unusable)
    if worst.unusable <= options.max_unusable:
        return Result(data=data, body=body, notes=notes)
    notes.append(
        f"{worst.model}: {worst.unusable:.1%} of the questions have no usable answer; "
        f"{options.max_unusable:.1%} are allowed (--max-unusable)"
    )
    return Result(data=data, body=body, notes=notes, code=3)


def _assessed_models(options: AssessOptions) -> list[Model]:
    """Return the models to assess; ``offline`` has no address."""
    models = []
    for name in options.models:
        if name == OFFLINE:
            models.append(Model.of(replace(options, api_base=None), name=name))
        else:
            models.append(Model.of(options, name=name))
    return models
