"""Closed labels: confusion matrices, and the metrics that follow from them.

Conventions, the same as scikit-learn's unless said otherwise:

- A quotient 0/0 is 0.0: precision without a positive answer, recall without positive gold, F1 without either,
  anything over no units at all.
- ``balanced_accuracy`` is the mean recall over the labels that occur in gold; ``macro_f1`` the mean F1 over
  those that occur in gold or among the answers.
- ``kappa`` is Cohen's, unweighted, over exact labels. When gold holds one label only it is 0.0 (scikit-learn:
  NaN if the answers are that label too): agreement beyond chance cannot be shown there.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from ..cases import Case, Label, Value, Values
from ..errors import UsageError
from .metrics import SIDES, Metric, Ratio, Ratios, mean_parts, pair_sums
from .rows import majority
from .scale import Lack, Scale, distinct
from .units import Bools, Floats
from .votes import Sampling, decide, most_preferred


@dataclass(frozen=True)
class ClosedLabels(Scale):
    """One label of a closed set, some of which may be the positive class; an answer is right or wrong."""

    labels: Sequence[Label]
    positive: AbstractSet[Label] = frozenset()

    # balanced accuracy: every constant answer has one over the number of labels, whatever their rates
    default = "balanced_accuracy"
    has_probabilities = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", distinct(self.labels))
        object.__setattr__(self, "positive", frozenset(self.positive))
        if self.positive and not self.positive < set(self.labels):
            raise UsageError(
                f"the positive labels {sorted(self.positive)} are no proper part of the label set {list(self.labels)}",
                hint="name at least one label of the set as positive and leave at least one negative",
            )

    @property
    def domain(self) -> tuple[Label, ...]:
        return tuple(self.labels)

    @property
    def right_means(self) -> str:
        return "right side of the positive labels" if self.positive else "exact label"

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        ratios = {**(CONFUSED if self.positive else {}), **_EXACT}
        lowest = {"kappa": -1.0}
        return MappingProxyType(
            {name: confusion_metric(name, self, of, low=lowest.get(name, 0.0)) for name, of in ratios.items()}
        )

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        against_rest = {
            label: ClosedLabels(self.labels, {label}) for label in self.labels if len(self.labels) > 1
        }
        return {
            label: {name: confusion_metric(f"{name}_{label}", sides, of) for name, of in CONFUSED.items()}
            for label, sides in against_rest.items()
        }

    def right(self, gold: Label, value: Label) -> bool:
        return (gold in self.positive) == (value in self.positive) if self.positive else gold == value

    def similarity(self, gold: Label, value: Label) -> float:
        return float(gold == value)

    def wrong(self, gold: Label) -> Label:
        """A label on the other side of the positive ones, if any are positive, else the next one."""
        place = self.labels.index(gold)
        others = [*self.labels[place + 1 :], *self.labels[:place]] or [gold]
        sided = [label for label in self.labels if (label in self.positive) != (gold in self.positive)]
        return (sided or others)[0]

    def consensus(self, values: Sequence[Label]) -> Label | None:
        return majority(values)

    @property
    def uses_threshold(self) -> bool:
        return bool(self.positive)

    @property
    def weighted(self) -> tuple[tuple[Label, ...], ...]:
        return (self.domain,) if len(self.labels) > 2 else ()

    @property
    def row_type(self) -> Any:
        return Literal[*self.labels]

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def expects(self) -> str:
        return "one of: " + ", ".join(self.labels)

    def cell(self, written: str) -> Any:
        """The label that a cell names; capitals do not matter where labels differ without them, and y is yes."""
        if written in self.labels:
            return written
        folded = written.casefold()
        same = [label for label in self.labels if label.casefold() == folded]
        same = same or [label for label in self.labels if label.casefold() == SHORT.get(folded)]
        return same[0] if len(same) == 1 else None

    def of_json(self, data: Any) -> Value:
        if data not in self.labels:
            raise ValueError(f"no label {data!r}")
        return str(data)

    def task_words(self) -> str:
        positive = f"\npositive class: {', '.join(sorted(self.positive))}" if self.positive else ""
        return f"labels: {', '.join(self.labels)}{positive}"

    def identity(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "positive": sorted(self.positive)}

    def remark(self, choice: str) -> str:
        return "positive" if choice in self.positive else ""

    def combine(self, votes: Mapping[Any, Any], sampling: Sampling) -> Value | None:
        about: dict[str, Any] = {"positive": self.positive, "order": self.labels, "weights": sampling.weights}
        return decide(votes, samples=sampling.samples, threshold=sampling.needed, **about)

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        if not self.positive:
            return None
        total = math.fsum(shares.values())  # exact: a set has another order in every process
        positive = math.fsum(shares.get(label, 0.0) for label in self.positive)
        return positive / total if total > 0 else None

    @property
    def voting_rule(self) -> str:
        return (
            "one filling is one sample; with thresholds.samples over 1, ask so often: a unit is positive if at least "
            "thresholds.threshold samples give it a positive label; a threshold below 1 is the least probability of a "
            "positive label, or share of the samples that give one; with thresholds.weights, the label is taken whose "
            "probability, or share of the samples, times its weight is highest"
        )

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        counts, total = Counter(values), len(values)
        positive = sum(counts[label] for label in self.positive)
        labels = {label: counts[label] for label in self.labels}
        return {"labels": labels, "positive": positive / total if total and self.positive else None}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        return [any(value in self.positive for value in case.known) for case in cases]

    def strata(self, cases: Sequence[Case]) -> list[str]:
        return [
            str(case.gold[0]) if case.gold and len(case.gold) == 1 else "found" if positive else "none"
            for case, positive in zip(cases, self.sides(cases), strict=True)
        ]

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """A lack if one of the two sides has no label, or, where there are no sides, if there is one label only."""
        if not self.positive:
            return super().check_part(cases)
        known = {value for case in cases for value in case.known}
        words = f"all {self.noun}s are {' or '.join(sorted(map(str, known)))}"
        for side, name in ((self.positive, "positive"), ({*self.labels} - self.positive, "negative")):
            if not known & side:
                return Lack(what=name, noun=self.noun, said=words, wanted=" or ".join(sorted(side)))
        return None

    def usual(self, known: Sequence[Value]) -> Sequence[Value]:
        counts = Counter(known)
        return sorted(self.labels, key=lambda label: -counts[label])

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        positive = {"positive": any(value in self.positive for value in values)} if self.positive else {}
        return {**counts, **positive}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        every = {**({"positive": 0} if self.positive else {}), **sums}
        return {name: int(count) for name, count in every.items()}


def confusion_metric(name: str, kind: ClosedLabels, of: Ratio, *, low: float = 0.0) -> Metric:
    """Make a metric from a ratio of counts (..., K, K), gold by answer, and positive labels (K,)."""
    # Its bounds are exact, but for macro F1 and kappa of three labels or more: there they are all wrong and all right.
    size = len(kind.labels)
    positive = np.array([label in kind.positive for label in kind.labels], dtype=np.bool_)
    place = {label: code for code, label in enumerate(kind.labels)}
    cells = np.eye(size * size).tolist()

    def parts(sums: Floats) -> tuple[Floats, Floats]:
        return of.parts(sums.reshape(*sums.shape[:-1], size, size), positive)

    def cell(gold: Label, answered: Label) -> Sequence[float]:
        return cells[place[gold] * size + place[answered]]

    return Metric(name=name, statistics=pair_sums(cell, replace(of, parts=parts), size * size), low=low)


def _of_positive(side: Ratio) -> Ratio:
    """Turn a quotient of hits, gold and found into one of confusion matrices (..., K, K) and positive labels (K,)."""

    def parts(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        gold, answered = counts[..., positive, :].sum(axis=-2), counts[..., positive].sum(axis=(-2, -1))
        return side.parts(np.stack([gold[..., positive].sum(axis=-1), gold.sum(axis=-1), answered], axis=-1))

    return Ratio(parts)


CONFUSED: Final[Mapping[str, Ratio]] = {name: _of_positive(side) for name, side in SIDES.items()}
"""Precision, recall and F1 of the positive labels, by name."""


@Ratio
def _accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    return np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1))


@Ratios
def _balanced_accuracy(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    return mean_parts(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1))


@Ratios
def _macro_f1(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    sizes = counts.sum(axis=-1) + counts.sum(axis=-2)
    return mean_parts(2.0 * np.diagonal(counts, axis1=-2, axis2=-1), sizes)


@Ratio
def cohen_kappa(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Cohen's kappa in [-1, 1], from confusion matrices (..., K, K)."""
    units = counts.sum(axis=(-2, -1))
    hits = np.trace(counts, axis1=-2, axis2=-1)
    chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1)
    return units * hits - chance, units * units - chance


