"""Where a value stands in a row: in a column, or at a path into what a column holds.

``scores.overall`` and ``outputs.0`` go into objects and lists. ``result[from_name=verdict].value`` takes the item of a
list whose field says so, wherever it stands. ``sentences[].label`` makes a row of each item of a list; several lists of
a row are read side by side, and lists in lists one after the other. A column whose own name holds dots goes first.

Annotations that people took back do not count: skipped tasks of Label Studio (``was_cancelled``), responses of Argilla
that were not submitted, tasks of Prodigy that were ignored or rejected.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..cases import text_hash
from ..text.turns import as_text
from .files import Place, Row
from .rows import cell

EACH = "[]"
"""Stands in a path for every item of a list."""
_STEP = re.compile(r"(?:[^.\[\]]|\[[^\]]*\]|[\[\]])+")
_CONDITION = re.compile(r"\[([^\]=]+)=([^\]]*)\]")
_SHORT_LIST = 3
"""Items up to which each item of a list is a column of its own."""
_NAMED_LIST = 20
"""Items up to which each item of a list is a column of its own where it has a name."""
_ITEM_NAMES = ("from_name", "assessment_name", "name")
"""Fields that name an annotation: of Label Studio, of MLflow, of Langfuse."""
_SUBMITTED = "submitted"
"""The status of a response in Argilla that counts; drafts, pending and discarded ones do not."""
_TAKEN_BACK = ("ignore", "reject")
"""Answers of Prodigy that leave a task without a label."""


def read_path(row: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path in a row; ``None`` if there is none."""
    return _value_at(row, _STEP.findall(path))


def _value_at(content: object, steps: Sequence[str]) -> Any:
    """Return the value to which steps lead inside a value; ``None`` if they lead nowhere."""
    if not steps:
        return content
    value = cell(content)
    if isinstance(value, list):
        place, conditions = _parse_condition(steps[0])
        if not place.isdecimal() or int(place) >= len(value):
            return None
        item = value[int(place)]
        if conditions:
            item = _item_where(cell(item), conditions)
        return _value_at(item, steps[1:])
    if not isinstance(value, Mapping):
        return None
    for length in range(len(steps), 0, -1):  # a name that holds dots itself goes first
        name = ".".join(steps[:length])
        if name in value:
            inner_value = _value_at(_counting(value, name), steps[length:])
            if inner_value is not None:
                return inner_value
    name, conditions = _parse_condition(steps[0])
    if conditions and name in value:
        return _value_at(_item_where(_counting(value, name), conditions), steps[1:])
    return None


