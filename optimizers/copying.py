"""How much of an instruction is copied from training text.

An instruction that quotes training cases is a demonstration in disguise: it fits
those cases and leaks them. Measured as the share of an instruction's shingles
(8 words; 16 characters where the text is Chinese, Japanese or Korean) that
stand in an input of a training case. What the basic prompt says itself, and what
most training cases say alike (a policy), belongs to the task.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..cases import Case
from ..text.wording import normalised

WORDS = 8
"""Words of a shingle."""
CHARACTERS = 16
"""Characters of a shingle in scripts without spaces."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_TOKEN = re.compile(r"\w+")
_COMMON = 0.5  # a shingle in more than this share of the cases belongs to the task


def shingles(text: str) -> frozenset[str]:
    """Return the shingles of a text, without case, punctuation and spacing; none if it is too short."""
    plain = normalised(text)
    words = _TOKEN.findall(plain)
    found = {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}
    if _CJK.search(plain):
        joined = "".join(words)
        runs = (joined[at : at + CHARACTERS] for at in range(len(joined) - CHARACTERS + 1))
        found |= {run for run in runs if len(_CJK.findall(run)) * 2 > CHARACTERS}
    return frozenset(found)


class CopyGuard:
    """Measures instructions against training cases."""

    def __init__(self, cases: Sequence[Case], own: Iterable[str] = ()) -> None:
        counts = Counter(shingle for case in cases for shingle in _of_case(case.inputs))
        allowed = frozenset(shingle for text in own for shingle in shingles(text))
        common = {s for s, count in counts.items() if len(cases) > 2 and count > _COMMON * len(cases)}
        self._train = frozenset(counts) - allowed - common

    def share(self, text: str) -> float:
        """Return the share of the text's shingles that stand in training cases, in [0, 1]."""
        own = shingles(text)
        return len(own & self._train) / len(own) if own else 0.0


def _of_case(inputs: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        shingle for value in inputs.values() for text in _strings(value) for shingle in shingles(text)
    )


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [text for part in value for text in _strings(part)] if isinstance(value, list | tuple) else []
