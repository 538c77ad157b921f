"""Versions made of a version without a search: of another candidate, or with more or fewer labelled rows.

A candidate is concluded on the same sealed test as the best one was. The new card says how often that test was opened,
and the level of its decision falls with that, so that choosing until something looks better proves nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from ..cases import Case, case_id
from ..engines.channel import CallContext
from ..engines.models import Model
from ..errors import ArtifactError, GoldError, plural
from ..evaluation.votes import Sampling
from ..gold.copies import check_leaks, leaks_of, near_rows, sketched_rows, texts_of
from ..gold.goldset import Gold
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import ModelCard
from ..keeping.naming import judge_of
from ..keeping.sealing import SEEN
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting, candidate_names
from ..optimizers.fewshot import NEAREST, remembering, with_cases
from ..optimizers.guidelines import rules_in, with_rules
from ..programs.cognibench import with_strictness
from ..programs.state import Demo, PredictorPrompt, PromptState
from ..text.wording import normalised
from .conclusion import Concluded, Contest, conclude
from .estimate import Estimate, ask_of
from .plan import Plan
from .surface import Surface

_KEPT = ("judge_ref", "judge_sha256", "judge_code", "prompt_model", "verifier", "versions")
"""What the card of every version holds that the one it was made of does."""
_SEARCHED = ("pareto", "matrix", "job")
_ASKED = ("model", "adapter", "structure", "setting", "thresholds")


class _Again(Plan):
    """The compilation of an artifact, planned again to conclude another candidate."""

    artifact: Artifact
    candidate: Candidate
    more: tuple[Case, ...] = ()  # labelled rows that the candidate remembers beyond those it was compiled on

    def fingerprint(self) -> dict[str, Any]:
        return {"choose": self.artifact.sha256, "candidate": self.candidate.id}

    def contest(self, context: CallContext) -> Contest:
        """Return both prompts; the card's openings of the test count, where the ledger does not know them."""
        about = self.artifact.about
        own = self.candidate.id == about.optimizer.candidate
        return Contest(self, self.job(context), self.candidate, about.test_openings - own)

    @cached_property
    def _foreseen(self) -> Contest:
        return self.contest(CallContext.fresh())

    @property
    def rows(self) -> int:
        return len(self._foreseen.look.cases) * (1 if self._foreseen.same else 2)

    @property
    def remarks(self) -> tuple[str, ...]:
        look = self._foreseen.look
        rows = f"{len(look.cases)} sealed cases, opening {look.opening} of this test"
        return f"proving {self.candidate.id} on {rows}", *look.limits(look.cases, self.judge.comparison)

    def foresee(self) -> Estimate:
        contest, test = self._foreseen, self._foreseen.look.cases
        askers = {"judge": contest.basic, **({} if contest.same else {"chosen": contest.chosen})}
        asks = []
        for role, asker in askers.items():
            number = len(test) * asker.sampling.fewest, len(test) * asker.sampling.samples
            asks.append(ask_of(role, asker, [self.model], test, number))
        return Estimate(what=f"{len(test)} sealed cases", asks=tuple(asks), budget=self.budget)


def choose(ref: str, candidate: str, surface: Surface, *, force: bool = False, **settings: Any) -> Concluded:
    """Make a candidate of an artifact's history, the next version, proven on the same sealed test."""
    artifact = surface.store.load(ref)
    plan = _plan(artifact, surface.store, partial(_candidate, artifact, candidate), **settings)
    return _concluded(plan, surface, "choose", force)


def remember(
    ref: str, labels: str, surface: Surface, *, force: bool = False, **settings: Any
) -> tuple[Concluded, int, int]:
    """Add labelled rows to those that a version remembers, as the next version, proven on the same sealed test.

    Rows of the test, of its groups, or near one of them, are left out. A row that is remembered takes its new label.
    Returns the version, and how many rows it remembers and how many are left out.
    """
    artifact = surface.store.load(ref)
    about = artifact.about
    setting = Setting(threshold=about.setting.threshold, weights=about.setting.weights)
    own = Candidate(state=artifact.state, setting=setting, parent=None, source=ref, step=0, calls=0)
    plan = _plan(artifact, surface.store, lambda gold: own, **settings)
    new = Gold.again(artifact.card["gold"], plan.judge, labels, labelled=False).cases
    cases = [case for case in new if case.known]
    split, basic = plan.split, PromptState.of(plan.judge.basic())
    near = near_rows(split.judge, cases, sketched_rows(split.judge, split.test))
    alone = {case.id: with_cases(split.judge, basic, [case]) for case in cases}
    leaks, groups = leaks_of(split, alone.values()), {case.group for case in split.test}
    fit = [
        case
        for case in cases
        if case.group not in groups and case.id not in near and alone[case.id].id not in leaks
    ]
    if not fit:
        raise GoldError(
            f"{labels} has no labelled row that is not in the sealed test of {ref}",
            hint="name a file with labels of other rows",
        )
    more = replace(own, state=_reminded(plan, fit), source=f"{ref} and {len(fit)} more rows")
    done = _concluded(replace(plan, candidate=more, more=tuple(fit)), surface, "remember", force)
    return done, len(fit), len(cases) - len(fit)


def _reminded(plan: "_Again", cases: Sequence[Case]) -> PromptState:
    """Return the version's prompt with these rows among those that it remembers."""
    old = plan.candidate.state
    new = remembering(plan.judge, cases, old, NEAREST.sizes[0], NEAREST.tokens)
    for name, prompt in old.predictors.items():
        added, kept = new.predictors[name].remembered, prompt.remembered
        if added and kept:
            added = replace(kept, rows={**kept.rows, **added.rows})
        new = new.with_demos(name, prompt.demos, added or kept)
    if new == old:
        raise ArtifactError(
            f"{plan.judge.name} has no step that can show labelled rows",
            hint=f"jurist compile {plan.judge.name} on all rows",
        )
    return new


