"""The reader of replies: what the text of a reply says, and nothing that it does not say.

1. **Drafts are no answer** (:mod:`.drafts`).
2. **A structure counts only if it stands alone.** JSON, a field under its header, a list and tags are read where
   nothing but a frame stands around them: white space, fences, field headers, marks of a chat template.
   ``not ["a"]`` is no list.
3. **A label is read if it is named exactly.** What decorates it is taken off (capitals, bold, quotation marks, one full
   stop); what is left must be one label and no other. ``not send``, ``send or hold`` and ``ѕend`` name none.
4. **A number is digits**, on its scale.

Whatever else a reply says is a ``ValueError``: the reply is an abstention. Knows no judges; only the standard library,
because exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

DEPTH: Final = 100
"""The deepest nesting of JSON that is read in a reply."""
TypeSchema: TypeAlias = Mapping[str, Any]
"""A JSON Schema."""


class ContradictionError(ValueError):
    """Something was said twice, with different values."""


# How a reply ended.

_WHOLE = re.compile(
    "stop|(stop_)?sequence|eos(_token)?|end(_turn)?|completed?|finish(ed)?|tool_(calls?|use)|function_call|",
    re.IGNORECASE,
)


def is_whole(finish_reason: object) -> bool:
    """Return whether a reply that ended for this reason is whole: without a reason it is, for an unknown one not."""
    return finish_reason is None or bool(_WHOLE.fullmatch(str(finish_reason)))


# What may stand around an answer.

_BLANK: Final = "\\s\u00ad\u061c\u180e\u200b-\u200f\u2060\ufeff"  # white space and characters without a width
_INVISIBLE: Final = re.compile(f"[{_BLANK}]+")
_FRAME: Final = re.compile(
    rf"""
    [{_BLANK}]+
    | ```(?:(?:json\w?|python|py|xml|html|te?xt|plaintext|markdown|md|ya?ml|javascript|js|output|answer)\b)?
    | <\|(?:im_start|start)\|>\s*assistant
    | <\|(?:im_start|im_end|start|end|eot_id|eom_id|message|return|endoftext|end_of_text|begin_of_text)\|>
    | <\|(?:begin|end)_of_solution\|> | <\|(?:START|END)_RESPONSE\|> | <\|END_OF_TURN_TOKEN\|>
    | <(?:start|end)_of_turn> | <eos> | <bos> | </s>  # but not <s>, which strikes a text out
    | </?(?:answer|final_answer|final|output|response|result|solution)>
    """,
    re.VERBOSE,
)


def is_blank(text: str) -> bool:
    """Return whether a text is nothing but white space and characters without a width."""
    return not _INVISIBLE.sub("", text)


def is_frame(text: str) -> bool:
    """Return whether a text is nothing but what may stand around an answer."""
    return not _FRAME.sub("", text)


def unframed(text: str) -> str:
    """Return a text without what may stand around an answer."""
    frames = [frame.span() for frame in _FRAME.finditer(text)]
    start, end = 0, len(text)
    for frame_start, frame_end in frames:
        if frame_start != start:
            break
        start = frame_end
    for frame_start, frame_end in reversed(frames):
        if frame_end != end or frame_start < start:
            break
        end = frame_start
    return text[start:end]


# Fields.

_HEADER_LINE = re.compile(r"\[\[ ## (\w+) ## \]\]")
# where a small model misses by spaces
_NEAR_HEADER = re.compile(r"\[\[ {0,2}## {0,2}(\w+) {0,2}## {0,2}\]\]")
_COMPLETED: Final = "completed"


def fields_of(
    text: str, names: Collection[str], short: Collection[str] = (), *, was_cut: bool = False
) -> list[tuple[str, object]]:
    """Return name and text, or data, of each field among ``names`` that a reply gives, in order.

    A reply gives them as a JSON object or under headers, whichever of the two it was asked for. ``short`` are the
    fields that hold no free text; the last of them may be half of what it was to be in a reply that ``was_cut``.
    """
    has_headers = any(header[1] in names for header in _NEAR_HEADER.finditer(text))
    try:
        fields = _json_fields(text, names, may_be_listed=not has_headers)
    except ValueError:
        if not has_headers:
            raise
        fields = []
    return fields or _headed_fields(text, names, short, was_cut)


def _json_fields(text: str, names: Collection[str], *, may_be_listed: bool) -> list[tuple[str, object]]:
    """Return name and value of each field among ``names``, from a reply that is nothing but JSON objects."""

    def without_field_header(header: re.Match[str]) -> str:
        is_field = header[1] in names or header[1] == _COMPLETED
        return "" if is_field else header[0]

    text_without_headers = _NEAR_HEADER.sub(without_field_header, text)
    fields: list[tuple[str, object]] = []
    for structure in structures(text_without_headers):
        items = [structure]
        if may_be_listed and isinstance(structure, list):
            items = structure
        for item in items:
            if not isinstance(item, dict):
                raise ValueError("its JSON is no object")
            for name, value in item.items():
                if name in names:
                    fields.append((name, value))
    return fields


def _headed_fields(
    text: str, names: Collection[str], short: Collection[str], was_cut: bool
) -> list[tuple[str, object]]:
    """Return name and text of each ``[[ ## name ## ]]`` section of a reply whose name is among ``names``."""
    fields: list[tuple[str, object]] = []
    is_complete = False
    sections = _split_at_headers(text, short)
    for name, content in sections:
        if name in names:
            fields.append((name, content))
        if name == _COMPLETED:
            is_complete = True
    if not fields:
        return fields
    for name, content in sections:
        if name in ("", _COMPLETED) and not is_frame(content):
            place = "after its end" if name else "before its first field"
            raise ValueError(f"text stands {place}: {content[:100]!r}")
    if was_cut and not is_complete and fields[-1][0] in short:
        raise ValueError(f"{fields[-1][0]} may be half of what it was to be")  # 1 of 10, True of Truest
    return fields


def _split_at_headers(text: str, short: Collection[str]) -> list[tuple[str, str]]:
    """Return name and text of each section of a reply; the text before the first header has the name ``""``."""
    # A header that differs by spaces counts for a ``short`` name that has no such section.
    exact_names: set[str] = set()
    for line in text.splitlines():
        header = _HEADER_LINE.match(line.strip())
        if header:
            exact_names.add(header[1])
    near_names = set(short).union([_COMPLETED]) - exact_names
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        stripped = line.strip()
        header = _HEADER_LINE.match(stripped)
        if header is None:
            near_header = _NEAR_HEADER.fullmatch(stripped)
            if near_header and near_header[1] in near_names:
                header = near_header
        if header is None:
            sections[-1][1].append(line)
        else:
            sections.append((header[1], [stripped[header.end() :]]))
    return [(name, "\n".join(section).strip()) for name, section in sections]


def said_once(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Return name -> value. Raises ``ContradictionError`` for a name with two different values."""
    values: dict[str, object] = {}
    for name, value in pairs:
        if name in values and not same(values[name], value):
            raise ContradictionError(f"{name!r} is given twice, with different values")
        values[name] = value
    return values


def same(first: object, second: object) -> bool:
    """Return whether two values are equal and of one type: 1 is not True."""
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)


# JSON, and Python's literals, which prompts of DSPy ask for.

_BRACKET = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_LITERALS = re.compile(
    r"""'(?P<quoted>(?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|['"].*|\b(?:True|False|None)\b|,(?=\s*[}\]])""",
    re.DOTALL,  # what begins and does not end is taken whole: nothing of it is looked at again
)
_QUOTE_MARK = re.compile(r"\\'|\"")
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_JSON: Final = json.JSONDecoder(strict=False, object_pairs_hook=said_once)


def structures(text: str) -> list[object]:
    """Return the JSON structures that a text is made of. Raises ``ValueError`` where other text stands around one."""
    values: list[object] = []
    position = 0
    for start, end in _outermost(text):
        _check_gap(text[position:start])
        values.append(decode(text[start:end]))
        position = end
    if values:
        _check_gap(text[position:])
    return values


def _check_gap(text: str) -> None:
    """Raise ``ValueError`` for a text between JSON structures that is more than a frame."""
    if not is_frame(text):
        raise ValueError(f"text stands around its JSON: {text.strip()[:100]!r}")


def _outermost(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each outermost JSON structure of a text."""
    depth = start = 0
    quoted = False
    for hit in _BRACKET.finditer(text):
        mark = hit[0]
        if quoted:
            quoted = mark != '"'
        elif mark == '"':
            quoted = depth > 0
        elif mark in "{[":
            if not depth:
                start = hit.start()
            depth += 1
            if depth > DEPTH:
                raise ValueError("it is nested too deeply")
        elif mark in "}]" and depth:
            depth -= 1
            if not depth:
                yield start, hit.end()
    if depth:
        raise ValueError("its JSON has no end")


def data(text: str) -> object:
    """Return the data that a whole text is; the text itself, without fences and white space, if it is none."""
    text = unframed(text)
    try:
        return decode(text)
    except ContradictionError:
        raise
    except ValueError:
        return text


def decode(text: str) -> object:
    """Return the data that a whole text is as JSON, or as a Python literal."""
    if text[:1] in ("{", "["):
        for _ in _outermost(text):  # its depth is checked before anything else reads it
            pass
    try:
        return _JSON.decode(_WORDS.get(text, text))
    except json.JSONDecodeError:
        pass
    try:
        return _JSON.decode(_LITERALS.sub(_as_json, text))
    except json.JSONDecodeError as error:
        raise ValueError("its JSON cannot be read") from error


def _as_json(token: re.Match[str]) -> str:
    """Return a token of a Python literal as JSON writes it; a comma before a closing bracket is left out."""
    if token["quoted"] is not None:
        return f'"{_QUOTE_MARK.sub(_as_json_quote, token["quoted"])}"'
    if token[0] == ",":
        return ""
    return _WORDS.get(token[0], token[0])


def _as_json_quote(mark: re.Match[str]) -> str:
    return "'" if mark[0] == "\\'" else '\\"'


# Labels and numbers, with what decorates them.

_PAIRS: Final[tuple[tuple[str, str], ...]] = (
    ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"),
    ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("„", "“"), ("„", "”"), ("‚", "‘"), ("”", "”"), ("’", "’"),
    ("«", "»"), ("»", "«"), ("‹", "›"), ("「", "」"), ("『", "』"), ("《", "》"), ("〈", "〉"), ("【", "】"),
    ("〔", "〕"), ("（", "）"), ("(", ")"), ("［", "］"), ("[", "]"), ("＂", "＂"), ("¡", "!"), ("$", "$"),
    ("<b>", "</b>"), ("<strong>", "</strong>"), ("<i>", "</i>"), ("<em>", "</em>"), ("<code>", "</code>"),
    ("\\boxed{", "}"), ("\\text{", "}"), ("\\textbf{", "}"), ("Literal[", "]"), ("str[", "]"),
)  # fmt: skip
_LAYERS: Final = 8  # of decoration at most
_STOPS: Final = ".,;!。．，、；！।،؛"
_ESCAPED: Final = re.compile(r"\\([_*`-])")  # as Markdown escapes them: non\_factual
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_WHITE_SPACE: Final = re.compile(r"\s+")
EMPTY_WORDS: Final = frozenset({
    "none", "nothing", "empty", "nil", "无", "無", "没有", "沒有", "空", "なし", "無し", "없음", "नहीं",
    "keine", "keiner", "keines", "nichts", "aucun", "aucune", "rien", "ninguno", "ninguna", "nada",
    "nenhum", "nenhuma", "nessuno", "nessuna", "niente", "нет", "ничего", "لا شيء", "لا يوجد",
})  # fmt: skip
"""Words that stand for an empty list."""


