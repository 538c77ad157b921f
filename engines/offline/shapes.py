"""The shape of an output field: what values it takes, read from its type, its note and description.

``bool``, a closed label set (``Literal`` or an enum), a list of labels (one per numbered line), a
list of objects that carry a number and a label, a list of pieces of the claim (text, kind of wording,
verified or not), a list of line numbers, a number, or free text.
The XML adapter shows no enum for objects; then the labels come from the field's description,
written as ``one of: a; b; c``.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from .echo import is_echo
from .pieces import wording_kind

__all__ = ["Kind", "Shape", "parse_shape"]

Kind = Literal[
    "bool", "label", "labels", "echo", "tags", "tag", "pieces", "bools", "indices", "texts", "number", "map", "text"
]  # fmt: skip

_ONE_OF: Final = re.compile(r"one of:?\s*(.+?)(?:[.。\n]|$)|其中之一[:：]?\s*(.+?)(?:[。\n]|$)", re.I)
_LITERAL: Final = re.compile(r"Literal\[(.*)\]", re.S)
_RANGE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:to|-|–|~|到|至|and)\s*(\d+(?:\.\d+)?)")
_CHILD: Final = re.compile(r"<(\w+)>\.\.\.</\1>")
_NUMBER_NAMES: Final = (
    "n", "number", "index", "idx", "i", "id", "no", "num", "sentence_number", "line", "position",
    "序号", "编号",
)  # fmt: skip
_LABEL_NAMES: Final = ("label", "verdict", "tag", "category", "type", "kind", "class", "标签", "类型")
_FLAG_NAMES: Final = ("verified", "已核实")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The values a field takes.

    Attributes:
        kind: which shape.
        labels: the closed set, for labels, tags and pieces; empty when the request does not show it.
        parts: for tags and pieces, (property name, role) in order, role one of number, label, flag, score, text.
        low, high: the range of a number.
        whole: whether a number must be an integer.
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False


def parse_shape(type_text: str, note: str, description: str) -> Shape:
    """Return the shape of a field.

    Args:
        type_text: the type as the adapter names it, e.g. ``list[Literal['a', 'b']]``.
        note: what the adapter's structure says about the value, or the nested XML skeleton.
        description: the field's own description.
    """
    kind = _plain_type(type_text)
    described = _one_of(description)
    labels = _literal(kind) or _one_of(note)
    if kind == "bool":
        return Shape(kind="bool", labels=("True", "False"))
    if kind in ("int", "float"):
        return _number(kind, description)
    if kind == "str" and is_echo(description, described):
        return Shape(kind="echo", labels=described)
    if kind == "str":
        return Shape(kind="label", labels=described) if len(described) > 1 else Shape(kind="text")
    if kind.startswith("dict"):
        return Shape(kind="map")
    if not kind.startswith("list"):
        if labels:
            return Shape(kind="label", labels=labels)
        return _objects(note, described, "tag")
    if kind == "list[int]":
        return Shape(kind="indices")
    if kind == "list[bool]":
        return Shape(kind="bools", labels=("True", "False"))
    if labels and "Literal" in kind:
        return Shape(kind="labels", labels=labels)
    if kind == "list[str]":
        return Shape(kind="labels", labels=described) if len(described) > 1 else Shape(kind="texts")
    return _as_pieces(_objects(note, described, "tags"))


def _as_pieces(shape: Shape) -> Shape:
    """Objects without a number, with a flag, whose label says what sort of wording a text is, are pieces."""
    roles = [role for _, role in shape.parts]
    sorts = [wording_kind(label) for label in shape.labels]
    asked = "number" not in roles and {"text", "label", "flag"} <= set(roles)
    return replace(shape, kind="pieces") if asked and len(sorts) > 1 and None not in sorts else shape


def _plain_type(text: str) -> str:
    """Strip optionality: ``Union[bool, NoneType]`` and ``bool | None`` are bool here."""
    text = text.strip()
    match = re.fullmatch(r"(?:Union|Optional)\[(.*)\]", text, re.S)
    text = match.group(1) if match else text
    return re.sub(r"\s*[,|]\s*(?:None|NoneType)\s*$", "", text).strip()


def _literal(kind: str) -> tuple[str, ...]:
    match = _LITERAL.search(kind)
    if not match:
        return ()
    body = match.group(1)
    body = body[:-1] if body.endswith("]") and body.count("[") < body.count("]") else body
    try:
        return tuple(str(value) for value in ast.literal_eval(f"[{body}]"))
    except (ValueError, SyntaxError):
        return ()


def _one_of(text: str) -> tuple[str, ...]:
    match = _ONE_OF.search(text)
    if not match:
        return ()
    body = (match.group(1) or match.group(2)).strip()
    pieces = (
        re.split(r"\s*[;；、]\s*", body)
        if re.search("[;；、]", body)
        else re.split(r"\s*,\s*|\s+or\s+", body)
    )
    labels = [re.sub(r"^(?:or|and)\s+", "", piece).strip(" `'\"()") for piece in pieces]
    return tuple(dict.fromkeys(label for label in labels if label and len(label) < 60))


def _number(kind: str, description: str) -> Shape:
    found = _RANGE.search(description)
    low, high = (float(found.group(1)), float(found.group(2))) if found else (0.0, 1.0)
    return Shape(kind="number", low=min(low, high), high=max(low, high), whole=kind == "int")


def _objects(note: str, described: tuple[str, ...], kind: Kind) -> Shape:
    start = note.find("{")
    if start >= 0:
        try:
            schema = json.JSONDecoder().raw_decode(note[start:])[0]
        except ValueError:
            schema = {}
        return _from_schema(schema, described, kind)
    parts = tuple((name, _role_by_name(name)) for name in _CHILD.findall(note) if name != "item")
    if parts and described and not any(role == "label" for _, role in parts):
        free = [name for name, role in parts if role == "text"]
        parts = tuple((name, "label" if free[:1] == [name] else role) for name, role in parts)
    return Shape(kind=kind, labels=described, parts=parts) if parts else Shape(kind="text")


def _role_by_name(name: str) -> str:
    lowered = name.lower()
    if lowered in _NUMBER_NAMES:
        return "number"
    return "label" if lowered in _LABEL_NAMES else "flag" if lowered in _FLAG_NAMES else "text"


def _from_schema(schema: dict[str, Any], described: tuple[str, ...], kind: Kind) -> Shape:
    definitions = schema.get("$defs", {})
    item = _resolve(schema.get("items", {}) if schema.get("type") == "array" else schema, definitions)
    parts: list[tuple[str, str]] = []
    labels: tuple[str, ...] = ()
    for name, raw in _in_order(item):
        child = _resolve(raw, definitions)
        role = {"integer": "number", "boolean": "flag", "number": "score"}.get(child.get("type", ""), "text")
        values = child.get("enum") or ([child["const"]] if "const" in child else [])
        if values and not labels:
            labels, role = tuple(str(value) for value in values), "label"
        elif role == "text" and _role_by_name(name) == "label" and described and not labels:
            labels, role = described, "label"
        parts.append((name, role))
    return Shape(kind=kind, labels=labels, parts=tuple(parts)) if parts else Shape(kind="text")


def _in_order(item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """DSPy sorts properties by name; ``required`` keeps the order in which they were written."""
    properties: dict[str, Any] = item.get("properties", {})
    order = [name for name in item.get("required", []) if name in properties]
    return [(name, properties[name]) for name in [*order, *(n for n in properties if n not in order)]]


def _resolve(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    for _ in range(8):
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = next((s for s in schema["anyOf"] if s.get("type") != "null"), {})
        else:
            break
    return schema
