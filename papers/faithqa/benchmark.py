"""Building the benchmark: planned queries, written and verified by a generator, with the statistics of Table 1."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...engines.meter import Budget
from ...generating.generation import Generated, Generation
from ...generating.writing import generate
from ...keeping.loading import LoadedJudge
from ...keeping.paying import Start
from ...programs.faithqa.writing import OMISSION
from .plans import TASKS, Plan, plan_rows

__all__ = ["Benchmark", "Built", "build", "statistics"]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A benchmark to be built.

    Attributes:
        plan: what it is to hold.
        loaded: the generator ``faithqa`` with its model; several samples are several attempts at a query.
        budget: hard limits of the whole job.
    """

    plan: Plan
    loaded: LoadedJudge
    budget: Budget = field(default_factory=Budget)

    def generation(self) -> Generation:
        """Return the job of the generator."""
        cases = tuple(self.loaded.judge.case(row) for row in plan_rows(self.plan))
        return Generation(loaded=self.loaded, cases=cases, budget=self.budget)


@dataclass(frozen=True, kw_only=True)
class Built:
    """How the building ended: what was written, and the statistics of the file."""

    written: Generated
    statistics: Mapping[str, Any]


def build(
    job: Benchmark, output: Path, start: Start, *, on_query: Callable[[], None] = lambda: None
) -> Built:
    """Write the queries that pass into a JSONL file, and the others with their reasons into another beside it.

    Raises:
        UsageError, CheckpointError, StoppedError, ModelError: as :func:`~jurist.generating.writing.generate`.
    """
    made = generate(job.generation(), output, start, on_document=lambda case, verdict: on_query())
    return Built(written=made, statistics=statistics(output))


def statistics(path: Path) -> dict[str, Any]:
    """Return how many queries a benchmark holds (Tables 1 and 8), read line by line.

    Returns:
        ``tasks``: task -> ``easy``, ``hard`` and ``total``, with ``topics``; tasks of missing material have no
        difficulty and ``missing`` instead: part -> queries. ``total`` counts all queries.
    """
    sizes: Counter[tuple[str, str]] = Counter()
    topics: Counter[tuple[str, str]] = Counter()
    missing: Counter[tuple[str, str]] = Counter()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            sizes[row["task"], row["difficulty"]] += 1
            topics[row["task"], row["topic"]] += 1
            missing[row["task"], row["missing"]] += 1
    tasks = {}
    for task in TASKS:
        own = {part: count for (name, part), count in sorted(missing.items()) if name == task}
        total = sum(own.values())
        by_difficulty = {name: sizes[task, name] for name in ("easy", "hard")} if task in OMISSION else {}
        tasks[task] = {
            **by_difficulty,
            "total": total,
            "topics": {
                topic: count for (name, topic), count in sorted(topics.items()) if name == task and topic
            },
            **({} if task in OMISSION else {"missing": own}),
        }
    return {"tasks": tasks, "total": sizes.total()}
