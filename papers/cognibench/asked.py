"""Asking any judge about whole responses, and its answers as one row a response.

Gold is CogniBench's: responses whose sentences have labels. A judge may take such a response as it is, or be
asked about one sentence at a time; either way its answers come back as one row a response, with one label a
sentence, so that all judges are scored on the same sentences. It knows nothing of scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...cases import Case, Label
from ...errors import UsageError
from ...evaluation.rows import Row
from ...gold.goldset import Gold
from ...programs.answers.infer import closed
from ...programs.asking import Asker
from ...programs.judge import Judge
from ...programs.verdicts import Verdict
from ...programs.votes import Sampling
from ...signatures.cognibench import LABELS

Place = tuple[int, int] | None
"""Which case, and which unit of it, a sentence is; None for a sentence that is not asked about (a blank one)."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a judge is asked about some responses."""

    judge: Judge  # the judge
    gold: tuple[Case, ...]  # the responses
    cases: tuple[Case, ...]  # the judge's own cases
    places: tuple[tuple[Place, ...], ...]  # for each response, where each of its sentences is


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A plan with its verdicts, in the order of its cases, and the number of samples of each."""

    plan: Plan
    verdicts: tuple[Verdict, ...]
    samples: int


def sentences_of(case: Case) -> tuple[str, ...]:
    """Return the sentences of a response."""
    return tuple(case.inputs["sentences"])


def planned(judge: Judge, gold: Gold, cases: Sequence[Case]) -> Plan:
    """Plan asking a judge about responses: as they are if it takes them so, else sentence by sentence."""
    own: list[Case] = []
    places: list[tuple[Place, ...]] = []
    for case in cases:
        row = {key: value for key, value in gold.rows[case.id].items() if key not in ("labels", "ratings")}
        parts = [judge.case(part, path=case.source) for part in judge.expanded(row, path=case.source)]
        units = [(len(own) + n, unit) for n, part in enumerate(parts) for unit in range(_units(judge, part))]
        places.append(_placed(judge, case, units))
        own += parts
    return Plan(judge=judge, gold=tuple(cases), cases=tuple(own), places=tuple(places))


def one_by_one(judge: Judge, cases: Sequence[Case]) -> Plan:
    """Plan asking a judge of whole responses about one sentence a call; what was said before it is in the dialogue."""
    own: list[Case] = []
    places: list[tuple[Place, ...]] = []
    for case in cases:
        sentences = sentences_of(case)
        places.append(tuple((len(own) + n, 0) for n in range(len(sentences))))
        own += [_alone(case, sentences, n) for n in range(len(sentences))]
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
    said = [_said(asked, verdict, threshold) for verdict in asked.verdicts]
    rows = []
    for case, places in zip(asked.plan.gold, asked.plan.places, strict=True):
        predicted = tuple(said[place[0]][place[1]] if place else None for place in places)
        used = {place[0] for place in places if place}
        failed = bool(used) and all(asked.verdicts[one].status == "failed" for one in used)
        gold = case.gold if case.gold is not None else (None,) * len(places)
        rows.append(Row(id=case.id, group=case.group, gold=gold, predicted=predicted, failed=failed))
    return tuple(rows)


def _said(asked: Asked, verdict: Verdict, threshold: float) -> tuple[Label | None, ...]:
    if verdict.status == "failed" or not verdict.votes:
        return verdict.values
    answer = closed(asked.plan.judge.answer)
    sampling = Sampling(samples=asked.samples, threshold=threshold)
    said = verdict.probabilities if threshold < 1 else verdict.votes
    found = [answer.combine(one, sampling) for one in said]
    if set(answer.labels) == set(LABELS):
        return tuple(found)
    return tuple(
        None if label is None else "invented" if label in answer.positive else "faithful" for label in found
    )


def _units(judge: Judge, case: Case) -> int:
    return len(judge.answer.units(case.inputs))


def _placed(judge: Judge, case: Case, units: Sequence[tuple[int, int]]) -> tuple[Place, ...]:
    sentences = sentences_of(case)
    if len(units) == len(sentences):
        return tuple(units)
    worded = [bool(sentence.strip()) for sentence in sentences]
    if len(units) != sum(worded):
        raise UsageError(
            f"judge {judge.name} gives {len(units)} labels for a response of {len(sentences)} sentences",
            hint="name judges of CogniBench responses: cognibench, detector, nli:MODEL, lettuce:MODEL, ...",
        )
    left = iter(units)
    return tuple(next(left) if asked else None for asked in worded)


def _alone(case: Case, sentences: Sequence[str], place: int) -> Case:
    before = " ".join(sentences[:place])
    dialogue = str(case.inputs["dialogue"])
    if before:
        dialogue = f"{dialogue}\nassistant: {before}" if dialogue else f"assistant: {before}"
    inputs = {**case.inputs, "dialogue": dialogue, "sentences": [sentences[place]]}
    return Case(inputs=inputs, group=case.group, source=case.source)
