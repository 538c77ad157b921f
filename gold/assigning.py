"""Which part of a split each group goes to: shares are filled exactly, to within the largest group.

Groups are walked in the order of a hash of seed and name, so that neither the order of rows nor what groups are about
matters, and each goes to the part that lacks most. Groups that were in a part before stay there. A part that would lack
a side of the labels gets a group that has it, in exchange for one of about the same size. Knows no judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..cases import Case, text_hash

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
    """Parts that are filled with groups."""

    def __init__(
        self, groups: Sequence[Group], shares: Mapping[str, float], seed: int, kept: Mapping[str, str]
    ) -> None:
        total = sum(len(group.cases) for group in groups)
        self.parts: dict[str, list[Group]] = {part: [] for part in shares}
        self._lacks = {part: share * total for part, share in shares.items()}  # cases below the share
        self._kept = kept  # name of a group -> the part in which it stays
        ordered = sorted(groups, key=lambda group: (text_hash(f"{seed}:{group.name}"), group.name))
        for group in ordered:
            if group.name in kept:
                self._put(group, kept[group.name])
        free = [group for group in ordered if group.name not in kept]
        if len(shares) > 2:
            free = self._without_large(free)
        for group in free:
            self._put(group, max(shares, key=self._lacks.__getitem__))

    def _put(self, group: Group, part: str) -> None:
        self.parts[part].append(group)
        self._lacks[part] -= len(group.cases)

    def _move(self, group: Group, source: str, target: str) -> None:
        self.parts[source].remove(group)
        self._lacks[source] += len(group.cases)
        self._put(group, target)

    def _without_large(self, groups: Sequence[Group]) -> list[Group]:
        """Put groups that are too large for the test into train or dev, and return the others.

        At least half of one fits there, or it fits nowhere; together they exceed shares by one group at the most.
        """
        *others, test = self.parts
        most, left = (self._lacks[test] + sum(len(one.cases) for one in self.parts[test])) / FEWEST, []
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

    def mend(self, good: Callable[[frozenset[Any]], bool]) -> None:
        """Exchange groups until the values of labels in every part are good, or no exchange makes one more so."""

        def usable(part: str, without: Group | None = None, plus: Group | None = None) -> bool:
            groups = [
                *(group for group in self.parts[part] if group is not without),
                *([plus] if plus else []),
            ]
            return good(frozenset().union(*(group.values for group in groups)))

        while True:
            bad = [part for part in self.parts if not usable(part)]
            for given, taken, source, target in (one for part in bad for one in self._exchanges(part)):
                if usable(target, taken, given) and (source in bad or usable(source, given, taken)):
                    self._move(given, source, target)
                    if taken is not None:
                        self._move(taken, target, source)
                    break
            else:
                return

    def _exchanges(self, target: str) -> list[tuple[Group, Group | None, str, str]]:
        """Return what a part can get for what and from where, those first by which shares are missed least."""
        every = [
            (given, taken, source, target)
            for source in self.parts
            if source != target
            for given in self._one_of_each(source)
            for taken in (*self._one_of_each(target), None)
        ]

        def missed(one: tuple[Group, Group | None, str, str]) -> float:
            moved = len(one[0].cases) - (len(one[1].cases) if one[1] else 0)
            return abs(self._lacks[one[2]] + moved) + abs(self._lacks[target] - moved)

        return sorted(every, key=missed)

    def _one_of_each(self, part: str) -> list[Group]:
        """Return the groups of a part that may leave it, one of those that do as well as each other."""
        kinds: dict[tuple[frozenset[Any], int], Group] = {}
        for group in self.parts[part]:
            if group.name not in self._kept:
                kinds.setdefault((group.values, len(group.cases)), group)
        return list(kinds.values())
