"""Which part of a split each group goes to: shares are filled exactly, to within the largest group.

Groups are walked in the order of a hash of seed and name, so that neither the order of rows nor what groups are about
matters, and each goes to the part that lacks most. Groups that were in a part before stay there. A part that would lack
a side of the labels gets a group that has it, in exchange for one of about the same size. Knows no cases and no judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cases import text_hash

FEWEST = 6
"""Groups that a proof takes at the least (2 to the power of -6 is below .025). A group of more than this part of the
test's share goes to train or dev if it fits there: in the test it would stand for too many."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """A group to be assigned: its name, how many cases it has, and the values that its labels take."""

    name: str
    size: int
    values: frozenset[Any]

    @property
    def kind(self) -> tuple[frozenset[Any], int]:
        """What it can be exchanged by: groups of one kind do as well as each other."""
        return self.values, self.size


Parts = dict[str, list[Group]]
Good = Callable[[frozenset[Any]], bool]
"""Whether labels of these values make a part that can be used."""


def assign(
    groups: Sequence[Group], shares: Mapping[str, float], seed: int, kept: Mapping[str, str], good: Good
) -> Parts:
    """Return the groups of each part."""
    filling = _Filling(shares=shares, total=sum(group.size for group in groups))
    ordered = sorted(groups, key=lambda group: (text_hash(f"{seed}:{group.name}"), group.name))
    for group in ordered:
        if group.name in kept:
            filling.put(group, kept[group.name])
    for group in filling.without_large([group for group in ordered if group.name not in kept]):
        filling.put(group, filling.neediest(tuple(shares)))
    _fill_empty(filling, kept)
    _mend(filling, kept, good)
    return filling.parts


@dataclass(kw_only=True)
class _Filling:
    shares: Mapping[str, float]
    total: int
    parts: Parts = field(init=False)
    held: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.parts = {part: [] for part in self.shares}

    def lacks(self, part: str) -> float:
        """How many cases a part is below its share."""
        return self.shares[part] * self.total - self.held[part]

    def neediest(self, parts: Sequence[str]) -> str:
        return max(parts, key=lambda part: (self.lacks(part), -parts.index(part)))

    def put(self, group: Group, part: str) -> None:
        self.parts[part].append(group)
        self.held[part] += group.size

    def move(self, group: Group, source: str, target: str) -> None:
        self.parts[source].remove(group)
        self.held[source] -= group.size
        self.put(group, target)

    def without_large(self, groups: Sequence[Group]) -> list[Group]:
        """Put groups that are too large for the test into train or dev, and return the others.

        At least half of one fits there, or it fits nowhere; together they exceed shares by one group at the most.
        """
        if len(self.shares) < 3:
            return list(groups)
        *others, test = self.shares
        most, left = self.shares[test] * self.total / FEWEST, []
        largest, over = max((group.size for group in groups), default=0), 0.0
        for group in groups:
            part = self.neediest(others)
            more = over + max(0.0, group.size - self.lacks(part))
            fits = self.lacks(part) >= group.size / 2 or self.lacks(test) < group.size
            if group.size > most and fits and more <= largest:
                self.put(group, part)
                over = more
            else:
                left.append(group)
        return left

    def miss(self, source: str, target: str, moved: int) -> float:
        """How far both parts were from their shares, if so many more cases went from the one to the other."""
        return abs(self.lacks(source) + moved) + abs(self.lacks(target) - moved)


def _fill_empty(filling: _Filling, kept: Mapping[str, str]) -> None:
    """Give each part without a group the smallest one of the part that has most groups."""
    for part in [part for part, groups in filling.parts.items() if not groups]:
        source = max(filling.parts, key=lambda name: len(filling.parts[name]))
        free = [group for group in filling.parts[source] if group.name not in kept]
        if len(filling.parts[source]) > 1 and free:
            filling.move(min(free, key=lambda group: group.size), source, part)


def _mend(filling: _Filling, kept: Mapping[str, str], good: Good) -> None:
    """Exchange groups until every part is good, or no exchange of two makes one more so."""
    while True:
        bad = [part for part in filling.parts if not good(_values(filling.parts[part]))]
        exchange = next((one for part in bad for one in [_exchange(filling, part, kept, good)] if one), None)
        if exchange is None:
            return
        given, taken, source, target = exchange
        filling.move(given, source, target)
        if taken is not None:
            filling.move(taken, target, source)


def _exchange(
    filling: _Filling, target: str, kept: Mapping[str, str], good: Good
) -> tuple[Group, Group | None, str, str] | None:
    """Return the group that mends a part and what is given for it, so that shares are missed by the least."""
    found: tuple[Group, Group | None, str, str] | None = None
    least = 0.0
    for source in filling.parts:
        if source == target:
            continue
        was_bad = not good(_values(filling.parts[source]))
        for given in _one_of_each(filling.parts[source], kept):
            for taken in (*_one_of_each(filling.parts[target], kept), None):
                miss = filling.miss(source, target, given.size - (taken.size if taken else 0))
                if (found is None or miss < least) and (
                    good(_values(filling.parts[target], without=taken, plus=given))
                    and (was_bad or good(_values(filling.parts[source], without=given, plus=taken)))
                ):
                    found, least = (given, taken, source, target), miss
    return found


def _one_of_each(groups: Sequence[Group], kept: Mapping[str, str]) -> Iterator[Group]:
    kinds: dict[tuple[frozenset[Any], int], Group] = {}
    for group in groups:
        if group.name not in kept:
            kinds.setdefault(group.kind, group)
    yield from kinds.values()


def _values(
    groups: Sequence[Group], *, without: Group | None = None, plus: Group | None = None
) -> frozenset[Any]:
    found: frozenset[Any] = frozenset().union(*(group.values for group in groups if group is not without))
    return found | plus.values if plus else found
