"""Examples of recurrent errors: corrected ones, and wrong answers with why they are wrong (CogniBench 3.1, A.7)."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import dspy

from ..cases import Case
from ..text.escaping import defuse
from .base import Job
from .board import Board, Candidate
from .fewshot import demos_of
from .guidelines import answering, with_more_rules
from .proposing import Writing, exemplar, propose, task
from .raced import Raced, Track

_LENGTHS = 400  # characters; within one such length, cases count as equally long
_CHOICE = 4  # times as many cases as are taken are drawn from: the clearest and shortest


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Cases on which one answer was taken for another."""

    gold: str  # the category of what people said (of a closed label: the label)
    judged: str  # the category of what the judge said
    cases: tuple[Case, ...]  # the cases where it happened, those with it most often first
    others: tuple[Case, ...]  # counterparts: cases of which people said something of the category ``judged``
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

    steps: int = 6  # confusions that are tried
    sample: int = 120  # train cases that are judged to find the confusions
    least: int = 2  # cases a confusion must show in to count as recurring
    pairs: int = 2  # pairs of cases added for a confusion
    draws: int = 2  # sets of pairs tried for each confusion; the best on dev stays
    mistakes: int = 2  # wrong answers shown for a confusion, with why they are wrong
    whole: bool = True
    patience: int = 6
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
        job, start, current = track.job, track.start, track.leader
        recurring = confusions(track.board, start, [case for case, _ in track.known(start)], least=self.least)
        if turn > len(recurring):
            return []
        confusion = recurring[turn - 1]
        random_ = random.Random(f"contrastive/{job.seed}/{start.id}/{turn}")
        confused, others = (
            [case for case in cases if case.id not in current.demo_ids][: _CHOICE * self.pairs]
            for cases in (confusion.cases, confusion.others)
        )
        count, made = min(self.pairs, len(confused), len(others)), list[Candidate]()
        for _ in range(self.draws if count else 0):
            pairs = zip(random_.sample(confused, count), random_.sample(others, count), strict=True)
            added = {case.id: case for pair in pairs for case in pair}
            state, prompts = current.state, current.state.predictors
            for name, demos in demos_of(job.judge, prompts, list(added.values())).items():
                state = state.with_demos(name, (*prompts[name].demos, *demos))
            source = f"contrastive, {confusion.gold} taken for {confusion.judged}"
            ids = tuple(sorted({*current.demo_ids, *added}))
            made += track.fresh(state, parent=current, source=source, demo_ids=ids)
        return [*made, *self._explained(track, confusion)]

    def _explained(self, track: Track, confusion: Confusion) -> list[Candidate]:
        """Add wrong answers of the confusion, and why they are wrong, to the leader's instruction."""
        job, current, name = track.job, track.leader, answering(track.job)
        rules = []
        for case in confusion.cases[: self.mistakes]:
            wrong, reason = "; ".join(confusion.errors[case.id]), case.reason
            if not reason:
                asked = {"task": task(job, name), "mistake": exemplar(case, wrong)}
                reason = next((answer["reason"] for answer in propose(job, SayWhyWrong, [asked], 0.0)), "")
            if reason:
                rule = " ".join(f"{wrong}, which is wrong: {reason}".split())
                rules.append({"rule": defuse(rule), "cases": [case.id]})
        before = current.state.predictors[name].instructions
        text = with_more_rules(before, [rule["rule"] for rule in rules])
        if not rules or len(text) - len(before) > Writing().longest:
            return []
        source = f"contrastive, why {confusion.gold} is not {confusion.judged}"
        state = current.state.with_instruction(name, text)
        return track.fresh(state, parent=current, source=source, params={"rules": rules})


def confusions(board: Board, candidate: Candidate, cases: Sequence[Case], *, least: int) -> list[Confusion]:
    """Return a candidate's recurring confusions, the most frequent first; an unusable answer is none."""
    answer = board.judge.answer
    category = answer.scale.category
    errors: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    by_gold: dict[str, list[Case]] = defaultdict(list)
    for case, outcome in zip(cases, board.score(candidate, cases), strict=True):
        units = answer.units(case.inputs)
        for text, gold, judged in zip(units, outcome.row.gold, outcome.row.predicted, strict=True):
            if gold is not None and judged is not None and category(gold) != category(judged):
                words = answer.scale.feedback(text, gold, judged)
                errors[category(gold), category(judged)][case.id].append(words)
        for name in {category(value) for value in case.known}:
            by_gold[name].append(case)
    known = {case.id: case for case in cases}
    recurring = [pair for pair, where in errors.items() if len(where) >= least]
    named = []
    for pair in sorted(recurring, key=lambda pair: (-sum(map(len, errors[pair].values())), pair)):
        gold, judged = pair
        where = errors[pair]
        order = sorted(where, key=lambda id_: (-len(where[id_]), _size_of(known[id_]), id_))
        confused = tuple(known[id_] for id_ in order)
        others = [case for case in by_gold[judged] if case.id not in where]
        others.sort(key=lambda case: (_size_of(case), case.id))
        named.append(Confusion(gold=gold, judged=judged, cases=confused, others=tuple(others), errors=where))
    return named


def _size_of(case: Case) -> int:
    return sum(len(str(value)) for value in case.inputs.values()) // _LENGTHS
