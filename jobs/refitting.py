"""Fitting the parts of a version again on all labelled rows, once its sealed test has decided.

A compilation ships what was proven, and that was fitted on half of the labels. A refit makes the next version by the
same recipe on all of them. It has seen every row of the test, so that nothing can be shown of it there.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import ArtifactError, checked, plural
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import (
    LABEL_WEIGHTS,
    REMEMBERED_ROWS,
    WORD_RULE,
    WORDS_AND_REPLIES,
    Artifact,
)
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    GoldCard,
    ModelCard,
    OptimizerCard,
    RefitCard,
    SettingCard,
    ThresholdCard,
    WordsCard,
)
from ..keeping.paying import Start
from ..keeping.sealing import SEEN, WORDS
from ..keeping.spend_card import SpendCard
from ..optimizers.base import Job
from ..optimizers.board import Board, Candidate
from ..optimizers.candidate import Setting
from ..optimizers.thresholds import fitted
from ..programs.asking import Asker
from ..programs.state import PromptState
from .estimate import CostEstimate
from .measuring import make_ask, make_embedding_asks
from .renewing import (
    ASKED,
    INHERITED,
    Recompilation,
    check_has_proof,
    history_line,
    plan_again,
    refit_words,
    remember_cases,
)
from .surface import GoldLike, Surface, open_store


@dataclass(frozen=True, kw_only=True)
class _RefitPlan(Recompilation):
    """The compilation of an artifact, planned again to fit its parts on all labelled rows."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        return {"refit": self.artifact.sha256}

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The labelled cases that the version has seen, and those of its sealed test."""
        seen_ids = set(self.artifact.about.gold.seen)
        cases: list[Case] = []
        for case in self.split.train + self.split.dev:
            if case.known and case.id in seen_ids:
                cases.append(case)
        for case in self.split.test:
            if case.known:
                cases.append(case)
        return tuple(cases)

    @cached_property
    def state(self) -> PromptState:
        """The version's prompt; one that remembers rows remembers all labelled ones."""
        earlier_state = self.candidate.state
        if REMEMBERED_ROWS not in self.artifact.fitted_parts:
            return earlier_state
        remembered_ids: set[str] = set()
        for prompt in earlier_state.predictors.values():
            if prompt.remembered is not None:
                remembered_ids.update(prompt.remembered.rows)
        # A row that is remembered keeps the label that it was given last.
        new_cases = [case for case in self.cases if case.id not in remembered_ids]
        state = remember_cases(self, new_cases)
        for name, prompt in earlier_state.predictors.items():
            if prompt.remembered is None:  # a step that shows no rows begins to show none
                state = state.with_demos(name, prompt.demos, None)
        return state

    @property
    def request(self) -> Setting:
        """The version's setting without what is fitted from replies."""
        return self.candidate.setting.of_request

    def asker_of(self, job: Job) -> Asker:
        """Return the asker of the prompt whose replies the parts are fitted to."""
        return job.asker(self.state.apply(self.judge.basic()), self.request)

    def job_of_all(self, context: CallContext) -> Job:
        """Return the job in which all labelled cases may be learned from, and no case is shown to its own group."""
        return replace(self.job(context), train=self.cases, dev=())

    @property
    def rows(self) -> int:
        """How many rows are asked about."""
        return len(self.cases)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        return (
            f"asking {self.artifact.ref} about {plural(self.rows, 'labelled row')} to fit its parts again",
        )

    def foresee(self) -> CostEstimate:
        """Estimate it. Sends nothing."""
        asker = self.asker_of(self.job_of_all(CallContext.fresh()))
        samples = asker.settings.sampling.samples
        number = (len(self.cases) * samples, len(self.cases) * samples)
        asks = [make_ask("judge", asker, [self.model], self.cases, number)]
        asks += make_embedding_asks("judge", asker, len(self.cases), self.cases)
        return CostEstimate(what=plural(self.rows, "labelled row"), asks=tuple(asks), budget=self.budget)


@checked
def refit(
    reference: str,
    *,
    gold: GoldLike | None = None,
    use: bool = False,
    budget: Budget | None = None,
    concurrency: int = 8,
    store: str | os.PathLike[str] | Store | None = None,
    trust: bool = False,
    resume: bool = True,
    fresh: bool = False,
) -> Artifact:
    """Fit the parts of a version again on all labelled rows, those of its sealed test too, and keep the next version.

    The parts are a rule of words, alone or with the replies, a threshold, weights of labels, and the rows that a prompt
    remembers. The new version is not tested. It has seen all rows of the gold, so that ``evaluate``, ``compare``,
    ``gate`` and ``prove`` leave them out. A version that was fitted again before is returned as it was made then.

    Args:
        reference: ``JUDGE@VERSION``, of which a sealed test has decided.
        gold: the gold set that it was compiled on, see :data:`GoldLike`; default: as named on its card.
        use: let the judge's name mean the new version, where it means ``reference`` now.
        budget: hard limits, where a model is asked about the rows.
        concurrency: cases in flight at once.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: as for :func:`load`.
        resume, fresh: continue an interrupted refit, so that nothing is paid twice, or forget it.

    Raises:
        ArtifactError: nothing of the version is fitted, or its name does not mean it. GoldError: the gold is not that
            of the card. StoppedError: a signal, or a limit.
    """
    artifacts = open_store(store, trust=trust)
    start = Start(root=artifacts.checkpoints, resume=resume, fresh=fresh)
    surface = Surface(artifacts, start)
    return refit_version(
        reference, surface, gold=gold, use=use, budget=budget or Budget(), concurrency=concurrency
    )


