"""Assessments of models: calibration of the judge, the replies of each model, and what all of it takes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeAlias

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model, connect
from ..errors import UsageError
from ..evaluation.checked_items import items_of
from ..gold.goldset import Gold
from ..keeping.loading import LoadedJudge
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.languages import case_texts
from ..programs.settings import AskSettings
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..report.table import Table
from .estimate import Ask, CostEstimate, Size, Span
from .generation import job_id
from .measuring import make_judge_ask, spread_evenly
from .sealed_rows import select_unseen
from .surface import Surface

Calibrated: TypeAlias = list[tuple[Case, Verdict]]
"""Rows of gold with the verdicts of the judge."""
Replies: TypeAlias = Sequence[tuple[str, bool]]
"""The text that a model gave to each question, and whether the machinery failed."""


View: TypeAlias = tuple[dict[str, Any], Iterable[Mapping[str, object]], Sequence[Table | str]]
"""The results of all models: JSON values, a line for each answer, and the tables and lines that people read."""


class ModelResult(Protocol):
    """One model's result."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def failed(self) -> int:
        """The number of questions on which the machinery failed."""

    @property
    def unusable(self) -> float:
        """The share of questions without a usable answer, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Assessment(ABC):
    """Models that are asked the same questions, and a judge of their replies."""

    answering: ClassVar[Judge]
    """The generator whose one item is the reply."""
    unit: ClassVar[str]
    """The noun for the questions, in the plural."""

    benchmark: str  # the name of what is asked
    targets: tuple[Model, ...]  # the models, each once
    judge: LoadedJudge  # who judges their replies
    # gold the judge is measured on, whose errors are taken out then; rows its artifact has seen are left out
    calibration: Gold | None = None
    concurrency: int = 8  # replies in flight at once
    budget: Budget = field(default_factory=Budget)  # hard limits over all models
    seed: int = 0  # of draws

    @property
    def answerer(self) -> Judge:
        """:attr:`answering`, with its prompt in the language of the questions where it was written in it."""
        return self.answering.for_texts(case_texts(self.question_cases))

    def __post_init__(self) -> None:
        """Refuse no models, and a model that is named twice."""
        names = [model.name for model in self.targets]
        if not names or len(set(names)) < len(names):
            raise UsageError("name every model once", hint="for example jurist assess offline --benchmark F")

    @property
    @abstractmethod
    def question_cases(self) -> list[Case]:
        """The questions for every model."""

    @abstractmethod
    def model_result(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> ModelResult:
        """Return one model's result, from its replies and the verdicts on the calibration."""

    @abstractmethod
    def view(self, results: list[Any]) -> View:
        """Return the results of all models, as :meth:`model_result` gave them, as tables and JSON."""

    @property
    def judged_count(self) -> int:
        """The number of questions whose replies the judge is asked about."""
        return len(self.question_cases)

    @cached_property
    def held_out(self) -> tuple[Case, ...]:
        """The rows of gold that the judge is measured on; none where its errors are not taken out."""
        return select_unseen([self.judge], self.calibration) if self.calibration and self.judged_count else ()

    @property
    def rows(self) -> int:
        """The number of answers that are waited for: on the calibration, of the models, of the judge."""
        return len(self.held_out) + (len(self.question_cases) + self.judged_count) * len(self.targets)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        return (self.judge.note,)

    @property
    def judge_words(self) -> str:
        """The judge, its model and the gold of its calibration, in one line."""
        if not self.judged_count:
            return "no judge was asked"
        words = f"judge: {self.judge.name} with {self.judge.model.name}"
        if self.calibration:
            words += f", measured on {len(self.held_out)} rows of {self.calibration.name}"
        return words

    @property
    def settings(self) -> dict[str, object]:
        """Further settings that identify this job when it is started again, as JSON values."""
        return {"calibration": self.calibration and self.calibration.sha256, "seed": self.seed}

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that have a journal: the judge, then each model."""
        roles = ["judge"]
        for number, model in enumerate(self.targets):
            roles.append(f"{number}-{model.name}")
        return tuple(roles)

    def judge_ask(self, replies: Replies) -> Ask:
        """Return the calls and tokens that judging will take."""
        questions = len(self.held_out) + self.judged_count * len(self.targets)
        return make_judge_ask(self.judge, questions, spread_evenly(self.held_out))

    def fingerprint(self) -> dict[str, object]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        questions = [[dict(case.inputs), case.group, case.draw] for case in self.question_cases]
        targets = []
        for model in self.targets:
            targets.append([model.name, model.api_base, model.temperature, model.top_p, model.max_tokens])
        return {
            "job": "assess",
            "asked": job_id({"asked": questions}),
            "targets": targets,
            "prompt": PromptState.of(self.answerer.basic()).id,
            "judge": self.judge.fingerprint(),
            **self.settings,
        }

    def foresee(self) -> CostEstimate:
        """Return the estimate of the assessment; nothing is sent, and the offline engine answers a few questions."""
        context, number = CallContext.fresh(), len(self.question_cases)
        replies = _ask_model(
            self, Model(temperature=0.0), context, spread_evenly(self.question_cases), lambda: None
        )
        size = Size.of(context.ledger.spend())
        asks = [self.judge_ask(replies)]
        for role, model in zip(self.roles[1:], self.targets, strict=True):
            calls = Span(number, number)
            asks.append(Ask(role=role, models=(model,), calls=calls, size=size, who=f"of {model.name}"))
        what = f"{number} {self.unit}"
        if self.held_out:
            what = f"{len(self.held_out)} rows of calibration, {what}"
        return CostEstimate(what=what, asks=tuple(asks), budget=self.budget)


def judge_cases(
    judge: LoadedJudge, cases: Sequence[Case | None], on_step: Callable[[], None] = lambda: None
) -> list[Verdict | None]:
    """Return the verdict of a judge on each case; ``None`` where there is no case to judge."""
    judged = [case for case in cases if case]
    verdicts = iter(judge.verdicts(judged, on_verdict=lambda index, verdict: on_step()))
    return [next(verdicts) if case else None for case in cases]


def assess(work: Assessment, surface: Surface) -> tuple[list[ModelResult], dict[str, Any]]:
    """Assess every model; return the results in the order of the models, and what was spent, by purpose."""
    doing = "calibrating, answering, judging" if work.held_out else "answering, judging"
    with surface.asking(work, doing) as (job, on_step):
        judge = replace(work.judge, context=job.contexts["judge"])
        verdicts = judge.verdicts(work.held_out, on_verdict=lambda index, verdict: on_step())
        calibrated = list(zip(work.held_out, verdicts, strict=True))
        results = list[ModelResult]()
        for role, model in zip(work.roles[1:], work.targets, strict=True):
            replies = _ask_model(work, model, job.contexts[role], work.question_cases, on_step)
            results.append(work.model_result(model.name, replies, judge, calibrated, on_step))
        job.unfinished = any(result.failed for result in results)
        return results, job.ledger.to_json()


def _ask_model(
    work: Assessment, model: Model, context: CallContext, cases: Sequence[Case], on_step: Callable[[], None]
) -> list[tuple[str, bool]]:
    """Return the replies of a model to some questions, and whether the machinery failed."""
    lm = connect(model, context, "generator")
    answerer = work.answerer
    program = answerer.basic()
    settings = AskSettings(concurrency=work.concurrency)
    asker = Asker(judge=answerer, program=program, lm=lm, settings=settings)
    replies = []
    for verdict in asker.ask_all(cases, lambda index, verdict: on_step()):
        text = "".join(str(item.data) for item in items_of(verdict.value))
        replies.append((text, verdict.status == "failed"))
    return replies
