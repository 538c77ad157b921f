"""Optimizers and arms that choose demonstrations: by chance, and from the judge's errors (CogniBench section 3.1)."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dspy

from ..cases import Case
from ..errors import OptimizerError
from ..programs.judge import Judge
from ..programs.remembering import Remembered
from ..programs.state import Demo, PromptState
from ..text.terms import count_tokens
from .base import Job
from .board import Board, Candidate
from .drawing import draw_contrasting, draw_demos
from .raced import Raced, Track


@dataclass(frozen=True, kw_only=True)
class FewShot(Raced):
    """Few-shot demonstration selection, beside the settings of the race."""

    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    sets: int = 3  # sets drawn a step, each of another size
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "fewshot"
    proposal: ClassVar[int] = 0  # sets are drawn, not written

    def added(self, job: Job) -> float:
        """Return about how many tokens the first sets take."""
        length = _length(job)
        return sum(min(self.tokens, size * length) for size in self.sizes[: self.sets]) / self.sets

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Draw sets for the leader."""
        job, leader = track.job, track.text
        names = leader.state.predictors.keys()
        pool = [case for case in pool_of(job) if job.judge.demos(case).keys() & names]
        if not pool:
            return []
        random_, answer = random.Random(f"fewshot/{job.seed}/{turn}"), job.judge.answer
        hard = {case.id for case, _ in track.errors(leader)}
        made = []
        for number, size in enumerate(self._sizes(track, pool, turn)):
            cases = (
                draw_contrasting(pool, size, answer, random_, hard)
                if number % 2
                else draw_demos(pool, size, answer, random_)
            )
            new = track.fresh(
                with_cases(job.judge, leader.state, cases),
                parent=leader,
                source=f"{self.name}, {len(cases)} demonstrations",
                demo_ids=tuple(sorted({case.id for case in cases})),
                params={"demonstrations": len(cases)},
            )
            made += [new] if new else []
        return made

    def _sizes(self, track: Track, pool: Sequence[Case], turn: int) -> list[int]:
        """Return the sizes of a step's sets: all in turn, and at every other step the one that serves best."""
        most = max(1, int(self.tokens // max(1.0, _length(track.job))))
        sizes = list(dict.fromkeys(min(size, len(pool), most) for size in self.sizes if size))
        first = (turn - 1) * self.sets
        if turn % 2 == 0 and first >= len(sizes):
            for standing in track.race.ranking():
                if ids := track.board.candidates[standing.id].demo_ids:
                    return [min(len(ids), most)] * self.sets
        return [sizes[(first + at) % len(sizes)] for at in range(self.sets)]


@dataclass(frozen=True, kw_only=True)
class Nearest(Raced):
    """Labelled rows that stay with the prompt: each call shows those most like its own row."""

    sizes: tuple[int, ...] = (8, 16, 4)  # rows a call, one number a step
    tokens: int = 4_000  # the rows of a call take at most about so many
    steps: int = 3
    name: str = "nearest"
    proposal: ClassVar[int] = 0

    def added(self, job: Job) -> float:
        """Return about how many tokens the rows of a call take."""
        return min(self.tokens, self.sizes[0] * _length(job))

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Give the leader all labelled rows of train to remember."""
        if turn > len(self.sizes):
            return []
        shown, leader = self.sizes[turn - 1], track.text
        state = remembering(track.job.judge, pool_of(track.job), leader.state, shown, self.tokens)
        source, params = f"{self.name}, the {shown} most alike of the labelled rows", {"nearest": shown}
        made = track.fresh(state, parent=leader, source=source, demo_ids=(), params=params)
        return [made] if made else []


NEAREST = Nearest()
"""The settings of a version that is given rows to remember."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """The arm that shows the leader's demonstrations in another order: models attend most to the last ones."""

    name: str = "order"

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Shuffle the demonstrations of each predictor."""
        leader, random_ = track.leader, random.Random(f"order/{track.job.seed}/{turn}")
        state = leader.state
        for name, prompt in leader.state.predictors.items():
            demos = tuple(random_.sample(prompt.demos, len(prompt.demos)))
            state = state.with_demos(name, demos, prompt.remembered)
        made = track.fresh(state, parent=leader, source="order")
        return [made] if made else []


def _length(job: Job) -> float:
    """Return how many tokens a demonstration has on average."""
    pool = pool_of(job)
    demos = [demo for case in pool for demo in job.judge.demos(case).values()]
    return sum(count_tokens(str(value)) for demo in demos for value in demo.values()) / len(pool)


def pool_of(job: Job) -> list[Case]:
    """Return the training cases that can be demonstrations."""
    if not job.judge.answer.has_examples:
        raise OptimizerError(
            f"gold of {job.judge.name} makes no demonstrations: what passes is not known before it is written",
            hint="use opro, or bootstrap, which shows what passed",
        )
    return job.labelled_train()


def remembering(
    judge: Judge, cases: Sequence[Case], state: PromptState, shown: int, tokens: int
) -> PromptState:
    """Return a prompt whose predictors remember what gold says of cases, and show ``shown`` rows with each call."""
    demos = {case.id: judge.demos(case) for case in cases}
    for name, predictor in judge.basic().named_predictors():
        rows = {id_: of_case[name] for id_, of_case in demos.items() if name in of_case}
        inputs = tuple(predictor.signature.input_fields)
        judged = tuple(field for field in judge.answer.unit_fields if field in inputs)
        if rows and type(predictor) is dspy.Predict:  # another class may ask in a way of its own
            kept = Remembered(rows=rows, inputs=inputs, fields=judged or inputs, shown=shown, tokens=tokens)
            state = state.with_demos(name, (), kept)
    return state


def with_cases(judge: Judge, state: PromptState, cases: Sequence[Case]) -> PromptState:
    """Return a prompt whose predictors have these cases as demonstrations, in this order."""
    demos = demos_of(judge, state.predictors, cases)
    for name in state.predictors:
        state = state.with_demos(name, demos.get(name, ()))
    return state


def demos_of(judge: Judge, names: Iterable[str], cases: Sequence[Case]) -> dict[str, tuple[Demo, ...]]:
    """Return what gold says about ``cases`` as demonstrations, in their order, of those predictors that get any."""
    shown: list[Mapping[str, Any]] = [judge.demos(case) for case in cases]
    found = {name: tuple(one[name] for one in shown if name in one) for name in names}
    return {name: demos for name, demos in found.items() if demos}


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
    """Pairs that mark the boundary of recurring confusions, the most frequent first, each kept if dev gets better."""

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
