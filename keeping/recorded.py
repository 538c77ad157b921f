"""Verdicts that a judge gave elsewhere, as a judge that is not asked: ``recorded:FILE`` or ``recorded:FILE#COLUMN``."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import dspy

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.ledger import Spend
from ..engines.models import RECORDED, Model, connect
from ..errors import UsageError
from ..evaluation.votes import Sampling
from ..programs.answers.base import Reading
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from .loading import LoadedJudge
from .naming import ADAPTER


def no_new_rows(reference: str) -> UsageError:
    """Return the refusal to ask a log."""
    return UsageError(
        f"{reference} are verdicts that were given before: they judge no new rows",
        hint=f"hold them against labels: jurist evaluate {reference} --gold labels.csv",
    )


@dataclass(frozen=True, kw_only=True)
class RecordedAsker(Asker):
    """Gives the verdicts of a log; a row that it does not have is not answered."""

    said: Mapping[str, Reading]  # id of a case -> what the log says of it

    async def judged(self, case: Case, usage: Spend | None = None) -> Verdict:
        """Return what the log says of one case."""
        nothing = Reading(
            values=(None,) * len(self.judge.answer.units(case.inputs)), problem="not in the log"
        )
        return self.verdict_of(case, self.said.get(case.id, nothing))


@dataclass(frozen=True, kw_only=True, repr=False)
class RecordedJudge(LoadedJudge):
    """The verdicts of one column of a log; what they mean is known once they are held against gold."""

    file: str  # the log
    column: str = ""  # which of its columns; empty where it tells itself
    # id of a case of the gold -> what the log says of it; ``None`` before any gold is known
    said: Mapping[str, Reading] | None = field(default=None, compare=False)
    sha256: str = ""  # of the verdicts that are used

    @classmethod
    def of(cls, reference: str, threshold: float | None) -> "RecordedJudge":
        """Return the judge that a reference names, of which nothing is known yet."""
        file, _, column = reference.removeprefix(RECORDED).partition("#")
        if not file:
            raise UsageError(
                f"{reference} names no file", hint=f"write {RECORDED}FILE or {RECORDED}FILE#COLUMN"
            )
        return cls(
            **_about(_OPEN),
            adapter=ADAPTER,
            wanted=Sampling(threshold=threshold),
            model=Model(name=reference, temperature=0.0),
            concurrency=1,
            context=CallContext.fresh(),
            named=reference,
            file=file,
            column=column,
        )

    def on_gold(self, judge: Judge, said: Mapping[str, Reading], sha256: str, how: str) -> "RecordedJudge":
        """Return it as the judge of some gold; ``how`` its rows were found is said before it is used."""
        return replace(self, **_about(judge), said=said, sha256=sha256, standing=how)

    def with_model(self, model: Model, *, draws: int = 1) -> "RecordedJudge":
        return self

    def with_adapter(self, adapter: str | None) -> "RecordedJudge":
        return self

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "sha256": self.sha256}

    def asker(self) -> Asker:
        if self.said is None:
            raise no_new_rows(self.name)
        return RecordedAsker(
            judge=self.judge,
            program=self.judge.basic(),
            lm=connect(Model(temperature=0.0), self.context),
            sampling=self.sampling,
            said=self.said,
        )


def _about(judge: Judge) -> dict[str, Any]:
    return {"judge": judge, "state": PromptState.of(judge.basic()), "artifact": None}


class _Open(dspy.Signature):
    """Stand for a judge as long as nothing is known of its rows."""

    row: str = dspy.InputField()
    verdict: Literal["yes", "no"] = dspy.OutputField()


_OPEN = Judge(name="recorded", signature=_Open, positive="no")
