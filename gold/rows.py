"""From a row as a file holds it to the judge's cases, with its place in messages, and back into one canonical row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from shlex import quote
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin

import pydantic

from ..cases import Case, Values
from ..errors import GoldError
from ..text.turns import as_text
from .files import Place, Row

if TYPE_CHECKING:
    from ..programs.judge import Judge

AMBIGUITY = "ambiguity"
"""The field, column and control that says why a unit is ambiguous."""
RATER = "rater:"
"""The start of a column that holds one rater's labels."""
REASON = "reason"
"""The field and column that says why the label is right: a text, or one of each rater, as ``reason:NAME`` has it."""
RESOLVED = "resolved"
"""Whoever settled what raters differ on: this "rater" counts alone in the label, and not as a rater."""
Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, as people said in the row; ``unknown`` where nobody did. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
_WHO = "rater"  # the column that says whose the label of its row is, where there is a row for each rater


def normalise(judge: Judge, row: Mapping[str, Any], place: Place) -> list[tuple[Case, Row]]:
    """Return the cases that a row holds, none if nothing in it concerns the judge, each with the judge's own row."""
    parts = judge.expanded(_json_row(judge, row, place), path=place.path, line=place.line)
    own = [_spelled(judge, {k: v for k, v in part.items() if (k, v) != ("group", None)}) for part in parts]
    return [(make_case(judge, part, place), part) for part in own]


def make_case(judge: Judge, row: Mapping[str, Any], place: Place) -> Case:
    """Validate a row of the judge's own and return its case, with its ratings, and its group if it has one."""
    keys, ratings = label_keys(judge), row.get("ratings", {})
    if REASON in row and REASON not in _infos(judge.row_model):
        rest = {key: value for key, value in row.items() if key != REASON}
        return explained(make_case(judge, rest, place), row)
    if not keys:
        return _case(judge, row, place)
    if not isinstance(ratings, Mapping):
        raise place.wrong("ratings must be an object", "ratings", hint="write {rater: label, ...}")
    plain = _without_ratings(row)
    case, rated_by = _case(judge, plain, place), dict[str, Values]()
    for rater, value in ratings.items():
        rated = _spelled(judge, {**plain, keys[0]: value})
        try:
            labels = _case(judge, rated, place).gold
        except GoldError as error:
            column = next((key for key in row if _rater(key) == rater), f"ratings.{rater}")
            message = f"the rating {rated[keys[0]]!r} does not fit the row"
            raise place.wrong(message, column, hint=f"use {judge.answer.scale.expects}") from error
        if labels is not None:
            rated_by[str(rater)] = labels
    return replace(case, ratings=rated_by) if rated_by or case.ratings else case


def label_keys(judge: Judge) -> list[str]:
    """Return the names a row may hold its labels under, the preferred one first; none if it has none."""
    name = judge.answer.field
    fields = _fields(judge.row_model)
    return next((keys for field, _, keys in fields if name == field or name in keys), [])


def input_columns(judge: Judge) -> frozenset[str]:
    """Return the names under which a row may hold what the judge reads: its inputs, and no labels."""
    fields = _fields(judge.row_model)
    keys = {key for name, _, keys in fields if name in judge.input_fields for key in keys}
    return frozenset(keys) | frozenset(judge.input_fields)


def row_keys(judge: Judge) -> list[str]:
    """Return every name that a judge reads of a row."""
    names = (key for _, _, keys in _fields(judge.row_model) for key in keys)
    own = (*judge.answer.criteria, *judge.answer.columns)
    return list(dict.fromkeys([*names, *own, "group", "ratings", _WHO, REASON]))


def is_rating(column: str) -> bool:
    """Say whether a column holds one rater's labels."""
    return _rater(column) is not None


def canonical_row(judge: Judge, row: Mapping[str, Any], case: Case) -> Row:
    """Return the JSON row from which the same case is read again: the judge's fields only, in their order."""
    try:
        parsed = judge.row_model.model_validate(_without_ratings(row))
    except pydantic.ValidationError as error:  # it was read, so only its label can be gone
        raise GoldError(
            f"the row cannot be written without a label: {judge.row_model.__name__} demands one",
            path=case.source,
            field=next(iter(label_keys(judge)), ""),
            hint="let the judge's rows model take None for the label",
        ) from error
    dumped = parsed.model_dump(mode="json")
    result: Row = {}
    for name, info, keys in _fields(judge.row_model):
        if name in dumped and name != "ratings" and (dumped[name] is not None or info.is_required()):
            result[name if name in keys else keys[0]] = dumped[name]
    if "group" in judge.row_model.model_fields:
        result["group"] = case.group
    if row.get("ratings"):
        result["ratings"] = dict(row["ratings"])
    for key in (AMBIGUITY, REASON):
        if row.get(key) and key not in judge.row_model.model_fields:
            result[key] = row[key]
    return result