def refit_version(
    reference: str,
    surface: Surface,
    *,
    budget: Budget,
    gold: GoldLike | None = None,
    use: bool = False,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    concurrency: int = 8,
) -> Artifact:
    """Return the version that is another one with its parts fitted again; see :func:`refit`."""
    store = surface.store
    store.check_writable()
    artifact = store.load(reference)
    parts = _check_can_be_refitted(artifact)
    if use:
        _check_is_in_use(artifact, store)
    plan = plan_again(
        _RefitPlan,
        artifact,
        store,
        budget=budget,
        gold=gold,
        answering=answering,
        concurrency=concurrency,
    )
    _check_rows_are_in_gold(plan)
    version = None
    if not surface.start.fresh:
        version = _find_refit(store, artifact)
    if version is None:
        version = _make_version(plan, surface, parts)
    if use:
        store.tag(version.ref, "latest")
        version = store.load(version.ref)
    return version


def _check_can_be_refitted(artifact: Artifact) -> list[str]:
    """Return the fitted parts of a version.

    Raises:
        ArtifactError: it has none, is a cascade or a refit itself, or nothing was decided of it.
    """
    artifact.check_is_no_cascade()
    refit_card = artifact.about.refit
    if refit_card is not None:
        raise ArtifactError(
            f"{artifact.ref} is version {refit_card.parent} fitted again on all labelled rows already",
            hint=f"with more labels: jurist compile {artifact.judge}",
        )
    parts = list(artifact.fitted_parts)
    if artifact.word_rule is not None and artifact.word_rule.asks_questions:
        raise ArtifactError(
            f"{artifact.ref} weighs answers to questions, which the model has not given for rows of the test",
            hint=f"run it as it is: jurist run {artifact.ref}",
        )
    if not parts:
        raise ArtifactError(
            f"nothing of {artifact.ref} is fitted to labels: it has no rule of words, no threshold, no weights and "
            "no remembered rows",
            hint=f"run it as it is: jurist run {artifact.ref}",
        )
    check_has_proof(artifact)
    return parts


def _check_is_in_use(artifact: Artifact, store: Store) -> None:
    """Refuse to let a judge's name mean the refit of a version that the name does not mean."""
    promoted = {version.version for version in store.promoted(artifact.judge)}
    if artifact.version not in promoted:
        raise ArtifactError(
            f"{artifact.judge} does not mean {artifact.ref}, which was not shown to be better: its refit is not used "
            "by that name",
            hint=f"leave out --use, and name the refit by its number; or prove {artifact.ref} first",
        )


def _check_rows_are_in_gold(plan: _RefitPlan) -> None:
    """Refuse a version whose words were fitted to rows of other files too, which are not kept with it."""
    if plan.artifact.word_rule is None:
        return
    gold_ids = {case.id for case in plan.split.train + plan.split.dev}
    other_ids = set(plan.artifact.about.gold.seen) - gold_ids
    if other_ids:
        raise ArtifactError(
            f"words of {plan.artifact.ref} were fitted to {plural(len(other_ids), 'row')} that its gold set does not "
            "have",
            hint=f"jurist compile {plan.judge.name} on all rows",
        )


def _find_refit(store: Store, artifact: Artifact) -> Artifact | None:
    """Return the intact version that is an artifact fitted again; ``None`` where there is none yet."""
    for version in store.list(artifact.judge):
        if version.problem:
            continue
        refit_card = version.about.refit
        if refit_card is not None and refit_card.parent == artifact.version:
            return version
    return None


def _make_version(plan: _RefitPlan, surface: Surface, parts: Sequence[str]) -> Artifact:
    """Fit the parts of a version on all cases, and keep the next version; a model is asked where replies decide."""
    if parts in ([REMEMBERED_ROWS], [WORD_RULE]):
        setting = plan.candidate.setting
        if parts == [WORD_RULE]:
            setting = refit_words(plan, plan.cases)
        return _save(plan, surface.store, parts, setting, SpendCard())
    with surface.asking(plan, "fitting again") as (work, tick):
        job = plan.job_of_all(work.contexts["judge"])
        setting = _fit_to_replies(plan, job, parts, tick)
        spend = SpendCard.model_validate(work.spend())
        return _save(plan, surface.store, parts, setting, spend)


