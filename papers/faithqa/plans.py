"""Which queries a benchmark is to hold (section 5, Table 1): tasks, topics, difficulty, and what is left out.

Every choice follows from the seed and the query's number, so that a longer benchmark begins like a shorter one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from ...errors import UsageError
from ...gold.documents import Document
from ...programs.faithqa.writing import ARTICLES, EVALUATED, LIMIT, Task
from ...text.tables import table

__all__ = ["SHARES", "TASKS", "Plan", "plan_rows"]

TASKS: Final[tuple[Task, ...]] = get_args(Task)
SHARES: Final[Mapping[Task, float]] = {
    "fact": 3000,
    "story": 1000,
    "poem": 1000,
    "evaluation": 3210,
    "relationship": 5929,
    "summary": 5929,
}
"""How the queries of Table 1 are spread over the tasks."""
_EASY: Final = (2, LIMIT)
_HARD: Final = (LIMIT + 1, LIMIT + 3)
_FIXED: Final = 1  # what a creative query sets besides its requirements: that a story or poem be written


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a benchmark is to hold.

    Attributes:
        documents: concepts and articles, with their topics.
        size: how many queries.
        tasks: those of them that are wanted, in the proportions of :data:`SHARES`.
        seed: of all choices.

    Raises:
        UsageError: there are too few documents for a task, or no query is wanted.
    """

    documents: Sequence[Document]
    size: int
    tasks: tuple[Task, ...] = TASKS
    seed: int = 0
    by_topic: Mapping[str, Sequence[Document]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Group the documents, and refuse what cannot be planned."""
        if self.size < 1 or not self.tasks or not self.documents:
            raise UsageError(
                "a benchmark of no queries", hint="give documents, a task and a size of 1 or more"
            )
        groups: dict[str, list[Document]] = defaultdict(list)
        for document in self.documents:
            groups[f"{document.topic} {document.language}"].append(document)
        object.__setattr__(self, "by_topic", dict(groups))
        if {"relationship", "summary"} & {*self.tasks} and not self._wide:
            raise UsageError(
                f"content analysis needs {ARTICLES} documents of one topic and language",
                hint="give more documents with the same topic, or leave out --tasks relationship,summary",
            )

    @property
    def _wide(self) -> list[str]:
        return sorted(name for name, some in self.by_topic.items() if len(some) >= ARTICLES)


def plan_rows(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield the rows of a plan, one query each."""
    for number in range(plan.size):
        draw = random.Random(f"{plan.seed}|{number}")
        task = draw.choices(plan.tasks, [SHARES[one] for one in plan.tasks])[0]
        row = _creative(draw, plan, task) if task in ("story", "poem") else _about_documents(draw, plan, task)
        yield {"id": f"{task}-{number:05}", "task": task, **row}


def _about_documents(draw: random.Random, plan: Plan, task: Task) -> dict[str, Any]:
    count = ARTICLES if task in ("relationship", "summary") else 1
    if count > 1:
        chosen = draw.sample(list(plan.by_topic[draw.choice(plan._wide)]), count)
    else:
        chosen = [draw.choice(plan.documents)]
    shared = {
        "texts": [one.text for one in chosen],
        "title": chosen[0].title,
        "topic": chosen[0].topic,
        "language": chosen[0].language,
        "group": chosen[0].id,
        "source": chosen[0].source,
    }
    if task == "fact":
        difficulty = draw.choice(("easy", "hard"))
        return {**shared, "difficulty": difficulty, "conditions": draw.randint(*_bounds(difficulty))}
    parts = EVALUATED if task == "evaluation" else tuple(f"article {n}" for n in range(1, ARTICLES + 1))
    return {**shared, "removed": draw.choice(parts)}


def _creative(draw: random.Random, plan: Plan, task: Task) -> dict[str, Any]:
    language = draw.choice(sorted({one.language for one in plan.documents}))
    difficulty = draw.choice(("easy", "hard"))
    wanted = draw.randint(*_bounds(difficulty)) - _FIXED
    pool = [one for one in _pool() if one.get("form", task) == task]
    chosen: dict[str, Mapping[str, str]] = {}
    for one in draw.sample(pool, len(pool)):
        if len(chosen) < wanted:
            chosen.setdefault(one["group"], one)
    return {
        "texts": [],
        "language": language,
        "difficulty": difficulty,
        "conditions": wanted + _FIXED,
        "requirements": [one[language] for one in chosen.values()],
    }


def _bounds(difficulty: str) -> tuple[int, int]:
    return _EASY if difficulty == "easy" else _HARD


def _pool() -> list[dict[str, str]]:
    found: list[dict[str, str]] = table(__package__, "requirements")["requirements"]
    return found
