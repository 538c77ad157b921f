"""Names of candidates that people can tell apart and say: ``basic``, ``opro-3``, ``fewshot-12``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["candidate_names"]

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def candidate_names(tried: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the name of each candidate by its id: the first word of its source, and its number among those.

    Args:
        tried: (id, source) in the order in which they were entered, from the first one: the names of others never
            change when more are entered.
    """
    found: dict[str, str] = {}
    counts = Counter[str]()
    for id_, source in tried:
        if id_ in found:
            continue
        word = _WORD.search(source.lower())
        name = word[0] if word else "candidate"
        counts[name] += 1
        found[id_] = name if name == "basic" and counts[name] == 1 else f"{name}-{counts[name]}"
    return found
