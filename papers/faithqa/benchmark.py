"""The queries that a benchmark is to hold (section 5, Table 1), and those of a finished one.

Every choice follows from the seed and the query's number, so that a longer benchmark begins like a shorter one.
"""

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final

from ...errors import GoldError, UsageError
from ...gold.documents import Document, read_documents
from ...jobs.generation import Description, Generation, Recipe, Writing, WritingRequest
from ...programs.faithqa.writing import ANALYSIS, ARTICLES, EVALUATED, LIMIT, TASKS
from ...report.table import Table
from ...report.table import table as as_table
from ...text.tables import read_table
from .retrieval import Passages

SHARES: Final[Mapping[str, float]] = {
    "fact": 3000,
    "story": 1000,
    "poem": 1000,
    "evaluation": 3210,
    "relationship": 5929,
    "summary": 5929,
}
"""Task -> its queries in Table 1, by which the queries of a benchmark are spread."""
_CONDITIONS: Final = {"easy": (2, LIMIT), "hard": (LIMIT + 1, LIMIT + 3)}
_CREATIVE: Final = ("story", "poem")
_FIXED: Final = 1  # what a creative query sets besides its requirements: that a story or poem be written
_COUNTED: Final = ("difficulty", "missing", "topic")
"""Columns of a benchmark whose values are counted for each task."""


def plan_rows(
    documents: Sequence[Document], *, size: int, tasks: Sequence[str] = TASKS, seed: int = 0
) -> Iterator[dict[str, object]]:
    """Yield a row for each query that is to be written.

    A document with a ``popularity`` (any number that is higher for what more people know) is asked about with an easy
    query if it is at or above the median of its topic, else with a hard one (appendix A.6.1). The difficulty of the
    others is drawn by lot.

    Raises:
        UsageError: there is nothing to write from, or no such task.
        GoldError: a popularity is no number.
    """
    if size < 1 or not tasks or not documents:
        raise UsageError("a benchmark of no queries", hint="give documents, a task and a size of 1 or more")
    for task in tasks:
        if task not in TASKS:
            raise UsageError(f"there is no task {task!r}", hint=f"use some of {', '.join(TASKS)}")
    large_groups = _large_groups(documents)
    if not large_groups and not set(tasks).isdisjoint(ANALYSIS):
        raise UsageError(
            f"content analysis needs {ARTICLES} documents of one topic and language",
            hint=f"give more documents with the same topic, or leave {' and '.join(ANALYSIS)} out of --tasks",
        )
    languages = sorted({document.language for document in documents})
    difficulties = _difficulties_by_popularity(documents)
    shares = [SHARES[task] for task in tasks]
    for number in range(size):
        draw = random.Random(f"{seed}|{number}")
        task = draw.choices(tasks, shares)[0]
        if task in _CREATIVE:
            row = _creative_row(draw, languages, task)
        elif task in ANALYSIS:
            row = _document_row(draw, _near_documents(draw, tuple(draw.choice(large_groups))), task)
        else:
            document = draw.choice(documents)
            row = _document_row(draw, [document], task, difficulties.get(document.id, ""))
        yield {"id": f"{task}-{number:05}", "task": task, **row}


def _difficulties_by_popularity(documents: Sequence[Document]) -> dict[str, str]:
    """Return id -> difficulty of the queries about a document, for the documents that have a popularity."""
    popularity: dict[str, float] = {}
    values_of_topic: dict[str, list[float]] = defaultdict(list)
    for document in documents:
        value = document.extra.get("popularity")
        if value not in (None, ""):
            popularity[document.id] = _number_of_popularity(value, document.source)
            values_of_topic[document.topic].append(popularity[document.id])
    difficulties = {}
    for document in documents:
        if document.id in popularity:
            is_well_known = popularity[document.id] >= median(values_of_topic[document.topic])
            difficulties[document.id] = "easy" if is_well_known else "hard"
    return difficulties


def _number_of_popularity(value: object, source: str) -> float:
    """Return the number that a column of popularity holds."""
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        hint = "give a number, such as views of its page, or leave it empty"
        raise GoldError(f"the popularity {value!r} is no number", path=source, field="popularity", hint=hint)
    return number


def _large_groups(documents: Sequence[Document]) -> list[list[Document]]:
    """Return the documents of one topic and language each, where there are enough of them for content analysis."""
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        groups[f"{document.topic} {document.language}"].append(document)
    large_groups = []
    for name in sorted(groups):
        if len(groups[name]) >= ARTICLES:
            large_groups.append(groups[name])
    return large_groups


@cache
def _index_documents(documents: tuple[Document, ...]) -> Passages:
    return Passages([document.text for document in documents])


