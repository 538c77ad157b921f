"""One closed label for each sentence of a response, given by its number; and what its relatives share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from ...cases import Label, Values
from ...text.escaping import one_line
from .labels import ClosedLabel
from .reading import Reading, member, reasoning_of


@dataclass(frozen=True, kw_only=True)
class PerSentence(ClosedLabel):
    """One closed label for each of the sentences in the list ``unit``."""

    per_unit: ClassVar[bool] = True

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(inputs[self.unit])

    def read(self, reply: Mapping[str, Any], count: int) -> Reading:
        """Return each sentence's label; ``None`` where there is none, or where it was given two."""
        return self.read_partial(reply, count, range(count))


@dataclass(frozen=True, kw_only=True)
class Sentences(PerSentence):
    """One label for each sentence of a response, given by number."""

    repeatable: ClassVar[bool] = True

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs with the sentences numbered."""
        return {**inputs, self.unit: numbered(inputs[self.unit])}

    def probabilities(
        self, reply: Mapping[str, Any], said: Sequence[Mapping[str, float]], count: int
    ) -> tuple[Mapping[Any, float], ...]:
        """Return those of each sentence, by the number of its item."""
        items = reply.get(self.field)
        if not isinstance(items, list | tuple) or len(items) != len(said):
            return ()
        found = {_pair(item)[0]: shares for item, shares in zip(items, said, strict=True)}
        return tuple(found.get(number, {}) for number in range(1, count + 1))

    def example(self, values: Values) -> Any:
        """Return the items of the labelled sentences."""
        return [{"n": n, "label": label} for n, label in enumerate(values, 1) if label is not None]

    def render_partial(self, inputs: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
        """Return the inputs with some of the sentences only, each with the number it had."""
        return {**inputs, self.unit: numbered(inputs[self.unit], places)}

    def read_partial(self, reply: Mapping[str, Any], count: int, places: Sequence[int]) -> Reading:
        """Return the labels of the sentences that were asked for, by number."""
        asked, extra = {place + 1 for place in places}, 0
        found: dict[int, set[Label]] = {}
        items = reply.get(self.field)
        for item in items if isinstance(items, list | tuple) else ():
            number, label = _pair(item)
            if number is None or label not in self.labels:
                continue
            if number in asked:
                found.setdefault(number, set()).add(label)
            else:
                extra += 1
        sure = {number: next(iter(said)) for number, said in found.items() if len(said) == 1}
        return Reading(
            values=tuple(sure.get(number) for number in range(1, count + 1)),
            reasoning=reasoning_of(reply) or _evidence(items),
            extra=extra,
            duplicated=len(found) - len(sure),
        )

    def render_rule(self, name: str) -> str:
        """Return ``numbered`` for the sentences."""
        if type(self).render is not Sentences.render:
            return "custom"
        return "numbered" if name == self.unit else "as-is"

    def parser_rule(self) -> dict[str, Any]:
        """Return what the numbers mean."""
        meaning = "each item's label belongs to the sentence with its number n; numbers start at 1"
        reader = {"reader": "numbered", "set": list(self.labels)} if type(self) is Sentences else {}
        return {"field": self.field, "label_of_value": None, "labels": meaning, **reader}


@dataclass(frozen=True, kw_only=True)
class Quoted(PerSentence):
    """What answers share that tell by its text which sentence of a response a label is for."""

    sentences: tuple[str, ...] = ()  # those of the row in hand; see :meth:`bound`

    def bound(self, inputs: Mapping[str, Any]) -> Self:
        """Return the answer that reads and writes replies about one row, given as the prompt shows it."""
        return replace(self, sentences=tuple(inputs[self.unit]))


def numbered(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def _evidence(items: Any) -> str:
    """Return a line for each item that gives its evidence."""
    given = [item for item in items if member(item, "evidence")] if isinstance(items, list | tuple) else []
    return "\n".join(
        f"{member(one, 'n')}. {member(one, 'label')}: {member(one, 'evidence')}" for one in given
    )


def _pair(item: Any) -> tuple[int | None, Any]:
    number, label = member(item, "n"), member(item, "label")
    return (number if isinstance(number, int) else None), label
