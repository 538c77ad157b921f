"""The search that all racing optimizers share: arms propose prompts in turn, and calls go to those that may be best."""

import random
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

from ..cases import Case
from ..errors import BudgetExhausted
from ..programs.state import PromptState
from ..programs.verdicts import Verdict
from ..text.sentences import without_repeats
from ..text.wording import normalised
from .base import Job, Optimizer
from .board import Board, Candidate
from .drawing import blocks, order_by_strata
from .objective import Outcome
from .proposing import CopyGuard, Writing, lessons_of
from .settings import CountFromOne, CountFromZero, NumberFromZero, PositiveNumber
from .standing import Standing
from .worth import ROWS_PER_POINT

_FRUITLESS = 2
"""After so many turns in a row without a new leader, an arm gives way to others."""
_SAME_SHARE = 0.01
"""Probabilities of a label that differ by no more are about the same."""
ENOUGH = 60
"""So many cases without an error make an error in twenty unlikely (the rule of three)."""


@dataclass(kw_only=True)
class Track:
    """A race: its prompts, the order in which all of them meet the cases, and the source of an arm's proposals."""

    job: Job
    board: Board  # all prompts
    start: Candidate  # the prompt that the search began with
    order: Sequence[Case]
    # cases that a prompt meets at once; in a race by wholes, the cases that all prompts are compared on
    block: int
    shrink: float = 5.0  # as in :func:`.standing.standings`
    reach: float = 1.0  # standard errors of the upper bound, and of the lower bound by which a prompt leads
    rows_per_point: float = ROWS_PER_POINT  # of the basic prompt, whose tokens a gain of .01 may take
    by_wholes: bool = False  # whether all prompts meet the same first block, and the best of it leads
    step: int = 0  # the step of the search, from 1
    around: Candidate | None = None  # the prompt around which the metric is taken to first order
    _fitted: tuple[object, dict[str, Standing]] = ((), {})

    def standings(self) -> dict[str, Standing]:
        """Return prompt id -> its standing, fitted anew after each further score."""
        key = self.board.pairs, len(self.board.candidates), self.around
        fitted_key, standings = self._fitted
        if fitted_key != key:
            standings = self.board.standings(self.around, self.shrink)
            self._fitted = key, standings
        return standings

    @property
    def prompts(self) -> list[Candidate]:
        """All candidates under no setting but that of their requests, without retired ones and those with questions."""
        prompts: list[Candidate] = []
        for candidate in self.board.candidates.values():
            is_of_request = candidate.setting == candidate.setting.of_request
            if is_of_request and candidate.id not in self.board.retired and not self.asks_more(candidate):
                prompts.append(candidate)
        return prompts

    def best(self, count: int | None = None) -> list[tuple[Candidate, float]]:
        """Return the best few prompts with their values, the earlier first among equals."""
        values: list[tuple[Candidate, float]] = []
        if self.by_wholes:
            first_block = self.order[: self.block]
            for candidate in self.board.candidates.values():
                if self.board.scored(candidate, first_block):
                    values.append((candidate, self.board.value(candidate, first_block)))
        else:
            for candidate_id, standing in self.standings().items():
                values.append((self.board.candidates[candidate_id], standing.mean))
        return sorted(values, key=lambda pair: -round(pair[1], 9))[:count]

    def _leader(self, candidates: Sequence[Candidate], reach: float) -> Candidate:
        """Return the prompt with the highest ``mean + reach * error``."""
        if self.by_wholes:
            ids = {candidate.id for candidate in candidates}
            for candidate, _ in self.best():
                if candidate.id in ids:
                    return candidate
            return self.start
        standings = self.standings()

        def bound(candidate: Candidate) -> float:
            standing = standings[candidate.id]
            return round(standing.mean + reach * standing.error, 9)

        ranked = [candidate for candidate in candidates if candidate.id in standings]
        return max(ranked, key=bound)

    @property
    def leader(self) -> Candidate:
        """The prompt that leads the race."""
        return self._leader(list(self.board.candidates.values()), -self.reach)

    def shows_other_rows(self, candidate: Candidate) -> bool:
        """Say whether a prompt has other demonstrations, or shows other rows, than the start."""
        return candidate.state.shown != self.start.state.shown

    def asks_more(self, candidate: Candidate) -> bool:
        """Say whether a prompt asks other questions beside the judge's own than the start."""
        return candidate.state.questions != self.start.state.questions

    @property
    def text(self) -> Candidate:
        """The leader of the prompts with the demonstrations of the start, under which a row takes the fewest tokens."""
        # Instructions are written for this prompt and compared by it. Demonstrations are added to the best one.
        texts: list[Candidate] = []
        for candidate in self.board.candidates.values():
            same_votes = replace(candidate.setting, form=None) == replace(self.start.setting, form=None)
            if same_votes and not self.shows_other_rows(candidate) and not self.asks_more(candidate):
                texts.append(candidate)
        return self._leader(texts, -self.reach)

    def open(self, candidate: Candidate) -> list[Case]:
        """Return the cases that a prompt has not met yet, in order, without cases that it shows."""
        outcomes = self.board.outcomes(candidate)
        cases: list[Case] = []
        for case in self.order:
            if case.id not in outcomes and case.id not in candidate.demo_ids:
                cases.append(case)
        return cases

    def run(self, candidate: Candidate) -> None:
        """Let a prompt meet a block of cases."""
        self.board.score(candidate, self.open(candidate)[: self.block])

    def advance(self, count: int, *, texts_only: bool = False) -> None:
        """Give ``count`` blocks away, each to the prompt with the highest upper bound; a long prompt takes several.

        Args:
            count: the number of blocks.
            texts_only: whether prompts with other demonstrations than the start get none.
        """
        basic_tokens = self._tokens(self.board.basic)
        given_blocks = 0.0
        while given_blocks < count:
            standings = self.standings()
            runnable: list[Candidate] = []
            for candidate in self.prompts:
                if texts_only and self.shows_other_rows(candidate):
                    continue
                if candidate.id in standings and self.open(candidate):
                    runnable.append(candidate)
            if not runnable:
                return
            chosen = self._leader(runnable, self.reach)
            given_blocks += max(1.0, self._tokens(chosen) / basic_tokens)
            self.run(chosen)

    def _tokens(self, candidate: Candidate) -> float:
        """Return the tokens of a row under a prompt, at least 1."""
        spent = self.board.spent(candidate, self.order)
        if spent is None:
            return 1.0
        return max(1.0, spent.tokens)

    def answers_like_parent(self, candidate: Candidate) -> bool:
        """Say whether a prompt answers like the one that it was made from, on all cases that both met."""
        parent = self.board.candidates.get(candidate.parent or "")
        if parent is None:
            return False
        parent_outcomes = self.board.outcomes(parent)
        shared = 0
        for case_id, outcome in self.board.outcomes(candidate).items():
            if case_id in parent_outcomes:
                shared += 1
                if not is_alike(outcome.verdict, parent_outcomes[case_id].verdict):
                    return False
        return shared > 0

    def complete(self) -> None:
        """Let the leader meet all cases, and each prompt that becomes the leader by that."""
        leader = self.leader
        while cases := self.open(leader):
            self.board.score(leader, cases)
            leader = self.leader

    def known(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return the train cases that a prompt has met, with their outcomes; optimizers never see those of dev."""
        dev_ids = {case.id for case in self.job.dev}
        outcomes = self.board.outcomes(candidate)
        pairs: list[tuple[Case, Outcome]] = []
        for case in self.order:
            is_shown = case.id in candidate.demo_ids
            if case.id in outcomes and case.id not in dev_ids and not is_shown:
                pairs.append((case, outcomes[case.id]))
        return pairs

    def feedback(self, candidate: Candidate, step: str) -> list[tuple[Case, str]]:
        """Return the cases that a candidate got wrong, each with what was wrong with the predictor ``step``."""
        return lessons_of(self.job, self.board.objective, step, self.known(candidate))

    def fresh(self, state: PromptState, **arguments: Any) -> list[Candidate]:
        """Enter a prompt, with the arguments of :meth:`Board.add`, and return it; nothing if the board has it."""
        count = len(self.board.candidates)
        candidate = self.board.add(state, step=self.step, **arguments)
        if len(self.board.candidates) == count:
            return []
        return [candidate]

    def write(
        self, writing: Writing, parent: Candidate, proposals: Sequence[Mapping[str, str]]
    ) -> list[Candidate]:
        """Enter the usable proposals, each as instructions of predictors of ``parent``, and return the candidates.

        A proposal is usable if it is new, not too long, and not copied from train.
        """
        texts_on_board = {_plain_texts(candidate.state) for candidate in self.board.candidates.values()}
        candidates: list[Candidate] = []
        for proposal in proposals:
            instructions: dict[str, str] = {}
            state = parent.state
            for name, text in proposal.items():
                instruction = without_repeats(text)
                if 0 < len(instruction) <= writing.longest:
                    instructions[name] = instruction
                    state = state.with_instruction(name, instruction)
            texts = _plain_texts(state)
            if texts in texts_on_board:
                continue
            texts_on_board.add(texts)
            copied_share = max(self._guard.share(instruction) for instruction in instructions.values())
            if copied_share > writing.copied:
                self.job.note(
                    f"step {self.step}: an instruction refused, {copied_share:.0%} of it is copied from train"
                )
                continue
            source = writing.name
            if copied_share:
                source += f", {copied_share:.1%} copied from train"
            params = None
            if len(state.predictors) > 1:
                params = {"predictors": sorted(instructions)}
            candidates.append(
                self.board.add(state, parent=parent, source=source, step=self.step, params=params)
            )
        return candidates

    @cached_property
    def _guard(self) -> CopyGuard:
        """The measure of copies from train; the basic prompt's own text is no copy."""
        return CopyGuard(self.job.train, list(_instructions(self.board.basic.state).values()))


def _plain_texts(state: PromptState) -> tuple[str, ...]:
    """Return the instructions of all predictors without differences in case, spacing and form of characters."""
    return tuple(map(normalised, _instructions(state).values()))


def _instructions(state: PromptState) -> dict[str, str]:
    """Return predictor -> instruction, in the order of their names."""
    return {name: state.predictors[name].instructions for name in sorted(state.predictors)}


def is_alike(first: Verdict, second: Verdict) -> bool:
    """Say whether two verdicts on a case have the same values, with about the same probabilities."""
    if first.values != second.values or len(first.probabilities) != len(second.probabilities):
        return False
    for shares, second_shares in zip(first.probabilities, second.probabilities, strict=True):
        for label in shares.keys() | second_shares.keys():
            if abs(shares.get(label, 0.0) - second_shares.get(label, 0.0)) > _SAME_SHARE:
                return False
    return True


class Arm(Protocol):
    """A way to make new prompts."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    @property
    def product(self) -> str:
        """The noun for what it adds to a prompt, in a sentence."""
        ...

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts on the board, made for the ``turn``-th time, from 1; none without an idea."""
        ...

    def proposer_calls(self, job: Job) -> int:
        """Return the most calls to the proposer that the first turn takes."""
        ...


class Turns:
    """The order of the arms: the arm that found the leader comes first, and an arm that fails twice goes to the end."""

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._order = list(arms)
        self._turns = Counter[str]()  # turns of each arm
        self._fruitless = Counter[str]()  # turns of each arm in a row without a new leader
        self._last: list[tuple[Arm, list[Candidate]]] = []  # the arms of the last turn, with their candidates
        self.candidates: dict[str, list[Candidate]] = defaultdict(list)  # by arm
        self.since_lead = Counter[str]()  # candidates of each arm, of those before one that led only half
        # by arm and turn, the ids of its candidates
        self._batches: dict[str, list[list[str]]] = defaultdict(list)

    @property
    def arms(self) -> list[Arm]:
        """The arms that still have turns, in their order."""
        return list(self._order)

    def drop(self, arm: Arm) -> None:
        """Give an arm no further turn."""
        self._order.remove(arm)

    def order_by(self, merit: Mapping[str, float]) -> None:
        """Put the arms in the order of their merit, the highest first; merit is by the name of the arm."""
        self._order.sort(key=lambda arm: -merit[arm.name])

    def is_silent(self, arm: Arm) -> bool:
        """Say whether an arm proposed nothing in its last turn."""
        return self._turns[arm.name] > len(self._batches[arm.name])

    def alike_turns(self, arm: Arm, alike_ids: Collection[str]) -> int:
        """Return how many of an arm's last turns in a row gave nothing but candidates among these."""
        turns = 0
        for ids in reversed(self._batches[arm.name]):
            if not all(candidate_id in alike_ids for candidate_id in ids):
                break
            turns += 1
        return turns

    @property
    def untried(self) -> list[Arm]:
        """The arms that have had no turn."""
        return [arm for arm in self._order if not self._turns[arm.name]]

    def propose(self, track: Track, *, late: bool, first: Collection[str] = ()) -> list[Candidate]:
        """Return the candidates of the first arm that has some, after those of the arms beside it.

        Args:
            track: the race.
            late: whether an arm without a turn proposes beside it.
            first: names of arms without a turn that propose beside it, too.
        """
        self._last = []
        self._ask(track, list(self._order))
        for arm in self.untried:
            if arm.name in first:
                self._ask(track, [arm])
        if late:
            self._ask(track, self.untried)
        # Candidates of arms beside it are met first, because the budget may end at any case.
        candidates: list[Candidate] = []
        for _, of_arm in reversed(self._last):
            candidates.extend(of_arm)
        return candidates

    def _ask(self, track: Track, arms: Sequence[Arm]) -> None:
        """Give arms a turn until one of them proposes something."""
        for arm in arms:
            self._turns[arm.name] += 1
            candidates = arm.propose(track, self._turns[arm.name])
            if candidates:
                self._last.append((arm, candidates))
                self.candidates[arm.name] += candidates
                self._batches[arm.name].append([candidate.id for candidate in candidates])
                return

    def note(self, *leaders: Candidate) -> None:
        """Order the arms by the leader after the last turn; each kind of prompt may have a leader."""
        leading_ids = {leader.id for leader in leaders}
        for arm, candidates in self._last:
            found_leader = any(candidate.id in leading_ids for candidate in candidates)
            self.since_lead[arm.name] += len(candidates)
            if found_leader:
                self.since_lead[arm.name] //= 2  # it may lead by luck
                self._fruitless[arm.name] = 0
                self._order.remove(arm)
                self._order.insert(0, arm)
                continue
            self._fruitless[arm.name] += 1
            if self._fruitless[arm.name] == _FRUITLESS:
                self._fruitless[arm.name] = 0
                self._order.remove(arm)
                self._order.append(arm)


class Finalists:
    """The prompts that a search leaves for the choice, and the calls that are reserved for them.

    At most a third of the calls that are left is reserved, but at least one pass over dev, for a half-scored prompt.
    """

    def __init__(self, job: Job, board: Board, count: int, source: str = "") -> None:
        self._job = job
        self._board = board
        self._count = count
        self._source = source
        meter = job.context.meter
        self._held_before = meter.answers_kept_back
        self._pass_calls = len(job.dev) * job.calls_per_case
        passes = count + 1  # a further pass for a prompt that is left half scored
        if not board.scored(board.basic, job.dev):
            passes += 1
        self._most_calls = passes * self._pass_calls
        calls_left = meter.calls_left()
        if calls_left is not None:
            self._most_calls = min(self._most_calls, max(self._pass_calls, calls_left // 3))

    def keep(self) -> None:
        """Reserve the calls that the present finalists still need, and a pass for each finalist yet to come."""
        dev = self._job.dev
        finalists = self._first()
        open_calls = (self._count - len(finalists)) * self._pass_calls
        for candidate in [self._board.basic] + finalists:
            open_cases = len(dev) - self._board.met(candidate, dev)
            open_calls += open_cases * self._job.calls_under(candidate.setting)
        needed_calls = max(self._pass_calls, open_calls)
        self._job.context.meter.keep_back(self._held_before + min(self._most_calls, needed_calls))

    def _first(self) -> list[Candidate]:
        """Return the candidates that could be best, by gain and error, then unscored ones; DSPy's choice first."""
        candidates: list[Candidate] = []
        for candidate in self._board.candidates.values():
            is_of_source = not self._source or candidate.source == self._source
            is_open = candidate.id not in self._board.retired
            if candidate.id != self._board.basic.id and is_of_source and is_open:
                candidates.append(candidate)
        dspy_choice: list[Candidate] = []
        if self._source and candidates:
            dspy_choice = [candidates.pop()]
        standings = self._board.standings()
        scored: list[Candidate] = []
        unscored: list[Candidate] = []
        for candidate in candidates:
            if candidate.id in standings:
                scored.append(candidate)
            else:
                unscored.append(candidate)

        def upper_bound(candidate: Candidate) -> float:
            standing = standings[candidate.id]
            return round(standing.mean + standing.error - self._board.toll(candidate), 9)

        scored.sort(key=lambda candidate: -upper_bound(candidate))
        by_prompt: dict[str, Candidate] = {}  # one of those that differ only in a threshold or weights
        for candidate in dspy_choice + scored + unscored:
            if candidate.setting.asks_model and candidate.asked_id != self._board.basic.asked_id:
                by_prompt.setdefault(candidate.asked_id, self._board.prompt_of(candidate))
        return list(by_prompt.values())[: self._count]

    @contextmanager
    def after(self) -> Iterator[None]:
        """Reserve calls while the block searches, then score the finalists, however the budget ended the search."""
        meter = self._job.context.meter
        search_end: BudgetExhausted | None = None
        try:
            self.keep()
            yield
        except BudgetExhausted as exhausted:
            search_end = exhausted
        finally:
            meter.keep_back(self._held_before)
        board = self._board
        dev = self._job.dev
        board.score(board.basic, dev)  # all gains are estimated against the basic prompt
        for candidate in self._first():
            board.score(candidate, dev)
        best = board.best(dev)
        while best is not None and not board.scored(best, dev):
            board.score(board.prompt_of(best), dev)
            board.score(best, dev)
            best = board.best(dev)
        if search_end is None:
            return
        if search_end.limit == "calls":  # reserved calls are spent now, or free for the rest of the job
            raise BudgetExhausted(
                "calls", search_end.allowed, remaining=meter.calls_left_in_all
            ) from search_end
        raise search_end


@dataclass(frozen=True, kw_only=True)
class Raced(Optimizer):
    """The settings of a race. A subclass has the arms, and is usually an arm itself."""

    steps: CountFromOne = 30  # at most this many steps
    sample: CountFromOne = 200  # train cases of the race, beside all of dev; no prompt is scored on more
    # cases of the race on which the basic prompt is scored first; every other prompt is compared with it
    opening: CountFromOne = 40
    block: CountFromOne = 8  # cases in a block of the race; each new prompt meets one
    extra: CountFromZero = 4  # further blocks a step, for the prompts with the highest upper bounds
    growth: NumberFromZero = 0.5  # the number of further blocks grows by this much each step
    reach: NumberFromZero = (
        1.0  # standard errors of the upper bound, and of the lower bound by which a prompt leads
    )
    shrink: PositiveNumber = 5.0  # cases for which its parent's mean counts beside a prompt's own
    patience: CountFromOne = 8  # steps without a new leader or another choice before it stops
    finalists: CountFromOne = 2  # prompts that are scored on all of dev at the end, beside the basic one
    name: str = "race"
    # in place of blocks, each new prompt is scored on all of dev, and the leader on train too
    whole: bool = False
    product: ClassVar[str] = "prompt"
    first: ClassVar[tuple[str, ...]] = ()  # arms that have a turn in the first step beside the first arm
    # whether it proposes from errors of the leader; with ``whole`` the leader then meets train, too
    learns: ClassVar[bool] = True

    @property
    def races(self) -> bool:
        """Whether the basic prompt is one of the race, and is scored as far as that needs it."""
        return True

    def least_cases(self, job: Job) -> int:
        """Return the cases of the race: it ends where the basic prompt makes no error on them."""
        return min(len(job.train), self.sample) + len(job.dev)

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return the arms in the order of their first turns; by default the optimizer is its only arm."""
        return (self,)

    @abstractmethod
    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts, as :meth:`Arm.propose` does."""

    def proposer_calls(self, job: Job) -> int:
        """Return the most calls to the proposer that the first turn takes; none where prompts are drawn."""
        return 0

    def minimum(self, job: Job) -> int:
        """Return the calls for the opening, the first proposals, the first block of one of them, and both on dev."""
        cases = min(self.sample, len(job.train))
        if not self.whole:
            cases = min(self.opening, cases) + min(self.block, cases)
        return (cases + 2 * len(job.dev)) * job.calls_per_case + self.proposals_of_first_step(job)

    def proposals_of_first_step(self, job: Job) -> int:
        """Return the most calls to the proposer before the first new prompt is tried."""
        calls = 0
        for position, arm in enumerate(self.arms(job)):
            if position == 0 or arm.name in self.first:
                calls += arm.proposer_calls(job)
        return calls

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start``."""
        finalists = Finalists(job, board, self.finalists)
        with finalists.after():
            track = self._track(job, board, start)
            if start.id != board.basic.id or not is_flawless(track):
                self._search(track, finalists)

    def _track(self, job: Job, board: Board, start: Candidate) -> Track:
        """Return the race after its opening: the basic prompt and the start have met their first cases."""
        answer = job.judge.answer
        train = order_by_strata(job.train, answer, random.Random(f"race/{job.seed}"))[: self.sample]
        dev = order_by_strata(job.dev, answer, random.Random(f"dev/{job.seed}"))
        if self.whole:
            order = dev + train
            block = len(dev)
            opening = len(dev)
        else:
            order = order_by_strata(train + dev, answer, random.Random(f"order/{job.seed}"))
            block = max(1, self.block)
            opening = max(1, self.opening)
        track = Track(
            job=job,
            board=board,
            start=start,
            order=order,
            block=block,
            shrink=self.shrink,
            reach=self.reach,
            by_wholes=self.whole,
        )
        board.score(board.basic, order[:opening])
        track.run(start)
        if self.whole:
            track.complete()
        return track

    def _search(self, track: Track, finalists: Finalists) -> None:
        """Run the steps of the race: arms propose, blocks are given away, and the leader decides whose turn is next."""
        job = track.job
        board = track.board
        meter = job.context.meter
        turns = Turns(self.arms(job))
        calls_at_start = meter.calls_left()
        last_choice = (track.start.id, track.start.id)
        steps_without_news = 0
        for step in range(1, self.steps + 1):
            board.stop_reason = self.reason_to_stop(track, turns)
            if board.stop_reason:
                job.note(board.stop_reason)
                break
            track.step = step
            untried_count = len(turns.untried)
            calls_left = meter.calls_left()
            is_half_spent = (
                calls_at_start is not None and calls_left is not None and 2 * calls_left < calls_at_start
            )
            is_stuck = steps_without_news >= self.patience
            late = is_half_spent or is_stuck or self.steps - step < untried_count
            candidates = turns.propose(track, late=late, first=self.first if step == 1 else ())
            for candidate in candidates:
                self.try_out(track, candidate)
                value = board.value(candidate, track.order)
                job.note(f"step {step}: {board.name(candidate)}", value, kind="candidate")
            if not candidates and self.whole:
                break  # the leader has met all cases
            finalists.keep()
            if not self.whole:
                self.advance(track, candidates, round(self.extra + self.growth * step))
            elif self.learns:
                track.complete()
            leader = track.leader
            turns.note(*self.leaders(track))
            self._compare_with_basic(track, leader)
            best = board.best(job.dev) or track.start
            choice = (best.id, leader.id)
            has_news = choice != last_choice or len(turns.untried) < untried_count
            steps_without_news = 0 if has_news else steps_without_news + 1
            last_choice = choice
            job.note(
                f"step {step}: best prompt so far {board.name(best)}, tried on {board.met(best, job.dev)} dev cases",
                board.value(best, job.dev),
                kind="step",
            )
            if steps_without_news >= self.patience and not turns.untried:
                break

    def reason_to_stop(self, track: Track, turns: Turns) -> str:
        """Return why no further step is worth its calls, in words; empty if one may be. Arms may lose their turns."""
        return ""

    def try_out(self, track: Track, candidate: Candidate) -> None:
        """Let a new prompt meet its first cases."""
        track.run(candidate)

    def advance(self, track: Track, candidates: Sequence[Candidate], count: int) -> None:
        """Give ``count`` blocks to the prompts that may be best, after a step that made some candidates."""
        track.advance(count)

    def leaders(self, track: Track) -> list[Candidate]:
        """Return the prompts that an arm has to find to be as good as any."""
        return [track.leader]

    def _compare_with_basic(self, track: Track, leader: Candidate) -> None:
        """Score the basic prompt on as many cases as the leader, and take the metric around the leader from now on."""
        board = track.board
        if len(track.open(leader)) < len(track.open(board.basic)):
            track.run(board.basic)
        board.score(board.basic, [case for case in track.job.dev if board.outcome(leader, case)])
        track.around = leader


def is_flawless(track: Track) -> bool:
    """Whether the basic prompt makes no error on any of many cases of the race; it meets them until its first error."""
    board = track.board
    if len(track.order) < ENOUGH:
        return False
    for block in blocks(track.order, track.block):
        for outcome in board.score(board.basic, block):
            if outcome.has_error:
                return False
    track.job.note("the basic prompt makes no error on train and dev: there is nothing to improve")
    return True