_SAME_LABELS: Final = (
    ("yes", "是"),
    ("no", "否", "不是"),
    ("uncertain", "不确定", "无法判断", "无法确定"),
    ("conflict", "矛盾"),
    ("agrees", "不矛盾"),
    ("fabrication", "虚构事实"),
    ("attribute", "属性错误"),
    ("entity", "实体错误"),
    ("relation", "关系错误"),
    ("spatiotemporal", "时空幻觉", "时空错误"),
    ("reference", "虚假引用", "引用错误"),
)
"""Labels of prompts in English and in Chinese: a reply to a prompt in one language may name them in the other."""
_WITH_TRANSLATION: Final = re.compile(r"([^（(]+?) ?[（(]([^（()）]+)[)）]")


def match_value(raw: object, allowed: Collection[object]) -> object:
    """Return the one of the allowed values that a reply names, however the name is decorated."""
    if not isinstance(raw, str):
        for value in allowed:
            if same(value, raw):
                return value
        raise ValueError(f"{str(raw)[:100]!r} is none of {', '.join(map(str, allowed))}")
    for name in undecorated(raw):
        if name in allowed:
            return name
        matches = [value for value in allowed if _folded(str(value)) == _folded(name)]
        if len(matches) == 1:
            return matches[0]
        number = _number_of(name)
        for value in allowed:
            if number is not None and same(value, number):
                return value
        for translation in _translations_of(name):
            if translation in allowed:
                return translation
    raise ValueError(f"{raw.strip()[:100]!r} is none of {', '.join(map(str, allowed))}")


