"""Drawing cases: stratified by whether they hold a positive label, and seeded."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..cases import Case, Label

__all__ = ["draw", "draw_demos"]


def draw(cases: Sequence[Case], size: int, positive: frozenset[Label], random_: random.Random) -> list[Case]:
    """Return up to ``size`` cases in random order, those with and without positive labels in their proportion."""
    found, other = _sides(cases, positive)
    size = min(size, len(cases))
    share = round(size * len(found) / len(cases)) if cases else 0
    take = min(len(found), max(share, size - len(other), min(1, len(found))))
    return _mixed(found, other, take, size, random_)


def draw_demos(
    cases: Sequence[Case], size: int, positive: frozenset[Label], random_: random.Random
) -> list[Case]:
    """Return up to ``size`` cases in random order, half of them (where there are enough) with a positive label."""
    found, other = _sides(cases, positive)
    size = min(size, len(cases))
    take = min(len(found), max(size // 2, size - len(other)))
    return _mixed(found, other, take, size, random_)


def _sides(cases: Sequence[Case], positive: frozenset[Label]) -> tuple[list[Case], list[Case]]:
    found = [case for case in cases if any(label in positive for label in case.gold or ())]
    other = [case for case in cases if not any(label in positive for label in case.gold or ())]
    return found, other


def _mixed(
    found: Sequence[Case], other: Sequence[Case], take: int, size: int, random_: random.Random
) -> list[Case]:
    take = min(take, size)
    chosen = random_.sample(found, take) + random_.sample(other, min(len(other), size - take))
    random_.shuffle(chosen)
    return chosen
