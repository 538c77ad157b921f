"""A version on another model: the same prompt, fitted anew, and held against the answers that the old model gave.

The new model answers train and dev, on which the threshold, the weights and the rule of words are fitted anew. Where
that scores less on dev than the old model did, a second try asks in another form, with three samples, or with more
reasoning; train and dev choose. The sealed test is asked once, with what was chosen, and compared with the answers
that the version keeps of its own proof. So the old model need not be asked, and may be gone.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..arguments.groups import Effort
from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.model_names import same_model
from ..engines.models import Model
from ..errors import ArtifactError, BudgetExhausted, Count, UsageError, checked
from ..evaluation.contrasts import Contrast, contrast
from ..evaluation.model_moves import MoveVerdict, judge_move, share_differing, usual_move_margin
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import resolve
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import AgainstCard, JobCard, ModelCard, MoveCard, OptimizerCard, describe_model
from ..keeping.loaders import load_judge
from ..keeping.loading import default_temperature
from ..keeping.paying import PaidJob, Start
from ..keeping.sealing import PROOF, SEEN, WORDS
from ..optimizers.base import Job
from ..optimizers.board import Board, Candidate
from ..optimizers.candidate import Setting
from ..optimizers.objective import row_of
from ..optimizers.thresholds import add_fitted
from ..programs.state import PromptState
from ..report.shown import Shown
from ..report.table import Table
from ..report.views import VERSION_COLUMNS, version_parts, version_records
from ..text.templates import CHAT
from .conclusion import Contest, Evidence, content_of_settings, prove_candidate
from .derived_versions import INHERITED, RenewedPlan, history_line, renew_plan
from .estimate import Ask, CostEstimate
from .kept_calls import Asking
from .label_plan import move_tags
from .measuring import make_ask
from .surface import ModelLike, Surface, make_model, open_store

_SAMPLES = 3
"""The samples of a row in a second try."""
_EFFORT: Effort = "high"
"""The reasoning effort of a second try."""


@dataclass(frozen=True, kw_only=True)
class MovePlan(RenewedPlan):
    """The compilation of an artifact, planned again with another model."""

    asks_old_model: bool = False  # whether the old model is asked for its answers to the sealed test

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        return {
            "move": self.artifact.sha256,
            "model": describe_model(self.model),
            "asks_old_model": self.asks_old_model,
        }

    @cached_property
    def fitting_cases(self) -> tuple[Case, ...]:
        """The labelled cases of train and dev that the prompt does not show as demonstrations."""
        demonstrated = set(self.artifact.demonstrated_ids)
        cases: list[Case] = []
        for case in self.split.train + self.split.dev:
            if case.labels and case.id not in demonstrated:
                cases.append(case)
        return tuple(cases)

    @property
    def rows(self) -> int:
        """The number of rows asked about: those of the fit once, those of the test once with each prompt and model."""
        askings_of_test = 2  # with the version's prompt and with the basic one
        if self.asks_old_model:
            askings_of_test += 1
        return len(self.fitting_cases) + len(self.split.test) * askings_of_test

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        opening = self._foreseen.opening
        plan = (
            f"moving {self.artifact.ref} to {self.model.name}: fitted on {len(self.fitting_cases)} cases of train and "
            f"dev, decided on {len(opening.cases)} sealed cases, opening {opening.number} of this test "
            f"(level {opening.level:.3g})"
        )
        return (plan, *opening.limits(opening.cases, self.judge))

    def askings(self) -> Iterator[Asking]:
        """Yield the cases of the fit, and the sealed ones for each of both prompts."""
        yield Asking(
            role="judge",
            make_asker=lambda context: self.contest(context).candidate_asker,
            cases=self.fitting_cases,
        )
        for asking in super().askings():
            yield replace(asking, role="proving")

    def foresee(self) -> CostEstimate:
        """Return the estimate of the calls for the fit, the proof and the old model. Nothing is sent."""
        asker = self._foreseen.candidate_asker
        fitting = make_ask(
            "judge",
            asker,
            [self.model],
            self.fitting_cases,
            self._count_fitting_calls(asker.settings.sampling.samples),
            who="to fit",
        )
        asks: list[Ask] = [fitting]
        test = self.split.test
        sampling = asker.settings.sampling
        proof_calls = (2 * len(test) * sampling.fewest, 2 * len(test) * max(_SAMPLES, sampling.samples))
        asks.append(make_ask("proving", asker, [self.model], test, proof_calls, who="for the proof"))
        if self.asks_old_model:
            old_model = self.artifact.about.model.model()
            old_calls = (len(test), len(test) * sampling.samples)
            asks.append(make_ask("old", asker, [old_model], test, old_calls, who="of the old model"))
        return CostEstimate(
            what=f"{len(self.fitting_cases)} cases of train and dev and {len(test)} sealed cases",
            asks=tuple(asks),
            budget=self.budget,
        )

    def _count_fitting_calls(self, samples: int) -> tuple[int, int]:
        """Return how often the new model is asked about train and dev, at least and with a second try."""
        cases = len(self.fitting_cases)
        highest = samples * (1 + len(self.other_adapters))
        for other_plan in self.other_plans:
            highest += other_plan.settings.sampling.samples
        return cases * samples, cases * highest

    @property
    def first_adapter(self) -> str:
        """The adapter of the version's prompt."""
        return self.candidate.setting.form or self.settings.adapter_of(self.judge)

    @property
    def other_adapters(self) -> tuple[str, ...]:
        """The adapters of a second try; none for a model that reads no prompt."""
        if self.model.decides or not self.model.reads_instructions:
            return ()
        return tuple(adapter for adapter in (CHAT, "json") if adapter != self.first_adapter)

    @property
    def other_plans(self) -> tuple["MovePlan", ...]:
        """The plan with three samples, and that with more reasoning, where the model may then answer otherwise."""
        if self.model.decides or not self.model.reads_instructions:
            return ()
        plans: list[MovePlan] = []
        sampling = self.settings.sampling
        if sampling.samples == 1 and not self.model.temperature:
            model = default_temperature(replace(self.model, temperature=None), _SAMPLES)
            settings = replace(self.settings, sampling=replace(sampling, samples=_SAMPLES))
            plans.append(replace(self, model=model, settings=settings))
        if self.model.reasoning_effort is None and self.model.expected_reasoning:
            plans.append(replace(self, model=replace(self.model, reasoning_effort=_EFFORT)))
        return tuple(plans)


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """The version's prompt on the new model in one way of asking, with the rule that was fitted for it."""

    plan: MovePlan
    job: Job
    candidate: Candidate
    name: str  # of the way of asking, in words
    value: float  # of the metric on train and dev, each case under a rule that was fitted without it; higher is better
    dev_value: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Moved(Shown):
    """A version on another model.

    Attributes:
        artifact: the new version.
        parent: the version that was moved.
        verdict: whether it is better, as good, worse, or that is not known.
        against: the paired test on the sealed test, the new model against the old one.
        tried: the ways of asking that were tried on train and dev, with their scores there.
        way: the one that was chosen.
        latest: whether the new version was made the latest.
        tags: the tags that follow from the old version to the new one.
    """

    artifact: Artifact
    parent: Artifact
    verdict: MoveVerdict
    against: Contrast
    tried: tuple[tuple[str, float], ...]
    way: str
    latest: bool
    tags: tuple[str, ...]

    @property
    def words(self) -> str:
        """The verdict as one sentence, with the figures it rests on."""
        return self.artifact.about.moved.words if self.artifact.about.moved else ""

    def __repr__(self) -> str:
        """Name the artifact and the verdict."""
        return f"<Moved {self.parent.ref} -> {self.artifact.ref}: {self.verdict.words}>"

    def parts(self) -> list[Table | str]:
        """Return the verdict, and the scores, the decision and the cost of the new version."""
        return [self.words, *version_parts(self.artifact, " (latest)" if self.latest else "")]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each prompt and each metric of the new version, as measured on the sealed test."""
        return version_records(self.artifact)

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a score."""
        return VERSION_COLUMNS

    def to_json(self) -> dict[str, Any]:
        """Return the card of the new version as plain JSON types, with its folder and its tags."""
        return {
            "artifact": str(self.artifact.path),
            "latest": self.latest,
            "tags": list(self.tags),
            **self.artifact.card,
        }


