"""Train, dev and test: drawn by group, so that no conversation or document is in two of them.

The shares of the cases are filled exactly, to within the largest group (:mod:`.assigning`), and do not depend on the
order of rows. Where an earlier version of the judge says in which part a group was, it stays there, and new groups fill
up. Groups that hold near copies of each other are one. The test may be rows of its own, instead of a part of the gold.
A judge may say how many groups of train and of dev are used at most: those that a hash puts first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..cases import Case, text_hash
from ..errors import GoldError, UsageError, plural
from .assigning import Group, assign
from .shared import GoldData

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .copies import NearCopies

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
Shares: TypeAlias = tuple[float, float, float]
"""The shares of train, dev and test: each positive, with the sum 1."""

FEW_ROWS = 300
"""Labelled rows below which half of them are the test: a search loses little by a smaller train, a proof much."""
_FEW: Shares = (0.3, 0.2, 0.5)
_MANY: Shares = (0.5, 0.2, 0.3)
_NAMED = 5  # labels that a message counts
_MISSED = 0.03
"""How far shares may be from those asked for until it is said."""
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
        judge: whose cases they are, with the inputs named that rows share by design.
        rows: case id -> the row it was read from.
        kept: groups that are where an earlier version had them.
        holdout: what the test was read from, where it is no part of the gold; else empty.
        left_out: rows of the gold in no part, because a row of such a test is of the same group or nearly the same.
        names: part -> the names of its groups, near copies by each of their own names.
    """

    train: tuple[Case, ...]
    dev: tuple[Case, ...]
    test: tuple[Case, ...]
    seed: int
    shares: Shares
    judge: Judge = field(repr=False)
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    kept: int = 0
    holdout: str = ""
    left_out: int = 0
    names: Mapping[Part, tuple[str, ...]] = field(default_factory=dict, repr=False)

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

    @property
    def words(self) -> str:
        """How many cases and groups each part has, in one line, and where that is not what was asked for."""
        said = ", ".join(
            f"{name} {plural(len(cases), 'case')} in {plural(len({case.group for case in cases}), 'group')}"
            for name in PARTS
            for cases in [self.part(name)]
        )
        more = [f"the test is {self.holdout}"] * bool(self.holdout)
        if self.left_out:
            more.append(
                f"{plural(self.left_out, 'row')} of the gold left out: of a group of that test, or nearly the same"
            )
        more += [f"{plural(self.kept, 'group')} stayed where an earlier version had them"] * bool(self.kept)
        if self._missed:
            more.append(
                f"asked for {_percent(self.shares)}, and it is {_percent(self._given)}: groups stay whole"
            )
        return "; ".join([f"split: {said}", *more])

    @property
    def _given(self) -> Shares:
        sizes = [len(self.part(name)) for name in PARTS]
        return cast(Shares, tuple(size / sum(sizes) for size in sizes))

    @property
    def _missed(self) -> bool:
        far = max(abs(given - asked) for given, asked in zip(self._given, self.shares, strict=True))
        return not self.holdout and not self.judge.most_groups and far > _MISSED

    def part(self, name: Part) -> tuple[Case, ...]:
        """Return one part by its name."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]

    def to_card(self) -> dict[str, list[str]]:
        """Return the hashes of the groups of each part, from which the same split is made again."""
        return {part: sorted(map(group_hash, names)) for part, names in self.names.items()}


def _percent(shares: Sequence[float]) -> str:
    return "/".join(f"{100 * share:.0f}" for share in shares)


def group_hash(name: str) -> str:
    """Return what names a group on a card without its name."""
    return text_hash(name)[:12]


def default_shares(cases: int) -> Shares:
    """Return the shares of train, dev and test where nobody names any: by the number of labelled rows."""
    return _FEW if cases < FEW_ROWS else _MANY


def split_gold(
    gold: GoldData,
    seed: int,
    shares: Sequence[float] | None = None,
    *,
    earlier: Mapping[str, str] | None = None,
    holdout: GoldData | None = None,
) -> Split:
    """Split the labelled cases of a gold set by group."""
    known = [case for case in gold.cases if case.known]
    checked = _checked(shares or gold.judge.shares or default_shares(len(known)))
    judge = gold.settled
    test: tuple[Case, ...] = ()
    near: Sequence[NearCopies] = gold.near_copies
    left_out = 0
    if holdout is not None:
        test = tuple(case for case in holdout.cases if case.known)
        known, left_out, near = _apart(judge, known, test)
    one = {name: copies.groups[0] for copies in near for name in copies.groups}
    names: dict[str, set[str]] = {}
    for case in known:
        names.setdefault(one.get(case.group, case.group), set()).add(case.group)
    cases = [replace(case, group=one[case.group]) if case.group in one else case for case in known]
    wanted = dict(zip(PARTS, checked, strict=True))
    if holdout is not None:
        wanted = {part: wanted[part] / (checked[0] + checked[1]) for part in PARTS[:2]}
    if len(names) < len(wanted):
        raise _too_few(gold, cases, len(wanted), left_out)
    kept = _kept(names, earlier or {}, wanted)
    for staying in (kept, {}):  # members move only where a part could not be used otherwise
        parts = _assigned(gold, cases, wanted, seed, staying)
        split = Split(
            train=tuple(_most(gold, parts, "train", seed, 0)),
            dev=tuple(_most(gold, parts, "dev", seed, 1)),
            test=test or tuple(parts["test"]),
            seed=seed,
            shares=checked,
            judge=judge,
            rows={**gold.rows, **(holdout.rows if holdout else {})},
            kept=len(staying),
            holdout=holdout.name if holdout else "",
            left_out=left_out,
            names={
                part: tuple(sorted(name for group in {case.group for case in some} for name in names[group]))
                for part, some in parts.items()
            },
        )
        if (problem := _problem(split)) is None:
            return split
    raise GoldError(f"{problem}{_united(gold)}", path=gold.source, hint=_sides_hint(split))


def _apart(
    judge: Judge, cases: Sequence[Case], test: Sequence[Case]
) -> tuple[list[Case], int, Sequence[NearCopies]]:
    """Return the cases that are of no group of the test, nor near one, how many are, and the near copies among them."""
    from .copies import near_copies

    near = near_copies(judge, [*cases, *test])
    held = {case.group for case in test}
    for copies in near:
        if held & set(copies.groups):
            held = held | set(copies.groups)
    ids = {case.id for case in test}
    apart = [case for case in cases if case.group not in held and case.id not in ids]
    rest = [copies for copies in near if not held & set(copies.groups)]
    return apart, len(cases) - len(apart), rest


def _kept(
    names: Mapping[str, set[str]], earlier: Mapping[str, str], parts: Mapping[Part, float]
) -> dict[str, str]:
    """Return the part of each group that an earlier version knew; of near copies in several parts the first."""
    found: dict[str, str] = {}
    for group, members in names.items():
        before = {earlier.get(group_hash(name)) for name in members}
        if known := [part for part in parts if part in before]:
            found[group] = known[0]
    return found


def _assigned(
    gold: GoldData,
    cases: Sequence[Case],
    wanted: Mapping[Part, float],
    seed: int,
    kept: Mapping[str, str],
) -> dict[Part, list[Case]]:
    by_group: dict[str, list[Case]] = {}
    for case in cases:
        by_group.setdefault(case.group, []).append(case)
    groups = [
        Group(name=name, size=len(some), values=frozenset(value for case in some for value in case.known))
        for name, some in by_group.items()
    ]

    def good(values: frozenset[Any]) -> bool:
        stand_in = Case(inputs={}, gold=tuple(values))
        return bool(values) and gold.judge.answer.scale.check_part([stand_in]) is None

    parts = assign(groups, {str(part): share for part, share in wanted.items()}, seed, kept, good)
    where = {group.name: part for part, some in parts.items() for group in some}
    found: dict[Part, list[Case]] = {part: [] for part in wanted}
    for case in cases:
        found[cast(Part, where[case.group])].append(case)
    return found


def _most(
    gold: GoldData, parts: Mapping[Part, Sequence[Case]], part: Part, seed: int, place: int
) -> list[Case]:
    """Return the cases of a part, of as many groups as the judge allows: those that a hash puts first."""
    cases = list(parts[part])
    if gold.judge.most_groups is None:
        return cases
    ordered = sorted({case.group for case in cases}, key=lambda group: text_hash(f"{seed}/{group}"))
    first = set(ordered[: gold.judge.most_groups[place]])
    return [case for case in cases if case.group in first]


def _too_few(gold: GoldData, cases: Sequence[Case], needed: int, left_out: int) -> GoldError:
    count = len({case.group for case in cases})
    aside = f" ({left_out} others are of groups of the holdout, or nearly the same)" if left_out else ""
    parts = "train and dev" if needed < len(PARTS) else "train, dev and test"
    return GoldError(
        f"the {len(cases)} labelled cases are in {count} group(s){aside}, too few for {parts}{_united(gold)}",
        path=gold.source,
        field="group",
        hint=shared_hint(gold) or "give each row the name of its conversation or document as group",
    )


def shared_hint(gold: GoldData) -> str:
    """Return what to do where near copies make groups few; empty if there are none."""
    from .copies import evidence_fields

    names = evidence_fields(gold.settled) or gold.judge.input_fields
    return _APART.format(field=names[0]) if gold.near_copies else ""


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


def _problem(split: Split) -> str | None:
    for name in PARTS:
        cases = split.part(name)
        if not any(case.known for case in cases):
            return f"{name} comes out empty"
        if (lack := split.judge.answer.scale.check_part(cases)) is not None:
            return f"{name} comes out without a {lack.what} {lack.noun} ({lack.wanted})"
    return None


def _sides_hint(split: Split) -> str:
    """Say how many groups have each side, where that is what lacks."""
    parts = "train and dev" if split.holdout else "train, dev and test"
    cases = (*split.train, *split.dev, *split.test)
    pairs = {(case.group, split.judge.answer.scale.text(value)) for case in cases for value in case.known}
    counts = Counter(said for _, said in pairs).most_common(_NAMED)
    some = ", ".join(f"{said} in {plural(count, 'group')}" for said, count in counts)
    return f"label more groups: each of {parts} needs both sides of the labels, and there is {some}"