_EXACT: Final[Mapping[str, Ratio]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "macro_f1": _macro_f1,
    "kappa": cohen_kappa,
}
"""What follows from exact labels, by name."""


SHORT = {"y": "yes", "n": "no", "t": "true", "f": "false"}
FIRST, SECOND, TIE = "first", "second", "tie"


@dataclass(frozen=True)
class Preferences(ClosedLabels):
    """Which of two is better: ``first``, ``second`` and perhaps ``tie``; two fields hold them.

    The share of replies that chose the first place, where every pair was shown in both orders, is the position bias:
    0.5 without any.
    """

    first: str = FIRST
    second: str = SECOND

    noun = "preference"
    has_probabilities = False
    weighted = ()

    # Most votes decide between three sides: what closed labels do with two of them does not hold.
    strata = Scale.strata
    check_part = Scale.check_part

    @property
    def undecided(self) -> Value | None:
        """What is said of equals: a tie if it is an answer, else nothing usable."""
        return TIE if TIE in self.labels else None

    def combine(self, votes: Mapping[Any, int], sampling: Sampling) -> Value | None:
        return most_preferred(votes, self.labels, sampling.samples, self.undecided)

    @property
    def voting_rule(self) -> str:
        return (
            "two fillings, one for each order, are one sample; with several, what most of them prefer counts, and "
            f"what is equal is {self.outcome}"
        )

    @property
    def outcome(self) -> str:
        """What equals are, in words."""
        return "a tie" if self.undecided else "no usable answer"

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        counts = Counter(values)
        return {"labels": {label: counts[label] for label in self.labels}}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        return [FIRST in case.known for case in cases]

    def task_words(self) -> str:
        return f"answer: which of {self.first} and {self.second} people prefer: {', '.join(self.labels)}"

    def identity(self) -> dict[str, Any]:
        pair = {"first": self.first, "second": self.second}
        return {"labels": list(self.labels), "answer": "preference", "compared": pair}

    def remark(self, choice: str) -> str:
        return {FIRST: self.first, SECOND: self.second}.get(choice, "")

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        return {**counts, **({} if values[0] is None else {str(values[0]): 1})}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        return {**{name: int(sums.get(name, 0)) for name in self.labels}, **self.proof_facts(sums)}

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """The position bias (None without a choice) and the contradictions."""
        places = sums.get("places", 0)
        bias = sums.get("first_place", 0) / places if places else None
        return {"position_bias": bias, "contradictions": int(sums.get("contradictions", 0))}
