"""The one prompt of a judge: the messages that its adapter sends, with placeholders where the inputs go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .target import Subject

if TYPE_CHECKING:
    import dspy

_ENDINGS = ("", *(f"_{number}" for number in range(1, 100)))


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """A prompt to be filled."""

    # each with ``role`` and ``content``, byte for byte as the adapter formats them
    messages: tuple[Mapping[str, str], ...]
    placeholders: Mapping[str, str]  # input field -> what stands for it; each occurs once in all messages
    adapter: str  # DSPy's prompt format: ``chat``, ``json`` or ``xml``
    signature: type[dspy.Signature]  # its inputs and outputs, with their types
    demos: Sequence[Any] = ()  # its demonstrations

    def written(self, literal: Callable[[str], str], variable: Callable[[str], str]) -> list[dict[str, str]]:
        """Return the messages in a target's own syntax."""
        names = {mark: name for name, mark in self.placeholders.items()}
        parting = re.compile("(" + "|".join(map(re.escape, names)) + ")")
        return [
            {
                "role": message["role"],
                "content": "".join(
                    variable(names[part]) if part in names else literal(part)
                    for part in parting.split(message["content"])
                    if part
                ),
            }
            for message in self.messages
        ]

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of its fields where it writes them as tags: values of variables hold none of these."""
        return tuple(self.signature.fields) if self.adapter == "xml" else ()

    def sent(self, values: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the messages that the adapter formats for the values of :meth:`Judge.values`."""
        from ..engines.adapters import adapter

        messages = adapter(self.adapter).format(self.signature, list(self.demos), dict(values))
        return [{"role": str(one["role"]), "content": one["content"]} for one in messages]


def prompt_of(subject: Subject, mark: Callable[[str], str] = "⟦{}⟧".format) -> Prompt:
    """Return the prompt of a judge that asks once."""
    from ..engines.adapters import adapter as adapter_named

    judge, predictor = subject.judge, only_predictor(subject)
    name = str(subject.card.get("adapter") or "chat")
    adapter = adapter_named(name)
    for ending in _ENDINGS if takes_text(predictor) else ():
        marks = {field: mark(f"{field}{ending}") for field in judge.input_fields}
        messages = adapter.format(predictor.signature, predictor.demos, marks)
        whole = "\0".join(message["content"] for message in messages)
        if all(whole.count(one) == 1 for one in marks.values()):
            kept = tuple({"role": str(one["role"]), "content": one["content"]} for one in messages)
            return Prompt(
                messages=kept,
                placeholders=marks,
                adapter=name,
                signature=predictor.signature,
                demos=tuple(predictor.demos),
            )
    raise UsageError(
        f"{judge.name} has an input that is not inserted as text, which this target cannot hold",
        hint="export it to markdown, or run it with jurist",
    )


def takes_text(predictor: dspy.Predict) -> bool:
    """Whether every input is inserted where it stands; DSPy's own types (histories, images) are not."""
    from dspy.adapters.types.base_type import Type
    from dspy.adapters.types.history import History

    return not any(
        Type.extract_custom_type_from_annotation(info.annotation) or info.annotation is History
        for info in predictor.signature.input_fields.values()
    )


def only_predictor(subject: Subject) -> dspy.Predict:
    """Return the one predictor of a judge that asks once."""
    judge, predictors = subject.judge, dict(subject.program.named_predictors())
    first = next(iter(predictors.values()), None)
    if len(predictors) > 1:
        what = f"asks up to {len(predictors)} prompts ({', '.join(predictors)}), each after what the last one answered"
    elif first is None or tuple(first.signature.input_fields) != judge.input_fields:
        what = "is not one prompt filled with its inputs"
    else:
        return first
    raise UsageError(
        f"{judge.name} {what}; this target holds one prompt",
        hint="export it to markdown, or run it with jurist",
    )


def without_braces(system: str) -> Callable[[str], str]:
    """Return what writes literal text for a system that has ``{{name}}`` and no way to write braces.

    What it returns raises UsageError for text with double braces.
    """

    def literal(text: str) -> str:
        if "{{" in text or "}}" in text:
            raise UsageError(
                f"the prompt itself holds double braces, which {system} would take for a variable",
                hint="compile a prompt without them, or export it to another target",
            )
        return text

    return literal
