"""Assessments of models: the calibration of the judge, the replies of each model, their figures, and an estimate.

Each paper has a kind of benchmark of its own: what its rows look like, and how models are assessed on them
(:class:`BenchmarkKind`).
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model, connect
from ..errors import Count, Seed, UsageError, checked
from ..evaluation.checked_items import items_of
from ..evaluation.intervals import Share
from ..evaluation.prevalence import Prevalence
from ..gold.goldset import Gold
from ..gold.rejects import Rejects
from ..gold.sources import layouts
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, default_temperature
from ..keeping.paying import Start
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.languages import case_texts
from ..programs.settings import AskSettings
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..report.render import render_text
from ..report.shown import Shown
from ..report.table import Table
from .estimate import Ask, CostEstimate, Size, Span
from .generation import job_id
from .judges import JudgeLike, as_items, load_for_new_rows, load_reference
from .kept_calls import Asking
from .measuring import make_judge_ask, spread_evenly
from .sealed_rows import select_unseen
from .surface import GoldLike, ModelLike, Surface, make_model, open_store, read_gold

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
    """The generator whose one item is the reply, in the language it was written in; :attr:`answerer` is asked."""
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

    @abstractmethod
    def figures(self, results: list[Any]) -> list[dict[str, object]]:
        """Return a record for each figure of each model; see :func:`figure_record`."""

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
        """Return the calls and tokens that judging will take, measured on the rows of calibration.

        An assessment without calibration measures ``replies``, those of the offline engine to a few questions.
        """
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

    def askings(self) -> Sequence[Asking]:
        """Return nothing: what is judged follows from what the models say."""
        return ()

    def foresee(self) -> CostEstimate:
        """Return the estimate of the assessment; nothing is sent, and the offline engine answers a few questions."""
        context = CallContext.fresh()
        number = len(self.question_cases)
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


def figure_record(
    model: str, table: str, measure: str, share: Share | None, corrected: Prevalence | None = None
) -> dict[str, object]:
    """Return a figure of a model as a record: its value with its interval, its denominator, and its correction.

    Args:
        model: the model's name.
        table: the name of the table that it stands in.
        measure: its name there.
        share: the figure; ``None`` where nothing was counted.
        corrected: the figure without the errors of the judge; ``None`` where it is not corrected.
    """
    share = share or Share(count=0.0, of=0.0, groups=0)
    corrected = corrected or Prevalence(raw=None)
    return {
        "model": model,
        "table": table,
        "measure": measure,
        "value": share.value,
        "low": share.low,
        "high": share.high,
        "of": share.of,
        "corrected": corrected.value,
        "corrected_low": corrected.low,
        "corrected_high": corrected.high,
    }


def assess_models(assessment: Assessment, surface: Surface) -> tuple[list[ModelResult], dict[str, Any]]:
    """Assess every model; return the results in the order of the models, and what was spent, by purpose."""
    doing = "calibrating, answering, judging" if assessment.held_out else "answering, judging"
    with surface.asking(assessment, doing) as (paid_job, on_step):
        judge = replace(assessment.judge, context=paid_job.contexts["judge"])
        verdicts = judge.verdicts(assessment.held_out, on_verdict=lambda index, verdict: on_step())
        calibrated = list(zip(assessment.held_out, verdicts, strict=True))
        results = list[ModelResult]()
        for role, model in zip(assessment.roles[1:], assessment.targets, strict=True):
            replies = _ask_model(
                assessment, model, paid_job.contexts[role], assessment.question_cases, on_step
            )
            results.append(assessment.model_result(model.name, replies, judge, calibrated, on_step))
        paid_job.unfinished = any(result.failed for result in results)
        return results, paid_job.ledger.to_json()


def _ask_model(
    assessment: Assessment,
    model: Model,
    context: CallContext,
    cases: Sequence[Case],
    on_step: Callable[[], None],
) -> list[tuple[str, bool]]:
    """Return the replies of a model to some questions, and whether the machinery failed."""
    lm = connect(model, context, "generator")
    answerer = assessment.answerer
    program = answerer.basic()
    settings = AskSettings(concurrency=assessment.concurrency)
    asker = Asker(judge=answerer, program=program, lm=lm, settings=settings)
    replies = []
    for verdict in asker.ask_all(cases, lambda index, verdict: on_step()):
        text = "".join(str(item.data) for item in items_of(verdict.value))
        replies.append((text, verdict.status == "failed"))
    return replies


_PAPERS = ("haluagent", "faithqa", "cognibench")
"""The papers with a kind of benchmark, in the order in which they are asked whether one is theirs."""
_LABELLING_SAMPLES = 5
"""Judgements of a response where nobody names a number (CogniBench section 3.2)."""
_REPLIES_THAT_DIFFER = 2
"""Draws for which a model gets a temperature above 0, as a user has it, where neither it nor the paper has one."""
Unanswered: TypeAlias = Literal["apart", "wrong"]
"""The place of replies without an answer: in no rate, or among the hallucinated ones."""


@dataclass(frozen=True, kw_only=True)
class AssessmentRequest:
    """A call of :func:`assess`, from which a kind of benchmark makes the assessment."""

    benchmark: str
    models: tuple[Model, ...]
    judge: JudgeLike | None
    judge_model: Model
    judge_options: Mapping[str, Any]  # how the judge is asked, where it is given by name
    concurrency: int
    budget: Budget
    seed: int
    surface: Surface
    limit: int | None = None
    calibration: GoldLike | None = None
    fact_judge: JudgeLike | None = None
    per_cell: int | None = None
    unanswered: Unanswered = "apart"
    rejects: Rejects | None = None

    def load_judge(self, default: str) -> LoadedJudge:
        """Return the judge of what models write, with its model; ``default`` is its name where nobody names one."""
        judge = self.judge or default
        if not isinstance(judge, str):
            return load_for_new_rows(judge, None, self.surface.store, self._given_options)
        options = {**self.judge_options, "concurrency": self.concurrency}
        loaded = self._load_by_name(judge, options)
        if options.get("samples") is None and loaded.word_rule is None:
            # Only a judge that was loaded tells whether words decide, which takes no further samples.
            loaded = self._load_by_name(judge, {**options, "samples": _LABELLING_SAMPLES})
        self.surface.loaded(loaded)
        return loaded

    def load_fact_judge(self, default: str) -> LoadedJudge:
        """Return the judge of facts, with the judges' model; ``default`` is its name where nobody names one."""
        judge = self.fact_judge or default
        if not isinstance(judge, str):
            return load_for_new_rows(judge, None, self.surface.store, {})
        loaded = self._load_by_name(judge, {"concurrency": self.concurrency})
        self.surface.note(loaded.note)
        self.surface.loaded(loaded)
        return loaded

    def _load_by_name(self, judge: str, options: Mapping[str, Any]) -> LoadedJudge:
        """Return a judge by name, asked with the judges' model."""
        return load_reference(judge, self.surface.store, model=self.judge_model, **options)

    @property
    def _given_options(self) -> dict[str, Any]:
        """The options of the judge that the call names."""
        return {name: value for name, value in self.judge_options.items() if value is not None}

    def assessment_arguments(
        self,
        judge: LoadedJudge,
        bundled: str = "",
        temperature: float | None = None,
        top_p: float | None = None,
    ) -> dict[str, Any]:
        """Return the arguments that the assessments of all papers share.

        Args:
            judge: the judge of what models write.
            bundled: the gold that the judge is measured on where nobody names any; empty where it is not measured.
            temperature, top_p: how the paper's models draw, where a model does not say so itself.
        """
        targets = []
        for model in self.models:
            if not model.offline and model.top_p is None:
                model = replace(model, top_p=top_p)
            targets.append(default_temperature(model, _REPLIES_THAT_DIFFER, temperature))
        calibration = None
        if bundled:
            calibration = read_gold(bundled if self.calibration is None else self.calibration, judge.judge)
        return {
            "benchmark": self.benchmark,
            "targets": tuple(targets),
            "judge": judge,
            "calibration": calibration,
            "concurrency": self.concurrency,
            "budget": self.budget,
            "seed": self.seed,
        }


