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


def _value_at(value: Any, steps: Sequence[str]) -> Any:
    if not steps:
        return value
    value = cell(value)
    if isinstance(value, Mapping):
        for length in range(len(steps), 0, -1):  # a name that holds dots itself goes first
            name = ".".join(steps[:length])
            if name in value:
                found = _value_at(_counting(value, name), steps[length:])
                if found is not None:
                    return found
        name, conditions = _condition(steps[0])
        if conditions and name in value:
            return _value_at(_item_where(_counting(value, name), conditions), steps[1:])
    elif isinstance(value, list) and steps[0].isdecimal() and int(steps[0]) < len(value):
        return _value_at(value[int(steps[0])], steps[1:])
    return None


def _condition(step: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the name and the conditions of a step: ``result[from_name=verdict]`` is ``result``, from_name, verdict."""
    return step.partition("[")[0], _CONDITION.findall(step)


def _item_where(items: Any, conditions: Sequence[tuple[str, str]]) -> Any:
    """Return the first item of a list that meets all conditions; ``None`` without one."""
    for item in items if isinstance(items, list) else ():
        if all(str(as_text(read_path(item, path))) == text for path, text in conditions):
            return item
    return None


def _counting(row: Mapping[str, Any], name: str) -> Any:
    """Return a value of a row, of a list of annotations those that people did not take back."""
    value = cell(row[name])
    if not isinstance(value, list):
        return row[name]
    # Argilla's flat export has the status of each response in a column of its own
    statuses = cell(row.get(f"{name}.status"))
    if isinstance(statuses, list) and len(statuses) == len(value):
        return [item for item, status in zip(value, statuses, strict=True) if status == _SUBMITTED]
    return [item for item in value if _counts(item)]


def is_taken_back(row: Mapping[str, Any]) -> bool:
    """Whether an annotation, or a row that is one, says of itself that it was skipped, ignored or rejected."""
    if str(row.get("was_cancelled", "")).casefold() == "true":
        return True
    return "_task_hash" in row and row.get("answer") in _TAKEN_BACK


def _counts(item: Any) -> bool:
    """Whether an item of a list is no annotation, or one that counts."""
    if not isinstance(item, Mapping):
        return True
    is_response = "status" in item and ("values" in item or {"value", "user_id"} <= item.keys())
    return not is_taken_back(item) and (not is_response or item["status"] == _SUBMITTED)


def by_names(row: Mapping[str, Any], path: str) -> str:
    """Return a path that finds items of lists by their names, where it finds them by their places."""
    value: Any = row
    named = ""
    for step in _STEP.findall(path):
        value = cell(value)
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            names = _item_steps(value)
            named += names[int(step)] if names else f".{step}"
            value = value[int(step)]
        elif isinstance(value, Mapping) and step in value:
            named += f".{step}"
            value = _counting(value, step)
        else:
            return path
    return named.removeprefix(".")


def has_column(row: Any, path: str) -> bool:
    """Whether a row has a column, or a value at a path, of lists in any of their items."""
    if not isinstance(row, Mapping):
        return False
    if path in row:
        return True
    if ("." in path or "[" in path) and read_path(row, path) is not None:
        return True
    start, each, rest = path.partition(EACH)
    if not each:
        return False
    items = cell(read_path(row, start))
    for item in items if isinstance(items, list) else ():
        if not rest or has_column(item, rest.removeprefix(".")):
            return True
    return False


def rows_within(row: Row, paths: Iterable[str], place: Place | None = None) -> list[Row]:
    """Return the rows that a row holds: one for each item of the lists that paths name, as ``sentences[].label``."""
    heads = _list_heads(paths)
    if not heads:
        return [row]
    rows = [row]
    for of_depth in heads:
        rows = [inner for outer in rows for inner in _items_of(outer, of_depth, place)]
    if rows == [row]:
        return rows
    group = text_hash(json.dumps(row, sort_keys=True, default=str))[:12]
    return [{"group": group, **inner} for inner in rows]


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
    lists: dict[str, list[Any]] = {}
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
    count = len(next(iter(lists.values())))
    return [{**row, **{head: items[at] for head, items in lists.items()}} for at in range(count)]


def flat(row: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of everything in a row; items of a short list are ``outputs.0``, ``outputs.1``."""
    for name, whole in row.items():
        value = _counting(row, name) if isinstance(whole, list) else whole
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{start}{name}.")
        elif isinstance(value, list) and (steps := _item_steps(value)):
            for step, item in zip(steps, value, strict=True):
                yield from flat({f"{name}{step}": item}, start)
        else:
            yield f"{start}{name}", value


def _item_steps(items: Sequence[Any]) -> list[str]:
    """Return the step to each item of a list: ``[from_name=verdict]`` or ``.0``; none for chats and long lists."""
    if as_text(items) is not items:  # a chat is one text
        return []
    for key in _ITEM_NAMES:
        names = [item.get(key) if isinstance(item, Mapping) else None for item in items]
        usable = all(isinstance(name, str) and name and not set(name) & set("[]=") for name in names)
        if usable and len(set(names)) == len(names) <= _NAMED_LIST:
            return [f"[{key}={name}]" for name in names]
    return [f".{place}" for place in range(len(items))] if len(items) <= _SHORT_LIST else []
