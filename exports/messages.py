"""The judge as chat messages with placeholders, and how to fill them in.

The messages are what the adapter formats with which the judge was proven (chat, JSON or XML), so a filled export is
byte for byte what the judge itself would send. The parser and the labels travel with
them: without those, two systems with one prompt are still two judges.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..text.escaping import defuse
from .contents import as_json, contents
from .portable_judge import filled
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target

if TYPE_CHECKING:
    from ..programs.judge import Judge

FORMAT = "jurist-messages"
_FILLING = (
    "replace every placeholder once, in a single pass, never inside inserted text; "
    "jurist.exports.messages.fill does it, and takes out of the values what the format would obey"
)


class MessagesExporter(Target):
    """JSON with the messages, the placeholders, the labels and the parser."""

    name = "messages"
    suffix = ".json"
    prepares = True

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
        exported = {
            "format": FORMAT,
            "messages": list(prompt.messages),
            "filling": _FILLING,
            **contents(subject, prompt),
        }
        return as_json(exported)

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Fill it with :func:`fill`'s single pass."""
        content = json.loads(text)
        return [filled(content, row.variables) for row in rows]


def fill(
    exported: Mapping[str, Any] | str, inputs: Mapping[str, Any], judge: Judge | None = None
) -> list[dict[str, str]]:
    """Return the messages for one case, as the judge itself would send them.

    Values are defused (see ``jurist.text.escaping``) and inserted in a single pass, so nothing in a
    judged text is taken for a placeholder, a field or an instruction of the format.
    """
    content = _parsed(exported)
    missing = [spec["name"] for spec in content["inputs"] if spec["name"] not in inputs]
    if missing:
        raise UsageError(f"the inputs {', '.join(missing)} are missing", hint="give every input of the judge")
    values = _values(content, inputs) if judge is None else defuse(judge.values(inputs), content["tags"])
    return filled(
        content, {one["name"]: _text(values[one["name"]], one["type"]) for one in content["inputs"]}
    )


def _parsed(exported: Mapping[str, Any] | str) -> Mapping[str, Any]:
    content: Any = exported
    if isinstance(exported, str):
        try:
            content = json.loads(exported)
        except ValueError:
            content = None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise UsageError(
            f"this is not a {FORMAT} file", hint="make one with: jurist export JUDGE --to messages"
        )
    return content


def _values(content: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    from ..programs.answers.sentences import Numbered, PerSentence
    from ..programs.answers.spans import Listed
    from ..programs.answers.tags import Tagged

    safe = defuse(dict(inputs), content["tags"])
    if any(spec["render"] == "custom" for spec in content["inputs"]):
        raise UsageError(
            f"{content['artifact']['judge']} renders its inputs by its own code", hint="pass judge= to fill"
        )
    forms = {form.rendering: form for form in (Numbered(), Tagged(), Listed())}
    answer = PerSentence(labels=content["labels"])
    return {
        spec["name"]: forms[spec["render"]].show(answer, texts, range(len(texts)))
        if spec["render"] in forms
        else texts
        for spec in content["inputs"]
        for texts in [safe[spec["name"]]]
    }


def _text(value: Any, kind: str) -> str:
    from dspy.adapters.utils import format_field_value
    from pydantic.fields import FieldInfo

    return str(format_field_value(FieldInfo(annotation=str if kind == "text" else object), value))
