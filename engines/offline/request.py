"""A request as the engine reads it: fields, instruction, demonstrations, inputs, and their roles."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import dspy
from dspy.adapters.utils import format_field_value, serialize_for_json
from pydantic import TypeAdapter

from ...text.terms import sentences
from ..draws import TypedRequest

Kind = Literal[
    "bool", "label", "labels", "echo", "tags", "tag", "bools", "indices", "texts", "score", "objects",
    "preference", "map", "text",
]  # fmt: skip
Schema = Mapping[str, Any]

_ONE_OF: Final = re.compile(r"one of:?\s*(.+?)(?:[.。\n]|$)|其中之一[:：]?\s*(.+?)(?:[。\n]|$)", re.I)
_RANGE: Final = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:to|-|–|~|到|至|and)\s*(\d+(?:\.\d+)?)")
_LABEL_NAMES: Final = ("label", "verdict", "tag", "category", "type", "kind", "class", "标签", "类型")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The numbers that a field or a property takes."""

    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    levels: tuple[float, ...] = ()  # the scores there are, ascending; empty if all between low and high

    def at(self, share: float) -> float:
        """Return the number at a share of the range."""
        value = self.low + (self.high - self.low) * share
        return round(value) if self.whole else round(value, 3)

    def share(self, value: float) -> float:
        """Return where a number lies on the range, 0 to 1."""
        low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.0


@dataclass(frozen=True, kw_only=True)
class Part(Scale):
    """One property of an object; see :class:`Shape`."""

    name: str
    role: str  # number (of a line), label, flag, score or text
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Shape(Scale):
    """The values a field takes: labels of a closed set, properties of objects, or scores in a range."""

    kind: Kind
    labels: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Field:
    """One declared field: its name, description, and (for outputs) the shape of its value."""

    name: str
    description: str
    shape: Shape


@lru_cache(maxsize=256)
def _schema(kind: Any) -> Schema:
    """Return the schema of a type: every candidate's instruction makes a new signature of the same ones."""
    return TypeAdapter(kind).json_schema()


def _field(name: str, info: Any) -> Field:
    extra = info.json_schema_extra or {}
    told = "" if extra.get("desc") == f"${{{name}}}" else extra.get("desc") or ""
    bounds = f"Constraints: {extra['constraints']}" if extra.get("constraints") else ""
    description = "\n".join(filter(None, map(str.strip, f"{told}\n{bounds}".splitlines())))
    kind: Any = str if info.annotation is dspy.Reasoning else info.annotation
    schema = TypeAdapter(Annotated[(kind, *info.metadata)]).json_schema() if info.metadata else _schema(kind)
    definitions = schema.get("$defs", {})
    return Field(
        name=name,
        description=description,
        shape=_shape(_resolve(schema, definitions), definitions, description),
    )


def _shape(schema: Schema, definitions: Schema, description: str) -> Shape:
    values, described = _values(schema), _one_of(description)
    match schema.get("type"):
        case "boolean":
            return Shape(kind="bool", labels=("True", "False"))
        case "array":
            return _listed(_resolve(schema.get("items", {}), definitions), definitions, described)
        case "object" if "properties" in schema:
            return _object(schema, definitions, described, "tag")
        case "object":
            return Shape(kind="map")
    if values and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        levels = tuple(sorted(map(float, values)))
        whole = all(isinstance(value, int) for value in values)
        return Shape(kind="score", low=levels[0], high=levels[-1], whole=whole, levels=levels)
    if values:
        labels = tuple(map(str, values))
        compares = {"first", "second"} <= set(labels) <= {"first", "second", "tie"}
        return Shape(kind="preference" if compares else "label", labels=labels)
    if schema.get("type") in ("integer", "number"):
        low, high = _range(schema, description)
        return Shape(kind="score", low=low, high=high, whole=schema["type"] == "integer")
    if len(described) < 2:
        return Shape(kind="text")
    # Sentences in tags: one of the labels is shown as a tag.
    tagged = any(tag in described for tag in re.findall(r"</(\w+)>", description))
    return Shape(kind="echo" if tagged else "label", labels=described)


