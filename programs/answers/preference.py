"""A pairwise preference: which of two inputs is better, asked in both orders within every sample.

A model that likes the first place says "first" in both orders. So each sample asks twice, with the two inputs
exchanged, and counts only if both replies prefer the same one; replies that differ are counted as contradictions,
and are a tie where the output field has one, else no usable answer. The share of replies that chose the first place
is the position bias: 0.5 without any.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from ...cases import Value
from ...errors import JudgeError
from ...evaluation.preferences import FIRST, SECOND, SIDES, TIE, Preferences
from .base import Answer
from .labels import OneLabel
from .reading import Reading

_OTHER: Mapping[Value | None, Value] = {FIRST: SECOND, SECOND: FIRST, TIE: TIE}


@dataclass(frozen=True, kw_only=True)
class Preference(OneLabel):
    """``first``, ``second`` or, if the output field has it, ``tie``.

    Attributes:
        first: the input field with the first of the two.
        second: the one with the second.
    """

    first: str = FIRST
    second: str = SECOND

    presentations: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """The labels are those that the output field has, in one order."""
        kept = tuple(label for label in SIDES if not self.values or label in self.values)
        object.__setattr__(self, "labels", kept)
        super().__post_init__()

    @cached_property
    def scale(self) -> Preferences:
        """Which of the two is better."""
        return Preferences(self.labels, first=self.first, second=self.second)

    @property
    def unit_fields(self) -> tuple[str, ...]:
        """Both fields."""
        return self.first, self.second

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse fields that are no two inputs, and replies that are no preference."""
        if self.first == self.second or not {self.first, self.second} <= set(inputs):
            raise JudgeError(
                f"judge {judge}: {self.first!r} and {self.second!r} are not two of its inputs {', '.join(inputs)}",
                hint='name the two that are compared: answer=Preference(first="reply_a", second="reply_b")',
            )
        if not {FIRST, SECOND} <= set(self.values) <= {FIRST, SECOND, TIE}:
            raise JudgeError(
                f"judge {judge}: a preference is first, second or tie, not {', '.join(self.values)}",
                hint='give the output field the type Literal["first", "second", "tie"]',
            )

    def units(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the pair as one text."""
        return (f"{FIRST}: {inputs[self.first]}\n{SECOND}: {inputs[self.second]}",)

    def asks(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the row as it is, and with the two exchanged."""
        return inputs, {**inputs, self.first: inputs[self.second], self.second: inputs[self.first]}

    def join(self, readings: Sequence[Reading]) -> Reading:
        """Return what both orders say; a tie, or nothing usable, if they contradict each other."""
        said, exchanged = (reading.values[0] for reading in readings)
        again = None if exchanged is None else _OTHER[exchanged]
        differ = None not in (said, again) and said != again
        chosen = Counter((said, exchanged))
        unusable = differ and not self.scale.undecided
        problem = "the replies in the two orders contradict each other" if unusable else ""
        return replace(
            readings[0],
            values=(None if None in (said, again) else self.scale.undecided if differ else said,),
            inconsistent=differ,
            problem=readings[0].problem or readings[1].problem or problem,
            counts={
                "first_place": chosen[FIRST],
                "places": chosen[FIRST] + chosen[SECOND],
                "contradictions": int(differ),
            },
        )

    unit_parts = Answer.unit_parts  # no side of a pair is what is looked for

    def constants(self, known: Sequence[Value]) -> Mapping[str, Callable[[Mapping[str, Any]], Value]]:
        """Return these, and to prefer the longer of the two."""
        return {**super().constants(known), "always the longer one": self._longer}

    def _longer(self, inputs: Mapping[str, Any]) -> Value:
        first, second = (len(str(inputs[name])) for name in self.unit_fields)
        return (
            (TIE if TIE in self.values else FIRST) if first == second else FIRST if first > second else SECOND
        )

    def parser_rule(self) -> dict[str, Any]:
        """Return the values, and how the two orders become one preference."""
        return {
            **super().parser_rule(),
            "orders": f"fill it twice: as it is, and with {self.first} and {self.second} exchanged; where both replies "
            f"prefer the same of the two, it is preferred; otherwise it is {self.scale.outcome}",
        }
