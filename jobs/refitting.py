"""Choosing and fitting again on all labelled rows, once the sealed test of a version has decided.

A compilation ships what was proven, and that was chosen and fitted on half of the labels. A refit fits the version's
parts again on all of them, and chooses once more among what costs no search. The new version has seen every row of the
test, so that nothing can be shown of it there.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import ArtifactError, Count, checked, plural
from ..evaluation.scale import resolve
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import (
    LABEL_WEIGHTS,
    REMEMBERED_ROWS,
    WORD_RULE,
    WORDS_AND_REPLIES,
    Artifact,
    list_fitted_parts,
)
from ..keeping.artifacts import Store
from ..keeping.card import CardContent
from ..keeping.card_parts import (
    ChoiceCard,
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
from ..optimizers.candidate import DEFAULT_SETTING, Setting
from ..optimizers.thresholds import add_fitted
from ..programs.asking import Asker
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from .estimate import Ask, CostEstimate
from .kept_calls import Asking
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

    same: bool = False  # whether its own parts are fitted again, and nothing else is chosen

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        return {"refit": self.artifact.sha256, **({"same": True} if self.same else {})}

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The labelled cases that the version has seen, and those of its sealed test."""
        seen_ids = set(self.artifact.about.gold.seen)
        cases: list[Case] = []
        for case in self.split.train + self.split.dev:
            if case.labels and case.id in seen_ids:
                cases.append(case)
        for case in self.split.test:
            if case.labels:
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

    @cached_property
    def prompts(self) -> list[tuple[PromptState, Setting]]:
        """The prompts that are asked about each row, with how: the basic one and the version's, or that one alone."""
        prompts: list[tuple[PromptState, Setting]] = []
        if not self.same:
            prompts.append((PromptState.of(self.judge.basic()), DEFAULT_SETTING))
        if self.request.asks_model and (self.state, self.request) not in prompts:
            prompts.append((self.state, self.request))
        return prompts

    def askers_of(self, job: Job) -> list[Asker]:
        """Return the askers of the prompts."""
        return [job.asker(state.apply(self.judge.basic()), setting) for state, setting in self.prompts]

    def askings(self) -> Iterator[Asking]:
        """Yield the labelled cases for each prompt."""
        for number in range(len(self.prompts)):
            yield Asking(role="judge", make_asker=partial(self._make_asker, number), cases=self.cases)

    def _make_asker(self, number: int, context: CallContext) -> Asker:
        """Return the asker of a prompt whose calls are made in a context."""
        return self.askers_of(self.job_of_all(context))[number]

    def job_of_all(self, context: CallContext) -> Job:
        """Return the job in which all labelled cases may be learned from, and no case is shown to its own group."""
        return replace(self.job(context), train=self.cases, dev=())

    @property
    def rows(self) -> int:
        """The number of rows that are asked about, counted once for each prompt."""
        return len(self.cases) * len(self.prompts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        rows = plural(len(self.cases), "labelled row")
        if self.same:
            return (f"asking {self.artifact.ref} about {rows} to fit its parts again",)
        asked = "the basic prompt"
        if len(self.prompts) > 1:
            asked = f"the basic prompt and {self.artifact.ref}"
        return (f"asking {asked} about {rows} to choose and fit again",)

    def foresee(self) -> CostEstimate:
        """Estimate it. Sends nothing."""
        asks: list[Ask] = []
        for asker in self.askers_of(self.job_of_all(CallContext.fresh())):
            samples = asker.settings.sampling.samples
            number = (len(self.cases) * samples, len(self.cases) * samples)
            asks.append(make_ask("judge", asker, [self.model], self.cases, number))
            asks += make_embedding_asks("judge", asker, len(self.cases), self.cases)
        return CostEstimate(
            what=plural(len(self.cases), "labelled row"), asks=tuple(asks), budget=self.budget
        )


@checked
def refit(
    reference: str,
    *,
    gold: GoldLike | None = None,
    use: bool = False,
    same: bool = False,
    budget: Budget | None = None,
    concurrency: Count = 8,
    store: str | os.PathLike[str] | Store | None = None,
    trust: bool = False,
    resume: bool = True,
    fresh: bool = False,
) -> Artifact:
    """Choose and fit again on all labelled rows, those of the sealed test of a version too, and keep the next version.

    The basic prompt and the version's prompt are asked about each row once. On what they reply, a threshold, weights of
    labels, and words alone or with the replies are fitted, and the rows that a prompt remembers are all rows. What is
    in use (the version if it was shown to be better, else the basic prompt) is kept unless another one is ahead by more
    than half a standard error, each row judged by a fit without its fold.

    The new version is not tested. It has seen all rows of the gold, so that ``evaluate``, ``compare``, ``gate`` and
    ``prove`` leave them out. A version that was fitted again before is returned as it was made then.

    Args:
        reference: ``JUDGE@VERSION``, of which a sealed test has decided.
        gold: the gold set that it was compiled on, see :data:`GoldLike`; default: as named on its card.
        use: let the judge's name mean the new version, untested as it is, where it means ``reference`` now.
        same: fit the version's own parts again, and choose nothing else; a model is asked only where replies count.
        budget: hard limits, where a model is asked about the rows.
        concurrency: cases in flight at once.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.
        trust: as for :func:`load`.
        resume, fresh: continue an interrupted refit, so that nothing is paid twice, or forget it.

    Raises:
        ArtifactError: the version cannot be fitted again, or its name does not mean it. GoldError: the gold is not
            that of the card. StoppedError: a limit. Interrupted: a signal.
    """
    artifacts = open_store(store, trust=trust)
    start = Start(root=artifacts.checkpoints, resume=resume, fresh=fresh)
    surface = Surface(artifacts, start)
    return refit_version(
        reference,
        surface,
        gold=gold,
        use=use,
        same=same,
        budget=budget or Budget(),
        concurrency=concurrency,
    )


def refit_version(
    reference: str,
    surface: Surface,
    *,
    budget: Budget,
    gold: GoldLike | None = None,
    use: bool = False,
    same: bool = False,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    concurrency: int = 8,
) -> Artifact:
    """Return the version that is chosen and fitted again from another one; see :func:`refit`."""
    store = surface.store
    store.check_writable()
    artifact = store.load(reference)
    _check_can_be_refitted(artifact, same)
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
    plan = replace(plan, same=same)
    _check_rows_are_in_gold(plan)
    version = None
    if not surface.start.fresh:
        version = _find_refit(store, artifact, same)
    if version is None:
        version = _make_version(plan, surface)
    if use and not is_unchanged(version, artifact):
        store.tag(version.ref, "latest")
        version = store.load(version.ref)
    return version


def is_unchanged(version: Artifact, parent: Artifact) -> bool:
    """Say whether a refit asks and decides as its parent does: the same was chosen, and nothing of it is fitted."""
    return version.state == parent.state and not version.fitted_parts and not parent.fitted_parts


def _check_can_be_refitted(artifact: Artifact, same: bool) -> None:
    """Refuse a version that cannot be fitted again.

    Raises:
        ArtifactError: it is a cascade or a refit itself, weighs answers to questions, nothing was decided of it, or its
            own parts are to be fitted again and it has none.
    """
    artifact.check_is_no_cascade()
    refit_card = artifact.about.refit
    if refit_card is not None:
        raise ArtifactError(
            f"{artifact.ref} is version {refit_card.parent} fitted again on all labelled rows already",
            hint=f"with more labels: jurist compile {artifact.judge}",
        )
    if artifact.word_rule is not None and artifact.word_rule.asks_questions:
        raise ArtifactError(
            f"{artifact.ref} weighs answers to questions, which the model has not given for rows of the test",
            hint=f"run it as it is: jurist run {artifact.ref}",
        )
    if same and not artifact.fitted_parts:
        raise ArtifactError(
            f"nothing of {artifact.ref} is fitted to labels: it has no rule of words, no threshold, no weights and "
            "no remembered rows",
            hint=f"choose again on all labels: jurist artifacts refit {artifact.ref}",
        )
    check_has_proof(artifact)


def _check_is_in_use(artifact: Artifact, store: Store) -> None:
    """Refuse to let a judge's name mean the refit of a version that the name does not mean."""
    current = store.current(artifact.judge, artifact.model or None)
    meant = "its basic prompt"
    if current is not None:
        refit_card = current.about.refit
        parent = refit_card.parent if refit_card else None
        if artifact.version in (current.version, parent):
            return
        meant = current.ref
    unproven = "" if artifact.was_shown_better else ", which was not shown to be better"
    raise ArtifactError(
        f"{artifact.judge} means {meant}, not {artifact.ref}{unproven}: its refit is not used by that name",
        hint=f"leave out --use, and name the refit by its number; or first jurist artifacts tag {artifact.ref} latest",
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


def _find_refit(store: Store, artifact: Artifact, same: bool) -> Artifact | None:
    """Return the intact version that is an artifact fitted again in the same way; ``None`` where there is none yet."""
    for version in store.list(artifact.judge):
        if version.problem:
            continue
        refit_card = version.about.refit
        if refit_card is None or refit_card.parent != artifact.version:
            continue
        if same == (refit_card.choice is None):
            return version
    return None


@dataclass(frozen=True, kw_only=True)
class _Refit:
    """The prompt and the setting that a refit has made, and the choice that led to them."""

    state: PromptState
    setting: Setting
    choice: ChoiceCard | None = None  # ``None`` where nothing was chosen


def _make_version(plan: _RefitPlan, surface: Surface) -> Artifact:
    """Fit on all cases, and keep the next version; a model is asked where replies count, or where there is a choice."""
    parts = list(plan.artifact.fitted_parts)
    if plan.same and parts in ([REMEMBERED_ROWS], [WORD_RULE]):
        setting = plan.candidate.setting
        if parts == [WORD_RULE]:
            setting = refit_words(plan, plan.cases)
        return _save(plan, surface.store, _Refit(state=plan.state, setting=setting), SpendCard())
    with surface.asking(plan, "fitting again") as (work, tick):
        refit_made = _fit_again(plan, plan.job_of_all(work.contexts["judge"]), tick)
        spend = SpendCard.model_validate(work.spend())
        return _save(plan, surface.store, refit_made, spend)


def _fit_again(plan: _RefitPlan, job: Job, tick: Callable[[], None]) -> _Refit:
    """Ask the prompts about all cases, and return what is fitted to the replies, chosen unless it is to be the same."""
    board = Board(job.judge, job.asker, job.context)
    prompts: list[Candidate] = []
    for (state, request), asker in zip(plan.prompts, plan.askers_of(job), strict=True):
        demo_ids: tuple[str, ...] = ()
        if state == plan.state:
            demo_ids = tuple(sorted(plan.artifact.demonstrated_ids))
        prompt = board.add(
            state, parent=board.basic, source=plan.artifact.ref, setting=request, demo_ids=demo_ids
        )
        prompts.append(prompt)

        def keep(index: int, verdict: Verdict, prompt: Candidate = prompt) -> None:
            board.record(prompt, plan.cases[index], verdict)
            tick()

        asker.ask_all(plan.cases, keep)
    add_fitted(job, board, prompts, by_words=False)
    if not plan.same or WORDS_AND_REPLIES in plan.artifact.fitted_parts:
        # scikit-learn takes a second to load, and commands that fit nothing do without it.
        from ..optimizers.words import add_word_candidates

        add_word_candidates(job, board, prompts, with_length=True)
    version = _find_version(plan, board, prompts[-1])
    if plan.same:
        return _Refit(state=version.state, setting=version.setting)
    in_use = board.basic
    over = "the basic prompt"
    if plan.artifact.about.decision.verdict == "better":
        in_use = version
        over = f"version {plan.artifact.version}"
    best = board.best_over(in_use, plan.cases)
    shown_ids = {*best.demo_ids, *in_use.demo_ids}
    cases = [case for case in plan.cases if case.id not in shown_ids]
    sign = 1.0 if resolve(job.judge.metric, job.judge.comparison).higher_is_better else -1.0
    choice = ChoiceCard(
        kept=best.id == in_use.id,
        decides=_who_decides(plan, best),
        over=over,
        value=round(sign * board.value(best, cases), 6),
        value_before=round(sign * board.value(in_use, cases), 6),
    )
    return _Refit(state=best.state, setting=best.setting, choice=choice)


def _who_decides(plan: _RefitPlan, candidate: Candidate) -> str:
    """Return who decides under a candidate, in words."""
    prompt = "the basic prompt"
    if candidate.state != PromptState.of(plan.judge.basic()):
        prompt = f"the prompt of version {plan.artifact.version}"
    kind = _kind_of(candidate.setting)
    if kind == "words":
        return "a regression on words"
    if kind == "length":
        return "the rule that the longer text is preferred"
    if kind == "stack":
        return f"{prompt} with a regression on words"
    if kind:
        return f"{prompt} with fitted {LABEL_WEIGHTS if kind == 'weights' else 'threshold'}"
    return prompt


def _kind_of(setting: Setting) -> str:
    """Return the name of the rule in a setting that is fitted to replies or words; empty without one."""
    if setting.words is not None:
        return setting.words.name
    if setting.weights is not None:
        return "weights"
    if setting.threshold is not None:
        return "threshold"
    return ""


def _find_version(plan: _RefitPlan, board: Board, prompt: Candidate) -> Candidate:
    """Return the candidate that is the version fitted again.

    Raises:
        ArtifactError: words decide with replies, and too few rows have a reply; or too few have labels for words.
    """
    kind = _kind_of(plan.candidate.setting)
    for candidate in board.candidates.values():
        is_of_prompt = candidate.parent == prompt.id or not candidate.setting.asks_model
        if is_of_prompt and candidate.cross_fitted and _kind_of(candidate.setting) == kind:
            return candidate
    if plan.candidate.setting.words is None:  # the best setting is the job's own
        return prompt
    raise ArtifactError(
        f"too few of {plural(len(plan.cases), 'labelled row')} have a reply to fit words and replies to",
        hint=f"jurist artifacts refit {plan.artifact.ref} --fresh, once the model answers",
    )


def _save(plan: _RefitPlan, store: Store, refit_made: _Refit, spend: SpendCard) -> Artifact:
    """Keep the next version: a prompt under the setting that was fitted on all cases."""
    artifact = plan.artifact
    state = refit_made.state
    setting = refit_made.setting
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
    content = _content_of_refit(plan, refit_made, sorted(seen_ids)).joined(CardContent(spend=spend))
    line = history_line(state, f"{artifact.ref} fitted again on all rows", setting)
    return store.save(plan.judge, state, content, [line], make_latest=False, records=records)


def _content_of_refit(plan: _RefitPlan, refit_made: _Refit, seen_ids: Sequence[str]) -> CardContent:
    """Return the content of the card of a version that is another one fitted again."""
    state = refit_made.state
    setting = refit_made.setting
    setting_card = SettingCard.model_validate(setting.to_json())
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
            parts=list(list_fitted_parts(state, setting_card, setting.words)),
            choice=refit_made.choice,
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
            candidate=setting.id_of(state.id),
            chosen_from=plan.artifact.ref,
        ),
        gold=GoldCard.model_validate({**card.gold.to_json(), "seen": list(seen_ids)}),
        guidelines=list(card.guidelines) if state == plan.state else [],
        setting=setting_card,
        thresholds=ThresholdCard.of(plan.job(CallContext.fresh()).sampling_under(setting)),
    )
    if setting.words is not None:
        words = WordsCard.model_validate(setting.words.summary)
        content = content.joined(CardContent(words=words))
    return card.only("job", *INHERITED, *ASKED).joined(content)
