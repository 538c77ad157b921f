"""Train, dev and test: drawn by group, so that no conversation or document is in two of them.

Groups are walked in the order of a hash of seed and name, so that the order of rows does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..cases import Case, text_hash
from ..errors import GoldError, UsageError, plural

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .copies import NearCopies
    from .data import GoldData

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
Shares: TypeAlias = tuple[float, float, float]
"""The shares of train, dev and test: each positive, with the sum 1."""

Good: TypeAlias = Callable[[frozenset[Any]], bool]
"""Whether a part may have labels of these values, and no others."""

FEW_ROWS = 300
"""Labelled rows below which half of them are the test: a search loses little by a smaller train, a proof much."""
_FEW: Shares = (0.3, 0.2, 0.5)
_MANY: Shares = (0.5, 0.2, 0.3)
_SIDES = "label more groups: each part needs both sides of the labels"
_DIFFER = "label rows whose texts differ in more than a number or a name"
_APART = (
    "give rows of more documents; or, if the column of the group names something else, leave it out; or, if {field!r} "
    "is the same in many rows by design, say so in the judge: common=({field!r},)"
)
_ATTEMPTS, _OF_MANY = 100, 20
"""Draws that are tried where a part would lack a side of the labels, and where there are many groups."""
FEWEST = 6
"""Groups that a proof takes at the least (2 to the power of -6 is below .025). A group of more than this part of the
test's share goes to train or dev if it fits there: in the test it would stand for too many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Cases that stay together: near copies are of one group, by the first of their names."""

    name: str
    members: set[str] = field(default_factory=set)  # the names that the cases had themselves
    cases: list[Case] = field(default_factory=list)

    @cached_property
    def values(self) -> frozenset[Any]:
        """The values that its labels take."""
        return frozenset(value for case in self.cases for value in case.known)


