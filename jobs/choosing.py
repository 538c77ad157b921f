"""New versions without a search: another candidate of a compilation, or a version that remembers more labelled rows.

The compilation is planned again from its card, and the candidate is concluded as the best one was, as a new version.
That test has been opened before: the new card says how often, and the level of its decision falls with that, so that
choosing until something looks better proves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.models import Model
from ..errors import ArtifactError, GoldError
from ..evaluation.votes import Sampling
from ..gold.copies import near_rows, sketched_rows
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks, leaks_of
from ..gold.mapping import RowMapping
from ..gold.splits import Split
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import ModelCard
from ..keeping.naming import judge_of
from ..optimizers.board import Candidate
from ..optimizers.candidate import Setting, candidate_names
from ..optimizers.fewshot import NEAREST, remembering, with_cases
from ..programs.cognibench import with_strictness
from ..programs.judge import Judge
from ..programs.state import PromptState
from .conclusion import Concluded, Contest, conclude
from .estimate import Estimate, ask_of
from .given import Surface
from .plan import Plan

_KEPT = (
    *("judge_ref", "judge_sha256", "judge_code", "optimizer", "prompt_model", "gold"),
    *("pareto", "matrix", "job", "versions"),
)


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
        """How many rows are asked about."""
        return len(self._foreseen.look.cases) * (1 if self._foreseen.same else 2)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What opening the sealed test shows at best, in words."""
        look = self._foreseen.look
        rows = f"{len(look.cases)} sealed cases, opening {look.opening} of this test"
        return f"proving {self.candidate.id} on {rows}", *look.limits(look.cases, self.judge.comparison)

    def foresee(self) -> Estimate:
        """Estimate what the proof takes."""
        contest, test = self._foreseen, self._foreseen.look.cases
        asked = [("judge", contest.basic, self.model)]
        asked += [("chosen", contest.chosen, contest.model)] * (not contest.same)
        asks = []
        for role, asker, model in asked:
            number = len(test) * asker.sampling.fewest, len(test) * asker.sampling.samples
            asks.append(ask_of(role, asker, [model], test, number))
        return Estimate(what=f"{len(test)} sealed cases", asks=tuple(asks), budget=self.budget)


def choose(
    ref: str,
    candidate: str,
    surface: Surface,
    *,
    gold: str | None = None,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    force: bool = False,
    **settings: Any,
) -> Concluded:
    """Make a candidate of an artifact's history the next version, proven on the same sealed test.

    It is named as in the history, or by an unambiguous beginning of its id. The gold is where the card says;
    ``settings`` are those of the plan that are not on the card.
    """
    artifact = surface.store.load(ref)
    plan = _plan(
        artifact,
        surface.store,
        lambda gold: _candidate(artifact, candidate, gold),
        gold,
        answering,
        **settings,
    )
    check_leaks(plan.split, [plan.candidate.state])
    return _concluded(plan, surface, "choose", force)


@dataclass(frozen=True, kw_only=True)
class Reminded:
    """The new version with its proof, and how many of the labelled rows it remembers."""

    concluded: Concluded
    rows: int
    apart: int  # rows that are in the sealed test, or near one of its rows


def remember(
    ref: str,
    labels: str,
    surface: Surface,
    *,
    gold: str | None = None,
    answering: Callable[[ModelCard], Model] = ModelCard.model,
    force: bool = False,
    **settings: Any,
) -> Reminded:
    """Add labelled rows to those that a version remembers, as the next version, proven on the same sealed test.

    Rows of the test, of its groups, or near one of them, are left out. A row that is remembered takes its new label.
    """
    artifact = surface.store.load(ref)
    plan = _plan(artifact, surface.store, lambda gold: _own(artifact), gold, answering, **settings)
    mapping = RowMapping(**artifact.card["gold"].get("mapping", {}))
    cases = [one for one in Gold.load(labels, plan.judge, labelled=False, mapping=mapping).cases if one.known]
    fit = _apart_from_test(plan.split, cases)
    if not fit:
        raise GoldError(
            f"{labels} has no labelled row that is not in the sealed test of {ref}",
            hint="name a file with labels of other rows",
        )
    state = _reminded(plan, fit)
    plan = replace(
        plan,
        candidate=replace(plan.candidate, state=state, source=f"{ref} and {len(fit)} more rows"),
        more=tuple(fit),
    )
    check_leaks(plan.split, [state])
    done = _concluded(plan, surface, "remember", force)
    return Reminded(concluded=done, rows=len(fit), apart=len(cases) - len(fit))