def joined(judge: Judge, first: tuple[Case, Row], again: tuple[Case, Row]) -> tuple[Case, Row]:
    """Return the one case, with its row, for two rows with equal inputs."""
    # Labels and ratings are those of both; where they differ, it is an error. Different reasons for an ambiguity make
    # it ``unknown``. It is in the first of two groups, so that no part of a split shows it to another.
    left, right = first[0], again[0]
    places = Place(f"{left.source} and {right.source}")
    if left.known and right.known and left.gold != right.gold:
        raise contradiction(left, right, "equal inputs")
    named = [case.group for case, row in (first, again) if row.get("group")]
    group = min(named or (left.group, right.group))
    (case, row), (_, other) = (again, first) if right.known and not left.known else (first, again)
    ratings: dict[str, Values] = {**left.ratings, **right.ratings}
    for rater in sorted(left.ratings.keys() & right.ratings.keys()):
        pairs = list(zip(left.ratings[rater], right.ratings[rater], strict=True))
        for unit, (label, its) in enumerate(pairs, 1):
            if None not in (label, its) and label != its:
                message = f"equal inputs, and rater {rater!r} calls unit {unit} both {label!r} and {its!r}"
                raise places.wrong(message, hint="keep one of the two labels, or name the raters apart")
        ratings[rater] = tuple(its if label is None else label for label, its in pairs)
    row = {**row, **({"group": group} if named else {})}
    if ratings:
        row["ratings"] = {rater: label_field(judge, values) for rater, values in ratings.items()}
    if why := _categories(row.get(AMBIGUITY), other.get(AMBIGUITY)):
        row[AMBIGUITY] = why
    case = replace(case, group=group, ratings=ratings)
    if REASON in _infos(judge.row_model):
        return case, row
    reasons: dict[str, dict[str, None]] = {}  # rater -> what he says in either row, once
    for whose in (first[1], again[1]):
        for rater, reason in _by_rater(whose.get(REASON)).items():
            reasons.setdefault(rater, {})[reason] = None
    if reasons:
        row[REASON] = {rater: "\n".join(texts) for rater, texts in reasons.items()}
    return explained(case, row), row


def contradiction(left: Case, right: Case, inputs: str) -> GoldError:
    """Return the error of two cases with different labels; ``inputs`` says how far their inputs are the same."""
    shown = [", ".join(map(str, case.gold or ()))[:60] for case in (left, right)]
    hint = (
        "decide on one label; or, if two raters gave them, name the column that says who: --column WHO=rater, "
        "and merge with jurist gold import --merge"
    )
    places = Place(f"{left.source} and {right.source}")
    return places.wrong(f"{inputs} and different labels ({' and '.join(shown)})", hint=hint)


def label_field(judge: Judge, values: Values) -> Any:
    """Return what a row's field for labels holds, where it gives the units these values."""
    to_json = judge.answer.scale.to_json
    return judge.answer.row_of([None if value is None else to_json(value) for value in values])


def explained(case: Case, row: Mapping[str, Any]) -> Case:
    """Return a case with all reasons of its row, by rater; a reason for another label than its own says so."""
    lines = []
    for who, why in sorted(_by_rater(row.get(REASON)).items()):
        pairs = zip(case.ratings.get(who, ()), case.gold or (), strict=False)
        against = any(None not in (its, label) and its != label for its, label in pairs)
        lines.append(f"{who}{' (for another label)' if against else ''}: {why}" if who else why)
    return replace(case, reason="\n".join(lines))


def _by_rater(reason: Any) -> dict[str, str]:
    """Return who gave which reason; the name is empty where none is known."""
    reasons = reason if isinstance(reason, Mapping) else {"": reason}
    return {str(who): str(why).strip() for who, why in reasons.items() if str(why or "").strip()}


def _categories(left: Any, right: Any) -> Any:
    """Join two fields ``ambiguity``: one category for all units, or a list with one (or null) per unit."""
    if not left or not right or left == right:
        return left or right
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [_categories(*pair) for pair in zip(left, right, strict=True)]
    return "unknown"


def _json_row(judge: Judge, row: Mapping[str, Any], place: Place) -> Row:
    """Return a row whose values are JSON values as judges read them, absent cells left out, ratings in one object."""
    result, known, kind = dict(row), _infos(judge.row_model), place.kind
    for key, value in row.items() if kind != "json" else ():
        info = known.get(key)
        empty = value is None or (value == "" and (info is None or kind == "text"))
        if empty and not (info and info.is_required()):
            del result[key]
        elif kind == "text" and not (info and _textual(info.annotation)):
            read = cell(value)
            unread = isinstance(read, str) and not (info or key == AMBIGUITY or is_rating(key))
            unread = unread or (key == REASON and not isinstance(read, Mapping))
            result[key] = value if unread else read
    result = judge.answer.gathered(result)
    if REASON not in known:
        _gather_reasons(result)
    if _WHO not in known:
        _name_rater(judge, result)
    ratings = cell(result.pop("ratings", None)) or {}
    if not isinstance(ratings, Mapping):
        return {**result, "ratings": ratings}  # making the case will say so
    merged = dict(ratings)
    for key in list(filter(is_rating, result)):
        value, rater = result[key], str(_rater(key))
        if value in (None, ""):
            del result[key]
        elif not rater:
            raise place.wrong("the column names no rater", key, hint=f"write {RATER}NAME")
        elif merged.setdefault(rater, value) != value:
            message = f"rater {rater!r} has two labels, {merged[rater]!r} and {value!r}"
            hint = "give each rater's label once, in a column or under ratings"
            raise place.wrong(message, key, hint=hint)
    rated = {rater: value for rater, value in merged.items() if value is not None}
    return {**result, "ratings": rated} if rated else result


