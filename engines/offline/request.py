"""A request as the engine reads it: fields, instruction, demonstrations, inputs, and their roles."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

import dspy
from pydantic import TypeAdapter

from ...text.terms import sentences
from ..draws import TypedRequest
from ..dspy_internals import format_field_value, serialize_for_json

Kind = Literal[
    "bool", "label", "labels", "echo", "tags", "tag", "bools", "indices", "texts", "score", "number", "objects",
    "preference", "map", "text",
]  # fmt: skip
Schema = Mapping[str, Any]

TRUTH: Final = ("True", "False")
_ONE_OF: Final = re.compile(r"one of:?\s*(.+?)(?:[.\n]|$)", re.I)
_RANGE: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:to|-|–|~|and)\s*(\d+(?:\.\d+)?)")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The values a field or a property takes: labels of a closed set, properties of objects, scores in a range."""

    kind: Kind
    labels: tuple[str, ...] = ()
    parts: tuple["Field", ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    levels: tuple[float, ...] = ()  # the scores there are, ascending; empty if all between low and high

    def at(self, share: float) -> float:
        """Return the score at a share of the range."""
        value = self.low + (self.high - self.low) * share
        return round(value) if self.whole else round(value, 3)

    def share(self, value: float) -> float:
        """Return where a score lies on the range, 0 to 1."""
        low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


@dataclass(frozen=True, kw_only=True)
class Field:
    """One declared field or property: its name, description, and the shape of its value."""

    name: str
    description: str
    shape: Shape


@lru_cache(maxsize=256)
def _schema(kind: Any) -> Schema:
    """Return the schema of a type: every candidate's instruction makes a new signature of the same ones."""
    return TypeAdapter(kind).json_schema()


def _field(name: str, info: Any) -> Field:
    extra = info.json_schema_extra or {}
    described = "" if extra.get("desc") == f"${{{name}}}" else extra.get("desc") or ""
    bounds = f"Constraints: {extra['constraints']}" if extra.get("constraints") else ""
    description = "\n".join(filter(None, map(str.strip, f"{described}\n{bounds}".splitlines())))
    kind: Any = str if info.annotation is dspy.Reasoning else info.annotation
    schema = TypeAdapter(Annotated[(kind, *info.metadata)]).json_schema() if info.metadata else _schema(kind)
    return Field(
        name=name, description=description, shape=_shape(schema, schema.get("$defs", {}), description)
    )


def _shape(schema: Schema, definitions: Schema, description: str) -> Shape:
    schema = _resolve(schema, definitions)
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if values and not any(isinstance(value, str | bool) for value in values):
        levels = tuple(sorted(map(float, values)))
        whole = all(isinstance(value, int) for value in values)
        return Shape(kind="score", low=levels[0], high=levels[-1], whole=whole, levels=levels)
    if values:
        labels = tuple(map(str, values))
        compares = {"first", "second"} <= set(labels) <= {"first", "second", "tie"}
        return Shape(kind="preference" if compares else "label", labels=labels)
    match schema.get("type"):
        case "boolean":
            return Shape(kind="bool", labels=TRUTH)
        case "array":
            return _listed(_shape(schema.get("items", {}), definitions, ""))
        case "object":
            parts = tuple(
                Field(name=name, description="", shape=_shape(part, definitions, part.get("description", "")))
                for name, part in schema.get("properties", {}).items()
            )
            closed = {part.shape.kind: part.shape.labels for part in reversed(parts)}
            labels = closed.get("label", closed.get("bool", ()))
            return Shape(kind="tag" if parts else "map", labels=labels, parts=parts)
        case "integer" | "number" as kind:
            return _numeric(schema, description, whole=kind == "integer")
    labels = _one_of(description)
    if len(labels) < 2:
        return Shape(kind="text")
    # Sentences in tags: one of the labels is shown as a tag.
    tagged = any(tag in labels for tag in re.findall(r"</(\w+)>", description))
    return Shape(kind="echo" if tagged else "label", labels=labels)


def _numeric(schema: Schema, description: str, *, whole: bool) -> Shape:
    """Return the shape of a number: of declared bounds, else of the described range ("0 to 10"), else of 0 and 1."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    described = _RANGE.search(description)
    least, most = sorted(map(float, described.groups())) if described else (0.0, 1.0)
    bounded = described is not None or (low is not None and high is not None)
    return Shape(
        kind="score" if bounded or not whole else "number",
        low=least if low is None else float(low),
        high=most if high is None else float(high),
        whole=whole,
    )


_LISTED: Final[Mapping[Kind, Kind]] = {"label": "labels", "bool": "bools", "number": "indices"}


def _listed(item: Shape) -> Shape:
    if item.kind == "tag":
        numbered = any(part.shape.kind == "number" for part in item.parts)
        return replace(item, kind="tags" if numbered and item.labels else "objects")
    return Shape(kind=_LISTED.get(item.kind, "texts"), labels=item.labels)


def _one_of(text: str) -> tuple[str, ...]:
    match = _ONE_OF.search(text)
    if not match:
        return ()
    body = match[1].strip()
    pieces = body.split(";") if ";" in body else re.split(r",|(?<=\s)or(?=\s)", body)
    labels = [re.sub(r"^(?:or|and)\s+", "", piece.strip()).strip(" `'\"()") for piece in pieces]
    return tuple(dict.fromkeys(label for label in labels if label and len(label) < 60))


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    for _ in range(8):
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = next((part for part in schema["anyOf"] if part.get("type") != "null"), {})
        else:
            break
    return schema


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration: the input texts and the outputs as JSON, by field name; those that were supplied."""

    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]

    def value(self, name: str) -> Any:
        """Return the value of an output, perhaps supplied as its JSON text; ``None`` if there is none."""
        raw = dict(self.outputs).get(name)
        value = None if raw is None else json.loads(raw)
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A request as the engine reads it: declared fields, demonstrations, and the case to answer."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    instruction: str
    demos: tuple[Demo, ...]
    values: dict[str, str]


