"""Versions made of a version without a search: with more labelled rows that it remembers, or without some.

With more rows it is proven on the same sealed test. The new card says how often that test was opened,
and the level of its decision falls with that.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..cases import Case, case_id
from ..engines.channel import CallContext
from ..engines.models import Model
from ..errors import ArtifactError, GoldError, plural
from ..evaluation.votes import Sampling
from ..gold.copies import near_rows, sketched_rows, texts_of
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks, leaks_of
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import Card, ModelCard
from ..keeping.naming import judge_of
from ..keeping.sealing import SEEN
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting
from ..optimizers.fewshot import Nearest, remembering, with_cases
from ..optimizers.guidelines import rules_in, with_rules
from ..programs.state import Demo, PredictorPrompt, PromptState
from ..text.templates import CHAT
from ..text.wording import normalised
from .conclusion import Concluded, Contest, conclude
from .estimate import Estimate, ask_of, embedding
from .plan import Plan, check_showable
from .surface import Surface

_KEPT = ("judge_ref", "judge_sha256", "judge_code", "prompt_model", "verifier", "versions")
"""What the card of every version holds that the one it was made of does."""
_ASKED = ("model", "adapter", "structure", "setting", "thresholds")


class _Again(Plan):
    """The compilation of an artifact, planned again to prove its prompt with more rows."""

    artifact: Artifact
    candidate: Candidate

    def fingerprint(self) -> dict[str, Any]:
        return {"remember": self.artifact.sha256, "candidate": self.candidate.id}

    def contest(self, context: CallContext) -> Contest:
        """Return both prompts; the card's openings of the test count, where the ledger does not know them."""
        known = self.artifact.about.test_openings
        return Contest(self, self.job(context), self.candidate, known, self.artifact)

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
            number = len(test) * asker.sampling.fewest, len(test) * asker.sampling.samples
            asks.append(ask_of(role, asker, [self.model], test, number))
            asks += embedding(role, asker, len(test), test)
        return Estimate(what=f"{len(test)} sealed cases", asks=tuple(asks), budget=self.budget)


def remember(
    ref: str,
    labels: str,
    surface: Surface,
    *,
    force: bool = False,
    margin: float | None = None,
    **settings: Any,
) -> tuple[Concluded, int, int]:
    """Add labelled rows to those that a version remembers, as the next version, proven on the same sealed test."""
    # Rows of the test, of its groups, or near one of them, are left out. A row that is remembered takes its new label.
    # Returns the version, and how many rows it remembers and how many are left out.
    artifact = surface.store.load(ref)
    plan = _plan(artifact, surface.store, **settings)
    split, basic = plan.split, PromptState.of(plan.judge.basic())
    new = Gold.again(artifact.card["gold"], plan.judge, labels, labelled=False).cases
    cases = [case for case in new if case.known]
    near = near_rows(split.judge, cases, sketched_rows(split.judge, split.test))
    alone = {case.id: with_cases(split.judge, basic, [case]) for case in cases}
    leaks, groups = leaks_of(split, alone.values()), {case.group for case in split.test}
    fit = [
        case
        for case in cases
        if case.group not in groups and case.id not in near and alone[case.id].id not in leaks
    ]
    if not fit:
        hint = "name a file with labels of other rows"
        raise GoldError(f"{labels} has no labelled row that is not in the sealed test of {ref}", hint=hint)
    candidate = replace(plan.candidate, state=_reminded(plan, fit), source=f"{ref} and {len(fit)} more rows")
    plan = replace(plan, candidate=candidate)
    check_leaks(split, [candidate.state])
    if not force:
        hint = f"compile {plan.judge.name} again on more groups; --force goes on"
        check_showable(split, plan.gold, plan.level, hint)
    about, kept = artifact.about, artifact.card["gold"]
    card = _derived(artifact, candidate.id, artifact.card["optimizer"], ("job",))
    card["gold"] = {**kept, "seen": sorted({*about.gold.seen, *(case.id for case in fit)})}
    if rules := rules_in(candidate.state, [{"rules": about.guidelines}]):
        card["guidelines"] = rules
    with surface.asking(plan, "proving") as (work, tick):
        done = conclude(
            plan.contest(work.contexts["judge"]),
            work,
            surface.store,
            f"artifacts remember {ref}",
            card,
            (*artifact.history, _tried(candidate.state, candidate.source, candidate.setting)),
            seen=fit,
            force=force,
            margin=margin,
            tick=tick,
        )
    return done, len(fit), len(cases) - len(fit)


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


def _derived(
    artifact: Artifact, candidate: str, optimizer: Mapping[str, Any], also: Sequence[str]
) -> dict[str, Any]:
    """Return what a card says of the version that it was made of."""
    return {
        **{key: artifact.card[key] for key in (*_KEPT, *also) if key in artifact.card},
        "parent": artifact.version,
        "optimizer": {**optimizer, "candidate": candidate, "chosen_from": artifact.ref},
    }


def _tried(state: PromptState, source: str, setting: Setting) -> dict[str, Any]:
    """Return the line of the history that a prompt without a search has."""
    prompt = {"setting": setting.to_json(), "prompt": state.brief()}
    return {"candidate": setting.id_of(state.id), "source": source, "demo_ids": [], **prompt}


