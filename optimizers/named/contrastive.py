"""``contrastive``: examples of recurrent errors, corrected or with why they are wrong (CogniBench 3.1, A.7)."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ...cases import Case
from ...text.escaping import defuse
from ..base import Job
from ..board import Board, Candidate
from ..demonstrations import collect_demos
from ..guidelines import answering, with_more_rules
from ..phrases import PHRASES, feedback_in_words
from ..proposing import Writing, describe_task, exemplar, language_of_job, propose, signature_for
from ..raced import Raced, Track
from ..settings import CountFromOne, CountFromZero
from ..writers import SayWhyFailed

_LENGTHS = 400  # characters; within one such length, cases count as equally long
_CHOICE = 4  # times as many cases as are taken are drawn from: the clearest and shortest


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Cases on which one answer was taken for another."""

    gold: str  # the category of what people said (of a closed label: the label)
    judged: str  # the category of what the judge said
    cases: tuple[Case, ...]  # the cases where it happened, those with it most often first
    counterparts: tuple[Case, ...]  # cases of which people said something of the category ``judged``
    errors: Mapping[str, Sequence[str]]  # by the case's id, in words: its units that were taken so


class SayWhyWrong(dspy.Signature):
    """Say in one short sentence why a judge's answer is wrong and what people answered is right.

    Name what in the case settles it, and write nothing else.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them are positive")
    mistake: str = dspy.InputField(desc="a case, with what people answered and what the judge answered")
    reason: str = dspy.OutputField(desc="why the judge's answer is wrong")


@dataclass(frozen=True, kw_only=True)
class Contrastive(Raced):
    """Examples at the boundary of recurring confusions, kept if dev gets better.

    They are pairs of correct demonstrations, and, among the rules of the instruction, wrong answers with why they
    are wrong: by the reasons that people gave, or else a proposer's.
    """

    steps: CountFromOne = 6  # confusions that are tried
    sample: CountFromOne = 120  # train cases that are judged to find the confusions
    least: CountFromOne = 2  # cases a confusion must show in to count as recurring
    pairs: CountFromOne = 2  # pairs of cases added for a confusion
    draws: CountFromOne = 2  # sets of pairs tried for each confusion; the best on dev stays
    mistakes: CountFromZero = 2  # wrong answers shown for a confusion, with why they are wrong
    whole: bool = True
    patience: CountFromOne = 6
    name: str = "contrastive"
    learns: ClassVar[bool] = False  # the confusions are those of the prompt that it starts from

    @property
    def most_demonstrations(self) -> int:
        """Two cases for each pair that may be added."""
        return 2 * self.pairs * self.steps

    def proposer_calls(self, job: Job) -> int:
        """Return a call for each mistake that is shown, as people may have given no reason for it."""
        return self.mistakes

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Add pairs for the next confusion to the leader, each a confused case and its counterpart, or its errors."""
        start = track.start
        judged_cases: list[Case] = []
        for case, _ in track.known(start):
            judged_cases.append(case)
        recurring = confusions(track.board, start, judged_cases, fewest_cases=self.least)
        if turn > len(recurring):
            return []
        confusion = recurring[turn - 1]
        random_ = random.Random(f"contrastive/{track.job.seed}/{start.id}/{turn}")
        candidates = self._with_pairs(track, confusion, random_)
        return candidates + self._explained(track, confusion)

    def _with_pairs(self, track: Track, confusion: Confusion, random_: random.Random) -> list[Candidate]:
        """Enter the leader with drawn pairs of a confused case and its counterpart as further demonstrations."""
        leader = track.leader
        confused = self._shortest_new(confusion.cases, leader)
        counterparts = self._shortest_new(confusion.counterparts, leader)
        count = min(self.pairs, len(confused), len(counterparts))
        candidates: list[Candidate] = []
        if count == 0:
            return candidates
        source = f"contrastive, {confusion.gold} taken for {confusion.judged}"
        for _ in range(self.draws):
            demonstrations: dict[str, Case] = {}
            drawn_confused = random_.sample(confused, count)
            drawn_counterparts = random_.sample(counterparts, count)
            for confused_case, counterpart in zip(drawn_confused, drawn_counterparts, strict=True):
                demonstrations[confused_case.id] = confused_case
                demonstrations[counterpart.id] = counterpart
            state = leader.state
            prompts = state.predictors
            for name, demos in collect_demos(track.job.judge, prompts, list(demonstrations.values())).items():
                state = state.with_demos(name, prompts[name].demos + demos)
            demo_ids = tuple(sorted(demonstrations.keys() | set(leader.demo_ids)))
            candidates += track.fresh(state, parent=leader, source=source, demo_ids=demo_ids)
        return candidates

    def _shortest_new(self, cases: Sequence[Case], leader: Candidate) -> list[Case]:
        """Return the first cases to draw from that are no demonstrations of the leader."""
        new_cases = [case for case in cases if case.id not in leader.demo_ids]
        return new_cases[: _CHOICE * self.pairs]

    def _explained(self, track: Track, confusion: Confusion) -> list[Candidate]:
        """Enter the leader with wrong answers of the confusion, and why they are wrong, in its instruction."""
        leader = track.leader
        name = answering(track.job)
        rules: list[dict[str, Any]] = []
        for case in confusion.cases[: self.mistakes]:
            wrong = "; ".join(confusion.errors[case.id])
            reason = case.reason or _proposed_reason(track.job, name, exemplar(track.job, name, case, wrong))
            if reason:
                mistake = PHRASES[language_of_job(track.job)]["mistake"].format(error=wrong, reason=reason)
                rule = " ".join(mistake.split())
                rules.append({"rule": defuse(rule), "cases": [case.id]})
        instruction = leader.state.predictors[name].instructions
        longer = with_more_rules(instruction, [rule["rule"] for rule in rules])
        if not rules or len(longer) - len(instruction) > Writing().longest:
            return []
        source = f"contrastive, why {confusion.gold} is not {confusion.judged}"
        state = leader.state.with_instruction(name, longer)
        return track.fresh(state, parent=leader, source=source, params={"rules": rules})


