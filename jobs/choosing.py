"""Choosing another candidate of a compilation, seen on its front of cost and score, as the artifact.

The candidate's prompt and setting are taken from the history, asked on the same
sealed test beside the basic prompt, and kept as a new version. That test has
been opened before: the new card says how often, and the level of its decision falls
with that, so that choosing until something looks better proves nothing. Knows artifacts and judges, not commands.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engines.channel import CallContext
from ..engines.meter import Budget
from ..engines.models import Model, connect
from ..errors import ArtifactError, GoldError
from ..evaluation.ceiling import Ceiling
from ..evaluation.proof import Proof
from ..gold.copies import sketched_rows
from ..gold.goldset import Gold
from ..gold.leaks import check_leaks
from ..gold.splits import Split
from ..gold.strata import ceiling_of, rated_in_test
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.locating import judge_of
from ..keeping.paying import PaidJob, Start, paying
from ..keeping.resolving import resolve_sampling
from ..keeping.sealing import MATRIX, PROOF, SEEN
from ..keeping.trust import HASHES
from ..optimizers.naming import candidate_names
from ..optimizers.setting import Setting
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.strictness import with_strictness
from ..programs.votes import Sampling
from .estimate import Estimate, ask_of
from .looking import Proving, prompt_of, proof_of
from .proving import asked_as, model_on, model_under, proven

_KEPT = (
    "judge_ref",
    *HASHES,
    "optimizer",
    "prompt_model",
    "gold",
    "pareto",
    "matrix",
    "job",
    "versions",
)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What opening a sealed test takes."""

    words: tuple[str, ...]  # what is done, and what that can show, for people: one line each
    cases: int  # of the test
    estimate: Estimate  # what it takes
    paid: Mapping[str, int]  # role -> answers that are there already


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """Which candidate of which artifact, and how it is asked."""

    ref: str  # the artifact, as ``JUDGE@VERSION``
    candidate: str  # the name of one of its candidates, its id, or an unambiguous beginning of that
    gold: str | None = None  # where the gold set is; default: under the name on the card
    api_base: str | None = None  # address of the model, where it is no longer the card's
    timeout: float = 120.0  # seconds one request may take
    budget: Budget = field(default_factory=Budget)  # hard limits
    concurrency: int = 8  # cases in flight at once
    # make the new version the latest even if it is not shown to be better. resume, fresh: continue, or
    # forget, an interrupted run of the same choice
    force: bool = False
    resume: bool = False
    fresh: bool = False
    # receives what will be asked, before it is; what it raises ends the work
    begin: Callable[[Opening], None] = lambda opening: None
    tick: Callable[[], None] = lambda: None  # is called with each answer


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The new version, its proof, and whether it was made the latest."""

    artifact: Artifact
    proof: Proof
    latest: bool


def choose(choosing: Choosing, store: Store) -> Chosen:
    """Make a candidate of an artifact's history the next version, proven on the same sealed test."""
    artifact = store.load(choosing.ref)
    judge = _judge(artifact, store)
    row = _row(artifact, choosing.candidate)
    gold, split = _split(artifact, judge, choosing)
    check_leaks(split, [PromptState.from_json(row["prompt"])])
    people = ceiling_of(gold, only=rated_in_test(gold, {case.id for case in split.test}))
    work = _Work(artifact=artifact, judge=judge, row=row, split=split, people=people, budget=choosing.budget)
    start = Start(root=store.checkpoints, resume=choosing.resume, fresh=choosing.fresh)
    with paying(work, start) as job:
        pair = _pair(choosing, work, job.contexts["judge"])
        look = _look(work, pair)
        choosing.begin(_opening(work, pair, look, job.paid))
        return _proven(choosing, store, work, job, pair, look)


