"""``jurist generate haluagent``, and what ``jurist compile`` prints of a generator."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..arguments.haluagent import HaluAgentOptions
from ..cases import Case
from ..evaluation.intervals import Share
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..jobs.compiling import Compiled
from ..jobs.foresee import foresee_items
from ..jobs.generation import Generation
from ..jobs.writing import rejects_path
from ..keeping.artifacts import Store
from ..papers.haluagent.making import Benchmark, distinct, make_benchmark
from ..papers.haluagent.rounds import rounds_of
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE, total_line
from ..report.table import Table, table
from .common import budget_of
from .generate import ended, writer
from .history import prompt_diff
from .printing import Part, Result, Verbatim, remark
from .started import Started


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
    found, artifact = rounds_of(compiled.result.board, dev), compiled.artifact
    diff = prompt_diff(artifact, store)
    rows = [
        [str(one.number), *(f"{rate:.3f}" for rate in one.rates.values()), one.candidate]
        + (["kept"] if one.candidate == compiled.result.best.id else [""])
        for one in found
    ]
    title = f"the best prompts of each round, on {len(dev)} dev passages (C-FAITH Table 3)"
    rates = table(title, ("round", *found[0].rates, "candidate", ""), rows)
    return [rates, *([Verbatim(diff)] if diff else [])], {
        "rounds": [asdict(one) for one in found],
        "diff": diff,
    }


def _generation(options: HaluAgentOptions) -> tuple[Generation, int]:
    """Return what is to be written, and how many passages were left out as near-duplicates."""
    name = options.generator or HALUAGENT.name
    loaded = writer(replace(options, generator=name))
    cases = Gold.load(options.input, loaded.judge).cases[: options.limit]
    kept = distinct(cases)
    return Generation(loaded=loaded, cases=kept, budget=budget_of(options)), len(cases) - len(kept)


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
