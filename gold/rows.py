"""Reading a row of a file as the cases of a judge, and writing a case as one canonical row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from itertools import combinations
from shlex import quote
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from ..cases import Case, Value, Values
from ..errors import GoldError
from ..text.images import ImageReference
from ..text.turns import as_text, read_text
from .files import Place, Row

if TYPE_CHECKING:
    from ..programs.judge import Judge

AMBIGUITY = "ambiguity"
"""The field, column and control for the category of an ambiguous unit."""
RATER = "rater:"
"""The start of a column that holds one rater's labels."""
REASON = "reason"
"""The field and column for the reason of a label: a text, or one of each rater, as in ``reason:NAME``."""
RESOLVED = "resolved"
"""The "rater" of labels that settle a difference of raters: they decide the label, and count as no rater's."""
Category: TypeAlias = Literal["sentiment", "relation", "other", "unknown"]
"""Why a unit is ambiguous, in the words of people; ``unknown`` where the row names no category. It is never guessed."""
CATEGORIES: tuple[Category, ...] = get_args(Category)
NAMED_CATEGORIES: tuple[Category, ...] = ("sentiment", "relation", "other")
"""The categories that only a rater gives."""
_RATER_COLUMN = "rater"
"""The column for the rater of a row's label, where a file has a row for each rater."""


def cases_of_row(judge: Judge, row: Mapping[str, object], place: Place) -> list[Case]:
    """Return the cases of a row, each with its row in the judge's own fields; none if it does not concern the judge.

    Raises:
        GoldError: the row lacks a field, or one is ill-typed.
    """
    cases: list[Case] = []
    for part in judge.expanded(_json_row(judge, row, place), path=place.path, line=place.line):
        judge_row = dict(part)
        if judge_row.get("group", "") is None:
            del judge_row["group"]
        judge_row = _with_spelled_label(judge, judge_row)
        cases.append(make_case(judge, judge_row, place))
    return cases


def make_case(judge: Judge, row: Mapping[str, object], place: Place) -> Case:
    """Validate a row in the judge's own fields and return its case, with ratings, reasons and group if it has them.

    Raises:
        GoldError: the row lacks a field, or one is ill-typed.
    """
    if REASON in row and REASON not in _field_infos(judge.row_model):
        without_reason = dict(row)
        del without_reason[REASON]
        return with_reasons(make_case(judge, without_reason, place), row)
    keys = label_keys(judge)
    if not keys:
        return _read_case(judge, row, place)
    ratings = row.get("ratings", {})
    if not isinstance(ratings, Mapping):
        raise place.wrong("ratings must be an object", "ratings", hint="write {rater: label, ...}")
    unrated_row = without_ratings(row)
    case = _read_case(judge, unrated_row, place)
    label = unrated_row.get(keys[0])
    labels_by_rater: dict[str, Values] = {}
    for rater, rating in ratings.items():
        is_plain = isinstance(rating, str | bool)
        if is_plain and type(rating) is type(label) and rating == label and case.gold is not None:
            labels_by_rater[str(rater)] = case.gold  # the rater agrees with the row, which is read
            continue
        rated_row = _with_spelled_label(judge, {**unrated_row, keys[0]: rating})
        try:
            labels = _read_case(judge, rated_row, place).gold
        except GoldError as error:
            column = f"ratings.{rater}"
            for key in row:
                if _rater_of(key) == rater:
                    column = key
                    break
            message = f"the rating {rated_row[keys[0]]!r} does not fit the row"
            hint = f"use {judge.answer.scale.expects}"
            if not isinstance(rating, list | Mapping):
                hint += f"; or say what it means: --map {quote(str(as_text(rating)))}=LABEL"
            raise place.wrong(message, column, hint=hint) from error
        if labels is not None:
            labels_by_rater[str(rater)] = labels
    if not ratings and not case.ratings:
        return case
    return replace(case, ratings=labels_by_rater, row=row)


def label_keys(judge: Judge) -> list[str]:
    """Return the names under which a row may have its label, the preferred one first; none if it has no label."""
    label_field_name = judge.answer.field
    for name, _, keys in _fields(judge.row_model):
        if label_field_name == name or label_field_name in keys:
            return keys
    return []


def input_columns(judge: Judge) -> frozenset[str]:
    """Return the names under which a row may have the judge's inputs."""
    columns = set(judge.input_fields)
    for name, _, keys in _fields(judge.row_model):
        if name in judge.input_fields:
            columns.update(keys)
    return frozenset(columns)


