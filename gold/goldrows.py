"""Between a row as a file holds it and a case: labels in other spellings, absent cells, ratings, groups.

What a row must look like is the judge's to say; this module only brings files
of different kinds into that form, and back into one canonical form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

import pydantic

from ..cases import Case, Values
from ..engines.kept import Kept
from ..errors import GoldError
from .rowtypes import Kind, Place, Row

if TYPE_CHECKING:
    from ..programs.judge import Judge

_RATER = "rater:"  # the start of a column that holds one rater's labels
_WHO = "rater"  # the column that says whose the label of its row is, where there is a row for each rater


def prepared(judge: Judge, row: Mapping[str, Any], kind: Kind = "json") -> Row:
    """Return a row whose values are JSON values as the judge's row model reads them."""
    result = dict(row)
    for _, info, keys in _fields(judge.row_model):
        for key in keys:
            if key not in result:
                continue
            value = result[key]
            absent = (value is None and (kind != "json" or key == "group")) or (
                value == "" and kind == "text"
            )
            if absent and not info.is_required():
                del result[key]
            elif kind == "text" and not _textual(info.annotation):
                result[key] = cell(value)
    _by_rater(judge, result)
    ratings = all_ratings(result, kind)
    if ratings:
        result["ratings"] = ratings
    if kind == "text" and "ambiguity" not in judge.row_model.model_fields and "ambiguity" in result:
        result["ambiguity"] = cell(result["ambiguity"])
    if judge.rows is None:
        _spell_label(judge, result)
    return result


def make_case(judge: Judge, row: Mapping[str, Any], place: Place) -> Case:
    """Validate a prepared row and return its case, with its ratings, and its group if it has one."""
    keys, ratings = label_keys(judge), row.get("ratings", {})
    if not keys:
        case = _case(judge, row, place)
        return case
    if not isinstance(ratings, Mapping):
        hint = "write {rater: label, ...}"
        raise place.wrong("ratings must be an object", "ratings", hint=hint)
    _check_columns(row, ratings, place)
    plain = _without_ratings(row)
    case = _case(judge, plain, place)
    found: dict[str, Values] = {}
    for rater, value in ratings.items():
        column = next((key for key in row if _rater(key) == rater), f"ratings.{rater}")
        labels = _rating(judge, {**plain, keys[0]: value}, column, place)
        if labels is not None:
            found[str(rater)] = labels
    return replace(case, ratings=found) if found or case.ratings else case


def label_keys(judge: Judge) -> list[str]:
    """Return the names a row may hold its labels under, the preferred one first.

    Empty if the judge's own row model has no field of that name: then ratings are its own business.
    """
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
    return list(dict.fromkeys([*names, "group", "ratings", _WHO]))


def is_rating(column: str) -> bool:
    """Say whether a column holds one rater's labels."""
    return _rater(column) is not None


