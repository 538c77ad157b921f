"""``jurist generate``: dialogues, ``cognibench-l``, ``faithqa``, any generator; and ``jurist gold dynamics``."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.generate import (
    BenchmarkOptions,
    DatasetOptions,
    DialogueOptions,
    GenerateOptions,
    ItemsOptions,
    LabellerOptions,
)
from ..arguments.gold import DynamicsOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JudgeError, UnknownJudgeError, UsageError, choices
from ..gold.documents import read_documents
from ..gold.new_rows import read_rows
from ..jobs.foresee import foresee_items
from ..jobs.generation import Generated, Generation, generate, rejects_path
from ..keeping.loading import LoadedJudge, load_judge
from ..papers.cognibench.dialogues import (
    Dataset,
    DialogueSpec,
    dialogue_counts,
    dialogue_job,
    foresee_dataset,
    make_dataset,
    sampled_dialogues,
)
from ..papers.cognibench.statistics import Dynamics, describe_labelled, plot_dynamics
from ..papers.cognibench.statistics import dynamics as dynamics_of
from ..papers.cognibench.turns import check_judge, labelled_gold
from ..papers.faithqa.benchmark import plan_rows, statistics
from ..programs.catalogue import GENERATORS
from ..programs.cognibench import COGNIBENCH
from ..programs.dialogue_checks import range_of
from ..programs.faithqa.writing import LIMIT, OMISSION, TASKS
from ..programs.generator import generator_of
from ..programs.strictness import BELOW, DEFAULT
from ..report.scores import OFFLINE, number_cell, total_line
from ..report.table import Table, records, table
from .inputs import gold_of, labelling, model_of, store_of, verified, verifier_model
from .printing import Part, Result, remark, write_text
from .terminal import Started

_TEMPERATURE = 0.7
_OFFLINE = "engine: offline, which copies the document's sentences, leaves figures out and is not an LLM"


def items(options: ItemsOptions) -> Result:
    """Write the items of any generator; exit code 3 if too many were rejected."""
    loaded = writer(options)
    cases, _ = read_rows(options.input, loaded.judge)
    return written(options, Generation(loaded=loaded, cases=tuple(cases), budget=Budget.of(options)))


def writer(options: ItemsOptions) -> LoadedJudge:
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
        ).with_model(model_of(options, options.model, options.seed))
    except UnknownJudgeError as error:
        hint = choices(name, GENERATORS, "or path/to/file.py:generator")
        raise JudgeError(f"no generator is called {name!r}", hint=hint) from error
    generator_of(loaded.judge)
    if options.verifiers and loaded.artifact:
        raise UsageError(
            f"{loaded.name} keeps the verifiers that it was compiled with",
            hint="compile it with --verifier, or name its basic prompts",
        )
    loaded = replace(loaded, judge=verified(loaded.judge, options, options.model, store))
    if loaded.note:
        remark(loaded.note)
    return loaded


def written(
    options: ItemsOptions,
    job: Generation,
    describe: Callable[[Path], tuple[dict[str, Any], list[Part]]] = lambda path: ({}, []),
) -> Result:
    """Write items into a file; exit code 3 if too many were rejected."""
    output, loaded = Path(options.output), job.loaded
    with Started(options, loaded.models, lambda: foresee_items(job)[0]) as begun:
        start = begun.start(f"writing with {loaded.name}", len(job.cases))
        made = generate(job, output, start, on_document=lambda case, verdict: begun.step())
    more, parts = describe(output)
    about = {"output": options.output, "generator": loaded.name, **more}
    data = {**about, **made.to_json(), "forecast": begun.forecast}
    if made.before:
        return Result(data=data, body=[*parts, _before(options.output)])
    rejects = [f"the others are in {rejects_path(output)}, with reasons"] if made.unusable else []
    line = "; ".join([f"{output}: {'; '.join(made.words)}", *rejects, total_line(made.spend)])
    code, notes = ended(made, options.max_rejected, what="items")
    body = [*parts, line, *([OFFLINE] if loaded.model.offline else [])]
    return Result(data=data, body=body, notes=notes, code=code)


def dialogue(options: DialogueOptions) -> Result:
    """Write dialogues; exit code 3 if too many were rejected."""
    job, output = _dialogues(options), Path(options.output)
    with Started(options, job.loaded.models, lambda: sampled_dialogues(job)[0]) as begun:
        start = begun.start("writing dialogues", len(job.cases))
        made = generate(job, output, start, on_document=lambda case, verdict: begun.step())
    rejects = rejects_path(output)
    counts = dialogue_counts(made, output, rejects)
    documents = len({case.group for case in job.cases})
    data = {"output": options.output, "documents": documents, **counts, "forecast": begun.forecast}
    if made.before:
        return Result(data=data, body=[_before(options.output)])
    line = _made_line(options.output, counts, rejects if made.unusable else None)
    code, notes = ended(made, options.max_rejected)
    body = [line, *([_OFFLINE] if job.loaded.model.offline else [])]
    return Result(data=data, body=body, notes=notes, code=code)


def cognibench_l(options: DatasetOptions) -> Result:
    """Make a labelled dataset; exit code 3 if too many dialogues were rejected or answers not labelled."""
    job, judge = _dialogues(options), labeller(options)
    folder = Path(options.output)
    if judge.note:
        remark(judge.note)
    with Started(options, [*job.loaded.models, judge.model], lambda: foresee_dataset(job, judge)) as begun:
        found = make_dataset(
            job,
            judge,
            folder,
            begun.start("writing dialogues", len(job.cases)),
            on_dialogue=begun.step,
            on_answer=begun.step,
            on_labelling=lambda answers: begun.begin(f"labelling with {judge.name}", answers),
        )
    if options.plots and found.dynamics is not None:
        for path in plot_dynamics(found.dynamics, folder / "plots"):
            remark(f"drew {path}")
    made, rejects = found.made, folder / "rejects.jsonl"
    counts = dialogue_counts(made, folder / "dialogues.jsonl", rejects)
    data = {"output": options.output, "statistics": found.statistics, **counts, "forecast": begun.forecast}
    if made.before:
        return Result(data=data, body=[_before(options.output)])
    line = _made_line(options.output, counts, rejects if made.unusable else None)
    body = [line, *_dataset_parts(found, offline=job.loaded.model.offline)]
    code, notes = ended(made, options.max_rejected, found.failed)
    return Result(data=data, body=body, notes=notes, code=code)


def dynamics(options: DynamicsOptions) -> Result:
    """Return the dynamics of labelled gold."""
    gold = gold_of(options.gold, COGNIBENCH, options)
    labelled = labelled_gold(gold)
    positive = BELOW[options.strictness or DEFAULT]
    described = describe_labelled(labelled, positive=positive)
    found = dynamics_of(labelled, parts=options.parts, positive=positive)
    if options.csv:
        write_text(found.to_csv(), options.csv)
    if options.plots:
        for path in plot_dynamics(found, Path(options.plots)):
            remark(f"drew {path}")
    return Result(
        data={"gold": gold.name, "statistics": described, "dynamics": found.to_json()},
        body=[_statistics_table(described), _shares_table(described), *_dynamics_tables(found)],
    )


def labeller(options: LabellerOptions) -> LoadedJudge:
    """Return who labels, with the model of the options."""
    loaded = labelling(options, COGNIBENCH.name)
    check_judge(loaded.judge)
    return loaded


def _dialogues(options: GenerateOptions) -> Generation:
    spec = DialogueSpec(
        turns=range_of(options.turns, "--turns"),
        words=range_of(options.words, "--words"),
        topics=tuple(topic.strip() for topic in options.topics.split(",")) if options.topics else (),
        language=options.language,
        copies=options.per_document,
    )
    model = model_of(options, options.model, options.seed)
    if options.temperature is None:
        model = (
            Model(name=model.name, api_base=model.api_base, timeout=model.timeout, seed=model.seed)
            if model.fixed_temperature
            else replace(model, temperature=_TEMPERATURE)
        )
    return dialogue_job(
        read_documents(options.input),
        spec,
        model,
        seed=options.seed,
        attempts=options.attempts,
        concurrency=options.concurrency,
        budget=Budget.of(options),
    )


def _before(output: str) -> str:
    return f"{output} holds this very job already; nothing was asked"


def _made_line(output: str, counts: Mapping[str, Any], rejects: Path | None) -> str:
    """Return how the writing of dialogues ended."""
    parts = [
        f"{output}: {counts['kept']} of {counts['dialogues']} dialogues with {counts['turns']} turns",
        f"{counts['asked_again']} turns asked again",
    ]
    if rejects is not None:
        parts.append(
            f"{counts['rejected']} rejected and {counts['failed']} failed, with reasons in {rejects}"
        )
    return "; ".join([*parts, total_line(counts["spend"])])


def _dataset_parts(found: Dataset, *, offline: bool) -> list[Part]:
    statistics = found.statistics
    made = statistics["made"]
    return [
        _statistics_table(statistics),
        _shares_table(statistics),
        *([] if found.dynamics is None else _dynamics_tables(found.dynamics)),
        f"labelled by {made['judge']} with {made['judge_model']}: {statistics['sentences']} sentences labelled, "
        f"{statistics['unlabelled']} left unlabelled{below(made['strictness'])}",
        *([OFFLINE] if offline or made["judge_model"] == "offline" else []),
    ]


def ended(made: Generated, allowed: float, failed: int = 0, what: str = "dialogues") -> tuple[int, list[str]]:
    """Return the exit code, and what is left to do."""
    notes = [f"{failed} answers failed; --resume asks them again"] if failed else []
    if made.failed:
        notes.append(f"{made.failed} {what} failed; --resume asks for them again")
    if made.unusable > allowed:
        share = f"{made.unusable:.1%} of the {what} were rejected or failed"
        notes.append(f"{share}; {allowed:.1%} are allowed (--max-rejected)")
    return 3 if failed or made.unusable > allowed else 0, notes


def _statistics_table(found: Mapping[str, Any]) -> Table:
    def spread(name: str) -> str:
        one = found[name]
        return "-" if one["min"] is None else f"{one['min']}-{one['max']} ({one['mean']:.2f})"

    row = {
        "responses": found["responses"],
        "conversations": found["conversations"],
        "documents": found["documents"],
        "labelled sentences": found["sentences"],
        "context words": spread("context_words"),
        "words a response": spread("words_per_response"),
    }
    return records("statistics (as CogniBench Table 2; words min-max (mean))", [row])


def _shares_table(found: Mapping[str, Any]) -> Table:
    rows = []
    for name, share in found["shares"].items():
        value, low, high = share["value"], share["low"], share["high"]
        between = "-" if low is None else f"[{low:.3f}, {high:.3f}]"
        counted = f"{share['count']:.0f} of {share['of']:.0f}"
        rows.append([name.replace("_", " "), number_cell(value), between, counted])
    return table("shares of sentences", ("share", "value", "95 % interval", "counted"), rows)


def _dynamics_tables(found: Dynamics) -> list[Table]:
    return [table(title, columns, rows) for title, columns, rows in found.sheets()]


def below(strictness: str) -> str:
    """Return what counts as hallucinated, to put behind a sentence; empty for a judge without tiers."""
    return f"; hallucinated is what falls below {strictness}" if strictness else ""


def faithqa(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks = tuple(name.strip() for name in options.tasks.split(",")) if options.tasks else TASKS
    rows = plan_rows(read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = writer(options)
    cases = tuple(loaded.judge.case(row) for row in rows)
    return written(options, Generation(loaded=loaded, cases=cases, budget=Budget.of(options)), _described)


def _described(path: Path) -> tuple[dict[str, Any], list[Part]]:
    found = statistics(path)
    rows = [
        [
            task,
            *(one["difficulty"].get(name, 0 if task in OMISSION else "-") for name in ("easy", "hard")),
            one["total"],
            *(_spread(one[name]) for name in ("missing", "topic")),
        ]
        for task, one in found["tasks"].items()
    ]
    title = (
        f"statistics (as FAITHQA Tables 1 and 8): {found['total']} queries; easy is up to {LIMIT} constraints"
    )
    return {"statistics": found}, [table(title, ("task", "easy", "hard", "total", "missing", "topics"), rows)]


def _spread(found: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items()) or "-"
