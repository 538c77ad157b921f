"""Inputs that rows share by design (a policy, a rubric, a system prompt), for groups, copies and leaks alike.

Such an input says the same in many rows, so it names no document, and rows that have it in common are no copies. The
judge may name them (``common=``). Otherwise they are found by counting: few texts, each of many groups, are in most of
the rows. A document with a handful of claims is not shared, nor are many documents: their rows stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..cases import Case, text_hash
from ..text.folding import normalised, strings

if TYPE_CHECKING:
    from ..programs.judge import Judge

MOST_TEXTS = 12
"""Texts that rows share by design, at most: so few groups could hardly prove anything, more are documents."""
HANDFUL = 8
"""Groups (rows, without a group column) that a document may be in; a text of more is shared by many."""
COVERED = 0.8
"""The share of rows that have such a text, from which the input is shared by design."""
_LONG = 40
"""Characters from which a text could have made rows near copies."""


@dataclass(frozen=True, kw_only=True)
class SharedInput:
    """An input that rows share by design, found by counting."""

    name: str  # of the input
    texts: int  # different ones that many rows have
    rows: int  # that have one of these
    matters: bool  # whether groups or near copies would be others without this

    def __str__(self) -> str:
        """One line for people."""
        texts = "1 text" if self.texts == 1 else f"{self.texts} texts"
        return (
            f"{self.name} is the same in many rows ({texts} in {self.rows} rows): taken as shared by design, it makes "
            "no rows belong together; common=() in the judge says otherwise"
        )


def shared_inputs(judge: Judge, cases: Sequence[Case]) -> tuple[SharedInput, ...]:
    """Return what counting finds; nothing where the judge says itself what is common."""
    if judge.common is not None:
        return ()
    units = judge.answer.unit_fields
    found = (_shared(name, cases) for name in judge.input_fields if name not in units)
    return tuple(one for one in found if one is not None)


def _shared(name: str, cases: Sequence[Case]) -> SharedInput | None:
    holders: dict[str, list[Case]] = {}
    for case in cases:
        if text := text_of(case.inputs.get(name)):
            holders.setdefault(text, []).append(case)
    often = {
        text: held for text, held in holders.items() if len({one.group or one.id for one in held}) > HANDFUL
    }
    rows = sum(map(len, often.values()))
    if not often or len(often) > MOST_TEXTS or rows < COVERED * sum(map(len, holders.values())):
        return None
    matters = any(len(text) >= _LONG for text in often) or any(not case.group for case in cases)
    return SharedInput(name=name, texts=len(often), rows=rows, matters=matters)


def text_of(value: Any) -> str:
    """Return a value as one text, as texts are compared."""
    return " ".join(normalised(text) for text in strings(value))


def settled(judge: Judge, found: Sequence[SharedInput]) -> Judge:
    """Return the judge with what is common said, so that all that reads it agrees."""
    return replace(judge, common=tuple(one.name for one in found)) if judge.common is None else judge


def grouped(judge: Judge, case: Case) -> Case:
    """Return a case with a group: its own, else the hash of its evidence without what is common, else its id."""
    if case.group:
        return case
    apart = (*judge.answer.unit_fields, *(judge.common or ()))
    evidence = {name: text_of(value) for name, value in case.inputs.items() if name not in apart}
    if not any(evidence.values()):
        return replace(case, group=case.id)
    content = "\n".join(f"{name}: {evidence[name]}" for name in sorted(evidence))
    return replace(case, group=text_hash(content)[:12])
