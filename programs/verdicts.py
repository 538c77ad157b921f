"""Verdicts: what asking a judge about one case gives.

A verdict is three-valued: *verdict* (every unit has a value), *abstained* (the model answered, and the answer is
unusable for some unit; or the endpoint refuses this row for what it is), or *failed* (the machinery failed: network,
overload, time-outs). What has no value has a reason, by which rows are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Final, Literal, TypeAlias

from ..cases import Label, Value, Values
from ..engines.failure_kinds import FailureKind
from ..engines.ledger import Spend
from ..errors import plural

Status = Literal["verdict", "abstained", "failed"]
FILTERED: Final = str(FailureKind.FILTERED)
TOO_LONG: Final = str(FailureKind.TOO_LONG)
UNREADABLE: Final = "unreadable reply"
CUT_OFF: Final = "reply cut off"
UNDECIDED: Final = "samples disagree"
UNSURE: Final = "left to people"
UNREADABLE_IMAGE: Final = "unreadable image"
NOT_ASKED: Final = "no model is asked"
"""Why a case abstains; a case that failed has a :class:`~jurist.engines.failures.FailureKind` as its reason."""
REFUSED_ROW: Final = {
    FILTERED: "the endpoint's filter refused this row",
    TOO_LONG: "too long for the model",
}
"""Reasons that lie in the row: it is not asked again, and says nothing about other rows."""
PEOPLE = "people"
"""The name in :attr:`Verdict.by` for rows of which no judge of a cascade is sure enough."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """A judge's answer to one case, by the votes of its samples; or the answer of one sample.

    That of one sample is made where a reply is read. It has no id, votes, agreement or usage yet: those belong to the
    case, whose verdict :func:`~jurist.programs.deciding.verdict_of` makes of the verdicts of its samples.

    Attributes:
        id: the case's id; empty for the verdict of one sample.
        status: ``verdict``, ``abstained`` or ``failed``. A verdict without a value for some unit is abstained.
        values: one value per unit; ``None`` where there is no usable answer.
        votes: value -> votes, per unit.
        probabilities: label -> probability, per unit: the mean over the samples. A sample without probabilities of its
            reply's tokens counts as probability 1 of its vote. Empty for answers that have none.
        measured: samples whose reply came with probabilities of its tokens.
        agreement: how far the votes cast agree with the value, 0 to 1, per unit: of closed labels the share that
            went to the label.
        samples: the values of each sample that answered, for thresholds fitted later.
        reasoning: the first sample's reasoning, if the judge gives one.
        inconsistent: samples whose answer contradicted itself (units against label), whether they counted or not.
        error_kind: why there is no value for some unit, in a few words by which rows are counted; empty for a verdict.
        error: what went wrong, redacted; empty if nothing did.
        drawn: samples that were asked for, unusable ones included.
        saved: samples that were not asked for, because no outcome could change any more.
        identical: whether two samples or more were asked and all replies were the same, byte for byte. Then
            their agreement says nothing if the provider does not really sample.
        redrawn: samples that were drawn once more, as a reply could not be read.
        reasked: samples in which the units without a label were asked for once more.
        extra: answers for something that was not asked: numbers that no unit has, echoes of no sentence.
        duplicated: units that a reply gave two different labels, over all samples.
        counts: name -> number of further events that the judge's kind of answer counts, over all samples.
        members: of a panel, model -> the values that it gave, ``None`` if none; else empty.
        answers: the mean answer of the samples to each question that the prompt asks besides; else empty.
        by: of a cascade, which of its judges answered or failed, or ``people`` where none was sure; else empty.
        usage: the calls and tokens this case took.
        request_failed: of one sample, whether its request failed or was refused, so that no other one is drawn.
        replies: of one sample, the texts that the model returned, sorted, as a program may ask in any order.
        fault: of a member of a panel, why its model cannot be used at all.
    """

    values: Values
    id: str = ""
    status: Status = "verdict"
    votes: tuple[Mapping[Value, int], ...] = ()
    probabilities: tuple[Mapping[Value, float], ...] = ()
    measured: int = 0
    agreement: tuple[float | None, ...] = ()
    samples: tuple[Values, ...] = ()
    reasoning: str = ""
    inconsistent: int = 0
    error_kind: str = ""
    error: str = ""
    drawn: int = 0
    saved: int = 0
    identical: bool = False
    redrawn: int = 0
    reasked: int = 0
    extra: int = 0
    duplicated: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    members: Mapping[str, Values | None] = field(default_factory=dict)
    answers: tuple[float | None, ...] = ()
    by: str = ""
    usage: Spend = field(default_factory=Spend, compare=False)
    request_failed: bool = False
    replies: tuple[str, ...] = ()
    fault: Exception | None = None

    def __post_init__(self) -> None:
        if self.status == "verdict" and (not self.values or None in self.values):
            object.__setattr__(self, "status", "abstained")

    def __repr__(self) -> str:
        """Say what was decided and how many votes were cast, or why nothing was."""
        if self.status != "verdict":
            return f"<Verdict {self.status}: {self.error[:120]}>"
        values = ", ".join(map(str, self.values))
        words = f"{values[:120]}: {plural(self.drawn, 'sample')}"
        if self.members:
            words = f"{values[:120]}: {self.answered} of {len(self.members)} members"
        if self.drawn > 1:
            least_agreement = min((share for share in self.agreement if share is not None), default=1.0)
            words += f", agreement {least_agreement:.2f}"
        return f"<Verdict {words}>"

    def _repr_html_(self) -> str:
        """Show it in a notebook, with the reasoning."""
        html = f"<p>{escape(repr(self).strip('<>'))}</p>"
        if self.reasoning:
            html += f"<p>{escape(self.reasoning)}</p>"
        return html

    @property
    def answered(self) -> int:
        """Of a panel, the members that gave an answer; 0 where there is no panel."""
        return sum(values is not None for values in self.members.values())

    @property
    def value(self) -> Value | None:
        """The value of a case with one unit."""
        return self.values[0] if len(self.values) == 1 else None

    @property
    def missing(self) -> tuple[int, ...]:
        """The places of the units without a value, from 0."""
        places: list[int] = []
        for place, value in enumerate(self.values):
            if value is None:
                places.append(place)
        return tuple(places)

    def completed(self, second: Verdict) -> Verdict:
        """Return the verdict of a sample with the values that ``second``, asked for the missing units, gives them."""
        values: list[Value | None] = []
        for first_value, second_value in zip(self.values, second.values, strict=True):
            if first_value is None:
                values.append(second_value)
            else:
                values.append(first_value)
        return replace(
            self,
            values=tuple(values),
            status="verdict",
            extra=self.extra + second.extra,
            duplicated=self.duplicated + second.duplicated,
        )

    @property
    def refused(self) -> bool:
        """Whether the endpoint refuses this row for what it is: its content, or its length."""
        return self.error_kind in REFUSED_ROW

    @property
    def unread(self) -> bool:
        """Whether the model answered, and the answer is unusable."""
        return self.status == "abstained" and not self.refused

    @property
    def label(self) -> Label | None:
        """The closed label of a case with one unit."""
        return self.value if isinstance(self.value, str) else None


OnVerdict: TypeAlias = Callable[[int, Verdict], None]
"""Takes the place of a case among the cases, and its verdict."""