def _name_rater(judge: Judge, row: Row) -> None:
    """Turn the label of a row that names its rater into that rater's column."""
    who = as_text(row.get(_WHO))
    label = next((key for key in label_keys(judge) if key in row), None)
    if label and isinstance(who, str) and (name := who.strip()):
        del row[_WHO]
        row[RATER + name] = row.pop(label)
        if REASON in row and REASON not in _infos(judge.row_model):
            row[REASON] = {who or name: why for who, why in _by_rater(row[REASON]).items()}


def _gather_reasons(row: Row) -> None:
    """Join what stands in the columns ``reason`` and ``reason:NAME``."""
    named = {key: str(row.pop(key) or "") for key in list(row) if str(key).startswith(f"{REASON}:")}
    reasons = _by_rater(row.pop(REASON, None)) | _by_rater(
        {key.partition(":")[2].strip(): why for key, why in named.items()}
    )
    if reasons:
        row[REASON] = reasons.get("", "") if set(reasons) == {""} else reasons


def _case(judge: Judge, row: Mapping[str, Any], place: Place) -> Case:
    try:
        return judge.case(row, path=place.path, line=place.line)
    except GoldError as error:
        first, *also = (_unknown_label(judge, row, fault) or fault for fault in (error, *error.also))
        # a union of types has a fault for each of its members
        others = {(fault.field, fault.reason): fault for fault in also if fault.field != first.field}
        first.also = tuple(others.values())
        raise first from error


def _unknown_label(judge: Judge, row: Mapping[str, Any], error: GoldError) -> GoldError | None:
    """Say "unknown label" where the fault is one, instead of what the type checker of the rows says."""
    key, *rest = error.field.split(".")
    if key not in _infos(judge.row_model) or key not in label_keys(judge) or key not in row:
        return None
    value, scale = row[key], judge.answer.scale
    if rest and rest[0] in judge.answer.criteria and isinstance(value, Mapping):
        key = rest[0]
        value, scale, rest = value.get(key), judge.answer.criteria[key], rest[1:]
    if isinstance(value, list) and rest and rest[0].isdigit() and int(rest[0]) < len(value):
        value, key = value[int(rest[0])], f"{key}[{rest[0]}]"
    if isinstance(value, list | Mapping):
        return None
    hint = f"use {scale.expects}; or say what it means: --map {quote(str(value))}=LABEL (no LABEL: it says nothing)"
    return GoldError(f"unknown label {value!r}", path=error.path, line=error.line, field=key, hint=hint)


def _spelled(judge: Judge, row: Row) -> Row:
    """Let a row of the plain model give its label as the answer understands it: true for "true", as in JSON."""
    field = judge.answer.field
    if judge.rows is None and row.get(field) is not None:
        row[field] = judge.answer.spell(row[field])
    return row


def _rater(column: Any) -> str | None:
    """Return the rater whose labels a column holds, or None if it is no such column."""
    return column[len(RATER) :].strip() if isinstance(column, str) and column.startswith(RATER) else None


def _without_ratings(row: Mapping[str, Any]) -> Row:
    return {key: value for key, value in row.items() if key != "ratings" and _rater(key) is None}


def _keys(name: str, info: Any) -> list[str]:
    """Return the names under which pydantic reads a field, the preferred one first."""
    alias = info.validation_alias
    choices = [choice for choice in getattr(alias, "choices", [alias]) if isinstance(choice, str)]
    return choices or [name]


@cache
def _fields(model: type[pydantic.BaseModel]) -> list[tuple[str, Any, list[str]]]:
    """Return the fields of a row model: name, what pydantic knows of it, and the names under which it is read."""
    return [(name, info, _keys(name, info)) for name, info in model.model_fields.items()]


@cache
def _infos(model: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return what pydantic knows of a field, by each of the names under which it is read."""
    return {key: info for _, info, keys in _fields(model) for key in keys}


def _textual(annotation: Any) -> bool:
    """Whether a field is text, or may be; ``list[str]`` is none: only the members of a union count."""
    if get_origin(annotation) in (Union, UnionType):
        return any(_textual(part) for part in get_args(annotation))
    return annotation is str


def cell(value: Any) -> Any:
    """Return what a cell of a field that is no text holds: JSON, or a word without the spaces around it."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return value
    return unquoted(text)


def unquoted(text: str) -> str:
    """Return the text that a JSON string holds, which exports write into a cell; any other text as it is."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text