@checked
def move(
    reference: str,
    model: ModelLike,
    *,
    gold: str | None = None,
    margin: float | None = None,
    ask_old: bool = False,
    budget: Budget | None = None,
    concurrency: Count = 8,
    force: bool = False,
    store: str | os.PathLike[str] | None = None,
    trust: bool = False,
    resume: bool = True,
    fresh: bool = False,
    surface: Surface | None = None,
) -> Moved:
    """Move a version to another model, and show on its sealed test whether it is as good there.

    The new model answers train and dev with the version's prompt, the rules are fitted anew, and what is best there is
    compared on the sealed test with the answers that the version keeps. The result is the next version. If it is as
    good or better, it becomes the latest, and the tags of the old version become its own.

    Args:
        reference: ``JUDGE@VERSION``.
        model: the new model.
        gold: the gold set that the version was compiled on, where it is no longer where the card says.
        margin: by how much it may be worse and count as good; default: 0.03, of errors 0.03 of their range.
        ask_old: ask the old model about the sealed test too, where the version keeps no answers to it.
        budget: hard limits for everything together.
        concurrency: cases in flight at once.
        force: make it the latest whatever is shown, and give it the tags.
        store, trust, resume, fresh: as for :func:`prove`.
        surface: shows how the job goes, as the command line's does.

    Raises:
        ArtifactError: the version cannot be moved, or keeps no answers. GoldError: its gold set has changed.
        ModelError: the model cannot be used at all. StoppedError: a limit. Interrupted: a signal.
    """
    if surface is None:
        artifacts = open_store(store, trust=trust)
        surface = Surface(artifacts, Start(root=artifacts.checkpoints, resume=resume, fresh=fresh))
    surface.store.check_writable()
    artifact = surface.store.load(reference)
    new_model = make_model(model)
    _check_can_move(artifact, new_model, ask_old=ask_old)
    plan = _plan_move(artifact, new_model, surface, budget or Budget(), gold, concurrency)
    if ask_old and not artifact.proof_records():
        plan = replace(plan, asks_old_model=True)
    with surface.asking(plan, "moving") as (work, tick):
        trials = _try_ways(plan, work, surface)
        best = max(trials, key=lambda trial: trial.value)
        contest = Contest(best.plan, best.job, best.candidate, artifact.about.test_openings, artifact)
        evidence = prove_candidate(contest, tick)
        old_rows = _old_rows(plan, surface.store, work, tick)
        contest.opening.record(f"move {artifact.ref} to {new_model.name}")
        return _conclude(contest, evidence, old_rows, work, surface, trials, best, margin=margin, force=force)


