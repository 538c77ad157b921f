"""The judge for MLflow: what ``mlflow.genai.register_prompt`` takes, so that the prompt registry has it."""

import json
import re
from collections.abc import Sequence
from typing import Any

from .contents import as_json, described, reply_schema
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target, loader

_MARK = "{% set jurist = 1 %}"  # makes MLflow take the templates for Jinja2, which reads no value again
_LONGEST = 5000  # characters of a tag of a model version
_SYNTAX = re.compile(r"\{[{%#]|[%#}]\}|\r\n?|\n\Z")


class MLflow(Target):
    """``mlflow.genai.register_prompt(**json.load(file))``; Jinja2, because MLflow's own format re-reads values."""

    name = "mlflow"
    suffix = ".json"
    limits = ("make_judge has variables of its own only: load the prompt in a scorer function instead",)

    def render(self, subject: Subject) -> str:
        """Return the keyword arguments as JSON; labels, parser and vote are in tags."""
        prompt = prompt_of(subject)
        messages = prompt.written(_literal, "{{{{ {} }}}}".format)
        messages[0]["content"] = _MARK + messages[0]["content"]
        whole = {
            "name": subject.judge.name,
            "template": messages,
            "commit_message": f"{subject.ref}, sha256 {subject.stamp['sha256']}",
            "tags": _tags(described(subject, prompt)),
            **({"response_format": reply_schema(prompt)} if prompt.adapter == "json" else {}),
        }
        return as_json(whole)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Make the prompt version that the registry keeps, and format it."""
        entities, given = loader("mlflow.entities.model_registry", "mlflow"), json.loads(text)
        kept = entities.PromptVersion(name=given["name"], version=1, template=given["template"])
        return [kept.format(**row.variables) for row in rows]


def _literal(text: str) -> str:
    """Return a template that renders to ``text``, under Jinja2's own settings for line ends too."""
    return _SYNTAX.sub(lambda found: "{{ " + json.dumps(found[0]) + " }}", text)


def _tags(about: dict[str, Any]) -> dict[str, str]:
    """Return texts that a tag can hold; what is longer is in the export to messages only."""
    texts = {f"jurist.{key}": json.dumps(value, ensure_ascii=False) for key, value in about.items()}
    return {key: text for key, text in texts.items() if len(text) <= _LONGEST}