@dataclass(frozen=True, kw_only=True)
class BenchmarkKind:
    """A kind of benchmark, which the module ``assess`` of a paper has as ``KIND``."""

    # whether a benchmark with a row of these columns is of the kind
    recognises: Callable[[Set[str]], bool]
    plan: Callable[[AssessmentRequest], Assessment]
    options: frozenset[str]  # the fields of a request that change something here and not on every benchmark
    bundled: str = ""  # the name of the paper's own benchmark


_OPTIONS_OF_KINDS = ("calibration", "fact_judge", "per_cell", "unanswered", "rejects")
"""The fields of a request that do not apply to some kinds of benchmark."""


def plan_assessment(request: AssessmentRequest) -> Assessment:
    """Return the assessment of a request: the rows of its benchmark decide the kind."""
    request = replace(request, benchmark=_file_of(request.benchmark))
    kind = _kind_of(request.benchmark)
    defaults = {item.name: item.default for item in fields(AssessmentRequest)}
    for name in _OPTIONS_OF_KINDS:
        if name not in kind.options and getattr(request, name) != defaults[name]:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} does not apply to {request.benchmark}", hint=f"leave out {flag}")
    return kind.plan(request)


def _file_of(benchmark: str) -> str:
    """Return the items in a folder that ``generate`` wrote, whose other files hold no items; else what was named."""
    file = Path(benchmark) / "benchmark.jsonl"
    return str(file) if file.is_file() else benchmark


