"""Versions made of a version without a search: with more labelled rows that it remembers, or without some.

With more rows it is proven on the same sealed test. The new card says how often that test was opened,
and the level of its decision falls with that.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import ArtifactError, GoldError, plural
from ..gold.copies import find_near_cases, sketched_rows, texts_of
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks, find_leaks
from ..gold.splits import Split
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import Card, CardContent
from ..keeping.card_parts import GoldCard, Guideline, ModelCard, OptimizerCard, SettingCard, WordsCard
from ..keeping.naming import compiled_judge_of
from ..keeping.sealing import ANSWERS, SEEN, WORDS
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting
from ..optimizers.demonstrations import demonstrate_cases
from ..optimizers.guidelines import rules_in, with_rules
from ..programs.state import Demo, PredictorPrompt, PromptState
from ..text.wording import normalised
from .conclusion import Concluded, Contest, conclude
from .estimate import Ask, CostEstimate
from .kept_calls import Asking
from .measuring import make_ask, make_embedding_asks
from .plan import check_showable
from .renewing import (
    ASKED,
    Recompilation,
    case_id_of,
    check_has_proof,
    check_words_can_be_refitted,
    check_words_take_rows,
    plan_again,
    refit_questions,
    refit_words,
    remember_cases,
    select_fields,
)
from .renewing import INHERITED as INHERITED
from .renewing import history_line as history_line
from .surface import Surface


@dataclass(frozen=True, kw_only=True)
class RenewedPlan(Recompilation):
    """The compilation of an artifact, planned again to prove its prompt with more rows."""

    def fingerprint(self) -> dict[str, Any]:
        """Return the settings that identify this job when it is started again, as JSON values."""
        return {"remember": self.artifact.sha256, "candidate": self.candidate.id}

    def contest(self, context: CallContext) -> Contest:
        """Return both prompts; the card's openings of the test count, where the ledger does not know them."""
        openings = self.artifact.about.test_openings
        return Contest(self, self.job(context), self.candidate, openings, self.artifact)

    @cached_property
    def _foreseen(self) -> Contest:
        return self.contest(CallContext.fresh())

    @property
    def level(self) -> float:
        """The level of the opening of the sealed test that the proof would be."""
        return self._foreseen.opening.level

    @property
    def rows(self) -> int:
        """The number of rows that are asked about."""
        return 2 * len(self._foreseen.opening.cases)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""
        opening = self._foreseen.opening
        rows = f"{len(opening.cases)} sealed cases, opening {opening.number} of this test"
        plan = (f"proving {self.candidate.id} on {rows}",)
        return plan + opening.limits(opening.cases, self.judge)

    def askings(self) -> Iterator[Asking]:
        """Yield the sealed cases for each of both prompts."""
        cases = self._foreseen.opening.cases
        yield Asking(role="judge", make_asker=lambda context: self.contest(context).basic_asker, cases=cases)
        yield Asking(
            role="chosen", make_asker=lambda context: self.contest(context).candidate_asker, cases=cases
        )

    def foresee(self) -> CostEstimate:
        """Estimate it. Sends nothing."""
        contest = self._foreseen
        test = contest.opening.cases
        asks: list[Ask] = []
        for role, asker in (("judge", contest.basic_asker), ("chosen", contest.candidate_asker)):
            sampling = asker.settings.sampling
            number = (len(test) * sampling.fewest, len(test) * sampling.samples)
            asks.append(make_ask(role, asker, [self.model], test, number))
            asks += make_embedding_asks(role, asker, len(test), test)
        return CostEstimate(what=f"{len(test)} sealed cases", asks=tuple(asks), budget=self.budget)


