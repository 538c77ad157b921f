"""The tables of an assessment: Perfect and Constraint Score by task, topic and difficulty, and what was violated.

Shapes of Tables 3, 4, 9, 10 and 11 and of Figure 4. Captions of Tables 10 and 11 are exchanged in the paper: what
depends on a missing query, response or article is response evaluation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, TypeAlias

from ...evaluation.contrasts import Contrast, contrast, corrected
from ...evaluation.metrics import Metric, mean, pair_sums
from ...evaluation.rows import Row
from ...evaluation.scores import Scores
from ...evaluation.shares import Share, shares
from ...programs.faithqa.scoring import MARKS, Category, Mark, failure_shares
from .assess import Assessed, Response

__all__ = ["Cell", "cells", "compare", "missing_rates", "violations"]

Key: TypeAlias = Callable[[Response], tuple[str, ...] | None]
"""The cell of a table that a response belongs to; ``None`` for none."""
Cell: TypeAlias = dict[str, Share]
"""``perfect``, the share of responses without a violated constraint; ``score``, their mean Constraint Score; and
``factual``: of hallucinated responses that were checked, the share whose facts are accurate."""

_ANALYSIS: Final = ("relationship", "summary")
_SCALE: Final = Scores(0, 10)
_MEAN: Final = Metric(
    name="Constraint Score", statistics=pair_sums(lambda most, score: (score, 1.0), mean, 2), high=10.0
)


def cells(model: Assessed, key: Key) -> dict[tuple[str, ...], Cell]:
    """Return a model's cells of a table, in order; responses without a score are in none."""
    groups: dict[tuple[str, ...], list[Response]] = defaultdict(list)
    for one in model.responses:
        name = key(one)
        if name is not None and one.score is not None:
            groups[name].append(one)
    return {name: _cell(groups[name]) for name in sorted(groups)}


def _cell(given: Sequence[Response]) -> Cell:
    found = shares(
        {
            "perfect": [(_group(one), float(one.score == 10), 1.0) for one in given],
            "score": [(_group(one), one.score or 0.0, 10.0) for one in given],
            "factual": [(_group(one), float(one.facts == "accurate"), 1.0) for one in given if one.facts],
        }
    )
    return {**found, "score": found["score"].of_scale(10.0)}


def _group(one: Response) -> str:
    return one.question.group or one.question.id


def missing_rates(model: Assessed) -> dict[str, dict[str, Share]]:
    """Return how models fail on missing material, as shares of responses with a score.

    Returns:
        Row -> column -> share. Of response evaluation, a row ``evaluation TOPIC`` with the rate of hallucinated
        responses by missing part (``query``, ``response``, ``article``). Of content analysis, a row
        ``TASK TOPIC`` with what kind of failure the hallucinated ones are: ``T1``, the missing article is not
        mentioned; ``T2``, it is invented; ``other``.
    """
    tables: dict[tuple[str, str], list[tuple[str, float, float]]] = defaultdict(list)
    for one in model.responses:
        task, row = one.question.task, f"{one.question.task} {one.question.topic or '-'}"
        if one.score is None:
            continue
        if task == "evaluation":
            tables[row, one.question.missing].append((_group(one), float(one.score < 10), 1.0))
        if task in _ANALYSIS and one.score < 10:
            for name in ("T1", "T2", "other"):
                tables[row, name].append((_group(one), float(_kind(one) == name), 1.0))
    found: dict[str, dict[str, Share]] = defaultdict(dict)
    for (row, column), share in shares({key: tables[key] for key in sorted(tables)}).items():
        found[row][column] = share
    return dict(found)


def _kind(one: Response) -> str:
    """Return how a response to incomplete material fails: its marks are notice, request and no invention."""
    notice, _, invention = (*one.marks, "", "", "")[:3]
    if invention != "satisfied":
        return "T2"
    return "T1" if notice != "satisfied" else "other"


def violations(model: Assessed) -> dict[str, Mapping[Category, Mapping[Mark, float]]]:
    """Return what was violated (Figure 4): task -> category -> mark -> share of the task's violated constraints."""
    found: dict[str, list[Any]] = defaultdict(list)
    for one in model.responses:
        found[one.question.task] += [
            pair for pair in zip(one.question.categories, one.marks, strict=False) if pair[1] in MARKS
        ]
    return {
        task: failure_shares(found[task])
        for task in sorted(found)
        if any(mark != "satisfied" for _, mark in found[task])
    }


def compare(found: Sequence[Assessed], seed: int = 0) -> tuple[Contrast, ...]:
    """Return every pair of models on the same queries, corrected together; a query without a score counts as 0."""
    told = [(one.model, [[_row(response) for response in one.responses]]) for one in found]
    return corrected([contrast(*pair, _MEAN, _SCALE, seed=seed) for pair in combinations(told, 2)])


def _row(one: Response) -> Row:
    return Row(id=one.question.id, group=_group(one), gold=(10.0,), predicted=(one.score,), failed=one.failed)
