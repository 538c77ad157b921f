"""Versions made of a version without a search: with more labelled rows that it remembers, or without some.

With more rows it is proven on the same sealed test. The new card says how often that test was opened,
and the level of its decision falls with that.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case, case_id
from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import ArtifactError, GoldError, plural
from ..evaluation.votes import Sampling
from ..gold.copies import near_rows, sketched_rows, texts_of
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks, leaks_of
from ..gold.splits import Split
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import Card, CardContent
from ..keeping.card_parts import GoldCard, Guideline, ModelCard, OptimizerCard
from ..keeping.naming import judge_of
from ..keeping.sealing import SEEN
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting
from ..optimizers.fewshot import Nearest, remembering, with_cases
from ..optimizers.guidelines import rules_in, with_rules
from ..programs.settings import FOR_SEARCHES
from ..programs.state import Demo, PredictorPrompt, PromptState
from ..text.templates import CHAT
from ..text.wording import normalised
from .conclusion import Concluded, Contest, conclude
from .estimate import Estimate
from .measuring import make_ask, make_embedding_asks
from .plan import Plan, check_showable
from .surface import Surface

_INHERITED = ("judge_ref", "judge_sha256", "judge_code", "prompt_model", "verifier", "versions")
"""Names of a card that a version has from the one that it is made of."""
_ASKED = ("model", "adapter", "structure", "setting", "thresholds")
"""Names of a card that say how the judge is asked."""


@dataclass(frozen=True, kw_only=True)
class _Again(Plan):
    """The compilation of an artifact, planned again to prove its prompt with more rows."""

    artifact: Artifact
    candidate: Candidate

    def fingerprint(self) -> dict[str, Any]:
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
        return self._foreseen.look.level

    @property
    def rows(self) -> int:
        return 2 * len(self._foreseen.look.cases)

    @property
    def remarks(self) -> tuple[str, ...]:
        look = self._foreseen.look
        rows = f"{len(look.cases)} sealed cases, opening {look.opening} of this test"
        return f"proving {self.candidate.id} on {rows}", *look.limits(look.cases, self.judge.comparison)

    def foresee(self) -> Estimate:
        contest, test = self._foreseen, self._foreseen.look.cases
        asks = []
        for role, asker in (("judge", contest.basic), ("chosen", contest.chosen)):
            sampling = asker.settings.sampling
            number = len(test) * sampling.fewest, len(test) * sampling.samples
            asks.append(make_ask(role, asker, [self.model], test, number))
            asks += make_embedding_asks(role, asker, len(test), test)
        return Estimate(what=f"{len(test)} sealed cases", asks=tuple(asks), budget=self.budget)


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
    """Add labelled rows to those that a version remembers, as the next version, proven on the same sealed test."""
    # Rows of the test, of its groups, or near one of them, are left out. A row that is remembered takes its new label.
    # Returns the version, and how many rows it remembers and how many are left out.
    artifact = surface.store.load(ref)
    plan = _plan(artifact, surface.store, budget, gold, answering, concurrency)
    split = plan.split
    new_gold = Gold.again(artifact.about.gold, plan.judge, labels, labelled=False)
    labelled_cases = [case for case in new_gold.cases if case.known]
    fit = _outside_the_test(split, labelled_cases)
    if not fit:
        hint = "name a file with labels of other rows"
        raise GoldError(f"{labels} has no labelled row that is not in the sealed test of {ref}", hint=hint)
    candidate = replace(plan.candidate, state=_reminded(plan, fit), source=f"{ref} and {len(fit)} more rows")
    plan = replace(plan, candidate=candidate)
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
            _remembering_content(artifact, candidate, fit),
            (*artifact.history, _history_line(candidate.state, candidate.source, candidate.setting)),
            seen=fit,
            force=force,
            margin=margin,
            tick=tick,
        )
    return concluded, len(fit), len(labelled_cases) - len(fit)


def _outside_the_test(split: Split, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that are not in the sealed test, of none of its groups, and near none of its rows."""
    judge = split.judge
    basic = PromptState.of(judge.basic())
    near_ids = near_rows(judge, cases, sketched_rows(judge, split.test))
    prompts = {case.id: with_cases(judge, basic, [case]) for case in cases}
    leaks = leaks_of(split, prompts.values())
    test_groups = {case.group for case in split.test}
    outside = []
    for case in cases:
        leaked = case.id in near_ids or prompts[case.id].id in leaks
        if case.group not in test_groups and not leaked:
            outside.append(case)
    return outside