def _plan(
    artifact: Artifact,
    store: Store,
    *,
    gold: str | None = None,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    **settings: Any,
) -> _Again:
    """Return the plan of the compilation, made again: its test, and that test's labels, must be those of the card."""
    artifact.check_single()
    about = artifact.about
    judge = judge_of(artifact, store).as_compiled(artifact.card)
    artifact.check(judge)
    judge = judge.with_options(about.option_values)
    kept, job = artifact.card.get("gold"), about.job
    if not artifact.card.get("decision") or not kept:
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )
    source, separate = gold or str(about.gold.source or kept["name"]), about.gold.holdout
    hint = "name the gold set it was compiled on, as it was then, with --gold"
    setting = Setting(
        threshold=about.setting.threshold, weights=about.setting.weights, form=about.setting.form
    )
    own = Candidate(state=artifact.state, setting=setting, parent=None, source=artifact.ref, step=0, calls=0)
    try:
        read = Gold.load(gold, judge) if gold else Gold.again(kept, judge)
        holdout = None if separate is None else Gold.again(separate, read.settled)
        plan = _Again(
            artifact=artifact,
            candidate=own,
            judge=judge,
            gold=read,
            holdout=holdout,
            model=answering(job.model if job.model.name else about.model),
            verifier=answering(about.verifier) if about.verifier else None,
            seed=about.optimizer.seed or 0,
            shares=tuple(kept["shares"]),
            earlier=about.parts,
            sampling=Sampling(samples=job.samples or about.thresholds.samples, threshold=job.threshold),
            adapter=job.adapter or about.adapter or CHAT,
            **settings,
        )
        split = plan.split
    except GoldError as error:
        if gold is not None:
            raise
        raise GoldError(f"the gold set of {artifact.ref} cannot be read: {error}", hint=hint) from error
    if split.test_hash != kept["test_ids_sha256"]:
        raise GoldError(f"{source!r} does not give the sealed test of {artifact.ref}", hint=hint)
    if read.sha256 != kept["sha256"] or (holdout and separate and holdout.sha256 != separate["sha256"]):
        raise GoldError(
            f"{source!r} has other labels or rows than when {artifact.ref} was compiled on it", hint=hint
        )
    return plan


def forget(ref: str, rows: Sequence[str], store: Store) -> Artifact:
    """Keep a version without rows, named by their ids, as the next one. Nothing is proven of it yet."""
    artifact, ids = store.load(ref), set(rows)
    artifact.check_single()
    about, card = artifact.about, artifact.card
    if unknown := sorted(ids.difference(about.gold.seen)):
        hint = "name rows of train or dev by the id that jurist run gives them"
        raise ArtifactError(f"{artifact.ref} was not compiled on {', '.join(unknown)}", hint=hint)
    rules = [rule for rule in about.guidelines if not ids & set(rule["cases"])]
    gone, prompts = dict[str, Demo](), dict[str, PredictorPrompt]()
    for prompt in artifact.state.predictors.values():
        shown = dict(prompt.remembered.rows) if prompt.remembered else {}
        shown |= {_case_of(demo, about.inputs): demo for demo in prompt.demos}
        gone |= {id_: {**shown[id_], **gone.get(id_, {})} for id_ in ids & shown.keys()}
    for name, prompt in artifact.state.predictors.items():
        kept, text = prompt.remembered, prompt.instructions
        if any(rule["rule"] in text for rule in about.guidelines):
            text = with_rules(text, [rule["rule"] for rule in rules])
        demos = [demo for demo in prompt.demos if not _of_rows(demo, ids, gone.values(), about)]
        prompts[name] = replace(
            prompt, instructions=text, demos=tuple(demos), remembered=kept.without(ids) if kept else None
        )
    own = next((row for row in artifact.history if row["candidate"] == about.optimizer.candidate), {})
    held = normalised("\n".join(prompt.instructions for prompt in prompts.values()))
    texts = [text for demo in gone.values() for text in texts_of(demo)]
    search = {key: card["optimizer"].get(key) for key in ("name", "seed", "settings")}
    state = PromptState(prompts)
    new: dict[str, Any] = {
        **_derived(artifact, state.id, {**search, "reason": f"{plural(len(ids), 'row')} forgotten"}, _ASKED),
        "gold": {**card["gold"], "seen": [id_ for id_ in about.gold.seen if id_ not in ids]},
        "guidelines": rules,
    }
    history = _tried(state, "forget", Setting())
    if (
        (ids & set(own.get("demo_ids") or ())) - gone.keys()
        or any(text in held for text in texts)
        or any(id_ in json.dumps([new, history]) for id_ in ids)
    ):
        raise ArtifactError(
            f"{artifact.ref} holds a row in a form in which it cannot be taken out",
            hint="compile the judge again without the row",
        )
    seen = [row for row in artifact.seen() if row["case"] not in ids]
    return store.save(
        judge_of(artifact, store), state, new, [history], make_latest=False, records={SEEN: seen}
    )


def _case_of(demo: Demo, inputs: Sequence[str]) -> str:
    """Return the id of the case of a demonstration that shows all of its inputs."""
    return case_id({name: demo[name] for name in inputs if name in demo})


def _of_rows(demo: Demo, ids: Set[str], gone: Iterable[Demo], about: Card) -> bool:
    """Say whether a demonstration is of one of some rows: a later step may show fewer inputs, or lengthen them."""
    if (case := _case_of(demo, about.inputs)) in about.gold.seen:
        return case in ids
    inputs = [name for name in about.inputs if name in demo]
    return any(all(str(row.get(name, "")) in str(demo[name]) for name in inputs) for row in gone)
