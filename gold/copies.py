"""Texts that several cases have: near copies of cases, texts of one case in another, and constant texts.

The evidence of a case are its inputs, without those that are judged and those that are common to many rows by design.
A row is a near copy of another if its evidence and its judged text both are near, and people gave both the same labels:
two texts that differ in what decides are no copies. Every command leaves out the near copies of rows that an optimizer
sees by this one rule. A text that more than a quarter of the groups have nearly alike, or all of them exactly (a
policy, a form), belongs to the task and gives nothing away. Whole texts are compared from 40 characters on: shorter
ones repeat by chance.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..cases import Case, text_hash
from ..text.ranking import ALIKE, folded
from ..text.wording import normalised, strings
from .containment import MIN_CHARACTERS, find_holders
from .near import Sketches, clusters, from_text, sketches, to_text

if TYPE_CHECKING:
    from ..programs.judge import Judge

_MIN_COPY = 40
"""Letters and digits from which a text that nearly repeats is a copy, and not chance."""
_LITTLE_ALIKE = 0.3
"""The share of equal shingles below which two texts have little in common."""
_CHAIN_CASES = 2000
"""The cases of near groups, at most, among which a chain is looked for: each is compared with all others."""


def texts_of(inputs: Mapping[str, object], *, without: Collection[str] = ()) -> Iterator[str]:
    """Yield the normalised texts of inputs, of 40 characters or more, except of the inputs named in ``without``."""
    for name, value in inputs.items():
        if name in without:
            continue
        for text in map(normalised, strings(value)):
            if len(text) >= MIN_CHARACTERS:
                yield text


def find_constant_texts(cases: Sequence[Case], excluded_fields: Collection[str]) -> frozenset[str]:
    """Return the texts that all cases have in common, not counting some fields."""
    if not cases:
        return frozenset()
    common_texts = set(texts_of(cases[0].inputs, without=excluded_fields))
    for case in cases[1:]:
        if not common_texts:
            break
        common_texts.intersection_update(texts_of(case.inputs, without=excluded_fields))
    return frozenset(common_texts)


def evidence_fields(judge: Judge) -> list[str]:
    """Return the names of the inputs that are evidence: neither judged nor the same in many rows by design."""
    excluded_fields = fields_without_evidence(judge)
    fields: list[str] = []
    for name in judge.input_fields:
        if name not in excluded_fields:
            fields.append(name)
    return fields


def fields_without_evidence(judge: Judge) -> tuple[str, ...]:
    """Return the names of the inputs that are no evidence: judged, or the same in many rows by design."""
    return judge.answer.unit_fields + tuple(judge.common or ())


def find_shared_evidence(judge: Judge, cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Yield, for each evidence text that stands in cases of several groups, the first such case of each group."""
    excluded_fields = fields_without_evidence(judge)
    evidence_texts: set[str] = set()
    cases_of_text: dict[str, dict[str, Case]] = {}  # text -> group -> its first case with this text
    for case in cases:
        evidence_texts.update(texts_of(case.inputs, without=excluded_fields))
        for text in texts_of(case.inputs, without=judge.common or ()):
            cases_of_text.setdefault(text, {}).setdefault(case.group, case)

    texts = list(cases_of_text)
    wanted_texts = sorted(evidence_texts - find_constant_texts(cases, excluded_fields))
    for holders in find_holders(wanted_texts, texts):
        case_of_group: dict[str, Case] = {}
        for number in holders:
            for group, case in cases_of_text[texts[number]].items():
                case_of_group.setdefault(group, case)
        if len(case_of_group) > 1:
            yield list(case_of_group.values())


@dataclass(frozen=True, kw_only=True)
class NearCopies:
    """Two or more groups that hold near copies of each other."""

    groups: tuple[str, ...]  # their names, sorted; together they count as the first one
    # for each group, the place of a case that is near one of another group, for messages
    sources: tuple[str, ...]
    # the places of cases from one end of a chain to the other: each nearly repeats the next one, and the ends have
    # little in common; empty where the groups are no chain
    chain: tuple[str, ...] = ()