def _remembering_content(artifact: Artifact, candidate: Candidate, cases: Sequence[Case]) -> CardContent:
    """Return the content of the card of a version that remembers further cases."""
    about = artifact.about
    optimizer = OptimizerCard.model_validate(
        {**about.optimizer.to_json(), "candidate": candidate.id, "chosen_from": artifact.ref}
    )
    seen = sorted({*about.gold.seen, *(case.id for case in cases)})
    content = CardContent(
        parent=artifact.version,
        optimizer=optimizer,
        gold=GoldCard.model_validate({**about.gold.to_json(), "seen": seen}),
    )
    rules = rules_in(candidate.state, [{"rules": [rule.to_json() for rule in about.guidelines]}])
    if rules:
        content = content.joined(CardContent(guidelines=list(map(Guideline.model_validate, rules))))
    return about.only(*_INHERITED, "job").joined(content)


def _reminded(plan: _Again, cases: Sequence[Case]) -> PromptState:
    """Return the version's prompt with these rows among those that it remembers."""
    old, usual = plan.candidate.state, Nearest()
    new = remembering(plan.judge, cases, old, usual.sizes[0], usual.tokens)
    for name, prompt in old.predictors.items():
        added, kept = new.predictors[name].remembered, prompt.remembered
        rows: Mapping[str, Demo] = added.rows if added else {}
        demos = list(prompt.demos)
        for place, demo in enumerate(demos):
            row = rows.get(_case_of(demo, plan.judge.input_fields), demo)
            if not row.items() <= demo.items():  # people now say otherwise
                demos[place] = row
        if added and kept:
            added = replace(kept, rows={**kept.rows, **rows})
        new = new.with_demos(name, tuple(demos), added or kept)
    if new == old:
        hint = f"jurist compile {plan.judge.name} on all rows"
        raise ArtifactError(f"{plan.judge.name} has no step that can show labelled rows", hint=hint)
    return new


def _history_line(state: PromptState, source: str, setting: Setting) -> dict[str, Any]:
    """Return the line of the history of a prompt that no search has found."""
    return {
        "candidate": setting.id_of(state.id),
        "source": source,
        "demo_ids": [],
        "setting": setting.to_json(),
        "prompt": state.brief(),
    }


def _plan(
    artifact: Artifact,
    store: Store,
    budget: Budget,
    gold: str | None,
    answering: Callable[[ModelCard], Model],
    concurrency: int,
) -> _Again:
    """Return the plan of the compilation, made again: its test, and that test's labels, must be those of the card."""
    artifact.check_single()
    about = artifact.about
    judge = artifact.as_compiled(judge_of(artifact, store))
    artifact.check(judge)
    judge = judge.with_options(about.option_values)
    origin, job = about.gold, about.job
    if not about.decision.model_fields_set or not origin.place:
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )
    source = gold or origin.place
    hint = "name the gold set it was compiled on, as it was then, with --gold"
    setting = Setting(
        threshold=about.setting.threshold, weights=about.setting.weights, form=about.setting.form
    )
    candidate = Candidate(
        state=artifact.state, setting=setting, parent=None, source=artifact.ref, step=0, calls=0
    )
    try:
        compiled_gold = Gold.load(gold, judge) if gold else Gold.again(origin, judge)
        holdout = None if origin.holdout is None else Gold.again(origin.holdout, compiled_gold.settled)
        plan = _Again(
            artifact=artifact,
            candidate=candidate,
            judge=judge,
            gold=compiled_gold,
            holdout=holdout,
            model=answering(job.model if job.model.name else about.model),
            seed=about.optimizer.seed or 0,
            shares=origin.three_shares,
            earlier=about.parts,
            settings=replace(
                FOR_SEARCHES,
                sampling=Sampling(samples=job.samples or about.thresholds.samples, threshold=job.threshold),
                adapter=job.adapter or about.adapter or CHAT,
                verifier=answering(about.verifier) if about.verifier else None,
                concurrency=concurrency,
            ),
            budget=budget,
        )
        split = plan.split
    except GoldError as error:
        if gold is not None:
            raise
        raise GoldError(f"the gold set of {artifact.ref} cannot be read: {error}", hint=hint) from error
    if split.test_hash != origin.test_ids_sha256:
        raise GoldError(f"{source!r} does not give the sealed test of {artifact.ref}", hint=hint)
    is_same = compiled_gold.sha256 == origin.sha256
    if holdout and origin.holdout:
        is_same = is_same and holdout.sha256 == origin.holdout.sha256
    if not is_same:
        raise GoldError(
            f"{source!r} has other labels or rows than when {artifact.ref} was compiled on it", hint=hint
        )
    return plan


