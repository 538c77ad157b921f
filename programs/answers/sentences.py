"""One closed label for each of several texts, such as the sentences of a response: in a form, by default by number."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...cases import Label, Values
from ...text.escaping import one_line
from .base import Reading, member, reasoning_of
from .labels import ClosedLabel


class Form(ABC):
    """How texts are shown that get a label each, and how a reply says which label is for which text."""

    rendering: ClassVar[str] = "custom"  # what exports call the way in which the texts are shown
    repeatable: ClassVar[bool] = False  # whether some of the texts can be asked for alone

    @abstractmethod
    def show(self, answer: "PerSentence", texts: Sequence[str], places: Sequence[int]) -> Any:
        """Return the texts at these places as the prompt shows them."""

    @abstractmethod
    def read(
        self, answer: "PerSentence", reply: Mapping[str, Any], texts: Sequence[str], places: Sequence[int]
    ) -> Reading:
        """Return the label of each text; ``None`` where there is none, or where it was given two."""

    def probabilities(
        self, answer: "PerSentence", reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return label -> probability of each text, as :meth:`Answer.probabilities` does."""
        return ()

    @abstractmethod
    def example(self, answer: "PerSentence", values: Values, texts: Sequence[str]) -> Any:
        """Return what a reply says that gives these labels."""

    @abstractmethod
    def rule(self, answer: "PerSentence") -> dict[str, Any]:
        """Return for other systems what a reply means."""


@dataclass(frozen=True)
class Numbered(Form):
    """Texts are numbered, and a reply is a list of items with the number ``n`` of a text and its ``label``."""

    rendering: ClassVar[str] = "numbered"
    repeatable: ClassVar[bool] = True

    def show(self, answer: "PerSentence", texts: Sequence[str], places: Sequence[int]) -> Any:
        """Return some of the texts, each with the number it has among all."""
        return numbered(texts, places)

    def read(
        self, answer: "PerSentence", reply: Mapping[str, Any], texts: Sequence[str], places: Sequence[int]
    ) -> Reading:
        """Return the labels of the texts that were asked for."""
        asked, extra = {place + 1 for place in places}, 0
        given: dict[int, set[Label]] = {}
        items = _items(reply.get(answer.field))
        for item in items:
            number, label = member(item, "n"), member(item, "label")
            if not isinstance(number, int) or label not in answer.labels:
                continue
            if number in asked:
                given.setdefault(number, set()).add(label)
            else:
                extra += 1
        sure = {number: next(iter(labels)) for number, labels in given.items() if len(labels) == 1}
        evidence = [
            f"{member(item, 'n')}. {member(item, 'label')}: {why}"
            for item in items
            if (why := member(item, "evidence"))
        ]
        return Reading(
            values=tuple(sure.get(number) for number in range(1, len(texts) + 1)),
            reasoning=reasoning_of(reply) or "\n".join(evidence),
            extra=extra,
            duplicated=len(given) - len(sure),
        )

    def probabilities(
        self, answer: "PerSentence", reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return those of each text, by the number of its item."""
        items = _items(reply.get(answer.field))
        if len(items) != len(said):
            return ()
        shares = {member(item, "n"): one for item, one in zip(items, said, strict=True)}
        return tuple(shares.get(number, {}) for number in range(1, count + 1))

    def example(self, answer: "PerSentence", values: Values, texts: Sequence[str]) -> Any:
        return [{"n": n, "label": label} for n, label in enumerate(values, 1) if label is not None]

    def rule(self, answer: "PerSentence") -> dict[str, Any]:
        """Return what the numbers mean."""
        meaning = "each item's label belongs to the sentence with its number n; numbers start at 1"
        return {"labels": meaning, "reader": "numbered", "set": list(answer.labels)}


@dataclass(frozen=True)
class Bare(Numbered):
    """The same for a program that takes the texts themselves, and is asked once."""

    rendering: ClassVar[str] = "custom"
    repeatable: ClassVar[bool] = False

    def show(self, answer: "PerSentence", texts: Sequence[str], places: Sequence[int]) -> Any:
        """Return the texts unchanged."""
        return texts


@dataclass(frozen=True, kw_only=True)
class PerSentence(ClosedLabel):
    """One closed label for each of the texts in the list ``unit``."""

    form: Form = Numbered()

    per_unit: ClassVar[bool] = True

    @property
    def repeatable(self) -> bool:
        return self.form.repeatable

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(inputs[self.unit])

    def render(self, inputs: Mapping[str, Any], places: Sequence[int] | None = None) -> dict[str, Any]:
        """Return the inputs with the texts, or some of them, as the form shows them."""
        texts = inputs[self.unit]
        asked = range(len(texts)) if places is None else places
        return {**inputs, self.unit: self.form.show(self, texts, asked)}

    def read(
        self, reply: Mapping[str, Any], inputs: Mapping[str, Any], places: Sequence[int] | None = None
    ) -> Reading:
        """Return the labels as the form reads them."""
        texts = self.units(inputs)
        return self.form.read(self, reply, texts, range(len(texts)) if places is None else places)

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], inputs: Mapping[str, Any]
    ) -> tuple[Mapping[Any, float], ...]:
        return self.form.probabilities(self, reply, said, len(self.units(inputs)))

    def example(self, values: Values, inputs: Mapping[str, Any]) -> Any:
        return self.form.example(self, values, self.units(inputs))

    def render_rule(self, name: str) -> str:
        return self.form.rendering if name == self.unit else "as-is"

    def parser_rule(self) -> dict[str, Any]:
        return {"field": self.field, "label_of_value": None, **self.form.rule(self)}


def numbered(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def _items(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else ()
