"""CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side.

Every line is a judge that can be loaded: the auto-labelling judge, basic or compiled, the single-pass detector, a
judge of one sentence at a time, or a detector named with its model. A judge may take a response as it is, or be asked
about one sentence at a time; either way its answers come back as one row a response, with one label a sentence, so that
all are scored on the same sentences. Responses on which one of them was compiled are left out for all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from ...cases import Case, Label
from ...errors import UsageError
from ...evaluation.rows import Row
from ...evaluation.votes import Sampling
from ...gold.goldset import Gold
from ...jobs.estimate import Estimate, ask_of
from ...jobs.experiment import Experiment
from ...jobs.sealed_rows import seen_by
from ...keeping.paying import PaidJob
from ...programs.answers.infer import closed
from ...programs.asking import Asker
from ...programs.cognibench import BELOW, STRICTNESS
from ...programs.judge import Judge
from ...programs.statements import BySentence
from ...programs.verdicts import Verdict
from ...signatures.cognibench import LABELS
from .detection import Scoring, Table

Place = tuple[int, int] | None
"""Which case, and which unit of it, a sentence is; None for a sentence that is not asked about (a blank one)."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a judge is asked about some responses."""

    judge: Judge
    gold: tuple[Case, ...]  # the responses
    cases: tuple[Case, ...]  # the judge's own cases
    places: tuple[tuple[Place, ...], ...]  # for each response, where each of its sentences is


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A plan with its verdicts, in the order of its cases, and the number of samples of each."""

    plan: Plan
    verdicts: tuple[Verdict, ...]
    samples: int


def planned(judge: Judge, gold: Gold, cases: Sequence[Case]) -> Plan:
    """Plan asking a judge about responses: as they are if it takes them so, else sentence by sentence."""
    own: list[Case] = []
    places: list[tuple[Place, ...]] = []
    for case in cases:
        row = {key: value for key, value in gold.rows[case.id].items() if key not in ("labels", "ratings")}
        units = []
        for part in judge.expanded(row, path=case.source):
            own.append(judge.case(part, path=case.source))
            units += [(len(own) - 1, unit) for unit in range(len(judge.answer.units(own[-1].inputs)))]
        sentences = case.inputs["sentences"]
        asked = [len(units) == len(sentences) or bool(sentence.strip()) for sentence in sentences]
        if len(units) != sum(asked):
            raise UsageError(
                f"judge {judge.name} gives {len(units)} labels for a response of {len(sentences)} sentences",
                hint="name judges of CogniBench responses: cognibench, detector, nli:MODEL, lettuce:MODEL, ...",
            )
        left = iter(units)
        places.append(tuple(next(left) if one else None for one in asked))
    return Plan(judge=judge, gold=tuple(cases), cases=tuple(own), places=tuple(places))


def ask(plan: Plan, asker: Asker, on_case: Callable[[], None] = lambda: None) -> Asked:
    """Ask, drawing every sample, so that any threshold can be put to the votes afterwards."""
    everything = replace(asker, stopping="all")
    verdicts = everything.ask_all(plan.cases, lambda index, verdict: on_case())
    return Asked(plan=plan, verdicts=tuple(verdicts), samples=asker.sampling.samples)


def rows_at(asked: Asked, threshold: float) -> tuple[Row, ...]:
    """Return one row a response under a vote threshold, from the votes that were cast: nothing is asked.

    A judge with other labels than gold's says *found* or *not found* only, which is written as ``invented``
    or ``faithful``; a sentence that was not asked about (a blank one) has no answer. A response is failed when
    nothing in it could be asked because the machinery failed.
    """
    answer = closed(asked.plan.judge.answer)
    sampling = Sampling(samples=asked.samples, threshold=threshold)

    def labels(verdict: Verdict) -> tuple[Label | None, ...]:
        if verdict.status == "failed" or not verdict.votes:
            return verdict.values
        votes = verdict.probabilities if threshold < 1 else verdict.votes
        own = tuple(answer.scale.combine(one, sampling) for one in votes)
        if set(answer.labels) == set(LABELS):
            return own
        return tuple(label and ("invented" if label in answer.positive else "faithful") for label in own)

    said = [labels(verdict) for verdict in asked.verdicts]
    rows = []
    for case, places in zip(asked.plan.gold, asked.plan.places, strict=True):
        used = {place[0] for place in places if place}
        rows.append(
            Row(
                id=case.id,
                group=case.group,
                gold=case.gold or (None,) * len(places),
                predicted=tuple(said[place[0]][place[1]] if place else None for place in places),
                failed=bool(used) and all(asked.verdicts[one].status == "failed" for one in used),
            )
        )
    return tuple(rows)


@dataclass(frozen=True, kw_only=True)
class Detectors(Experiment):
    """The table before anything is asked: an experiment whose judges may take responses or single sentences.

    The first contender is tested against each other one; gold is that of the judge ``cognibench``.
    """

    kind: ClassVar[str] = "table cognibench-3"
    fewest: ClassVar[int] = 1
    strictness: str = STRICTNESS  # below it a cognitive sentence is hallucinated (the paper's: grounded)
    seed: int = 0  # of the permutation test

    def _check_alike(self) -> None:
        """Refuse judges of sentences whose positive labels are not hallucinated, such as *cognitive*."""
        for judge in (one.judge for one in self.contenders):
            if not isinstance(judge.expand, BySentence):
                continue  # how judges are asked may differ
            positive = closed(judge.answer).positive
            found = {label for label, own in judge.expand.labels.items() if own in positive}
            if not any(found <= below for below in BELOW.values()):
                raise UsageError(
                    f"judge {judge.name} finds {' and '.join(sorted(positive))} sentences, not hallucinated ones",
                    hint="name detectors of hallucinations: cognibench, detector, factual, nli:MODEL, lettuce:MODEL, "
                    "...",
                )

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The responses of which no detector's artifact has seen anything."""
        hidden: set[str] = set()
        for one in self.contenders:
            if one.artifact:
                plan = planned(one.judge, self.gold, self.gold.cases)
                seen = seen_by(one, plan.cases)
                places = zip(plan.gold, plan.places, strict=True)
                hidden |= {
                    case.id for case, found in places if any(p and plan.cases[p[0]].id in seen for p in found)
                }
        return tuple(case for case in self.gold.cases if case.id not in hidden)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """What each detector is asked."""
        return tuple(planned(one.judge, self.gold, self.cases) for one in self.contenders)

    @property
    def rows(self) -> int:
        """The number of cases of all detectors, for a progress bar."""
        return sum(len(plan.cases) for plan in self.plans)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same table when it is started again, as JSON values."""
        return {**super().fingerprint(), "strictness": self.strictness}

    def foresee(self) -> Estimate:
        """Estimate calls, tokens and cost."""
        parts = []
        for name, one, plan in zip(self.roles, self.contenders, self.plans, strict=True):
            number = len(plan.cases) * one.sampling.samples
            parts.append(ask_of(name, one.asker(), one.models, plan.cases, (number, number)))
        what = f"{len(parts)} detector{'s' if len(parts) > 1 else ''} x {len(self.cases)} responses"
        return Estimate(what=what, asks=tuple(parts), budget=self.budget)

    def table(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> Table:
        """Ask all detectors and score them."""
        scoring = Scoring(gold=self.gold, positive=BELOW[self.strictness], strictness=self.strictness)
        lines = []
        named = zip(self.roles, self.contenders, self.plans, job.contexts.values(), strict=True)
        for name, one, plan, context in named:
            asked = ask(plan, replace(one, context=context).asker(), on_case)
            rows, tiers = (
                rows_at(asked, one.sampling.needed),
                set(one.judge.answer.scale.choices) == set(LABELS),
            )
            lines.append(scoring.line(name, one.model.name, rows, tiers=tiers, spend=context.ledger.spend()))
        self.look.done(self.kind)
        notes = [*(one.note for one in self.contenders), self.look.words, self.left_out_words]
        fixed = [one.name for one in self.contenders if not one.judge.answer.levels]
        if fixed and self.strictness != STRICTNESS:
            strict = f"cannot be set to the strictness {self.strictness}: as for {STRICTNESS}"
            notes.append(f"{', '.join(fixed)} {strict}")
        return scoring.table(
            "cognibench-3",
            lines,
            [(0, other) for other in range(1, len(lines))],
            seed=self.seed,
            alpha=self.look.level,
            notes=list(dict.fromkeys(filter(None, notes))),
        )
