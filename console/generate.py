"""``jurist generate`` with its kinds."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.generate import BenchmarkOptions, DialogueOptions, HaluAgentOptions, ItemsOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JudgeError, UnknownJudgeError, choices
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..gold.new_rows import read_rows
from ..jobs.generation import Generation, generate, rejects_path
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge
from ..papers.cognibench.dialogues import plans
from ..papers.faithqa.benchmark import plan_rows, statistics, statistics_table
from ..papers.haluagent.making import card_tables, write_benchmark
from ..programs.catalogue import GENERATORS
from ..programs.dialogue import range_of
from ..programs.faithqa.writing import TASKS
from ..programs.generator import generator_of
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE, total_line
from .inputs import store_of, verifier_model
from .printing import Part, Result
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
    if made.before:
        again = f"{options.output} holds this very job already; nothing was asked"
        return Result(data=data, body=[*parts, again])
    rejects = [f"the others are in {rejects_path(output)}, with reasons"] if made.unusable else []
    line = "; ".join([f"{output}: {'; '.join(made.words)}", *rejects, total_line(made.spend)])
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
        counted = statistics(path)
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
    topics = {one.id: str(one.topic or one.extra.get("label") or "") for one in documents}

    def describe(verified: Path) -> tuple[dict[str, Any], list[Part]]:
        card = write_benchmark(job, verified, topics=topics, seed=options.seed)
        return card, [*card_tables(card), f"card: {folder / 'CARD.json'}"]

    result = _items(options, job, describe, output=folder / "verified.jsonl")
    if result.data["statistics"]["items"]:
        return result
    nothing = f"{folder} holds no item: nothing that was written passed"
    return replace(result, code=3, notes=[*result.notes, nothing])