def _check_can_move(artifact: Artifact, model: Model, *, ask_old: bool) -> None:
    """Refuse a version that cannot be moved to a model.

    Raises:
        ArtifactError: its rule needs its own model, it asks no model or a panel, or it keeps no answers to its sealed
            test and ``ask_old`` is not set. UsageError: it is on that model already.
    """
    artifact.check_is_no_cascade()
    card = artifact.about
    if artifact.word_rule is not None and artifact.word_rule.asks_questions:
        hint = "compile the judge again for that model"
        raise ArtifactError(f"{artifact.ref} decides by questions that its own model answers", hint=hint)
    if card.setting.asks_model is False:
        hint = "run it as it is, with any --model or none"
        raise ArtifactError(f"{artifact.ref} asks no model: words decide alone", hint=hint)
    if card.setting.own_answer is not None and not model.writes_text:
        hint = "name a model that writes text, or compile the judge for this one"
        raise ArtifactError(
            f"the model of {artifact.ref} answers the task itself before it judges, and {model.name} writes no text",
            hint=hint,
        )
    if card.model.members or model.members:
        hint = "compile the judge again with other --panel models"
        raise ArtifactError(f"{artifact.ref} cannot be moved from or to a panel", hint=hint)
    asked_model = default_temperature(model, card.thresholds.samples, card.model.temperature)
    if describe_model(asked_model) == describe_model(card.model.model()):
        hint = "name another model, or the same one at another --api-base or --reasoning-effort"
        raise UsageError(f"{artifact.ref} was proven with {model.name} already", hint=hint)
    if not artifact.proof_records() and not ask_old:
        raise ArtifactError(
            f"{artifact.ref} keeps no answers of {card.model.name or 'its model'} to its sealed test",
            hint="while that model still answers, add --ask-old: jurist asks it about these rows too",
        )