def find_near_copies(judge: Judge, cases: Sequence[Case]) -> tuple[NearCopies, ...]:
    """Return the groups that hold near copies of each other's evidence, or judged texts for want of evidence."""
    texts_of_fields: list[_FieldTexts] = []
    for name in evidence_fields(judge) or judge.answer.unit_fields:
        texts_of_fields.append(_FieldTexts(cases, name))
    source_of_group: dict[str, str] = {}
    unions = {case.group: {case.group} for case in cases}  # group -> all groups that count as one with it
    for near_cases in chain(_near_in_a_field(cases, texts_of_fields), find_shared_evidence(judge, cases)):
        for case in near_cases:
            source_of_group.setdefault(case.group, case.source)
        _merge_unions(unions, near_cases)

    places_of_group: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        places_of_group.setdefault(case.group, []).append(place)
    distinct_unions = {id(union): union for union in unions.values()}
    copies: list[NearCopies] = []
    for groups in sorted(map(sorted, distinct_unions.values())):
        if len(groups) > 1:
            sources = tuple(source_of_group[group] for group in groups)
            links: tuple[str, ...] = ()
            if len(groups) > 2:
                places = list(chain.from_iterable(map(places_of_group.__getitem__, groups)))
                links = _find_chain(cases, places, texts_of_fields)
            copies.append(NearCopies(groups=tuple(groups), sources=sources, chain=links))
    return tuple(copies)


class _FieldTexts:
    """The text that each case has in one field, with its sketch, and whether it is long enough to be compared."""

    def __init__(self, cases: Sequence[Case], name: str) -> None:
        self.texts = [" ".join(strings(case.inputs.get(name))) for case in cases]
        self.sketches = sketches(self.texts)
        long_texts = {text for text in set(self.texts) if len(folded(text)) >= _MIN_COPY}
        self.are_long = np.array([text in long_texts for text in self.texts], dtype=np.bool_)


def _find_chain(
    cases: Sequence[Case], places: Sequence[int], texts_of_fields: Sequence[_FieldTexts]
) -> tuple[str, ...]:
    """Return where the cases come from, from one end of a chain to the other; nothing where the ends are alike.

    Args:
        cases: all cases.
        places: the places of the chain's cases among them.
        texts_of_fields: the compared fields of all cases.
    """
    place_of_texts: dict[tuple[str, ...], int] = {}  # cases with equal texts are one link
    for place in places:
        texts = tuple(field_texts.texts[place] for field_texts in texts_of_fields)
        place_of_texts.setdefault(texts, place)
    places = list(place_of_texts.values())[:_CHAIN_CASES]
    sketches_of_fields = [field_texts.sketches[places] for field_texts in texts_of_fields]
    have_text = [field_texts.are_long[places] for field_texts in texts_of_fields]

    def similarity_to(number: int) -> NDArray[np.float64]:
        """Return how alike each case is to one of them, in the field in which it is most alike."""
        similarity = np.zeros(len(places))
        for field_sketches, are_long in zip(sketches_of_fields, have_text, strict=True):
            if are_long[number]:
                equal_bins = (field_sketches == field_sketches[number]).mean(axis=1)
                similarity = np.maximum(similarity, np.where(are_long, equal_bins, 0.0))
        return similarity

    def walk(start: int) -> list[int]:
        """Return the cases from the one that takes most steps to reach back to the start."""
        previous = {start: start}
        reached = [start]
        for number in reached:  # it grows
            for neighbour in np.flatnonzero(similarity_to(number) >= ALIKE).tolist():
                if neighbour not in previous:
                    previous[neighbour] = number
                    reached.append(neighbour)
        steps = [reached[-1]]
        while steps[-1] != start:
            steps.append(previous[steps[-1]])
        return steps

    links = walk(walk(0)[0])
    if similarity_to(links[0])[links[-1]] >= _LITTLE_ALIKE:
        return ()
    if links[0] > links[-1]:
        links.reverse()
    return tuple(cases[places[number]].source for number in links)


def _merge_unions(unions: dict[str, set[str]], cases: Sequence[Case]) -> None:
    """Make the groups of some cases one union; ``unions`` is group -> the groups of its union, changed in place."""
    # The largest union takes in the others: thousands of groups may join it one by one.
    largest = max((unions[case.group] for case in cases), key=len)
    for case in cases:
        union = unions[case.group]
        if union is not largest:
            largest |= union
            unions.update(dict.fromkeys(union, largest))


