"""Shapes: what values a declared field takes, read from the JSON schema of its type and from its description."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, TypeAlias

import dspy
from pydantic import TypeAdapter

Kind = Literal[
    "bool", "label", "labels", "echo", "tags", "tag", "bools", "indices", "texts", "score", "number", "objects",
    "preference", "map", "text",
]  # fmt: skip
"""The kind of a field's values. One value: ``bool``; ``label`` of a closed set; ``preference`` for the first or the
second input; ``score`` on a range; ``number``, whole and without a range; ``text``; ``echo``, a text whose lines stand
in tags named by labels; ``tag``, an object with declared properties; ``map``, an object without. Lists: ``labels``,
``bools``, ``indices`` (whole numbers), ``texts``, ``tags`` (objects with a number and a label), ``objects``."""
Schema: TypeAlias = Mapping[str, Any]
"""A JSON schema."""

TRUTH: Final = ("True", "False")
"""The labels of a ``bool``."""
_ITEM_KINDS: Final[Mapping[Kind, Kind]] = {"label": "labels", "bool": "bools", "number": "indices"}
"""Kind of a list's items -> kind of the list."""
_SIDES: Final = frozenset({"first", "second"})
_SIDES_OR_TIE: Final = frozenset({"first", "second", "tie"})
_ONE_OF: Final = re.compile(r"one of:?\s*(.+?)(?:[.\n]|$)", re.I)
_RANGE: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:to|-|–|~|and)\s*(\d+(?:\.\d+)?)")
_LABEL_LIMIT: Final = 60  # characters from which on an entry of a described list is no label
_REFERENCE_LIMIT: Final = 8  # steps from a schema to what it refers to


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The values that a field or a property takes."""

    kind: Kind
    labels: tuple[str, ...] = ()  # the labels of a closed set
    parts: tuple["Field", ...] = ()  # the properties of an object, or of the objects of a list
    low: float = 0.0  # the lowest score
    high: float = 1.0  # the highest score
    is_integer: bool = False  # whether scores are whole numbers
    levels: tuple[float, ...] = ()  # the possible scores, ascending; empty if all between low and high are

    def score_at(self, share: float) -> float:
        """Return the score at a share of the range; a share is from 0 (``low``) to 1 (``high``)."""
        score = self.low + (self.high - self.low) * share
        if self.is_integer:
            return round(score)
        return round(score, 3)

    def share_of(self, score: float) -> float:
        """Return the share of the range at which a score lies, 0 to 1; 0 for a range without extent."""
        if self.high <= self.low:
            return 0.0
        share = (score - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def part_name(self, kind: Kind) -> str:
        """Return the name of the first property of a kind, or ``""``."""
        for part in self.parts:
            if part.shape.kind == kind:
                return part.name
        return ""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A declared field or property: its name, description, and the shape of its value."""

    name: str
    description: str
    shape: Shape


def declared_field(name: str, info: Any) -> Field:
    """Return a signature's field with its description and the shape of its values; ``info`` is pydantic's."""
    description = _description_of(name, info.json_schema_extra or {})
    annotation: Any = str if info.annotation is dspy.Reasoning else info.annotation
    if info.metadata:
        schema: Schema = TypeAdapter(Annotated[(annotation, *info.metadata)]).json_schema()
    else:
        schema = _schema_of_type(annotation)
    shape = _shape_of(schema, schema.get("$defs", {}), description)
    return Field(name=name, description=description, shape=shape)


def _description_of(name: str, extra: Schema) -> str:
    """Return a field's description and constraints without blank lines; DSPy's placeholder describes nothing."""
    description = extra.get("desc") or ""
    if description == f"${{{name}}}":
        description = ""
    text = f"{description}"
    if extra.get("constraints"):
        text += f"\nConstraints: {extra['constraints']}"
    return "\n".join(filled_lines(text))


def filled_lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without the spaces around them."""
    lines: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped:
            lines.append(stripped)
    return lines


@lru_cache(maxsize=256)
def _schema_of_type(annotation: Any) -> Schema:
    """Return the JSON schema of a type, cached: every candidate's instruction makes a new signature of equal types."""
    return TypeAdapter(annotation).json_schema()


