"""The judge as a ``.prompty`` file: roles on lines of their own, Jinja2 between them."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from .contents import described
from .frontmatter import with_frontmatter
from .jinja import literal, variable
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target, loader

__all__ = ["Prompty"]

_ROLE_LINE = re.compile(
    r"(?im)^([^\S\n]*#?[^\S\n]*(?:system|user|assistant|developer|tool)(?:\[.*\])?[^\S\n]*:[^\S\n]*)$"
)
_LINE_END = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class Prompty(Target):
    """Prompty reads the filled text for roles, and refuses a value with a line like ``user:``: it is guarded."""

    name = "prompty"
    suffix = ".prompty"
    limits = (
        "Prompty drops empty lines around a message, takes a line of a value for a role, and changes line ends: "
        'fill in what jurist.exports.variables(judge, row, EXPORTERS["prompty"]) gives',
    )

    def render(self, subject: Subject) -> str:
        """Return the file.

        Raises:
            UsageError: the prompt itself holds what Prompty would change.
        """
        prompt = prompt_of(subject)
        for one in prompt.messages:
            if self.guard(one["content"]) != one["content"]:
                raise UsageError(
                    "the prompt itself holds a role on a line of its own, or line ends that Prompty changes",
                    hint="compile a prompt without them, or export it to another target",
                )
        fields = {
            "name": subject.judge.name,
            "description": subject.ref,
            "metadata": {"jurist": described(subject, prompt)},
            "inputs": [{"name": name, "kind": "string"} for name in prompt.placeholders],
            "template": {"format": {"kind": "jinja2"}, "parser": {"kind": "prompty"}},
        }
        parts = [f"{one['role']}:\n{one['content']}" for one in prompt.written(literal, variable)]
        return with_frontmatter(fields, "\n\n".join(parts))

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Load and prepare it with Prompty."""
        prompty = loader("prompty", "'prompty[jinja2]'")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "judge.prompty"
            file.write_text(text, "utf-8", newline="\n")
            agent = prompty.load(file)
        filled = [prompty.prepare(agent, dict(row.variables)) for row in rows]
        return [[{"role": one.role, "content": one.text} for one in messages] for messages in filled]

    def trimmed(self, text: str) -> str:
        """Return a message without newlines around it."""
        return text.strip("\n")

    def guard(self, text: str) -> str:
        """Return a value in which no line is a role, and every line ends with a newline."""
        return _ROLE_LINE.sub(r"(\1)", _LINE_END.sub("\n", text))
