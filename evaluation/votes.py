"""From several samples to one verdict: thresholds, majorities, and when they are undecided.

DSPy's ``majority`` normalises labels as text and drops the word "a"; these rules compare labels as they are. With ``k``
samples and a threshold ``t`` a unit is positive when at least ``t`` samples say so, negative when at least
``k - t + 1`` do, and otherwise, when unusable replies leave both open, abstained. CogniBench (section 3.2) uses k = 5
and a majority; its appendix A.9 varies the threshold.

Samples are drawn one after the other. Drawing can stop as soon as no further sample can change the value of any unit
(``is_decided`` of a scale); the values are those that all ``k`` samples would give.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, TypeAlias, get_args

from ..arguments.groups import SamplingOptions
from ..cases import Label, Value, Values
from ..errors import UsageError, check_types

Stopping = Literal["all", "settled"]
"""When drawing ends: after all samples, as a threshold can only be fitted to all votes, or when no value can change."""

Probabilities = Literal["tokens", "votes"]
"""The source of the probabilities of labels: the tokens of replies where the endpoint gives their log-probabilities, or
the votes of several samples alone."""

Rule: TypeAlias = Literal["unanimous", "majority", "adjudicated", "reviewed", "median", "mean"]
"""``unanimous``: all raters who labelled the unit agree. ``majority``: more than half of them do.
``adjudicated``: the row's own gold label where it has one, else unanimous. ``reviewed``: the majority, and the row's
own gold label where there is none. ``median`` (the lower of two), ``mean``: of scores alone; a mean of whole scores is
the whole one next to it, the higher of two."""

RULES: tuple[Rule, ...] = get_args(Rule)

Votes: TypeAlias = Mapping[Value, Any]
"""Value -> the samples that gave it (int), or its probability (float) where probabilities decide."""


class Sampling(SamplingOptions):
    """The number of samples that a judge draws for a case, and the rule by which their votes become a verdict.

    Attributes:
        samples: independent draws per case, at least 1 (CogniBench section 3.2: 5).
        threshold: votes for a positive verdict, 1..samples; below 1 the probability of a positive label from which
            on the verdict is positive. Default: more than half of the votes.
        combine: how several scores become one: their ``mean``, of whole scores the nearest whole number, or the
            ``median``, of two the lower. It stays open until a judge is known; ``None`` then stands for the median.
        is_panel: whether each sample is the one draw of another model. Those that answered decide alone, under the same
            share of votes; a majority stays one.
        weights: label -> the factor of its probability; with weights the verdict is the label with the largest
            product, and the threshold does not matter.
    """

    samples: int = 1
    weights: Mapping[str, float] | None = field(default=None, hash=False)
    is_panel: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that cannot give a verdict."""
        check_types(Sampling, vars(self))
        if self.samples < 1:
            hint = "ask for 1 or more, a whole number"
            raise UsageError(f"{self.samples} samples give no verdict", hint=hint)
        needed = self.needed
        if not (0 < needed < 1 or (1 <= needed <= self.samples and needed == int(needed))):
            raise UsageError(
                f"a threshold of {needed:g} votes does not fit {self.samples} samples",
                hint=f"use 1 to {self.samples}, or a probability between 0 and 1",
            )
        if self.threshold is not None and not self.by_probability:
            object.__setattr__(self, "threshold", int(self.threshold))

    @property
    def by_probability(self) -> bool:
        """Whether probabilities decide rather than votes: a threshold below 1, or weights."""
        return self.needed < 1 or self.weights is not None

    @property
    def takes_mean(self) -> bool:
        """Whether the mean of several scores counts, and not their median."""
        return self.combine == "mean"

    @property
    def rule(self) -> str:
        """The rule that decides, in words for people."""
        rule = self._voting_rule
        if self.takes_mean:
            rule += "; of scores their mean"
        if self.is_panel:
            rule += f"; of the members that answered, {self.samples} at most"
        return rule

    @property
    def _voting_rule(self) -> str:
        """The rule that decides among labels, in words for people."""
        if self.weights is not None:
            parts = ", ".join(f"{label} {weight:.3g}" for label, weight in self.weights.items())
            return f"the label with the highest weighted probability (weights: {parts})"
        if self.by_probability:
            return f"positive from a probability of {self.needed:.3g} on"
        return f"votes needed {self.needed}"

    @property
    def needed(self) -> float:
        """The votes needed for a positive verdict; a number below 1 is the probability needed."""
        if self.threshold is None:
            return more_than_half(self.samples)
        return self.threshold

    def to_card(self) -> dict[str, object]:
        """Return the settings as JSON values."""
        card: dict[str, object] = {"samples": self.samples, "threshold": self.needed}
        if self.weights is not None:
            card["weights"] = dict(self.weights)
        if self.takes_mean:
            card["combine"] = self.combine
        if self.is_panel:
            card["panel"] = True
        return card

    def of_answers(self, answers: int) -> "Sampling":
        """Return the sampling by which so many votes of a panel decide, where the other members gave none."""
        if not self.is_panel or not 0 < answers < self.samples:
            return self
        needed: float | None = self.threshold
        if self.needed >= 1:
            needed = None
            if self.needed != more_than_half(self.samples):
                needed = math.ceil(self.needed * answers / self.samples)
        return replace(self, samples=answers, threshold=needed)

    @property
    def fewest(self) -> int:
        """The fewest samples, all of one label, that can decide between two labels; of a mean, or a panel, all."""
        if self.by_probability or self.takes_mean or self.is_panel:
            return self.samples
        return int(min(self.needed, self.samples - self.needed + 1))


def more_than_half(samples: int) -> int:
    """Return the smallest number of votes that is more than half of ``samples``."""
    return samples // 2 + 1