class Filling:
    """Parts that are filled with groups.

    Attempt 0 walks the groups once, each to the part that lacks most. Further ones walk them in other orders, and
    first give each part groups until the values of its labels are good: for sets in which a side is rare.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        shares: Mapping[str, float],
        seed: str,
        kept: Mapping[str, str],
        good: Good | None = None,
    ) -> None:
        total = sum(len(group.cases) for group in groups)
        self.parts: dict[str, list[Group]] = {part: [] for part in shares}
        self._lacks = {part: share * total for part, share in shares.items()}  # cases below the share
        ordered = sorted(groups, key=lambda group: (text_hash(f"{seed}:{group.name}"), group.name))
        for group in ordered:
            if group.name in kept:
                self._put(group, kept[group.name])
        free = [group for group in ordered if group.name not in kept]
        if good is not None:
            free = self._with_both_sides(free, good)
        if len(shares) > 2:
            free = self._without_large(free)
        for group in free:
            self._put(group, max(shares, key=self._lacks.__getitem__))

    def values(self, part: str) -> frozenset[Any]:
        """The values that the labels of a part take."""
        return frozenset().union(*(group.values for group in self.parts[part]))

    def _put(self, group: Group, part: str) -> None:
        self.parts[part].append(group)
        self._lacks[part] -= len(group.cases)

    def _with_both_sides(self, groups: Sequence[Group], good: Good) -> list[Group]:
        """Put groups into each part until its labels are good, the smallest part first, and return the others."""
        left = list(groups)
        for part in sorted(self._lacks, key=self._lacks.__getitem__):
            known = self.values(part)
            for group in list(left) if not good(known) else ():
                if group.values - known:
                    self._put(group, part)
                    left.remove(group)
                    known |= group.values
                    if good(known):
                        break
        return left

    def _without_large(self, groups: Sequence[Group]) -> list[Group]:
        """Put groups that are too large for the test into train or dev, and return the others."""
        *others, test = self.parts
        most, left = (self._lacks[test] + sum(len(group.cases) for group in self.parts[test])) / FEWEST, []
        largest, over = max((len(group.cases) for group in groups), default=0), 0.0
        for group in groups:
            part, size = max(others, key=self._lacks.__getitem__), len(group.cases)
            more = over + max(0.0, size - self._lacks[part])
            fits = self._lacks[part] >= size / 2 or self._lacks[test] < size
            if size > most and fits and more <= largest:
                self._put(group, part)
                over = more
            else:
                left.append(group)
        return left


def _filled(
    groups: Sequence[Group], shares: Mapping[str, float], seed: int, kept: Mapping[str, str], judge: Judge
) -> dict[str, list[Group]]:
    """Return the groups of each part, of the first attempt in which all parts have the labels that are needed."""

    def good(values: frozenset[Any]) -> bool:
        stand_in = Case(inputs={}, gold=tuple(values))
        return bool(values) and judge.answer.scale.check_part([stand_in]) is None

    filling = first = Filling(groups, shares, str(seed), kept)
    for attempt in range(1, _ATTEMPTS if len(groups) < FEW_ROWS else _OF_MANY):
        if all(good(filling.values(part)) for part in shares):
            return filling.parts
        filling = Filling(groups, shares, f"{seed}/{attempt}", kept, good)
    return first.parts  # which says what lacks


@dataclass(frozen=True, kw_only=True)
class Split:
    """Cases in three parts."""

    train: tuple[Case, ...]  # what the optimizer sees
    dev: tuple[Case, ...]  # what it selects on
    test: tuple[Case, ...]  # sealed; opened once a compile, for the proof
    seed: int  # the seed of the draw
    shares: Shares  # the shares asked for; those of the cases differ, because groups stay whole
    judge: Judge = field(repr=False)  # whose cases they are, with the inputs named that rows share by design
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)  # by the id of the case
    kept: int = 0  # groups that are where an earlier version had them
    holdout: str = ""  # what the test was read from, where it is no part of the gold; else empty
    left_out: int = 0  # rows of the gold in no part, because such a test has their group or a near copy
    copies: int = (
        0  # rows that the test lost, because they nearly repeat a row of train or dev with the same label
    )
    # part -> the names of its groups, near copies by each of their own names
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def test_hash(self) -> str:
        """The sha256 of the sorted test ids, one to a line: names the test set without showing it."""
        return text_hash("\n".join(sorted(case.id for case in self.test)))

    @property
    def near_words(self) -> str:
        """How many rows the test lost as near copies, in words; empty if none."""
        if not self.copies:
            return ""
        return (
            f"{self.copies} of {self.copies + len(self.test)} sealed cases nearly repeat a case that the optimizer "
            "sees, with the same label: they are left out of the test, as evaluate, compare and gate leave them out"
        )

    def without_copies(self) -> Split:
        """Return the split without those test cases that nearly repeat a case of train or dev."""
        from .copies import near_rows, sketched_rows  # numpy is not loaded to read gold

        copies = near_rows(self.judge, self.test, sketched_rows(self.judge, (*self.train, *self.dev)))
        test = tuple(case for case in self.test if case.id not in copies)
        return replace(self, test=test, copies=len(copies))

    @property
    def words(self) -> str:
        """How many cases and groups each part has, in one line."""
        sizes = ", ".join(
            f"{name} {plural(len(cases), 'case')} in {plural(len({case.group for case in cases}), 'group')}"
            for name in PARTS
            for cases in [self.part(name)]
        )
        aside = f"{plural(self.left_out, 'row')} of the gold left out: of a group of that test, or nearly the same"
        more = [f"the test is {self.holdout}"] * bool(self.holdout) + [aside] * bool(self.left_out)
        more += [f"{plural(self.kept, 'group')} stayed where an earlier version had them"] * bool(self.kept)
        return "; ".join([f"split: {sizes}", *more])

    def part(self, name: Part) -> tuple[Case, ...]:
        """Return one part by its name."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]

    def to_card(self) -> dict[str, list[str]]:
        """Return the hashes of the groups of each part, from which the same split is made again."""
        return {part: sorted(map(group_hash, names)) for part, names in self.names.items()}


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
    known, judge = [case for case in gold.cases if case.known], gold.settled
    checked = checked_shares(shares or gold.judge.shares or default_shares(len(known)))
    near, aside, test = gold.near_copies, 0, tuple[Case, ...]()
    wanted: dict[str, float] = dict(zip(PARTS, checked, strict=True))
    if holdout is not None:
        test = tuple(replace(case, reason="") for case in holdout.cases if case.known)
        known, aside, near = _apart(judge, known, test)
        wanted = {part: wanted[part] / (checked[0] + checked[1]) for part in PARTS[:2]}
    united = {name: copies.groups[0] for copies in near for name in copies.groups}
    groups: dict[str, Group] = {}
    for case in known:
        name = united.get(case.group, case.group)
        group = groups.setdefault(name, Group(name=name))
        group.members.add(case.group)
        group.cases.append(replace(case, group=name))
    if len(groups) < len(wanted):
        others = f" ({aside} others are of groups of the holdout, or nearly the same)" if aside else ""
        parts = " and".join(", ".join(wanted).rsplit(",", 1))
        raise GoldError(
            f"the {len(known)} labelled cases are in {plural(len(groups), 'group')}{others}, too few for {parts}"
            + _united(gold),
            path=gold.source,
            field="group",
            hint=shared_hint(gold) or "give each row the name of its conversation or document as group",
        )
    kept: dict[str, str] = {}
    for group in groups.values():  # of near copies that were in several parts the first counts
        before = {(earlier or {}).get(group_hash(name)) for name in group.members}
        if (part := next((part for part in wanted if part in before), None)) is not None:
            kept[group.name] = part

    for staying in (kept, {}):  # members move only where a part could not be used otherwise
        filled = _filled(list(groups.values()), wanted, seed, staying, judge)
        where = {
            group.name: part for part, some in filled.items() for group in _most(judge, some, part, seed)
        }
        cases: dict[str, list[Case]] = {part: [] for part in PARTS}
        for case in known:
            name = united.get(case.group, case.group)
            if part := where.get(name):
                # why people labelled what nobody may learn from is shown to nobody
                shown = case.reason if part == "train" else ""
                cases[part].append(replace(case, group=name, reason=shown))
        split = Split(
            train=tuple(cases["train"]),
            dev=tuple(cases["dev"]),
            test=test or tuple(cases["test"]),
            seed=seed,
            shares=checked,
            judge=judge,
            rows={**gold.rows, **(holdout.rows if holdout else {})},
            kept=len(staying),
            holdout=holdout.name if holdout else "",
            left_out=aside,
            names={
                part: tuple(sorted(name for group in filled[part] for name in group.members))
                for part in wanted
            },
        ).without_copies()
        if (problem := _problem(split)) is None:
            return split
    if split.near_words:
        raise GoldError(f"{problem}: {split.near_words}", path=gold.source, hint=_DIFFER)
    raise GoldError(f"{problem}{_united(gold)}", path=gold.source, hint=_SIDES)


