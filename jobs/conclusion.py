"""From a candidate to a version: held against basic on the sealed test, and kept with what that has shown."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..cases import Case
from ..engines.models import held_by
from ..evaluation.agreement import Ceiling
from ..evaluation.calibration import calibrate
from ..evaluation.measured import narrow
from ..evaluation.proof import Proof, prove
from ..evaluation.scale import resolve
from ..gold.copies import sketched_rows
from ..gold.splits import Split
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.card import described
from ..keeping.paying import PaidJob
from ..keeping.recorded import RecordedJudge
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
from .references import LEARNERS, References, references
from .sealed_rows import Proving, prompt_of, proof_of


@dataclass(frozen=True)
class Contest:
    """The basic prompt, as a compilation asks it, and a candidate under its setting, on the sealed test."""

    plan: Plan
    job: Job
    candidate: Candidate
    known: int = 0  # openings of the test that the ledger need not know of

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
        return self.candidate.asked_id == PromptState.of(self.plan.judge.basic()).id

    @cached_property
    def look(self) -> Proving:
        """The opening of the test that this is."""
        plan, judge = self.plan, self.plan.judge
        tried = (
            prompt_of(judge, PromptState.of(judge.basic()), plan.model, self.basic.adapter, plan.sampling),
            prompt_of(judge, self.candidate.state, plan.model, self.chosen.adapter, self.chosen.sampling),
        )
        return proof_of(plan.split, tried, self.known)


@dataclass(frozen=True, kw_only=True)
class Concluded:
    """The new version, its proof, and whether it was made the latest."""

    artifact: Artifact
    proof: Proof
    latest: bool


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
    tick: Callable[[], None] = lambda: None,
) -> Concluded:
    """Prove a candidate, and keep it as the next version: the latest if it is shown to be better, or by force."""
    plan, look, chosen = contest.plan, contest.look, contest.chosen
    proof, counted, answers = proven(
        plan.split,
        contest.basic,
        chosen,
        same=contest.same,
        seed=plan.seed,
        opened=look.opening,
        people=plan.people,
        logs=plan.beside,
        tick=tick,
    )
    look.done(what)
    latest = force or proof.decision.verdict == "better"
    held = held_by(contest.plan.model, work.contexts["judge"]) if chosen.adapter == "json" else ""
    artifact = store.save(
        plan.judge,
        contest.candidate.state,
        {
            **card,
            "model": described(contest.plan.model),
            "adapter": chosen.adapter,
            **({"structure": held} if held else {}),  # what held answers in JSON to it
            "setting": contest.candidate.setting.to_json(),
            "thresholds": {
                "samples": chosen.sampling.samples,
                "threshold": chosen.sampling.needed,
                **({"weights": weights} if (weights := chosen.sampling.weights) else {}),
            },
            "spend": work.spend(),
            **counted,
            **look.to_card(),
        },
        history,
        records={
            PROOF: answers,
            SEEN: sketched_rows(plan.split.judge, (*plan.split.train, *plan.split.dev, *seen)),
        },
        make_latest=latest,
    )
    return Concluded(artifact=artifact, proof=proof, latest=latest)


def proven(
    split: Split,
    basic: Asker,
    compiled: Asker,
    *,
    same: bool,
    seed: int,
    opened: int = 1,
    people: Ceiling | None = None,
    logs: Sequence[RecordedJudge] = (),
    tick: Callable[[], None] = lambda: None,
) -> tuple[Proof, dict[str, Any], list[dict[str, Any]]]:
    """Ask both on the sealed test; return the proof, what the card says of it, and both answers to each case."""
    judge, test = split.judge, split.test
    # Both thresholds stand: samples that cannot change an outcome are not drawn, but where both vote on them.
    twice = same and basic.sampling.rule != compiled.sampling.rule
    basic, compiled = (replace(one, stopping="all" if twice else "settled") for one in (basic, compiled))
    verdicts = basic.ask_all(test, lambda index, verdict: tick())
    others = verdicts
    if twice:
        others = [compiled.revote(*pair) for pair in zip(test, verdicts, strict=True)]
    elif not same:
        others = compiled.ask_all(test, lambda index, verdict: tick())
    systems = {"basic": verdicts, "compiled": others}
    rows = {
        name: [row_of(case, verdict) for case, verdict in zip(test, said, strict=True)]
        for name, said in systems.items()
    }
    beside = references(judge, (*split.train, *split.dev), test, seed=seed, people=people, logs=logs)
    proof = prove(
        rows["basic"],
        rows["compiled"],
        judge.metric,
        judge.comparison,
        seed=seed,
        openings=opened,
        remarks=(split.near_words,) if split.near else (),
        constant=beside.constant,
    )
    asked = verdicts if same else others  # a vote under another threshold takes nothing more
    took = {"basic": spent([one.usage for one in verdicts]), "compiled": spent([one.usage for one in asked])}
    counted: dict[str, Any] = {
        **proof.to_card(),
        "tokens_per_row": {name: one.per_row() for name, one in took.items()},
        "seconds_per_row": {name: round(one.seconds, 3) for name, one in took.items() if one.seconds},
        "inconsistent": {name: sum(one.inconsistent for one in said) for name, said in systems.items()},
        "references": beside.to_card(),
        "warnings": [
            *(
                warning
                for name, told in rows.items()
                for warning in narrow(name, told, judge.comparison, judge.answer.scale.text)
            ),
            *_as_good(beside, proof, judge),
        ],
    }
    dollars = {name: round(1000 * one.cost, 6) for name, one in took.items() if one.cost}
    if len(dollars) == len(took):
        counted["dollars_per_1000_rows"] = dollars
    calibrated = {name: _calibrated(judge, test, said) for name, said in systems.items()}
    if all(calibrated.values()):
        counted["calibration"] = calibrated
    facts = {name: _facts(judge, said) for name, said in systems.items()}
    for name in facts["basic"]:
        counted[name] = {system: told[name] for system, told in facts.items()}
    answers = [
        {
            "case": case.id,
            "group": case.group,
            "gold": [judge.answer.scale.to_json(value) for value in case.gold or ()],
            "basic": _told(judge, one),
            "compiled": _told(judge, two),
        }
        for case, one, two in zip(test, verdicts, others, strict=True)
    ]
    return proof, counted, answers


def _as_good(beside: References, proof: Proof, judge: Judge) -> Iterable[str]:
    """Yield what says that something that costs nothing reaches as much as the compiled judge."""
    metric = resolve(judge.metric, judge.comparison)
    reached = proof.compiled[metric.name].value
    for name, one in beside.found.items():
        if name != "constant" and metric.oriented(one.score.value) >= metric.oriented(reached):
            found = f"{metric.name} {one.score.value:.3f} on the same cases, compiled {reached:.3f}"
            yield (
                f"{one.answer}, learned from the same labels, has {found}: these labels do not need this judge"
                if name in LEARNERS
                else f"{name} has {found}: what you have is as good"
            )


def _calibrated(judge: Judge, test: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return what the probabilities that tokens told are worth; nothing without any."""
    probability = judge.answer.scale.probability
    units = [
        (probability(shares), probability({gold: 1.0}))
        for case, verdict in zip(test, verdicts, strict=True)
        if verdict.measured and case.gold
        for shares, gold in zip(verdict.probabilities, case.gold, strict=True)
        if gold is not None
    ]
    known = [(said, bool(gold)) for said, gold in units if said is not None]
    return calibrate(*zip(*known, strict=True)) if known else {}


def _told(judge: Judge, verdict: Verdict) -> dict[str, Any]:
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
