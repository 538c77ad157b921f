"""Verdicts: what asking a judge about one case gives, and how often it is asked.

A verdict is three-valued: *verdict* (every unit has a value), *abstained* (the
model answered, and the answer is unusable for some unit), or *failed* (the
machinery failed: network, overload, time-outs).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..cases import Label, Value, Values
from ..engines.ledger import Spend
from ..errors import plural
from ..evaluation.votes import tally
from .answers.base import Reading

Status = Literal["verdict", "abstained", "failed"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """A judge's answer to one case.

    Attributes:
        id: the case's id.
        status: ``verdict``, ``abstained`` or ``failed``.
        values: one value per unit; ``None`` where there is no usable answer.
        votes: value -> votes, per unit.
        probabilities: label -> probability, per unit: the mean over the samples, of which a sample whose reply's tokens
            do not tell them counts as its vote. Empty for answers that have none.
        measured: samples whose tokens told them.
        agreement: how far the votes cast agree with the value, 0 to 1, per unit: of closed labels the share that
            went to the label.
        samples: the values of each sample that answered, for thresholds fitted later.
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
        counts: what the judge's kind of answer counts besides, over all samples.
        usage: the calls and tokens this case took.
    """

    id: str
    status: Status
    values: Values
    votes: tuple[Mapping[Any, int], ...] = ()
    probabilities: tuple[Mapping[Any, float], ...] = ()
    measured: int = 0
    agreement: tuple[float | None, ...] = ()
    samples: tuple[Values, ...] = ()
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    drawn: int = 0
    saved: int = 0
    identical: bool = False
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Spend = field(default_factory=Spend, compare=False)

    def __repr__(self) -> str:
        """Say what was decided and how many votes were cast, or why nothing was."""
        if self.status != "verdict":
            return f"<Verdict {self.status}: {self.error[:120]}>"
        said = ", ".join(map(str, self.values))
        return f"<Verdict {said[:120]}: {plural(self.drawn, 'sample')}>"

    @property
    def value(self) -> Value | None:
        """The value of a case with one unit."""
        return self.values[0] if len(self.values) == 1 else None

    @property
    def label(self) -> Label | None:
        """The closed label of a case with one unit."""
        return self.value if isinstance(self.value, str) else None


@dataclass(kw_only=True)
class SampleLog:
    """What the samples of one case have said so far."""

    answers: list[Values] = field(default_factory=list)
    shares: list[tuple[Mapping[Any, float], ...]] = field(default_factory=list)
    measured: int = 0
    texts: list[tuple[str, ...]] = field(default_factory=list)
    reasoning: str = ""
    inconsistent: int = 0
    error: str = ""
    failed: bool = False
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, reading: Reading) -> None:
        """Count one sample's answer."""
        self.answers.append(reading.values)
        told = reading.probabilities or ({},) * len(reading.values)
        self.shares.append(tuple(map(_shares, reading.values, told)))
        self.measured += any(reading.probabilities)
        self.reasoning = self.reasoning or reading.reasoning
        self.inconsistent += reading.inconsistent
        self.extra += reading.extra
        self.duplicated += reading.duplicated
        self.error = self.error or reading.problem
        self.counts.update(reading.counts)

    def votes(self, units: int) -> tuple[dict[Any, int], ...]:
        """Return value -> votes of each unit."""
        return tuple(tally(self.answers, unit) for unit in range(units))

    def probabilities(self, units: int) -> tuple[dict[Any, float], ...]:
        """Return label -> probability of each unit: the mean over the samples that have a label for it."""
        return tuple(_mean([sample[unit] for sample in self.shares if sample[unit]]) for unit in range(units))

    @property
    def identical(self) -> bool:
        """Whether several samples were answered with the same texts."""
        return len(self.texts) > 1 and bool(self.texts[0]) and len(set(self.texts)) == 1


def _shares(value: Value | None, told: Mapping[Any, float]) -> Mapping[Any, float]:
    """Return what a sample says of a unit: its probabilities, else its vote; nothing without a usable answer."""
    return {} if value is None else told or {value: 1.0}


def _mean(samples: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    """Return the mean of what samples say of a unit, to six digits."""
    labels = dict.fromkeys(label for sample in samples for label in sample)
    return {
        label: round(sum(sample.get(label, 0.0) for sample in samples) / len(samples), 6) for label in labels
    }