def _translations_of(name: str) -> tuple[str, ...]:
    """Return a label in both languages; none for a text that is no such label, alone or as in ``是（yes）``."""
    both = _WITH_TRANSLATION.fullmatch(name)
    parts = both.groups() if both else (name,)
    for labels in _SAME_LABELS:
        if all(_folded(part) in labels for part in parts):
            return labels
    return ()


def undecorated(text: str) -> Iterator[str]:
    """Yield a text without its frame, then without one more layer of what decorates it each time."""
    text = unframed(text)
    for _ in range(_LAYERS):
        yield text
        inner = _without_layer(text)
        if inner == text:
            return
        text = inner


def _without_layer(text: str) -> str:
    """Return a text without the outermost pair of marks, or without the stop at its end, or without escapes."""
    for opening, closing in _PAIRS:
        has_inside = len(text) > len(opening) + len(closing)
        if has_inside and text.startswith(opening) and text.endswith(closing):
            return unframed(text[len(opening) : -len(closing)])
    if text[-1:] and text[-1] in _STOPS and not text.endswith(".."):
        return unframed(text[:-1])
    return _ESCAPED.sub(r"\1", text)


def is_empty_word(text: str) -> bool:
    """Return whether a text is a word for an empty list."""
    return any(_folded(word) in EMPTY_WORDS for word in undecorated(text))


