"""Texts that several cases have: near copies, texts that stand in another case, and rows of a compilation.

The evidence of a case are the inputs that are not judged themselves. A row is a near copy of another if its evidence
and its judged text both are near, and people gave both the same labels: two texts that differ in what decides are
no copies. Every command leaves out the near copies of rows that an optimizer sees by this one rule. A text that more
than a quarter of the groups have nearly alike, or all of them exactly (a policy, a form), belongs to the task and gives
nothing away. Whole texts are compared from 40 characters on: shorter ones repeat by chance.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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
            for text in map(normalised, strings(value)):
                if len(text) >= MIN_CHARACTERS:
                    yield text


def constants(cases: Sequence[Case], units: Collection[str]) -> frozenset[str]:
    """Return the texts that stand in all cases, apart from the judged fields."""
    if not cases:
        return frozenset()
    common_texts = set(texts_of(cases[0].inputs, without=units))
    for case in cases[1:]:
        if not common_texts:
            break
        common_texts.intersection_update(texts_of(case.inputs, without=units))
    return frozenset(common_texts)


def evidence_fields(judge: Judge) -> list[str]:
    """Return the inputs that are neither judged themselves nor the same in many rows by design."""
    fields_without_evidence = (*judge.answer.unit_fields, *(judge.common or ()))
    return [name for name in judge.input_fields if name not in fields_without_evidence]


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
    """Return the sets of groups that hold near copies of each other's evidence (of judged texts, without evidence)."""
    fields = evidence_fields(judge) or list(judge.answer.unit_fields)
    source_of_group: dict[str, str] = {}
    united = {case.group: {case.group} for case in cases}  # group -> the groups that are one with it
    for members in chain(_near_in_a_field(cases, fields), find_shared_evidence(judge, cases)):
        for case in members:
            source_of_group.setdefault(case.group, case.source)
        parts = {id(united[case.group]): united[case.group] for case in members}
        union = max(parts.values(), key=len)  # the largest grows: thousands may come to it one by one
        for part in parts.values():
            if part is not union:
                union |= part
                united.update(dict.fromkeys(part, union))

    unions = {id(union): union for union in united.values() if len(union) > 1}
    copies = []
    for groups in sorted(map(sorted, unions.values())):
        sources = tuple(source_of_group[group] for group in groups)
        copies.append(NearCopies(groups=tuple(groups), sources=sources))
    return tuple(copies)


def _near_in_a_field(cases: Sequence[Case], fields: Sequence[str]) -> Iterator[list[Case]]:
    """Yield the cases that are near in a field, where they are of several groups, but not of most."""
    group_limit = max(2, len({case.group for case in cases}) // 4)
    for name in fields:
        texts = []
        compared_cases = []
        for case in cases:
            text = " ".join(strings(case.inputs.get(name)))
            if len(folded(text)) >= _LONG:
                texts.append(text)
                compared_cases.append(case)
        cases_of_cluster: dict[int, list[Case]] = {}
        for case, cluster in zip(compared_cases, clusters(sketches(texts)).tolist(), strict=True):
            cases_of_cluster.setdefault(cluster, []).append(case)
        for near_cases in cases_of_cluster.values():
            if 1 < len({case.group for case in near_cases}) <= group_limit:
                yield near_cases


def sketched_rows(judge: Judge, cases: Sequence[Case]) -> list[dict[str, str]]:
    """Return the rows of a compilation as an artifact keeps them: sketches that find near copies, and no text."""
    evidence_sketches, unit_sketches = _sketch_cases(judge, cases)
    rows = []
    for case, evidence, unit in zip(cases, evidence_sketches, unit_sketches, strict=True):
        row = {"case": case.id, "evidence": to_text(evidence), "unit": to_text(unit)}
        row["label"] = _label_hash(judge, case)
        rows.append(row)
    return rows


def near_rows(judge: Judge, cases: Sequence[Case], seen: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the ids of the cases that are near copies of a seen row, as :func:`sketched_rows` made it."""
    seen_rows = list(seen)
    if judge.answer.scale.row_type is type(None):  # documents carry no label that two of them could share
        return frozenset()
    if not seen_rows or not cases:
        return frozenset()
    evidence_sketches, unit_sketches = _sketch_cases(judge, cases)
    evidence_clusters = _clusters_with([row["evidence"] for row in seen_rows], evidence_sketches)
    unit_clusters = _clusters_with([row["unit"] for row in seen_rows], unit_sketches)
    pairs = list(zip(evidence_clusters, unit_clusters, strict=True))

    labels_of_pair: dict[tuple[int, int], set[str]] = {}
    for pair, row in zip(pairs[: len(seen_rows)], seen_rows, strict=True):
        labels_of_pair.setdefault(pair, set()).add(row.get("label", ""))
    near_ids = set()
    for pair, case in zip(pairs[len(seen_rows) :], cases, strict=True):
        label = _label_hash(judge, case)
        seen_labels = labels_of_pair.get(pair, set())
        # a row that nobody labelled, or of an artifact that kept no labels, may have the same label
        may_be_unlabelled = bool(seen_labels) and (not label or "" in seen_labels)
        if may_be_unlabelled or label in seen_labels:
            near_ids.add(case.id)
    return frozenset(near_ids)


def _clusters_with(seen_texts: Sequence[str], case_sketches: Sketches) -> list[int]:
    """Return the cluster of each seen row, then of each case."""
    found: list[int] = clusters(np.concatenate([from_text(seen_texts), case_sketches])).tolist()
    return found


def _label_hash(judge: Judge, case: Case) -> str:
    """Return a hash that is equal for cases with the same labels; empty for a case without any."""
    if not case.known:
        return ""
    labels = []
    for value in case.gold or ():
        labels.append(None if value is None else judge.answer.scale.to_json(value))
    return text_hash(json.dumps(labels, ensure_ascii=False, sort_keys=True))[:12]


def _sketch_cases(judge: Judge, cases: Sequence[Case]) -> tuple[Sketches, Sketches]:
    """Return the sketches of the cases' evidence and of their judged texts; inputs are in the order of the case."""
    evidence_texts = []
    unit_texts = []
    for case in cases:
        evidence: list[str] = []
        units: list[str] = []
        for name, value in case.inputs.items():
            if name in (judge.common or ()):
                continue
            if name in judge.answer.unit_fields:
                units.extend(strings(value))
            else:
                evidence.extend(strings(value))
        evidence_texts.append(" ".join(evidence))
        unit_texts.append(" ".join(units))
    return sketches(evidence_texts), sketches(unit_texts)
