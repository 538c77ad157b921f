"""Items that a generator wrote: how many of them pass their checks, and each check's own rate.

The validation rate is the share of the wanted items on which every check says yes (HaluAgent section 3.2; "Overall"
in its Table 3), and ``NAME_rate`` that of the items on which one check does (the other columns). An item that was
not written passes no check.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias

from .metrics import Metric, pair_sums
from .ratios import Ratio
from .units import Floats


class HasVerdicts(Protocol):
    """An item with what each check says of it: ``yes`` passes."""

    @property
    def verdicts(self) -> tuple[str, ...]:
        """One word for each check, in their order."""


Items: TypeAlias = tuple[HasVerdicts, ...]


@dataclass(frozen=True)
class CheckedItems:
    """The items of one document; gold is as many items as are wanted, on which all checks say yes."""

    checks: tuple[str, ...]

    compared: ClassVar[tuple[str, ...]] = ()

    @property
    def domain(self) -> tuple[Items, ...]:
        """Empty: what is written is new each time."""
        return ()

    @property
    def right_means(self) -> str:
        """What counts as right."""
        return "all items of a document pass all checks"

    @property
    def default(self) -> str:
        """The share of items that pass."""
        return "validation_rate"

    @property
    def shown(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(self.metrics)

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """The validation rate, and each check's own rate."""
        names = ("validation_rate", *(f"{name}_rate" for name in self.checks))
        size = len(names) + 1
        return MappingProxyType(
            {
                name: Metric(name=name, statistics=pair_sums(self._sums, _share.given(place), size))
                for place, name in enumerate(names)
            }
        )

    @property
    def classes(self) -> Mapping[str, Mapping[str, Metric]]:
        """None."""
        return {}

    def _sums(self, gold: Items, value: Items) -> list[float]:
        """Return the items that pass, those that pass each check, and how many there should be."""
        yes = [[verdict == "yes" for verdict in item.verdicts] for item in value]
        each = [float(sum(column)) for column in zip(*yes, strict=True)] or [0.0] * len(self.checks)
        return [float(sum(map(all, yes))), *each, float(max(len(gold), len(value)))]

    def check(self, value: Any) -> str:
        """What is wrong with a value; empty if every item has a word for each check."""
        if not isinstance(value, tuple):
            return f"answer {value!r} is not a tuple of items"
        wrong = [item for item in value if len(getattr(item, "verdicts", ())) != len(self.checks)]
        return f"item {wrong[0]!r} does not have the checks {list(self.checks)}" if wrong else ""

    def right(self, gold: Items, value: Items) -> bool:
        """Whether all items that are wanted were written and pass."""
        passed, *_, wanted = self._sums(gold, value)
        return passed == wanted

    def similarity(self, gold: Items, value: Items) -> float:
        """The share of the verdicts that are the same, in [0, 1]."""
        one, two = ([word for item in items for word in item.verdicts] for items in (gold, value))
        same = sum(first == second for first, second in zip(one, two, strict=False))
        return same / max(len(one), len(two), 1)

    def wrong(self, gold: Items) -> Items:
        """No item at all."""
        return ()

    def consensus(self, values: Sequence[Items]) -> Items | None:
        """The first of them: samples are other items, not votes on the same."""
        return values[0] if values else None


@Ratio
def _share(sums: Floats, place: int) -> tuple[Floats, Floats]:
    """The share of the wanted items that one column of the sums counts."""
    return sums[..., place], sums[..., -1]
