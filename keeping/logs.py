"""Logs: verdicts that another system gave before, as a source of verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeGuard

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.models import RECORDED, Model
from ..errors import UsageError
from ..evaluation.votes import Sampling
from ..programs.deciding import check_sampling, verdict_of
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.verdicts import OnVerdict, Verdict
from .contenders import Contender, request_stamp, sampling_stamp
from .naming import ADAPTER

if TYPE_CHECKING:
    from .artifact_card import Artifact


def is_log(reference: object) -> TypeGuard[str]:
    """Say whether a reference names a log, as ``recorded:FILE``."""
    return isinstance(reference, str) and reference.startswith(RECORDED)


def new_rows_error(reference: str) -> UsageError:
    """Return the refusal to ask a log."""
    hint = f"hold them against labels: jurist evaluate {reference} --gold labels.csv"
    return UsageError(f"{reference} are verdicts that were given before: they judge no new rows", hint=hint)


@dataclass(frozen=True, kw_only=True)
class LogReference:
    """A column of a log, as a user names it; what its verdicts mean is known once it is held against gold."""

    name: str  # ``recorded:FILE``, or ``recorded:FILE#COLUMN``
    file: str
    column: str = ""  # empty where the log itself tells which one it is
    # the probability from which a verdict is positive, where it gives probabilities
    threshold: float | None = None

    @classmethod
    def of(cls, reference: str, threshold: float | None = None) -> LogReference:
        """Return the parts of a reference such as ``recorded:log.csv#verdict``."""
        file, _, column = reference.removeprefix(RECORDED).partition("#")
        if not file:
            hint = f"write {RECORDED}FILE or {RECORDED}FILE#COLUMN"
            raise UsageError(f"{reference} names no file", hint=hint)
        return cls(name=reference, file=file, column=column, threshold=threshold)


@dataclass(frozen=True, kw_only=True)
class Log:
    """The verdicts of a log on the cases of gold; a case that it does not have is not answered.

    Attributes:
        reference: the file and its column.
        judge: the judge of the gold, whose answers these are.
        verdict_of_id: the id of a case -> the verdict in the log, one sample.
        sha256: of the verdicts that are used.
        note: how its rows were found, in one line.
        versions: the versions that gave the verdicts, as far as its lines tell and the store has them.
    """

    reference: LogReference
    judge: Judge
    verdict_of_id: Mapping[str, Verdict] = field(compare=False, repr=False)
    sha256: str
    note: str
    versions: tuple[Artifact, ...] = field(default=(), compare=False, repr=False)
    prompts: tuple[tuple[Judge, PromptState], ...] = ()
    artifact: None = None
    adapter: str = ADAPTER
    questions: tuple[int, int] = (0, 0)
    word_rule: None = None
    own_answer: None = None

    def __post_init__(self) -> None:
        """Refuse a threshold that changes nothing in these verdicts."""
        check_sampling(self.judge, self.sampling)

    @property
    def name(self) -> str:
        """``recorded:FILE``."""
        return self.reference.name

    @property
    def own_name(self) -> str:
        """Its name: a log is no judge with a version."""
        return self.reference.name

    @property
    def model(self) -> Model:
        """A model of the log's name, which nothing can be asked."""
        return Model(name=self.name, temperature=0.0)

    @property
    def models(self) -> Sequence[Model]:
        """The one of its name."""
        return (self.model,)

    @property
    def state(self) -> PromptState:
        """The basic prompt of the judge, for which it stands where sealed rows are opened."""
        return PromptState.of(self.judge.basic())

    @property
    def sampling(self) -> Sampling:
        """One sample, and the threshold of probabilities."""
        return Sampling(threshold=self.reference.threshold)

    @property
    def spend(self) -> Spend:
        """Nothing."""
        return Spend()

    def paid_by(self, context: CallContext) -> Log:
        """Return itself: it asks nothing."""
        return self

    def check(self) -> None:
        """Refuse nothing: its verdicts are there."""

    def is_same(self, contender: Contender) -> bool:
        """Say whether another one is the same log."""
        return self.fingerprint() == contender.fingerprint()

    def verdicts(
        self, cases: Sequence[Case], *, repeat: int = 0, on_verdict: OnVerdict | None = None
    ) -> list[Verdict]:
        """Return the verdict of the log on each case, the same in every repeat."""
        verdicts: list[Verdict] = []
        for index, case in enumerate(cases):
            sample = self.verdict_of_id.get(case.id)
            if sample is None:
                units = len(self.judge.answer.units(case.inputs))
                sample = Verdict(values=(None,) * units, error="not in the log")
            verdict = verdict_of(self.judge.answer, self.sampling, case, [sample], Spend())
            verdicts.append(verdict)
            if on_verdict is not None:
                on_verdict(index, verdict)
        return verdicts

    def fingerprint(self) -> dict[str, object]:
        """Return the content that identifies this log's verdicts, as JSON values."""
        return {
            "judge": self.name,
            "artifact": None,
            "model": self.name,
            **self.judge.option_values,
            "sampling": sampling_stamp(self.sampling, self.model),
            **request_stamp(self),
            "sha256": self.sha256,
        }
