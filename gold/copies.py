"""Near copies among cases: which groups they make one, and which rows an artifact was compiled on or near.

The evidence of a case are the inputs that are not judged themselves. Groups whose evidence nearly repeats, or of which
one has a text inside an input of the other, count as one in a split, or the test would hold what train shows. A row is
near another if its evidence and what is judged of it both are. What more than a quarter of the groups say nearly alike,
or all of them exactly (a policy, a form), belongs to the task and gives nothing away, and so do the inputs that are
shared by design (:mod:`.shared`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cases import Case
from ..text.near import Sketches, clusters, folded, from_text, sketches, to_text
from ..text.wording import strings
from .passages import evidence_fields, sharing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..programs.judge import Judge

_LONG = 40
"""Letters and digits from which evidence that nearly repeats is a copy, and not chance."""


@dataclass(frozen=True, kw_only=True)
class NearCopies:
    """Groups that hold near copies of each other."""

    groups: tuple[str, ...]  # their names, two or more, sorted; together they count as the first of them
    sources: tuple[str, ...]  # a row of each that is near one of the others, as messages name it


def near_copies(judge: Judge, cases: Sequence[Case]) -> tuple[NearCopies, ...]:
    """Return which groups hold near copies of each other's evidence (of what is judged, where that is all)."""
    fields = evidence_fields(judge) or list(judge.answer.unit_fields)
    parent: dict[str, str] = {}

    def root(group: str) -> str:
        while group in parent:
            group = parent[group]
        return group

    sources: dict[str, str] = {}
    for members in (*_near_in(cases, fields), *sharing(judge, cases)):
        names = {case.group: case.source for case in reversed(members)}
        for name in names:
            sources.setdefault(name, names[name])
        roots = sorted({root(name) for name in names})
        parent.update(dict.fromkeys(roots[1:], roots[0]))
    merged: dict[str, list[str]] = {}
    for name in sorted(sources):
        merged.setdefault(root(name), []).append(name)
    return tuple(
        NearCopies(groups=tuple(names), sources=tuple(sources[name] for name in names))
        for names in merged.values()
        if len(names) > 1
    )


def _near_in(cases: Sequence[Case], fields: Sequence[str]) -> list[list[Case]]:
    """Return the cases that are near in a field, where they are of several groups, but not of most."""
    most = max(2, len({case.group for case in cases}) // 4)
    found = []
    for name in fields:
        texts = [(case, _text(case.inputs.get(name))) for case in cases]
        held = [(case, text) for case, text in texts if len(folded(text)) >= _LONG]
        by_cluster: dict[int, list[Case]] = {}
        places = clusters(sketches([text for _, text in held])).tolist()
        for (case, _), cluster in zip(held, places, strict=True):
            by_cluster.setdefault(cluster, []).append(case)
        found += [some for some in by_cluster.values() if 1 < len({case.group for case in some}) <= most]
    return found


def _text(value: Any) -> str:
    return " ".join(strings(value))


def sketched_rows(judge: Judge, cases: Sequence[Case]) -> list[dict[str, str]]:
    """Return what an artifact keeps of the rows it was compiled on, to know near copies of them again: no text."""
    return [
        {"case": case.id, "evidence": to_text(evidence), "unit": to_text(unit)}
        for case, evidence, unit in zip(cases, *_both(judge, cases), strict=True)
    ]


def near_rows(judge: Judge, cases: Sequence[Case], seen: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the ids of the cases that are near a row that was seen."""
    known = list(seen)
    if not known or not cases:
        return frozenset()
    evidence, unit = (
        _together(from_text([row[side] for row in known]), own)
        for side, own in zip(("evidence", "unit"), _both(judge, cases), strict=True)
    )
    pairs = list(zip(evidence.tolist(), unit.tolist(), strict=True))
    held = set(pairs[: len(known)])
    return frozenset(case.id for case, pair in zip(cases, pairs[len(known) :], strict=True) if pair in held)


def _together(first: Sketches, second: Sketches) -> NDArray[np.int64]:
    return clusters(np.concatenate([first, second]))


def _both(judge: Judge, cases: Sequence[Case]) -> tuple[Sketches, Sketches]:
    """Return the sketches of the cases' evidence and of what is judged."""
    units = judge.answer.unit_fields
    sides = [
        [
            _text(
                [
                    value
                    for name, value in case.inputs.items()
                    if (name in units) == judged and name not in (judge.common or ())
                ]
            )
            for case in cases
        ]
        for judged in (False, True)
    ]
    return sketches(sides[0]), sketches(sides[1])