def _proposed_reason(job: Job, predictor: str, mistake: str) -> str:
    """Return why a proposer calls an answer wrong; empty if it gives no usable reply."""
    signature = signature_for(job, SayWhyWrong, SayWhyFailed)
    answers = propose(job, signature, [{"task": describe_task(job, predictor), "mistake": mistake}], 0.0)
    if not answers:
        return ""
    return answers[0]["reason"]


def confusions(
    board: Board, candidate: Candidate, cases: Sequence[Case], *, fewest_cases: int
) -> list[Confusion]:
    """Return a candidate's recurring confusions, the most frequent first; an unusable answer is none."""
    answer = board.judge.answer
    category = answer.scale.category
    # categories of gold and judgement -> id of a case -> the errors in words
    errors: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    by_gold: dict[str, list[Case]] = defaultdict(list)
    for case, outcome in zip(cases, board.score(candidate, cases), strict=True):
        units = answer.units(case.inputs)
        for text, gold, judged in zip(units, outcome.row.gold, outcome.row.predicted, strict=True):
            if gold is not None and judged is not None and category(gold) != category(judged):
                words = feedback_in_words(board.judge, text, gold, judged)
                errors[category(gold), category(judged)][case.id].append(words)
        for name in set(map(category, case.labels)):
            by_gold[name].append(case)
    recurring = [pair for pair in errors if len(errors[pair]) >= fewest_cases]
    recurring.sort(key=lambda pair: (-sum(map(len, errors[pair].values())), pair))
    recurring_confusions: list[Confusion] = []
    for gold, judged in recurring:
        errors_of_cases = errors[gold, judged]
        confused = [case for case in cases if case.id in errors_of_cases]
        confused.sort(key=lambda case: (-len(errors[gold, judged][case.id]), _length_class(case), case.id))
        counterparts = [case for case in by_gold[judged] if case.id not in errors_of_cases]
        counterparts.sort(key=lambda case: (_length_class(case), case.id))
        confusion = Confusion(
            gold=gold,
            judged=judged,
            cases=tuple(confused),
            counterparts=tuple(counterparts),
            errors=errors_of_cases,
        )
        recurring_confusions.append(confusion)
    return recurring_confusions


def _length_class(case: Case) -> int:
    """Return the number of whole lengths that the inputs have; cases of one number count as equally long."""
    characters = 0
    for value in case.inputs.values():
        characters += len(str(value))
    return characters // _LENGTHS


optimizer = Contrastive
