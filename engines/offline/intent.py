"""The role that reads intent: maps a query to its conditions, and marks which of them a response meets.

Both are read by rules (:mod:`.conditions`, :mod:`.satisfaction`) and corrected by the demonstrations in the prompt:
how often these gave a reading another name, or no place at all, decides what becomes of the next one like it. The
instruction changes nothing: rules do not follow advice.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...text.terms import neutralise, terms
from .conditions import Condition, conditions, instruction_of, missing_parts
from .decisions import Manner
from .request import Ask
from .satisfaction import mark
from .words import NO_TEXT

__all__ = ["is_intent", "read_intent"]

_FIELDS: Final = frozenset(
    {"missing", "subject", "action", "context", "constraints", "marks", "answerable", "reason"}
)
_LINE: Final = re.compile(
    r"^[^\S\n]*(?P<n>\d+)\. (?P<category>\w+): (?P<text>.*) \[(?P<anchor>[^\[\]\n]*)\][^\S\n]*$", re.MULTILINE
)
_OWN: Final = 3.0  # demonstrations that a reading counts for by itself
_DROPPED: Final = ""

_Seen = dict[str, Counter[str]]


def is_intent(ask: Ask) -> bool:
    """Say whether a request is about the conditions of a query."""
    named = {field.name for field in ask.outputs}
    if named == {"response"}:
        return set(ask.values) == {"query"}
    return bool(named - {"reason"}) and named <= _FIELDS and "query" in ask.values


def read_intent(ask: Ask, manner: Manner) -> dict[str, Any]:
    """Return the values of the request's output fields."""
    query = ask.values["query"]
    read: Mapping[str, Callable[[], Any]] = {
        "missing": lambda: missing_parts(query),
        "subject": lambda: [one.anchor for one in conditions(query) if one.category == "subject"],
        "action": lambda: [one.anchor for one in conditions(query) if one.category == "action"],
        "context": lambda: [one.anchor for one in conditions(query) if one.category in ("location", "time")],
        "constraints": lambda: [] if missing_parts(query) else list(_constraints(ask, manner)),
        "marks": lambda: list(_marks(ask, manner)),
        "answerable": lambda: bool(conditions(query)) and not missing_parts(query),
        "response": lambda: _response(query),
        "reason": lambda: ", ".join(f"the {part} is missing" for part in missing_parts(query)),
    }
    return {field.name: read[field.name]() for field in ask.outputs}


def _response(query: str) -> str:
    """Return what can be said without writing: what is missing, or that this engine writes nothing."""
    missing = missing_parts(query)
    return f"The {' and the '.join(missing)} is missing. Please send it." if missing else NO_TEXT


def _constraints(ask: Ask, manner: Manner) -> Iterator[dict[str, str]]:
    learnt = _learnt(_named_in(inputs["query"], outputs) for inputs, outputs in _demos(ask, "constraints"))
    for one in conditions(ask.values["query"]):
        category = _chosen(one.category, learnt, manner)
        if category != _DROPPED:
            anchor = neutralise(one.anchor)
            yield {"category": category, "anchor": anchor, "text": anchor}


def _named_in(query: str, given: Any) -> Iterator[tuple[str, str]]:
    """Yield each category that the rules read, with the one that people gave to these words, or none."""
    for one in conditions(query):
        words = set(terms(one.anchor))
        near = [item for item in given if 2 * len(words & set(terms(item["anchor"]))) > len(words)]
        yield one.category, near[0]["category"] if near else _DROPPED


def _marks(ask: Ask, manner: Manner) -> Iterator[dict[str, Any]]:
    learnt = _learnt(_marked_in(inputs, outputs) for inputs, outputs in _demos(ask, "marks"))
    for number, one, seen in _seen(ask.values):
        label = _chosen(f"{one.category} {seen.label}", learnt, manner).split()[-1]
        yield {"n": number, "evidence": neutralise(seen.evidence), "label": label}


def _marked_in(inputs: Mapping[str, str], given: Any) -> Iterator[tuple[str, str]]:
    labels = {item["n"]: item["label"] for item in given}
    for number, one, seen in _seen(inputs):
        if number in labels:
            yield f"{one.category} {seen.label}", f"{one.category} {labels[number]}"


def _seen(inputs: Mapping[str, str]) -> Iterator[tuple[int, Condition, Any]]:
    query, response = inputs["query"], inputs.get("response", "")
    for line in _LINE.finditer(inputs.get("constraints", "")):
        one = Condition(line["category"], line["anchor"], instruction_of(query).find(line["anchor"]))
        yield int(line["n"]), one, mark(one, line["text"], query, response)


def _demos(ask: Ask, field: str) -> Iterator[tuple[dict[str, str], Any]]:
    for demo in ask.demos:
        outputs = dict(demo.outputs)
        if field in outputs:
            yield dict(demo.inputs), json.loads(outputs[field])


def _learnt(pairs: Iterable[Iterable[tuple[str, str]]]) -> _Seen:
    found: _Seen = defaultdict(Counter)
    for some in pairs:
        for read, said in some:
            found[read][said] += 1
    return found


def _chosen(read: str, learnt: _Seen, manner: Manner) -> str:
    """Return what becomes of a reading: the most frequent name, or one drawn above temperature 0."""
    weights = {read: _OWN}
    for said, count in learnt.get(read, Counter()).items():
        weights[said] = weights.get(said, 0.0) + count
    if manner.temperature <= 0:
        return max(weights, key=lambda said: (weights[said], said == read))
    names = list(weights)
    return manner.rng.choices(names, [weights[said] ** (1 / manner.temperature) for said in names])[0]