def forget(ref: str, rows: Sequence[str], store: Store) -> Artifact:
    """Keep a version without rows, named by their ids, as the next one. Nothing is proven of it yet.

    Where the same rows were forgotten of the same version before, as by a command that was killed after it had saved,
    this is the version of then.
    """
    artifact, ids = store.load(ref), set(rows)
    artifact.check_single()
    about = artifact.about
    unknown_ids = sorted(ids.difference(about.gold.seen))
    if unknown_ids:
        hint = "name rows of train or dev by the id that jurist run gives them"
        raise ArtifactError(f"{artifact.ref} was not compiled on {', '.join(unknown_ids)}", hint=hint)
    rules = [rule for rule in about.guidelines if ids.isdisjoint(rule.cases)]
    forgotten = _demonstrations_of(artifact, ids)
    state = _prompt_without(artifact, ids, forgotten, rules)
    content = _forgetting_content(artifact, state, ids, rules)
    line = _history_line(state, "forget", Setting())
    if (
        _demonstrated_ids(artifact) & ids - forgotten.keys()
        or _holds_text_of(state, forgotten.values())
        or _holds_an_id([content.to_json(), line], ids)
    ):
        raise ArtifactError(
            f"{artifact.ref} holds a row in a form in which it cannot be taken out",
            hint="compile the judge again without the row",
        )
    earlier = _same_version(store, artifact, content)
    if earlier is not None:
        return earlier
    seen = [row for row in artifact.seen() if row["case"] not in ids]
    return store.save(
        judge_of(artifact, store), state, content, [line], make_latest=False, records={SEEN: seen}
    )


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
        shown = dict(prompt.remembered.rows) if prompt.remembered else {}
        for demo in prompt.demos:
            shown[_case_of(demo, artifact.about.inputs)] = demo
        for id_ in ids & shown.keys():
            demonstrations[id_] = {**shown[id_], **demonstrations.get(id_, {})}
    return demonstrations


def _prompt_without(
    artifact: Artifact, ids: Set[str], forgotten: Mapping[str, Demo], rules: Sequence[Guideline]
) -> PromptState:
    """Return the version's prompt without the demonstrations of rows, and with these rules alone."""
    about = artifact.about
    prompts: dict[str, PredictorPrompt] = {}
    for name, prompt in artifact.state.predictors.items():
        instructions = prompt.instructions
        if any(rule.rule in instructions for rule in about.guidelines):
            instructions = with_rules(instructions, [rule.rule for rule in rules])
        prompts[name] = replace(
            prompt,
            instructions=instructions,
            demos=tuple(demo for demo in prompt.demos if not _of_rows(demo, ids, forgotten.values(), about)),
            remembered=prompt.remembered.without(ids) if prompt.remembered else None,
        )
    return PromptState(prompts)


def _forgetting_content(
    artifact: Artifact, state: PromptState, ids: Set[str], rules: Sequence[Guideline]
) -> CardContent:
    """Return the content of the card of a version that forgets rows."""
    about = artifact.about
    optimizer = OptimizerCard(
        name=about.optimizer.name,
        seed=about.optimizer.seed,
        settings=about.optimizer.settings,
        reason=f"{plural(len(ids), 'row')} forgotten",
        candidate=state.id,
        chosen_from=artifact.ref,
    )
    seen = [id_ for id_ in about.gold.seen if id_ not in ids]
    content = CardContent(
        parent=artifact.version,
        optimizer=optimizer,
        gold=GoldCard.model_validate({**about.gold.to_json(), "seen": seen}),
        guidelines=list(rules),
    )
    return about.only(*_INHERITED, *_ASKED).joined(content)


def _demonstrated_ids(artifact: Artifact) -> Set[str]:
    """Return the ids of the rows that the chosen candidate demonstrates."""
    for candidate in artifact.candidates:
        if candidate.candidate == artifact.about.optimizer.candidate:
            return set(candidate.demo_ids)
    return set()


def _holds_text_of(state: PromptState, demonstrations: Iterable[Demo]) -> bool:
    """Say whether an instruction holds a text of a demonstration."""
    instructions = normalised("\n".join(prompt.instructions for prompt in state.predictors.values()))
    return any(text in instructions for demo in demonstrations for text in texts_of(demo))


def _holds_an_id(content: object, ids: Set[str]) -> bool:
    """Say whether JSON values hold the id of a row."""
    written = json.dumps(content)
    return any(id_ in written for id_ in ids)


def _case_of(demo: Demo, inputs: Sequence[str]) -> str:
    """Return the id of the case of a demonstration that shows all of its inputs."""
    return case_id({name: demo[name] for name in inputs if name in demo})


def _of_rows(demo: Demo, ids: Set[str], forgotten: Iterable[Demo], about: Card) -> bool:
    """Say whether a demonstration is of one of some rows: a later step may show fewer inputs, or lengthen them."""
    id_ = _case_of(demo, about.inputs)
    if id_ in about.gold.seen:
        return id_ in ids
    inputs = [name for name in about.inputs if name in demo]
    return any(_is_shown(row, demo, inputs) for row in forgotten)


def _is_shown(row: Demo, demo: Demo, inputs: Sequence[str]) -> bool:
    """Say whether each of these inputs of a demonstration holds that of a row."""
    return all(str(row.get(name, "")) in str(demo[name]) for name in inputs)