def _listed(item: Schema, definitions: Schema, described: tuple[str, ...]) -> Shape:
    values = _values(item)
    if values or (item.get("type") == "string" and len(described) > 1):
        return Shape(kind="labels", labels=tuple(map(str, values)) or described)
    match item.get("type"):
        case "integer":
            return Shape(kind="indices")
        case "boolean":
            return Shape(kind="bools", labels=("True", "False"))
        case "string":
            return Shape(kind="texts")
    shape = _object(item, definitions, described, "tags")
    if shape.kind == "text" or any(part.role == "number" for part in shape.parts):
        return shape
    return replace(shape, kind="objects")


def _object(schema: Schema, definitions: Schema, described: tuple[str, ...], kind: Kind) -> Shape:
    properties = schema.get("properties", {}).items()
    parts = tuple(_part(name, _resolve(raw, definitions), described) for name, raw in properties)
    closed = next((part.values for part in parts if part.role == "label"), ())
    return Shape(kind=kind, labels=tuple(map(str, closed)), parts=parts) if parts else Shape(kind="text")


def _part(name: str, schema: Schema, described: tuple[str, ...]) -> Part:
    if values := _values(schema):
        return Part(name=name, role="label", values=values)
    match schema.get("type"):
        case "boolean":
            return Part(name=name, role="flag")
        case "integer" if not {"minimum", "maximum"} <= set(schema):
            return Part(name=name, role="number")
        case "integer" | "number":
            low, high = _range(schema, str(schema.get("description", "")))
            return Part(name=name, role="score", low=low, high=high, whole=schema["type"] == "integer")
    if name.lower() in _LABEL_NAMES and described:
        return Part(name=name, role="label", values=described)
    return Part(name=name, role="text")


def _values(schema: Schema) -> tuple[Any, ...]:
    return tuple(schema.get("enum") or ([schema["const"]] if "const" in schema else []))


def _one_of(text: str) -> tuple[str, ...]:
    match = _ONE_OF.search(text)
    if not match:
        return ()
    body = (match.group(1) or match.group(2)).strip()
    pieces = re.split("[;；、]", body)
    if len(pieces) == 1:
        pieces = re.split(r",|(?<=\s)or(?=\s)", body)
    labels = [re.sub(r"^(?:or|and)\s+", "", piece.strip()).strip(" `'\"()") for piece in pieces]
    return tuple(dict.fromkeys(label for label in labels if label and len(label) < 60))


def _range(schema: Schema, description: str) -> tuple[float, float]:
    """Return the bounds of a number: declared, else described ("0 to 10"), else 0 and 1."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    described = _RANGE.search(description)
    bounds = sorted(map(float, described.groups())) if described else [0.0, 1.0]
    return (bounds[0] if low is None else float(low)), (bounds[1] if high is None else float(high))


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    for _ in range(8):
        if "$ref" in schema:
            schema = definitions.get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = next((s for s in schema["anyOf"] if s.get("type") != "null"), {})
        else:
            break
    return schema


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration: the input texts and the outputs as JSON, by field name; those that were supplied."""

    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]

    def value(self, name: str) -> Any:
        """Return the value of an output, perhaps given as its JSON text; ``None`` if there is none."""
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
    """What is declared, what is shown, and what is asked."""

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

    def whole(demo: Mapping[str, Any]) -> bool:
        return all(demo.get(name) is not None for name in signature.fields)

    # The demonstrations that the prompt shows, in its order: incomplete ones first.
    shown = [demo for demo in request.demos if whole(demo) or all(any(n in demo for n in g) for g in groups)]
    return Ask(
        inputs=inputs,
        outputs=outputs,
        instruction=instruction,
        demos=tuple(_demo(signature, demo) for demo in sorted(shown, key=whole)),
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
    "transcript facts grounding retrieved ground_truth 参考 证据 文档 资料 知识 原文 来源",
    "conversation context contexts premise text dialogue_text correct_answer gold_answer 对话 上下文 背景",
    "dialogue dialog history chat 历史",
)
_JUDGED: Final = (
    "claim claims statement statements sentence sentences hypothesis assertion unit "
    "units 声明 论断 句子 陈述",
    "constraint constraints criterion criteria item items 约束 条件",
    "response answer reply summary prediction candidate output completion "
    "model_answer 回复 回答 答案 摘要 总结",
)
_NUMBERED: Final = re.compile(r"^[ \t]*(?:(\d{1,5})[.)、:：][ \t]*(?=\S)|[\[<(](\d{1,5})[\])>][ \t]*)", re.M)
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


