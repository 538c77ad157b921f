"""The tables of an assessment: Perfect and Constraint Score by task, topic and difficulty, and what was violated.

Shapes of Tables 3, 4, 9, 10 and 11 and of Figure 4. Captions of Tables 10 and 11 are exchanged in the paper: what
depends on a missing query, response or article is response evaluation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from scipy.stats import permutation_test

from ...evaluation.shares import Share, shares
from ...programs.faithqa.scoring import MARKS, failure_shares
from .assess import Assessed, Response

__all__ = ["Cell", "Pair", "cells", "compare", "missing_rates", "violations"]

Key = Callable[[Response], tuple[str, ...] | None]
"""The cell of a table that a response belongs to; ``None`` for none."""

_SWAPS: Final = 9999
_ANALYSIS: Final = ("relationship", "summary")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one model did in one cell of a table.

    Attributes:
        perfect: the share of responses without a violated constraint.
        score: the mean Constraint Score, 0 to 10.
        factual: of hallucinated responses that were checked, the share whose facts are accurate.
        responses: how many have a score.
    """

    perfect: Share
    score: Share
    factual: Share
    responses: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two models on the same queries.

    Attributes:
        first, second: their names.
        queries: those on which both have a score.
        difference: the mean difference of their scores, with its interval.
        p: of a paired permutation test on the scores; ``None`` with fewer than two queries.
    """

    first: str
    second: str
    queries: int
    difference: Share
    p: float | None


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
            "score": [(_group(one), one.score or 0.0, 1.0) for one in given],
            "factual": [(_group(one), float(one.facts == "accurate"), 1.0) for one in given if one.facts],
        }
    )
    return Cell(responses=len(given), **found)


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
    tables: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    for one in model.responses:
        task, row = one.question.task, f"{one.question.task} {one.question.topic or '-'}"
        if one.score is None:
            continue
        if task == "evaluation":
            tables[f"{row}\t{one.question.missing}"].append((_group(one), float(one.score < 10), 1.0))
        if task in _ANALYSIS and one.score < 10:
            for name in ("T1", "T2", "other"):
                tables[f"{row}\t{name}"].append((_group(one), float(_kind(one) == name), 1.0))
    found: dict[str, dict[str, Share]] = defaultdict(dict)
    for place, share in shares({key: tables[key] for key in sorted(tables)}).items():
        row, _, column = place.partition("\t")
        found[row][column] = share
    return dict(found)


def _kind(one: Response) -> str:
    """Return how a response to incomplete material fails: its marks are notice, request and no invention."""
    notice, _, invention = (*one.marks, "", "", "")[:3]
    if invention != "satisfied":
        return "T2"
    return "T1" if notice != "satisfied" else "other"


def violations(model: Assessed) -> dict[str, dict[str, dict[str, float]]]:
    """Return what was violated (Figure 4): task -> category -> mark -> share of the task's violated constraints."""
    found: dict[str, list[Any]] = defaultdict(list)
    for one in model.responses:
        found[one.question.task] += [
            pair for pair in zip(one.question.categories, one.marks, strict=False) if pair[1] in MARKS
        ]
    return {
        task: {
            category: {str(mark): share for mark, share in by_mark.items()}
            for category, by_mark in failure_shares(found[task]).items()
        }
        for task in sorted(found)
        if any(mark != "satisfied" for _, mark in found[task])
    }


def compare(found: Sequence[Assessed], seed: int = 0) -> list[Pair]:
    """Return every pair of models, on the queries that both have a score of."""
    return [_pair(one, other, seed) for place, one in enumerate(found) for other in found[place + 1 :]]


def _pair(one: Assessed, other: Assessed, seed: int) -> Pair:
    both = [
        (first, second)
        for first, second in zip(one.responses, other.responses, strict=True)
        if first.score is not None and second.score is not None
    ]
    scores = np.array([[first.score, second.score] for first, second in both], dtype=np.float64).reshape(
        -1, 2
    )
    gaps: Iterable[tuple[str, float, float]] = [
        (_group(first), float(gap), 1.0)
        for (first, _), gap in zip(both, scores[:, 0] - scores[:, 1], strict=True)
    ]
    return Pair(
        first=one.model,
        second=other.model,
        queries=len(both),
        difference=shares({"difference": gaps})["difference"],
        p=_test(scores, seed),
    )


def _test(scores: Any, seed: int) -> float | None:
    if len(scores) < 2:
        return None
    tested = permutation_test(
        (scores[:, 0], scores[:, 1]),
        lambda first, second, axis: np.mean(first - second, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_SWAPS,
        rng=np.random.default_rng(seed),
    )
    return float(tested.pvalue)
