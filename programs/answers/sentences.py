"""One closed label for each of several texts, such as the sentences of a response: by number, or in another form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...cases import Label, Values
from ...text.escaping import one_line
from .base import Inputs, Places, Reading, Reply, Shares, Tokens, member, reasoning_of
from .labels import ClosedLabel


@dataclass(frozen=True, kw_only=True)
class PerSentence(ClosedLabel):
    """One closed label for each of the texts in the list ``unit``, which are shown with numbers.

    A reply is a list of items with the number ``n`` of a text and its ``label``. Subclasses ask in other forms.
    """

    per_unit: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    rendering: ClassVar[str] = "numbered"  # what exports call the way in which the texts are shown

    def units(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(inputs[self.unit])

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        """Return the texts at these places as the prompt shows them."""
        return numbered(texts, places)

    def render(self, inputs: Inputs, places: Places = None) -> dict[str, Any]:
        return {**inputs, self.unit: self.show(inputs[self.unit], self.asked(inputs, places))}

    def asked(self, inputs: Inputs, places: Places) -> Sequence[int]:
        """Return the places of the texts that are asked for."""
        return range(len(inputs[self.unit])) if places is None else places

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the labels of the texts that were asked for; none for a text that was given two."""
        asked, extra = {place + 1 for place in self.asked(inputs, places)}, 0
        given: dict[int, set[Label]] = {}
        items = _items(reply.get(self.field))
        for item in items:
            number, label = member(item, "n"), member(item, "label")
            if not isinstance(number, int) or label not in self.labels:
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
            values=tuple(sure.get(number) for number in range(1, len(inputs[self.unit]) + 1)),
            reasoning=reasoning_of(reply) or "\n".join(evidence),
            extra=extra,
            duplicated=len(given) - len(sure),
        )

    def shares(self, reply: Reply, said: Tokens, inputs: Inputs) -> tuple[Shares, ...]:
        items, own = _items(reply.get(self.field)), said.get(self.field, ())
        if not own or len(items) != len(own):
            return ()
        shares = {member(item, "n"): one for item, one in zip(items, own, strict=True)}
        return tuple(shares.get(number, {}) for number in range(1, len(inputs[self.unit]) + 1))

    def example(self, values: Values, inputs: Inputs) -> Any:
        return [{"n": n, "label": label} for n, label in enumerate(values, 1) if label is not None]

    def render_rule(self, name: str) -> str:
        return self.rendering if name == self.unit else "as-is"

    def parser_rule(self) -> dict[str, Any]:
        return {"field": self.field, "label_of_value": None, **self.label_rule()}

    def label_rule(self) -> dict[str, Any]:
        """Return for other systems which text a label in a reply belongs to."""
        meaning = "each item's label belongs to the sentence with its number n; numbers start at 1"
        return {"labels": meaning, "reader": "numbered", "set": list(self.labels)}


def numbered(sentences: Sequence[str], places: Places = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces."""
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def _items(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else ()