def _apart(
    judge: Judge, cases: Sequence[Case], test: Sequence[Case]
) -> tuple[list[Case], int, tuple[NearCopies, ...]]:
    """Return the cases that are of no group of the test, nor near one, how many are, and the near copies among them."""
    from .copies import near_copies

    near = near_copies(judge, [*cases, *test])
    held, ids = {case.group for case in test}, {case.id for case in test}
    held |= {name for copies in near if held & set(copies.groups) for name in copies.groups}
    apart = [case for case in cases if case.group not in held and case.id not in ids]
    return apart, len(cases) - len(apart), tuple(copies for copies in near if not held & set(copies.groups))


def _most(judge: Judge, groups: Sequence[Group], part: str, seed: int) -> Sequence[Group]:
    """Return as many groups of train or dev as the judge allows: those that a hash puts first."""
    if judge.most_groups is None or part == "test":
        return groups
    ordered = sorted(groups, key=lambda group: text_hash(f"{seed}/{group.name}"))
    return ordered[: judge.most_groups[PARTS.index(cast(Part, part))]]


def shared_hint(gold: GoldData) -> str:
    """Return what to do where near copies make groups few; empty if there are none."""
    from .copies import evidence_fields

    if not gold.near_copies:
        return ""
    names = evidence_fields(gold.settled)
    return _APART.format(field=names[0]) if names else "label rows whose texts differ more"


def _united(gold: GoldData) -> str:
    near = gold.near_copies
    if not near:
        return ""
    names, example = sum(len(copies.groups) for copies in near), " and ".join(near[0].sources[:2])
    return f"; {names} groups hold nearly the same texts and count as {len(near)}, for example {example}"


def checked_shares(shares: Sequence[float]) -> Shares:
    """Return the shares of train, dev and test, if they are some."""
    try:
        train, dev, test = (float(share) for share in shares)
        if min(train, dev, test) > 0 and abs(train + dev + test - 1) < 1e-6:
            return train, dev, test
    except (TypeError, ValueError):
        pass
    hint = "give three positive numbers, sum 1"
    raise UsageError(f"the shares {shares!r} are not usable", hint=hint)


def _problem(split: Split) -> str | None:
    for name in PARTS:
        cases = split.part(name)
        if not any(case.known for case in cases):
            return f"{name} comes out empty"
        if (lack := split.judge.answer.scale.check_part(cases)) is not None:
            return f"{name} comes out without a {lack.what} {lack.noun} ({lack.wanted})"
    return None