def _apart_from_test(split: Split, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that show nothing of the test."""
    groups, near = (
        {case.group for case in split.test},
        near_rows(split.judge, cases, sketched_rows(split.judge, split.test)),
    )
    basic = PromptState.of(split.judge.basic())
    alone = {case.id: with_cases(split.judge, basic, [case]) for case in cases}
    leaks = leaks_of(split, alone.values())
    return [
        case
        for case in cases
        if case.group not in groups and case.id not in near and alone[case.id].id not in leaks
    ]


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
    card, ids = artifact.card, {case.id for case in plan.more}
    with surface.asking(plan, "proving") as (work, tick):
        kept = {key: card[key] for key in _KEPT if key in card}
        history = artifact.history
        if new:
            kept["gold"] = {**card["gold"], "seen": sorted({*card["gold"]["seen"], *ids})}
            prompt = {"setting": candidate.setting.to_json(), "prompt": candidate.state.brief()}
            history += ({"candidate": candidate.id, "source": candidate.source, "demo_ids": [], **prompt},)
        optimizer = {**card["optimizer"], "candidate": candidate.id, "chosen_from": artifact.ref}
        return conclude(
            plan.contest(work.contexts["judge"]),
            work,
            surface.store,
            f"artifacts {verb} {artifact.ref}",
            {**kept, "parent": artifact.version, "optimizer": optimizer},
            history,
            artifact.matrix() if "matrix" in card else None,
            seen=new,
            force=force,
            tick=tick,
        )


def _judge(artifact: Artifact, store: Store) -> Judge:
    """Return the judge, compiled for the metric that the artifact was compiled for."""
    judge = judge_of(artifact, store).as_compiled(artifact.card)
    artifact.check(judge)
    if artifact.about.strictness:
        judge = with_strictness(judge, artifact.about.strictness)
    if not artifact.card.get("decision") or not artifact.card.get("gold"):
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )
    return judge


def _candidate(artifact: Artifact, named: str, gold: Gold) -> Candidate:
    names = candidate_names((str(row.get("candidate")), str(row.get("source"))) for row in artifact.history)
    ids = [str(row.get("candidate", "")) for row in artifact.history]
    fitting = [id_ for id_ in ids if names.get(id_) == named] or [
        id_ for id_ in ids if id_.startswith(named) and named
    ]
    if len(fitting) != 1:
        some = [point["candidate"] for point in artifact.about.pareto] or ids[:8]
        raise ArtifactError(
            f"{artifact.ref} has {'no candidate' if not fitting else f'{len(fitting)} candidates'} {named!r}",
            hint=f"on its front of cost and score are {', '.join(some)}; jurist artifacts show {artifact.ref} "
            "--history has all",
        )
    row = artifact.history[ids.index(fitting[0])]
    if not row.get("prompt"):
        raise ArtifactError(
            f"the history of {artifact.ref} does not hold the prompt of {row['candidate']}",
            hint="what came with the package keeps the basic and the chosen prompt; compile it yourself to choose",
        )
    rows = {case.id: case for case in gold.cases}
    for name, prompt in row["prompt"].items():
        if kept := prompt.get("nearest"):  # the history has the ids of remembered rows
            kept["demos"] = [gold.judge.demos(rows[id_])[name] for id_ in kept["rows"] if id_ in rows]
    found = Candidate(
        state=PromptState.from_json(row["prompt"]),
        setting=Setting(**(row.get("setting") or {})),
        parent=None,
        source=str(row.get("source")),
        step=0,
        calls=0,
    )
    if found.id != row["candidate"]:
        raise ArtifactError(
            f"the prompt of {row['candidate']} in the history of {artifact.ref} is not the one that was scored",
            hint="something in it was taken out as a credential; choose another candidate",
        )
    return found


def _own(artifact: Artifact) -> Candidate:
    """Return what a version asks, as a candidate."""
    setting = Setting(**(artifact.card.get("setting") or {}))
    return Candidate(state=artifact.state, setting=setting, parent=None, source=artifact.ref, step=0, calls=0)


def _plan(
    artifact: Artifact,
    store: Store,
    candidate: Callable[[Gold], Candidate],
    named: str | None,
    answering: Callable[[ModelCard], Model],
    **settings: Any,
) -> _Again:
    """Return the plan of the compilation, made again: the test of its split must be the sealed one.

    Ids are of inputs alone, so the same test may have other labels: then the old card would stand over new scores.
    """
    judge, about = _judge(artifact, store), artifact.about
    kept, job = artifact.card["gold"], about.job
    source = named or str(kept.get("source") or kept["name"])
    hint, own = "name the gold set it was compiled on with --gold", kept.get("holdout")
    asked = job.model if job.model.name else about.model
    try:
        gold = Gold.load(source, judge) if named else Gold.again(kept, judge)
        holdout = None if own is None else Gold.again(own, gold.settled)
        plan = _Again(
            artifact=artifact,
            candidate=candidate(gold),
            judge=judge,
            gold=gold,
            holdout=holdout,
            model=answering(asked),
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
        if named is not None:
            raise
        raise GoldError(
            f"the gold set of {artifact.ref} cannot be read as {source!r}: {error}", hint=hint
        ) from error
    if split.test_hash != kept["test_ids_sha256"]:
        raise GoldError(
            f"{source!r} does not give the sealed test of {artifact.ref}: {len(split.test)} cases with other ids "
            f"than the {kept['test']} it was proven on",
            hint=hint,
        )
    if gold.sha256 != kept["sha256"] or (holdout and own and holdout.sha256 != own["sha256"]):
        raise GoldError(
            f"{source!r} has other labels or rows than when {artifact.ref} was compiled on it",
            hint="compile again on it, or name the gold set as it was with --gold",
        )
    return plan
