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
from typing import Final, Literal

import numpy as np

from ..cases import Case, Label, Value, Values
from ..errors import UsageError
from .metrics import SIDES, Metric, Ratio, Ratios, mean_parts, pair_sums
from .rows import majority
from .scale import Annotation, Lack, Scale, distinct
from .units import Bools, Floats
from .votes import Sampling, Votes, decide, most_preferred


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
        if self.positive:
            return "right side of the positive labels"
        return "exact label"

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        ratios: dict[str, Ratio] = {}
        if self.positive:
            ratios.update(CONFUSED)
        ratios.update(_EXACT)
        metrics: dict[str, Metric] = {}
        for name, ratio in ratios.items():
            lowest = 0.0
            if name == "kappa":
                lowest = -1.0
            metrics[name] = confusion_metric(name, self, ratio, low=lowest)
        return MappingProxyType(metrics)

    @cached_property
    def classes(self) -> Mapping[Label, Mapping[str, Metric]]:
        metrics_by_label: dict[Label, dict[str, Metric]] = {}
        if len(self.labels) == 1:
            return metrics_by_label
        for label in self.labels:
            against_rest = ClosedLabels(self.labels, {label})
            label_metrics = {}
            for name, ratio in CONFUSED.items():
                label_metrics[name] = confusion_metric(f"{name}_{label}", against_rest, ratio)
            metrics_by_label[label] = label_metrics
        return metrics_by_label

    def right(self, gold: Label, value: Label) -> bool:
        if self.positive:
            return (gold in self.positive) == (value in self.positive)
        return gold == value

    def similarity(self, gold: Label, value: Label) -> float:
        return float(gold == value)

    def wrong(self, gold: Label) -> Label:
        """A label on the other side of the positive ones, if any are positive, else the next one."""
        for label in self.labels:
            if (label in self.positive) != (gold in self.positive):
                return label
        place = self.labels.index(gold)
        return self.labels[(place + 1) % len(self.labels)]

    def consensus(self, values: Sequence[Label]) -> Label | None:
        return majority(values)

    @property
    def uses_threshold(self) -> bool:
        return bool(self.positive)

    @property
    def weighted(self) -> tuple[tuple[Label, ...], ...]:
        if len(self.labels) > 2:
            return (self.domain,)
        return ()

    @property
    def row_type(self) -> Annotation:
        return Literal[*self.labels]

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def expects(self) -> str:
        return "one of: " + ", ".join(self.labels)

    def cell(self, written: str) -> Label | None:
        """The label that a cell names; capitals do not matter where labels differ without them, and y is yes."""
        if written in self.labels:
            return written
        folded = written.casefold()
        equal_labels = self._labels_folded_to(folded)
        if not equal_labels and folded in SHORT:
            equal_labels = self._labels_folded_to(SHORT[folded])
        if len(equal_labels) == 1:
            return equal_labels[0]
        return None

    def _labels_folded_to(self, folded: str) -> list[Label]:
        """Return the labels that are this text without capitals."""
        labels = []
        for label in self.labels:
            if label.casefold() == folded:
                labels.append(label)
        return labels

    def of_json(self, data: object) -> Label:
        if data not in self.labels:
            raise ValueError(f"no label {data!r}")
        return str(data)

    def task_words(self) -> str:
        words = f"labels: {', '.join(self.labels)}"
        if self.positive:
            words += f"\npositive class: {', '.join(sorted(self.positive))}"
        return words

    def identity(self) -> dict[str, object]:
        return {"labels": list(self.labels), "positive": sorted(self.positive)}

    def remark(self, choice: str) -> str:
        if choice in self.positive:
            return "positive"
        return ""

    def combine(self, votes: Votes, sampling: Sampling) -> Label | None:
        return decide(
            votes,
            samples=sampling.samples,
            threshold=sampling.needed,
            positive=self.positive,
            order=self.labels,
            weights=sampling.weights,
        )

    def probability(self, shares: Votes) -> float | None:
        if not self.positive:
            return None
        # The sums are exact, as a set has another order in every process.
        total = math.fsum(shares.values())
        if total <= 0:
            return None
        return math.fsum(shares.get(label, 0.0) for label in self.positive) / total

    @property
    def voting_rule(self) -> str:
        return (
            "one filling is one sample; with thresholds.samples over 1, ask so often: a unit is positive if at least "
            "thresholds.threshold samples give it a positive label; a threshold below 1 is the least probability of a "
            "positive label, or share of the samples that give one; with thresholds.weights, the label is taken whose "
            "probability, or share of the samples, times its weight is highest"
        )

    def describe(self, values: Sequence[Label]) -> dict[str, object]:
        counts = Counter(values)
        labels = {label: counts[label] for label in self.labels}
        positive_share = None
        if values and self.positive:
            positive_share = sum(counts[label] for label in self.positive) / len(values)
        return {"labels": labels, "positive": positive_share}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        return [not self.positive.isdisjoint(case.known) for case in cases]

    def strata(self, cases: Sequence[Case]) -> list[str]:
        strata = []
        for case, is_positive in zip(cases, self.sides(cases), strict=True):
            stratum = "none"
            if case.gold and len(case.gold) == 1:
                stratum = str(case.gold[0])
            elif is_positive:
                stratum = "found"
            strata.append(stratum)
        return strata

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """A lack if one of the two sides has no label, or, where there are no sides, if there is one label only."""
        if not self.positive:
            return super().check_part(cases)
        gold_labels: set[Value] = set()
        for case in cases:
            gold_labels.update(case.known)
        words = f"all {self.noun}s are {' or '.join(sorted(map(str, gold_labels)))}"
        negative = set(self.labels) - self.positive
        for side, name in ((self.positive, "positive"), (negative, "negative")):
            if not gold_labels & side:
                return Lack(
                    what=name, noun=self.noun, gold_words=words, missing_values=" or ".join(sorted(side))
                )
        return None

    def usual(self, golds: Sequence[Label]) -> Sequence[Label]:
        counts = Counter(golds)
        return sorted(self.labels, key=lambda label: -counts[label])

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        tally = dict(counts)
        if self.positive:
            tally["positive"] = not self.positive.isdisjoint(values)
        return tally

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        totals: dict[str, object] = {}
        if self.positive:
            totals["positive"] = 0
        for name, count in sums.items():
            totals[name] = int(count)
        return totals


