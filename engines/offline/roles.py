"""Roles: which input is judged and which is evidence, by the names of fields; and the units of a judged text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...text.terms import sentences
from .request import ParsedRequest
from .shapes import filled_lines

# Of two sets the first ranks higher; fields of one set are read together.
_EVIDENCE_NAMES: Final = (
    frozenset({
        "reference", "evidence", "document", "documents", "source", "sources", "knowledge", "passage", "passages",
        "article", "policy", "transcript", "facts", "grounding", "retrieved",
    }),
    frozenset({"conversation", "context", "contexts", "premise", "text", "correct_answer"}),
    frozenset({"dialogue", "dialog", "history", "chat"}),
)  # fmt: skip
_JUDGED_NAMES: Final = (
    frozenset({
        "claim", "claims", "statement", "statements", "sentence", "sentences", "hypothesis", "assertion",
    }),
    frozenset({"constraint", "constraints", "criterion", "criteria", "item", "items"}),
    frozenset({"response", "answer", "reply", "summary", "prediction", "candidate", "output", "completion"}),
)  # fmt: skip
_UNRANKED: Final = 99
_NUMBER_MARK: Final = re.compile(r"[ \t]*(?:(\d{1,5})[.):][ \t]*(?=\S)|[\[<(](\d{1,5})[\])>][ \t]*)")
_EMPTY_TAG: Final = re.compile(r"<>(.*)</>", re.S)
_PLURALS: Final = ("sentences", "statements", "claims", "units", "lines", "items", "constraints", "criteria")
_LIST_KINDS: Final = ("labels", "tags", "bools", "indices", "texts")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing to judge: its number (1-based, as written) and its text."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Names of input fields by role; ``judged`` is empty where nothing is judged."""

    evidence: tuple[str, ...]
    judged: str
    context: tuple[str, ...]


def assign_roles(request: ParsedRequest) -> Roles:
    """Return the roles of a request's inputs by the names of fields; texts only break ties (numbers, length)."""
    names = list(request.inputs)
    judged = _choose_judged(request)
    if judged:
        names.remove(judged)
    evidence = _choose_evidence(request, names)
    context = [name for name in names if name not in evidence]
    if not judged and context:
        judged = context.pop()
    elif not judged and evidence:
        judged = evidence.pop()
    return Roles(evidence=tuple(evidence), judged=judged, context=tuple(context))


def _choose_judged(request: ParsedRequest) -> str:
    """Return the input that is judged by its name; for a list rather one in numbered lines; ``""`` if there is none."""
    candidates: list[str] = []
    numbered: list[str] = []
    for name, text in request.inputs.items():
        rank = _judged_rank(name)
        if rank < _UNRANKED and rank <= _evidence_rank(name):
            candidates.append(name)
            if _NUMBER_MARK.match(text):
                numbered.append(name)
    if numbered and any(field.shape.kind in _LIST_KINDS for field in request.output_fields):
        candidates = numbered
    return min(candidates, key=_judged_rank, default="")


def _choose_evidence(request: ParsedRequest, names: Sequence[str]) -> list[str]:
    """Return the inputs whose names rank highest as evidence; if none has a rank, the longest one."""
    if not names:
        return []
    highest_name = min(names, key=_evidence_rank)
    highest = _evidence_rank(highest_name)
    if highest == _UNRANKED:
        return [max(names, key=lambda name: len(request.inputs[name]))]
    return [name for name in names if _evidence_rank(name) == highest]


@lru_cache(maxsize=1024)
def _evidence_rank(name: str) -> int:
    return _rank_of(name, _EVIDENCE_NAMES)


@lru_cache(maxsize=1024)
def _judged_rank(name: str) -> int:
    return _rank_of(name, _JUDGED_NAMES)


def _rank_of(name: str, ranked_names: Sequence[frozenset[str]]) -> int:
    """Return the first of the sets in which a field's name, or a word of it, stands: 0 ranks highest."""
    words = set(name.lower().split("_"))
    words.add(name.lower())
    for rank, names in enumerate(ranked_names):
        if words & names:
            return rank
    return _UNRANKED


def has_unit_per_line(name: str, text: str) -> bool:
    """Return whether a field holds one thing per line: numbered or tagged lines, or a name in the plural."""
    text = text.lstrip()
    if _NUMBER_MARK.match(text) or text.startswith("<>"):
        return True
    return name.lower().split("_")[-1] in _PLURALS


def split_units(text: str, *, quoting: bool = False) -> tuple[Unit, ...]:
    """Return the lines of a text as units, without their numbers or empty tags; ``quoting``: as they can be quoted."""
    lines = filled_lines(text)
    if quoting:
        return _quotable_units(lines)
    numbered_units = _read_numbers(lines)
    if numbered_units:
        return numbered_units
    texts: list[str] = []
    for line in lines:
        texts.append(_without_empty_tag(line))
    return _count_units(texts)


def _quotable_units(lines: list[str]) -> tuple[Unit, ...]:
    """Return lines as they stand, or the sentences of a single line; numbers are taken off if they count from 1."""
    if len(lines) == 1:
        lines = sentences(lines[0])
    numbered_units = _read_numbers(lines)
    if numbered_units:
        counts_from_one = numbered_units[0].number == 1 and numbered_units[-1].number == len(numbered_units)
        if counts_from_one:
            return numbered_units
    return _count_units(lines)


def _read_numbers(lines: Sequence[str]) -> tuple[Unit, ...]:
    """Return the lines by the numbers they begin with; none unless each has one and they ascend, perhaps with gaps."""
    units: list[Unit] = []
    for line in lines:
        mark = _NUMBER_MARK.match(line)
        if mark is None:
            return ()
        unit = Unit(number=int(mark[1] or mark[2]), text=line[mark.end() :])
        if units and unit.number <= units[-1].number:
            return ()
        units.append(unit)
    return tuple(units)


def _count_units(texts: Sequence[str]) -> tuple[Unit, ...]:
    units: list[Unit] = []
    for number, text in enumerate(texts, 1):
        units.append(Unit(number=number, text=text))
    return tuple(units)


def _without_empty_tag(line: str) -> str:
    tag = _EMPTY_TAG.fullmatch(line)
    if tag is None:
        return line
    return tag[1].strip()
