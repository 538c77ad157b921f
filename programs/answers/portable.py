"""Reading and combining answers from an export's description of them, without types: JSON values in and out.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`). A test holds every
reader here against the answer that it stands for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict

from ...evaluation.votes import decide, mean_vote, median_vote, most_preferred, named_vote, number_within
from ...text.escaping import one_line
from ...text.replies import is_blank, match_value, same

_LABEL_READERS: Final = ("label", "verified", "numbered", "tagged", "listed")


class PartsCheck(TypedDict):
    """The label that a reply must give by the verdicts on its parts."""

    items: str  # the output field with the parts
    all_verified: str
    otherwise: str
    policy: str


class ScoreEnds(TypedDict):
    """The lowest and the highest score, and whether only whole numbers count."""

    low: float
    high: float
    whole: bool


class Rule(TypedDict, total=False):
    """The keys of an answer's rule, as ``parser_rule`` writes it, that readers look at."""

    field: str  # the output field that holds the answer
    label_of_value: Mapping[str, str | bool]  # label -> its value in the field, despite its name
    check: PartsCheck
    score: ScoreEnds
    set: Sequence[str]  # the closed labels
    listed: str  # the label of a text that the list names
    not_listed: str


Spec: TypeAlias = Mapping[str, Any]
"""The description of an export, or of one of its criteria: JSON values by name."""
Reply: TypeAlias = Mapping[str, object]
"""Output field -> its value."""
Votes: TypeAlias = Mapping[Any, int]
"""Value of a unit -> the samples that gave it."""


