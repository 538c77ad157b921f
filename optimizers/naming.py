"""Names of candidates that people can tell apart and say: ``basic``, ``opro-3``, ``fewshot-12``."""

import re
from collections import Counter
from collections.abc import Iterable

_TRIES = {
    "race": "an instruction written from the scored ones and their errors",
    "opro": "an instruction written from the scored ones and their errors",
    "causes": "the best instruction rewritten for a cause of its errors",
    "cfaith": "the instructions rewritten for the causes of their errors",
    "crossing": "two of the best prompts made into one",
    "order": "the best prompt with its demonstrations in another order",
}
"""First word of a source -> what is tried, where the source does not say it itself."""
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


def candidate_names(tried: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the name of each candidate by its id: the first word of its source, and its number among those."""
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


def source_words(source: str) -> str:
    """Return in words what a candidate of this source tries."""
    first, _, rest = source.partition(", ")
    return rest or _TRIES.get(first, source)
