"""What one reply says: a value for each unit of a case, read by an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...cases import Values

__all__ = ["Reading"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one reply says.

    Attributes:
        values: one value per judged unit, ``None`` where the reply gives none that can be used.
        reasoning: what the reply gives as its reasons, or nothing.
        inconsistent: whether its parts contradict each other, whatever was made of it.
        problem: what in it cannot be used, if that is worth saying.
        extra: answers for something that was not asked: a number that no sentence has, a text that is none.
        duplicated: units that were given two different labels, and so have none.
        probabilities: label -> probability of each unit, where the reply's tokens say it; empty where they do not.
        counts: what its kind of answer counts besides, by name; added up over samples and rows.
    """

    values: Values
    reasoning: str = ""
    inconsistent: bool = False
    problem: str = ""
    extra: int = 0
    duplicated: int = 0
    probabilities: tuple[Mapping[Any, float], ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[int, ...]:
        """The places of the units without a value, from 0."""
        return tuple(place for place, value in enumerate(self.values) if value is None)

    def completed(self, second: Reading) -> Reading:
        """Return this reading with the values that ``second``, asked for the missing units only, gives them."""
        values = zip(self.values, second.values, strict=True)
        return replace(
            self,
            values=tuple(again if value is None else value for value, again in values),
            extra=self.extra + second.extra,
            duplicated=self.duplicated + second.duplicated,
        )
