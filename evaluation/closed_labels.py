"""Closed labels: what they are, how samples vote for one, and how people's are counted.

Their metrics stand in :mod:`jurist.evaluation.label_metrics`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from ..cases import Case, Label, Value, Values
from ..errors import UsageError
from .scale import Annotation, Lack, Scale, distinct
from .votes import Sampling, Votes, decide, majority, most_preferred

if TYPE_CHECKING:
    from .metrics import Metric

OF_POSITIVE: Final = ("precision", "recall", "f1")
"""The names of the metrics of the positive labels."""
OF_ALL: Final = ("accuracy", "balanced_accuracy", "macro_f1", "kappa")
"""The names of the metrics that take each label as a class of its own."""
BY_LABEL: Final = ("balanced_accuracy", "macro_f1", "kappa")
"""The names of those in which a rare label may weigh as much as a frequent one."""


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

    @property
    def choosable(self) -> tuple[str, ...]:
        # All of them, by name: a judge checks that its metric fits, and the metrics themselves need NumPy.
        if self.positive:
            return OF_POSITIVE + OF_ALL
        return OF_ALL

    @cached_property
    def metrics(self) -> "Mapping[str, Metric]":
        from .label_metrics import metrics_of_labels

        return metrics_of_labels(self.choosable, self.labels, self.positive)

    @cached_property
    def classes(self) -> "Mapping[Label, Mapping[str, Metric]]":
        from .label_metrics import metrics_by_label

        return metrics_by_label(self.labels)

    def units_by_class(self, metric: str, golds: Sequence[Label]) -> Mapping[str, int]:
        if metric in BY_LABEL:
            return Counter(golds)
        if metric not in OF_POSITIVE:
            return {}
        units = 0
        for gold in golds:
            units += gold in self.positive
        return {" or ".join(self.positive_values): units}

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
    def positive_values(self) -> tuple[Label, ...]:
        return tuple(label for label in self.labels if label in self.positive)

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
        return [not self.positive.isdisjoint(case.labels) for case in cases]

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
            gold_labels.update(case.labels)
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
        return [FIRST in case.labels for case in cases]

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
