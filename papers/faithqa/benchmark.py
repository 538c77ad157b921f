"""Which queries a benchmark is to hold (section 5, Table 1), and which a finished one holds.

Every choice follows from the seed and the query's number, so that a longer benchmark begins like a shorter one.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...errors import UsageError
from ...gold.documents import Document
from ...programs.faithqa.writing import ANALYSIS, ARTICLES, EVALUATED, LIMIT, TASKS
from ...report.table import Table
from ...report.table import table as as_table
from ...text.tables import table
from .retrieval import Passages

SHARES: Final[Mapping[str, float]] = {
    "fact": 3000,
    "story": 1000,
    "poem": 1000,
    "evaluation": 3210,
    "relationship": 5929,
    "summary": 5929,
}
"""How the queries of Table 1 are spread over the tasks."""
_CONDITIONS: Final = {"easy": (2, LIMIT), "hard": (LIMIT + 1, LIMIT + 3)}
_FIXED: Final = 1  # what a creative query sets besides its requirements: that a story or poem be written


def plan_rows(
    documents: Sequence[Document], *, size: int, tasks: Sequence[str] = TASKS, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield what is to be written, one query each."""
    if size < 1 or not tasks or not documents:
        raise UsageError("a benchmark of no queries", hint="give documents, a task and a size of 1 or more")
    if unknown := [task for task in tasks if task not in TASKS]:
        raise UsageError(f"there is no task {unknown[0]!r}", hint=f"use some of {', '.join(TASKS)}")
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        groups[f"{document.topic} {document.language}"].append(document)
    wide = [groups[name] for name in sorted(groups) if len(groups[name]) >= ARTICLES]
    if not wide and {*ANALYSIS} & {*tasks}:
        raise UsageError(
            f"content analysis needs {ARTICLES} documents of one topic and language",
            hint=f"give more documents with the same topic, or leave {' and '.join(ANALYSIS)} out of --tasks",
        )
    for number in range(size):
        draw = random.Random(f"{seed}|{number}")
        task = draw.choices(tasks, [SHARES[one] for one in tasks])[0]
        if task in ("story", "poem"):
            row = _creative(draw, sorted({one.language for one in documents}), task)
        elif task in ANALYSIS:
            row = _about(draw, _near(draw, tuple(draw.choice(wide))), task)
        else:
            row = _about(draw, [draw.choice(documents)], task)
        yield {"id": f"{task}-{number:05}", "task": task, **row}


@cache
def _index(documents: tuple[Document, ...]) -> Passages:
    return Passages([document.text for document in documents])


def _near(draw: random.Random, documents: tuple[Document, ...]) -> list[Document]:
    """Return a document at random and those nearest to it (appendix A.6.2 finds its reports by retrieval), mixed."""
    first = draw.choice(documents)
    others = [document for document in documents if document is not first]
    nearest = _index(documents).search(first.text, most=len(documents))
    ranks = {text: rank for rank, text in enumerate(nearest)}
    others.sort(key=lambda document: ranks.get(document.text, len(ranks)))
    return draw.sample([first, *others[: ARTICLES - 1]], ARTICLES)


def _about(draw: random.Random, chosen: Sequence[Document], task: str) -> dict[str, Any]:
    first = chosen[0]
    about = {name: getattr(first, name) for name in ("title", "topic", "language", "source")}
    shared = {**about, "texts": [document.text for document in chosen]}
    if task == "fact":
        difficulty = draw.choice(tuple(_CONDITIONS))
        return {**shared, "difficulty": difficulty, "conditions": draw.randint(*_CONDITIONS[difficulty])}
    parts = EVALUATED if task == "evaluation" else tuple(f"article {n}" for n in range(1, ARTICLES + 1))
    return {**shared, "removed": draw.choice(parts)}


def _creative(draw: random.Random, languages: Sequence[str], task: str) -> dict[str, Any]:
    language = draw.choice(languages)
    difficulty = draw.choice(tuple(_CONDITIONS))
    wanted = draw.randint(*_CONDITIONS[difficulty]) - _FIXED
    pool = [
        need for need in table(__package__, "requirements")["requirements"] if need.get("form", task) == task
    ]
    chosen: dict[str, str] = {}
    for need in draw.sample(pool, len(pool)):
        if len(chosen) < wanted:
            chosen.setdefault(need["group"], need[language])
    about = {"language": language, "difficulty": difficulty, "conditions": wanted + _FIXED}
    return {**about, "texts": [], "requirements": list(chosen.values())}


def statistics(path: Path) -> dict[str, Any]:
    """Return how many queries a benchmark holds (Tables 1 and 8), read line by line."""
    names = ("difficulty", "missing", "topic")
    counts = {task: {name: Counter[str]() for name in names} for task in TASKS}
    totals: Counter[str] = Counter()
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            totals[row["task"]] += 1
            for name, found in counts[row["task"]].items():
                found.update([row[name]] if row[name] else [])
    tasks = {
        task: {"total": totals[task], **{name: dict(sorted(found.items())) for name, found in parts.items()}}
        for task, parts in counts.items()
    }
    return {"tasks": tasks, "total": totals.total()}


def statistics_table(counted: Mapping[str, Any]) -> Table:
    """Return what :func:`statistics` counted as a table."""
    names = ("difficulty", "missing", "topic")
    rows = [
        [
            task,
            *(", ".join(f"{name} {count}" for name, count in parts[part].items()) for part in names),
            parts["total"],
        ]
        for task, parts in counted["tasks"].items()
    ]
    return as_table(
        f"statistics (as FAITHQA Tables 1 and 8): {counted['total']} queries; easy is up to {LIMIT} constraints",
        ("task", *names, "total"),
        rows,
    )
