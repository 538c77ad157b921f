"""A prompt that somebody has, as an instruction and the names of its inputs.

What is read: plain text or Markdown with ``{{name}}`` (or, without any, ``{name}``); JSON messages with ``role`` and
``content``, alone or as ``messages`` or ``template`` of an object (MLflow's prompt, exports of jurist); a LangChain
``ChatPromptTemplate``; a promptfoo configuration in YAML or JSON with one prompt in it. Templates with logic are
refused.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .messages import FORMAT

__all__ = ["IncomingPrompt", "read_prompt"]

_DOUBLE = re.compile(r"\{\{\{?\s*([A-Za-z_][\w.]*)\s*\}?\}\}")
_SINGLE = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
_LOGIC = re.compile(r"\{%-?\s*(?!set jurist|raw|endraw)\w|\{\{[#/^]")
_JINJA_TEXT = re.compile(r'\{\{ ("(?:[^"\\]|\\.)*") \}\}|\{% ?set jurist = 1 ?%\}')
_FIELDS = re.compile(r"⟦(\w+)⟧")
_WRITE = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


@dataclass(frozen=True, kw_only=True)
class IncomingPrompt:
    """A prompt as a task.

    Attributes:
        instruction: its text, with the name of each input in backquotes where its value went.
        inputs: the names of its variables, in their order, usable as names of fields.
    """

    instruction: str
    inputs: tuple[str, ...]


def read_prompt(path: Path) -> IncomingPrompt:
    """Read a prompt file.

    Raises:
        UsageError: it cannot be read, holds no variable, or holds logic or several prompts.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="name a text, JSON or YAML file") from error
    messages = _messages(text, path)
    if any(not style and _DOUBLE.search(content) for _, content, style in messages):
        messages = [(role, content, style or "mustache") for role, content, style in messages]
    marked = [(role, _marked(content, style, path)) for role, content, style in messages]
    inputs = tuple(dict.fromkeys(name for _, content in marked for name in _FIELDS.findall(content)))
    if not inputs:
        raise UsageError(
            f"{path} has no variable, so there is nothing to judge", hint="write the inputs as {{name}}"
        )
    several = len(marked) > 1
    parts = [
        f"{role}:\n{content.strip()}" if several and role != "system" else content.strip()
        for role, content in marked
    ]
    instruction = _FIELDS.sub(r"`\1`", "\n\n".join(part for part in parts if part))
    return IncomingPrompt(instruction=instruction, inputs=inputs)


def _messages(text: str, path: Path) -> list[tuple[str, str, str]]:
    """Return role, template and the style of its variables (``f-string``, ``mustache`` or empty for either)."""
    content = _structured(text, path)
    if isinstance(content, str):
        return [("user", content, "")]
    if isinstance(content, Mapping) and content.get("lc"):
        return [_langchain(one, path) for one in content.get("kwargs", {}).get("messages", ())]
    if isinstance(content, Mapping) and content.get("format") == FORMAT:
        return [
            (str(one["role"]), _placed(str(one["content"]), content), "literal")
            for one in content["messages"]
        ]
    if isinstance(content, Mapping) and "prompts" in content:
        return _promptfoo(content["prompts"], path)
    if isinstance(content, Mapping):
        content = content.get("messages") or content.get("template")
    if isinstance(content, str):
        return [("user", content, "")]
    if isinstance(content, list) and content and all(_is_message(one) for one in content):
        return [(str(one["role"]), str(one["content"]), "") for one in content]
    raise UsageError(
        f"{path} holds no prompt that is known", hint="give text, or messages with role and content"
    )


def _structured(text: str, path: Path) -> Any:
    if path.suffix.lower() in (".yaml", ".yml"):
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(
                f"{path} is not YAML: {' '.join(str(error).split())[:120]}", hint="correct it"
            ) from error
    if path.suffix.lower() != ".json":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON: {error}", hint="correct it, or give it another suffix"
        ) from error


def _placed(text: str, exported: Mapping[str, Any]) -> str:
    for one in exported["inputs"]:
        text = text.replace(one["placeholder"], f"⟦{one['name']}⟧")
    return text


def _is_message(one: Any) -> bool:
    return (
        isinstance(one, Mapping) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)
    )


def _langchain(one: Any, path: Path) -> tuple[str, str, str]:
    kind, kwargs = str((one.get("id") or [""])[-1]), one.get("kwargs") or {}
    inner = (kwargs.get("prompt") or {}).get("kwargs") or {}
    role = next((role for name, role in _SPOKEN.items() if kind.startswith(name)), "")
    template = inner.get("template") if inner else kwargs.get("content")
    if not role or not isinstance(template, str):
        raise UsageError(
            f"{path} has a message of the kind {kind!r}", hint="give system, human and AI messages"
        )
    return role, template, str(inner.get("template_format", "f-string")) if inner else "literal"


_SPOKEN = {"System": "system", "Human": "user", "AI": "assistant"}


def _promptfoo(prompts: Any, path: Path) -> list[tuple[str, str, str]]:
    listed = prompts if isinstance(prompts, Sequence) and not isinstance(prompts, str) else [prompts]
    if len(listed) != 1:
        raise UsageError(f"{path} has {len(listed)} prompts, and a judge is one", hint="leave one in it")
    one = listed[0].get("raw") or listed[0].get("id") if isinstance(listed[0], Mapping) else listed[0]
    if isinstance(one, str) and one.startswith("file://"):
        return _messages_of_file(path.parent / one.removeprefix("file://"))
    try:
        found = json.loads(str(one))
    except ValueError:
        found = None
    if isinstance(found, list) and all(_is_message(item) for item in found):
        return [(str(item["role"]), str(item["content"]), "mustache") for item in found]
    return [("user", str(one), "mustache")]


def _messages_of_file(path: Path) -> list[tuple[str, str, str]]:
    try:
        return _messages(path.read_text("utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="name a text, JSON or YAML file") from error


def _marked(template: str, style: str, path: Path) -> str:
    """Return a template with ``⟦name⟧`` where an input goes, and everything else as the model saw it."""
    if style == "literal":
        return template
    if style == "f-string":
        doubled = template.replace("{{", "\0").replace("}}", "\1")
        return _named(_SINGLE, doubled, path).replace("\0", "{").replace("\1", "}")
    if found := _LOGIC.search(template):
        raise UsageError(f"{path} has logic in its template, as {found[0]!r}", hint=_WRITE)
    plain = _JINJA_TEXT.sub(lambda found: str(json.loads(found[1])) if found[1] else "", template)
    plain = plain.replace("{% raw %}", "").replace("{% endraw %}", "")
    return _named(_DOUBLE if style == "mustache" else _SINGLE, plain, path)


def _named(pattern: re.Pattern[str], text: str, path: Path) -> str:
    def mark(found: re.Match[str]) -> str:
        name = found[1].rpartition(".")[2]
        if keyword.iskeyword(name) or name.startswith("_"):
            raise UsageError(f"{path} has a variable {name!r}, which cannot be a field", hint="rename it")
        return f"⟦{name}⟧"

    return pattern.sub(mark, text)