def _plan_move(
    artifact: Artifact,
    model: Model,
    surface: Surface,
    budget: Budget,
    gold: str | None,
    concurrency: int,
) -> MovePlan:
    """Return the plan of a move: the compilation again, with the new model in place of the old one."""
    old_model = artifact.about.model.name

    def answering(card: ModelCard) -> Model:
        if not same_model(card.name, old_model):
            return card.model()  # a verifier of its own
        return default_temperature(model, artifact.about.thresholds.samples, card.temperature)

    renewed = renew_plan(artifact, surface.store, budget, gold, answering, concurrency)
    card = artifact.about
    task: tuple[str, ...] = ()
    if card.setting.own_answer_request is not None:
        task = card.setting.own_answer_request.task
    candidate = renewed.candidate
    settings = renewed.settings
    if model.decides:
        candidate = replace(candidate, state=_without_demonstrations(candidate.state))
        settings = replace(settings, sampling=replace(settings.sampling, samples=1))
    return MovePlan(
        artifact=artifact,
        candidate=candidate,
        judge=renewed.judge,
        gold=renewed.gold,
        holdout=renewed.holdout,
        model=renewed.model,
        seed=renewed.seed,
        shares=renewed.shares,
        earlier=renewed.earlier,
        settings=settings,
        words=card.job.words,
        own_answer=card.setting.own_answer_request is not None,
        task=task,
        budget=budget,
    )


def _without_demonstrations(state: PromptState) -> PromptState:
    """Return a prompt as a decision model takes it: with its instructions alone."""
    for name in state.predictors:
        state = state.with_demos(name, (), None)
    return state


def _try_ways(plan: MovePlan, work: PaidJob, surface: Surface) -> list[_Trial]:
    """Return the ways of asking that were tried on train and dev: the version's own, and others where it scores less.

    Calls for the proof are kept back. A budget that ends within the second try ends that try.
    """
    context = work.contexts["judge"]
    work.meter.may_fail = not plan.model.offline
    work.meter.keep_back(plan.proof_calls)
    shows_less = plan.candidate.state != plan.artifact.state
    first_way = "without its demonstrations" if shows_less else "as it was"
    trials = [_fit_rules(plan, context, plan.first_adapter, first_way)]
    old_value = _old_dev_value(plan.artifact)
    if old_value is None or trials[0].dev_value < old_value:
        try:
            for adapter in plan.other_adapters:
                trials.append(_fit_rules(plan, context, adapter, f"in the adapter {adapter}"))
            for other_plan in plan.other_plans:
                trials.append(
                    _fit_rules(other_plan, context, plan.first_adapter, _name_way(plan, other_plan))
                )
        except BudgetExhausted as exhausted:
            surface.note(f"the second try ended before all ways of asking were tried: {exhausted}")
    work.meter.keep_back(0)
    return trials


def _name_way(plan: MovePlan, other_plan: MovePlan) -> str:
    """Return the name of another plan's way of asking: in what it differs from the plan."""
    if other_plan.model.reasoning_effort != plan.model.reasoning_effort:
        return f"with reasoning effort {other_plan.model.reasoning_effort}"
    return f"with {other_plan.settings.sampling.samples} samples"


def _old_dev_value(artifact: Artifact) -> float | None:
    """Return the score of the version on dev with the old model; ``None`` where its history does not say."""
    for record in artifact.candidates:
        if record.candidate == artifact.about.optimizer.candidate:
            return record.dev.value
    return None


def _fit_rules(plan: MovePlan, context: CallContext, adapter: str, name: str) -> _Trial:
    """Ask about train and dev in one way; return the version's prompt with the rule that is best there, or none.

    Args:
        plan: the plan, with the model and the settings of this way.
        context: the context of the calls.
        adapter: the adapter of this way.
        name: the name of this way, in words.
    """
    job = plan.job(context)
    board = Board(job.judge, job.asker, job.context)
    cases = plan.fitting_cases
    own_answer = plan.artifact.about.setting.own_answer_request
    setting = Setting(form=adapter if adapter != job.basic_adapter else None, own_answer=own_answer)
    prompt = board.add(
        plan.candidate.state,
        parent=None,
        source=plan.artifact.ref,
        demo_ids=plan.artifact.demonstrated_ids,
        setting=setting,
    )
    board.score(prompt, cases)
    add_fitted(job, board, [prompt])
    rivals: list[Candidate] = [prompt]
    for candidate in board.candidates.values():
        has_fitted_rule = candidate.state.id == prompt.state.id and candidate.cross_fitted
        asks_alike = candidate.setting.asks_model and candidate.setting.form == prompt.setting.form
        if has_fitted_rule and asks_alike:
            board.score(candidate, cases)
            rivals.append(candidate)
    best = max(rivals, key=lambda candidate: board.value(candidate, cases))
    dev = [case for case in job.dev if case.labels]
    return _Trial(
        plan=plan,
        job=job,
        candidate=replace(best, source=f"{plan.artifact.ref} on {plan.model.name}"),
        name=name,
        value=board.value(best, cases),
        dev_value=board.value(best, dev),
    )


