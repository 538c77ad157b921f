"""Verdicts: what asking a judge about one case gives, and how often it is asked.

A verdict is three-valued: *verdict* (every unit has a value), *abstained* (the model answered, and the answer is
unusable for some unit; or the endpoint refuses this row for what it is), or *failed* (the machinery failed: network,
overload, time-outs). What has no value has a reason, by which rows are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, TypeVar

from ..cases import Case, Label, Value, Values
from ..engines.failures import FailureKind
from ..engines.ledger import Spend
from ..errors import ModelError, plural

if TYPE_CHECKING:
    from .judge import Judge

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
    """A judge's answer to one case.

    Attributes:
        id: the case's id.
        status: ``verdict``, ``abstained`` or ``failed``.
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
    """

    id: str
    status: Status
    values: Values
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


class VerdictSource(Protocol):
    """Whatever gives a verdict on each case: a judge with a model, a cascade of judges, a log of verdicts."""

    @property
    def name(self) -> str:
        """Its name in tables and files."""

    @property
    def judge(self) -> Judge:
        """The judge whose answers its verdicts are."""

    def verdicts(
        self, cases: Sequence[Case], *, repeat: int = 0, on_verdict: OnVerdict | None = None
    ) -> list[Verdict]:
        """Return a verdict on each case, in their order.

        Args:
            cases: what is judged.
            repeat: which repeat of an experiment it is, from 0; each draws other samples.
            on_verdict: called with each verdict as it comes, in any order.

        Raises:
            ModelError: the model cannot be used at all. BudgetExhausted: a limit was reached.
        """


FIRST_CASES = 8
"""The first cases, by whose replies a job sees whether it can read the model's replies."""
_Asked = TypeVar("_Asked")


def with_readable_adapter(
    candidates: Iterable[_Asked], ask: Callable[[_Asked], Sequence[Verdict]]
) -> tuple[_Asked, str]:
    """Return the first of two candidates of which most replies can be read, and why it is the second one, in words.

    Args:
        candidates: the same judge with chat prompts, then with JSON prompts.
        ask: returns the verdicts of a candidate on the first few cases.

    Raises:
        ModelError: most replies to either cannot be read.
    """
    unread: list[list[Verdict]] = []
    for candidate in candidates:
        verdicts = ask(candidate)
        unread.append([verdict for verdict in verdicts if verdict.unread])
        if 2 * len(unread[-1]) > len(verdicts):
            continue
        if len(unread) == 1:
            return candidate, ""
        why = f"{len(unread[0])} of the first {len(verdicts)} replies to chat prompts cannot be read"
        return candidate, f"{why}: asked with --adapter json from now on"
    chat, as_json = map(len, unread)
    raise ModelError(
        f"of the first {len(verdicts)} replies {chat} to chat prompts and {as_json} to JSON prompts cannot be read: "
        f"{unread[-1][0].error}",
        hint="try a larger --model; --adapter chat goes on all the same",
    )
