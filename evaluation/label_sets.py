"""Several labels at once, out of a closed set: micro, macro and example F1, Jaccard's coefficient, exact match.

- ``micro_f1`` counts labels over all units; ``macro_f1`` is the mean F1 over the labels that occur in gold or among
  the answers. A quotient 0/0 is 0.0 in both.
- ``balanced_accuracy`` is the mean recall of labels, given and left out alike: over the labels that some units of
  gold have and others have not, the mean of the share found where gold has it and of the share left out where it
  has not. Any constant set has 0.5; 0.0 where there is no such label.
- ``example_f1`` and ``jaccard`` are means over units; there, no label where gold has none is right: 1.0.
- ``exact_match`` is the share of units whose set is gold's.

A missing answer counts as all labels that gold has not, and none that it has: no answer could be worse.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from ..cases import Label
from ..errors import UsageError
from .graded import Graded
from .metrics import Metric, pair_sums
from .object_sets import f1, precision, recall
from .ratios import Ratios, mean, mean_parts
from .units import Floats

Set: TypeAlias = tuple[Label, ...]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LabelSets(Graded):
    """Some labels of a closed set, as a sorted tuple; an answer is more or less right."""

    labels: Sequence[Label]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not self.labels or len(set(self.labels)) != len(self.labels):
            raise UsageError(
                f"the label set {list(self.labels)} is empty or names a label twice", hint="name each once"
            )

    @property
    def default(self) -> str:
        """Balanced accuracy: any constant set has 0.5, where F1 rewards the one that names every frequent label."""
        return "balanced_accuracy"

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Those that fit, by name."""
        found = [
            Metric(
                name="balanced_accuracy",
                statistics=pair_sums(self._sides, _balanced_accuracy, 3 * len(self.labels) + 1),
            ),
            Metric(name="micro_f1", statistics=pair_sums(_hits, f1, 3)),
            Metric(name="macro_f1", statistics=pair_sums(self._by_label, _macro_f1, 3 * len(self.labels))),
            *(
                Metric(name=name, statistics=pair_sums(partial(_counted, of), mean, 2))
                for name, of in (("example_f1", _example_f1), ("jaccard", _jaccard), ("exact_match", _same))
            ),
        ]
        return MappingProxyType({metric.name: metric for metric in found})

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        """Label -> precision, recall and F1 of that label."""
        functions = (
            ("precision", precision),
            ("recall", recall),
            ("f1", f1),
        )
        return {
            label: {
                name: Metric(
                    name=f"{name}_{label}",
                    statistics=pair_sums(partial(_cells, label), of, 3),
                )
                for name, of in functions
            }
            for label in self.labels
        }

    def _sides(self, gold: Set, value: Set) -> list[float]:
        return [*self._by_label(gold, value), 1.0]

    def _by_label(self, gold: Set, value: Set) -> list[float]:
        return [cell for label in self.labels for cell in _cells(label, gold, value)]

    def check(self, value: Any) -> str:
        """What is wrong with a value; empty if it is a sorted tuple of the labels."""
        if not isinstance(value, tuple) or list(value) != sorted(set(value)):
            return f"set {value!r} is not a sorted tuple of different labels"
        strange = [label for label in value if label not in self.labels]
        return f"label {strange[0]!r} is not one of {list(self.labels)}" if strange else ""

    def similarity(self, gold: Set, value: Set) -> float:
        """F1 of one set against the other, in [0, 1]; 1.0 for two empty sets."""
        return _example_f1(gold, value)

    def wrong(self, gold: Set) -> Set:
        """All labels that gold has not."""
        return tuple(sorted(set(self.labels) - set(gold)))

    def consensus(self, values: Sequence[Set]) -> Set | None:
        """The labels that more than half of the sets have; ``None`` of none."""
        votes = Counter(label for value in values for label in value)
        agreed = sorted(label for label, count in votes.items() if 2 * count > len(values))
        return tuple(agreed) if values else None


def _cells(label: Label, gold: Set, value: Set) -> tuple[float, float, float]:
    """Whether a label is in both, in gold, in the answer."""
    return float(label in gold and label in value), float(label in gold), float(label in value)


def _counted(of: Callable[[Set, Set], float], gold: Set, value: Set) -> tuple[float, float]:
    return of(gold, value), 1.0


def _hits(gold: Set, value: Set) -> tuple[float, float, float]:
    return float(len(set(gold) & set(value))), float(len(gold)), float(len(value))


@Ratios
def _macro_f1(sums: Floats) -> tuple[Floats, Floats]:
    return mean_parts(*f1.parts(sums.reshape(*sums.shape[:-1], -1, 3)))


@Ratios
def _balanced_accuracy(sums: Floats) -> tuple[Floats, Floats]:
    """Of sums of (in both, in gold, in the answer) of each label, and how many units there are."""
    both, gold, said = np.moveaxis(sums[..., :-1].reshape(*sums.shape[:-1], -1, 3), -1, 0)
    without = sums[..., -1:] - gold
    above = np.concatenate([both, without - said + both], axis=-1)
    sided = np.minimum(gold, without) > _ROUNDING * sums[..., -1:]
    below = np.concatenate([np.where(sided, side, 0.0) for side in (gold, without)], axis=-1)
    return mean_parts(above, below)


def _jaccard(gold: Set, value: Set) -> float:
    either = len(set(gold) | set(value))
    return len(set(gold) & set(value)) / either if either else 1.0


def _example_f1(gold: Set, value: Set) -> float:
    both, one, two = _hits(gold, value)
    return 2.0 * both / (one + two) if one + two else 1.0


def _same(gold: Set, value: Set) -> float:
    return float(gold == value)