def _folded(text: str) -> str:
    """Return a text as labels are compared: capitals and the length of white space do not matter."""
    # The long s and its like stay what they are: they are other letters.
    return _WHITE_SPACE.sub(" ", unicodedata.normalize("NFC", text).lower())


def _number_of(text: str) -> int | float | None:
    """Return the number that a text is, in plain digits; else ``None``."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if "." in text else int(text)


# Values by their types, as a JSON Schema says them.

_HUGE: Final = 1e300


def typed(schema: TypeSchema, raw: object) -> object:
    """Return the text or data of a field as the type that a JSON Schema says. Raises ``ValueError``."""
    # What the schema does not say, or says in a way that is not known here, stays as it is.
    if schema == {"type": "string"}:
        return str(raw)
    return _typed_with_models(schema, raw, schema.get("$defs", {}))


def _typed_with_models(schema: TypeSchema, raw: object, models: TypeSchema) -> object:
    """Return data as a schema says it; ``models`` are the schemas to which it refers by name."""
    if "$ref" in schema:
        return _typed_with_models(models[schema["$ref"].rpartition("/")[2]], raw, models)
    if "anyOf" in schema:
        return _typed_by_one(schema["anyOf"], raw, models)
    if "enum" in schema or "const" in schema:
        return match_value(raw, schema.get("enum") or [schema["const"]])
    kind = schema.get("type")
    if kind not in _BY_KIND:
        return raw
    return _BY_KIND[kind](schema, raw, models)


def _typed_by_one(schemas: Sequence[TypeSchema], raw: object, models: TypeSchema) -> object:
    """Return the data as the first type that it fits; a text that may be a text is one."""
    for schema in schemas:
        is_closed = "enum" in schema or "const" in schema
        if isinstance(raw, str) and schema.get("type") == "string" and not is_closed:
            return raw
    for schema in schemas[:-1]:
        try:
            return _typed_with_models(schema, raw, models)
        except ContradictionError:
            raise
        except ValueError:
            continue
    return _typed_with_models(schemas[-1], raw, models)


def _as_text(schema: TypeSchema, raw: object, models: TypeSchema) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"{str(raw)[:100]!r} is no text")
    return raw


def _as_truth(schema: TypeSchema, raw: object, models: TypeSchema) -> bool:
    return bool(match_value(raw, (True, False)))


def _as_null(schema: TypeSchema, raw: object, models: TypeSchema) -> None:
    value = raw
    if isinstance(raw, str):
        value = data(raw)
    if value is not None:
        raise ValueError(f"{str(raw)[:100]!r} is not null")


def _as_number(schema: TypeSchema, raw: object, models: TypeSchema) -> int | float:
    """Return the number that a text or data is, as the schema's type of number and on its scale."""
    number = _first_number(raw)
    if number is None:
        raise ValueError(f"{str(raw)[:100]!r} is no number")
    if schema["type"] == "integer":
        if number != number or abs(number) == float("inf") or number != int(number):
            raise ValueError(f"{str(raw)[:100]!r} is no whole number")
        number = int(number)
    elif isinstance(number, int):
        number = float(number) if abs(number) < _HUGE else float("inf")
    low, high = schema.get("minimum", -float("inf")), schema.get("maximum", float("inf"))
    if not low <= number <= high:
        raise ValueError(f"{number} is not from {low} to {high}")
    return number


