"""``jurist generate haluagent`` and ``jurist table haluagent-3``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..arguments.haluagent import HaluAgentOptions, RoundsOptions
from ..evaluation.shares import Share
from ..generating.generation import Generation
from ..generating.writing import rejects_path
from ..gold.documents import read_documents
from ..gold.goldset import Gold
from ..jobs.foresee import foresee_items
from ..keeping.loading import load_judge
from ..papers.haluagent.making import Benchmark, distinct, make_benchmark
from ..papers.haluagent.rounds import Round, Rounds, measure_rounds, sealed_documents
from ..programs.haluagent.writing import HALUAGENT
from ..report.scores import OFFLINE
from ..report.table import Table, table
from .common import budget_of, latest_or_basic, model_of, store_of, verifier_model
from .generate import ended, total_line
from .history import prompt_diff
from .printing import Part, Result, Verbatim, remark
from .started import Started

__all__ = ["make", "rounds"]


def make(options: HaluAgentOptions) -> Result:
    """Make a benchmark; exit code 3 if too much was rejected or a document failed."""
    job, left_out = _generation(options)
    folder = Path(options.output)
    if left_out:
        remark(f"{left_out} passages are near-duplicates of earlier ones and are left out")
    topics = {one.id: _topic(one) for one in read_documents(options.input, "knowledge")}
    with Started(options, list(job.loaded.models), lambda: foresee_items(job)) as begun:
        start = begun.begin(len(job.cases), "writing and verifying")
        found = make_benchmark(
            job,
            folder,
            start,
            topics=topics,
            about={"documents": len(topics), "duplicate_passages": left_out, "seed": options.seed},
            seed=options.seed,
            sample=options.sample,
            on_document=begun.step,
        )
    forecast = begun.estimate.to_json() if begun.estimate else None
    data = {"output": options.output, **found.written.to_json(), **found.card, "forecast": forecast}
    code, notes = ended(found.written, options.max_rejected, what="items")
    return Result(data=data, body=_body(found, job, folder), notes=notes, code=code)


def rounds(options: RoundsOptions) -> Result:
    """Return Table 3 of a compiled version, and what changed in its prompts."""
    store = store_of(options)
    loaded = load_judge(
        options.generator,
        store=store,
        model=model_of(options, options.model, options.seed),
        concurrency=options.concurrency,
        verifier=verifier_model(options, options.timeout, options.seed),
    )
    work = Rounds(loaded=loaded, cases=sealed_documents(loaded, options.gold), budget=budget_of(options))
    steps = len({row["candidate"] for row in work.found}) * len(work.cases)
    with Started(options, list(loaded.models), work.estimate) as begun:
        found, spend = measure_rounds(work, begun.begin(steps, "writing and verifying"), on_step=begun.step)
    assert loaded.artifact is not None
    diff = prompt_diff(loaded.artifact, store)
    data = {
        "generator": loaded.name,
        "passages": len(work.cases),
        "rounds": [one.to_json() for one in found],
        "diff": diff,
        "spend": spend,
        "forecast": begun.estimate.to_json() if begun.estimate else None,
    }
    body: list[Part] = [
        _rounds(found, loaded.name, len(work.cases)),
        Verbatim(diff),
        f"spent: {total_line(spend)}",
        *([OFFLINE] if any(model.offline for model in loaded.models) else []),
    ]
    return Result(data=data, body=body)


def _rounds(found: list[Round], name: str, passages: int) -> Table:
    checks = list(found[0].rates)
    return table(
        f"{name}: share of items that pass, {passages} sealed passages (C-FAITH Table 3)",
        ("round", *checks, "dev", "candidate"),
        [
            [
                str(one.number),
                *(f"{one.rates[check]:.3f}" for check in checks),
                f"{one.dev:.3f}",
                one.candidate,
            ]
            for one in found
        ],
    )


def _generation(options: HaluAgentOptions) -> tuple[Generation, int]:
    """Return what is to be written, and how many passages were left out as near-duplicates."""
    store = store_of(options)
    loaded = load_judge(
        options.generator or latest_or_basic(HALUAGENT.name, store),
        store=store,
        model=model_of(options, options.model, options.seed),
        concurrency=options.concurrency,
        verifier=verifier_model(options, options.timeout, options.seed),
    )
    if loaded.note:
        remark(loaded.note)
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
        f"spent: {total_line(made.spend)}",
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
