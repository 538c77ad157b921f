"""What the text of a reply says, and nothing that it does not say: drafts, halves and contradictions are no answer.

DSPy reads replies generously: it takes the first of two headers, completes JSON that was cut off, and
takes ``on`` and ``1`` for True. A judge's label must have been said. Knows types, no signatures and no formats.
"""

from __future__ import annotations

import enum
import json
import re
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, Union, get_args, get_origin

import dspy
import pydantic
from dspy.adapters.utils import parse_value

__all__ = ["ContradictionError", "decode", "pieces", "said_once", "value_of", "without_drafts"]

_TAG = re.compile(r"<(/?)(think|thinking)>", re.IGNORECASE)
_MARK = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_CHOICE = re.compile(r"(?:Literal|str)\[(.*)\]|([\"'])(.*)\2", re.DOTALL)
_PYTHON = re.compile(
    r"""'(?P<quoted>(?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|\b(?:True|False|None)\b|,(?=\s*[}\]])""", re.DOTALL
)
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}


class ContradictionError(ValueError):
    """Something was said twice, with different values."""


def without_drafts(text: str, fields: Collection[str] = ()) -> str:
    """Return what a reply says outside ``<think>...</think>``.

    What follows a ``<think>`` without end is a draft, and what comes before an end without beginning.

    Args:
        text: the reply.
        fields: names that are output fields, and so are no drafts.
    """
    kept: list[str] = []
    depth = end = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() in fields:
            continue
        if depth == 0:
            kept.append(text[end : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()
        end = tag.end()
    return "".join(kept) + (text[end:] if depth == 0 else "")


def pieces(text: str, opening: str) -> Iterator[str]:
    """Return each outermost JSON structure of a text that begins with one of the brackets in ``opening``.

    Raises:
        ValueError: the last one has no end.
    """
    depth = start = 0
    quoted = False
    for found in _MARK.finditer(text):
        mark = found.group()
        if quoted:
            quoted = mark != '"'
        elif mark == '"':
            quoted = depth > 0
        elif mark in "{[" and (depth or mark in opening):
            start, depth = start if depth else found.start(), depth + 1
        elif mark in "}]" and depth:
            depth -= 1
            if not depth:
                yield text[start : found.end()]
    if depth:
        raise ValueError("its JSON has no end")


def decode(text: str) -> Any:
    """Return what a whole text is as JSON, or as a Python literal, which prompts of DSPy ask for.

    Raises:
        ContradictionError: an object has a key twice, with different values.
        ValueError: it is neither.
    """
    try:
        return json.loads(text, strict=False, object_pairs_hook=said_once)
    except json.JSONDecodeError:
        pass
    try:
        return json.loads(_PYTHON.sub(_as_json, text), strict=False, object_pairs_hook=said_once)
    except json.JSONDecodeError as error:
        raise ValueError("its JSON cannot be read") from error


def said_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return name -> value.

    Raises:
        ContradictionError: a name has several values.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and not _same(found[name], value):
            raise ContradictionError(f"{name!r} is given twice, with different values")
        found[name] = value
    return found


def value_of(given: Any, annotation: Any) -> Any:
    """Return a field's value as its type.

    Args:
        given: text, or what JSON held.
        annotation: the type.

    Raises:
        ValueError: it is not of that type. Only True and False are booleans, and they are no numbers.
    """
    if get_origin(annotation) is Literal:
        return _choice(given, get_args(annotation))
    if annotation is str or _by_dspy(annotation):
        return parse_value(given, annotation)
    raw = _data(given) if isinstance(given, str) and not _may_be_text(annotation) else given
    value = pydantic.TypeAdapter(annotation).validate_python(raw)
    _check_booleans(raw, value)
    return value


def _may_be_text(annotation: Any) -> bool:
    return get_origin(annotation) in (Union, types.UnionType) and str in get_args(annotation)


def _by_dspy(annotation: Any) -> bool:
    """Whether a type has a parser of its own."""
    return isinstance(annotation, enum.EnumMeta) or (
        isinstance(annotation, type) and issubclass(annotation, dspy.Type)
    )


def _choice(given: Any, allowed: tuple[Any, ...]) -> Any:
    if isinstance(given, str):
        text = given.strip()
        if quoted := _CHOICE.fullmatch(text):
            text = quoted[1] or quoted[3] or ""
            text = text.strip("\"'") if quoted[1] else text
        given = text if text in allowed else _data(text)
    for one in allowed:
        if _same(one, given):
            return one
    raise ValueError(f"{str(given)[:100]!r} is none of {', '.join(map(str, allowed))}")


def _data(text: str) -> Any:
    """Return the data in a text: all of it, or the one structure that it holds; else the text itself."""
    try:
        return decode(text)
    except ContradictionError:
        raise
    except ValueError:
        found = list(pieces(text, "{["))
    if len(found) > 1:
        raise ValueError("it holds several JSON values")
    return decode(found[0]) if found else text.strip()


def _as_json(token: re.Match[str]) -> str:
    if token["quoted"] is not None:
        return '"' + re.sub(r"\\'|\"", lambda mark: "'" if mark[0] == "\\'" else '\\"', token["quoted"]) + '"'
    return _WORDS.get(token[0], "" if token[0] == "," else token[0])


def _same(one: Any, two: Any) -> bool:
    """Whether two values are equal and of one type: 1 is not True."""
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _check_booleans(raw: Any, value: Any) -> None:
    """Refuse what a lax reading makes of booleans, at whatever depth."""
    if isinstance(value, pydantic.BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping) and isinstance(raw, Mapping):
        for name in value.keys() & raw.keys():
            _check_booleans(raw[name], value[name])
    elif isinstance(value, list | tuple) and isinstance(raw, list | tuple):
        for one, two in zip(raw, value, strict=False):
            _check_booleans(one, two)
    elif isinstance(raw, bool) != isinstance(value, bool):
        word = raw.strip().lower() if isinstance(raw, str) else ""
        if not (isinstance(value, bool) and word in ("true", "false")):
            raise ValueError(
                f"{str(raw)[:100]!r} is not {'True or False' if isinstance(value, bool) else 'a number'}"
            )
