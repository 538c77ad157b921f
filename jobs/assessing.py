"""What every assessment of models shares: calibration, who answers, what they said, and what the answers take.

A paper adds its questions, how answers are judged, and its rates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypeVar

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model, connect
from ..errors import UsageError
from ..gold.goldset import Gold
from ..keeping.loading import LoadedJudge
from ..keeping.paying import Start, paying
from ..programs.answers.checks import items_of
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from .estimate import Part, Rate, Span
from .measuring import some
from .seen import seen_by

__all__ = ["AssessedModels", "Calibrated", "answer_parts", "assess_models", "model_answers", "unseen"]

Calibrated: TypeAlias = list[tuple[Case, Verdict]]
"""Rows of gold with what the judge says of them."""


class HasFailures(Protocol):
    """One model's result."""

    @property
    def failed(self) -> int:
        """On how many questions the machinery failed."""
        ...


Found = TypeVar("Found", bound=HasFailures)


@dataclass(frozen=True, kw_only=True)
class AssessedModels(ABC):
    """Models that are assessed by a judge.

    Attributes:
        targets: the models, each once.
        judge: who judges their answers.
        concurrency: answers in flight at once.
        budget: hard limits over all models.

    Raises:
        UsageError: no model, or one twice.
    """

    targets: tuple[Model, ...]
    judge: LoadedJudge
    concurrency: int = 8
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        """Refuse what assesses nothing."""
        names = [model.name for model in self.targets]
        if not names or len(set(names)) < len(names):
            raise UsageError("name every model once", hint="for example jurist assess offline --benchmark F")

    @property
    def roles(self) -> tuple[str, ...]:
        """The judge, then the models: who has a journal."""
        return ("judge", *(f"{number}-{model.name}" for number, model in enumerate(self.targets)))

    @property
    def held_out(self) -> tuple[Case, ...]:
        """The rows of gold that the judge is measured on; none where its errors are not taken out."""
        return ()

    @abstractmethod
    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same job when it is started again, as JSON values."""

    def asked_print(self, answering: Judge) -> dict[str, Any]:
        """Return who is asked, how and by whom judged, as JSON values of a fingerprint."""
        return {
            "targets": [[one.name, one.public_base, one.temperature, one.max_tokens] for one in self.targets],
            "prompt": PromptState.of(answering.basic()).id,
            "judge": self.judge.fingerprint(),
        }


def unseen(judge: LoadedJudge, calibration: Gold) -> tuple[Case, ...]:
    """Return the rows of the calibration that the judge was not compiled on, nor on near copies of."""
    seen = seen_by(judge, calibration.cases)
    return tuple(case for case in calibration.cases if case.id not in seen)


def model_answers(
    work: AssessedModels,
    answering: Judge,
    model: Model,
    context: CallContext,
    cases: Sequence[Case],
    on_step: Callable[[], None] = lambda: None,
) -> list[tuple[str, bool]]:
    """Return for each case what a model answers, and whether the machinery failed.

    Args:
        work: how many are in flight at once.
        answering: the generator whose one item is the answer.
        model: who answers.
        context: whose journal, meter and ledger.
        cases: what is asked.
        on_step: called after each answer.

    Raises:
        What :meth:`Asker.ask_all` raises.
    """
    lm = connect(model, context, "generator")
    asker = Asker(judge=answering, program=answering.basic(), lm=lm, concurrency=work.concurrency)
    verdicts = asker.ask_all(cases, lambda index, verdict: on_step())
    return [
        ("".join(str(item.data) for item in items_of(verdict.value)), verdict.status == "failed")
        for verdict in verdicts
    ]


def assess_models(
    work: AssessedModels,
    start: Start,
    one: Callable[[LoadedJudge, Model, CallContext, Calibrated], Found],
    on_step: Callable[[], None],
) -> tuple[list[Found], dict[str, Any]]:
    """Assess every model; return the results in the order of the models, and what was spent, by purpose.

    Args:
        work: what to do.
        start: how the job is started.
        one: assesses one model: gets the judge, the model, its context, and the calibration.
        on_step: called after every calibration row.

    Raises:
        CheckpointError, StoppedError, ModelError: as for every job that pays.
    """
    with paying(work, start) as job:
        judge = replace(work.judge, context=job.contexts["judge"])
        verdicts = judge.asker().ask_all(work.held_out, lambda index, verdict: on_step())
        known = list(zip(work.held_out, verdicts, strict=True))
        found = [
            one(judge, model, job.contexts[role], known)
            for role, model in zip(work.roles[1:], work.targets, strict=True)
        ]
        job.unfinished = any(result.failed for result in found)
        return found, job.ledger.to_json()


def answer_parts(
    work: AssessedModels, answering: Judge, cases: Sequence[Case]
) -> tuple[tuple[Part, ...], list[tuple[str, bool]]]:
    """Return what the answers of every model take, and the answers to :func:`some` of the cases it is measured on.

    Sends nothing: those are answered offline.
    """
    context, number = CallContext.fresh(), len(cases)
    said = model_answers(work, answering, Model(temperature=0.0), context, some(cases))
    rate = Rate.of(context.ledger.spend())
    parts = tuple(
        Part(
            role=role,
            models=(model,),
            calls=Span(least=number, most=number),
            rate=rate,
            who=f"of {model.name}",
        )
        for role, model in zip(work.roles[1:], work.targets, strict=True)
    )
    return parts, said
