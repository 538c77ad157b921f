"""What the text of a reply says, and nothing that it does not say: drafts, halves and contradictions are no answer.

Knows no types and no signatures; only the standard library, because exports carry this source along
(:mod:`jurist.exports.portable_file`).
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

_TAG = re.compile(r"<(/?)(think|thinking)>", re.IGNORECASE)
_MARK = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_CHOICE = re.compile(r"(?:Literal|str)\[(.*)\]|([\"'])(.*)\2", re.DOTALL)
_LITERALS = re.compile(
    r"""'(?P<quoted>(?:[^'\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|['"].*|\b(?:True|False|None)\b|,(?=\s*[}\]])""",
    re.DOTALL,  # what begins and does not end is taken whole: nothing of it is looked at again
)
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_JSON: Final = json.JSONDecoder(strict=False, object_pairs_hook=lambda pairs: said_once(pairs))
_HEADER_LINE = re.compile(r"\[\[ ## (\w+) ## \]\]")
# where a small model misses by spaces
_NEAR_HEADER = re.compile(r"\[\[ {0,2}## {0,2}(\w+) {0,2}## {0,2}\]\]")
_WHOLE = re.compile(
    "stop|(stop_)?sequence|eos(_token)?|end(_turn)?|completed?|finish(ed)?|tool_(calls?|use)|function_call|",
    re.IGNORECASE,
)


class ContradictionError(ValueError):
    """Something was said twice, with different values."""


def is_whole(finish_reason: object) -> bool:
    """Whether a reply that ended for this reason, as an endpoint says it, is over: all but known ends are doubted."""
    return finish_reason is None or bool(_WHOLE.fullmatch(str(finish_reason)))


def without_drafts(text: str, fields: Collection[str] = ()) -> str:
    """Return what a reply says outside ``<think>...</think>``."""
    # What follows a ``<think>`` without end is a draft, and what comes before an end without beginning.
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
    """Return each outermost JSON structure of a text that begins with one of the brackets in ``opening``."""
    depth = start = 0
    quoted = False
    for hit in _MARK.finditer(text):
        mark = hit[0]
        if quoted:
            quoted = mark != '"'
        elif mark == '"':
            quoted = depth > 0
        elif mark in "{[" and (depth or mark in opening):
            start, depth = start if depth else hit.start(), depth + 1
        elif mark in "}]" and depth:
            depth -= 1
            if not depth:
                yield text[start : hit.end()]
    if depth:
        raise ValueError("its JSON has no end")


def decode(text: str) -> Any:
    """Return what a whole text is as JSON, or as a Python literal, which prompts of DSPy ask for."""
    try:
        return _JSON.decode(_WORDS.get(text, text))
    except json.JSONDecodeError:
        pass
    try:
        return _JSON.decode(_LITERALS.sub(_as_json, text))
    except json.JSONDecodeError as error:
        raise ValueError("its JSON cannot be read") from error


def said_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return name -> value. Raises ``ContradictionError`` for a name with two different values."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values and not same(values[name], value):
            raise ContradictionError(f"{name!r} is given twice, with different values")
        values[name] = value
    return values


def chat_fields(text: str, names: Collection[str], short: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return name and text of each ``[[ ## name ## ]]`` section of a reply, in order, of the names that count."""
    # Of a ``short`` name that has no such section, the line under a header that differs by spaces counts.
    sections: list[tuple[str, list[str]]] = [("", [])]
    near: dict[str, str] = {}
    lines = [line.strip() for line in text.splitlines()]
    for line, stripped, after in zip(text.splitlines(), lines, [*lines[1:], ""], strict=True):
        if header := _HEADER_LINE.match(stripped):
            sections.append((header.group(1), [stripped[header.end() :]]))
            continue
        sections[-1][1].append(line)
        if (missed := _NEAR_HEADER.fullmatch(stripped)) and missed[1] in short:
            near[missed[1]] = after if near.get(missed[1], after) == after else ""
    exact = [(name, "\n".join(lines).strip()) for name, lines in sections if name in names]
    known = {name for name, _ in exact}
    return [*exact, *((name, line) for name, line in near.items() if line and name not in known)]


def json_fields(text: str, names: Collection[str]) -> list[tuple[str, Any]]:
    """Return name and value of each key of the JSON objects in a reply, in order, of the names that count."""
    objects = filter(lambda value: isinstance(value, dict), map(decode, pieces(text, "{")))
    return [(name, value) for fields in objects for name, value in fields.items() if name in names]


def choice(raw: Any, allowed: Collection[Any]) -> Any:
    """Return the one of the allowed values that a reply says, as text or as data."""
    if isinstance(raw, str):
        text = raw.strip()
        if quoted := _CHOICE.fullmatch(text):
            text = quoted[1] or quoted[3] or ""
            text = text.strip("\"'") if quoted[1] else text
        raw = text if text in allowed else data(text)
    for value in allowed:
        if same(value, raw):
            return value
    raise ValueError(f"{str(raw)[:100]!r} is none of {', '.join(map(str, allowed))}")


def data(text: str) -> Any:
    """Return the data in a text: all of it, or the one structure that it holds; else the text itself."""
    try:
        return decode(text)
    except ContradictionError:
        raise
    except ValueError:
        structures = list(pieces(text, "{["))
    if len(structures) > 1:
        raise ValueError("it holds several JSON values")
    return decode(structures[0]) if structures else text.strip()


def _as_json(token: re.Match[str]) -> str:
    if token["quoted"] is not None:
        return '"' + re.sub(r"\\'|\"", lambda mark: "'" if mark[0] == "\\'" else '\\"', token["quoted"]) + '"'
    return _WORDS.get(token[0], "" if token[0] == "," else token[0])


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal and of one type: 1 is not True."""
    return bool(first == second) and isinstance(first, bool) == isinstance(second, bool)
