"""``contrastive``: demonstrations mined from the judge's own errors (CogniBench section 3.1).

CogniBench puts examples of incorrect annotations with the right tag into its
prompt, taken from errors the labelling model keeps making. Here: train is judged with the prompt as it
is; the errors are grouped into recurring confusions (the label people gave -> the label judged);
for each, corrected cases are added in pairs that mark the boundary: one that was
confused, with the label people gave, and one that people did give the label it was
confused with. Confusions are added in the order of their frequency, and each stays only
if dev gets better by it. An example has the shape of the task: of a judge of whole responses it is a
whole response with every sentence tagged, of a program with several predictors what gold says of each.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..cases import Case
from .base import Job
from .board import Board, Candidate
from .fewshot import demos_of
from .raced import Arm, Raced, Track

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
    """Settings, beside those of the race."""

    steps: int = 6  # confusions that are tried
    sample: int = 120  # train cases that are judged to find the confusions
    least: int = 2  # cases a confusion must show in to count as recurring
    pairs: int = 2  # pairs of cases added for a confusion
    draws: int = 2  # sets of pairs tried for each confusion; the best on dev stays
    whole: ClassVar[str] = "dev"
    patience: int = 6
    shrink: float = 0.0
    reach: float = 0.0
    name: str = "contrastive"
    proposal: ClassVar[int] = 0
    learns: ClassVar[bool] = False  # the confusions are those of the prompt that it starts from

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return itself."""
        return (self,)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Add pairs for the next confusion to the leader, each a confused case and its counterpart."""
        job, start, current = track.job, track.start, track.leader
        recurring = confusions(track.board, start, [case for case, _ in track.known(start)], least=self.least)
        for confusion in recurring[turn - 1 : turn]:
            random_ = random.Random(f"contrastive/{job.seed}/{start.id}/{turn}")
            confused, others = (
                [case for case in cases if case.id not in current.demo_ids][: _CHOICE * self.pairs]
                for cases in (confusion.cases, confusion.others)
            )
            count = min(self.pairs, len(confused), len(others))
            made = []
            for _ in range(self.draws if count else 0):
                pairs = zip(random_.sample(confused, count), random_.sample(others, count), strict=True)
                added = {case.id: case for pair in pairs for case in pair}
                state, prompts = current.state, current.state.predictors
                for name, demos in demos_of(job.judge, prompts, list(added.values())).items():
                    state = state.with_demos(name, (*prompts[name].demos, *demos))
                source = f"contrastive, {confusion.gold} taken for {confusion.judged}"
                ids = tuple(sorted({*current.demo_ids, *added}))
                made.append(track.fresh(state, parent=current, source=source, demo_ids=ids))
            return [one for one in made if one is not None]
        return []


def confusions(board: Board, candidate: Candidate, cases: Sequence[Case], *, least: int) -> list[Confusion]:
    """Return the recurring confusions of a candidate on ``cases``, the most frequent first.

    An unusable answer is no confusion. Equal frequencies go by the categories' names.
    """
    category = board.judge.answer.scale.category
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    right: dict[str, list[Case]] = defaultdict(list)
    for case, outcome in zip(cases, board.score(candidate, cases), strict=True):
        for gold, judged in zip(outcome.row.gold, outcome.row.predicted, strict=True):
            if gold is not None and judged is not None and category(gold) != category(judged):
                counts[category(gold), category(judged)][case.id] += 1
        for name in {category(value) for value in case.known}:
            right[name].append(case)
    known = {case.id: case for case in cases}
    recurring = [pair for pair, where in counts.items() if len(where) >= least]
    order = sorted(recurring, key=lambda pair: (-sum(counts[pair].values()), pair))
    return [_confusion(pair, counts[pair], known, right) for pair in order]


def _confusion(
    pair: tuple[str, str],
    where: Mapping[str, int],
    known: Mapping[str, Case],
    right: Mapping[str, Sequence[Case]],
) -> Confusion:
    gold, judged = pair
    confused = sorted(where, key=lambda one: (-where[one], _length(known[one]), one))
    others = [case for case in right.get(judged, ()) if case.id not in where]
    return Confusion(
        gold=gold,
        judged=judged,
        cases=tuple(known[one] for one in confused),
        others=tuple(sorted(others, key=lambda case: (_length(case), case.id))),
    )


def _length(case: Case) -> int:
    return sum(len(str(value)) for value in case.inputs.values()) // _LENGTHS
