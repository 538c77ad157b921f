"""Texts that several cases have: near copies, what stands in another case, and rows an artifact was compiled on.

The evidence of a case are the inputs that are not judged themselves. A row is a near copy of another if its evidence
and what is judged of it both are near, and people gave both the same labels: two texts that differ in what decides are
no copies. Every command leaves out the near copies of what an optimizer sees by this one rule. What more than a quarter
of the groups say nearly alike, or all of them exactly (a policy, a form), belongs to the task and gives nothing away.
Whole texts are compared from 40 characters on: shorter ones repeat by chance.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ..cases import Case, text_hash
from ..text.ranking import folded
from ..text.wording import normalised, strings
from .near import Sketches, clusters, from_text, sketches, to_text

if TYPE_CHECKING:
    from ..programs.judge import Judge

MIN_CHARACTERS = 40
"""The length from which a text that two places share counts, in characters after normalisation."""
_LONG = 40
"""Letters and digits from which evidence that nearly repeats is a copy, and not chance."""
_BLOCK = MIN_CHARACTERS // 2
_TRIED = 8
"""Blocks of a wanted text, about, of which the one that fewest texts have is looked up."""

P = TypeVar("P")


class Index(Generic[P]):
    """Finds which of many texts hold a given text: any occurrence covers one whole block of half the least length."""

    def __init__(self, texts: Iterable[tuple[str, P]]) -> None:
        self._texts = [(text, place) for text, place in texts if len(text) >= MIN_CHARACTERS]
        self._blocks: dict[str, list[tuple[int, int]]] = {}
        for number, (text, _) in enumerate(self._texts):
            for start in range(0, len(text) - _BLOCK + 1, _BLOCK):
                self._blocks.setdefault(text[start : start + _BLOCK], []).append((number, start))

    def holding(self, wanted: str) -> Iterator[P]:
        """Yield the place of every text that holds ``wanted``."""
        if len(wanted) < MIN_CHARACTERS:
            return
        for offset in range(_BLOCK):
            starts = range(offset, len(wanted) - _BLOCK + 1, _BLOCK)
            tried = starts[:: max(1, len(starts) // _TRIED)]
            # what many texts begin with is no help: any block of those that an occurrence covers would do
            blocks = {at: self._blocks.get(wanted[at : at + _BLOCK], []) for at in tried}
            at, found = min(blocks.items(), key=lambda block: len(block[1]))
            for number, start in found:
                text, place = self._texts[number]
                if start >= at and text.startswith(wanted, start - at):
                    yield place


def texts_of(inputs: Mapping[str, Any], *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield the normalised texts that are long enough to matter."""
    for name, value in inputs.items():
        if name not in without:
            texts = map(normalised, strings(value))
            yield from (text for text in texts if len(text) >= MIN_CHARACTERS)


def constants(cases: Sequence[Case], units: Collection[str]) -> frozenset[str]:
    """Return the texts that all cases have, apart from what is judged."""
    texts = [frozenset(texts_of(case.inputs, without=units)) for case in cases]
    return frozenset[str]().union(*texts[:1]).intersection(*texts)


def evidence_fields(judge: Judge) -> list[str]:
    """Return the inputs that are neither judged themselves nor the same in many rows by design."""
    apart = (*judge.answer.unit_fields, *(judge.common or ()))
    return [name for name in judge.input_fields if name not in apart]


