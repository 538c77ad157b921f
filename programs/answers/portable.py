"""Reading and combining answers from an export's description of them, without types: JSON values in and out.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`). A test holds every
reader here against the answer that it stands for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from ...evaluation.votes import decide, median_vote, most_preferred, named_vote, number_within
from ...text.escaping import one_line
from ...text.replies import choice, same

_OF_LABELS: Final = ("label", "verified", "numbered", "tagged", "listed")


def numbered(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def member(item: Any, name: str) -> Any:
    """Return the value of an item of a reply under a name, whether it came as an object or as a mapping."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def by_number(
    items: Any, asked: Collection[int], every: Collection[int] = (), labels: Collection[str] = ()
) -> dict[int, Any]:
    """Return number -> the item of a reply with that number, of those asked for; none for a number with two labels.

    Raises ``ValueError`` where the numbers of the reply are not those that were shown.
    """
    items_of: dict[int, dict[str, Any]] = {}
    for item in items if isinstance(items, list | tuple) else ():
        number, label = member(item, "n"), member(item, "label")
        is_number = isinstance(number, int) and not isinstance(number, bool)
        if is_number and isinstance(label, str) and (not labels or label in labels):
            items_of.setdefault(number, {})[label] = item
    # Labels of a reply that counts from 0, or from 1 again, belong to other numbers than they name. Where a part of
    # what was shown is asked for again, a reply may label some of the rest, too: its numbers are the old ones if one
    # of them is too large for a new count.
    others = items_of.keys() - set(asked)
    is_new_count = bool(others) and max(items_of) <= len(asked)
    if is_new_count or others - set(every):
        raise ValueError(f"its number {min(others)} is none of those that were asked for")
    return {
        number: next(iter(labelled.values()))
        for number, labelled in items_of.items()
        if number in asked and len(labelled) == 1
    }


def _label(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    values = rule["label_of_value"]
    named = choice(reply.get(rule["field"]), tuple(values.values()))
    return [label for label, value in values.items() if same(value, named)][:1]


def _verified(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    check, (label,) = rule["check"], _label(rule, reply, texts, places)
    items = reply.get(check["items"])
    verdicts = [item.get("verified") for item in items] if isinstance(items, list) else [None]
    if not all(isinstance(verdict, bool) for verdict in verdicts):
        raise ValueError(f"{check['items']} cannot be read")
    implied = check["all_verified"] if verdicts and all(verdicts) else check["otherwise"]
    return [label if label == implied or check["policy"] == "label" else None]


def _score(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    low, high, whole = (rule["score"][key] for key in ("low", "high", "whole"))
    written = reply.get(rule["field"])
    number = number_within(low, high, whole, written)
    if number is None:
        raise ValueError(f"{str(written)[:100]} is not on the scale from {low:g} to {high:g}")
    return [number]


def _label_set(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    items = reply.get(rule["field"])
    if not isinstance(items, list):
        raise ValueError(f"{str(items)[:100]!r} is no list")
    unknown = [item for item in items if item not in rule["set"]]
    if unknown:
        raise ValueError(f"there is no label {str(unknown[0])[:100]!r}")
    return [tuple(sorted(set(items)))]


def _numbered(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    asked, every = [place + 1 for place in places], range(1, len(texts) + 1)
    items = by_number(reply.get(rule["field"]), asked, every, rule["set"])
    return [items[number]["label"] if number in items else None for number in every]


_SHAPES: Final = {"type", "enum", "const", "$ref", "$defs", "anyOf", "items", "properties", "required"}
TYPED: Final = _SHAPES | {"title", "description", "minimum", "maximum"}
"""The keys that a JSON Schema may hold for :func:`jurist.text.replies.typed` to read it whole."""


READERS: Final[dict[str, Callable[[Mapping[str, Any], Any, Sequence[str], Sequence[int]], list[Any]]]] = {
    "label": _label,
    "verified": _verified,
    "preference": _label,
    "score": _score,
    "label set": _label_set,
    "numbered": _numbered,
}
"""Reader -> (the parser's rule, output fields, the row's units, those that were asked for, from 0) -> a value a unit.

ValueError if the reply is unusable. Modules with readers of their own add them.
"""
RENDERERS: Final[dict[str, Callable[[Sequence[str], Sequence[int], Sequence[str]], str]]] = {
    "numbered": lambda texts, places, labels: numbered(texts, places)
}
"""How a list is shown -> (its texts, which of them, from 0, the labels) -> what stands in the prompt."""


def _by_sides(votes: Mapping[Any, int], spec: Mapping[str, Any], samples: int, threshold: float) -> Any:
    about = {"positive": spec["positive"], "order": spec["labels"], "weights": spec.get("weights")}
    return decide(votes, samples=samples, threshold=threshold, **about)


COMBINERS: Final[dict[str, Callable[[Mapping[Any, int], Mapping[str, Any], int, int], Any]]] = {
    **dict.fromkeys(_OF_LABELS, _by_sides),
    "preference": lambda votes, spec, samples, threshold: most_preferred(
        votes, spec["labels"], samples, spec["parser"]["answer"]["undecided"]
    ),
    "score": lambda votes, spec, samples, threshold: median_vote(votes, samples),
    "label set": lambda votes, spec, samples, threshold: named_vote(
        votes, labels=spec["labels"], samples=samples, threshold=threshold
    ),
}
"""Reader -> (votes of a unit, the export, samples, threshold) -> its value, ``None`` if they leave it open.

Modules with readers of their own add theirs.
"""


def _kept_off(value: Any, spec: Mapping[str, Any]) -> float:
    return float(value not in spec["positive"])


def _place(value: Any, spec: Mapping[str, Any]) -> float:
    low, high = (spec["parser"]["answer"]["score"][key] for key in ("low", "high"))
    return float((value - low) / (high - low))


SCORES: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], float]]] = {
    **dict.fromkeys(_OF_LABELS, _kept_off),
    "preference": lambda value, spec: {"first": 1.0, "tie": 0.5, "second": 0.0}[value],
    "score": _place,
}
"""Reader -> (a unit's value, the export) -> a number from 0 to 1: 1 for a label that is not positive (nothing was
found), or for the first of a pair; the place on the scale for a score. Several labels are no number."""


def is_number(reader: Any, positive: Any) -> bool:
    """Return whether values are a number from 0 to 1: of labels only where some are positive."""
    return reader in SCORES and (reader in ("score", "preference") or bool(positive))
