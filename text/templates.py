"""A prompt as its owner wrote it: chat messages in which variables stand where values go.

Knows no judges and no models. A variable is written ``{{name}}``, or ``{name}`` in a prompt that has no ``{{name}}``.
"""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from .escaping import well_formed

PLAIN: Final = "plain"
"""The form of a prompt that is sent as its user wrote it."""
CHAT: Final = "chat"
"""DSPy's layout with a header before each value: what is used where nobody names another form."""
JSON: Final = "json"
"""DSPy's layout that asks for one JSON object."""
_DOUBLE = re.compile(r"\{\{\s*(?:\w+\.)*([A-Za-z_]\w*)\s*\}\}")
_SINGLE = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")
_LOGIC = re.compile(r"\{%|\{\{")
_UNTITLED = "system"
"""The role whose messages stand in an instruction without a line that names the role."""


class LogicInTemplateError(ValueError):
    """A prompt has conditions, loops or filters, which are not variables."""


class TemplateMessage(NamedTuple):
    """One chat message of a prompt."""

    role: str
    text: str  # with its variables


@dataclass(frozen=True, kw_only=True)
class Template:
    """A prompt with variables, as it was written."""

    messages: tuple[TemplateMessage, ...]

    @classmethod
    def of(cls, prompt: Any) -> "Template":
        """Return the template of a text (one user message), or of a list of messages with role and content.

        Raises ``ValueError`` for anything else, and for a prompt that has more than variables in it.
        """
        listed = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        if not isinstance(listed, Sequence) or not listed:
            raise ValueError("it is neither text nor messages with role and content")
        messages = []
        for message in listed:
            fields = message if isinstance(message, Mapping) else {}
            role, content = fields.get("role"), fields.get("content")
            if not isinstance(role, str) or not isinstance(content, str):
                raise ValueError("it is neither text nor messages with role and content")
            messages.append(TemplateMessage(role, content))
        template = cls(messages=tuple(messages))
        template._check_logic()
        return template

    def _check_logic(self) -> None:
        """Refuse conditions, loops and filters."""
        for message in self.messages:
            if _LOGIC.search(self._pattern.sub("", message.text)):
                raise LogicInTemplateError("it has more than variables in its template")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern of a variable: double braces where the prompt has any, else single ones."""
        has_double = any(_DOUBLE.search(message.text) for message in self.messages)
        return _DOUBLE if has_double else _SINGLE

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables, in the order of their first places."""
        return tuple(self._spellings)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Variable -> how the prompt writes it first, as ``{{ inputs.reply }}``."""
        spellings: dict[str, str] = {}
        for message in self.messages:
            for variable in self._pattern.finditer(message.text):
                spellings.setdefault(variable[1], variable[0])
        return spellings

    @cached_property
    def instruction(self) -> str:
        """The prompt in one text, each variable as ``{{name}}``: what an optimizer rewrites."""
        parts = []
        for role, text in self.messages:
            body = self._pattern.sub(lambda variable: _spelled(variable[1]), text).strip()
            has_title = len(self.messages) > 1 and role != _UNTITLED
            parts.append(f"{role}:\n{body}" if has_title else body)
        return normalise_instruction("\n\n".join(part for part in parts if part))

    def revised(self, instruction: str) -> "Template":
        """Return the prompt that a rewritten instruction stands for: this one, if nothing was rewritten.

        Variables are written as in this prompt. Those that the new text lacks follow at its end, each under its name.
        """
        if instruction == self.instruction:
            return self
        messages = self._messages_of(instruction)
        lacking = [name for name in self.variables if name not in _named(instruction)]
        for name in lacking:
            role, text = messages[-1]
            messages[-1] = TemplateMessage(role, f"{text}\n\n{name}:\n{_spelled(name)}")

        def respell(variable: re.Match[str]) -> str:
            return self._spellings.get(variable[1], variable[0])

        return Template(
            messages=tuple(TemplateMessage(role, _DOUBLE.sub(respell, text)) for role, text in messages)
        )

    def _messages_of(self, instruction: str) -> list[TemplateMessage]:
        """Return the messages of a rewritten instruction; one of the user, if it does not name this prompt's roles."""
        roles = [message.role for message in self.messages]
        if len(roles) == 1:
            return [TemplateMessage(roles[0], instruction)]
        titled = [role for role in roles if role != _UNTITLED]
        title = re.compile(f"^({'|'.join(map(re.escape, dict.fromkeys(titled)))}):$", re.MULTILINE)
        if not titled or title.findall(instruction) != titled:
            return [TemplateMessage("user", instruction)]
        before, *parts = title.split(instruction)
        messages = [TemplateMessage(_UNTITLED, before.strip())] if before.strip() else []
        for role, text in zip(parts[::2], parts[1::2], strict=True):
            messages.append(TemplateMessage(role, text.strip()))
        return messages

    @property
    def opening(self) -> tuple[TemplateMessage, ...]:
        """The messages before the first one that has a variable, without the last."""
        opening = []
        for message in self.messages[:-1]:
            if self._pattern.search(message.text):
                break
            opening.append(message)
        return tuple(opening)

    def filled_turn(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the messages after the opening, each variable replaced in one pass: no value is read as a template."""

        def value_of(variable: re.Match[str]) -> str:
            return values.get(variable[1], variable[0])

        turn = self.messages[len(self.opening) :]
        return [{"role": role, "content": self._pattern.sub(value_of, text)} for role, text in turn]

    def as_prompt(self) -> str | list[dict[str, str]]:
        """Return what :meth:`of` takes: the text of a single user message, else the list of messages."""
        if len(self.messages) == 1 and self.messages[0].role == "user":
            return self.messages[0].text
        return [{"role": role, "content": text} for role, text in self.messages]


def with_named_inputs(instruction: str, inputs: Collection[str]) -> str:
    """Return an instruction for a prompt whose values stand under headers: ``{{reply}}`` becomes the name `reply`."""

    def name_of(variable: re.Match[str]) -> str:
        return f"`{variable[1]}`" if variable[1] in inputs else variable[0]

    return _DOUBLE.sub(name_of, instruction)


def normalise_instruction(instructions: str) -> str:
    """Return an instruction as DSPy will show it: dedented, without blank edges, and encodable as UTF-8."""
    # An id must be of the text that the model sees, and a lone surrogate from a proposer would end the job.
    # DSPy cleans twice: when the signature is made, and when it is read back.
    return inspect.cleandoc(inspect.cleandoc(well_formed(instructions)))


def _spelled(name: str) -> str:
    return f"{{{{{name}}}}}"


def _named(instruction: str) -> set[str]:
    return {variable[1] for variable in _DOUBLE.finditer(instruction)}
