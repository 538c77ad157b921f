"""What a gold set is made of, without how it is read: what splitting and merging need to know of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..cases import Case, text_hash
from .rowtypes import Row
from .shared import SharedInput, settled

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .copies import NearCopies


@dataclass(frozen=True, kw_only=True)
class GoldData:
    """The data of a gold set."""

    name: str  # a short name for cards and reports
    judge: Judge = field(repr=False)  # whose cases they are
    cases: tuple[Case, ...] = field(repr=False)  # in the order of the source; no two with equal inputs
    source: str = ""  # where it was read from, as the user named it
    # source, licence, how labelled, by how many raters; empty if there is none
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)
    # case id -> the row it was read from, those of ``ambiguous`` included
    rows: Mapping[str, Row] = field(default_factory=dict, repr=False)
    # cases that raters labelled and that have no gold label, because they disagree: they are in no part of
    # a split and in no score, and are reported beside it
    ambiguous: tuple[Case, ...] = field(default=(), repr=False)
    # what columns and labels are called there, as ``columns`` and ``labels``; empty if as by the judge
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    # rows left out because they carry no gold label, those of ``ambiguous`` included, or nothing that
    # concerns the judge (a response without cognitive sentences, for the judge of their tiers)
    skipped: int = 0
    merged: int = 0  # rows left out because an equal row came before
    # inputs that rows share by design, found by counting
    shared: tuple[SharedInput, ...] = field(default=(), repr=False)

    @cached_property
    def settled(self) -> Judge:
        """The judge, with the inputs that rows share by design named as common."""
        return settled(self.judge, self.shared)

    @property
    def shared_words(self) -> tuple[str, ...]:
        """Which inputs were found to be shared by design, a line each, where that makes a difference."""
        return tuple(str(one) for one in self.shared if one.matters)

    @cached_property
    def near_copies(self) -> tuple[NearCopies, ...]:
        """The groups of labelled cases that hold near copies of each other: a split takes them as one."""
        from .copies import near_copies

        return near_copies(self.settled, [case for case in self.cases if case.known])

    @cached_property
    def sha256(self) -> str:
        """The hash of ids, groups and gold labels, in any order of rows and from any file format."""
        to_json = self.judge.answer.to_json
        content = sorted([case.id, case.group, list(map(to_json, case.gold or ()))] for case in self.cases)
        return text_hash(json.dumps(content, ensure_ascii=False, separators=(",", ":")))