def row_keys(judge: Judge) -> list[str]:
    """Return every name that a judge reads in a row, without repeats."""
    further_names = tuple(judge.answer.criteria) + tuple(judge.answer.columns)
    return list(_row_keys(judge.row_model, further_names))


@cache  # the rows of a file have one judge
def _row_keys(model: type[pydantic.BaseModel], further_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a row model's fields, with further ones, without repeats."""
    names: list[str] = []
    for _, _, keys in _fields(model):
        names.extend(keys)
    names.extend(further_names)
    names.extend(["group", "ratings", _RATER_COLUMN, REASON])
    return tuple(dict.fromkeys(names))


def is_rating(column: str) -> bool:
    """True for a column that holds one rater's labels."""
    return _rater_of(column) is not None


def canonical_row(judge: Judge, case: Case) -> Row:
    """Return the JSON row from which a case is read again: the judge's fields, in their order.

    Raises:
        GoldError: the row's model demands a label, and the case has none.
    """
    row = case.row
    images = _images_of(judge, case)
    columns = without_ratings(row)
    for name, _, keys in _fields(judge.row_model):
        if name in images:
            columns.update(dict.fromkeys(keys, images[name]))
    try:
        parsed = judge.row_model.model_validate(columns)
    except pydantic.ValidationError as error:  # it was read, so only its label can be gone
        raise GoldError(
            f"the row cannot be written without a label: {judge.row_model.__name__} demands one",
            path=case.source,
            field=next(iter(label_keys(judge)), ""),
            hint="let the judge's rows model take None for the label",
        ) from error
    dumped = parsed.model_dump(mode="json")
    for name, image in images.items():
        dumped[name] = image.row_value()
    result: Row = {}
    for name, info, keys in _fields(judge.row_model):
        if name == "ratings" or name not in dumped:
            continue
        if dumped[name] is not None or info.is_required():
            key = keys[0]
            if name in keys:
                key = name
            result[key] = dumped[name]
    if "group" in judge.row_model.model_fields:
        result["group"] = case.group
    if row.get("ratings"):
        result["ratings"] = dict(row["ratings"])
    for key in (AMBIGUITY, REASON):
        if row.get(key) and key not in judge.row_model.model_fields:
            result[key] = row[key]
    return result


def _images_of(judge: Judge, case: Case) -> dict[str, ImageReference]:
    """Return the images of a case: name of the field -> image."""
    images: dict[str, ImageReference] = {}
    for name in judge.row_model.model_fields:
        image = case.inputs.get(name)
        if isinstance(image, ImageReference):
            images[name] = image
    return images


def join_cases(judge: Judge, cases: Sequence[Case]) -> Case:
    """Return one case for the cases of rows with equal inputs, with the labels and ratings of all, also in its row.

    Several scores of one rater become their mean.

    Raises:
        GoldError: two cases have different labels, or different labels of one rater, which are no scores.
    """
    if len(cases) == 1:
        return cases[0]
    labelled_cases = [case for case in cases if case.labels]
    base = cases[0]
    if labelled_cases:
        base = labelled_cases[0]
    gold = settle_labels(judge, labelled_cases, "equal inputs")

    # The joined case is in the first of several groups, so that no part of a split shows it to another.
    row_groups = [case.group for case in cases if case.row.get("group")]
    group = min(row_groups or [case.group for case in cases])
    row = dict(base.row)
    if gold is not None and gold != base.gold:
        row = with_labels(judge, row, gold)
    if row_groups:
        row["group"] = group
    ratings = _join_ratings(judge, cases)
    if ratings:
        rating_fields = {}
        for rater, labels in ratings.items():
            rating_fields[rater] = label_field(judge, labels)
        row["ratings"] = rating_fields
    categories = row.get(AMBIGUITY)
    for case in cases:
        categories = _join_categories(categories, case.row.get(AMBIGUITY))
    if categories:
        row[AMBIGUITY] = categories
    has_reasons = REASON not in _field_infos(judge.row_model)
    reasons = _join_reasons(*(case.row for case in cases))
    if has_reasons and reasons:
        row[REASON] = reasons
    joined_case = replace(base, gold=gold or base.gold, group=group, ratings=ratings, row=row)
    return with_reasons(joined_case, row) if has_reasons else joined_case


def withdraw_contradictions(judge: Judge, cases: Sequence[Case]) -> tuple[list[Case], list[str]]:
    """Return cases with equal inputs without the labels in which a rater contradicts himself, and the raters' names.

    Where no other label of a unit is left, the cases are returned as they are: nobody knows which label is true.
    """
    if len(cases) == 1:
        return list(cases), []
    labels_of_rater: dict[tuple[str, int], list[Value]] = {}
    for case in cases:
        for rater, labels in {"": case.gold or (), **case.ratings}.items():
            for unit, label in enumerate(labels):
                if label is not None:
                    labels_of_rater.setdefault((rater, unit), []).append(label)
    contradicted: set[tuple[str, int]] = set()
    for (rater, unit), labels_of_unit in labels_of_rater.items():
        if rater and judge.answer.scale.settle(labels_of_unit) is None:
            contradicted.add((rater, unit))
    certain_units = {unit for rater, unit in labels_of_rater.keys() - contradicted}
    if not contradicted or not {unit for rater, unit in contradicted} <= certain_units:
        return list(cases), []
    certain_cases = [_without_ratings_of(judge, case, contradicted) for case in cases]
    return certain_cases, sorted({rater for rater, unit in contradicted})


def _without_ratings_of(judge: Judge, case: Case, contradicted: Set[tuple[str, int]]) -> Case:
    """Return a case without the labels of some raters for some units, also in its row."""
    ratings: dict[str, Values] = {}
    for rater, labels in case.ratings.items():
        certain_labels: list[Value | None] = []
        for unit, label in enumerate(labels):
            is_certain = (rater, unit) not in contradicted
            certain_labels.append(label if is_certain else None)
        if any(label is not None for label in certain_labels):
            ratings[rater] = tuple(certain_labels)
    row = without_ratings(case.row)
    if ratings:
        row["ratings"] = {rater: label_field(judge, labels) for rater, labels in ratings.items()}
    return replace(case, ratings=ratings, row=row)


def settle_labels(judge: Judge, labelled_cases: Sequence[Case], sameness: str) -> Values | None:
    """Return the labels of cases with the same inputs; ``None`` without labelled cases.

    ``sameness`` says in an error how the inputs are the same, such as "equal inputs".

    Raises:
        GoldError: they differ, and are no scores.
    """
    labels_of_cases: list[Values] = []
    for case in labelled_cases:
        if case.gold is not None:
            labels_of_cases.append(case.gold)
    if not labels_of_cases:
        return None
    if len(set(labels_of_cases)) == 1:
        return labels_of_cases[0]
    labels = _settle_units(judge, labels_of_cases)
    if labels is None:
        first = labelled_cases[0]
        differing = next(case for case in labelled_cases if case.gold != first.gold)
        raise _contradiction_error(first, differing, sameness)
    return labels


def _settle_units(judge: Judge, labels_of_cases: Sequence[Values]) -> Values | None:
    """Return the label of each unit from the labels of one rater; ``None`` where a unit has several without a mean."""
    settled_labels: list[Value | None] = []
    if len(set(map(len, labels_of_cases))) > 1:
        return None
    for labels_of_unit in zip(*labels_of_cases, strict=True):
        labels = [label for label in labels_of_unit if label is not None]
        settled_label = None
        if labels:
            settled_label = judge.answer.scale.settle(labels)
            if settled_label is None:
                return None
        settled_labels.append(settled_label)
    return tuple(settled_labels)


def with_labels(judge: Judge, row: Mapping[str, Any], gold: Values) -> Row:
    """Return a row of the judge's own fields with other labels."""
    labelled_row = dict(row)
    keys = label_keys(judge)
    for key in keys:
        labelled_row.pop(key, None)
    labelled_row[keys[0]] = label_field(judge, gold)
    return labelled_row


def have_different_labels(cases: Sequence[Case]) -> bool:
    """Whether cases with equal inputs have different labels of one unit, or different ones of one rater."""
    labels_of_unit: dict[tuple[str, int], set[Value]] = {}
    for case in cases:
        for rater, labels in {"": case.gold or (), **case.ratings}.items():
            for unit, label in enumerate(labels):
                if label is not None:
                    labels_of_unit.setdefault((rater, unit), set()).add(label)
    return any(len(labels) > 1 for labels in labels_of_unit.values())


def _join_ratings(judge: Judge, cases: Sequence[Case]) -> dict[str, Values]:
    """Return rater -> labels of cases with equal inputs; refuse two labels of one rater for one unit."""
    cases_by_rater: dict[str, list[Case]] = {}
    for case in cases:
        for rater in case.ratings:
            cases_by_rater.setdefault(rater, []).append(case)
    ratings: dict[str, Values] = {}
    for rater, rated_cases in cases_by_rater.items():
        labels = _settle_units(judge, [case.ratings[rater] for case in rated_cases])
        if labels is None:
            raise _rater_contradiction_error(rater, rated_cases)
        ratings[rater] = labels
    return ratings


def _rater_contradiction_error(rater: str, cases: Sequence[Case]) -> GoldError:
    """Return the error for cases with equal inputs to which one rater gave different labels."""
    for first, second in combinations(cases, 2):
        pairs = zip(first.ratings[rater], second.ratings[rater], strict=False)
        for unit, (first_label, second_label) in enumerate(pairs, 1):
            if first_label is None or second_label is None or first_label == second_label:
                continue
            judged = "the row"
            if len(first.ratings[rater]) > 1:
                judged = f"unit {unit}"
            # In one order, so that rows which contradict each other the other way round count as this fault.
            both = "both " + " and ".join(sorted((repr(first_label), repr(second_label))))
            place = Place(f"{first.source} and {second.source}")
            return place.wrong(
                f"equal inputs, and rater {rater!r} calls {judged} {both}",
                RATER + rater,
                hint="keep one of the two labels, or name the raters apart",
            )
    raise AssertionError("no two of these cases have different labels of the rater")


def _join_reasons(*rows: Mapping[str, Any]) -> dict[str, str]:
    """Return rater -> the distinct reasons in some rows, a line each."""
    reasons_of_rater: dict[str, list[str]] = {}
    for row in rows:
        for rater, reason in _reasons_by_rater(row.get(REASON)).items():
            reasons = reasons_of_rater.setdefault(rater, [])
            if reason not in reasons:
                reasons.append(reason)
    return {rater: "\n".join(reasons) for rater, reasons in reasons_of_rater.items()}


def _contradiction_error(first: Case, second: Case, sameness: str) -> GoldError:
    """Return the error for two cases with different labels; ``sameness`` says how their inputs are the same."""
    hint = (
        "decide on one label; or, if two raters gave them, name the column that says who: --column WHO=rater, "
        "and merge with jurist gold import --merge"
    )
    place = Place(f"{first.source} and {second.source}")
    # In one order, so that rows which contradict each other the other way round count as this fault.
    labels = " and ".join(sorted((_short_labels(first), _short_labels(second))))
    return place.wrong(f"{sameness} and different labels ({labels})", hint=hint)


def _short_labels(case: Case) -> str:
    """Return the labels of a case, cut to 60 characters, for a message."""
    return ", ".join(map(str, case.gold or ()))[:60]


def label_field(judge: Judge, values: Values) -> Any:
    """Return the content of a row's field for labels, from the values of its units."""
    labels: list[object] = []
    for value in values:
        label = None
        if value is not None:
            label = judge.answer.scale.to_json(value)
        labels.append(label)
    return judge.answer.row_of(labels)


def with_reasons(case: Case, row: Mapping[str, object]) -> Case:
    """Return a case with its row and the reasons there, a line for each rater; a reason for another label is marked."""
    lines: list[str] = []
    for rater, reason in sorted(_reasons_by_rater(row.get(REASON)).items()):
        if not rater:
            lines.append(reason)
        elif _disagrees(case, rater):
            lines.append(f"{rater} (for another label): {reason}")
        else:
            lines.append(f"{rater}: {reason}")
    return replace(case, reason="\n".join(lines), row=row)


def _disagrees(case: Case, rater: str) -> bool:
    """True where a rater labelled a unit of a case otherwise than its gold."""
    for rating, label in zip(case.ratings.get(rater, ()), case.gold or (), strict=False):
        if rating is not None and label is not None and rating != label:
            return True
    return False


def _reasons_by_rater(field: object) -> dict[str, str]:
    """Return rater -> reason of a row's field for reasons; the name is empty where the field is one text."""
    reasons: Mapping[object, object] = {"": field}
    if isinstance(field, Mapping):
        reasons = field
    by_rater: dict[str, str] = {}
    for rater, reason in reasons.items():
        text = str(reason or "").strip()
        if text:
            by_rater[str(rater)] = text
    return by_rater


def _join_categories(first: object, second: object) -> object:
    """Return the field ``ambiguity`` of two rows; different categories for one unit become ``unknown``."""
    if not first or not second or first == second:
        return first or second
    if not isinstance(first, list) or not isinstance(second, list) or len(first) != len(second):
        return "unknown"
    categories = []
    for first_category, second_category in zip(first, second, strict=True):
        categories.append(_join_categories(first_category, second_category))
    return categories


def _json_row(judge: Judge, row: Mapping[str, object], place: Place) -> Row:
    """Return a row of JSON values as judges read them, without empty cells, and with ratings in one object."""
    infos = _field_infos(judge.row_model)
    result = dict(row)
    if place.kind != "json":
        _read_cells(result, infos, is_text=place.kind == "text")
    result = judge.answer.gathered(result)
    if REASON not in infos:
        _gather_reasons(result)
    if _RATER_COLUMN not in infos:
        _move_label_to_rater(judge, result)
    _gather_ratings(result, place)
    return result


def _read_cells(row: Row, infos: Mapping[str, FieldInfo], *, is_text: bool) -> None:
    """Read the cells of a table in place: leave out empty ones, read messages in texts, and JSON if all are texts."""
    for key, value in list(row.items()):
        info = infos.get(key)
        is_empty = value is None or (value == "" and (info is None or is_text))
        is_required = info is not None and info.is_required()
        if is_empty and not is_required:
            del row[key]
        elif is_text and not (info and _is_textual(info.annotation)):
            json_value = cell(value)
            if key == REASON and not isinstance(json_value, Mapping):
                continue  # a reason is a text, unless it is one of each rater
            is_plain_column = not (info or key == AMBIGUITY or is_rating(key))
            if is_plain_column and isinstance(json_value, str):
                continue  # a column that is not read travels as it is
            row[key] = json_value
        elif info and _takes_messages(info):
            row[key] = messages_or_text(value)


def _takes_messages(info: FieldInfo) -> bool:
    """True for a field of the type ``Text``, which joins a list of chat messages into one text."""
    return any(getattr(part, "func", None) is read_text for part in info.metadata)


def messages_or_text(value: Any) -> Any:
    """Return the list of chat messages that a cell holds as JSON; any other value as it is."""
    content = cell(value)
    if isinstance(content, list) and as_text(content) is not content:
        return content
    return value


def _gather_ratings(row: Row, place: Place) -> None:
    """Gather the columns ``rater:NAME`` of a row, and its field ``ratings``, into that field, in place."""
    ratings = cell(row.pop("ratings", None)) or {}
    if not isinstance(ratings, Mapping):
        row["ratings"] = ratings  # making the case refuses it
        return
    gathered = dict(ratings)
    for key, rating in list(row.items()):
        rater = _rater_of(key)
        if rater is None:
            continue
        if rating in (None, ""):
            del row[key]
        elif not rater:
            raise place.wrong("the column names no rater", key, hint=f"write {RATER}NAME")
        elif gathered.setdefault(rater, rating) != rating:
            message = f"rater {rater!r} has two labels, {gathered[rater]!r} and {rating!r}"
            hint = "give each rater's label once, in a column or under ratings"
            raise place.wrong(message, key, hint=hint)
    for rater, rating in list(gathered.items()):
        if rating is None:
            del gathered[rater]
    if gathered:
        row["ratings"] = gathered


def _move_label_to_rater(judge: Judge, row: Row) -> None:
    """Move the label of a row that names its rater into that rater's column, in place."""
    rater = as_text(row.get(_RATER_COLUMN))
    keys_in_row = [key for key in label_keys(judge) if key in row]
    if not keys_in_row or not isinstance(rater, str) or not rater.strip():
        return
    name = rater.strip()
    del row[_RATER_COLUMN]
    row[RATER + name] = row.pop(keys_in_row[0])
    if REASON in row and REASON not in _field_infos(judge.row_model):
        reasons: dict[str, str] = {}
        for reason_rater, reason in _reasons_by_rater(row[REASON]).items():
            reasons[reason_rater or name] = reason
        row[REASON] = reasons


def _gather_reasons(row: Row) -> None:
    """Gather the columns ``reason`` and ``reason:NAME`` of a row into the first, in place."""
    reasons = _reasons_by_rater(row.pop(REASON, None))
    for key in list(row):
        if str(key).startswith(f"{REASON}:"):
            rater = key.partition(":")[2].strip()
            reason = str(row.pop(key) or "").strip()
            if reason:
                reasons[rater] = reason
    if not reasons:
        return
    row[REASON] = reasons
    if set(reasons) == {""}:
        row[REASON] = reasons[""]


def _read_case(judge: Judge, row: Mapping[str, object], place: Place) -> Case:
    """Return the case of a row; its error names unknown labels, and one fault for each field."""
    try:
        return judge.case(row, path=place.path, line=place.line)
    except GoldError as error:
        first = _unknown_label(judge, row, error) or error
        further: dict[tuple[str, str], GoldError] = {}
        for fault_of_row in error.further_errors:
            fault = _unknown_label(judge, row, fault_of_row) or fault_of_row
            if fault.field != first.field:  # a union of types has a fault for each of its members
                further[fault.field, fault.reason] = fault
        first.further_errors = tuple(further.values())
        raise first from error


def _unknown_label(judge: Judge, row: Mapping[str, object], error: GoldError) -> GoldError | None:
    """Return the error "unknown label" for a fault of the type checker that is one; ``None`` for another fault."""
    path = error.field.split(".")
    key = path.pop(0)
    if key not in _field_infos(judge.row_model) or key not in label_keys(judge) or key not in row:
        return None
    value = row[key]
    scale = judge.answer.scale
    if path and path[0] in judge.answer.criteria and isinstance(value, Mapping):
        key = path.pop(0)
        value = value.get(key)
        scale = judge.answer.criteria[key]
    if isinstance(value, list) and path and path[0].isdigit():
        position = int(path[0])
        if position < len(value):
            value = value[position]
            key = f"{key}[{position}]"
    if isinstance(value, list | Mapping):
        return None
    hint = f"use {scale.expects}; or say what it means: --map {quote(str(value))}=LABEL (no LABEL: skipped)"
    return GoldError(f"unknown label {value!r}", path=error.path, line=error.line, field=key, hint=hint)


def _with_spelled_label(judge: Judge, row: Row) -> Row:
    """Return a row of the plain model with its label as the answer spells it: true for "true", as in JSON."""
    field = judge.answer.field
    if judge.rows is None and row.get(field) is not None:
        row[field] = judge.answer.spell(row[field])
    return row


def _rater_of(column: object) -> str | None:
    """Return the rater of a column of ratings; ``None`` for any other column."""
    if isinstance(column, str) and column.startswith(RATER):
        return column[len(RATER) :].strip()
    return None


def without_ratings(row: Mapping[str, object]) -> Row:
    """Return a row without its field and its columns of ratings."""
    other_columns: Row = {}
    for key, value in row.items():
        if key != "ratings" and _rater_of(key) is None:
            other_columns[key] = value
    return other_columns


def _validation_names(name: str, info: FieldInfo) -> list[str]:
    """Return the names under which pydantic reads a field, the preferred one first."""
    alias = info.validation_alias
    names = []
    for choice in getattr(alias, "choices", [alias]):
        if isinstance(choice, str):
            names.append(choice)
    return names or [name]


@cache
def _fields(model: type[pydantic.BaseModel]) -> list[tuple[str, FieldInfo, list[str]]]:
    """Return the fields of a row model: name, description of pydantic, and the names under which it is read."""
    fields = []
    for name, info in model.model_fields.items():
        fields.append((name, info, _validation_names(name, info)))
    return fields


@cache
def _field_infos(model: type[pydantic.BaseModel]) -> dict[str, FieldInfo]:
    """Return pydantic's description of each field, by each of the names under which it is read."""
    infos: dict[str, FieldInfo] = {}
    for _, info, keys in _fields(model):
        for key in keys:
            infos[key] = info
    return infos


def _is_textual(annotation: Any) -> bool:
    """True for a field that is text, or may be; False for containers such as ``list[str]``."""
    if get_origin(annotation) in (Union, UnionType):
        return any(_is_textual(part) for part in get_args(annotation))
    return annotation is str


def cell(value: Any) -> Any:
    """Return the JSON list or object in a cell, else its text without spaces and quotation marks around it."""
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
    """Return the text inside a JSON string, which exports write into a cell; any other text as it is."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text