@dataclass(frozen=True, kw_only=True)
class _Work:
    artifact: Artifact
    judge: Judge
    row: Mapping[str, Any]
    split: Split
    people: Ceiling | None
    budget: Budget
    roles: tuple[str, ...] = ("judge",)

    def fingerprint(self) -> dict[str, Any]:
        return {"choose": self.artifact.sha256, "candidate": self.row["candidate"]}

    @property
    def state(self) -> PromptState:
        return PromptState.from_json(self.row["prompt"])

    @property
    def setting(self) -> Setting:
        return Setting.from_json(self.row.get("setting"))


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Who is asked on the sealed test: the basic program as the job asked it, and the chosen one under its setting."""

    basic: Asker
    chosen: Asker
    own: Model
    model: Model

    @property
    def same(self) -> bool:
        """Whether both would be asked the same."""
        basic, chosen = self.basic, self.chosen
        alike = (chosen.lm, chosen.sampling.samples, chosen.adapter) == (
            *(basic.lm, basic.sampling.samples, basic.adapter),
        )
        return alike and PromptState.of(chosen.program).id == PromptState.of(basic.program).id


def _pair(choosing: Choosing, work: _Work, context: CallContext) -> _Pair:
    card, judge, setting = work.artifact.card, work.judge, work.setting
    job = card.get("job") or {
        "model": card["model"],
        "adapter": card.get("adapter", "chat"),
        "samples": (card.get("thresholds") or {}).get("samples", 1),
        "threshold": None,
    }
    own = model_on(job["model"], choosing.api_base, choosing.timeout)
    model = model_under(own, setting, job["samples"])
    sampling = Sampling(samples=job["samples"], threshold=job["threshold"])
    wanted = sampling.threshold if setting.threshold is None else setting.threshold
    voting = resolve_sampling(model, dataclasses.replace(sampling, threshold=wanted)).sampling
    basic = Asker(
        judge=judge,
        program=judge.basic(),
        lm=connect(own, context, judge.role),
        frozen_lm=connect(model_on(card["verifier"], choosing.api_base, choosing.timeout), context)
        if card.get("verifier")
        else None,
        sampling=sampling,
        adapter=job["adapter"],
        concurrency=choosing.concurrency,
        probabilities="tokens",
    )
    chosen = dataclasses.replace(
        basic,
        program=work.state.apply(judge.basic()),
        lm=basic.lm if model == own else connect(model, context, judge.role),
        sampling=voting,
        adapter=setting.adapter or job["adapter"],
    )
    return _Pair(basic=basic, chosen=chosen, own=own, model=model)


def _look(work: _Work, pair: _Pair) -> Proving:
    """Return the look that the proof is; the card's openings count too, where the ledger does not know them."""
    card = work.artifact.card
    own = work.row["candidate"] == card["optimizer"]["candidate"]
    tried = (
        prompt_of(
            work.judge, PromptState.of(pair.basic.program), pair.own, pair.basic.adapter, pair.basic.sampling
        ),
        prompt_of(work.judge, work.state, pair.model, pair.chosen.adapter, pair.chosen.sampling),
    )
    return proof_of(work.split, tried, int(card.get("test_openings") or 1) - own)


def _opening(work: _Work, pair: _Pair, look: Proving, paid: Mapping[str, int]) -> Opening:
    test = look.cases
    done = f"proving {work.row['candidate']} on {len(test)} sealed cases, opening {look.opening} of this test"
    asked = [("judge", pair.basic, pair.own)] + [("chosen", pair.chosen, pair.model)] * (not pair.same)
    parts = [ask_of(role, one, [model], test, _draws(one, len(test))) for role, one, model in asked]
    return Opening(
        words=(done, *look.limits(test, work.judge.comparison)),
        cases=len(test),
        estimate=Estimate(what=f"{len(test)} sealed cases", asks=tuple(parts), budget=work.budget),
        paid=paid,
    )


def _draws(asker: Asker, cases: int) -> tuple[int, int]:
    return cases * asker.sampling.fewest, cases * asker.sampling.samples


def _proven(
    choosing: Choosing, store: Store, work: _Work, job: PaidJob, pair: _Pair, look: Proving
) -> Chosen:
    shown = proven(
        look.split,
        pair.basic,
        pair.chosen,
        same=pair.same,
        seed=int(work.artifact.card["optimizer"]["seed"]),
        opened=look.opening,
        people=work.people,
        tick=choosing.tick,
    )
    look.done(f"artifacts choose {work.artifact.ref}")
    latest = shown.proof.decision.verdict == "better" or choosing.force
    kept = store.save(
        work.judge,
        work.state,
        {**_card(work, pair, job), "spend": job.spend(), **shown.to_card(), **look.to_card()},
        work.artifact.history,
        records={
            **({MATRIX: work.artifact.matrix()} if "matrix" in work.artifact.card else {}),
            PROOF: shown.answers,
            SEEN: sketched_rows(work.split.judge, (*work.split.train, *work.split.dev)),
        },
        make_latest=latest,
    )
    return Chosen(artifact=kept, proof=shown.proof, latest=latest)


