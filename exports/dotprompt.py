"""The judge as a dotprompt ``.prompt`` file, for Genkit and others."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from .contents import described, reply_schema
from .frontmatter import with_frontmatter
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target, loader

__all__ = ["Dotprompt"]

_MARKER = "<<<dotprompt:"
_ROLES = {"system": "system", "user": "user", "assistant": "model"}
_SYNTAX = re.compile(r"\{(?=\{|\Z)|\\\Z")  # what Handlebars would read, also where a variable follows
_PARTED = "{} {{{{~!}}}}".format  # a comment that takes the space before it away


class Dotprompt(Target):
    """Handlebars, a role helper before each message; comments stand between braces of the prompt itself."""

    name = "dotprompt"
    suffix = ".prompt"
    limits = (
        f"dotprompt obeys {_MARKER} in a value: "
        'fill in what jurist.exports.variables(judge, row, EXPORTERS["dotprompt"]) gives',
    )

    def render(self, subject: Subject) -> str:
        """Return the file.

        Raises:
            UsageError: the prompt itself holds one of dotprompt's markers.
        """
        prompt = prompt_of(subject)
        written = prompt.written(self._literal, "{{{{{}}}}}".format)
        body = "".join(f'{{{{role "{_ROLES[one["role"]]}"}}}}{one["content"]}' for one in written)
        as_json = {"format": "json", "schema": reply_schema(prompt)} if prompt.adapter == "json" else None
        fields = {
            "name": subject.judge.name,
            "description": subject.ref,
            "input": {"schema": dict.fromkeys(prompt.placeholders, "string")},
            "output": as_json or {"format": "text"},
            "jurist.judge": described(subject, prompt),
        }
        return with_frontmatter(fields, body)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Render it with dotprompt's Python package."""
        package = loader("dotpromptz", "dotpromptz")
        return asyncio.run(_rendered(package, text, rows))

    def guard(self, text: str) -> str:
        """Return a value without dotprompt's markers."""
        return text.replace(_MARKER, "(((dotprompt:")

    def _literal(self, text: str) -> str:
        if _MARKER in text:
            raise UsageError(
                f"the prompt itself holds {_MARKER}, which dotprompt would obey",
                hint="compile a prompt without it, or export it to another target",
            )
        return _SYNTAX.sub(lambda found: _PARTED(found[0]), text)


async def _rendered(package: Any, text: str, rows: Sequence[Row]) -> list[Messages]:
    spoken = {theirs: ours for ours, theirs in _ROLES.items()}
    fill = await package.Dotprompt().compile(text)
    filled = [await fill(package.DataArgument(input=dict(row.variables))) for row in rows]
    return [
        [
            {"role": spoken[one.role], "content": "".join(part.text for part in one.content)}
            for one in made.messages
        ]
        for made in filled
    ]
