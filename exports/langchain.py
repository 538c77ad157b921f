"""The judge as a LangChain ``ChatPromptTemplate``, for ``langchain_core.load.loads`` and LangSmith's prompt hub."""

import warnings
from collections.abc import Sequence
from typing import Any

from .contents import as_json, described
from .prompt import prompt_of
from .target import Messages, Row, Subject, Target, loader

_ROLES = {"system": "System", "user": "Human", "assistant": "AI"}
_SPOKEN = {"system": "system", "human": "user", "ai": "assistant"}


class LangChain(Target):
    """A serialised prompt; messages without inputs are literal, so no brace in them is a variable."""

    name = "langchain"
    suffix = ".json"

    def render(self, subject: Subject) -> str:
        """Return the JSON text; labels, parser and vote are in the prompt's ``metadata``."""
        prompt = prompt_of(subject)
        templates = prompt.written(lambda text: text.replace("{", "{{").replace("}", "}}"), "{{{}}}".format)
        made = [
            _message(
                plain,
                template["content"],
                [n for n, m in prompt.placeholders.items() if m in plain["content"]],
            )
            for plain, template in zip(prompt.messages, templates, strict=True)
        ]
        kwargs = {
            "input_variables": list(prompt.placeholders),
            "messages": made,
            "metadata": {"jurist": described(subject, prompt)},
        }
        return as_json(_constructor(("prompts", "chat", "ChatPromptTemplate"), kwargs))

    def replay(self, text: str, rows: Sequence[Row]) -> list[Messages]:
        """Load it with LangChain, and invoke it."""
        load = loader("langchain_core.load", "langchain-core")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # loads is declared beta
            prompt = load.loads(text, allowed_objects="core")
        filled = [prompt.invoke(dict(row.variables)).to_messages() for row in rows]
        return [
            [{"role": _SPOKEN[one.type], "content": one.content} for one in messages] for messages in filled
        ]


def _message(plain: Any, template: str, names: Sequence[str]) -> dict[str, Any]:
    kind = _ROLES[plain["role"]]
    if not names:
        return _constructor(("schema", "messages", f"{kind}Message"), {"content": plain["content"]})
    about = {"input_variables": names, "template": template, "template_format": "f-string"}
    inner = _constructor(("prompts", "prompt", "PromptTemplate"), about)
    return _constructor(("prompts", "chat", f"{kind}MessagePromptTemplate"), {"prompt": inner})


def _constructor(path: tuple[str, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", *path], "kwargs": kwargs}
