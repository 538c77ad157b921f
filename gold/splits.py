"""Train, dev and test: drawn by group, so that no conversation or document is in two of them.

Groups are walked in the order of a hash of seed and name, so that the order of rows does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..cases import SHARES_OF_FEW, SHARES_OF_MANY, Case, Value, text_hash
from ..errors import GoldError, UsageError, in_words_of_caller, plural

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from .copies import NearCopies
    from .data import GoldData

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
Shares: TypeAlias = tuple[float, float, float]
"""The shares of train, dev and test: each positive, with the sum 1."""

Good: TypeAlias = Callable[[frozenset[Value]], bool]
"""True for values that are enough, if a part has labels of these and no others."""

FEW_ROWS = 300
"""Labelled rows below which half of them are the test: a search loses little by a smaller train, a proof much."""
_SIDES = "label more groups: each part needs both sides of the labels"
_DIFFER = "label rows whose texts differ in more than a number or a name"
_APART = (
    "give rows of more documents; or, if the column of the group names something else, leave it out; or, if {field!r} "
    "is the same in many rows by design, say so in the judge: common=({field!r},)"
)
_LISTED_LINKS = 8
"""The rows of a chain that a message names."""
_ATTEMPTS = 100
"""Draws that are tried where a part would lack a side of the labels."""
_ATTEMPTS_OF_MANY_GROUPS = 20
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
    def values(self) -> frozenset[Value]:
        """The values that its labels take."""
        values: set[Value] = set()
        for case in self.cases:
            values.update(case.labels)
        return frozenset(values)


def _count_cases(groups: Iterable[Group]) -> int:
    """Return the number of the cases of all groups."""
    return sum(len(group.cases) for group in groups)


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
        part_of_group: Mapping[str, str],
        good: Good | None = None,
    ) -> None:
        case_count = _count_cases(groups)
        self.parts: dict[str, list[Group]] = {part: [] for part in shares}
        self._lacks = {part: share * case_count for part, share in shares.items()}  # cases below the share
        ordered = sorted(groups, key=lambda group: (text_hash(f"{seed}:{group.name}"), group.name))
        free_groups = []
        for group in ordered:
            if group.name in part_of_group:
                self._put(group, part_of_group[group.name])
            else:
                free_groups.append(group)
        if good is not None:
            free_groups = self._put_until_good(free_groups, good)
        if len(shares) > 2:
            free_groups = self._put_large_outside_test(free_groups)
        for group in free_groups:
            self._put(group, max(shares, key=self._lacks.__getitem__))

    def values(self, part: str) -> frozenset[Value]:
        """The values that the labels of a part take."""
        values: set[Value] = set()
        for group in self.parts[part]:
            values.update(group.values)
        return frozenset(values)

    def _put(self, group: Group, part: str) -> None:
        self.parts[part].append(group)
        self._lacks[part] -= len(group.cases)

    def _put_until_good(self, groups: Sequence[Group], good: Good) -> list[Group]:
        """Put groups into each part until its labels are good, the smallest part first; return the other groups."""
        free_groups = list(groups)
        for part in sorted(self._lacks, key=self._lacks.__getitem__):
            values = self.values(part)
            for group in list(free_groups):
                if good(values):
                    break
                if group.values - values:
                    self._put(group, part)
                    free_groups.remove(group)
                    values |= group.values
        return free_groups

    def _put_large_outside_test(self, groups: Sequence[Group]) -> list[Group]:
        """Put groups that are too large for the test into train or dev; return the other groups."""
        train, dev, test = self.parts
        test_size = self._lacks[test] + _count_cases(self.parts[test])
        size_limit = test_size / FEWEST
        largest_size = max((len(group.cases) for group in groups), default=0)
        excess = 0.0  # cases by which train and dev go over their shares
        free_groups = []
        for group in groups:
            part = max((train, dev), key=self._lacks.__getitem__)
            size = len(group.cases)
            new_excess = excess + max(0.0, size - self._lacks[part])
            fits = self._lacks[part] >= size / 2 or self._lacks[test] < size
            if size > size_limit and fits and new_excess <= largest_size:
                self._put(group, part)
                excess = new_excess
            else:
                free_groups.append(group)
        return free_groups


def _fill_parts(
    groups: Sequence[Group],
    shares: Mapping[str, float],
    seed: int,
    part_of_group: Mapping[str, str],
    judge: Judge,
) -> dict[str, list[Group]]:
    """Return the groups of each part, of the first attempt in which all parts have the labels that are needed."""

    def good(values: frozenset[Value]) -> bool:
        stand_in = Case(inputs={}, gold=tuple(values))
        return bool(values) and judge.answer.scale.check_part([stand_in]) is None

    first_filling = Filling(groups, shares, str(seed), part_of_group)
    filling = first_filling
    attempts = _ATTEMPTS
    if len(groups) >= FEW_ROWS:
        attempts = _ATTEMPTS_OF_MANY_GROUPS
    for attempt in range(1, attempts):
        if all(good(filling.values(part)) for part in shares):
            return filling.parts
        filling = Filling(groups, shares, f"{seed}/{attempt}", part_of_group, good)
    return first_filling.parts  # its parts name the labels that they lack


@dataclass(frozen=True, kw_only=True)
class Split:
    """Cases in three parts."""

    train: tuple[Case, ...]  # what the optimizer sees
    dev: tuple[Case, ...]  # what it selects on
    test: tuple[Case, ...]  # sealed; opened once a compile, for the proof
    seed: int  # the seed of the draw
    shares: Shares  # the shares asked for; those of the cases differ, because groups stay whole
    judge: Judge = field(repr=False)  # whose cases they are, with the inputs named that rows share by design
    unmoved: int = 0  # groups that are where an earlier version had them
    holdout: str = ""  # what the test was read from, where it is no part of the gold; else empty
    left_out: int = 0  # rows of the gold in no part, because such a test has their group or a near copy
    # rows that the test lost, because they nearly repeat a row of train or dev with the same label
    copies: int = 0
    # part -> the names of its groups, near copies by each of their own names
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def test_hash(self) -> str:
        """The sha256 of the sorted test ids, one to a line: it names the test set without showing it."""
        return text_hash("\n".join(sorted(case.id for case in self.test)))

    @property
    def near_words(self) -> str:
        """The number of rows that the test lost as near copies, in words; empty if it lost none."""
        if not self.copies:
            return ""
        return (
            f"{self.copies} of {self.copies + len(self.test)} sealed cases nearly repeat a case that the optimizer "
            "sees, with the same label: they are left out of the test, as evaluate, compare and gate leave them out"
        )

    def without_copies(self) -> Split:
        """Return the split without the test cases that nearly repeat a case of train or dev."""
        from .copies import find_near_cases, sketched_rows  # numpy is not loaded to read gold

        learning_rows = sketched_rows(self.judge, self.train + self.dev)
        copies = find_near_cases(self.judge, self.test, learning_rows)
        test = []
        for case in self.test:
            if case.id not in copies:
                test.append(case)
        return replace(self, test=tuple(test), copies=len(copies))

    @property
    def words(self) -> str:
        """The numbers of cases and groups of each part, in one line."""
        sizes = []
        for name in PARTS:
            cases = self.part(name)
            groups = {case.group for case in cases}
            sizes.append(f"{name} {plural(len(cases), 'case')} in {plural(len(groups), 'group')}")
        facts = [f"split: {', '.join(sizes)}"]
        if self.holdout:
            facts.append(f"the test is {self.holdout}")
        if self.left_out:
            rows = plural(self.left_out, "row")
            facts.append(f"{rows} of the gold left out: of a group of that test, or nearly the same")
        if self.unmoved:
            facts.append(f"{plural(self.unmoved, 'group')} stayed where an earlier version had them")
        return "; ".join(facts)

    @property
    def stay_words(self) -> str:
        """A note for who only tries the split on groups that an earlier version has in a part; empty without any."""
        if not self.unmoved:
            return ""
        verb = "stays" if self.unmoved == 1 else "stay"
        return f"{plural(self.unmoved, 'group')} {verb} where an earlier version had them"

    def part(self, name: Part) -> tuple[Case, ...]:
        """Return one part by its name."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[name]

    def to_card(self) -> dict[str, list[str]]:
        """Return the hashes of the groups of each part, from which the same split is made again."""
        hashes: dict[str, list[str]] = {}
        for part, names in self.names.items():
            hashes[part] = sorted(map(group_hash, names))
        return hashes