def _fit_to_replies(plan: _RefitPlan, job: Job, parts: Sequence[str], tick: Callable[[], None]) -> Setting:
    """Ask the prompt about all cases, and return the setting that is fitted to its replies."""
    board = Board(job.judge, job.asker, job.context)
    prompt = board.add(
        plan.state,
        parent=None,
        source=plan.artifact.ref,
        setting=plan.request,
        demo_ids=tuple(sorted(plan.artifact.demonstrated_ids)),
    )

    def keep(index: int, verdict: Any) -> None:
        board.record(prompt, plan.cases[index], verdict)
        tick()

    plan.asker_of(job).ask_all(plan.cases, keep)
    if WORDS_AND_REPLIES in parts:
        return _fit_stack(plan, job, board, prompt)
    name = "weights" if LABEL_WEIGHTS in parts else "threshold"
    crossed = fitted(job, board, prompt).get(name)
    if crossed is None:  # the best setting is the job's own
        return plan.request
    return crossed[0]


def _fit_stack(plan: _RefitPlan, job: Job, board: Board, prompt: Candidate) -> Setting:
    """Return the setting in which words and the replies of a prompt decide together."""
    # scikit-learn takes a second to load, and commands that fit nothing do without it.
    from ..optimizers.words import ReplyFits, WordFits

    fits = WordFits(job)
    cases: list[Case] = []
    for case in fits.cases:
        if case.id not in prompt.demo_ids:
            cases.append(case)
    verdicts = dict(zip([case.id for case in cases], board.verdicts(prompt, cases), strict=True))
    setting = None
    if fits.can_fit:
        setting = ReplyFits(fits, verdicts).setting(prompt.setting.of_request)
    if setting is None:
        raise ArtifactError(
            f"too few of {plural(len(cases), 'labelled row')} have a reply to fit words and replies to",
            hint=f"jurist artifacts refit {plan.artifact.ref} --fresh, once the model answers",
        )
    return setting


def _save(
    plan: _RefitPlan, store: Store, parts: Sequence[str], setting: Setting, spend: SpendCard
) -> Artifact:
    """Keep the next version: a prompt under the setting that was fitted on all cases."""
    artifact = plan.artifact
    seen_ids = set(artifact.about.gold.seen)
    new_cases: list[Case] = []
    for case in plan.split.test:
        if case.id not in seen_ids:
            new_cases.append(case)
    seen_rows: list[Mapping[str, Any]] = list(artifact.seen())
    seen_rows += sketched_rows(plan.judge, new_cases)
    records: dict[str, Iterable[Mapping[str, Any]]] = {SEEN: seen_rows}
    if setting.words is not None:
        records[WORDS] = setting.words.to_lines()
    seen_ids.update(case.id for case in new_cases)
    content = _content_of_refit(plan, parts, setting, sorted(seen_ids)).joined(CardContent(spend=spend))
    line = history_line(plan.state, f"{artifact.ref} fitted again on all rows", setting)
    return store.save(plan.judge, plan.state, content, [line], make_latest=False, records=records)


def _content_of_refit(
    plan: _RefitPlan, parts: Sequence[str], setting: Setting, seen_ids: Sequence[str]
) -> CardContent:
    """Return the content of the card of a version that is another one fitted again."""
    card = plan.artifact.about
    decision = card.decision
    test_ids = {case.id for case in plan.split.test}
    earlier_rows = 0
    for case in plan.cases:
        if case.id not in test_ids:
            earlier_rows += 1
    content = CardContent(
        parent=plan.artifact.version,
        refit=RefitCard(
            parent=plan.artifact.version,
            rows=len(plan.cases),
            earlier_rows=earlier_rows,
            parts=list(parts),
            metric=decision.metric or "",
            verdict=decision.verdict or "",
            difference=decision.difference,
            low=decision.low,
            high=decision.high,
        ),
        optimizer=OptimizerCard(
            name=card.optimizer.name,
            seed=card.optimizer.seed,
            settings=card.optimizer.settings,
            reason=f"fitted again on all {plural(len(plan.cases), 'labelled row')}",
            candidate=setting.id_of(plan.state.id),
            chosen_from=plan.artifact.ref,
        ),
        gold=GoldCard.model_validate({**card.gold.to_json(), "seen": list(seen_ids)}),
        guidelines=list(card.guidelines),
        setting=SettingCard.model_validate(setting.to_json()),
        thresholds=ThresholdCard.of(plan.job(CallContext.fresh()).sampling_under(setting)),
    )
    if setting.words is not None:
        words = WordsCard.model_validate(setting.words.summary)
        content = content.joined(CardContent(words=words))
    return card.only("job", *INHERITED, *ASKED).joined(content)
