"""Drawing cases: from both sides of their answer (holding what is looked for, or not), and seeded."""

import random
from collections.abc import Collection, Sequence

from ..cases import Case
from ..programs.answers.base import Answer


def labelled(cases: Sequence[Case]) -> list[Case]:
    """Return the cases with at least one gold label."""
    return [case for case in cases if case.known]


def draw(cases: Sequence[Case], size: int, answer: Answer, random_: random.Random) -> list[Case]:
    """Return up to ``size`` cases in random order, those of both sides in their proportion."""
    found, other = _sides(cases, answer)
    size = min(size, len(cases))
    share = round(size * len(found) / len(cases)) if cases else 0
    take = min(len(found), max(share, size - len(other), min(1, len(found))))
    return _mixed(found, other, take, size, random_)


def draw_demos(cases: Sequence[Case], size: int, answer: Answer, random_: random.Random) -> list[Case]:
    """Return up to ``size`` cases in random order, half of them (where there are enough) with what is looked for."""
    found, other = _sides(cases, answer)
    size = min(size, len(cases))
    take = min(len(found), max(size // 2, size - len(other)))
    return _mixed(found, other, take, size, random_)


def draw_contrasting(
    cases: Sequence[Case], size: int, answer: Answer, random_: random.Random, hard: Collection[str]
) -> list[Case]:
    """Return up to ``size`` cases as :func:`draw_demos` does, half of them (where there are enough) ``hard`` ones."""
    near, rest = ([case for case in cases if (case.id in hard) is side] for side in (True, False))
    some = draw_demos(near, size // 2, answer, random_)
    chosen = [*some, *draw_demos(rest, size - len(some), answer, random_)]
    random_.shuffle(chosen)
    return chosen


def _sides(cases: Sequence[Case], answer: Answer) -> tuple[list[Case], list[Case]]:
    sides = answer.scale.sides(cases)
    found = [case for case, side in zip(cases, sides, strict=True) if side]
    other = [case for case, side in zip(cases, sides, strict=True) if not side]
    return found, other


def _mixed(
    found: Sequence[Case], other: Sequence[Case], take: int, size: int, random_: random.Random
) -> list[Case]:
    take = min(take, size)
    chosen = random_.sample(found, take) + random_.sample(other, min(len(other), size - take))
    random_.shuffle(chosen)
    return chosen