def renew_plan(
    artifact: Artifact,
    store: Store,
    budget: Budget,
    gold: str | None,
    answering: Callable[[ModelCard], Model],
    concurrency: int,
) -> RenewedPlan:
    """Return the plan of the compilation of a proven version, made again to prove another prompt on its test."""
    artifact.check_is_no_cascade()
    check_has_proof(artifact)
    return plan_again(
        RenewedPlan,
        artifact,
        store,
        budget=budget,
        gold=gold,
        answering=answering,
        concurrency=concurrency,
    )


def remember(
    ref: str,
    labels: str,
    surface: Surface,
    *,
    budget: Budget,
    gold: str | None = None,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    concurrency: int = 8,
    force: bool = False,
    margin: float | None = None,
) -> tuple[Concluded, int, int]:
    """Add labelled rows to those that a version remembers, as the next version, proven on the same sealed test.

    Rows of the test, of its groups, or near one of them, are left out. A row that is remembered takes its new label.

    Returns:
        The version, how many rows were added, and how many are left out.
    """
    surface.store.check_writable()
    artifact = surface.store.load(ref)
    check_words_take_rows(artifact)
    plan = renew_plan(artifact, surface.store, budget, gold, answering, concurrency)
    split = plan.split
    new_gold = Gold.read_again(artifact.about.gold, plan.judge, labels, labelled=False)
    labelled_cases: list[Case] = []
    for case in new_gold.cases:
        if case.labels:
            labelled_cases.append(case)
    added_cases = _select_outside_test(split, labelled_cases)
    if not added_cases:
        hint = "name a file with labels of other rows"
        raise GoldError(f"{labels} has no labelled row that is not in the sealed test of {ref}", hint=hint)
    candidate = replace(plan.candidate, source=f"{ref} and {len(added_cases)} more rows")
    if artifact.word_rule is None:
        candidate = replace(candidate, state=remember_cases(plan, added_cases))
    else:
        fitted_cases = list(split.train) + list(split.dev) + added_cases
        candidate = replace(candidate, setting=refit_words(plan, fitted_cases))
    plan = replace(plan, candidate=candidate)
    history = list(artifact.history)
    history.append(history_line(candidate.state, candidate.source, candidate.setting))
    check_leaks(split, [candidate.state])
    if not force:
        hint = f"compile {plan.judge.name} again on more groups; --force goes on"
        check_showable(split, plan.gold, plan.level, hint)
    with surface.asking(plan, "proving") as (work, tick):
        concluded = conclude(
            plan.contest(work.contexts["judge"]),
            work,
            surface.store,
            f"artifacts remember {ref}",
            _remembering_content(artifact, candidate, added_cases),
            history,
            added_cases=added_cases,
            force=force,
            margin=margin,
            tick=tick,
        )
    return concluded, len(added_cases), len(labelled_cases) - len(added_cases)