def group_hash(name: str) -> str:
    """Return the hash that identifies a group on a card without its name."""
    return text_hash(name)[:12]


def default_shares(cases: int) -> Shares:
    """Return the shares of train, dev and test where nobody names any: by the number of labelled rows."""
    if cases < FEW_ROWS:
        return SHARES_OF_FEW
    return SHARES_OF_MANY


def split_gold(
    gold: GoldData,
    seed: int,
    shares: Sequence[float] | None = None,
    *,
    earlier: Mapping[str, str] | None = None,
    holdout: GoldData | None = None,
) -> Split:
    """Return the labelled cases of a gold set in three parts, as :meth:`jurist.Gold.split` does."""
    judge = gold.settled
    cases = [case for case in gold.cases if case.labels]
    case_shares = checked_shares(shares or gold.judge.shares or default_shares(len(cases)))
    share_of_part = _share_by_part(case_shares, with_test=holdout is None)
    near = gold.near_copies
    holdout_cases: tuple[Case, ...] = ()
    left_out = 0
    if holdout is not None:
        holdout_cases = _labelled_without_reasons(holdout.cases)
        if judge.most_cases is not None:
            holdout_cases = tuple(draw_cases(holdout_cases, *judge.most_cases, seed))
        case_count = len(cases)
        cases, near = _without_holdout(judge, cases, holdout_cases, join_near=not gold.keeps_groups)
        left_out = case_count - len(cases)
    groups = _unite_groups(cases, near)
    if len(groups) < len(share_of_part):
        raise _too_few_groups(gold, len(cases), len(groups), left_out, share_of_part)

    part_of_group = _earlier_parts(groups, earlier or {}, list(share_of_part))
    # Groups leave an earlier part only where it could not be used otherwise.
    for fixed_parts in (part_of_group, {}):
        filled = _fill_parts(groups, share_of_part, seed, fixed_parts, judge)
        names: dict[str, tuple[str, ...]] = {}
        for part in share_of_part:
            names[part] = _member_names(filled[part])
        split = Split(
            train=_cases_of_part(judge, filled["train"], "train", seed, cases),
            dev=_cases_of_part(judge, filled["dev"], "dev", seed, cases),
            test=holdout_cases or _cases_of_part(judge, filled.get("test", ()), "test", seed, cases),
            seed=seed,
            shares=case_shares,
            judge=judge,
            unmoved=len(fixed_parts),
            holdout=holdout.name if holdout else "",
            left_out=left_out,
            names=names,
        ).without_copies()
        problem = _problem(split)
        if problem is None:
            return split
    if split.near_words:
        raise GoldError(f"{problem}: {split.near_words}", path=gold.source, hint=_DIFFER)
    raise GoldError(_with_near_groups(problem, gold), path=gold.source, hint=_SIDES)