def _near_in_a_field(cases: Sequence[Case], texts_of_fields: Sequence[_FieldTexts]) -> Iterator[list[Case]]:
    """Yield the cases that are near in a field: of two or more groups, but of no more than a quarter of all groups."""
    group_limit = max(2, _count_groups(cases) // 4)
    for field_texts in texts_of_fields:
        places = np.flatnonzero(field_texts.are_long).tolist()
        cases_of_cluster: dict[int, list[Case]] = {}
        clusters_of_texts = clusters(field_texts.sketches[places]).tolist()
        for place, cluster in zip(places, clusters_of_texts, strict=True):
            cases_of_cluster.setdefault(cluster, []).append(cases[place])
        for near_cases in cases_of_cluster.values():
            if 1 < _count_groups(near_cases) <= group_limit:
                yield near_cases


def _count_groups(cases: Sequence[Case]) -> int:
    """Return the number of different groups of some cases."""
    return len({case.group for case in cases})


def sketched_rows(judge: Judge, cases: Sequence[Case]) -> list[dict[str, str]]:
    """Return the rows that an artifact keeps of a compilation's cases: sketches to find near copies by, and no text."""
    evidence_sketches, unit_sketches = _sketch_cases(judge, cases)
    rows: list[dict[str, str]] = []
    for case, evidence, unit in zip(cases, evidence_sketches, unit_sketches, strict=True):
        row = {"case": case.id, "evidence": to_text(evidence), "unit": to_text(unit)}
        row["label"] = _label_hash(judge, case)
        rows.append(row)
    return rows


def find_near_cases(judge: Judge, cases: Sequence[Case], rows: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """Return the ids of the cases that are near copies of ``rows``, which :func:`sketched_rows` made."""
    seen_rows = list(rows)
    if judge.answer.scale.row_type is type(None):  # documents carry no label that two of them could share
        return frozenset()
    if not seen_rows or not cases:
        return frozenset()
    evidence_sketches, unit_sketches = _sketch_cases(judge, cases)
    evidence_clusters = _find_clusters(seen_rows, "evidence", evidence_sketches)
    unit_clusters = _find_clusters(seen_rows, "unit", unit_sketches)
    pairs = list(zip(evidence_clusters, unit_clusters, strict=True))

    labels_of_pair: dict[tuple[int, int], set[str]] = {}
    for pair, row in zip(pairs[: len(seen_rows)], seen_rows, strict=True):
        labels_of_pair.setdefault(pair, set()).add(row.get("label", ""))
    near_ids: set[str] = set()
    for pair, case in zip(pairs[len(seen_rows) :], cases, strict=True):
        label = _label_hash(judge, case)
        seen_labels = labels_of_pair.get(pair, set())
        # An unlabelled row, and a row of an older artifact, which kept no labels, may have the same label.
        may_be_unlabelled = bool(seen_labels) and (not label or "" in seen_labels)
        if may_be_unlabelled or label in seen_labels:
            near_ids.add(case.id)
    return frozenset(near_ids)


def _find_clusters(seen_rows: Sequence[Mapping[str, str]], part: str, case_sketches: Sketches) -> list[int]:
    """Return the cluster number of each seen row, then of each case; ``part`` is ``evidence`` or ``unit``."""
    seen_sketches = from_text([row[part] for row in seen_rows])
    numbers: list[int] = clusters(np.concatenate([seen_sketches, case_sketches])).tolist()
    return numbers


def _label_hash(judge: Judge, case: Case) -> str:
    """Return a hash that is equal for cases with the same labels; empty for a case without any."""
    if not case.labels:
        return ""
    labels: list[object] = []
    for value in case.gold or ():
        labels.append(None if value is None else judge.answer.scale.to_json(value))
    return text_hash(json.dumps(labels, ensure_ascii=False, sort_keys=True))[:12]


def _sketch_cases(judge: Judge, cases: Sequence[Case]) -> tuple[Sketches, Sketches]:
    """Return a sketch of each case's evidence, and one of its judged texts; shape (cases, ...) both."""
    evidence_texts: list[str] = []
    unit_texts: list[str] = []
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