@lru_cache(maxsize=1024)
def _rank(field: Field, table: tuple[str, ...]) -> int:
    """Return the best rank of a field in a table by name (0..), by description (10..), or 99."""
    name = field.name.lower()
    words = set(re.split(r"_+", name)) | {name}
    about = set(re.findall(r"[a-z]+|[\u4e00-\u9fff]{2}", field.description.lower()))
    for offset, have in ((0, words), (10, about)):
        for rank, line in enumerate(table):
            if have & set(line.split()):
                return offset + rank
    return 99


def assign_roles(ask: Ask) -> Roles:
    """Assign roles from the declared fields; the values only break ties (numbered lines, length)."""
    fields = [field for field in ask.inputs if field.name in ask.values] or list(ask.inputs)
    judged_ranks = {field.name: _rank(field, _JUDGED) for field in fields}
    evidence_ranks = {field.name: _rank(field, _EVIDENCE) for field in fields}
    claimants = [name for name, rank in judged_ranks.items() if rank < 10 and evidence_ranks[name] >= rank]
    numbered = []
    if any(field.shape.kind in _LIST_KINDS for field in ask.outputs):
        numbered = [name for name in claimants if _NUMBERED.search(ask.values.get(name, "")[:4000])]
    judged = min(numbered or claimants, key=lambda name: judged_ranks[name], default="")
    rest = [field.name for field in fields if field.name != judged]
    best = min((evidence_ranks[name] for name in rest), default=99)
    evidence = [name for name in rest if evidence_ranks[name] == best and best < 99]
    if not evidence and rest:
        evidence = [max(rest, key=lambda name: len(ask.values.get(name, "")))]
    others = [name for name in rest if name not in evidence]
    if not judged and others:
        described = min(others, key=lambda name: judged_ranks[name])
        judged = described if judged_ranks[described] < 99 else others[-1]
    elif not judged and evidence:
        judged = evidence.pop()
    return Roles(
        evidence=tuple(evidence), judged=judged, context=tuple(name for name in others if name != judged)
    )


def in_lines(name: str, values: Mapping[str, str]) -> bool:
    """Return whether a judged field holds one thing per line: numbered or tagged lines, or a name in the plural."""
    text = values.get(name, "").lstrip()
    return bool(_NUMBERED.match(text)) or text.startswith("<>") or name.lower().split("_")[-1] in _PLURAL


def split_units(text: str) -> tuple[Unit, ...]:
    """Split numbered lines ``1. text`` into units; without numbering each line is one unit.

    Numbers must grow by exactly one from the first line on, so that a list inside a sentence
    ("1. pioneering ...") does not open a unit of its own. Where every line has a number, they may leave
    some out: a part of the sentences, under the numbers they have in the whole.
    """
    marks: list[tuple[int, int, int]] = []
    every = len(_NUMBERED.findall(text)) == sum(bool(line.strip()) for line in text.splitlines())
    for match in _NUMBERED.finditer(text):
        number = int(match.group(1) or match.group(2))
        if not marks or number == marks[-1][0] + 1 or (every and number > marks[-1][0]):
            marks.append((number, match.start(), match.end()))
    if marks and not text[: marks[0][1]].strip():
        ends = [start for _, start, _ in marks[1:]] + [len(text)]
        pairs = zip(marks, ends, strict=True)
        return tuple(Unit(number=number, text=text[start:end].strip()) for (number, _, start), end in pairs)
    return _units(
        [wrapped[1].strip() if (wrapped := _WRAPPED.fullmatch(one)) else one for one in _lines(text)]
    )


def split_lines(text: str) -> tuple[Unit, ...]:
    """Return units for answers that quote: what is quoted has to stand in the text, so a line stays as it is.

    Only where every line is numbered, from 1 on, are the numbers taken off; a text on one line is cut into its
    sentences.
    """
    lines = _lines(text)
    if len(lines) == 1:
        return _units(sentences(lines[0]))
    units = split_units(text)
    return units if len(units) == len(lines) and units[:1] and units[0].number == 1 else _units(lines)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _units(texts: Sequence[str]) -> tuple[Unit, ...]:
    return tuple(Unit(number=number, text=text) for number, text in enumerate(texts, 1))