def _first_number(raw: object) -> int | float | None:
    """Return the number that data is, or that a text is when enough of its decoration is taken off; else ``None``."""
    if isinstance(raw, str):
        for text in undecorated(raw):
            number = _number_of(text)
            if number is not None:
                return number
        return None
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return raw
    return None


def _as_list(schema: TypeSchema, raw: object, models: TypeSchema) -> list[object]:
    """Return the list that a text or data is, its items as the schema says them; a word for nothing is no item."""
    items = raw
    if isinstance(raw, str):
        items = [] if is_empty_word(raw) else data(raw)
    if not isinstance(items, list):
        raise ValueError(f"{str(items)[:100]!r} is no list")
    if "prefixItems" in schema:
        if len(items) != len(schema["prefixItems"]):
            raise ValueError(f"{len(items)} items where {len(schema['prefixItems'])} are wanted")
        values: list[object] = []
        for part, item in zip(schema["prefixItems"], items, strict=True):
            values.append(_typed_with_models(part, item, models))
        return values
    try:
        return [_typed_with_models(schema.get("items", {}), item, models) for item in items]
    except ContradictionError:
        raise
    except ValueError:
        if len(items) == 1 and isinstance(items[0], str) and is_empty_word(items[0]):
            return []
        raise


def _as_object(schema: TypeSchema, raw: object, models: TypeSchema) -> dict[str, object]:
    """Return the object that a text or data is, with the fields that the schema has."""
    fields = data(raw) if isinstance(raw, str) else raw
    if not isinstance(fields, Mapping):
        raise ValueError(f"{str(fields)[:100]!r} is no object")
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    values: dict[str, object] = {}
    for name in schema.get("required", ()):
        if name not in fields:
            raise ValueError(f"it has no {name}")
    for name, value in fields.items():
        if name in properties:
            values[name] = _typed_with_models(properties[name], value, models)
        elif isinstance(additional, Mapping):
            values[name] = _typed_with_models(additional, value, models)
        elif additional is not None:
            values[name] = value
    return values


_BY_KIND: Final[dict[str, Callable[[TypeSchema, object, TypeSchema], object]]] = {
    "string": _as_text,
    "boolean": _as_truth,
    "null": _as_null,
    "integer": _as_number,
    "number": _as_number,
    "array": _as_list,
    "object": _as_object,
}