def sharing(judge: Judge, cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Yield cases of several groups, of which one has an evidence text that the inputs of the others hold."""
    common = judge.common or ()
    judged = (*judge.answer.unit_fields, *common)
    known = constants(cases, judged)
    first = {
        (text, case.group): case for case in reversed(cases) for text in texts_of(case.inputs, without=common)
    }
    index = Index((text, case) for (text, _), case in first.items())
    wanted = {text for case in cases for text in texts_of(case.inputs, without=judged)} - known
    for text in sorted(wanted):
        holders = {case.group: case for case in index.holding(text)}
        if len(holders) > 1:
            yield list(holders.values())


@dataclass(frozen=True, kw_only=True)
class NearCopies:
    """Groups that hold near copies of each other."""

    groups: tuple[str, ...]  # their names, two or more, sorted; together they count as the first of them
    sources: tuple[str, ...]  # a row of each that is near one of the others, as messages name it


def near_copies(judge: Judge, cases: Sequence[Case]) -> tuple[NearCopies, ...]:
    """Return which groups hold near copies of each other's evidence (of what is judged, where that is all)."""
    fields = evidence_fields(judge) or list(judge.answer.unit_fields)
    sources: dict[str, str] = {}
    united = {case.group: {case.group} for case in cases}  # group -> all that are one with it
    for members in (*_near_in(cases, fields), *sharing(judge, cases)):
        for case in members:
            sources.setdefault(case.group, case.source)
        parts = {id(part): part for part in (united[case.group] for case in members)}
        whole = max(parts.values(), key=len)  # the largest is kept: thousands may come to it one by one
        for part in parts.values():
            if part is not whole:
                whole |= part
                united.update(dict.fromkeys(part, whole))
    wholes = {id(whole): whole for whole in united.values() if len(whole) > 1}
    return tuple(
        NearCopies(groups=tuple(names), sources=tuple(sources[name] for name in names))
        for names in sorted(map(sorted, wholes.values()))
    )


def _near_in(cases: Sequence[Case], fields: Sequence[str]) -> list[list[Case]]:
    """Return the cases that are near in a field, where they are of several groups, but not of most."""
    most = max(2, len({case.group for case in cases}) // 4)
    near = []
    for name in fields:
        texts = [(case, " ".join(strings(case.inputs.get(name)))) for case in cases]
        held = [(case, text) for case, text in texts if len(folded(text)) >= _LONG]
        by_cluster: dict[int, list[Case]] = {}
        places = clusters(sketches([text for _, text in held])).tolist()
        for (case, _), cluster in zip(held, places, strict=True):
            by_cluster.setdefault(cluster, []).append(case)
        near += [some for some in by_cluster.values() if 1 < len({case.group for case in some}) <= most]
    return near


def sketched_rows(judge: Judge, cases: Sequence[Case]) -> list[dict[str, str]]:
    """Return what an artifact keeps of the rows it was compiled on, to know near copies of them again: no text."""
    rows = []
    for case, evidence, unit in zip(cases, *_both(judge, cases), strict=True):
        sketch = {"case": case.id, "evidence": to_text(evidence), "unit": to_text(unit)}
        rows.append({**sketch, "label": _label_hash(judge, case)})
    return rows


def near_rows(judge: Judge, cases: Sequence[Case], seen: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the ids of the cases that are near copies of a row that was seen."""
    seen_rows = list(seen)
    if judge.answer.scale.row_type is type(None):  # documents carry no label that two of them could share
        return frozenset()
    if not seen_rows or not cases:
        return frozenset()
    evidence, unit = (
        clusters(np.concatenate([from_text([row[side] for row in seen_rows]), own])).tolist()
        for side, own in zip(("evidence", "unit"), _both(judge, cases), strict=True)
    )
    pairs = list(zip(evidence, unit, strict=True))
    labels_of_pair: dict[tuple[int, int], set[str]] = {}
    for pair, row in zip(pairs, seen_rows, strict=False):
        labels_of_pair.setdefault(pair, set()).add(row.get("label", ""))
    copies = set()
    for pair, case in zip(pairs[len(seen_rows) :], cases, strict=True):
        label, seen_labels = _label_hash(judge, case), labels_of_pair.get(pair)
        # a row that nobody labelled, or of an artifact that kept no labels, may have the same label
        if seen_labels and (not label or "" in seen_labels or label in seen_labels):
            copies.add(case.id)
    return frozenset(copies)


def _label_hash(judge: Judge, case: Case) -> str:
    """Return what tells whether two cases have the same labels; empty for a case without any."""
    if not case.known:
        return ""
    labels = [None if value is None else judge.answer.scale.to_json(value) for value in case.gold or ()]
    return text_hash(json.dumps(labels, ensure_ascii=False, sort_keys=True))[:12]


def _both(judge: Judge, cases: Sequence[Case]) -> tuple[Sketches, Sketches]:
    """Return the sketches of the cases' evidence and of what is judged; inputs are in the order of the case."""
    units, apart = set(judge.answer.unit_fields), set(judge.common or ())

    def texts(judged: bool) -> list[str]:
        values = (
            [v for k, v in case.inputs.items() if k not in apart and (k in units) == judged] for case in cases
        )
        return [" ".join(strings(of_case)) for of_case in values]

    return sketches(texts(judged=False)), sketches(texts(judged=True))
