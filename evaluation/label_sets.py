"""Several labels at once, out of a closed set: micro, macro and example F1, exact match.

- ``micro_f1`` counts labels over all units; ``macro_f1`` is the mean F1 over the labels that occur in gold or among
  the answers. A quotient 0/0 is 0.0 in both.
- ``balanced_accuracy`` is the mean recall of labels, given and left out alike: over the labels that some units of
  gold have and others have not, the mean of the share found where gold has it and of the share left out where it
  has not. Any constant set has 0.5; 0.0 where there is no such label.
- ``example_f1`` is the mean over units; there, no label where gold has none is right: 1.0.
- ``exact_match`` is the share of units whose set is gold's.

A missing answer counts as all labels that gold has not, and none that it has: no answer could be worse.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from ..cases import Label, Value
from .metrics import SIDES, Metric, Ratios, f1, mean_parts, pair_means, pair_sums
from .scale import Members, distinct
from .units import Floats
from .votes import Sampling, named_vote

Set: TypeAlias = tuple[Label, ...]
_ROUNDING = 1e-9
_NONE = "none"


@dataclass(frozen=True)
class LabelSets(Members):
    """Some labels of a closed set, as a sorted tuple; an answer is more or less right."""

    labels: Sequence[Label]

    noun = "label set"
    # balanced accuracy: any constant set has 0.5, where F1 rewards the one that names every frequent label
    default = "balanced_accuracy"

    @property
    def uses_threshold(self) -> bool:
        return True

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", distinct(self.labels))

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        size = 3 * len(self.labels)
        statistics = {
            "balanced_accuracy": pair_sums(
                lambda gold, value: [*self._by_label(gold, value), 1.0], _balanced_accuracy, size + 1
            ),
            "micro_f1": pair_sums(_hits, f1, 3),
            "macro_f1": pair_sums(self._by_label, _macro_f1, size),
            "example_f1": pair_means(_example_f1),
            "exact_match": pair_means(lambda gold, value: float(gold == value)),
        }
        return MappingProxyType({name: Metric(name=name, statistics=of) for name, of in statistics.items()})

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        return {
            label: {
                name: Metric(name=f"{name}_{label}", statistics=pair_sums(partial(_cells, label), of, 3))
                for name, of in SIDES.items()
            }
            for label in self.labels
        }

    def _by_label(self, gold: Set, value: Set) -> list[float]:
        return [cell for label in self.labels for cell in _cells(label, gold, value)]

    def similarity(self, gold: Set, value: Set) -> float:
        return _example_f1(gold, value)

    def wrong(self, gold: Set) -> Set:
        return tuple(sorted(set(self.labels) - set(gold)))

    @property
    def row_type(self) -> Any:
        return list[Literal[*self.labels]]  # type: ignore[valid-type]

    @property
    def expects(self) -> str:
        return f"any of: {', '.join(self.labels)}; several with a semicolon between them, or {_NONE}"

    def cell(self, given: str) -> Any:
        text = given.strip()
        names = _listed(text) if text.startswith("[") else [part.strip() for part in text.split(";")]
        names = [] if names == [_NONE] and _NONE not in self.labels else names
        return names if all(name in self.labels for name in names) else None

    def of_json(self, data: Any) -> Value:
        if not isinstance(data, list | tuple) or not all(item in self.labels for item in data):
            raise ValueError(f"no label set {data!r}")
        return tuple(sorted(set(data)))

    def to_json(self, value: Any) -> Any:
        return None if value is None else [label for label in self.labels if label in value]

    def text(self, value: Any) -> str:
        return "; ".join(value) or _NONE

    def feedback(self, text: str, gold: Any, value: Any) -> str:
        said = super().feedback(text, gold, value)
        if value is None:
            return said
        parts = (("missing", {*gold} - {*value}), ("too many", {*value} - {*gold}))
        return said + "".join(f"; {name}: {', '.join(sorted(some))}" for name, some in parts if some)

    def task_words(self) -> str:
        return f"labels (any number of them, or none): {', '.join(self.labels)}"

    def identity(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "answer": "label set"}

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return named_vote(votes, labels=self.labels, samples=sampling.samples, threshold=sampling.needed)

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Whether every label is decided, or one of them can no more be."""
        against, cast = sampling.samples - sampling.needed + 1, sum(votes.values())
        named = [sum(n for value, n in votes.items() if label in value) for label in self.labels]
        return all(inside >= sampling.needed or cast - inside >= against for inside in named) or any(
            inside + left < sampling.needed and cast - inside + left < against for inside in named
        )

    @property
    def voting_rule(self) -> str:
        return (
            "one filling is one sample; with thresholds.samples over 1, ask so often: a label applies if at least "
            "thresholds.threshold samples name it"
        )

    def describe(self, values: Sequence[Any]) -> dict[str, Any]:
        counts = Counter(label for value in values for label in value)
        labels = {label: counts[label] for label in self.labels}
        return {"labels": labels, "without_label": sum(not value for value in values)}

    def usual(self, known: Sequence[Any]) -> Sequence[Value]:
        return list(dict.fromkeys([*super().usual(known), (), *((label,) for label in self.labels)]))

    def tally(self, values: Any, counts: Mapping[str, int]) -> Mapping[str, float]:
        return dict.fromkeys(map(str, values[0] or ()), 1)

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {"labels": {label: int(sums.get(label, 0)) for label in self.labels}}


def _listed(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return [text]
    return found if isinstance(found, list) else [found]


def _cells(label: Label, gold: Set, value: Set) -> tuple[float, float, float]:
    """Whether a label is in both, in gold, in the answer."""
    return float(label in gold and label in value), float(label in gold), float(label in value)


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


def _example_f1(gold: Set, value: Set) -> float:
    both, one, two = _hits(gold, value)
    return 2.0 * both / (one + two) if one + two else 1.0
