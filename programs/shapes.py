"""The shape of an answer: how a program's output becomes one label per unit, and back.

Three shapes serve every judge so far: one label for the whole case, one label
together with the units of text that it rests on, and one label for each numbered
sentence (here by number; :mod:`.tags` has the same with the sentences echoed). A
reply that does not fit its shape yields ``None`` (abstained) for the units it
fails, never a guessed label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol, Self, get_args, runtime_checkable

from ..cases import Label, Labels
from ..errors import JudgeError
from ..text.escaping import one_line

__all__ = [
    "Answer",
    "OneLabel",
    "Policy",
    "Quoted",
    "Repeatable",
    "Sentences",
    "Shape",
    "Verified",
    "numbered",
    "shown",
]

Policy = Literal["abstain", "units", "label"]
"""What an answer counts for whose label and units contradict each other: nothing, its units, its label."""

_SETTLE: Final[Mapping[Policy, Callable[[Label, Label], Label | None]]] = {
    "abstain": lambda said, shown: None,
    "units": lambda said, shown: shown,
    "label": lambda said, shown: said,
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one reply says.

    Attributes:
        labels: one label per judged unit, ``None`` where the reply gives none that can be used.
        reasoning: what the reply gives as its reasons, or nothing.
        inconsistent: whether its parts contradict each other, whatever was made of it.
        problem: what in it cannot be used, if that is worth saying.
        extra: answers for something that was not asked: a number that no sentence has, a text that is none.
        duplicated: units that were given two different labels, and so have none.
    """

    labels: Labels
    reasoning: str = ""
    inconsistent: bool = False
    problem: str = ""
    extra: int = 0
    duplicated: int = 0

    @property
    def missing(self) -> tuple[int, ...]:
        """The places of the units without a label, from 0."""
        return tuple(place for place, label in enumerate(self.labels) if label is None)

    def completed(self, second: Answer) -> Answer:
        """Return this answer with the labels that ``second``, asked for the missing units only, gives them."""
        labels = zip(self.labels, second.labels, strict=True)
        return replace(
            self,
            labels=tuple(again if label is None else label for label, again in labels),
            extra=self.extra + second.extra,
            duplicated=self.duplicated + second.duplicated,
        )


class Shape(Protocol):
    """How labels are read from a reply and written into a demonstration."""

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

    def read(self, reply: Mapping[str, Any], count: int) -> Answer:
        """Return what a reply (output field -> value) says: ``count`` labels, and why."""
        ...

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the value of :attr:`field` that says ``labels``: :meth:`read` gives them back."""
        ...


@runtime_checkable
class Repeatable(Shape, Protocol):
    """A shape of several units, some of which can be asked for again under their own numbers."""

    def render_partial(self, inputs: Mapping[str, Any], units: Sequence[int]) -> dict[str, Any]:
        """Return the values of the input fields that ask for the units at these places (from 0) only."""
        ...

    def read_partial(self, reply: Mapping[str, Any], count: int, units: Sequence[int]) -> Answer:
        """Return what a reply says that was asked for these places of ``count``; the others get ``None``."""
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

    def read(self, reply: Mapping[str, Any], count: int) -> Answer:
        """Return the label whose value was answered."""
        return Answer(labels=(self._label(reply),), reasoning=_reasoning(reply))

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the value of the one label."""
        label = labels[0]
        return None if label is None else self.values[label]

    def _label(self, reply: Mapping[str, Any]) -> Label | None:
        said = reply.get(self.field)
        return next((label for label, value in self.values.items() if value is said or value == said), None)


