"""From a candidate to a version: held against basic on the sealed test, and kept with what that has shown."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.models import held_by
from ..evaluation.contrasts import Contrast, NotWorse, contrast, not_worse, usual_margin
from ..evaluation.measured import calibrate, lopsided
from ..evaluation.plain import plain
from ..evaluation.proof import Proof, prove
from ..evaluation.scale import resolve
from ..gold.copies import sketched_rows
from ..keeping.artifact_card import Artifact, rows_of
from ..keeping.artifacts import Store
from ..keeping.card import NOTHING_BETTER, described
from ..keeping.paying import PaidJob
from ..keeping.sealing import PROOF, SEEN
from ..optimizers.base import Job
from ..optimizers.board import Candidate
from ..optimizers.candidate import spent
from ..optimizers.objective import row_of
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from .plan import Plan
from .references import references
from .sealed_rows import Proving, prompt_of, proof_of


@dataclass(frozen=True)
class Contest:
    """The basic prompt, as a compilation asks it, and a candidate under its setting, on the sealed test."""

    plan: Plan
    job: Job
    candidate: Candidate
    known: int = 0  # openings of the test that the ledger need not know of
    before: Artifact | None = None  # the version that the candidate is made of, proven on the same test

    @cached_property
    def basic(self) -> Asker:
        """What asks the basic prompt."""
        return self.job.asker(self.plan.judge.basic())

    @cached_property
    def chosen(self) -> Asker:
        """What asks the candidate."""
        program = self.candidate.state.apply(self.plan.judge.basic())
        return self.job.asker(program, self.candidate.setting)

    @property
    def same(self) -> bool:
        """Whether both are asked the same."""
        basic = PromptState.of(self.plan.judge.basic())
        return self.candidate.asked_id == basic.id

    @property
    def unchanged(self) -> bool:
        """Whether the candidate is the basic prompt, voted on by the same rule: the two cannot differ."""
        return self.same and self.basic.sampling.rule == self.chosen.sampling.rule

    @cached_property
    def look(self) -> Proving:
        """The opening of the test that this is."""
        plan, judge = self.plan, self.plan.judge
        tried = (
            prompt_of(judge, PromptState.of(judge.basic()), plan.model, self.basic.adapter, plan.sampling),
            prompt_of(judge, self.candidate.state, plan.model, self.chosen.adapter, self.chosen.sampling),
        )
        return proof_of(plan.split, tried, self.known)

    def against(self, answers: Sequence[Mapping[str, Any]]) -> Contrast | None:
        """Hold the candidate's answers to the test against those of the version that it is made of, which are kept."""
        earlier = self.before.proof() if self.before else ()
        if not (self.before and earlier):
            return None
        judge, level = self.plan.split.judge, self.look.level
        new, old = ([rows_of(judge.answer, rows, "compiled")] for rows in (answers, earlier))
        sides = ("the new version", new), (self.before.ref, old)
        return contrast(*sides, judge.metric, judge.comparison, seed=self.plan.seed, alpha=2.0 * level)

    def not_worse(self, against: Contrast, margin: float | None) -> NotWorse:
        """Say whether the candidate is worse than the version that it is made of by no more than a margin."""
        judge = self.plan.split.judge
        if margin is None:
            margin = usual_margin(resolve(judge.metric, judge.comparison))
        return not_worse(against, margin, len(self.look.cases))


@dataclass(frozen=True, kw_only=True)
class Concluded:
    """The new version, its proof, and whether it was made the latest."""

    artifact: Artifact
    proof: Proof | None  # ``None`` where the basic prompt was kept: nothing was asked of the sealed test
    latest: bool

    @property
    def verdict(self) -> str:
        """What was decided, as the card has it."""
        return str(self.artifact.about.decision.verdict)

    @property
    def better_than_basic(self) -> bool:
        """Whether the sealed test has shown it to be better than the basic prompt, a constant answer or not."""
        return self.proof is not None and self.proof.decision.direction == "better"

    @property
    def words(self) -> str:
        """The decision in words, as the card has it."""
        return self.artifact.about.decision.words


