"""Train, dev and test: drawn by group, so that no conversation or document is in two of them.

A group's part depends on the seed and the group's name alone. So a split does
not depend on the order of rows, and no case ever moves when rows are added, but for near copies: groups that hold
near copies of each other are one. A judge may say how many groups of
train and of dev are used at most: those that a hash puts first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..cases import Case, text_hash
from ..errors import GoldError, UsageError
from .passages import evidence_fields
from .rows import GoldData

if TYPE_CHECKING:
    from ..programs.judge import Judge

__all__ = ["PARTS", "Part", "Shares", "Split", "part_of", "split_gold"]

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
Shares: TypeAlias = tuple[float, float, float]
"""The shares of train, dev and test: each positive, with the sum 1."""

_TRIED_SEEDS = 200
_APART = (
    "give rows of more documents; or, if the column of the group names something else, leave it out; or, if {field!r} "
    "is the same in many rows by design, say so in the judge: common=({field!r},)"
)


@dataclass(frozen=True, kw_only=True)
class Split:
    """Cases in three parts.

    Attributes:
        train: what the optimizer sees.
        dev: what it selects on.
        test: sealed; opened once a compile, for the proof.
        seed: the seed of the draw.
        shares: the shares asked for; those of the cases differ, because groups stay whole.
        judge: whose cases they are.
        rows: case id -> the row it was read from.
    """

    train: tuple[Case, ...]
    dev: tuple[Case, ...]
    test: tuple[Case, ...]
    seed: int
    shares: Shares
    judge: Judge = field(repr=False)
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def test_hash(self) -> str:
        """The sha256 of the sorted test ids, one to a line: names the test set without showing it."""
        return text_hash("\n".join(sorted(case.id for case in self.test)))

    @cached_property
    def near(self) -> frozenset[str]:
        """The ids of test cases that nearly repeat a case of train or dev, in evidence and in what is judged."""
        from .copies import near_rows, sketched_rows  # numpy is not loaded to read gold

        return near_rows(self.judge, self.test, sketched_rows(self.judge, (*self.train, *self.dev)))

    @property
    def near_words(self) -> str:
        """How many these are, in words; empty if there are none."""
        return (
            f"{len(self.near)} of the {len(self.test)} sealed cases nearly repeat a case that the optimizer sees: "
            "scores on them say little about new cases, and evaluate, compare and gate leave them out"
            if self.near
            else ""
        )

    def part(self, name: Part) -> tuple[Case, ...]:
        """Return one part by its name."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]


def part_of(group: str, seed: int, shares: Shares) -> Part:
    """Return the part a group belongs to: a hash of seed and group, held against the cumulative shares."""
    point = int(text_hash(f"{seed}:{group}")[:13], 16) / 16**13
    if point < shares[0]:
        return "train"
    return "dev" if point < shares[0] + shares[1] else "test"


def split_gold(gold: GoldData, seed: int, shares: Sequence[float]) -> Split:
    """Split the labelled cases of a gold set by group.

    Raises:
        UsageError: the shares are not three positive numbers with the sum 1.
        GoldError: there is one group only, or a part would come out empty or with one class.
    """
    checked = _checked(shares)
    one = {name: near.groups[0] for near in gold.near_copies for name in near.groups}
    cases = [
        replace(case, group=one[case.group]) if case.group in one else case
        for case in gold.cases
        if case.known
    ]
    groups = {case.group for case in cases}
    if len(groups) < len(PARTS):
        raise _too_few(gold, cases)
    split = _draw(gold, cases, seed, checked)
    if (problem := _problem(split)) is not None:
        raise GoldError(
            f"with seed {seed}, {problem}{_united(gold)}",
            path=gold.source,
            hint=_advice(gold, cases, seed, checked),
        )
    return split


def _too_few(gold: GoldData, cases: Sequence[Case]) -> GoldError:
    count = len({case.group for case in cases})
    return GoldError(
        f"the {len(cases)} labelled cases are in {count} group(s), too few for train, dev and test{_united(gold)}",
        path=gold.source,
        field="group",
        hint=_APART.format(field=(evidence_fields(gold.judge) or gold.judge.input_fields)[0])
        if gold.near_copies
        else "give each row the name of its conversation or document as group",
    )


def _united(gold: GoldData) -> str:
    near = gold.near_copies
    names = sum(len(one.groups) for one in near)
    return f"; {names} groups hold the same or nearly the same texts and count as {len(near)}" if near else ""


def _checked(shares: Sequence[float]) -> Shares:
    try:
        train, dev, test = (float(share) for share in shares)
    except (TypeError, ValueError):
        train = dev = test = math.nan
    # a comparison with nan is False, so nan is refused too
    if not (min(train, dev, test) > 0 and abs(train + dev + test - 1) < 1e-6):
        raise UsageError(
            f"the shares {tuple(shares)} are not usable", hint="give three positive numbers, sum 1"
        )
    return train, dev, test


def _draw(gold: GoldData, cases: Sequence[Case], seed: int, shares: Shares) -> Split:
    parts: dict[Part, list[Case]] = {part: [] for part in PARTS}
    for case in cases:
        parts[part_of(case.group, seed, shares)].append(case)
    for part, most in zip(PARTS, gold.judge.most_groups or (), strict=False):
        groups = {case.group for case in parts[part]}
        first = set(sorted(groups, key=lambda group: text_hash(f"{seed}/{group}"))[:most])
        parts[part] = [case for case in parts[part] if case.group in first]
    return Split(
        train=tuple(parts["train"]),
        dev=tuple(parts["dev"]),
        test=tuple(parts["test"]),
        seed=seed,
        shares=shares,
        judge=gold.judge,
        rows=gold.rows,
    )


def _problem(split: Split) -> str | None:
    for name in PARTS:
        cases = split.part(name)
        if not any(case.known for case in cases):
            return f"{name} comes out empty"
        if (lack := split.judge.answer.check_part(cases)) is not None:
            return f"{name} comes out without a {lack.what} {lack.noun} ({lack.wanted})"
    return None


def _advice(gold: GoldData, cases: Sequence[Case], seed: int, shares: Shares) -> str:
    for other in range(_TRIED_SEEDS):
        if other != seed and _problem(_draw(gold, cases, other, shares)) is None:
            return f"use another seed (--seed {other} works) or other shares"
    return f"no seed below {_TRIED_SEEDS} works: use other shares, or label more groups"