def _shape_of(schema: Schema, definitions: Schema, description: str) -> Shape:
    """Return the shape of a schema's values; only numbers and texts look at the description."""
    schema = _resolve_schema(schema, definitions)
    values: Sequence[Any] | None = schema.get("enum")
    if not values and "const" in schema:
        values = [schema["const"]]
    if values:
        return _closed_shape(values)
    match schema.get("type"):
        case "boolean":
            return Shape(kind="bool", labels=TRUTH)
        case "array":
            return _list_shape(_shape_of(schema.get("items", {}), definitions, ""))
        case "object":
            return _object_shape(schema, definitions)
        case "integer":
            return _number_shape(schema, description, is_integer=True)
        case "number":
            return _number_shape(schema, description, is_integer=False)
    return _text_shape(description)


def _resolve_schema(schema: Schema, definitions: Schema) -> Schema:
    """Return a schema after following its references; of an ``anyOf``, the first option that is not null."""
    for _ in range(_REFERENCE_LIMIT):
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = _first_option(schema["anyOf"])
        else:
            break
    return schema


def _first_option(schemas: Sequence[Schema]) -> Schema:
    """Return the first of several schemas that is not that of null; an empty one if there is none."""
    for schema in schemas:
        if schema.get("type") != "null":
            return schema
    return {}


def _closed_shape(values: Sequence[Any]) -> Shape:
    """Return the shape of a closed set: levels of a score if all are numbers, else labels."""
    if not any(isinstance(value, str | bool) for value in values):
        levels = tuple(sorted(float(value) for value in values))
        is_integer = all(isinstance(value, int) for value in values)
        return Shape(kind="score", low=levels[0], high=levels[-1], is_integer=is_integer, levels=levels)
    labels = tuple(str(value) for value in values)
    if _SIDES <= set(labels) <= _SIDES_OR_TIE:
        return Shape(kind="preference", labels=labels)
    return Shape(kind="label", labels=labels)


def _list_shape(item: Shape) -> Shape:
    """Return the shape of a list by that of its items."""
    if item.kind != "tag":
        return Shape(kind=_ITEM_KINDS.get(item.kind, "texts"), labels=item.labels)
    if item.part_name("number") and item.labels:
        return replace(item, kind="tags")
    return replace(item, kind="objects")


def _object_shape(schema: Schema, definitions: Schema) -> Shape:
    """Return the shape of an object: its properties, and the labels of the one that holds its label."""
    parts: list[Field] = []
    for name, part in schema.get("properties", {}).items():
        shape = _shape_of(part, definitions, part.get("description", ""))
        parts.append(Field(name=name, description="", shape=shape))
    if not parts:
        return Shape(kind="map")
    return Shape(kind="tag", labels=_labels_of_parts(parts), parts=tuple(parts))


def _labels_of_parts(parts: Sequence[Field]) -> tuple[str, ...]:
    """Return the labels of the first property that has a closed set, else those of the first flag."""
    for kind in ("label", "bool"):
        for part in parts:
            if part.shape.kind == kind:
                return part.shape.labels
    return ()


def _number_shape(schema: Schema, description: str, *, is_integer: bool) -> Shape:
    """Return the shape of a number; its ends are the declared ones, else a described range ("0 to 10"), else 0 and 1.

    A whole number with neither declared nor described range is a ``number``, all else a ``score``.
    """
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    is_bounded = low is not None and high is not None
    described_low, described_high = 0.0, 1.0
    described = _RANGE.search(description)
    if described:
        is_bounded = True
        described_low, described_high = sorted((float(described[1]), float(described[2])))
    if low is None:
        low = described_low
    if high is None:
        high = described_high
    kind: Kind = "number" if is_integer and not is_bounded else "score"
    return Shape(kind=kind, low=float(low), high=float(high), is_integer=is_integer)


def _text_shape(description: str) -> Shape:
    """Return the shape of a text: one of described labels, an echo if these are described as tags, or free text."""
    labels = _described_labels(description)
    if len(labels) < 2:
        return Shape(kind="text")
    closing_tags = re.findall(r"</(\w+)>", description)
    if not set(labels).isdisjoint(closing_tags):
        return Shape(kind="echo", labels=labels)
    return Shape(kind="label", labels=labels)


def _described_labels(description: str) -> tuple[str, ...]:
    """Return the labels that a description lists after "one of", each once."""
    match = _ONE_OF.search(description)
    if not match:
        return ()
    listing = match[1].strip()
    separator = ";" if ";" in listing else r",|(?<=\s)or(?=\s)"
    labels: dict[str, None] = {}
    for piece in re.split(separator, listing):
        label = re.sub(r"^(?:or|and)\s+", "", piece.strip()).strip(" `'\"()")
        if label and len(label) < _LABEL_LIMIT:
            labels[label] = None
    return tuple(labels)
