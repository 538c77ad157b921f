"""Conversations for CogniBench: as many as are planned for each document, by the generator of dialogues."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...engines.channel import CallContext
from ...engines.meter import Budget
from ...engines.models import Model
from ...errors import UsageError
from ...gold.documents import Document
from ...jobs.estimate import Estimate
from ...jobs.foresee import foresee_items
from ...jobs.generation import Generated, Generation
from ...keeping.loading import LoadedJudge
from ...programs.answers.checks import items_of
from ...programs.dialogue import dialogue_generator
from ...programs.state import PromptState
from ...programs.votes import Sampling
from .plans import DialogueSpec, plans
from .turns import AssistantTurn, answers_of


def dialogue_job(
    documents: Sequence[Document],
    spec: DialogueSpec,
    model: Model,
    *,
    seed: int = 0,
    attempts: int = 3,
    concurrency: int = 8,
    budget: Budget | None = None,
) -> Generation:
    """Return the writing of the planned dialogues, in the order of their documents."""
    if attempts < 1:
        raise UsageError(f"{attempts} attempts ask nothing", hint="give 1 or more")
    generator = dialogue_generator(attempts, spec.turns.high)
    loaded = LoadedJudge(
        judge=generator,
        state=PromptState.of(generator.basic()),
        artifact=None,
        model=model,
        sampling=Sampling(),
        adapter="chat",
        concurrency=concurrency,
        context=CallContext.fresh(),
    )
    return Generation(
        loaded=loaded,
        cases=tuple(generator.case(plan.row()) for plan in plans(documents, spec, seed)),
        budget=budget or Budget(),
        settings={"attempts": attempts, "seed": seed},
        stamp={
            "model": model.name,
            "temperature": model.temperature,
            "seed": seed,
            "turns": str(spec.turns),
            "words": str(spec.words),
        },
    )


def dialogue_counts(made: Generated, output: Path, rejects: Path) -> dict[str, Any]:
    """Return how the writing of dialogues ended, as JSON values.

    Beside the counts of :class:`~jurist.jobs.generation.Generated`: ``turns``, the exchanges of the dialogues that were
    kept, and ``asked_again``, the exchanges of all that were asked for once more, each time counted.
    """
    found, counts = made.to_json(), Counter(turns=0, asked_again=0)
    for path in () if made.before else (output, rejects):
        for _, row in _rows(path):
            counts["asked_again"] += row["provenance"].get("asked_again", 0)
            counts["turns"] += len(row["turns"]) // 2 if path == output else 0
    return {
        "dialogues": found["documents"],
        **{name: found[name] for name in ("kept", "rejected", "failed")},
        **counts,
        **{name: found[name] for name in ("done_before", "spend")},
    }


def sampled_dialogues(job: Generation) -> tuple[Estimate, list[AssistantTurn]]:
    """Return the estimate, and the assistant turns of the few dialogues that it was measured on. Sends nothing."""
    seen, found = foresee_items(job)
    turns = sum(case.inputs["turns"] for case in job.cases)
    rows = [
        job.generator.row(case, item, 0)
        for case, verdict in found
        for item in items_of(verdict.value)
        if item.data["turns"]
    ]
    answers = [answer for row in rows for answer in answers_of(row)]
    return replace(seen, what=f"{len(job.cases)} dialogues with {turns} turns"), answers


def turns_in(path: Path) -> Iterator[AssistantTurn]:
    """Yield the assistant turns of a file of dialogues, as they were written."""
    for number, row in _rows(path):
        yield from answers_of(row, path=str(path), line=number)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and row of each line, if there is such a file."""
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            yield from enumerate(map(json.loads, lines), 1)