def _kind_of(benchmark: str) -> BenchmarkKind:
    """Return the kind of a benchmark: that of its name, else the first that takes the columns of one of its rows."""
    kinds: list[BenchmarkKind] = []
    for paper in _PAPERS:
        kinds.append(import_module(f"jurist.papers.{paper}.assess").KIND)
    for kind in kinds:
        if kind.bundled == benchmark:
            return kind
    columns_of_rows = layouts(benchmark) or {frozenset()}
    # The last kind recognises any columns: it refuses the rows that it cannot use when it reads them.
    return next(kind for kind in kinds if any(map(kind.recognises, columns_of_rows)))


@dataclass(frozen=True, kw_only=True, repr=False)
class AssessedModels(Shown):
    """The results of :func:`assess`: those of each model, in their order.

    Attributes:
        benchmark: what was asked.
        judge: the judge of the replies, with its model, as JSON values.
        results: each model's result, in their order: ``model``, ``failed`` (questions on which the machinery failed),
            ``unusable`` (the share of questions without a usable answer), and the paper's figures.
        answers: a row for each reply of each model, with what the judge said of it.
        spend: calls, tokens and cost, by purpose.
    """

    benchmark: str
    judge: Mapping[str, object]
    results: tuple[Any, ...]
    answers: tuple[Mapping[str, object], ...]
    spend: Mapping[str, Any]
    measured: Mapping[str, object]  # the figures as JSON values
    body: tuple[Table | str, ...]  # what a notebook shows
    figures: tuple[Mapping[str, object], ...]

    def __repr__(self) -> str:
        """Return the models and the benchmark, and the paper's tables."""
        tables = [render_text(table).rstrip() for table in self.tables]
        return "\n\n".join([super().__repr__(), *tables])

    @property
    def headline(self) -> str:
        """The models and the benchmark."""
        names = ", ".join(result.model for result in self.results)
        return f"{names} on {self.benchmark}"

    def parts(self) -> list[Table | str]:
        """Return the paper's tables, and notes."""
        return list(self.body)

    def records(self) -> list[Mapping[str, object]]:
        """Return a row for each figure of each model, as the judge found it and corrected."""
        return list(self.figures)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types, but for the answers."""
        return {**self.measured, "judge": dict(self.judge), "spend": dict(self.spend)}


@checked
def assess(
    models: ModelLike | Sequence[ModelLike],
    benchmark: str | os.PathLike[str],
    *,
    judge: JudgeLike | None = None,
    judge_model: ModelLike | None = None,
    samples: Count | None = None,
    threshold: Count | None = None,
    strictness: str | None = None,
    language: str | None = None,
    calibration: GoldLike | None = None,
    fact_judge: JudgeLike | None = None,
    limit: Count | None = None,
    per_cell: Count | None = None,
    unanswered: Unanswered = "apart",
    rejects: Rejects | None = None,
    concurrency: Count = 8,
    budget: Budget | None = None,
    seed: Seed = 0,
    store: str | os.PathLike[str] | Store | None = None,
    resume: bool = True,
    fresh: bool = False,
    surface: Surface | None = None,
) -> AssessedModels:
    """Let models answer a benchmark, and judge what they write: how often they hallucinate, as ``jurist assess``.

    Args:
        models: the models, each of which is asked all questions; see :data:`ModelLike`.
        benchmark: ``dialogues`` (the bundled prompts), rows of the judge ``cognibench``, or what
            :func:`jurist.generate` wrote with ``dialogue``, ``haluagent`` or ``faithqa``.
        judge: the judge that labels replies; default: the latest compiled ``cognibench``, ``qa-conflict`` or
            ``satisfaction``, as the benchmark demands, else its basic prompt.
        judge_model: the model that answers as the judge, where the judge is given by name; default: of a version its
            own, else ``offline``.
        samples, threshold: the judgements of a response, 1 or more (default: 5), and how many of them make a
            hallucination, 1 to ``samples`` (default: more than half).
        strictness, language: as for :func:`jurist.load`.
        calibration: gold on which the judge is measured, so that its errors are taken out of the shares; default: the
            paper's bundled set. Rows that the judge has seen are left out.
        fact_judge: the judge that checks the facts of hallucinated responses on a benchmark of ``faithqa``.
        limit: the number of questions to ask, the first ones of the benchmark; default: all.
        per_cell: of ``faithqa``: the most queries of each task, topic and difficulty, drawn by lot; default: all.
        unanswered: of ``haluagent``: replies without an answer are in no rate (``apart``), or count as hallucinated
            (``wrong``).
        rejects: takes the rows of a benchmark of ``haluagent`` that cannot be used; default: one such row is an error.
        concurrency: the number of questions in flight at once, 1 or more.
        budget: the hard limits on calls, tokens, US dollars and seconds, for all models together; default: none.
        seed: the seed of draws.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        resume, fresh: continue an interrupted assessment, so that nothing is paid twice, or ask anew; answers of
            finished ones are used again, too.
        surface: shows how the job goes, as the command line's does.

    Returns:
        The result of each model. Shares are from 0 to 1, with 95 % intervals over the groups of the benchmark;
        ``records()`` has a row for each of them, raw and without the judge's errors.

    Raises:
        GoldError: the benchmark or the calibration cannot be read.
        UsageError: the judge does not label such replies, or an argument does not apply to this benchmark.
        StoppedError: a limit; paid answers are kept.
        Interrupted: a signal; they are kept, too.
        ModelError: a model cannot be used at all.
    """
    opened = open_store(store)
    job_surface = surface or Surface(opened, Start(root=opened.checkpoints, resume=resume, fresh=fresh))
    options = {"samples": samples, "threshold": threshold, "strictness": strictness, "language": language}
    request = AssessmentRequest(
        benchmark=os.fspath(benchmark),
        models=tuple(map(make_model, as_items(models))),
        judge=judge,
        judge_model=make_model(judge_model),
        judge_options=options,
        concurrency=concurrency,
        budget=budget or Budget(),
        seed=seed,
        surface=job_surface,
        limit=limit,
        calibration=calibration,
        fact_judge=fact_judge,
        per_cell=per_cell,
        unanswered=unanswered,
        rejects=rejects,
    )
    assessment = plan_assessment(request)
    if surface is None:
        job_surface.note(*assessment.notes)
    results, spend = assess_models(assessment, job_surface)
    measured, answers, body = assessment.view(results)
    return AssessedModels(
        benchmark=request.benchmark,
        judge=assessment.judge.stamp(),
        results=tuple(results),
        answers=tuple(answers),
        spend=spend,
        measured=measured,
        body=tuple(body),
        figures=tuple(assessment.figures(results)),
    )
