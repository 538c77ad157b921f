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
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cases import Case, text_hash
from ..text.ranking import folded
from ..text.wording import normalised, strings
from .containment import MIN_CHARACTERS, find_holders
from .near import Sketches, clusters, from_text, sketches, to_text

if TYPE_CHECKING:
    from ..programs.judge import Judge

_LONG = 40
"""Letters and digits from which evidence that nearly repeats is a copy, and not chance."""


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


def find_shared_evidence(judge: Judge, cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Yield cases of several groups, one of each, whose inputs hold an evidence text of one of them."""
    common_fields = judge.common or ()
    fields_without_evidence = (*judge.answer.unit_fields, *common_fields)
    evidence_texts: set[str] = set()
    cases_of_text: dict[str, dict[str, Case]] = {}  # text -> group -> its first case with this text
    for case in cases:
        evidence_texts.update(texts_of(case.inputs, without=fields_without_evidence))
        for text in texts_of(case.inputs, without=common_fields):
            cases_of_text.setdefault(text, {}).setdefault(case.group, case)

    texts = list(cases_of_text)
    wanted_texts = sorted(evidence_texts - constants(cases, fields_without_evidence))
    for holders in find_holders(wanted_texts, texts):
        case_of_group: dict[str, Case] = {}
        for number in holders:
            for group, case in cases_of_text[texts[number]].items():
                case_of_group.setdefault(group, case)
        if len(case_of_group) > 1:
            yield list(case_of_group.values())


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
    for members in (*_near_in(cases, fields), *find_shared_evidence(judge, cases)):
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
