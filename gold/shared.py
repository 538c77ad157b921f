"""What a gold set holds, and the inputs that its rows share by design (a policy, a rubric, a system prompt).

Such an input names no document, and rows that have it in common are no copies. The judge may name them (``common=``).
Otherwise they are found by counting: few texts, each of many groups, are in most of the rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..cases import Case, text_hash
from ..errors import plural
from ..text.wording import normalised, strings
from .files import Row

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .copies import NearCopies

MOST_TEXTS = 12
"""Texts that rows share by design, at most: so few groups could hardly prove anything, more are documents."""
HANDFUL = 8
"""Groups (rows, without a group column) that a document may be in; a text of more is shared by many."""
COVERED = 0.8
"""The share of rows that have such a text, from which the input is shared by design."""
_LONG = 40
"""Characters from which a text could have made rows near copies."""


@dataclass(frozen=True, kw_only=True)
class SharedInput:
    """An input that rows share by design, found by counting."""

    name: str  # of the input
    texts: int  # different ones that many rows have
    rows: int  # that have one of these
    matters: bool  # whether groups or near copies would be others without this

    def __str__(self) -> str:
        """One line for people."""
        texts = "1 text" if self.texts == 1 else f"{self.texts} texts"
        return (
            f"{self.name} is the same in many rows ({texts} in {self.rows} rows): taken as shared by design, it makes "
            "no rows belong together; common=() in the judge says otherwise"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class GoldData:
    """What a gold set holds, without how it is read: what splitting and merging need to know of one."""

    name: str  # a short name for cards and reports
    judge: Judge  # whose cases they are
    cases: tuple[Case, ...]  # in the order of the source; no two with equal inputs
    source: str = ""  # where it was read from, as the user named it
    # source, licence, how labelled, by how many raters; empty if there is none
    card: Mapping[str, Any] = field(default_factory=dict)
    # case id -> the row it was read from, those of ``ambiguous`` included
    rows: Mapping[str, Row] = field(default_factory=dict)
    # cases that raters labelled and that have no gold label, because they disagree: they are in no part of
    # a split and in no score, and are reported beside it
    ambiguous: tuple[Case, ...] = ()
    # what columns and labels are called there, as ``columns`` and ``labels``; empty if as by the judge
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # rows left out because they carry no gold label, those of ``ambiguous`` included, or nothing that
    # concerns the judge (no input; a response without cognitive sentences, for the judge of their tiers)
    skipped: int = 0
    merged: int = 0  # rows left out because an equal row came before
    shared: tuple[SharedInput, ...] = ()  # inputs that rows share by design, found by counting

    def __repr__(self) -> str:
        """Name it, and say how much there is of it."""
        groups = len({case.group for case in self.cases})
        return f"<Gold {self.name} of {self.judge.name}: {len(self.cases)} cases in {groups} groups>"

    @cached_property
    def settled(self) -> Judge:
        """The judge, with the inputs that rows share by design named as common."""
        return settled(self.judge, self.shared)

    @property
    def shared_words(self) -> tuple[str, ...]:
        """Which inputs were found to be shared by design, a line each, where that makes a difference."""
        return tuple(str(one) for one in self.shared if one.matters)

    @property
    def blank_words(self) -> tuple[str, ...]:
        """Which inputs are empty in how many cases, a line each."""
        empty = empty_inputs(self.cases).items()
        return tuple(f"{name} is empty in {plural(rows, 'case')}" for name, rows in empty)

    @cached_property
    def near_copies(self) -> tuple[NearCopies, ...]:
        """The groups of labelled cases that hold near copies of each other: a split takes them as one."""
        from .copies import near_copies  # numpy is not loaded to read gold

        return near_copies(self.settled, [case for case in self.cases if case.known])

    @cached_property
    def sha256(self) -> str:
        """The hash of ids, groups and gold labels, in any order of rows and from any file format."""
        to_json = self.judge.answer.scale.to_json
        content = sorted([case.id, case.group, list(map(to_json, case.gold or ()))] for case in self.cases)
        return text_hash(json.dumps(content, ensure_ascii=False, separators=(",", ":")))


def empty_inputs(cases: Sequence[Case]) -> dict[str, int]:
    """Return how many cases have an input of text that is empty, by its name."""
    found = Counter(
        name
        for case in cases
        for name, value in case.inputs.items()
        if isinstance(value, str) and not value.strip()
    )
    return dict(sorted(found.items()))


def shared_inputs(judge: Judge, cases: Sequence[Case]) -> tuple[SharedInput, ...]:
    """Return what counting finds; nothing where the judge says itself what is common."""
    if judge.common is not None:
        return ()
    units = judge.answer.unit_fields
    found = (_shared(name, cases) for name in judge.input_fields if name not in units)
    return tuple(one for one in found if one is not None)


def _shared(name: str, cases: Sequence[Case]) -> SharedInput | None:
    holders: dict[str, list[Case]] = {}
    for case in cases:
        if text := text_of(case.inputs.get(name)):
            holders.setdefault(text, []).append(case)
    often = {
        text: held for text, held in holders.items() if len({one.group or one.id for one in held}) > HANDFUL
    }
    rows = sum(map(len, often.values()))
    if not often or len(often) > MOST_TEXTS or rows < COVERED * sum(map(len, holders.values())):
        return None
    matters = any(len(text) >= _LONG for text in often) or any(not case.group for case in cases)
    return SharedInput(name=name, texts=len(often), rows=rows, matters=matters)


def text_of(value: Any) -> str:
    """Return a value as one text, as texts are compared."""
    return " ".join(normalised(text) for text in strings(value))


def settled(judge: Judge, found: Sequence[SharedInput]) -> Judge:
    """Return the judge with what is common said, so that all that reads it agrees."""
    return replace(judge, common=tuple(one.name for one in found)) if judge.common is None else judge


def grouped(judge: Judge, case: Case) -> Case:
    """Return a case with a group: its own, else the hash of its evidence without what is common, else its id."""
    if case.group:
        return case
    apart = (*judge.answer.unit_fields, *(judge.common or ()))
    evidence = {name: text_of(value) for name, value in case.inputs.items() if name not in apart}
    if not any(evidence.values()):
        return replace(case, group=case.id)
    content = "\n".join(f"{name}: {evidence[name]}" for name in sorted(evidence))
    return replace(case, group=text_hash(content)[:12])