def _near_documents(draw: random.Random, documents: tuple[Document, ...]) -> list[Document]:
    """Return a document at random and those nearest to it (appendix A.6.2 finds its reports by retrieval), mixed."""
    first = draw.choice(documents)
    neighbours = [document for document in documents if document is not first]
    nearest_texts = _index_documents(documents).search(first.text, limit=len(documents))
    ranks = {text: rank for rank, text in enumerate(nearest_texts)}
    neighbours.sort(key=lambda document: ranks.get(document.text, len(ranks)))
    return draw.sample([first] + neighbours[: ARTICLES - 1], ARTICLES)


def _document_row(
    draw: random.Random, documents: Sequence[Document], task: str, difficulty: str = ""
) -> dict[str, object]:
    """Return the row of a query about documents: a question about facts, or one that a part is removed from.

    Without a difficulty that of a question about facts is drawn.
    """
    first = documents[0]
    row: dict[str, object] = {
        "title": first.title,
        "topic": first.topic,
        "language": first.language,
        "source": first.source,
        "texts": [document.text for document in documents],
    }
    if task == "fact":
        difficulty = difficulty or draw.choice(tuple(_CONDITIONS))
        row["difficulty"] = difficulty
        row["conditions"] = _draw_conditions(draw, difficulty)
        return row
    parts: Sequence[str] = EVALUATED
    if task != "evaluation":
        parts = [f"article {number}" for number in range(1, ARTICLES + 1)]
    row["removed"] = draw.choice(parts)
    return row


def _draw_conditions(draw: random.Random, difficulty: str) -> int:
    """Return how many conditions a query of a difficulty sets, at random."""
    low, high = _CONDITIONS[difficulty]
    return draw.randint(low, high)


def _creative_row(draw: random.Random, languages: Sequence[str], task: str) -> dict[str, object]:
    """Return the row of a story or a poem, with requirements of which no two are of one group."""
    language = draw.choice(languages)
    difficulty = draw.choice(tuple(_CONDITIONS))
    conditions = _draw_conditions(draw, difficulty)
    requirements = []
    for requirement in read_table(__package__, "requirements")["requirements"]:
        if requirement.get("form", task) == task:
            requirements.append(requirement)
    texts_by_group: dict[str, str] = {}
    for requirement in draw.sample(requirements, len(requirements)):
        if len(texts_by_group) < conditions - _FIXED:
            texts_by_group.setdefault(requirement["group"], requirement[language])
    return {
        "language": language,
        "difficulty": difficulty,
        "conditions": conditions,
        "texts": [],
        "requirements": list(texts_by_group.values()),
    }


def query_statistics(path: Path) -> dict[str, object]:
    """Return how many queries a benchmark holds (Tables 1 and 8), read line by line."""
    totals: Counter[str] = Counter()
    counts: dict[str, dict[str, Counter[str]]] = {}
    for task in TASKS:
        counts[task] = {column: Counter() for column in _COUNTED}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            row_task = row["task"]
            totals[row_task] += 1
            for column, values in counts[row_task].items():
                if row[column]:
                    values[row[column]] += 1
    tasks: dict[str, dict[str, object]] = {}
    for counted_task, task_counts in counts.items():
        tasks[counted_task] = {"total": totals[counted_task]}
        for column, values in task_counts.items():
            tasks[counted_task][column] = dict(sorted(values.items()))
    return {"tasks": tasks, "total": totals.total()}


def statistics_table(counts: Mapping[str, Any]) -> Table:
    """Return the counts of :func:`query_statistics` as a table."""
    rows = []
    for task_name, task_counts in counts["tasks"].items():
        row = [task_name]
        for column in _COUNTED:
            counted_values = []
            for value, count in task_counts[column].items():
                counted_values.append(f"{value} {count}")
            row.append(", ".join(counted_values))
        row.append(task_counts["total"])
        rows.append(row)
    title = f"statistics (as FAITHQA Tables 1 and 8): {counts['total']} queries; easy is up to {LIMIT} constraints"
    return as_table(title, ("task", *_COUNTED, "total"), rows)


def _plan(request: WritingRequest) -> Writing:
    """Return the job that writes the queries of a benchmark."""
    settings = request.settings
    tasks: Sequence[str] = TASKS
    if settings["tasks"]:
        tasks = tuple(name.strip() for name in settings["tasks"].split(","))
    documents = read_documents(request.documents)
    rows = plan_rows(documents, size=settings["size"], tasks=tasks, seed=request.seed)
    cases = tuple(map(request.loaded.judge.case, rows))
    job = Generation(loaded=request.loaded, cases=cases, budget=request.budget)
    return Writing(job=job, output=request.output, describe=_describe)


def _describe(benchmark: Path) -> Description:
    """Return the statistics of a benchmark."""
    statistics = query_statistics(benchmark)
    return {"statistics": statistics}, [statistics_table(statistics)]


RECIPE: Final = Recipe(generators=("faithqa",), settings={"size": 40, "tasks": None}, plan=_plan, attempts=3)
"""A benchmark of queries."""
