"""Read what a DSPy adapter wrote: fields, instruction, demonstrations, and the inputs to judge.

Pinned to the message layout of DSPy 3.4 (Chat, JSON and XML adapters). Field markers are looked
for only under the names the request itself declares, each once and in order, so that other
markers inside judged text are text. A prompt that no adapter wrote (for instance the reflection
prompt of GEPA) is returned as ``None`` and handled by the proposer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from .shapes import Shape, parse_shape

__all__ = ["Adapter", "Ask", "Demo", "Field", "parse_request"]

Adapter = Literal["chat", "json", "xml"]

_FIELD: Final = re.compile(r"^\d+\. `(\w+)` \((.+?)\):(?: (.*))?$")
_OBJECTIVE: Final = "In adhering to this structure, your objective is:"
_STRUCTURE: Final = "All interactions will be structured in the following way"
_NOTE: Final = "# note: the value you produce "
_NOT_SUPPLIED: Final = "Not supplied for this"
_ENDINGS: Final = (
    "\n\nRespond with the corresponding output fields",
    "\n\nRespond with a JSON object in the following order of fields:",
)


@dataclass(frozen=True, kw_only=True)
class Field:
    """One declared field: its name, description, and (for outputs) the shape of its value."""

    name: str
    description: str
    shape: Shape


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One demonstration: the inputs and the raw output texts that were supplied, by field name."""

    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A parsed request: which adapter, what it declares, what it shows, what it asks."""

    adapter: Adapter
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    instruction: str
    demos: tuple[Demo, ...]
    values: dict[str, str]


def parse_request(system: str, messages: list[tuple[str, str]]) -> Ask | None:
    """Parse a request.

    Args:
        system: the system text.
        messages: (role, text) pairs in order; the last user message holds the inputs to judge.

    Returns:
        The parsed request, or None when no DSPy adapter wrote it.
    """
    if _OBJECTIVE not in system or _STRUCTURE not in system:
        return None
    head, _, instruction = system.partition(_OBJECTIVE)
    fields_text, _, structure = head.partition(_STRUCTURE)
    inputs_text, _, outputs_text = fields_text.partition("Your output fields are:")
    adapter = _detect(structure)
    inputs = _fields(inputs_text, {}, adapter)
    outputs = _fields(outputs_text, _notes(structure, adapter, outputs_text), adapter)
    users = [i for i, (role, _) in enumerate(messages) if role == "user"]
    if not users:
        return None
    names = [field.name for field in inputs]
    demos = [
        _demo(messages[i][1], messages[i + 1][1], names, outputs, adapter)
        for i in users[:-1]
        if i + 1 < len(messages) and messages[i + 1][0] == "assistant"
    ]
    values = _split(_without_ending(messages[users[-1]][1]), names, adapter)
    return Ask(
        adapter=adapter,
        inputs=inputs,
        outputs=outputs,
        instruction=_dedent(instruction),
        demos=tuple(demos),
        values=values,
    )


def _detect(structure: str) -> Adapter:
    if "Outputs will be a JSON object with the following fields." in structure:
        return "json"
    return "chat" if "[[ ## " in structure else "xml"


def _dedent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _fields(text: str, notes: dict[str, str], adapter: Adapter) -> tuple[Field, ...]:
    found: list[list[str]] = []
    for line in text.splitlines():
        match = _FIELD.match(line)
        if match:
            found.append([match.group(1), match.group(2), match.group(3) or ""])
        elif found and line.strip():
            found[-1][2] += "\n" + line.strip()
    return tuple(
        Field(name=name, description=about.strip(), shape=parse_shape(kind, notes.get(name, ""), about))
        for name, kind, about in found
    )


def _notes(structure: str, adapter: Adapter, outputs_text: str) -> dict[str, str]:
    """Return what the structure says about each output: a type note, or the nested XML skeleton."""
    names = [m.group(1) for line in outputs_text.splitlines() if (m := _FIELD.match(line))]
    if adapter == "json":
        _, _, body = structure.partition("Outputs will be a JSON object with the following fields.")
        start = body.find("{")
        skeleton = json.JSONDecoder().raw_decode(body[start:])[0] if start >= 0 else {}
        return {name: str(skeleton.get(name, "")).partition(_NOTE)[2] for name in names}
    notes = {}
    for name in names:
        line = re.search(rf"^\{{{re.escape(name)}\}} *{re.escape(_NOTE)}(.*)$", structure, re.M)
        nested = re.search(rf"^<{re.escape(name)}>(?=<).*$", structure, re.M)
        notes[name] = line.group(1) if line else nested.group() if nested else ""
    return notes


def _without_ending(text: str) -> str:
    at = max(text.rfind(ending) for ending in _ENDINGS)
    return text[:at] if at >= 0 else text


def _split(text: str, names: list[str], adapter: Adapter) -> dict[str, str]:
    """Split a user message at the declared input names, each at its first occurrence, in order."""
    tag = "<{}>" if adapter == "xml" else "[[ ## {} ## ]]"
    marks = []
    at = 0
    for name in names:
        match = re.compile(rf"^{re.escape(tag.format(name))}[ \t]*\n?", re.M).search(text, at)
        if match:
            marks.append((name, match.start(), match.end()))
            at = match.end()
    values = {}
    for (name, _, start), following in zip(marks, [*marks[1:], ("", len(text), 0)], strict=True):
        value = text[start : following[1]].strip()
        values[name] = value.removesuffix(f"</{name}>").strip() if adapter == "xml" else value
    return values


def _demo(user: str, assistant: str, names: list[str], outputs: tuple[Field, ...], adapter: Adapter) -> Demo:
    raw = _json_outputs(assistant) if adapter == "json" else _marked_outputs(assistant, outputs, adapter)
    supplied = {name: text for name, text in raw.items() if not text.strip().startswith(_NOT_SUPPLIED)}
    wanted = {field.name for field in outputs}
    return Demo(
        inputs=tuple(_split(_without_ending(user), names, adapter).items()),
        outputs=tuple((name, text) for name, text in supplied.items() if name in wanted),
    )


def _json_outputs(text: str) -> dict[str, str]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in value.items()}


def _marked_outputs(text: str, outputs: tuple[Field, ...], adapter: Adapter) -> dict[str, str]:
    if adapter == "xml":
        found = {}
        for field in outputs:
            match = re.search(rf"<{field.name}>(.*?)</{field.name}>|<{field.name} ?/>", text, re.S)
            if match:
                found[field.name] = (match.group(1) or "").strip()
        return found
    return _split(text.partition("[[ ## completed ## ]]")[0], [f.name for f in outputs], "chat")
