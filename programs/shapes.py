"""The shape of an answer: how a program's output becomes one label per unit, and back.

Two shapes serve every judge so far: one label for the whole case, and one label
for each numbered sentence. A reply that does not fit its shape yields ``None``
(abstained) for the units it fails, never a guessed label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..cases import Label, Labels
from ..hostile import one_line

__all__ = ["OneLabel", "Sentences", "Shape", "numbered"]


class Shape(Protocol):
    """How labels are read from a prediction and written into a demonstration."""

    @property
    def field(self) -> str:
        """The output field that holds the answer."""
        ...

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the texts that get a label each."""
        ...

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the signature's input fields."""
        ...

    def read(self, answer: Any, count: int) -> Labels:
        """Return ``count`` labels, ``None`` where the answer gives none that can be used."""
        ...

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the output field's value that says ``labels``: the inverse of :meth:`read`."""
        ...


@dataclass(frozen=True, kw_only=True)
class OneLabel:
    """One closed label for the whole case.

    Attributes:
        field: the output field.
        values: label -> the value the field takes for it (a string, or a bool).
        unit: the input field whose text is what gets the label.
    """

    field: str
    values: Mapping[Label, str | bool]
    unit: str

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the one text that is judged."""
        return (str(inputs[self.unit]),)

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs as they are."""
        return dict(inputs)

    def read(self, answer: Any, count: int) -> Labels:
        """Return the label whose value was answered."""
        return (
            next((label for label, value in self.values.items() if value is answer or value == answer), None),
        )

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the value of the one label."""
        label = labels[0]
        return None if label is None else self.values[label]


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """One label for each sentence of a response, given by number.

    Attributes:
        field: the output field, a list of items with ``n`` (1-based) and ``label``.
        unit: the input field with the list of sentences; rendered one to a line, numbered.
        labels: the closed set.
    """

    field: str
    unit: str
    labels: tuple[Label, ...]

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(inputs[self.unit])

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs with the sentences numbered."""
        return {**inputs, self.unit: numbered(inputs[self.unit])}

    def read(self, answer: Any, count: int) -> Labels:
        """Return each sentence's label; ``None`` where its number is missing or was given two labels."""
        found: dict[int, Label | None] = {}
        for item in answer if isinstance(answer, list | tuple) else ():
            number, label = _pair(item)
            if number is None or label not in self.labels:
                continue
            found[number] = label if found.get(number, label) == label else None
        return tuple(found.get(number) for number in range(1, count + 1))

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the items of the labelled sentences."""
        return [{"n": n, "label": label} for n, label in enumerate(labels, 1) if label is not None]


def numbered(sentences: Sequence[str]) -> str:
    """Return the sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    return "\n".join(f"{n}. {one_line(text) or '(blank)'}" for n, text in enumerate(sentences, 1))


def _pair(item: Any) -> tuple[int | None, Any]:
    number, label = (
        (item.get("n"), item.get("label"))
        if isinstance(item, Mapping)
        else (getattr(item, "n", None), getattr(item, "label", None))
    )
    return (number if isinstance(number, int) else None), label
