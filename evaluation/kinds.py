"""The part of a scale that arrays need."""

from abc import ABC, abstractmethod

from ..cases import Value


class Kind(ABC):
    """The part of a :class:`~jurist.evaluation.scale.Scale` that arrays need; metrics are made of arrays."""

    @property
    def domain(self) -> tuple[Value, ...]:
        """The values in their order, where the set is closed; else empty."""
        return ()

    def right(self, gold: Value, value: Value) -> bool | None:
        """Return True for a right value, False for a wrong one, ``None`` where values are near or far."""
        return None

    def stratum(self, gold: Value) -> str:
        """The name of the kind of gold values in which errors are alike."""
        return str(gold)

    @abstractmethod
    def wrong(self, gold: Value) -> Value:
        """Return the value that a missing answer counts as: as far from gold as an answer can be."""