def number_sentences(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    if places is None:
        places = range(len(sentences))
    return "\n".join(f"{place + 1}. {show_sentence(sentences[place])}" for place in places)


def show_sentence(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for one without a visible character."""
    if is_blank(sentence):
        return "(blank)"
    return one_line(sentence)


def member(item: object, name: str) -> object:
    """Return the value of an item of a reply under a name, whether it came as an object or as a mapping."""
    if isinstance(item, Mapping):
        return item.get(name)
    return getattr(item, name, None)


def by_number(
    items: object,
    asked_numbers: Collection[int],
    all_numbers: Collection[int] = (),
    labels: Collection[str] = (),
) -> dict[int, object]:
    """Return number -> the item of a reply with that number, of those asked for; none for a number with two labels.

    Raises ``ValueError`` where the numbers of the reply are not those that were shown.
    """
    items_of: dict[int, dict[str, object]] = {}
    for item in items if isinstance(items, list | tuple) else ():
        number, label = member(item, "n"), member(item, "label")
        if not isinstance(number, int) or isinstance(number, bool) or not isinstance(label, str):
            continue
        if not labels or label in labels:
            items_of.setdefault(number, {})[label] = item
    # Labels of a reply that counts from 0, or from 1 again, belong to other numbers than they name. Where a part of
    # what was shown is asked for again, a reply may label some of the rest, too: its numbers are the old ones if one
    # of them is too large for a new count.
    unasked_numbers = items_of.keys() - set(asked_numbers)
    is_new_count = bool(unasked_numbers) and max(items_of) <= len(asked_numbers)
    if is_new_count or unasked_numbers - set(all_numbers):
        raise ValueError(f"its number {min(unasked_numbers)} is none of those that were asked for")
    item_of_number: dict[int, object] = {}
    for number, item_of_label in items_of.items():
        if number in asked_numbers and len(item_of_label) == 1:
            (item_of_number[number],) = item_of_label.values()
    return item_of_number


def _read_label(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    value_of_label = rule["label_of_value"]
    answered = match_value(reply.get(rule["field"]), tuple(value_of_label.values()))
    for label, value in value_of_label.items():
        if same(value, answered):
            return [label]
    return []


def _read_verified(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    check = rule["check"]
    (label,) = _read_label(rule, reply, texts, places)
    items = reply.get(check["items"])
    if not isinstance(items, list):
        raise ValueError(f"{check['items']} cannot be read")
    all_verified = bool(items)
    for item in items:
        verified = item.get("verified")
        if not isinstance(verified, bool):
            raise ValueError(f"{check['items']} cannot be read")
        all_verified = all_verified and verified
    implied = check["all_verified"] if all_verified else check["otherwise"]
    if label != implied and check["policy"] != "label":
        return [None]
    return [label]


def _read_score(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    ends, written = rule["score"], reply.get(rule["field"])
    number = number_within(ends["low"], ends["high"], ends["whole"], written)
    if number is None:
        raise ValueError(f"{str(written)[:100]} is not on the scale from {ends['low']:g} to {ends['high']:g}")
    return [number]


def _read_label_set(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    items = reply.get(rule["field"])
    if not isinstance(items, list):
        raise ValueError(f"{str(items)[:100]!r} is no list")
    for item in items:
        if item not in rule["set"]:
            raise ValueError(f"there is no label {str(item)[:100]!r}")
    return [tuple(sorted(set(items)))]


def _read_numbered(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    asked_numbers = [place + 1 for place in places]
    all_numbers = range(1, len(texts) + 1)
    items = by_number(reply.get(rule["field"]), asked_numbers, all_numbers, rule["set"])
    return [member(items.get(number), "label") for number in all_numbers]


_SHAPES: Final = {"type", "enum", "const", "$ref", "$defs", "anyOf", "items", "properties", "required"}
TYPED: Final = _SHAPES | {"title", "description", "minimum", "maximum"}
"""The keys that a JSON Schema may hold for :func:`jurist.text.replies.typed` to read it whole."""


InputReader: TypeAlias = Callable[[object, Mapping[str, Any]], object]
"""(the value of a row, the description of its input) -> the input. ``ValueError`` for a value that is none."""
INPUT_READERS: Final[dict[str, InputReader]] = {}
"""Type of an input -> its reader, where rows may hold it in other layouts. Modules with such readers add them."""
READERS: Final[dict[str, Callable[[Rule, Reply, Sequence[str], Sequence[int]], list[object]]]] = {
    "label": _read_label,
    "verified": _read_verified,
    "preference": _read_label,
    "score": _read_score,
    "label set": _read_label_set,
    "numbered": _read_numbered,
}
"""Reader -> (the parser's rule, output fields, the row's units, those that were asked for, from 0) -> a value a unit.

ValueError if the reply is unusable. Modules with readers of their own add them.
"""
RENDERERS: Final[dict[str, Callable[[Sequence[str], Sequence[int], Sequence[str]], str]]] = {
    "numbered": lambda texts, places, labels: number_sentences(texts, places)
}
"""The display of a list -> (its texts, which of them, from 0, the labels) -> the text in the prompt."""


def _combine_labels(votes: Votes, spec: Spec, samples: int, threshold: float) -> str | None:
    return decide(
        votes,
        samples=samples,
        threshold=threshold,
        positive=spec["positive"],
        order=spec["labels"],
        weights=spec.get("weights"),
    )


def _combine_scores(votes: Votes, spec: Spec, samples: int) -> float | None:
    if spec.get("combine") == "mean":
        return mean_vote(votes, samples, spec["parser"]["answer"]["score"]["whole"])
    return median_vote(votes, samples)


COMBINERS: Final[dict[str, Callable[[Votes, Spec, int, float], object]]] = {
    **dict.fromkeys(_LABEL_READERS, _combine_labels),
    "preference": lambda votes, spec, samples, threshold: most_preferred(
        votes, spec["labels"], samples, spec["parser"]["answer"]["undecided"]
    ),
    "score": lambda votes, spec, samples, threshold: _combine_scores(votes, spec, samples),
    "label set": lambda votes, spec, samples, threshold: named_vote(
        votes, labels=spec["labels"], samples=samples, threshold=threshold
    ),
}
"""Reader -> (votes of a unit, the export, samples, threshold) -> its value, ``None`` if they leave it open.

Modules with readers of their own add theirs.
"""


def _rate_label(label: str, spec: Spec) -> float:
    return float(label not in spec["positive"])


def _rate_preference(label: str, spec: Spec) -> float:
    return {"first": 1.0, "tie": 0.5, "second": 0.0}[label]


def _rate_score(score: float, spec: Spec) -> float:
    ends: ScoreEnds = spec["parser"]["answer"]["score"]
    return float((score - ends["low"]) / (ends["high"] - ends["low"]))


SCORES: Final[Mapping[str, Callable[[Any, Spec], float]]] = {
    **dict.fromkeys(_LABEL_READERS, _rate_label),
    "preference": _rate_preference,
    "score": _rate_score,
}
"""Reader -> (a unit's value, the export) -> a number from 0 to 1: 1 for a label that is not positive (nothing was
found), or for the first of a pair; the place on the scale for a score. Several labels are no number."""


def gives_number(reader: object, positive: Collection[str] | None) -> bool:
    """Return whether values are a number from 0 to 1: of labels only where some are positive."""
    if reader in ("score", "preference"):
        return True
    return reader in SCORES and bool(positive)
