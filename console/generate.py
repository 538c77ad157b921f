"""``jurist generate`` with its kinds, and ``jurist gold dynamics``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.generate import (
    BenchmarkOptions,
    DatasetOptions,
    DialogueOptions,
    GenerateOptions,
    HaluAgentOptions,
    ItemsOptions,
    LabellerOptions,
)
from ..arguments.gold import DynamicsOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JudgeError, UnknownJudgeError, UsageError, choices
from ..evaluation.intervals import Share
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..gold.new_rows import read_rows
from ..jobs.estimate import Estimate
from ..jobs.generation import Generated, Generation, foresee_items, generate, rejects_path
from ..keeping.loaders import load_judge
from ..keeping.loading import LoadedJudge, default_temperature
from ..papers.cognibench.dialogues import (
    DialogueSpec,
    dialogue_counts,
    dialogue_job,
    foresee_dataset,
    make_dataset,
    sampled_dialogues,
)
from ..papers.cognibench.statistics import Dynamics, describe_labelled
from ..papers.cognibench.statistics import dynamics as dynamics_of
from ..papers.cognibench.turns import check_judge, labelled_gold
from ..papers.faithqa.benchmark import plan_rows, statistics
from ..papers.haluagent.making import distinct, make_benchmark
from ..programs.catalogue import GENERATORS
from ..programs.cognibench import BELOW, COGNIBENCH, STRICTNESS
from ..programs.dialogue import range_of
from ..programs.faithqa.writing import LIMIT, OMISSION, TASKS
from ..programs.generator import generator_of
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE, number_cell, total_line
from ..report.table import records, table
from .inputs import gold_of, labelling, store_of, verified, verifier_model
from .printing import Part, Result, remark, write_text
from .terminal import Started

_OFFLINE = "engine: offline, which copies the document's sentences, leaves figures out and is not an LLM"


def items(options: ItemsOptions) -> Result:
    """Write the items of any generator; exit code 3 if too many were rejected."""
    loaded = _writer(options)
    cases, _ = read_rows(options.input, loaded.judge)
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
    if options.verifiers and loaded.artifact:
        raise UsageError(
            f"{loaded.name} keeps the verifiers that it was compiled with",
            hint="compile it with --verifier, or name its basic prompts",
        )
    loaded = replace(loaded, judge=verified(loaded.judge, options, options.model, store))
    remark(loaded.note)
    return loaded


def _items(
    options: ItemsOptions,
    job: Generation,
    describe: Callable[[Path], tuple[dict[str, Any], list[Part]]] = lambda path: ({}, []),
) -> Result:
    output, loaded = Path(options.output), job.loaded
    made, forecast = _made(options, job, f"writing with {loaded.name}")
    more, parts = describe(output)
    data = {
        "output": options.output,
        "generator": loaded.name,
        **more,
        **made.to_json(),
        "forecast": forecast,
    }
    rejects = [f"the others are in {rejects_path(output)}, with reasons"] if made.unusable else []
    line = "; ".join([f"{output}: {'; '.join(made.words)}", *rejects, total_line(made.spend)])
    body = [line, *([OFFLINE] if loaded.model.offline else [])]
    return _ended(options, made, data, body, before=parts, what="items")


def _made(
    options: ItemsOptions | GenerateOptions,
    job: Generation,
    title: str,
    foresee: Callable[[Generation], tuple[Estimate, Any]] = foresee_items,
) -> tuple[Generated, dict[str, Any] | None]:
    """Return what was written into the output, and what was foreseen."""
    with Started(options, job.loaded.models, lambda: foresee(job)[0]) as begun:
        start = begun.start(title, len(job.cases))
        made = generate(job, Path(options.output), start, on_document=lambda case, verdict: begun.step())
    return made, begun.forecast


def _ended(
    options: ItemsOptions | GenerateOptions,
    made: Generated,
    data: Mapping[str, Any],
    body: Sequence[Part],
    *,
    before: Sequence[Part] = (),
    what: str = "dialogues",
    failed: int = 0,
) -> Result:
    """Return how the writing ended: ``body`` below ``before``, exit code 3, and what is left to do."""
    if made.before:
        again = f"{options.output} holds this very job already; nothing was asked"
        return Result(data=data, body=[*before, again])
    notes = [f"{failed} answers failed; --resume asks them again"] if failed else []
    if made.failed:
        notes.append(f"{made.failed} {what} failed; --resume asks for them again")
    if over := made.unusable > options.max_rejected:
        share = f"{made.unusable:.1%} of the {what} were rejected or failed"
        notes.append(f"{share}; {options.max_rejected:.1%} are allowed (--max-rejected)")
    return Result(data=data, body=[*before, *body], notes=notes, code=3 if failed or over else 0)


def dialogue(options: DialogueOptions) -> Result:
    """Write dialogues; exit code 3 if too many were rejected."""
    job = _dialogues(options)
    made, forecast = _made(options, job, "writing dialogues", sampled_dialogues)
    counts, line = _dialogue_counts(options, made, Path(options.output), rejects_path(Path(options.output)))
    documents = len({case.group for case in job.cases})
    data = {"output": options.output, "documents": documents, **counts, "forecast": forecast}
    return _ended(options, made, data, [line, *([_OFFLINE] if job.loaded.model.offline else [])])


def _dialogue_counts(
    options: GenerateOptions, made: Generated, path: Path, rejects: Path
) -> tuple[dict[str, Any], str]:
    """Return what was written and what was not, and the same in words."""
    counts = dialogue_counts(made, path, rejects)
    parts = [
        f"{options.output}: {counts['kept']} of {counts['dialogues']} dialogues with {counts['turns']} turns",
        f"{counts['asked_again']} turns asked again",
    ]
    if made.unusable:
        parts.append(
            f"{counts['rejected']} rejected and {counts['failed']} failed, with reasons in {rejects}"
        )
    return counts, "; ".join([*parts, total_line(counts["spend"])])


def cognibench_l(options: DatasetOptions) -> Result:
    """Make a labelled dataset; exit code 3 if too many dialogues were rejected or answers not labelled."""
    job, judge, folder = _dialogues(options), labeller(options), Path(options.output)
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
    statistics = found.statistics
    made = statistics["made"]
    counts, line = _dialogue_counts(options, found.made, folder / "dialogues.jsonl", folder / "rejects.jsonl")
    data = {"output": options.output, "statistics": statistics, **counts, "forecast": begun.forecast}
    body: list[Part] = [
        line,
        *_described(statistics, found.dynamics),
        f"labelled by {made['judge']} with {made['judge_model']}: {statistics['sentences']} sentences labelled, "
        f"{statistics['unlabelled']} left unlabelled{below(made['strictness'])}",
        *([OFFLINE] if job.loaded.model.offline or made["judge_model"] == "offline" else []),
    ]
    return _ended(options, found.made, data, body, failed=found.failed)


def dynamics(options: DynamicsOptions) -> Result:
    """Return the dynamics of labelled gold."""
    gold = gold_of(options.gold, COGNIBENCH, options)
    labelled = labelled_gold(gold)
    positive = BELOW[options.strictness or STRICTNESS]
    described = describe_labelled(labelled, positive=positive)
    found = dynamics_of(labelled, parts=options.parts, positive=positive)
    if options.csv:
        write_text(found.to_csv(), options.csv)
    return Result(
        data={"gold": gold.name, "statistics": described, "dynamics": found.to_json()},
        body=_described(described, found),
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
        per_topic=options.per_topic,
    )
    model = default_temperature(Model.of(options, name=options.model), 2)
    return dialogue_job(
        read_documents(options.input),
        spec,
        model,
        seed=options.seed,
        attempts=options.attempts,
        concurrency=options.concurrency,
        budget=Budget.of(options),
    )


def _described(found: Mapping[str, Any], dynamics: Dynamics | None) -> list[Part]:
    """Return the tables of a labelled dataset."""
    spread = {
        name: "-" if one["min"] is None else f"{one['min']}-{one['max']} ({one['mean']:.2f})"
        for name, one in found.items()
        if name in ("context_words", "words_per_response")
    }
    row = {
        "responses": found["responses"],
        "conversations": found["conversations"],
        "documents": found["documents"],
        "labelled sentences": found["sentences"],
        "context words": spread["context_words"],
        "words a response": spread["words_per_response"],
    }
    rows = []
    for name, share in found["shares"].items():
        low, high = share["low"], share["high"]
        between = "-" if low is None else f"[{low:.3f}, {high:.3f}]"
        counted = f"{share['count']:.0f} of {share['of']:.0f}"
        rows.append([name.replace("_", " "), number_cell(share["value"]), between, counted])
    return [
        records("statistics (as CogniBench Table 2; words min-max (mean))", [row]),
        table("shares of sentences", ("share", "value", "95 % interval", "counted"), rows),
        *([] if dynamics is None else (table(*sheet) for sheet in dynamics.sheets())),
    ]


def below(strictness: str) -> str:
    """Return what counts as hallucinated, to put behind a sentence; empty for a judge without tiers."""
    return f"; hallucinated is what falls below {strictness}" if strictness else ""


def faithqa(options: BenchmarkOptions) -> Result:
    """Build a benchmark; exit code 3 if too many queries were rejected."""
    tasks = tuple(name.strip() for name in options.tasks.split(",")) if options.tasks else TASKS
    rows = plan_rows(read_documents(options.input), size=options.size, tasks=tasks, seed=options.seed)
    loaded = _writer(options)

    def describe(path: Path) -> tuple[dict[str, Any], list[Part]]:
        found = statistics(path)

        def spread(counts: Mapping[str, int]) -> str:
            return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"

        rows = [
            [
                task,
                *(one["difficulty"].get(name, 0 if task in OMISSION else "-") for name in ("easy", "hard")),
                one["total"],
                *(spread(one[name]) for name in ("missing", "topic")),
            ]
            for task, one in found["tasks"].items()
        ]
        title = f"statistics (as FAITHQA Tables 1 and 8): {found['total']} queries; easy is up to {LIMIT} constraints"
        columns = ("task", "easy", "hard", "total", "missing", "topics")
        return {"statistics": found}, [table(title, columns, rows)]

    cases = tuple(loaded.judge.case(row) for row in rows)
    return _items(options, Generation(loaded=loaded, cases=cases, budget=Budget.of(options)), describe)


def haluagent(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    loaded, folder = (
        _writer(replace(options, generator=options.generator or HALUAGENT.name)),
        Path(options.output),
    )
    passages = Gold.load(options.input, loaded.judge).cases[: options.limit]
    kept = distinct(passages)
    job = Generation(loaded=loaded, cases=kept, budget=Budget.of(options))
    if left_out := len(passages) - len(kept):
        remark(f"{left_out} passages are near-duplicates of earlier ones and are left out")
    topics = {
        one.id: str(one.topic or one.extra.get("label") or "")
        for one in read_documents(options.input, "knowledge")
    }
    with Started(options, list(loaded.models), lambda: foresee_items(job)[0]) as begun:
        found = make_benchmark(
            job,
            folder,
            begun.start("writing and verifying", len(job.cases)),
            topics=topics,
            about={
                "documents": len(topics),
                "duplicate_passages": left_out,
                "verifiers": [one.name for one in loaded.judge.verifiers],
                "seed": options.seed,
            },
            seed=options.seed,
            sample=options.sample,
            on_document=begun.step,
        )
    made, card = found.written, found.card
    data = {"output": options.output, **made.to_json(), **card, "forecast": begun.forecast}
    offline = [OFFLINE] if any(model.offline for model in loaded.models) else []
    shown: list[Part] = [*_benchmark_tables(card, folder), total_line(made.spend), *offline]
    if made.before:
        again = f"{folder} holds the items of this very job already; nothing was asked"
        result = Result(data=data, body=[again, *shown])
    else:
        rejects = f"rejects with reasons: {rejects_path(folder / 'verified.jsonl')}"
        lines = [*(f"{folder}: {line}" for line in made.words), rejects]
        result = _ended(options, made, data, [*lines, *shown], what="items")
    if not card["statistics"]["items"]:
        nothing = f"{folder} holds no item: nothing that was written passed"
        result = replace(result, code=3, notes=[*result.notes, nothing])
    return result


def _benchmark_tables(card: Mapping[str, Any], folder: Path) -> list[Part]:
    """Return what passed, by what, of a benchmark of C-FAITH's kind."""
    counts, accepted = card["statistics"], card["acceptance"]
    positions = ", ".join(f"{letter} {count}" for letter, count in counts["correct_positions"].items())
    formats = counts["formats"]
    found: list[Part] = [
        table(
            "share of written items that pass [95 % interval]",
            tuple(accepted),
            [[str(Share(**one)) for one in accepted.values()]],
        ),
        table(
            f"items by format (as C-FAITH Table 4); the correct option is {positions}",
            ("overall", *formats),
            [[str(counts["items"]), *map(str, formats.values())]],
        ),
    ]
    total = max(1, counts["questions"])
    for name in ("types", "topics", "languages"):
        rows = [[one, str(count), f"{count / total:.1%}"] for one, count in counts[name].items()]
        found.append(
            table(f"questions by {name[:-1]} (as Figure 6)", (name[:-1], "questions", "share"), rows)
        )
    if counts["dropped"]:
        found.append(
            f"{counts['dropped']} questions are not there in a format or at all, with reasons in "
            f"{folder / 'benchmark.rejects.jsonl'}"
        )
    return [*found, f"card: {folder / 'CARD.json'}"]
