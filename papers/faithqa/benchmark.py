"""What a finished benchmark holds (Tables 1 and 8)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from ...programs.faithqa.writing import OMISSION
from .plans import TASKS

__all__ = ["statistics"]


def statistics(path: Path) -> dict[str, Any]:
    """Return how many queries a benchmark holds, read line by line.

    Returns:
        ``tasks``: task -> ``easy``, ``hard`` and ``total``, with ``topics``; tasks of missing material have no
        difficulty and ``missing`` instead: part -> queries. ``total`` counts all queries.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            counts.update((row["task"], name, row[name]) for name in ("difficulty", "topic", "missing"))

    def of(task: str, name: str) -> dict[str, int]:
        return {
            said: counts[found]
            for found in sorted(counts)
            if found[:2] == (task, name) and (said := found[2])
        }

    tasks: dict[str, Any] = {}
    for task in TASKS:
        own = {"easy": 0, "hard": 0, **of(task, "difficulty")} if task in OMISSION else {}
        lacking = {} if task in OMISSION else {"missing": of(task, "missing")}
        total = sum(counts[found] for found in counts if found[:2] == (task, "difficulty"))
        tasks[task] = {**own, "total": total, "topics": of(task, "topic"), **lacking}
    return {"tasks": tasks, "total": sum(one["total"] for one in tasks.values())}
