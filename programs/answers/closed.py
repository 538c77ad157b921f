"""Closed labels: each unit gets one of a fixed set, some of which count as found.

What the kinds of closed-label answers share: votes with a threshold, the two sides of gold, strictness, and what
cards and output lines say. How a reply names the labels is for :mod:`.labels`, :mod:`.tags` and :mod:`.spans`.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from ...cases import Case, Label, Value, Values
from ...errors import JudgeError
from ...evaluation.closed_labels import ClosedLabels
from ..votes import Sampling, agreement, decide, is_decided
from .base import Answer, Lack

Details = Callable[[Label], Mapping[str, Any]]
"""What else a label says about its unit."""


@dataclass(frozen=True, kw_only=True)
class ClosedLabel(Answer):
    """One label of a closed set for each unit."""

    labels: tuple[Label, ...] = ()  # the closed set, in a fixed order
    # the labels that count as found (hallucinated, non-factual, ...) in precision, recall and F1
    positive: frozenset[Label] = frozenset()
    strictness: str = ""  # which of them ``positive`` is; empty without tiers
    # what else a label says about its unit, for the output of ``jurist run``
    details: Details | None = field(default=None, repr=False)
    # strictness -> the labels that fall below it; empty without tiers
    tiers: Mapping[str, frozenset[Label]] = field(default_factory=dict, repr=False)

    part: ClassVar[str] = "label"
    uses_threshold: ClassVar[bool] = True
    has_probabilities: ClassVar[bool] = True
    has_quality: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Let labels be given in any collection."""
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "positive", frozenset(self.positive))

    def reading_of(self, other: Answer) -> Callable[[Value], Value] | None:
        """Return the same, or which side a label is on, if this has one label for each side."""
        same = super().reading_of(other)
        found, clear = sorted(self.positive), sorted(set(self.labels) - self.positive)
        if (
            same
            or not isinstance(other, ClosedLabel)
            or not (len(found) == len(clear) == 1 and other.positive)
        ):
            return same
        return lambda value: found[0] if value in other.positive else clear[0]

    @cached_property
    def comparison(self) -> ClosedLabels:
        """Closed labels."""
        return ClosedLabels(self.labels, self.positive)

    @property
    def negative(self) -> frozenset[Label]:
        """The labels that are not positive."""
        return frozenset(self.labels) - self.positive

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the tiers."""
        return tuple(self.tiers)

    @property
    def row_type(self) -> Any:
        """One of the labels."""
        return Literal[self.labels]

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    @property
    def expects(self) -> str:
        """The labels, in words."""
        return "one of: " + ", ".join(self.labels)

    def check(self, judge: str, inputs: Sequence[str]) -> None:
        """Refuse positive labels that are not some of the labels."""
        super().check(judge, inputs)
        unknown = self.positive - set(self.labels)
        if unknown or not self.positive or self.positive == set(self.labels):
            raise JudgeError(
                f"judge {judge}: positive={sorted(self.positive)} does not split the labels {list(self.labels)}",
                hint="name at least one of the labels, and not all of them",
            )

    def probability(self, shares: Mapping[Any, float]) -> float | None:
        """Return the share of the positive labels."""
        total = math.fsum(shares.values())  # exact: a set has another order in every process
        found = math.fsum(shares.get(label, 0.0) for label in self.positive)
        return found / total if total > 0 else None

    def quality(self, value: Value) -> float:
        """Return 1 for a label that is not positive: nothing was found."""
        return float(value not in self.positive)

    def combine(self, votes: Mapping[Any, Any], sampling: Sampling) -> Value | None:
        """Return the label that the vote gives; see :func:`~jurist.programs.votes.decide`."""
        return decide(votes, **self._rule(sampling))

    def is_decided(self, votes: Mapping[Any, int], left: int, sampling: Sampling) -> bool:
        """Return whether the vote is decided; see :func:`~jurist.programs.votes.is_decided`."""
        return is_decided(votes, left=left, **self._rule(sampling))

    def _rule(self, sampling: Sampling) -> dict[str, Any]:
        return {
            "samples": sampling.samples,
            "threshold": sampling.needed,
            "positive": self.positive,
            "order": self.labels,
        }

    def agreement(self, votes: Mapping[Any, int], value: Value | None) -> float | None:
        """Return the share of the votes cast that went to the label."""
        return agreement(votes, value)

    def spread(self, votes: Mapping[str, float]) -> float:
        """Return the entropy of votes over that of an even spread over all labels."""
        total = sum(votes.values())
        shares = [count / total for count in votes.values() if count]
        return abs(sum(share * math.log(share) for share in shares)) / math.log(len(self.labels))

    def centred(self, shares: Mapping[str, float], threshold: float) -> Mapping[str, float]:
        """Return the shares; those of the positive labels together are moved so that ``threshold`` lies at one half."""
        positive = sum(share for name, share in shares.items() if name in self.positive)
        if not 0 < positive < 1:
            return shares
        low = positive < threshold
        moved = positive / (2 * threshold) if low else 1 - (1 - positive) / (2 * (1 - threshold))
        scale = {True: moved / positive, False: (1 - moved) / (1 - positive)}
        return {name: share * scale[name in self.positive] for name, share in shares.items()}

    def cell(self, given: str) -> Any:
        """Return the label that a cell names; capitals do not matter where labels differ without them."""
        if given in self.labels:
            return given
        same = [label for label in self.labels if label.casefold() == given.casefold()]
        return same[0] if len(same) == 1 else None

    def of_json(self, data: Any) -> Value:
        """Return a label of the set."""
        if data not in self.labels:
            raise ValueError(f"no label {data!r}")
        return str(data)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return a lack if one of the two sides has no label."""
        known = {value for case in cases for value in case.known}
        said = f"all {self.noun}s are {' or '.join(sorted(map(str, known)))}"
        for side, name in ((self.positive, "positive"), (self.negative, "negative")):
            if not known & side:
                return Lack(what=name, noun=self.noun, said=said, wanted=" or ".join(sorted(side)))
        return None

    def describe(self, values: Sequence[Value]) -> dict[str, Any]:
        """Return units by label, and the positive share of the labelled units (None if there are none)."""
        counts, total = Counter(values), len(values)
        found = sum(counts[label] for label in self.positive)
        return {
            "labels": {label: counts[label] for label in self.labels},
            "positive": found / total if total else None,
        }

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Return whether each case holds a positive label."""
        return [any(value in self.positive for value in case.known) for case in cases]

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """Return the label of a case of one unit, else whether it holds a positive one."""
        return [
            str(case.gold[0]) if case.gold and len(case.gold) == 1 else "found" if found else "none"
            for case, found in zip(cases, self.sides(cases), strict=True)
        ]

    def usual(self, known: Sequence[Value]) -> Sequence[Value]:
        """Return all labels, the most frequent first."""
        counts = Counter(known)
        return sorted(self.labels, key=lambda label: -counts[label])

    def task_words(self) -> str:
        """Return the labels, and which count as found."""
        found = ", ".join(sorted(self.positive))
        return f"labels: {', '.join(self.labels)}\ncounts as found: {found}"

    def at_strictness(self, level: str) -> Self:
        """Return the answer with everything below ``level`` as its positive labels."""
        positive = self.tiers[level]
        under = getattr(self.details, "under", None)
        details = under(positive) if under else self.details
        return replace(self, positive=positive, strictness=level, details=details)

    def identity(self) -> dict[str, Any]:
        """Return the labels, and the positive ones."""
        return {"labels": list(self.labels), "positive": sorted(self.positive)}

    def identity_under(self, card: Mapping[str, Any]) -> dict[str, Any]:
        """Return both; the same labels under another strictness are the same: the prompt asks for the tier."""
        now = self.identity()
        if frozenset(card.get("positive") or ()) in self.tiers.values():
            del now["positive"]
        return now

    def listing(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the labels, the positive ones marked."""
        return "Labels", tuple((label, "positive" if label in self.positive else "") for label in self.labels)

    def unit_parts(self, value: Value | None) -> dict[str, Any]:
        """Return the label, and whether it is positive."""
        return {**super().unit_parts(value), "positive": None if value is None else value in self.positive}

    def unit_details(self, value: Value) -> Mapping[str, Any]:
        """Return what the judge says about the label."""
        return {} if self.details is None else self.details(str(value))

    def row_parts(self, values: Values) -> dict[str, Any]:
        """Return the label of a case with one unit."""
        return {"label": values[0] if len(values) == 1 else None}

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Count rows with a positive label."""
        return {"positive": any(value in self.positive for value in values)}

    def totals(self, sums: Mapping[str, float]) -> dict[str, Any]:
        """Return how many rows have a positive label."""
        return {"positive": int(sums.get("positive", 0))}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """Return how many rows have a positive label."""
        return (f"{int(sums.get('positive', 0))} rows with a positive label",)

    @property
    def voting_rule(self) -> str:
        """A threshold of votes decides."""
        return (
            "one filling is one sample; with thresholds.samples over 1, ask so often: a unit is positive if at least "
            "thresholds.threshold samples give it a positive label; a threshold below 1 is the least probability of a "
            "positive label, or share of the samples that give one"
        )
