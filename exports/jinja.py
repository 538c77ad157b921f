"""The judge as Jinja2 templates: one JSON file, a template a message. Values are inserted once and never read."""

import json
import re
from collections.abc import Sequence

from .contents import as_json, described
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target, loader

__all__ = ["Jinja", "literal", "variable"]

_SYNTAX = re.compile(r"\{[{%#]|[%#}]\}|\r\n?|\n\Z")
variable = "{{{{ {} }}}}".format


def literal(text: str) -> str:
    """Return a template that renders to ``text``, under Jinja2's own settings for line ends too."""
    return _SYNTAX.sub(lambda found: "{{ " + json.dumps(found[0]) + " }}", text)


class Jinja(Target):
    """``messages`` with a template each, for any Jinja2 environment with ``{{ }}`` and no escaping."""

    name = "jinja2"
    suffix = ".json"

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt = prompt_of(subject)
        return as_json({"messages": prompt.written(literal, variable), "jurist": described(subject, prompt)})

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Render with Jinja2's sandbox, in which an undefined variable is an error."""
        loader("jinja2", "jinja2")
        from jinja2 import StrictUndefined
        from jinja2.sandbox import SandboxedEnvironment

        environment = SandboxedEnvironment(
            undefined=StrictUndefined
        )  # as prompts are text, nothing is escaped
        made = [
            (one["role"], environment.from_string(one["content"])) for one in json.loads(text)["messages"]
        ]
        return [
            [{"role": role, "content": template.render(row.variables)} for role, template in made]
            for row in rows
        ]
