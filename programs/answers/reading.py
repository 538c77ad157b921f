"""What one reply says: a value for each unit of a case, read by an answer; and how items of a reply are read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...cases import Values


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one reply says."""

    values: Values  # one value per judged unit, ``None`` where the reply gives none that can be used
    reasoning: str = ""  # what the reply gives as its reasons, or nothing
    inconsistent: bool = False  # whether its parts contradict each other, whatever was made of it
    problem: str = ""  # what in it cannot be used, if that is worth saying
    extra: int = (
        0  # answers for something that was not asked: a number that no sentence has, a text that is none
    )
    duplicated: int = 0  # units that were given two different labels, and so have none
    # label -> probability of each unit, where the reply's tokens say it; empty where they do not
    probabilities: tuple[Mapping[Any, float], ...] = ()
    # what its kind of answer counts besides, by name; added up over samples and rows
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> tuple[int, ...]:
        """The places of the units without a value, from 0."""
        return tuple(place for place, value in enumerate(self.values) if value is None)

    def completed(self, second: "Reading") -> "Reading":
        """Return this reading with the values that ``second``, asked for the missing units only, gives them."""
        values = zip(self.values, second.values, strict=True)
        return replace(
            self,
            values=tuple(again if value is None else value for value, again in values),
            extra=self.extra + second.extra,
            duplicated=self.duplicated + second.duplicated,
        )


def reasoning_of(reply: Mapping[str, Any]) -> str:
    """Return what a reply gives as its reasoning."""
    return str(reply.get("reasoning") or "")


def member(item: Any, name: str) -> Any:
    """Return what an item of a reply holds under a name, whether it came as an object or as a mapping."""
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def by_number(items: Any, labels: Collection[str] = ()) -> dict[int, Any]:
    """Return number -> the item of a reply that has it; a number that got two labels has none."""
    found: dict[int, dict[str, Any]] = {}
    for item in items if isinstance(items, list | tuple) else ():
        number, label = member(item, "n"), member(item, "label")
        if isinstance(number, int) and isinstance(label, str) and (not labels or label in labels):
            found.setdefault(number, {})[label] = item
    return {number: one for number, said in found.items() if len(said) == 1 for one in said.values()}
