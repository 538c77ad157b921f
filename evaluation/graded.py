"""What kinds of answers have in common that are near or far from gold, not right or wrong."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from .metrics import Metric


class Graded(ABC):
    """Base of scores and sets: proofs rest on the permutation test, all metrics are shown, there are no classes."""

    @property
    @abstractmethod
    def metrics(self) -> Mapping[str, Metric]:
        """Those that fit, by name."""

    @property
    def compared(self) -> tuple[str, ...]:
        """Those that a comparison of judges shows beside the tested one."""
        return ("f1", "precision", "recall")

    @property
    def domain(self) -> tuple[Any, ...]:
        """Empty: the values that occur are enough."""
        return ()

    @property
    def right_means(self) -> str:
        """Empty: nothing is right or wrong."""
        return ""

    @property
    def shown(self) -> tuple[str, ...]:
        """All metrics."""
        return tuple(self.metrics)

    @property
    def classes(self) -> Mapping[str, Mapping[str, Metric]]:
        """None."""
        return {}

    def right(self, gold: Any, value: Any) -> None:
        """Always ``None``."""
        return None