def _concluded(plan: "_Again", surface: Surface, verb: str, force: bool) -> Concluded:
    """Prove the plan's candidate and keep it beside what the card of the compilation says."""
    artifact, candidate, new = plan.artifact, plan.candidate, plan.more
    check_leaks(plan.split, [candidate.state])
    card, history = _derived(artifact, candidate.id, artifact.card["optimizer"], _SEARCHED), artifact.history
    card["gold"] = artifact.card["gold"]
    if rules := rules_in(candidate.state, [{"rules": artifact.about.guidelines}]):
        card["guidelines"] = rules
    if new:
        card["gold"] = {
            **card["gold"],
            "seen": sorted({*artifact.about.gold.seen, *(case.id for case in new)}),
        }
        history += (_tried(candidate.state, candidate.source, candidate.setting),)
    with surface.asking(plan, "proving") as (work, tick):
        return conclude(
            plan.contest(work.contexts["judge"]),
            work,
            surface.store,
            f"artifacts {verb} {artifact.ref}",
            card,
            history,
            artifact.matrix() if "matrix" in card else None,
            seen=new,
            force=force,
            tick=tick,
        )


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


def _candidate(artifact: Artifact, named: str, gold: Gold) -> Candidate:
    """Return the candidate of a history that is called so, or whose id begins so."""
    names = candidate_names((str(row.get("candidate")), str(row.get("source"))) for row in artifact.history)
    rows = {str(row.get("candidate", "")): row for row in artifact.history}
    fitting = [id_ for id_ in rows if names.get(id_) == named] or [
        id_ for id_ in rows if named and id_.startswith(named)
    ]
    if len(fitting) != 1:
        some = [point["candidate"] for point in artifact.about.pareto] or [*rows][:8]
        raise ArtifactError(
            f"{artifact.ref} has {'no candidate' if not fitting else f'{len(fitting)} candidates'} {named!r}",
            hint=f"on its front of cost and score are {', '.join(some)}; jurist artifacts show {artifact.ref} "
            "--history has all",
        )
    row, cases = rows[fitting[0]], {case.id: case for case in gold.cases}
    prompts = row.get("prompt") or {}  # what came with the package keeps the basic and the chosen one alone
    for name, prompt in prompts.items():
        if kept := prompt.get("nearest"):  # the history has the ids of remembered rows
            kept["demos"] = [gold.judge.demos(cases[id_])[name] for id_ in kept["rows"] if id_ in cases]
    candidate = Candidate(
        state=PromptState.from_json(prompts),
        setting=Setting(**(row.get("setting") or {})),
        parent=None,
        source=str(row.get("source")),
        step=0,
        calls=0,
    )
    if candidate.id != row["candidate"]:
        raise ArtifactError(
            f"the history of {artifact.ref} does not hold the prompt of {row['candidate']} as it was scored",
            hint="it was left out, or something in it was taken out as a credential: choose another candidate",
        )
    return candidate


def _plan(
    artifact: Artifact,
    store: Store,
    candidate: Callable[[Gold], Candidate],
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
    if about.strictness:
        judge = with_strictness(judge, about.strictness)
    kept, job = artifact.card.get("gold"), about.job
    if not artifact.card.get("decision") or not kept:
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )
    source, own = gold or str(about.gold.source or kept["name"]), about.gold.holdout
    hint = "name the gold set it was compiled on, as it was then, with --gold"
    try:
        read = Gold.load(gold, judge) if gold else Gold.again(kept, judge)
        holdout = None if own is None else Gold.again(own, read.settled)
        plan = _Again(
            artifact=artifact,
            candidate=candidate(read),
            judge=judge,
            gold=read,
            holdout=holdout,
            model=answering(job.model if job.model.name else about.model),
            verifier=answering(about.verifier) if about.verifier else None,
            seed=about.optimizer.seed or 0,
            shares=tuple(kept["shares"]),
            earlier=about.parts,
            sampling=Sampling(samples=job.samples or about.thresholds.samples, threshold=job.threshold),
            adapter=job.adapter or about.adapter or "chat",
            **settings,
        )
        split = plan.split
    except GoldError as error:
        if gold is not None:
            raise
        raise GoldError(f"the gold set of {artifact.ref} cannot be read: {error}", hint=hint) from error
    if split.test_hash != kept["test_ids_sha256"]:
        raise GoldError(f"{source!r} does not give the sealed test of {artifact.ref}", hint=hint)
    if read.sha256 != kept["sha256"] or (holdout and own and holdout.sha256 != own["sha256"]):
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
        raise ArtifactError(
            f"{artifact.ref} was not compiled on {', '.join(unknown)}",
            hint="name rows of train or dev by their ids, as the gold of its card has them",
        )
    rules = [rule for rule in about.guidelines if not ids & set(rule["cases"])]
    gone, prompts = dict[str, Demo](), dict[str, PredictorPrompt]()
    for name, prompt in artifact.state.predictors.items():
        shown = {
            case_id({key: demo[key] for key in about.inputs if key in demo}): demo for demo in prompt.demos
        }
        kept, text = prompt.remembered, prompt.instructions
        if any(rule["rule"] in text for rule in about.guidelines):
            text = with_rules(text, [rule["rule"] for rule in rules])
        known = {**(kept.rows if kept else {}), **shown}
        gone |= {id_: demo for id_, demo in known.items() if id_ in ids}
        prompts[name] = replace(
            prompt,
            instructions=text,
            demos=tuple(demo for demo in prompt.demos if demo not in gone.values()),
            remembered=kept.without(ids) if kept else None,
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
