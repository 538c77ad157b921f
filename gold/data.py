"""The data of a gold set: cases, the rows that they were read from, and notes on how they were read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..cases import Case, Value, text_hash
from ..errors import plural
from .misspelt import find_misspellings, keeping_words, misspelt_words
from .shared import empty_inputs

if TYPE_CHECKING:
    from ..evaluation.votes import Rule
    from ..programs.judge import Judge
    from .copies import NearCopies


KEEP_GROUPS = "groups"
"""The part of a mapping that says that near copies join no groups."""


WITHOUT_LABEL = "without a label"
WITHOUT_INPUT = "without an input"
WITH_NOTHING = "with nothing for the judge"
"""Reason why a row is left out: a response without cognitive sentences, for the judge of their tiers."""
WITH_DIFFERENCE = "on which raters differ"


@dataclass(frozen=True, kw_only=True, repr=False)
class GoldData:
    """The labelled cases of one judge, with what is known of where they come from."""

    name: str  # a short name for cards and reports
    judge: Judge  # whose cases they are
    cases: tuple[Case, ...]  # in the order of the source; no two with equal inputs
    source: str = ""  # where it was read from, as the user named it
    # source, licence, how labelled, by how many raters; empty if there is none
    card: Mapping[str, Any] = field(default_factory=dict)
    # cases that raters labelled and that have no gold label, because they disagree: they are in no part of
    # a split and in no score, and are reported beside it
    ambiguous: tuple[Case, ...] = ()
    rule: Rule | None = None  # the rule that made the labels of those of several raters, if one did
    # what columns and labels are called there, as ``columns`` and ``labels``; empty if as by the judge
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # rows left out, by reason (:data:`WITHOUT_LABEL` and so on); those of ``ambiguous`` are among them
    skipped_by: Mapping[str, int] = field(default_factory=dict)
    read: int = 0  # cases that the source holds, those that are left out included
    without_label: int = 0  # of these without a gold label and without a rating
    # what was found out about the source as it was read, such as which sheet of a workbook it is
    notes: tuple[str, ...] = ()
    rejected: int = 0  # rows set aside because they cannot be used
    merged: int = 0  # rows left out because an equal row came before, of the same rater if it names one
    # inputs that rows share by design, found by counting, with what people are told of them
    shared: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Name it, and say how much there is of it."""
        groups = len({case.group for case in self.cases})
        return f"<Gold {self.name} of {self.judge.name}: {len(self.cases)} cases in {groups} groups>"

    @property
    def skipped(self) -> int:
        """The number of rows that are left out, for any reason."""
        return sum(self.skipped_by.values())

    @cached_property
    def settled(self) -> Judge:
        """The judge, with the inputs that rows share by design named as common."""
        if self.judge.common is not None:
            return self.judge
        return self.judge.with_common(tuple(self.shared))

    def source_column(self, field: str) -> str:
        """Return the column of the source that holds a field of the judge; the field itself where none is named."""
        for columns in (self.mapping.get("columns", {}), self.judge.columns):
            for column, name in columns.items():
                if name == field:
                    return column
        return field

    @property
    def labelled_by_model(self) -> bool:
        """Whether its card says that a model gave its labels, and not people."""
        return self.card.get("labelled_by") == "model"

    @property
    def shared_words(self) -> tuple[str, ...]:
        """The inputs that were found to be shared by design, a line each, where that makes a difference."""
        return tuple(filter(None, self.shared.values()))

    @property
    def unlabelled_words(self) -> str:
        """The number of rows without a label, in words; empty if all have one."""
        if not self.without_label:
            return ""
        return f"{self.without_label} of {plural(self.read, 'row')} have no label"

    @property
    def blank_words(self) -> tuple[str, ...]:
        """The inputs that are empty in some cases, a line each."""
        lines: list[str] = []
        for name, rows in empty_inputs(self.cases).items():
            lines.append(f"{name} is empty in {plural(rows, 'case')}")
        return tuple(lines)

    @cached_property
    def misspelt_words(self) -> tuple[str, ...]:
        """The labels that look like misspellings of others, a line each for the judge or for one of its criteria."""
        labels: list[Value] = []
        for case in self.cases:
            labels.extend(case.labels)
        facts = self.judge.answer.scale.describe(labels)
        kept_labels: set[str] = set()  # those of which somebody said that they mean themselves
        for meanings in (self.judge.values, self.mapping.get("labels", {})):
            for label, meaning in meanings.items():
                if label.casefold() == str(meaning).casefold():
                    kept_labels.add(label.casefold())
        lines: list[str] = []
        for part in (facts, *facts.values()):
            rows_of_label = part.get("labels") if isinstance(part, Mapping) else None
            if not isinstance(rows_of_label, Mapping):
                continue
            misspellings = find_misspellings(rows_of_label)
            if misspellings:  # the signature loads DSPy
                misspellings = find_misspellings(rows_of_label, self.judge.signature.instructions)
            unclear = [found for found in misspellings if found.label.casefold() not in kept_labels]
            if unclear:
                listed, options = misspelt_words(unclear)
                keeping = keeping_words(unclear[0].label)
                advice = f"if they are, add {options} and take them out of the judge's labels {keeping}"
                lines.append(f"labels that look misspelt: {listed}; {advice}")
        return tuple(lines)

    @cached_property
    def near_copies(self) -> tuple[NearCopies, ...]:
        """The groups of labelled cases that a split takes as one, because they hold near copies of each other."""
        if self.keeps_groups:
            return ()
        return self.near_groups

    @property
    def keeps_groups(self) -> bool:
        """Whether groups stay as the source names them, also where their texts nearly repeat."""
        return KEEP_GROUPS in self.mapping

    @cached_property
    def near_groups(self) -> tuple[NearCopies, ...]:
        """The groups of labelled cases that hold near copies of each other."""
        from .copies import find_near_copies  # numpy is not loaded to read gold

        labelled_cases: list[Case] = []
        for case in self.cases:
            if case.labels:
                labelled_cases.append(case)
        return find_near_copies(self.settled, labelled_cases)

    @cached_property
    def sha256(self) -> str:
        """The hash of ids, groups and gold labels, in any order of rows and from any file format."""
        content: list[list[Any]] = []
        for case in self.cases:
            labels = list(map(self.judge.answer.scale.to_json, case.gold or ()))
            content.append([case.id, case.group, labels])
        content.sort()
        return text_hash(json.dumps(content, ensure_ascii=False, separators=(",", ":")))

    @cached_property
    def ratings_sha256(self) -> str | None:
        """The hash of the labels of each rater, also of ambiguous cases, in any order of rows; ``None`` without any."""
        content: list[list[Any]] = []
        for case in self.cases + self.ambiguous:
            for rater, labels in case.ratings.items():
                content.append([case.id, rater, list(map(self.judge.answer.scale.to_json, labels))])
        if not content:
            return None
        return text_hash(json.dumps(sorted(content, key=str), ensure_ascii=False))