def _parse_condition(step: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the name and the conditions of a step: ``result[from_name=verdict]`` is ``result``, from_name, verdict."""
    name = step.partition("[")[0]
    return name, _CONDITION.findall(step)


def _item_where(items: object, conditions: Sequence[tuple[str, str]]) -> Any:
    """Return the first item of a list that meets all conditions; ``None`` without one."""
    if not isinstance(items, list):
        return None
    for item in items:
        if all(str(as_text(read_path(item, path))) == text for path, text in conditions):
            return item
    return None


def _counting(row: Mapping[str, Any], name: str) -> Any:
    """Return a value of a row; of a list of annotations, the annotations that people did not take back."""
    value = cell(row[name])
    if not isinstance(value, list):
        return row[name]
    # The flat export of Argilla has the status of each response in a column of its own.
    statuses = cell(row.get(f"{name}.status"))
    if isinstance(statuses, list) and len(statuses) == len(value):
        return _submitted_items(value, statuses)
    counting_items = []
    for item in value:
        if _counts(item):
            counting_items.append(item)
    return counting_items


def _submitted_items(items: Sequence[object], statuses: Sequence[object]) -> list[object]:
    """Return the items whose status is that they were submitted."""
    submitted = []
    for item, status in zip(items, statuses, strict=True):
        if status == _SUBMITTED:
            submitted.append(item)
    return submitted


def is_taken_back(row: Mapping[str, object]) -> bool:
    """True where an annotation, or a row that is one, says of itself that it was skipped, ignored or rejected."""
    if str(row.get("was_cancelled", "")).casefold() == "true":
        return True
    return "_task_hash" in row and row.get("answer") in _TAKEN_BACK


def _counts(item: object) -> bool:
    """True for an item of a list that is no annotation, or an annotation that people did not take back."""
    if not isinstance(item, Mapping):
        return True
    is_response = "status" in item and ("values" in item or {"value", "user_id"} <= item.keys())
    return not is_taken_back(item) and (not is_response or item["status"] == _SUBMITTED)


def by_names(row: Mapping[str, object], path: str) -> str:
    """Return a path that finds items of lists by their names, where it finds them by their places."""
    value: object = row
    path_by_names = ""
    for step in _STEP.findall(path):
        value = cell(value)
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            item_steps = _item_steps(value)
            item_step = f".{step}"
            if item_steps:
                item_step = item_steps[int(step)]
            path_by_names += item_step
            value = value[int(step)]
        elif isinstance(value, Mapping) and step in value:
            path_by_names += f".{step}"
            value = _counting(value, step)
        else:
            return path
    return path_by_names.removeprefix(".")


def has_column(row: object, path: str) -> bool:
    """True where a row has a column, or a value at a path; of lists, where any of their items has it."""
    if not isinstance(row, Mapping):
        return False
    if path in row:
        return True
    if ("." in path or "[" in path) and read_path(row, path) is not None:
        return True
    list_path, mark, item_path = path.partition(EACH)
    if not mark:
        return False
    items = cell(read_path(row, list_path))
    if not isinstance(items, list):
        return False
    if not item_path:
        return bool(items)
    return any(has_column(item, item_path.removeprefix(".")) for item in items)


def rows_within(row: Row, paths: Iterable[str], place: Place | None = None) -> list[Row]:
    """Return the rows that a row holds: one for each item of the lists that paths name, as ``sentences[].label``."""
    heads = _list_heads(paths)
    if not heads:
        return [row]
    rows = [row]
    for heads_of_depth in heads:
        inner_rows: list[Row] = []
        for outer_row in rows:
            inner_rows.extend(_items_of(outer_row, heads_of_depth, place))
        rows = inner_rows
    if rows == [row]:
        return rows
    group = text_hash(json.dumps(row, sort_keys=True, default=str))[:12]
    return [{"group": group, **inner_row} for inner_row in rows]


def _list_heads(paths: Iterable[str]) -> list[list[str]]:
    """Return the lists that paths go through, outer ones first: ``a[].b[].c`` goes through ``a[]`` and ``a[].b[]``."""
    by_depth: list[list[str]] = []
    for path in paths:
        ends = [hit.end() for hit in re.finditer(re.escape(EACH), path)]
        for depth, end in enumerate(ends):
            if depth == len(by_depth):
                by_depth.append([])
            if path[:end] not in by_depth[depth]:
                by_depth[depth].append(path[:end])
    return by_depth


def _items_of(row: Row, heads: Sequence[str], place: Place | None) -> list[Row]:
    """Return a row for each item of one list, or of several lists of one length, read side by side."""
    lists: dict[str, list[object]] = {}
    for head in heads:
        value = cell(read_path(row, head.removesuffix(EACH)))
        if isinstance(value, list):
            lists[head] = value
    if not lists:
        return [row]
    if len(set(map(len, lists.values()))) > 1:
        sizes = " and ".join(f"{head.removesuffix(EACH)} {len(items)}" for head, items in lists.items())
        where = place or Place("")
        raise where.wrong(
            f"lists that are read side by side have different lengths: {sizes}",
            hint="name columns of one list, or correct the row",
        )
    item_rows: list[Row] = []
    for items_side_by_side in zip(*lists.values(), strict=True):
        item_row = dict(row)
        item_row.update(zip(lists, items_side_by_side, strict=True))
        item_rows.append(item_row)
    return item_rows


def flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of everything in a row; items of a short list are ``outputs.0``, ``outputs.1``."""
    for name, content in row.items():
        value = content
        steps: list[str] = []
        if isinstance(content, list):
            value = _counting(row, name)
            steps = _item_steps(value)
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{start}{name}.")
        elif steps:
            for step, item in zip(steps, value, strict=True):
                yield from flat({f"{name}{step}": item}, start)
        else:
            yield f"{start}{name}", value


def paths_within(row: Mapping[str, Any]) -> list[str]:
    """Return the paths into what the columns of a row hold, also as JSON in a cell; of messages one for each role."""
    paths: list[str] = []
    for name, content in row.items():
        value = cell(content)
        if isinstance(value, Mapping):
            paths.extend(path for path, _ in flat({name: value}))
        elif isinstance(value, list) and as_text(value) is not value:
            turns = [turn for turn in value if isinstance(turn, Mapping)]
            roles = dict.fromkeys(turn["role"] for turn in turns if "role" in turn and "content" in turn)
            paths.extend(f"{name}[role={role}].content" for role in roles)
        elif isinstance(value, list):
            paths.extend(path for path, _ in flat({name: value}) if path != name)
    return paths


def _item_steps(items: Sequence[object]) -> list[str]:
    """Return the step to each item of a list: ``[from_name=verdict]`` or ``.0``; none for chats and long lists."""
    if as_text(items) is not items:  # a chat is one text
        return []
    for key in _ITEM_NAMES:
        names = _distinct_names(items, key)
        if names and len(names) <= _NAMED_LIST:
            return [f"[{key}={name}]" for name in names]
    if len(items) <= _SHORT_LIST:
        return [f".{place}" for place in range(len(items))]
    return []


def _distinct_names(items: Sequence[object], key: str) -> list[str]:
    """Return the name of each item under a key; none where an item has no name that can stand in a path of its own."""
    names: dict[str, None] = {}
    for item in items:
        if not isinstance(item, Mapping):
            return []
        name = item.get(key)
        if not isinstance(name, str) or not name or not set(name).isdisjoint("[]="):
            return []
        names[name] = None
    if len(names) < len(items):  # two items have one name
        return []
    return list(names)
