"""A prompt that somebody has, as an instruction and the names of its inputs.

Its variables are ``{{name}}`` or, where there are none of these, ``{name}``; templates with logic are refused. Which
files are read, :mod:`jurist.exports.prompt_files` says.
"""

import json
import keyword
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from .prompt_files import templates_of

_DOUBLE = re.compile(r"\{\{\{?\s*([A-Za-z_][\w.]*)\s*\}?\}\}")
_SINGLE = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
_LOGIC = re.compile(r"\{%-?\s*(?!set jurist|raw|endraw)\w|\{\{[#/^]")
_JINJA_TEXT = re.compile(r'\{\{ ("(?:[^"\\]|\\.)*") \}\}|\{% ?set jurist = 1 ?%\}')
_FIELDS = re.compile(r"⟦(\w+)⟧")
_WRITE = "write the inputs as {{name}}, or keep the template and write the judge's file by hand"


@dataclass(frozen=True, kw_only=True)
class IncomingPrompt:
    """A prompt as a task."""

    instruction: str  # its text, with the name of each input in backquotes where its value went
    inputs: tuple[str, ...]  # the names of its variables, in their order, usable as names of fields


def read_prompt(path: Path) -> IncomingPrompt:
    """Read a prompt file."""
    messages = templates_of(path)
    usual = "mustache" if any(not one.style and _DOUBLE.search(one.text) for one in messages) else ""
    marked = [(one.role, _marked(one.text, one.style or usual, path)) for one in messages]
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
    return _named(_DOUBLE if style in ("mustache", "jinja2") else _SINGLE, plain, path)


def _named(pattern: re.Pattern[str], text: str, path: Path) -> str:
    def mark(found: re.Match[str]) -> str:
        name = found[1].rpartition(".")[2]
        if keyword.iskeyword(name) or name.startswith("_"):
            raise UsageError(f"{path} has a variable {name!r}, which cannot be a field", hint="rename it")
        return f"⟦{name}⟧"

    return pattern.sub(mark, text)
