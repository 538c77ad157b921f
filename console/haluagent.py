"""``jurist generate haluagent``, and what ``jurist compile`` prints of a generator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments.generate import HaluAgentOptions
from ..cases import Case
from ..engines.meter import Budget
from ..evaluation.intervals import Share
from ..evaluation.measured import objective_score
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..jobs.compiling import Compiled
from ..jobs.foresee import foresee_items
from ..jobs.generation import Generation, rejects_path
from ..keeping.artifacts import Store
from ..optimizers.board import Board, Candidate
from ..papers.haluagent.making import Benchmark, distinct, make_benchmark
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE, total_line
from ..report.table import Table, table
from .generate import ended, writer
from .history import prompt_diff
from .printing import Part, Result, Verbatim, remark
from .terminal import Started


def make(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    job, left_out = _generation(options)
    folder = Path(options.output)
    if left_out:
        remark(f"{left_out} passages are near-duplicates of earlier ones and are left out")
    topics = {one.id: _topic(one) for one in read_documents(options.input, "knowledge")}
    with Started(options, list(job.loaded.models), lambda: foresee_items(job)[0]) as begun:
        start = begun.start("writing and verifying", len(job.cases))
        found = make_benchmark(
            job,
            folder,
            start,
            topics=topics,
            about={
                "documents": len(topics),
                "duplicate_passages": left_out,
                "verifiers": [one.name for one in job.loaded.judge.verifiers],
                "seed": options.seed,
            },
            seed=options.seed,
            sample=options.sample,
            on_document=begun.step,
        )
    data = {"output": options.output, **found.written.to_json(), **found.card, "forecast": begun.forecast}
    code, notes = ended(found.written, options.max_rejected, what="items")
    if not found.card["statistics"]["items"]:
        code, notes = 3, [*notes, f"{folder} holds no item: nothing that was written passed"]
    return Result(data=data, body=_body(found, job, folder), notes=notes, code=code)


def compiled_parts(
    compiled: Compiled, dev: Sequence[Case], store: Store
) -> tuple[list[Part], dict[str, Any]]:
    """Return what is printed of a compiled generator beside its proof, and the same as JSON values.

    Table 3, on the documents that the search selected on, and what changed in the prompts.
    """
    artifact = compiled.artifact
    found = _rounds(compiled.result.board, dev)
    diff = prompt_diff(artifact, store)
    rows = [
        [str(number), *(f"{rate:.3f}" for rate in rates.values()), name]
        + (["kept"] if name == compiled.result.best.id else [""])
        for number, name, rates in found
    ]
    title = f"the best prompts of each round, on {len(dev)} dev passages (C-FAITH Table 3)"
    shown = table(title, ("round", *found[0][2], "candidate", ""), rows)
    return [shown, *([Verbatim(diff)] if diff else [])], {
        "rounds": [{"number": number, "candidate": name, "rates": rates} for number, name, rates in found],
        "diff": diff,
    }


def _rounds(board: Board, dev: Sequence[Case]) -> list[tuple[int, str, dict[str, float]]]:
    """Return number, best prompts and rates of each round, of those scored on as much of dev as the basic prompts.

    Nothing is asked for it: a search keeps what every check said of everything that was written. A round whose best is
    below that of the one before is there too: it is where the search ended.
    """
    ids = {case.id for case in dev}
    whole = len(ids & board.outcomes(board.basic).keys())
    best: dict[int, Candidate] = {}
    for one in board.candidates.values():
        if len(ids & board.outcomes(one).keys()) >= whole:
            known = best.setdefault(one.step, one)
            best[one.step] = max(known, one, key=lambda candidate: board.value(candidate, dev))
    comparison, found = board.judge.comparison, []
    for number, one in sorted(best.items()):
        rows = [outcome.row for case_id, outcome in board.outcomes(one).items() if case_id in ids]
        rates = {name: objective_score(rows, name, comparison) for name in comparison.metrics}
        found.append((number, one.id, rates))
    return found


def _generation(options: HaluAgentOptions) -> tuple[Generation, int]:
    """Return what is to be written, and how many passages were left out as near-duplicates."""
    name = options.generator or HALUAGENT.name
    loaded = writer(replace(options, generator=name))
    cases = Gold.load(options.input, loaded.judge).cases[: options.limit]
    kept = distinct(cases)
    return Generation(loaded=loaded, cases=kept, budget=Budget.of(options)), len(cases) - len(kept)


def _topic(document: Any) -> str:
    return str(document.topic or document.extra.get("label") or "")


def _body(found: Benchmark, job: Generation, folder: Path) -> list[Part]:
    made, counts = found.written, found.card["statistics"]
    begun = (
        [f"{folder} holds the items of this very job already; nothing was asked"]
        if made.before
        else [
            *(f"{folder}: {line}" for line in made.words),
            f"rejects with reasons: {rejects_path(folder / 'verified.jsonl')}",
        ]
    )
    left_out = f"{counts['dropped']} questions are not there in a format or at all, with reasons in"
    return [
        *begun,
        _accepted(found.card["acceptance"]),
        _formats(counts),
        *(_counts(counts, name) for name in ("types", "topics", "languages")),
        *([f"{left_out} {folder / 'benchmark.rejects.jsonl'}"] if counts["dropped"] else []),
        f"card: {folder / 'CARD.json'}",
        total_line(made.spend),
        *([OFFLINE] if any(model.offline for model in job.loaded.models) else []),
    ]


def _accepted(rates: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [[str(Share(**one)) for one in rates.values()]]
    return table("share of written items that pass [95 % interval]", tuple(rates), rows)


def _formats(counts: Any) -> Table:
    formats = counts["formats"]
    positions = ", ".join(f"{letter} {count}" for letter, count in counts["correct_positions"].items())
    return table(
        f"items by format (as C-FAITH Table 4); the correct option is {positions}",
        ("overall", *formats),
        [[str(counts["items"]), *map(str, formats.values())]],
    )


def _counts(counts: Any, name: str) -> Table:
    total = max(1, counts["questions"])
    rows = [[one, str(count), f"{count / total:.1%}"] for one, count in counts[name].items()]
    return table(f"questions by {name[:-1]} (as Figure 6)", (name[:-1], "questions", "share"), rows)
