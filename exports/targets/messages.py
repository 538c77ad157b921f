"""The judge as chat messages with placeholders, and its description, in JSON."""

import json

from ..description import contents
from ..target import Subject, prompt_of

FORMAT = "jurist-messages"
_FILLING = (
    "replace every placeholder once, in a single pass, never inside inserted text; "
    "jurist.exports.filled does it, with the values of jurist.exports.variables, which the format does not obey"
)


class MessagesExporter:
    """JSON with the messages, the placeholders, the labels and the parser."""

    name = "messages"
    suffix = ".json"
    limits: tuple[str, ...] = ()

    def render(self, subject: Subject) -> str:
        """Return the JSON text."""
        prompt = prompt_of(subject, lambda name: f"{{{{{name}}}}}")
        exported = {
            "format": FORMAT,
            "messages": list(prompt.messages),
            "filling": _FILLING,
            **contents(subject, prompt),
        }
        return json.dumps(exported, ensure_ascii=False, indent=2) + "\n"


exporter = MessagesExporter()