def _old_rows(plan: MovePlan, store: Store, work: PaidJob, tick: Callable[[], None]) -> list[JudgedRow]:
    """Return the answers of the old model to the sealed test: those that the version keeps, else asked now."""
    records = plan.artifact.proof_records()
    answer = plan.judge.answer
    if records:
        return read_proof_rows(answer, records, "compiled")
    judge = load_judge(plan.artifact.ref, store=store)
    judge = judge.with_model(plan.artifact.about.model.model()).paid_by(work.contexts["judge"])
    test = plan.split.test
    verdicts = judge.verdicts(test, on_verdict=lambda index, verdict: tick())
    return list(map(row_of, test, verdicts))


def _conclude(
    contest: Contest,
    evidence: Evidence,
    old_rows: Sequence[JudgedRow],
    work: PaidJob,
    surface: Surface,
    trials: Sequence[_Trial],
    best: _Trial,
    *,
    margin: float | None,
    force: bool,
) -> Moved:
    """Compare both models, keep the moved version, and let it take the old one's place if it is as good."""
    plan = best.plan
    judge = plan.split.judge
    parent = plan.artifact
    new_rows = read_proof_rows(judge.answer, evidence.records, "compiled")
    against = contrast(
        (f"{parent.judge} on {plan.model.name}", [new_rows]),
        (parent.ref, [list(old_rows)]),
        judge.metric,
        judge.comparison,
        seed=plan.seed,
        alpha=2.0 * contest.opening.level,
    )
    if margin is None:
        margin = usual_move_margin(resolve(judge.metric, judge.comparison))
    differing = share_differing(new_rows, old_rows, judge.comparison)
    verdict = judge_move(against, margin, len(new_rows), differing)
    is_latest = verdict.holds or force
    records: dict[str, Any] = {
        SEEN: sketched_rows(judge, list(plan.split.train) + list(plan.split.dev)),
        PROOF: [record.to_json() for record in evidence.records],
    }
    if best.candidate.setting.words is not None:
        records[WORDS] = best.candidate.setting.words.to_lines()
    history = list(parent.history)
    history.append(history_line(best.candidate.state, best.candidate.source, best.candidate.setting))
    artifact = surface.store.save(
        plan.judge,
        best.candidate.state,
        _content(contest, evidence, work, against, verdict, trials, best),
        history,
        records=records,
        make_latest=is_latest,
    )
    tags: tuple[str, ...] = ()
    if is_latest:
        tags = move_tags(surface.store, artifact)
    ways = tuple((trial.name, trial.value) for trial in trials)
    return Moved(
        artifact=artifact,
        parent=parent,
        verdict=verdict,
        against=against,
        tried=ways,
        way=best.name,
        latest=is_latest,
        tags=tags,
    )


def _content(
    contest: Contest,
    evidence: Evidence,
    work: PaidJob,
    against: Contrast,
    verdict: MoveVerdict,
    trials: Sequence[_Trial],
    best: _Trial,
) -> CardContent:
    """Return the content of the card of a moved version."""
    plan = best.plan
    card = plan.artifact.about
    values = f"{against.metric} {against.values[1]:.3f} -> {against.values[0]:.3f}"
    moved = MoveCard(
        parent=plan.artifact.ref,
        model=card.model.name,
        outcome=verdict.outcome,
        margin=verdict.margin,
        words=f"{verdict.words}: {values} ({against.difference:+.3f}, {against.interval_words})",
        way=best.name,
        tried={trial.name: trial.value for trial in trials},
        differing=verdict.differing,
        labels=verdict.labels,
        rows=verdict.rows,
    )
    optimizer = OptimizerCard.model_validate(
        {
            **card.optimizer.to_json(),
            "candidate": best.candidate.id,
            "chosen_from": plan.artifact.ref,
            "reason": f"moved from {card.model.name}",
        }
    )
    job = JobCard.model_validate(
        {
            **card.job.to_json(),
            "model": ModelCard.of(plan.model).to_json(),
            "adapter": best.job.basic_adapter,
            "samples": plan.settings.sampling.samples,
        }
    )
    origin = card.only(*INHERITED, "guidelines", "gold").joined(
        CardContent(parent=plan.artifact.version, optimizer=optimizer, job=job, moved=moved)
    )
    against_card = AgainstCard.model_validate(against.to_json())
    return origin.joined(
        content_of_settings(contest, work),
        evidence.content,
        CardContent(against=against_card),
        CardContent.model_validate(contest.opening.to_card()),
    )