def _card(work: _Work, pair: _Pair, job: PaidJob) -> dict[str, Any]:
    """Return the new version's card, without its proof and spend: the old one's, but for what was chosen."""
    card, voting = work.artifact.card, pair.chosen.sampling
    return {
        **{key: card[key] for key in _KEPT if key in card},
        "parent": work.artifact.version,
        "optimizer": {
            **card["optimizer"],
            "candidate": work.row["candidate"],
            "chosen_from": work.artifact.ref,
        },
        **asked_as(pair.model, pair.chosen.adapter, job.contexts["judge"]),
        "setting": work.setting.to_json(),
        "thresholds": {"samples": voting.samples, "threshold": voting.needed},
    }


def _judge(artifact: Artifact, store: Store) -> Judge:
    """Return the judge, compiled for the metric that the artifact was compiled for."""
    judge = judge_of(artifact, store).as_compiled(artifact.card)
    artifact.check(judge)
    if artifact.card.get("strictness"):
        judge = with_strictness(judge, str(artifact.card["strictness"]))
    if not artifact.card.get("decision") or not artifact.card.get("gold"):
        raise ArtifactError(
            f"{artifact.ref} has no proof on its card, so there is no sealed test to open",
            hint="compile it again",
        )
    return judge


def _row(artifact: Artifact, candidate: str) -> Mapping[str, Any]:
    names = candidate_names((str(row.get("candidate")), str(row.get("source"))) for row in artifact.history)
    found = [row for row in artifact.history if names[str(row.get("candidate"))] == candidate] or [
        row for row in artifact.history if str(row.get("candidate", "")).startswith(candidate) and candidate
    ]
    if len(found) != 1:
        ids = [str(row.get("candidate")) for row in artifact.history]
        some = ", ".join(point["candidate"] for point in artifact.card.get("pareto") or ()) or ", ".join(
            ids[:8]
        )
        raise ArtifactError(
            f"{artifact.ref} has {'no candidate' if not found else f'{len(found)} candidates'} {candidate!r}",
            hint=f"on its front of cost and score are {some}; jurist artifacts show {artifact.ref} --history has all",
        )
    row = found[0]
    if not row.get("prompt"):
        raise ArtifactError(
            f"the history of {artifact.ref} does not hold the prompt of {row['candidate']}",
            hint="what came with the package keeps the basic and the chosen prompt; compile it yourself to choose",
        )
    state = PromptState.from_json(row["prompt"])
    if Setting.from_json(row.get("setting")).id_of(state.id) != row["candidate"]:
        raise ArtifactError(
            f"the prompt of {row['candidate']} in the history of {artifact.ref} is not the one that was scored",
            hint="something in it was taken out as a credential; choose another candidate",
        )
    return row


def _split(artifact: Artifact, judge: Judge, choosing: Choosing) -> tuple[Gold, Split]:
    """Return the gold of the test and the split of the compilation, made again: its test must be the sealed one.

    Ids are of inputs alone, so the same test may have other labels: then the old card would stand over new scores.
    """
    about = artifact.card["gold"]
    source = choosing.gold or str(about.get("source") or about["name"])
    hint = "name the gold set it was compiled on with --gold"
    try:
        gold = Gold.load(source, judge) if choosing.gold else Gold.again(about, judge)
        own = about.get("holdout")
        holdout = None if own is None else Gold.again(own, gold.settled)
        earlier = {name: part for part, names in (about.get("parts") or {}).items() for name in names}
        seed = int(artifact.card["optimizer"]["seed"])
        split = gold.split(seed, tuple(about["shares"]), earlier=earlier, holdout=holdout)
    except GoldError as error:
        if choosing.gold is not None:
            raise
        raise GoldError(
            f"the gold set of {artifact.ref} cannot be read as {source!r}: {error}", hint=hint
        ) from error
    if split.test_hash != about["test_ids_sha256"]:
        raise GoldError(
            f"{source!r} does not give the sealed test of {artifact.ref}: {len(split.test)} cases with other ids "
            f"than the {about['test']} it was proven on",
            hint=hint,
        )
    if gold.sha256 != about["sha256"] or (holdout and own and holdout.sha256 != own["sha256"]):
        raise GoldError(
            f"{source!r} has other labels or rows than when {artifact.ref} was compiled on it",
            hint="compile again on it, or name the gold set as it was with --gold",
        )
    return holdout or gold, split