def conclude(
    contest: Contest,
    work: PaidJob,
    store: Store,
    what: str,
    card: Mapping[str, Any],
    history: Iterable[Mapping[str, Any]],
    *,
    seen: Sequence[Case] = (),
    force: bool = False,
    margin: float | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Concluded:
    """Prove a candidate, and keep it as the next version: the latest if it is shown to be better, or by force.

    A candidate that is made of a version must be shown to be worse than that by no more than ``margin``, too.
    """
    proof: Proof | None = None
    latest = force
    records: dict[str, Iterable[Mapping[str, Any]]] = {}
    if contest.unchanged:
        shown = _unproven(contest)
    else:
        proof, shown, answers = proven(contest, tick)
        contest.look.done(what)
        records[PROOF] = answers
        better = proof.decision.verdict == "better"
        against = contest.against(answers)
        if against:
            beside = contest.not_worse(against, margin)
            shown["against"] = {**against.to_json(), "not_worse": plain(beside)}
            better = better and beside.outcome == "holds"
        latest = force or better
        shown.update(contest.look.to_card())
    plan, chosen = contest.plan, contest.chosen
    held = held_by(plan.model, work.contexts["judge"]) if chosen.adapter == "json" else ""
    records[SEEN] = sketched_rows(plan.split.judge, (*plan.split.train, *plan.split.dev, *seen))
    artifact = store.save(
        plan.judge,
        contest.candidate.state,
        {
            **card,
            "model": described(plan.model),
            "adapter": chosen.adapter,
            **({"structure": held} if held else {}),  # what held answers in JSON to it
            "setting": contest.candidate.setting.to_json(),
            "thresholds": chosen.sampling.to_card(),
            "spend": work.spend(),
            **shown,
        },
        history,
        records=records,
        make_latest=latest,
    )
    return Concluded(artifact=artifact, proof=proof, latest=latest)


def _unproven(contest: Contest) -> dict[str, Any]:
    """Return what the card says where the basic prompt was kept: no score, and no opening of the sealed test."""
    judge, look = contest.plan.split.judge, contest.look
    metric = resolve(judge.metric, judge.comparison)
    decision = {
        "verdict": NOTHING_BETTER,
        "words": "nothing better than the basic prompt was found, so nothing was asked of the sealed test",
        "metric": metric.name,
        "higher_is_better": bool(metric.higher_is_better),
        "warnings": [],
    }
    rows = {"sealed": len(look.cases), "opened_before": look.before, "used": 0}
    return {"decision": decision, "test_openings": 0, "test_rows": rows}


def proven(
    contest: Contest, tick: Callable[[], None] = lambda: None
) -> tuple[Proof, dict[str, Any], list[dict[str, Any]]]:
    """Ask both on the sealed test; return the proof, what the card says of it, and both answers to each case."""
    plan, split = contest.plan, contest.plan.split
    judge, test, systems = split.judge, split.test, _asked(contest, tick)
    rows = {name: list(map(row_of, test, verdicts)) for name, verdicts in systems.items()}
    known = (*split.train, *split.dev)
    beside = references(judge, known, test, seed=plan.seed, people=plan.people, logs=plan.beside)
    # the proof tests the constant answer
    others = beside.found.keys() - {"constant"}
    beside = beside.against(
        judge, "compiled", rows["compiled"], others, seed=plan.seed, level=contest.look.level
    )
    proof = prove(
        rows["basic"],
        rows["compiled"],
        judge.metric,
        judge.comparison,
        seed=plan.seed,
        openings=contest.look.opening,
        remarks=(split.near_words,) if split.near_words else (),
        constant=beside.constant,
    )
    # a vote under another threshold takes nothing more than the answers that it is on
    paid = {name: systems["basic" if contest.same else name] for name in systems}
    took = {name: spent([verdict.usage for verdict in verdicts]) for name, verdicts in paid.items()}
    warnings = [
        warning
        for name, own in rows.items()
        for warning in lopsided(name, own, judge.comparison, judge.answer.scale.text)
    ]
    counted: dict[str, Any] = {
        **proof.to_card(),
        "tokens_per_row": {name: usage.per_row() for name, usage in took.items()},
        "seconds_per_row": {name: round(usage.seconds, 3) for name, usage in took.items() if usage.seconds},
        "inconsistent": {
            name: sum(each.inconsistent for each in verdicts) for name, verdicts in systems.items()
        },
        "references": beside.to_card(),
        "warnings": [*warnings, *beside.words("compiled")],
    }
    dollars = {name: round(1000 * usage.cost, 6) for name, usage in took.items() if usage.cost}
    if len(dollars) == len(took):
        counted["dollars_per_1000_rows"] = dollars
    calibrated = {name: _calibrated(judge, test, verdicts) for name, verdicts in systems.items()}
    if all(calibrated.values()):
        counted["calibration"] = calibrated
    facts = {name: _facts(judge, verdicts) for name, verdicts in systems.items()}
    for fact in facts["basic"]:
        counted[fact] = {name: own[fact] for name, own in facts.items()}
    answers = [
        {
            "case": case.id,
            "group": case.group,
            "gold": [judge.answer.scale.to_json(value) for value in case.gold or ()],
            **{name: _answer(judge, verdicts[number]) for name, verdicts in systems.items()},
        }
        for number, case in enumerate(test)
    ]
    return proof, counted, answers


def _asked(contest: Contest, tick: Callable[[], None]) -> dict[str, Sequence[Verdict]]:
    """Return what both say of each case; one prompt under two thresholds is asked once, and voted on twice."""
    test, both = contest.plan.split.test, (contest.basic, contest.chosen)
    twice = contest.same and both[0].sampling.rule != both[1].sampling.rule
    # samples that cannot change an outcome are not drawn, but where both thresholds vote on them
    basic, compiled = (replace(asker, stopping="all" if twice else "settled") for asker in both)
    verdicts = others = basic.ask_all(test, lambda index, verdict: tick())
    if twice:
        others = list(map(compiled.revote, test, verdicts))
    elif not contest.same:
        others = compiled.ask_all(test, lambda index, verdict: tick())
    return {"basic": verdicts, "compiled": others}


def _calibrated(judge: Judge, test: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return how far probabilities of reply tokens are right; nothing where no reply told them."""
    probability = judge.answer.scale.probability
    units = [
        (probability(shares), probability({gold: 1.0}))
        for case, verdict in zip(test, verdicts, strict=True)
        if verdict.measured and case.gold
        for shares, gold in zip(verdict.probabilities, case.gold, strict=True)
        if gold is not None
    ]
    known = [(share, bool(gold)) for share, gold in units if share is not None]
    return calibrate(*zip(*known, strict=True)) if known else {}


def _answer(judge: Judge, verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as a line of the proof keeps it."""
    answer = judge.answer
    return {
        "status": verdict.status,
        "values": [answer.scale.to_json(value) for value in verdict.values],
        "votes": [
            {answer.scale.text(value): count for value, count in unit.items()} for unit in verdict.votes
        ],
        "agreement": list(verdict.agreement),
        "probability": [answer.scale.probability(shares) for shares in verdict.probabilities],
        "drawn": verdict.drawn,
        "reasoning": verdict.reasoning,
        "error": verdict.error,
    }


def _facts(judge: Judge, verdicts: Sequence[Verdict]) -> Mapping[str, Any]:
    """Return what a kind of answer counts besides."""
    sums: Counter[str] = Counter()
    for verdict in verdicts:
        sums.update(judge.answer.scale.tally(verdict.values, verdict.counts))
    return judge.answer.scale.proof_facts(sums)
