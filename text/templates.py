"""A prompt as its owner wrote it: chat messages in which variables stand where values go.

Knows no judges and no models. A variable is written ``{{name}}``, or ``{name}`` in a prompt that has no ``{{name}}``.
"""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

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
    def of(cls, prompt: object) -> "Template":
        """Return the template of a text (one user message), or of a list of messages with role and content.

        Raises ``ValueError`` for anything else, and for a prompt that has more than variables in it.
        """
        template = cls(messages=tuple(_messages_of_prompt(prompt)))
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
        parts: list[str] = []
        for role, text in self.messages:
            part = self._pattern.sub(lambda variable: _spelling_of(variable[1]), text).strip()
            if len(self.messages) > 1 and role != _UNTITLED:
                part = f"{role}:\n{part}"
            if part:
                parts.append(part)
        return normalise_instruction("\n\n".join(parts))

    def revised(self, instruction: str) -> "Template":
        """Return the prompt that a rewritten instruction stands for: this one, if nothing was rewritten.

        Variables are written as in this prompt. Those that the new text lacks follow at its end, each under its name.
        """
        if instruction == self.instruction:
            return self

        def respell(variable: re.Match[str]) -> str:
            return self._spellings.get(variable[1], variable[0])

        messages: list[TemplateMessage] = []
        for role, text in self._split_by_roles(instruction):
            messages.append(TemplateMessage(role, _DOUBLE.sub(respell, text)))
        role, text = messages[-1]
        for name in self._variables_missing_in(instruction):
            text += f"\n\n{name}:\n{self._spellings[name]}"
        messages[-1] = TemplateMessage(role, text)
        return Template(messages=tuple(messages))

    def _variables_missing_in(self, instruction: str) -> list[str]:
        variables = {variable[1] for variable in _DOUBLE.finditer(instruction)}
        return [name for name in self.variables if name not in variables]

    def _split_by_roles(self, instruction: str) -> list[TemplateMessage]:
        """Return the messages of a rewritten instruction; one of the user, if it does not name this prompt's roles."""
        if len(self.messages) == 1:
            return [TemplateMessage(self.messages[0].role, instruction)]
        titled_roles = [message.role for message in self.messages if message.role != _UNTITLED]
        titles = "|".join(re.escape(role) for role in dict.fromkeys(titled_roles))
        title = re.compile(f"^({titles}):$", re.MULTILINE)
        if not titled_roles or title.findall(instruction) != titled_roles:
            return [TemplateMessage("user", instruction)]
        parts = title.split(instruction)
        untitled = parts[0].strip()
        messages: list[TemplateMessage] = []
        if untitled:
            messages.append(TemplateMessage(_UNTITLED, untitled))
        for role, text in zip(parts[1::2], parts[2::2], strict=True):
            messages.append(TemplateMessage(role, text.strip()))
        return messages

    @property
    def opening(self) -> tuple[TemplateMessage, ...]:
        """The messages before the first one that has a variable, without the last."""
        opening: list[TemplateMessage] = []
        for message in self.messages[:-1]:
            if self._pattern.search(message.text):
                break
            opening.append(message)
        return tuple(opening)

    def filled_turn(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """Return the messages after the opening, each variable replaced in one pass: no value is read as a template."""

        def value_of(variable: re.Match[str]) -> str:
            return values.get(variable[1], variable[0])

        turn: list[dict[str, str]] = []
        for role, text in self.messages[len(self.opening) :]:
            turn.append({"role": role, "content": self._pattern.sub(value_of, text)})
        return turn

    def as_prompt(self) -> str | list[dict[str, str]]:
        """Return the argument of :meth:`of`: the text of a single user message, else the list of messages."""
        if len(self.messages) == 1 and self.messages[0].role == "user":
            return self.messages[0].text
        messages: list[dict[str, str]] = []
        for role, text in self.messages:
            messages.append({"role": role, "content": text})
        return messages


def _messages_of_prompt(prompt: object) -> list[TemplateMessage]:
    """Return a text as one user message, a list of mappings as messages; raise ``ValueError`` for anything else."""
    if isinstance(prompt, str):
        return [TemplateMessage("user", prompt)]
    if not isinstance(prompt, Sequence) or not prompt:
        raise ValueError("it is neither text nor messages with role and content")
    messages: list[TemplateMessage] = []
    for message in prompt:
        fields = message if isinstance(message, Mapping) else {}
        role, content = fields.get("role"), fields.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            raise ValueError("it is neither text nor messages with role and content")
        messages.append(TemplateMessage(role, content))
    return messages


def with_named_inputs(instruction: str, inputs: Collection[str]) -> str:
    """Return an instruction for a prompt whose values stand under headers: ``{{reply}}`` becomes the name `reply`."""

    def name_of(variable: re.Match[str]) -> str:
        if variable[1] in inputs:
            return f"`{variable[1]}`"
        return variable[0]

    return _DOUBLE.sub(name_of, instruction)


def normalise_instruction(instructions: str) -> str:
    """Return an instruction as DSPy will show it: dedented, without blank edges, and encodable as UTF-8."""
    # An id must be of the text that the model sees, and a lone surrogate from a proposer would end the job.
    # DSPy cleans twice: when the signature is made, and when it is read back.
    return inspect.cleandoc(inspect.cleandoc(well_formed(instructions)))


def _spelling_of(name: str) -> str:
    """Return a variable as an instruction writes it: ``{{name}}``."""
    return f"{{{{{name}}}}}"