def confusion_metric(name: str, kind: ClosedLabels, of: Ratio, *, low: float = 0.0) -> Metric:
    """Make a metric from a ratio of counts (..., K, K), gold by answer, and positive labels (K,)."""
    # The bounds of a metric take all missing answers as wrong, and all as right. No other answers would give a value
    # outside of them, except by macro F1 and kappa of three labels or more.
    size = len(kind.labels)
    positive = np.array([label in kind.positive for label in kind.labels], dtype=np.bool_)  # (K,)
    place = {label: code for code, label in enumerate(kind.labels)}
    # One row for each pair of gold and answer: the flattened confusion matrix (K * K,) of a unit with this pair.
    cells = np.eye(size * size).tolist()

    def parts(sums: Floats) -> tuple[Floats, Floats]:
        return of.parts(sums.reshape(sums.shape[:-1] + (size, size)), positive)

    def cell(gold: Label, answered: Label) -> Sequence[float]:
        return cells[place[gold] * size + place[answered]]

    statistics = pair_sums(cell, replace(of, parts=parts), size * size)
    return Metric(name=name, statistics=statistics, low=low, by_t=name in BY_T)


def _of_positive(side: Ratio) -> Ratio:
    """Return a ratio of (hits, gold, answers) as a ratio of confusion matrices (..., K, K) and positive labels (K,)."""

    def parts(counts: Floats, positive: Bools) -> tuple[Floats, Floats]:
        answers_to_positive = counts[..., positive, :].sum(axis=-2)  # (..., K)
        hits = answers_to_positive[..., positive].sum(axis=-1)
        gold = answers_to_positive.sum(axis=-1)
        answers = counts[..., positive].sum(axis=(-2, -1))
        return side.parts(np.stack([hits, gold, answers], axis=-1))

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
"""The metrics that take each label as a class of its own, by name."""
BY_T: Final = frozenset({"accuracy", "balanced_accuracy", "f1", "kappa", "macro_f1"})
"""The metrics whose differences the t-test over groups decides."""


SHORT = {"y": "yes", "n": "no", "t": "true", "f": "false"}
FIRST, SECOND, TIE = "first", "second", "tie"


@dataclass(frozen=True)
class Preferences(ClosedLabels):
    """The better one of two: ``first``, ``second`` and perhaps ``tie``; two fields hold them.

    The share of replies that chose the first place, where every pair was shown in both orders, is the position bias:
    0.5 without any.
    """

    first: str = FIRST
    second: str = SECOND

    noun = "preference"
    has_probabilities = False
    weighted = ()

    # Closed labels draw strata and check parts by a positive and a negative side. Preferences have no such sides.
    strata = Scale.strata
    check_part = Scale.check_part

    @property
    def undecided(self) -> Label | None:
        """The answer for equals: a tie if it is an answer, else none that is usable."""
        if TIE in self.labels:
            return TIE
        return None

    def combine(self, votes: Mapping[Label, int], sampling: Sampling) -> Label | None:
        return most_preferred(votes, self.labels, sampling.samples, self.undecided)

    @property
    def voting_rule(self) -> str:
        return (
            "two fillings, one for each order, are one sample; with several, what most of them prefer counts, and "
            f"what is equal is {self.outcome}"
        )

    @property
    def outcome(self) -> str:
        """The answer for equals, in words."""
        if self.undecided:
            return "a tie"
        return "no usable answer"

    def describe(self, values: Sequence[Label]) -> dict[str, object]:
        return {"labels": super().describe(values)["labels"]}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        return [FIRST in case.known for case in cases]

    def task_words(self) -> str:
        return f"answer: which of {self.first} and {self.second} people prefer: {', '.join(self.labels)}"

    def identity(self) -> dict[str, object]:
        pair = {"first": self.first, "second": self.second}
        return {"labels": list(self.labels), "answer": "preference", "compared": pair}

    def remark(self, choice: str) -> str:
        return {FIRST: self.first, SECOND: self.second}.get(choice, "")

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        tally = dict(counts)
        if values[0] is not None:
            tally[str(values[0])] = 1
        return tally

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        totals: dict[str, object] = {}
        for label in self.labels:
            totals[label] = int(sums.get(label, 0))
        totals.update(self.proof_facts(sums))
        return totals

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, object]:
        """The position bias (None without a choice) and the contradictions."""
        places = sums.get("places", 0)
        bias = None
        if places:
            bias = sums.get("first_place", 0) / places
        return {"position_bias": bias, "contradictions": int(sums.get("contradictions", 0))}