@dataclass(frozen=True, kw_only=True)
class Verified(OneLabel):
    """One closed label for the whole case, with the parts of the judged text that it rests on.

    Every part has a verdict of its own (FECT section 2.2), so a reply can contradict itself: its
    label must be ``holds`` if there are parts and all of them were verified, and ``fails`` otherwise.
    A demonstration made from gold has the label only, because gold has no parts: DSPy shows the
    parts as not supplied.

    Attributes:
        parts: the output field with the parts, a list of items with ``text``, ``kind``, ``reasoning`` and
            ``verified``.
        holds: the label that says that everything was verified.
        fails: the label that says that something was not.
        policy: what becomes of a reply that contradicts itself. It is counted in any case.

    Raises:
        JudgeError: ``policy``, ``holds`` or ``fails`` is not known.
    """

    parts: str
    holds: Label
    fails: Label
    policy: Policy = "abstain"

    def __post_init__(self) -> None:
        """Refuse what would only come out in the middle of a run."""
        if self.policy not in _SETTLE:
            raise JudgeError(
                f"{self.policy!r} is no policy for replies that contradict themselves",
                hint=f"use one of {', '.join(get_args(Policy))}",
            )
        if not {self.holds, self.fails} <= set(self.values):
            raise JudgeError(
                f"{self.holds!r} and {self.fails!r} are not both among the labels {list(self.values)}",
                hint="name two of the labels",
            )

    def read(self, reply: Mapping[str, Any], count: int) -> Answer:
        """Return the label if it agrees with the parts, else what the policy makes of the two.

        A reply whose parts cannot be read says nothing that can be checked: it gives no label.
        """
        parts, said = _parts(reply.get(self.parts)), self._label(reply)
        if parts is None or said is None:
            return Answer(labels=(None,))
        shown = self.holds if parts and all(part["verified"] for part in parts) else self.fails
        label = said if said == shown else _SETTLE[self.policy](said, shown)
        reasoning = "\n".join(map(_rendered, parts))
        return Answer(labels=(label,), reasoning=reasoning, inconsistent=said != shown)


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

    def read(self, reply: Mapping[str, Any], count: int) -> Answer:
        """Return each sentence's label; ``None`` where its number is missing or was given two labels."""
        return self.read_partial(reply, count, range(count))

    def answer(self, labels: Sequence[Label | None]) -> Any:
        """Return the items of the labelled sentences."""
        return [{"n": n, "label": label} for n, label in enumerate(labels, 1) if label is not None]

    def render_partial(self, inputs: Mapping[str, Any], units: Sequence[int]) -> dict[str, Any]:
        """Return the inputs with some of the sentences only, each with the number it had."""
        return {**inputs, self.unit: numbered(inputs[self.unit], units)}

    def read_partial(self, reply: Mapping[str, Any], count: int, units: Sequence[int]) -> Answer:
        """Return the labels of the sentences that were asked for, by number."""
        asked, extra = {place + 1 for place in units}, 0
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
        return Answer(
            labels=tuple(sure.get(number) for number in range(1, count + 1)),
            reasoning=_reasoning(reply),
            extra=extra,
            duplicated=len(found) - len(sure),
        )


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """What shapes share that tell by its text which sentence of a response a label is for.

    Attributes:
        field: the output field.
        unit: the input field with the list of sentences.
        sentences: those of the row in hand; see :meth:`bound`.
    """

    field: str
    unit: str
    sentences: tuple[str, ...] = ()

    def bound(self, inputs: Mapping[str, Any]) -> Self:
        """Return the shape that reads and writes answers about one row, given as the prompt shows it."""
        return replace(self, sentences=tuple(inputs[self.unit]))

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(inputs[self.unit])


def numbered(sentences: Sequence[str], places: Sequence[int] | None = None) -> str:
    """Return sentences one to a line as ``1. text``; line breaks inside a sentence become spaces.

    Args:
        sentences: all of them.
        places: which to return (from 0), each with the number it has among all; default: all.
    """
    chosen = range(len(sentences)) if places is None else places
    return "\n".join(f"{place + 1}. {shown(sentences[place])}" for place in chosen)


def shown(sentence: str) -> str:
    """Return a sentence as a prompt shows it: on one line, and ``(blank)`` for nothing."""
    return one_line(sentence) or "(blank)"


def _pair(item: Any) -> tuple[int | None, Any]:
    number, label = _get(item, "n"), _get(item, "label")
    return (number if isinstance(number, int) else None), label


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _reasoning(reply: Mapping[str, Any]) -> str:
    return str(reply.get("reasoning") or "")


def _parts(items: Any) -> list[dict[str, Any]] | None:
    """Return the parts of a reply as plain values, or ``None`` if one has no verdict that can be read."""
    if not isinstance(items, list | tuple):
        return None
    parts = [{name: _get(item, name) for name in ("text", "kind", "reasoning", "verified")} for item in items]
    return parts if all(isinstance(part["verified"], bool) for part in parts) else None


def _rendered(part: Mapping[str, Any]) -> str:
    """Return a part on one line: ``verified: concrete "the plan": the agent names it``."""
    verdict = "verified" if part["verified"] else "not verified"
    why = one_line(str(part["reasoning"] or ""))
    return f'{verdict}: {part["kind"]} "{one_line(str(part["text"]))}"' + (f": {why}" if why else "")
