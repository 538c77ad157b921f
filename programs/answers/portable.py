"""Reading and combining answers from an export's description of them, without types: JSON values in and out.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`). A test holds every
reader here against the answer that it stands for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from ...evaluation.votes import decide, median_vote, most_preferred, named_vote, number_within
from ...text.escaping import one_line
from ...text.replies import choice, data, same

_OF_LABELS: Final = ("label", "verified", "numbered", "tagged", "listed")
_HUGE = 1e300
_LISTED = 20  # values of a scale that are tried one by one


def numbered(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def _label(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    values, written = rule["label_of_value"], reply.get(rule["field"])
    meant = _truth(written) if True in values.values() else choice(written, tuple(values.values()))
    return [next(label for label, value in values.items() if value is meant)]


def _verified(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    check, (label,) = rule["check"], _label(rule, reply, texts, places)
    items = reply.get(check["items"])
    verdicts = [item.get("verified") for item in items] if isinstance(items, list) else [None]
    if not all(isinstance(verdict, bool) for verdict in verdicts):
        raise ValueError(f"{check['items']} cannot be read")
    implied = check["all_verified"] if verdicts and all(verdicts) else check["otherwise"]
    return [label if label == implied or check["policy"] == "label" else None]


def _truth(written: Any) -> bool:
    value = data(written) if isinstance(written, str) else written
    word = str(value).lower() if isinstance(value, bool | str) else ""
    if word not in ("true", "false"):
        raise ValueError(f"{str(value)[:100]!r} is not True or False")
    return word == "true"


def _score(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    low, high, whole = (rule["score"][key] for key in ("low", "high", "whole"))
    written = reply.get(rule["field"])
    if whole and high - low < _LISTED:
        return [choice(written, tuple(range(int(low), int(high) + 1)))]
    number = number_within(low, high, whole, data(written) if isinstance(written, str) else written)
    if number is None:
        raise ValueError(f"{str(written)[:100]} is not on the scale from {low:g} to {high:g}")
    return [number]


def _label_set(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    items = _items(reply.get(rule["field"]))
    unknown = [item for item in items if item not in rule["set"]]
    if unknown:
        raise ValueError(f"there is no label {str(unknown[0])[:100]!r}")
    return [tuple(sorted(set(items)))]


def _numbered(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    labels_of: dict[int, set[str]] = {}
    for item in _items(reply.get(rule["field"])):
        number = item.get("n") if isinstance(item, Mapping) else None
        if not isinstance(number, int) or isinstance(number, bool) or item.get("label") not in rule["set"]:
            raise ValueError(f"{str(item)[:100]} is no number with a label")
        labels_of.setdefault(number, set()).add(item["label"])
    sure = {n: next(iter(labels)) for n, labels in labels_of.items() if len(labels) == 1 and n - 1 in places}
    return [sure.get(n) for n in range(1, len(texts) + 1)]


def _items(written: Any) -> Collection[Any]:
    items = data(written) if isinstance(written, str) else written
    if not isinstance(items, list):
        raise ValueError(f"{str(items)[:100]!r} is no list")
    return items


def typed(schema: Mapping[str, Any], written: Any) -> Any:
    """Return what a reply gives in an output field, as the type that its JSON Schema says. Raises ValueError."""
    if schema == {"type": "string"}:
        return str(written)
    if "enum" in schema or "const" in schema:
        return choice(written, schema.get("enum") or [schema["const"]])
    texts = {"type": "string"} in schema.get("anyOf", ())
    return _typed(
        schema, data(written) if isinstance(written, str) and not texts else written, schema.get("$defs", {})
    )


def _typed(schema: Mapping[str, Any], written: Any, models: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _typed(models[schema["$ref"].rpartition("/")[2]], written, models)
    if "anyOf" in schema:
        return _first_of(schema["anyOf"], written, models)
    allowed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    kind = schema.get("type")
    if allowed is not None:
        fits = any(same(value, written) for value in allowed)
    elif kind == "boolean":
        return _truth(written)
    elif kind in ("integer", "number"):
        return _number(schema, written)
    elif kind == "array" and isinstance(written, list):
        return [_typed(schema["items"], item, models) for item in written]
    elif kind == "object" and isinstance(written, Mapping) and written.keys() >= set(schema["required"]):
        return {name: _typed(part, written[name], models) for name, part in schema["properties"].items()}
    else:
        fits = isinstance(written, str) if kind == "string" else kind == "null" and written is None
    if not fits:
        raise ValueError(f"{str(written)[:100]!r} is no {kind} that can be taken")
    return written


def _first_of(schemas: Sequence[Mapping[str, Any]], written: Any, models: Mapping[str, Any]) -> Any:
    for schema in schemas[:-1]:
        try:
            return _typed(schema, written, models)
        except ValueError:
            continue
    return _typed(schemas[-1], written, models)


def _number(schema: Mapping[str, Any], written: Any) -> float:
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        raise ValueError(f"{str(written)[:100]!r} is no number")
    number = written if isinstance(written, int) else float(written)
    if schema["type"] == "integer":
        if number != number or number in (float("inf"), -float("inf")) or number != int(number):
            raise ValueError(f"{str(written)[:100]!r} is no whole number")
        number = int(number)
    else:
        number = float(number) if abs(number) < _HUGE else float("inf")
    low, high = schema.get("minimum", -float("inf")), schema.get("maximum", float("inf"))
    if not low <= number <= high:
        raise ValueError(f"{number} is not from {low} to {high}")
    return number


_SHAPES: Final = {"type", "enum", "const", "$ref", "$defs", "anyOf", "items", "properties", "required"}
TYPED: Final = _SHAPES | {"title", "description", "minimum", "maximum"}
"""What a JSON Schema may hold for :func:`typed`."""


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
    """Say whether values are a number from 0 to 1: of labels only where some are positive."""
    return reader in SCORES and (reader in ("score", "preference") or bool(positive))
