"""One case from several rows: a second rater's file, equal rows, and the sheets that several people filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..cases import Case, Values
from ..errors import GoldError
from .goldrows import label_keys, make_case, prepared
from .readers import Reading
from .rowtypes import Place, Row

if TYPE_CHECKING:
    from ..programs.judge import Judge


def with_second(judge: Judge, row: Row, reading: Reading, number: int) -> Row:
    """Return the row with the ratings ``first`` (its own labels) and ``second`` (the second rater's)."""
    line, other = reading.second[number]
    keys, ratings = label_keys(judge), row.get("ratings", {})
    if not isinstance(ratings, Mapping):
        return row  # reading the row will say so
    rated = next((key for key in keys if key in other), None)
    if rated is None:
        # A row that is not the judge's at all says so itself, before its second rater is missed.
        plain = {key: value for key, value in row.items() if key != "ratings"}
        make_case(judge, plain, Place(reading.path, reading.rows[number][0]))
        names = " or ".join(repr(key) for key in keys) or "the labels"
        hint = f"write the row's number and {names}, as in gold.jsonl"
        raise GoldError(
            "the second rater's labels are missing", path=reading.second_path, line=line, hint=hint
        )
    # read it once by itself, so that a fault is reported in the second rater's file
    second = prepared(judge, {**row, keys[0]: other[rated]})
    make_case(judge, {k: v for k, v in second.items() if k != "ratings"}, Place(reading.second_path, line))
    own = next((row[key] for key in keys if key in row), None)
    pair = {"first": own, "second": second[keys[0]], **ratings}
    return {**row, "ratings": {rater: value for rater, value in pair.items() if value is not None}}


def joined(first: tuple[Case, Row], again: tuple[Case, Row]) -> tuple[Case, Row]:
    """Return the one case, with its row, for two rows with equal inputs.

    The label is that of the row that has one; the ratings are those of both. A rater who labelled some units in
    the one row and some in the other has all of them. Where the two name different reasons for an ambiguity, the
    reason is ``unknown``. Of two groups it is in the one whose name comes first, or that alone is named: the case
    stands once, so no part of a split shows it to another.
    """
    one, two = first[0], again[0]
    places = f"{one.source} and {two.source}"
    if one.known and two.known and one.gold != two.gold:
        raise GoldError(
            f"equal inputs and different labels ({_shown(one)} and {_shown(two)})",
            path=places,
            hint="decide on one label, and keep the other rater's under ratings",
        )
    named = [case.group for case, row in (first, again) if row.get("group")]
    group = min(named or (one.group, two.group))
    first, again = (
        (replace(case, group=group), {**row, "group": group} if named else row)
        for case, row in (first, again)
    )
    (case, row), (other, other_row) = (again, first) if two.known and not one.known else (first, again)
    if not other.ratings and not other_row.get("ambiguity"):
        return case, row
    ratings: dict[str, Values] = {**one.ratings, **two.ratings}
    raw: dict[str, Any] = {**(first[1].get("ratings") or {}), **(again[1].get("ratings") or {})}
    for rater in sorted(case.ratings.keys() & other.ratings.keys()):
        ratings[rater] = _both(rater, case.ratings[rater], other.ratings[rater], places)
        raw[rater] = _raw(row["ratings"][rater], other_row["ratings"][rater])
    row = {**row, **({"ratings": raw} if raw else {})}
    why = _reasons(row.get("ambiguity"), other_row.get("ambiguity"))
    if why:
        row["ambiguity"] = why
    return replace(case, ratings=ratings), row


def _both(rater: str, one: Values, two: Values, places: str) -> Values:
    for unit, (label, other) in enumerate(zip(one, two, strict=True), 1):
        if None not in (label, other) and label != other:
            raise GoldError(
                f"equal inputs, and rater {rater!r} calls unit {unit} both {label!r} and {other!r}",
                path=places,
                hint="keep one of the two labels, or name the raters apart",
            )
    return tuple(other if label is None else label for label, other in zip(one, two, strict=True))


def _raw(one: Any, two: Any) -> Any:
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return [other if label is None else label for label, other in zip(one, two, strict=True)]
    return one


def _reasons(one: Any, two: Any) -> Any:
    """Join two fields ``ambiguity``: one reason for all units, or a list with one (or null) per unit."""
    if not one or not two or one == two:
        return one or two
    lists = [given if isinstance(given, list | tuple) else None for given in (one, two)]
    if lists == [None, None]:
        return "unknown"
    size = max(len(given) for given in lists if given is not None)
    spread = [list(given) if isinstance(given, list | tuple) else [given] * size for given in (one, two)]
    if len(spread[0]) != len(spread[1]):
        return one  # reading the categories will say so
    return [
        (first or second) if not first or not second or first == second else "unknown"
        for first, second in zip(*spread, strict=True)
    ]


def _shown(case: Case) -> str:
    return ", ".join(str(label) for label in case.gold or ())[:60]