def _select_outside_test(split: Split, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that are not in the sealed test, of none of its groups, and near none of its rows."""
    judge = split.judge
    basic = PromptState.of(judge.basic())
    near_ids = find_near_cases(judge, cases, sketched_rows(judge, split.test))
    prompts = [demonstrate_cases(judge, basic, [case]) for case in cases]
    leaks = find_leaks(split, prompts)
    test_groups = {case.group for case in split.test}
    outside: list[Case] = []
    for case, prompt in zip(cases, prompts, strict=True):
        is_near = case.id in near_ids or prompt.id in leaks
        if case.group not in test_groups and not is_near:
            outside.append(case)
    return outside


def _remembering_content(artifact: Artifact, candidate: Candidate, cases: Sequence[Case]) -> CardContent:
    """Return the content of the card of a version that remembers further cases."""
    card = artifact.about
    optimizer = OptimizerCard.model_validate(
        {**card.optimizer.to_json(), "candidate": candidate.id, "chosen_from": artifact.ref}
    )
    ids = set(card.gold.seen)
    ids.update(case.id for case in cases)
    content = CardContent(
        parent=artifact.version,
        optimizer=optimizer,
        gold=GoldCard.model_validate({**card.gold.to_json(), "seen": sorted(ids)}),
    )
    rules = rules_in(candidate.state, [{"rules": [rule.to_json() for rule in card.guidelines]}])
    if rules:
        content = content.joined(CardContent(guidelines=list(map(Guideline.model_validate, rules))))
    return card.only("job", *INHERITED).joined(content)


def forget(ref: str, rows: Sequence[str], store: Store) -> Artifact:
    """Keep a version without rows, named by their ids, as the next one. Nothing is proven of it yet.

    Where the same rows were forgotten of the same version before, as by a command that was killed after it had saved,
    this is the version of then.
    """
    store.check_writable()
    artifact = store.load(ref)
    ids = set(rows)
    artifact.check_is_no_cascade()
    check_words_can_be_refitted(artifact, "compile the judge again without the row")
    unknown_ids = sorted(ids.difference(artifact.about.gold.seen))
    if unknown_ids:
        hint = "name rows of train or dev by the id that jurist run gives them"
        raise ArtifactError(f"{artifact.ref} was not compiled on {', '.join(unknown_ids)}", hint=hint)
    rules: list[Guideline] = []
    for rule in artifact.about.guidelines:
        if ids.isdisjoint(rule.cases):
            rules.append(rule)
    forgotten = _demonstrations_of(artifact, ids)
    state = _prompt_without(artifact, ids, forgotten, rules)
    setting = _setting_without(artifact, store, ids)
    content = _forgetting_content(artifact, state, setting, ids, rules)
    line = history_line(state, "forget", setting)
    hidden_ids = set(artifact.demonstrated_ids) & ids - forgotten.keys()
    holds_text = _holds_text_of(state, forgotten.values())
    if hidden_ids or holds_text or _holds_an_id([content.to_json(), line], ids):
        raise ArtifactError(
            f"{artifact.ref} holds a row in a form in which it cannot be taken out",
            hint="compile the judge again without the row",
        )
    earlier = _same_version(store, artifact, content)
    if earlier is not None:
        return earlier
    remaining_rows: list[Mapping[str, Any]] = []
    for row in artifact.seen():
        if row["case"] not in ids:
            remaining_rows.append(row)
    judge = compiled_judge_of(artifact, store)
    records: dict[str, Iterable[Mapping[str, Any]]] = {SEEN: remaining_rows}
    if setting.words is not None:
        records[WORDS] = setting.words.to_lines()
        if setting.words.answers:
            records[ANSWERS] = setting.words.answer_lines()
    return store.save(judge, state, content, [line], make_latest=False, records=records)


def _setting_without(artifact: Artifact, store: Store, ids: Set[str]) -> Setting:
    """Return the setting of a version without rows: of words and questions, fitted again without them."""
    if artifact.word_rule is None:
        return Setting(own_answer=artifact.about.setting.own_answer_request)
    plan = plan_again(Recompilation, artifact, store, budget=Budget())
    split = plan.split
    remaining_ids = set(artifact.about.gold.seen) - ids
    cases: list[Case] = []
    for case in split.train + split.dev + split.test:  # a version that was fitted again has seen its test
        if case.id in remaining_ids:
            cases.append(case)
    if artifact.word_rule.asks_questions:
        return refit_questions(plan, artifact, cases)
    return refit_words(plan, cases)


def _same_version(store: Store, artifact: Artifact, content: CardContent) -> Artifact | None:
    """Return the intact version that was made of an artifact with the same prompt and the same seen rows."""
    for version in store.list(artifact.judge):
        if version.problem or version.about.parent != artifact.version:
            continue
        has_the_prompt = version.about.optimizer.candidate == content.optimizer.candidate
        if has_the_prompt and version.about.gold.seen == content.gold.seen:
            return version
    return None


def _demonstrations_of(artifact: Artifact, ids: Set[str]) -> dict[str, Demo]:
    """Return the demonstrations of rows, by the rows' ids; what several steps show of a row is one."""
    demonstrations: dict[str, Demo] = {}
    for prompt in artifact.state.predictors.values():
        demo_of_case: dict[str, Demo] = {}
        if prompt.remembered:
            demo_of_case.update(prompt.remembered.rows)
        for demo in prompt.demos:
            demo_of_case[case_id_of(demo, artifact.about.inputs)] = demo
        for id_ in ids & demo_of_case.keys():
            demonstrations[id_] = {**demo_of_case[id_], **demonstrations.get(id_, {})}
    return demonstrations


def _prompt_without(
    artifact: Artifact, ids: Set[str], forgotten: Mapping[str, Demo], rules: Sequence[Guideline]
) -> PromptState:
    """Return the version's prompt without the demonstrations of rows, and with these rules alone."""
    card = artifact.about
    prompts: dict[str, PredictorPrompt] = {}
    for name, prompt in artifact.state.predictors.items():
        instructions = prompt.instructions
        if any(rule.rule in instructions for rule in card.guidelines):
            instructions = with_rules(instructions, [rule.rule for rule in rules])
        demos: list[Demo] = []
        for demo in prompt.demos:
            if not _is_of_rows(demo, ids, forgotten.values(), card):
                demos.append(demo)
        remembered = prompt.remembered
        if remembered:
            remembered = remembered.without(ids)
        prompts[name] = replace(prompt, instructions=instructions, demos=tuple(demos), remembered=remembered)
    return PromptState(prompts)


def _forgetting_content(
    artifact: Artifact, state: PromptState, setting: Setting, ids: Set[str], rules: Sequence[Guideline]
) -> CardContent:
    """Return the content of the card of a version that forgets rows."""
    card = artifact.about
    optimizer = OptimizerCard(
        name=card.optimizer.name,
        seed=card.optimizer.seed,
        settings=card.optimizer.settings,
        reason=f"{plural(len(ids), 'row')} forgotten",
        candidate=setting.id_of(state.id),
        chosen_from=artifact.ref,
    )
    remaining_ids: list[str] = []
    for id_ in card.gold.seen:
        if id_ not in ids:
            remaining_ids.append(id_)
    content = CardContent(
        parent=artifact.version,
        optimizer=optimizer,
        gold=GoldCard.model_validate({**card.gold.to_json(), "seen": remaining_ids}),
        guidelines=list(rules),
    )
    content = card.only(*INHERITED, *ASKED).joined(content)
    if setting.words is None:
        return content
    return content.joined(
        CardContent(
            setting=SettingCard.model_validate(setting.to_json()),
            words=WordsCard.model_validate(setting.words.summary),
        )
    )


def _holds_text_of(state: PromptState, demonstrations: Iterable[Demo]) -> bool:
    """Say whether an instruction holds a text of a demonstration."""
    instructions = normalised("\n".join(prompt.instructions for prompt in state.predictors.values()))
    for demo in demonstrations:
        for text in texts_of(demo):
            if text in instructions:
                return True
    return False


def _holds_an_id(content: object, ids: Set[str]) -> bool:
    """Say whether JSON values hold the id of a row."""
    text = json.dumps(content)
    return any(id_ in text for id_ in ids)


def _is_of_rows(demo: Demo, ids: Set[str], forgotten: Iterable[Demo], card: Card) -> bool:
    """Say whether a demonstration is of one of some rows: a later step may show fewer inputs, or lengthen them."""
    id_ = case_id_of(demo, card.inputs)
    if id_ in card.gold.seen:
        return id_ in ids
    inputs = select_fields(demo, card.inputs)
    return any(_holds_inputs(inputs, row) for row in forgotten)


def _holds_inputs(inputs: Mapping[str, object], row: Demo) -> bool:
    """Say whether each of the inputs of a demonstration holds that of a row."""
    return all(str(row.get(name, "")) in str(text) for name, text in inputs.items())