def read_request(request: TypedRequest) -> Ask:
    """Read a typed request."""
    signature: Any = request.signature  # its metaclass hides from mypy that a class is hashable
    inputs, outputs, instruction = _declared(signature)
    groups = (signature.input_fields, signature.output_fields)
    # The demonstrations that the prompt shows: those with an input and an output at least.
    shown = [demo for demo in request.demos if all(any(name in demo for name in group) for group in groups)]
    return Ask(
        inputs=inputs,
        outputs=outputs,
        instruction=instruction,
        demos=tuple(_demo(signature, demo) for demo in shown),
        values=dict(_texts(signature, request.inputs)),
    )


@lru_cache(maxsize=256)
def _declared(signature: Any) -> tuple[tuple[Field, ...], tuple[Field, ...], str]:
    """Return input fields, output fields and the instruction of a signature."""
    groups = (signature.input_fields, signature.output_fields)
    inputs, outputs = (tuple(_field(name, info) for name, info in group.items()) for group in groups)
    return inputs, outputs, "\n".join(line.strip() for line in signature.instructions.strip().splitlines())


def _texts(signature: Any, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, info in signature.input_fields.items():
        if name in values:
            value = values[name]
            text = value if isinstance(value, str) else format_field_value(field_info=info, value=value)
            yield name, str(text).strip()


def _demo(signature: Any, demo: Mapping[str, Any]) -> Demo:
    outputs = tuple(
        (name, json.dumps(demo[name], ensure_ascii=False, default=serialize_for_json))
        for name in signature.output_fields
        if demo.get(name) is not None
    )
    return Demo(inputs=tuple(_texts(signature, demo)), outputs=outputs)


# Ranked: an earlier line wins over a later one; fields of the same line are read together.
_EVIDENCE: Final = (
    "reference evidence document documents source sources knowledge passage passages article policy "
    "transcript facts grounding retrieved",
    "conversation context contexts premise text correct_answer",
    "dialogue dialog history chat",
)
_JUDGED: Final = (
    "claim claims statement statements sentence sentences hypothesis assertion",
    "constraint constraints criterion criteria item items",
    "response answer reply summary prediction candidate output completion",
)
_UNRANKED: Final = 99
_NUMBERED: Final = re.compile(r"[ \t]*(?:(\d{1,5})[.):][ \t]*(?=\S)|[\[<(](\d{1,5})[\])>][ \t]*)")
_WRAPPED: Final = re.compile(r"<>(.*)</>", re.S)
_PLURAL: Final = ("sentences", "statements", "claims", "units", "lines", "items", "constraints", "criteria")
_LIST_KINDS: Final = ("labels", "tags", "bools", "indices", "texts")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One thing to judge: its number (1-based, as written) and its text."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Field names by role."""

    evidence: tuple[str, ...]
    judged: str
    context: tuple[str, ...]


def _rank(name: str, table: tuple[str, ...]) -> int:
    """Return in which line of a table a field's name, or a word of it, stands first."""
    words = {*name.lower().split("_"), name.lower()}
    return next((rank for rank, line in enumerate(table) if words & set(line.split())), _UNRANKED)


def assign_roles(ask: Ask) -> Roles:
    """Assign roles by the names of fields; the values only break ties (numbered lines, length)."""
    names = [field.name for field in ask.inputs if field.name in ask.values]
    judged_rank = {name: _rank(name, _JUDGED) for name in names}
    evidence_rank = {name: _rank(name, _EVIDENCE) for name in names}
    claimants = [name for name in names if judged_rank[name] <= min(evidence_rank[name], _UNRANKED - 1)]
    numbered = []
    if any(field.shape.kind in _LIST_KINDS for field in ask.outputs):
        numbered = [name for name in claimants if _NUMBERED.match(ask.values[name])]
    judged = min(numbered or claimants, key=lambda name: judged_rank[name], default="")
    rest = [name for name in names if name != judged]
    best = min((evidence_rank[name] for name in rest), default=_UNRANKED)
    evidence = [name for name in rest if evidence_rank[name] == best]
    if rest and best == _UNRANKED:
        evidence = [max(rest, key=lambda name: len(ask.values[name]))]
    others = [name for name in rest if name not in evidence]
    if not judged:
        judged = others[-1] if others else evidence.pop() if evidence else ""
    return Roles(
        evidence=tuple(evidence), judged=judged, context=tuple(name for name in others if name != judged)
    )


def in_lines(name: str, values: Mapping[str, str]) -> bool:
    """Return whether a judged field holds one thing per line: numbered or tagged lines, or a name in the plural."""
    text = values.get(name, "").lstrip()
    return bool(_NUMBERED.match(text)) or text.startswith("<>") or name.lower().split("_")[-1] in _PLURAL


def split_units(text: str, *, quoting: bool = False) -> tuple[Unit, ...]:
    """Return the lines of a text as units, without their numbers or empty tags."""
    # Numbers count where every line has one and they ascend; some may be left out. What is quoted has to stand in the
    # text: there they count from 1 on only, and a text on one line is cut into its sentences.
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if quoting and len(lines) == 1:
        lines = sentences(lines[0])
    marks = [_NUMBERED.match(line) for line in lines]
    numbers = [int(mark[1] or mark[2]) for mark in marks if mark]
    ascend = len(numbers) == len(lines) and all(number < after for number, after in pairwise(numbers))
    if ascend and not (quoting and numbers != list(range(1, len(lines) + 1))):
        texts = [line[mark.end() :] for line, mark in zip(lines, marks, strict=True) if mark]
        return tuple(Unit(number=number, text=text) for number, text in zip(numbers, texts, strict=True))
    wraps = zip(lines, map(_WRAPPED.fullmatch, lines), strict=True)
    texts = lines if quoting else [wrap[1].strip() if wrap else line for line, wrap in wraps]
    return tuple(Unit(number=number, text=text) for number, text in enumerate(texts, 1))