def _share_by_part(shares: Shares, *, with_test: bool) -> dict[str, float]:
    """Return part -> its share of the gold set; without a test, train and dev share it in the same proportion."""
    train, dev, test = shares
    if with_test:
        return {"train": train, "dev": dev, "test": test}
    return {"train": train / (train + dev), "dev": dev / (train + dev)}


def _labelled_without_reasons(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the labelled cases among some, without the reasons for their labels."""
    labelled = []
    for case in cases:
        if case.labels:
            labelled.append(case.with_reason(""))
    return tuple(labelled)


def _too_few_groups(
    gold: GoldData, cases: int, groups: int, left_out: int, share_of_part: Mapping[str, float]
) -> GoldError:
    """Return the error for labelled cases in fewer groups than there are parts."""
    left_out_words = ""
    if left_out:
        left_out_words = f" ({left_out} others are of groups of the holdout, or nearly the same)"
    parts = "train and dev"
    if len(share_of_part) > 2:
        parts = "train, dev and test"
    problem = (
        f"the {cases} labelled cases are in {plural(groups, 'group')}{left_out_words}, too few for {parts}"
    )
    return GoldError(
        _with_near_groups(problem, gold),
        path=gold.source,
        field=gold.source_column("group"),
        hint=shared_hint(gold) or "give each row the name of its conversation or document as group",
    )


def _unite_groups(cases: Sequence[Case], near: Sequence[NearCopies]) -> list[Group]:
    """Return the groups of the cases, near copies as one group under the first of their names."""
    united_name: dict[str, str] = {}
    for copies in near:
        for name in copies.groups:
            united_name[name] = copies.groups[0]
    groups: dict[str, Group] = {}
    for case in cases:
        name = united_name.get(case.group, case.group)
        group = groups.setdefault(name, Group(name=name))
        group.members.add(case.group)
        group.cases.append(case.in_group(name))
    return list(groups.values())


def _earlier_parts(
    groups: Sequence[Group], earlier: Mapping[str, str], parts: Sequence[str]
) -> dict[str, str]:
    """Return group -> the part that it had; of near copies that were in several parts, the first part counts."""
    part_of_group: dict[str, str] = {}
    for group in groups:
        earlier_parts = set()
        for name in group.members:
            earlier_parts.add(earlier.get(group_hash(name)))
        for part in parts:
            if part in earlier_parts:
                part_of_group[group.name] = part
                break
    return part_of_group


def _cases_of_part(
    judge: Judge, groups: Sequence[Group], part: Part, seed: int, cases: Sequence[Case]
) -> tuple[Case, ...]:
    """Return the cases of a part in the order of the gold set; train alone shows why people labelled as they did."""
    limited_cases: list[Case] = []
    for group in _limit_groups(judge, groups, part, seed):
        limited_cases.extend(group.cases)
    if judge.most_cases is not None:
        limited_cases = draw_cases(limited_cases, *judge.most_cases, seed)
    case_of_id: dict[str, Case] = {}
    for case in limited_cases:
        reason = case.reason if part == "train" else ""
        case_of_id[case.id] = case.with_reason(reason)
    part_cases = []
    for case in cases:
        if case.id in case_of_id:
            part_cases.append(case_of_id[case.id])
    return tuple(part_cases)


def _member_names(groups: Sequence[Group]) -> tuple[str, ...]:
    """Return the names that the cases of groups had themselves, sorted."""
    names: list[str] = []
    for group in groups:
        names.extend(group.members)
    return tuple(sorted(names))


def _without_holdout(
    judge: Judge, cases: Sequence[Case], holdout_cases: Sequence[Case], *, join_near: bool
) -> tuple[list[Case], tuple[NearCopies, ...]]:
    """Return the cases of no group of the holdout, nor near one if near groups are joined, and the near copies."""
    from .copies import find_near_copies

    ids = {case.id for case in holdout_cases}
    groups = {case.group for case in holdout_cases}
    near: list[NearCopies] = []
    all_copies: Sequence[NearCopies] = ()
    if join_near:
        all_copies = find_near_copies(judge, list(cases) + list(holdout_cases))
    for copies in all_copies:  # no group is in two of them
        if groups.isdisjoint(copies.groups):
            near.append(copies)
        else:
            groups.update(copies.groups)
    free_cases = []
    for case in cases:
        if case.group not in groups and case.id not in ids:
            free_cases.append(case)
    return free_cases, tuple(near)


def _limit_groups(judge: Judge, groups: Sequence[Group], part: Part, seed: int) -> Sequence[Group]:
    """Return as many groups of train or dev as the judge allows: the ones that a hash puts first."""
    if judge.most_groups is None or part == "test":
        return groups
    ordered = sorted(groups, key=lambda group: text_hash(f"{seed}/{group.name}"))
    return ordered[: judge.most_groups[PARTS.index(part)]]


def draw_cases(cases: Iterable[Case], field: str, limit: int, seed: int) -> list[Case]:
    """Return at most ``limit`` cases of each group, by lot, so that each value of an input is drawn about as often.

    Groups draw one after the other. Each draws the values that were drawn least often so far.
    """
    cases_of_group: dict[str, list[Case]] = {}
    for case in cases:
        cases_of_group.setdefault(case.group, []).append(case)
    draws_of_value = Counter[object]()
    drawn_cases: list[Case] = []
    for group_cases in cases_of_group.values():
        for _ in range(min(limit, len(group_cases))):
            case = min(
                group_cases,
                key=lambda case: (draws_of_value[case.inputs[field]], text_hash(f"{seed}/{case.id}")),
            )
            group_cases.remove(case)
            draws_of_value[case.inputs[field]] += 1
            drawn_cases.append(case)
    return drawn_cases


def shared_hint(gold: GoldData) -> str:
    """Return a next step for a gold set whose near copies make its groups few; empty if it has no near copies."""
    from .copies import evidence_fields

    if not gold.near_copies:
        return ""
    names = evidence_fields(gold.settled)
    if not names:
        return "label rows whose texts differ more"
    return _APART.format(field=names[0])


def _with_near_groups(problem: str | None, gold: GoldData) -> str:
    """Return a problem of a split, with the groups that are near copies as a reason for it."""
    return "; ".join(filter(None, [problem, near_groups_words(gold)]))


def near_groups_words(gold: GoldData) -> str:
    """Return how many groups are near copies of each other, with an example, in words; empty if none are."""
    near = gold.near_groups
    if not near:
        return ""
    group_count = sum(len(copies.groups) for copies in near)
    example = " and ".join(near[0].sources[:2])
    if gold.keeps_groups:
        return in_words_of_caller(
            f"{group_count} groups hold nearly the same texts and stay apart (--keep-groups), for example {example}: "
            "the test may be easier than new rows"
        )
    words = f"{group_count} groups hold nearly the same texts and count as {len(near)}, for example {example}"
    largest = max(near, key=lambda copies: len(copies.groups))
    if largest.chain:
        words += (
            f"; the largest is a chain of {len(largest.groups)} groups: each row nearly repeats the next one in "
            f"{_chain_words(largest.chain)}, and the ends have little in common (--keep-groups leaves the groups as "
            "they are in the file)"
        )
    return in_words_of_caller(words)


def _chain_words(chain: Sequence[str]) -> str:
    """Return the places of a chain from end to end; of a long one those in the middle are left out and counted."""
    half = _LISTED_LINKS // 2
    places = list(chain)
    if len(places) > _LISTED_LINKS:
        left_out = len(places) - 2 * half
        places = [*places[:half], f"({left_out} more)", *places[-half:]]
    return ", ".join(places)


def checked_shares(shares: Sequence[float]) -> Shares:
    """Return the shares of train, dev and test; refuse all but three positive numbers with the sum 1."""
    try:
        train, dev, test = map(float, shares)
        if min(train, dev, test) > 0 and abs(train + dev + test - 1) < 1e-6:
            return train, dev, test
    except (TypeError, ValueError):
        pass
    hint = "give three positive numbers, sum 1"
    raise UsageError(f"the shares {shares!r} are not usable", hint=hint)


def _problem(split: Split) -> str | None:
    """Return why a part of a split cannot be used; None if all can."""
    for name in PARTS:
        cases = split.part(name)
        if not any(case.labels for case in cases):
            return f"{name} comes out empty"
        lack = split.judge.answer.scale.check_part(cases)
        if lack is not None:
            return f"{name} comes out without a {lack.what} {lack.noun} ({lack.missing_values})"
    return None
