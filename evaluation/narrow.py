"""Answers that tell little apart: nearly always the same one, or never a class that people give."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..cases import Value
from .comparisons import Comparison
from .rows import Row

MOST = 0.95
"""The largest share of one answer that nothing is said of."""


def narrow(
    name: str, rows: Sequence[Row], comparison: Comparison, text: Callable[[Value], str] = str
) -> tuple[str, ...]:
    """Return what tells of a judge that answers nearly always the same, or never gives a class that gold has."""
    units = [
        (gold, said)
        for row in rows
        for gold, said in zip(row.gold, row.predicted, strict=True)
        if gold is not None and said is not None
    ]
    if len(units) < 2:
        return ()
    given, people = Counter(said for _, said in units), Counter(gold for gold, _ in units)
    value, count = given.most_common(1)[0]
    if count > MOST * len(units):
        return (
            f"{name} gives one answer, {text(value)}, to {count} of {len(units)} units ({count / len(units):.0%}), "
            f"people to {people[value]}: hold its score against the constant's",
        )
    if not comparison.classes:
        return ()
    classes, gold = _classes(given.elements()), _classes(people.elements())
    return tuple(
        f"{name} never answers {one}, which people gave to {gold[one]} of {len(units)} units"
        for one in comparison.classes
        if gold[one] and not classes[one]
    )


def _classes(values: Iterable[Value]) -> Counter[str]:
    """Return how many values are of each class: one that is a label, or a set that holds it."""
    return Counter(one for value in values for one in ((value,) if isinstance(value, str) else value))
