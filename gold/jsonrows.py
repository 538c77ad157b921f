"""Rows from JSON: lines, an array, or one object that is laid out over several lines."""

import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import GoldError
from .decoding import unreadable
from .rowtypes import Found, Row

_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*+"?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')
_DEEPEST = 100
"""Lists and objects that may stand in each other."""
_LAID_OUT = 64 * 1024 * 1024
"""Characters up to which a file may be one object over several lines: the rest of it is lines."""


def json_rows(lines: Iterator[str], path: str, *, array: bool) -> Iterator[Found]:
    """Return the rows of a text, line by line; an array is read whole."""
    numbered = _numbered(lines, 1)
    first, line = next(numbered)
    if array:
        text = "\n" * (first - 1) + line + "".join(lines)
        if error := unreadable(text, path, 1):
            raise error
        for number, item in _array(text, path):
            yield number, _object(item, path, number)
        return
    if not _is_json(line):
        text, lines = _laid_out(line, lines)
        whole = _one_object(text, path, first) if "\n" in text.strip() else None
        if whole is not None:
            yield first, whole
            return
        lines = itertools.chain(text.split("\n"), lines)
        numbered = _numbered(lines, first)
    else:
        numbered = itertools.chain([(first, line)], numbered)
    yield from _objects(numbered, path)


def _numbered(lines: Iterator[str], first: int) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, first) if line.strip())


def parse_json(text: str, path: str, *, first_line: int = 1) -> Any:
    """Return one JSON value."""
    try:
        found = _READER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(error.msg, path, first_line + error.lineno - 1, error.colno) from error
    except _TwiceError as error:
        raise _twice(error, path, first_line) from error
    except ValueError as error:
        raise _too_long(text, path, first_line) from error
    except RecursionError as error:
        raise _too_deep(path, first_line) from error
    if _is_too_deep(found):
        raise _too_deep(path, first_line)
    return found


class _TwiceError(ValueError):
    """A key stands twice in one object; the argument is the key."""


def _said_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


_READER = json.JSONDecoder(object_pairs_hook=_said_once)


def _twice(error: _TwiceError, path: str, line: int) -> GoldError:
    what, hint = "an object gives this key twice", "keep one of the two values"
    return GoldError(what, path=path, line=line, field=str(error)[:80], hint=hint)


def _too_deep(path: str, line: int) -> GoldError:
    return GoldError("the JSON is nested too deeply", path=path, line=line, hint="flatten the row")


def _is_too_deep(value: Any) -> bool:
    """Whether lists and objects stand in each other deeper than whoever writes the row again could follow."""
    level = [value]
    for _ in range(_DEEPEST):
        parts = [
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)
        ]
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _broken(message: str, path: str, line: int, column: int) -> GoldError:
    hint = "write one JSON object per line, or one JSON array of objects"
    return GoldError(f"broken JSON at column {column}: {message}", path=path, line=line, hint=hint)


def _too_long(text: str, path: str, first_line: int) -> GoldError:
    """Return the error of an integer that Python refuses to read: it says neither which nor where."""
    limit = sys.get_int_max_str_digits()
    long = (one for one in _STRING_OR_NUMBER.finditer(text) if one[0].isdigit() and len(one[0]) > limit)
    found = next(long, None)
    line = first_line + (text.count("\n", 0, found.start()) if found else 0)
    return GoldError(
        f"an integer has more than {limit} digits", path=path, line=line, hint="write it as a string"
    )


def _objects(lines: Iterable[tuple[int, str]], path: str) -> Iterator[Found]:
    for number, line in lines:
        found: Row | GoldError | None = unreadable(line, path, number)
        if found is None:
            try:
                found = _object(parse_json(line.removesuffix("\n"), path, first_line=number), path, number)
            except GoldError as error:
                found = error
        yield number, found


def _object(item: Any, path: str, line: int) -> Row | GoldError:
    if isinstance(item, dict):
        return item
    said = f"a row must be a JSON object, got {type(item).__name__}"
    return GoldError(said, path=path, line=line, hint="write {...}")


def _is_json(line: str) -> bool:
    """Whether a line stands for itself; a number that is too long does not make it other than JSON."""
    try:
        json.loads(line)
    except ValueError as error:
        return not isinstance(error, json.JSONDecodeError)
    except RecursionError:
        pass
    return True


def _laid_out(first: str, lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the text of as many lines as one object may have, and those that are left."""
    kept, size = [first], len(first)
    for line in lines:
        kept.append(line)
        size += len(line)
        if size > _LAID_OUT:
            return "".join(kept).removesuffix("\n"), lines
    return "".join(kept), iter(())


def _one_object(text: str, path: str, first_line: int) -> Row | None:
    """Return the single object that a file holds, or ``None`` if it is lines, or broken."""
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    except ValueError as error:
        raise _too_long(text, path, first_line) from error
    if isinstance(whole, dict):
        parse_json(text, path, first_line=first_line)
    return whole if isinstance(whole, dict) and unreadable(text, path, first_line) is None else None


def _array(text: str, path: str) -> list[tuple[int, Any]]:
    items = parse_json(text, path)
    if not items:
        raise GoldError("the array is empty", path=path, hint="give a file with at least one row")
    lines = list(_item_lines(text, len(items)))
    return list(zip(lines if len(set(lines)) == len(lines) else range(1, len(items) + 1), items, strict=True))


def _item_lines(text: str, count: int) -> Iterator[int]:
    decoder, position, line = json.JSONDecoder(), text.index("[") + 1, 1
    counted = 0
    for _ in range(count):
        while text[position] in " \t\r\n,":
            position += 1
        line += text.count("\n", counted, position)
        counted = position
        yield line
        _, position = decoder.raw_decode(text, position)