def count_votes(samples: Sequence[Values], unit: int) -> dict[Value, int]:
    """Return value -> the number of samples that gave it to a unit; ``unit`` is its place, from 0.

    A sample without a usable answer gives no vote.
    """
    votes: dict[Value, int] = {}
    for sample in samples:
        value = sample[unit]
        if value is not None:
            votes[value] = votes.get(value, 0) + 1
    return votes


def decide(
    votes: Mapping[Label, float],
    *,
    samples: int,
    threshold: float,
    positive: Collection[Label],
    order: Sequence[Label],
    weights: Mapping[Label, float] | None = None,
) -> Label | None:
    """Return the verdict of one unit, or ``None`` if the votes leave it open."""
    # The sides are the positive labels and the others. Of the side that wins, the label with the most votes is taken;
    # equal counts go to the label that comes first in ``order``. A vote for a label that is not in ``order`` is no
    # vote. A threshold below 1 is a share of the votes or probabilities in ``votes``, and samples without a usable
    # answer then leave nothing open. With ``weights`` the label with the largest weighted votes is taken, whatever its
    # side.
    if weights is not None:
        shares = {label: votes.get(label, 0) * weights.get(label, 1) for label in order}
        if not any(shares.values()):
            return None
        return max(order, key=shares.__getitem__)
    positives, negatives = sides_of(votes, positive, order)
    negatives_needed = samples - threshold + 1
    if threshold < 1:
        threshold = threshold * (positives + negatives)
        negatives_needed = 0.0
    if not positives + negatives:
        return None
    if positives >= threshold:
        is_positive = True
    elif negatives >= negatives_needed:
        is_positive = False
    else:
        return None
    side = [label for label in order if (label in positive) == is_positive]
    return max(side, key=lambda label: votes.get(label, 0))


def number_within(low: float, high: float, is_whole: bool, value: object) -> int | float | None:
    """Return a value as a number from ``low`` to ``high``; ``None`` where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and "_" in value:  # which Python takes for a number
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):  # a whole number may be larger than any float
        return None
    if not low <= number <= high or (is_whole and not number.is_integer()):
        return None
    if is_whole:
        return int(number)
    return number


def nearest_score(number: float, low: float, high: float, is_whole: bool) -> float:
    """Return the score of a scale that is nearest to a number, of a scale without steps to a hundredth of it."""
    within_ends = min(max(number, low), high)
    if is_whole:
        return min(max(round(within_ends), math.ceil(low)), math.floor(high))
    digits = max(0, 2 - math.floor(math.log10(high - low)))
    return min(max(round(within_ends, digits), low), high)


def median_vote(votes: Mapping[float, int], samples: int) -> float | None:
    """Return the median of the scores, or the lower of two; ``None`` unless more than half of the samples gave one."""
    scores: list[float] = []
    for score, count in votes.items():
        scores.extend([score] * count)
    if len(scores) < more_than_half(samples):
        return None
    scores.sort()
    return scores[(len(scores) - 1) // 2]


def mean_vote(votes: Mapping[float, int], samples: int, is_whole: bool) -> float | None:
    """Return the mean of the scores; ``None`` unless more than half of the samples gave one.

    The mean of whole scores is the nearest whole number, of two equally near ones the even one.
    """
    usable = sum(votes.values())
    if usable < more_than_half(samples):
        return None
    total = 0.0
    for score in sorted(votes):  # in this order the sum is the same in whatever order samples were drawn
        total += score * votes[score]
    mean_score = total / usable
    if is_whole:
        return round(mean_score)
    return min(max(mean_score, min(votes)), max(votes))


def mean_of_ratings(scores: Sequence[float]) -> float:
    """Return the mean of scores that people gave; of whole scores the nearest whole one, halves rounded up."""
    mean = float(sum(scores)) / len(scores)
    if all(isinstance(score, int) for score in scores):
        return math.floor(mean + 0.5)
    return mean


def most_preferred(
    votes: Mapping[Label, int], labels: Sequence[Label], samples: int, undecided: Label | None
) -> Label | None:
    """Return the label with the most votes; ``undecided`` where several labels have as many votes.

    It is ``None`` unless more than half of the samples gave a usable answer.
    """
    if sum(votes.values()) < more_than_half(samples):
        return None
    highest = max(votes.values())
    leaders = [label for label in labels if votes.get(label, 0) == highest]
    if len(leaders) != 1:
        return undecided
    return leaders[0]


def named_vote(
    votes: Mapping[tuple[str, ...], int], *, labels: Sequence[str], samples: int, threshold: float
) -> tuple[str, ...] | None:
    """Return the labels that at least ``threshold`` samples name, sorted; ``None`` if unusable ones leave one open."""
    usable = sum(votes.values())
    chosen = []
    for label in labels:
        naming = 0
        for names, count in votes.items():
            if label in names:
                naming += count
        if naming >= threshold:
            chosen.append(label)
        elif usable - naming <= samples - threshold:
            return None
    return tuple(sorted(chosen))


def sides_of(
    votes: Mapping[Label, float], positive: Collection[Label], order: Sequence[Label]
) -> tuple[float, float]:
    """Return the positive and the negative votes; a vote for a label that is not in ``order`` is none."""
    total = sum(votes.get(label, 0) for label in order)
    positives = sum(votes.get(label, 0) for label in order if label in positive)
    return positives, total - positives


def majority(labels: Iterable[Label | None]) -> Label | None:
    """Return the label that more than half of the labels are, without those that are ``None``."""
    counts = Counter[Label]()
    for label in labels:
        if label is not None:
            counts[label] += 1
    for label, votes in counts.items():
        if 2 * votes > counts.total():
            return label
    return None
