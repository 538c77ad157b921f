"""The judge as one text with ``{{name}}`` where an input goes, for whatever takes a prompt as a text."""

from .prompt import prompt_of
from .target import Subject

__all__ = ["Text"]


class Text:
    """The messages below each other, each under its role; what reads them as one message asks another prompt."""

    name = "text"
    suffix = ".txt"
    limits = (
        "one text: the roles are lines of it, and nothing says how a reply is read or samples are counted; "
        "jurist export --to messages does",
    )

    def render(self, subject: Subject) -> str:
        """Return the text."""
        prompt = prompt_of(subject, "{{{{{}}}}}".format)
        return "\n\n".join(f"{one['role']}:\n{one['content']}" for one in prompt.messages) + "\n"
