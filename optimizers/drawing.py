"""Drawing cases, seeded: from both sides of their answer (holding what is looked for, or not), or in an order."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from ..cases import Case
from ..programs.answers.base import Answer

_Member = TypeVar("_Member")


def draw_demos(cases: Sequence[Case], size: int, answer: Answer, random_: random.Random) -> list[Case]:
    """Return up to ``size`` cases in random order, half of them (where there are enough) with what is looked for."""
    positives: list[Case] = []
    negatives: list[Case] = []
    for case, side in zip(cases, answer.scale.sides(cases), strict=True):
        if side:
            positives.append(case)
        else:
            negatives.append(case)
    size = min(size, len(cases))
    positive_count = min(len(positives), max(size // 2, size - len(negatives)))
    demonstrations = random_.sample(positives, positive_count)
    demonstrations += random_.sample(negatives, size - positive_count)
    random_.shuffle(demonstrations)
    return demonstrations


def order_by_strata(cases: Sequence[Case], answer: Answer, random_: random.Random) -> list[Case]:
    """Return all ``cases`` in random order, such that every prefix holds each stratum about in its proportion."""
    strata: dict[str, list[Case]] = defaultdict(list)
    for name, case in zip(answer.scale.strata(cases), cases, strict=True):
        strata[name].append(case)
    places: list[tuple[float, str, Case]] = []
    for name in sorted(strata):
        members = random_.sample(strata[name], len(strata[name]))
        offset = random_.random()
        for number, case in enumerate(members):
            places.append(((number + offset) / len(members), name, case))
    places.sort(key=lambda place: place[:2])
    return [case for _, _, case in places]


def blocks(cases: Sequence[_Member], size: int) -> Iterator[list[_Member]]:
    """Yield ``cases`` in consecutive blocks of ``size``, the last one shorter."""
    rest = iter(cases)
    while block := list(islice(rest, max(1, size))):
        yield block