def canonical_row(judge: Judge, row: Mapping[str, Any], case: Case) -> Row:
    """Return the JSON row from which the same case is read again: the judge's fields only, in their order."""
    try:
        parsed = judge.row_model.model_validate(_without_ratings(row))
    except pydantic.ValidationError as error:  # it was read, so only its label can be gone
        keys = label_keys(judge)
        raise GoldError(
            f"the row cannot be written without a label: {judge.row_model.__name__} demands one",
            path=case.source,
            field=keys[0] if keys else "",
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
    if row.get("ambiguity") and "ambiguity" not in judge.row_model.model_fields:
        result["ambiguity"] = row["ambiguity"]
    again = make_case(judge, result, Place(case.source))
    group = again.group or case.group  # a model without the field: it is found again when all rows are read
    if (again.id, group, again.gold, again.ratings) != (case.id, case.group, case.gold, case.ratings):
        hint = "make the judge's rows model accept the values it holds under the names it has"
        raise GoldError(
            "the row cannot be written so that it reads back the same", path=case.source, hint=hint
        )
    return result


def _case(judge: Judge, row: Mapping[str, Any], place: Place) -> Case:
    try:
        return judge.case(row, path=place.path, line=place.line)
    except GoldError as error:
        first, *also = (_unknown_label(judge, row, one) or one for one in (error, *error.also))
        # a union of types has a fault for each of its members
        first.also = tuple(
            {(one.field, one.reason): one for one in also if one.field != first.field}.values()
        )
        raise first from error


def _unknown_label(judge: Judge, row: Mapping[str, Any], error: GoldError) -> GoldError | None:
    """Say "unknown label" where the fault is one, instead of what the type checker of the rows says."""
    key, *rest = error.field.split(".")
    name = next((name for name, _, keys in _fields(judge.row_model) if key in keys), "")
    if not name or key not in label_keys(judge) or key not in row:
        return None
    value: Any = row[key]
    if isinstance(value, list) and rest and rest[0].isdigit() and int(rest[0]) < len(value):
        value, key = value[int(rest[0])], f"{key}[{rest[0]}]"
    if isinstance(value, list | Mapping):
        return None
    hint = f"use {judge.answer.expects}; or say what it means: --map {value}=LABEL"
    return GoldError(f"unknown label {value!r}", path=error.path, line=error.line, field=key, hint=hint)


def _rating(judge: Judge, row: Row, column: str, place: Place) -> Values | None:
    if judge.rows is None:
        _spell_label(judge, row)
    try:
        return _case(judge, row, place).gold
    except GoldError as error:
        given, hint = row[label_keys(judge)[0]], f"use {judge.answer.expects}"
        raise place.wrong(f"the rating {given!r} does not fit the row", column, hint=hint) from error


def _rater(column: Any) -> str | None:
    """Return the rater whose labels a column holds, or None if it is no such column."""
    return column[len(_RATER) :].strip() if isinstance(column, str) and column.startswith(_RATER) else None


def _without_ratings(row: Mapping[str, Any]) -> Row:
    return {key: value for key, value in row.items() if key != "ratings" and _rater(key) is None}


def _by_rater(judge: Judge, row: Row) -> None:
    """Turn the label of a row that names its rater into that rater's column, save where judges read such a field."""
    if any(_WHO in keys for _, _, keys in _fields(judge.row_model)):
        return
    who = row.get(_WHO)
    if isinstance(who, float) and who.is_integer():
        who = int(who)  # a column of numbers with a hole
    given = next((key for key in label_keys(judge) if key in row), None)
    if given and isinstance(who, str | int) and (name := str(who).strip()):
        del row[_WHO]
        row[_RATER + name] = row.pop(given)


def all_ratings(row: Row, kind: Kind) -> Any:
    """Return the ratings of the object ``ratings`` and of columns ``rater:NAME``; drop those without a label.

    The columns stay in the row: a fault is reported under the name the file has.
    """
    given = cell(row.pop("ratings", None))
    if given and not isinstance(given, Mapping):
        return given
    columns: dict[str, Any] = {}
    for key in [key for key in row if _rater(key) is not None]:
        value = row[key] = cell(row[key]) if kind == "text" else row[key]
        if value in (None, ""):
            del row[key]
        else:
            columns[str(_rater(key))] = value
    return {k: v for k, v in {**columns, **(given or {})}.items() if v is not None}


def _check_columns(row: Mapping[str, Any], ratings: Mapping[str, Any], place: Place) -> None:
    for key in row if ratings else ():  # a row is also read without its ratings
        rater = _rater(key)
        if rater is None:
            continue
        if not rater:
            raise place.wrong("the column names no rater", key, hint=f"write {_RATER}NAME")
        if ratings.get(rater) != row[key]:
            said = f"rater {rater!r} has two labels, {row[key]!r} and {ratings.get(rater)!r}"
            raise place.wrong(said, key, hint="give each rater's label once, in a column or under ratings")


def _keys(name: str, info: Any) -> list[str]:
    """Return the names under which pydantic reads a field, the preferred one first."""
    alias = info.validation_alias
    choices = [choice for choice in getattr(alias, "choices", [alias]) if isinstance(choice, str)]
    return choices or [name]


_fields: Final[Kept[list[tuple[str, Any, list[str]]]]] = Kept(
    lambda model: [(name, info, _keys(name, info)) for name, info in model.model_fields.items()]
)
"""The fields of a row model: name, what pydantic knows of it, and the names under which it is read."""


def _textual(annotation: Any) -> bool:
    # list[str] is no text: only the members of a union count
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
    return text


def _spell_label(judge: Judge, row: Row) -> None:
    """Let a row of the plain model give its label as the answer understands it: true for "true", as in JSON."""
    field = judge.answer.field
    if row.get(field) is not None:
        row[field] = judge.answer.spell(row[field])
