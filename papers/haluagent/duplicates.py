"""Near-duplicate questions, within a document and across documents, without comparing every pair.

Two texts whose character pairs have a Jaccard similarity of at least t share one among the rarest pairs of each: of n
pairs, in any fixed order, the first n - ceil(t n) + 1 are enough to look up (prefix filtering).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from ...programs.haluagent.checks import ALIKE, alike, shingles

__all__ = ["duplicates"]


def duplicates(asked: Sequence[tuple[str, str]]) -> dict[int, int]:
    """Return the places of near-duplicates, each with the place of the first like it that is kept.

    Args:
        asked: (question, correct answer); near-duplicates are alike in the question, and the question with its
            answer is alike too: a question about another year has another answer.
    """
    pairs = [shingles(question) for question, _ in asked]
    often = Counter(pair for one in pairs for pair in one)
    held: defaultdict[str, list[int]] = defaultdict(list)
    found: dict[int, int] = {}
    for place, (question, answer) in enumerate(asked):
        ordered = sorted(pairs[place], key=lambda pair: (often[pair], pair))
        prefix = ordered[: len(ordered) - math.ceil(ALIKE * len(ordered)) + 1]
        near = sorted({other for pair in prefix for other in held[pair]})
        first = next(
            (
                other
                for other in near
                if alike(question, asked[other][0])
                and alike(f"{question} {answer}", f"{asked[other][0]} {asked[other][1]}")
            ),
            None,
        )
        if first is not None:
            found[place] = first
            continue
        for pair in prefix:
            held[pair].append(place)
    return found
