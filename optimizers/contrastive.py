"""Corrected examples of recurrent errors (CogniBench, section 3.1)."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..cases import Case
from .board import Board, Candidate
from .fewshot import demos_of
from .raced import Raced, Track, Whole

_LENGTHS = 400  # characters; within one such length, cases count as equally long
_CHOICE = 4  # times as many cases as are taken are drawn from: the clearest and shortest


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Cases on which one answer was taken for another."""

    gold: str  # the category of what people said (of a closed label: the label)
    judged: str  # the category of what the judge said
    cases: tuple[Case, ...]  # the cases where it happened, those with it most often first
    others: tuple[Case, ...]  # counterparts: cases of which people said something of the category ``judged``


@dataclass(frozen=True, kw_only=True)
class Contrastive(Raced):
    """Pairs of correct examples at the boundary of recurring confusions, each kept if dev gets better."""

    steps: int = 6  # confusions that are tried
    sample: int = 120  # train cases that are judged to find the confusions
    least: int = 2  # cases a confusion must show in to count as recurring
    pairs: int = 2  # pairs of cases added for a confusion
    draws: int = 2  # sets of pairs tried for each confusion; the best on dev stays
    whole: Whole = "dev"
    patience: int = 6
    name: str = "contrastive"
    proposal: ClassVar[int] = 0
    learns: ClassVar[bool] = False  # the confusions are those of the prompt that it starts from

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Add pairs for the next confusion to the leader, each a confused case and its counterpart."""
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
        count, made = min(self.pairs, len(confused), len(others)), []
        for _ in range(self.draws if count else 0):
            pairs = zip(random_.sample(confused, count), random_.sample(others, count), strict=True)
            added = {case.id: case for pair in pairs for case in pair}
            state, prompts = current.state, current.state.predictors
            for name, demos in demos_of(job.judge, prompts, list(added.values())).items():
                state = state.with_demos(name, (*prompts[name].demos, *demos))
            source = f"contrastive, {confusion.gold} taken for {confusion.judged}"
            ids = tuple(sorted({*current.demo_ids, *added}))
            new = track.fresh(state, parent=current, source=source, demo_ids=ids)
            made += [new] if new else []
        return made


def confusions(board: Board, candidate: Candidate, cases: Sequence[Case], *, least: int) -> list[Confusion]:
    """Return a candidate's recurring confusions, the most frequent first; an unusable answer is none."""
    category = board.judge.answer.scale.category
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by_gold: dict[str, list[Case]] = defaultdict(list)
    for case, outcome in zip(cases, board.score(candidate, cases), strict=True):
        for gold, judged in zip(outcome.row.gold, outcome.row.predicted, strict=True):
            if gold is not None and judged is not None and category(gold) != category(judged):
                counts[category(gold), category(judged)][case.id] += 1
        for name in {category(value) for value in case.known}:
            by_gold[name].append(case)
    known = {case.id: case for case in cases}
    recurring = [pair for pair, where in counts.items() if len(where) >= least]
    made = []
    for pair in sorted(recurring, key=lambda pair: (-counts[pair].total(), pair)):
        gold, judged = pair
        where = counts[pair]
        confused = sorted(where, key=lambda one: (-where[one], _size_of(known[one]), one))
        others = [case for case in by_gold[judged] if case.id not in where]
        others.sort(key=lambda case: (_size_of(case), case.id))
        cases_ = tuple(known[one] for one in confused)
        made.append(Confusion(gold=gold, judged=judged, cases=cases_, others=tuple(others)))
    return made


def _size_of(case: Case) -> int:
    return sum(len(str(value)) for value in case.inputs.values()) // _LENGTHS
