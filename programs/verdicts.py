"""Verdicts: what asking a judge about one case gives, and how often it is asked.

A verdict is three-valued: *verdict* (every unit has a label), *abstained* (the
model answered, and the answer is unusable for some unit), or *failed* (the
machinery failed: network, overload, time-outs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..cases import Label, Labels
from ..engines.ledger import Spend
from .shapes import Answer
from .votes import agreement, check_threshold, majority, tally

__all__ = ["SampleLog", "Sampling", "Status", "Verdict"]

Status = Literal["verdict", "abstained", "failed"]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How often a case is asked, and how many votes make it positive.

    Attributes:
        samples: independent draws per case, at least 1 (CogniBench section 3.2: 5).
        threshold: votes for a positive verdict, 1..samples; default: more than half.
    """

    samples: int = 1
    threshold: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that cannot give a verdict."""
        check_threshold(self.samples, self.needed)

    @property
    def needed(self) -> int:
        """The votes needed for a positive verdict."""
        return majority(self.samples) if self.threshold is None else self.threshold

    @property
    def fewest(self) -> int:
        """The samples after which a label of two may be settled, at the earliest."""
        return min(self.needed, self.samples - self.needed + 1)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A judge's answer to one case.

    Attributes:
        id: the case's id.
        status: ``verdict``, ``abstained`` or ``failed``.
        labels: one label per unit; ``None`` where there is no usable answer.
        votes: label -> votes, per unit.
        samples: the labels of each sample that answered, for thresholds fitted later.
        reasoning: the first sample's reasoning, if the judge gives one.
        inconsistent: samples whose answer contradicted itself (units against label), whatever was made of them.
        error: what went wrong, redacted; empty if nothing did.
        drawn: samples that were asked, unusable ones included.
        saved: samples that were not, because no outcome could change any more.
        identical: whether two samples or more were asked and all replies were the same, byte for byte. Then
            their agreement says nothing if the provider does not really sample.
        reasked: samples in which the units without a label were asked for once more.
        extra: answers for something that was not asked: numbers that no unit has, echoes of no sentence.
        duplicated: units that a reply gave two different labels, over all samples.
        usage: the calls and tokens this case took.
    """

    id: str
    status: Status
    labels: Labels
    votes: tuple[Mapping[Label, int], ...] = ()
    samples: tuple[Labels, ...] = ()
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    drawn: int = 0
    saved: int = 0
    identical: bool = False
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0
    usage: Spend = field(default_factory=Spend, compare=False)

    @property
    def label(self) -> Label | None:
        """The label of a case with one unit."""
        return self.labels[0] if len(self.labels) == 1 else None

    @property
    def agreement(self) -> tuple[float | None, ...]:
        """Per unit, the share of the votes cast that went to its label; see :func:`~.votes.agreement`."""
        if not self.votes:
            return (None,) * len(self.labels)
        return tuple(agreement(votes, label) for votes, label in zip(self.votes, self.labels, strict=True))


@dataclass(kw_only=True)
class SampleLog:
    """What the samples of one case have said so far."""

    answers: list[Labels] = field(default_factory=list)
    texts: list[tuple[str, ...]] = field(default_factory=list)
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    failed: bool = False
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0

    def take(self, answer: Answer) -> None:
        """Count one sample's answer."""
        self.answers.append(answer.labels)
        self.reasoning = self.reasoning or answer.reasoning
        self.inconsistent += answer.inconsistent
        self.extra += answer.extra
        self.duplicated += answer.duplicated
        self.error = self.error or answer.problem

    def votes(self, units: int) -> tuple[dict[Label, int], ...]:
        """Return label -> votes of each unit."""
        return tuple(tally(self.answers, unit) for unit in range(units))

    @property
    def identical(self) -> bool:
        """Whether several samples were answered with the same texts."""
        return len(self.texts) > 1 and bool(self.texts[0]) and len(set(self.texts)) == 1
