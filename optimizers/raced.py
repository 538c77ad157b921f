"""The search that all racing optimizers share: arms propose prompts, one race scores them, calls go to who gains."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from ..cases import Case
from ..errors import BudgetExhausted
from ..programs.state import PromptState
from ..text.sentences import without_repeats
from ..text.wording import normalised
from .base import Job
from .board import Board, Candidate
from .drawing import interleaved, stratified
from .objective import Outcome
from .proposing import CopyGuard, Writing
from .racing import Race

# what the prompts of one step are taken to gain, in units of the metric, before an arm has shown it
_HOPE = 0.02
_HOPED = 2.0  # steps for which that counts
_FADES = 0.9  # an arm's gains count so much less with each of its later steps: ideas run out
ENOUGH = 60  # cases without an error, from which on an error in twenty is unlikely (the rule of three)


@dataclass(kw_only=True)
class Track:
    """What an arm proposes from."""

    job: Job  # the job
    board: Board  # all prompts
    race: Race  # where they stand
    start: Candidate  # what the search began with
    reach: float  # standard errors of the lower bound by which one leads
    step: int = 0  # the step of the search, from 1

    @property
    def leader(self) -> Candidate:
        """The prompt that leads the race."""
        return self.race.leader(self.reach)

    @property
    def text(self) -> Candidate:
        """The leader of the prompts that show no more examples than the start: there a row takes fewest tokens.

        Instructions are written for it and told apart by it; examples are added to what has come out best.
        """
        shown = self.start.state.shown
        plain = {
            one.id
            for one in self.board.candidates.values()
            if one.state.shown == shown and one.setting == self.start.setting
        }
        return self.race.leader(self.reach, plain)

    def known(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return the cases of train that a prompt of the race has met, with the outcomes; dev is shown to nobody."""
        dev = {case.id for case in self.job.dev}
        met = [case for case in self.race.seen(candidate) if case.id not in dev]
        return list(zip(met, self.board.score(candidate, met), strict=True))

    def errors(self, candidate: Candidate) -> list[tuple[Case, Outcome]]:
        """Return those of them that it got wrong."""
        return [(case, outcome) for case, outcome in self.known(candidate) if outcome.feedback]

    def best(self, count: int) -> list[tuple[Candidate, float]]:
        """Return the best few prompts with their values: shrunken where they met different cases, else their own."""
        board, first = self.board, self.race.order[: self.race.block]
        pairs = [(board.candidates[one.id], one.mean) for one in self.race.ranking()]
        if not self.race.telling:
            pairs = [(one, board.value(one, first)) for one, _ in pairs]
            pairs.sort(key=lambda pair: -round(pair[1], 9))
        return pairs[:count]

    def fresh(self, state: PromptState, **about: Any) -> Candidate | None:
        """Enter a prompt, with the arguments of :meth:`Board.add`; return ``None`` if it is known."""
        before = len(self.board.candidates)
        made = self.board.add(state, step=self.step, **about)
        return made if len(self.board.candidates) > before else None

    def write(
        self, writing: Writing, parent: Candidate, proposals: Sequence[Mapping[str, str]]
    ) -> list[Candidate]:
        """Enter what is new, not too long and not copied among proposals: instructions of predictors of ``parent``."""
        known, fresh = {_plain(one.state) for one in self.board.candidates.values()}, list[Candidate]()
        for proposal in proposals:
            cleaned = {name: without_repeats(text) for name, text in proposal.items()}
            usable = {name: text for name, text in cleaned.items() if 0 < len(text) <= writing.longest}
            state = parent.state
            for name, text in usable.items():
                state = state.with_instruction(name, text)
            if _plain(state) in known:
                continue
            known.add(_plain(state))
            share = max(self._guard.share(text) for text in usable.values())
            if share > writing.copied:
                self.job.note(
                    f"step {self.step}: an instruction refused, {share:.0%} of it is copied from train"
                )
                continue
            source = writing.name
            source += f", {share:.1%} copied from train" if share else ""
            params = {"predictors": sorted(usable)} if len(state.predictors) > 1 else None
            fresh.append(self.board.add(state, parent=parent, source=source, step=self.step, params=params))
        return fresh

    @cached_property
    def _guard(self) -> CopyGuard:
        basic = self.board.basic_state().predictors.values()
        return CopyGuard(self.job.train, [prompt.instructions for prompt in basic])


def _plain(state: PromptState) -> tuple[str, ...]:
    """Return the instructions of all predictors without differences in case, spacing and form of characters."""
    return tuple(normalised(state.predictors[name].instructions) for name in sorted(state.predictors))


class Arm(Protocol):
    """A way to make new prompts."""

    @property
    def name(self) -> str:
        """For the record."""
        ...

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts on the board, made for the ``turn``-th time, from 1; none without an idea."""
        ...


class Bandit:
    """Chooses the arm of each step: the one whose prompts gained most over what led per token, those of the race too.

    Every arm begins with the same hope, at the price of its prompts, so that long ones wait until short ones gain
    less. It fades as the arm takes tokens without gaining; none is given up for ever.
    """

    def __init__(self, arms: Sequence[Arm], race: Race, job: Job) -> None:
        self._arms, self._race = arms, race
        row = race.price / race.block
        added = {arm.name: getattr(arm, "added", lambda job: 0.0)(job) for arm in arms}  # tokens a row
        self._least = {name: race.price * (1 + tokens / row) for name, tokens in added.items()}
        # of each step of an arm: the prompts it made, what led before each, and the tokens it took beside the race
        self._picks: dict[str, list[tuple[Sequence[Candidate], Sequence[Candidate], int]]] = {
            arm.name: [] for arm in arms
        }

    @property
    def untried(self) -> int:
        """How many arms have had no turn."""
        return sum(not picks for picks in self._picks.values())

    def order(self, *, late: bool = False) -> list[tuple[Arm, int]]:
        """Return the arms, by where all prompts stand now those first that gain most per token, and each one's turn.

        It is ``late`` where the search is about to end: those that have had no turn come first.
        """
        means, tried = {one.id: one.mean for one in self._race.standings()}, self._picks
        rates = {arm.name: round(self._rate(arm.name, means), 12) for arm in self._arms}
        best_first = sorted(self._arms, key=lambda arm: (late and bool(tried[arm.name]), -rates[arm.name]))
        return [(arm, len(self._picks[arm.name]) + 1) for arm in best_first]

    def _rate(self, arm: str, means: Mapping[str, float]) -> float:
        """Return what an arm gains per token: each step by the best that it made."""
        picks = self._picks[arm]
        weight = _HOPED * _FADES ** len(picks)
        gain, taken = weight * _HOPE, weight * self._least[arm]
        for age, (made, before, beside) in enumerate(reversed(picks)):
            over = [means[one.id] - means[other.id] for one, other in zip(made, before, strict=True)]
            gain += _FADES**age * max(0.0, *over, 0.0)
            spent = beside + sum(self._race.spent(one) for one in made)
            taken += _FADES**age * max(self._race.price, spent)
        return gain / taken

    def took(self, arm: Arm, made: Sequence[Candidate], before: Sequence[Candidate], taken: int) -> None:
        """Note what a step of an arm made, what led before each, and the tokens it took before its prompts ran."""
        self._picks[arm.name].append((made, before, taken))


class Finalists:
    """The prompts that a search leaves for the choice, and the calls kept back for them.

    At most a third of the calls that are left, but one pass over dev at least, for the prompt that is left half scored.
    """

    def __init__(self, job: Job, board: Board, count: int, source: str = "") -> None:
        self._job, self._board, self._count, self._source = job, board, count, source
        self._before, self._pass = job.context.meter.held, len(job.dev) * job.calls_per_case
        self._most = (count + 1 + (not board.scored(board.basic, job.dev))) * self._pass
        if (left := job.context.meter.left()) is not None:
            self._most = min(self._most, max(self._pass, left // 3))

    def keep(self) -> None:
        """Keep back what the finalists still need: those that would be it now, and others for the places left."""
        board, dev, first = self._board, self._job.dev, self._first()
        open_ = sum(len(dev) - board.met(one, dev) for one in [board.basic, *first])
        shows = any(one.state.shown != board.basic.state.shown for one in first)
        open_ += (self._count + shows - len(first)) * len(dev)  # examples are scored without other words too
        wanted = max(self._pass, open_ * self._job.calls_per_case)
        self._job.context.meter.hold(self._before + min(self._most, wanted))

    def _first(self) -> list[Candidate]:
        """Return what could be best, by gain and error together, then the never scored; DSPy's own choice first."""
        board, source = self._board, self._source
        able = [one for one in board.candidates.values() if one.id != board.basic.id]
        able = [one for one in able if not source or one.source == source]
        last = able[-1:] if source else []
        open_ = {one.id: one for one in able if one not in last}
        known = [one for one in board.by_gain() if one.id in open_]
        known.sort(key=lambda one: -round(one.gain + one.doubt, 9))
        first = [*last, *(open_.pop(one.id) for one in known)]
        return [*first, *open_.values()][: self._count]

    @contextmanager
    def after(self) -> Iterator[None]:
        """Keep calls back while the block searches, then score the finalists, however the budget ended it."""
        ended: BudgetExhausted | None = None
        try:
            self.keep()
            yield
        except BudgetExhausted as stop:
            ended = stop
        finally:
            self._job.context.meter.hold(self._before)
        board, dev = self._board, self._job.dev
        board.score(board.basic, dev)  # by which the gains are known better
        for one in self._first():
            board.score(one, dev)
        while (best := board.best(dev)) is not None and not board.scored(best, dev):
            board.score(best, dev)
        self._shorten(best)
        if ended is not None:
            raise self._truthful(ended)

    def _shorten(self, best: Candidate | None) -> None:
        """Score the examples of the best under the basic instruction: words that change no verdict are left out."""
        if best is None or best.state.shown == self._board.basic.state.shown:
            return
        state, left = best.state, self._job.context.meter.left()
        for name, prompt in self._board.basic_state().predictors.items():
            state = state.with_instruction(name, prompt.instructions)
        if state != best.state and (left is None or left >= self._pass):
            source = "the same examples under the basic instruction"
            shortened = self._board.add(state, parent=best, source=source, step=best.step)
            self._board.score(shortened, self._job.dev)

    def _truthful(self, ended: BudgetExhausted) -> BudgetExhausted:
        """Return the end of a search that met its limit on calls, saying what is left of those kept back."""
        left = self._job.context.meter.left()
        if ended.limit == "calls" and left:
            later = f", but for {self._before} that are kept for what follows" if self._before else ""
            ended.args = (
                f"the calls for the search are spent, of a budget of {ended.allowed:g} calls{later}; "
                f"{left} reserved calls unused",
            )
        elif ended.limit == "calls":
            ended = BudgetExhausted(ended.limit, ended.allowed, kept=self._before)
        return ended


@dataclass(frozen=True, kw_only=True)
class Raced(ABC):
    """The settings of the race; a subclass has the arms, and is mostly one itself."""

    steps: int = 30  # at most this many rounds
    sample: int = 200  # train cases of the race, beside all of dev; no prompt is scored on more
    # cases of the race on which the basic prompt is scored first; all that comes is compared with it
    opening: int = 40
    block: int = 8  # cases in a block of the race; each new prompt runs one
    extra: int = 4  # further blocks a step, for the prompts with the highest upper bounds
    growth: float = 0.5  # by how many blocks that grows each step
    reach: float = 1.0  # standard errors of the upper bound, and of the lower bound by which one leads
    # cases for which its parent's mean counts beside a prompt's own, before anything is known of how much
    # they differ
    shrink: float = 5.0
    patience: int = 8  # rounds without a new leader or another choice before it stops
    finalists: int = 2  # prompts that are scored on all of dev at the end, beside the basic one
    name: str = "race"
    # ``train`` or ``dev``: in place of blocks, each new prompt is scored on all of it, and who leads on the rest too
    whole: ClassVar[str] = ""
    proposal: ClassVar[int] = 1  # calls to the proposer for one new prompt
    by_price: ClassVar[bool] = False  # whether a block of a long prompt counts as several
    learns: ClassVar[bool] = (
        True  # from the errors of each leader, so that with ``whole`` it meets the rest too
    )

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return the arms, those that are tried first first: itself, unless there are others."""
        return (self,)

    @abstractmethod
    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter new prompts, as :meth:`Arm.propose` does."""

    @property
    def races(self) -> bool:
        """The basic prompt is one of the race, and is scored as far as that needs it."""
        return True

    def minimum(self, job: Job) -> int:
        """Return the calls for the opening, the first block of another prompt, both on dev, and to propose it."""
        train = min(self.sample, len(job.train))
        if self.whole:
            beside_dev = train * (1 + (self.whole == "train"))
        else:
            of_train = interleaved([1] * train, [0] * len(job.dev))
            beside_dev = sum(sum(of_train[: max(1, size)]) for size in (self.opening, self.block))
        return (beside_dev + 2 * len(job.dev)) * job.calls_per_case + self.proposal

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Improve on ``start``."""
        finalists = Finalists(job, board, self.finalists)
        with finalists.after():
            race = self._race(job, board, start)
            self._search(Track(job=job, board=board, race=race, start=start, reach=self.reach), finalists)
        return board.best(job.dev) or start

    def _race(self, job: Job, board: Board, start: Candidate) -> Race:
        train, dev = (
            stratified(cases, job.judge.answer, random.Random(f"{part}/{job.seed}"))
            for part, cases in (("race", job.train), ("dev", job.dev))
        )
        train = train[: self.sample]
        if self.whole:
            first, rest = (train, dev) if self.whole == "train" else (dev, train)
            order, block, opening = [*first, *rest], len(first), len(first)
        else:
            order, block, opening = interleaved(train, dev), self.block, self.opening
        reference = board.score(board.basic, order[: max(1, opening)])
        race = Race(
            board,
            order,
            block=block,
            reference=reference,
            shrink=self.shrink,
            telling=not self.whole,
            by_price=self.by_price,
        )
        race.enter(board.basic)
        race.enter(start)
        if self.whole:
            race.complete(self.reach)
        return race

    def _search(self, track: Track, finalists: Finalists) -> None:
        job, board, race, start = track.job, track.board, track.race, track.start
        if start.id == board.basic.id and len(race.order) >= ENOUGH and self._flawless(board, race):
            job.note("the basic prompt makes no error on train and dev: there is nothing to improve")
            return
        bandit = Bandit(self.arms(job), race, job)
        last, waited, of_dev = (start.id, start.id), 0, {case.id for case in job.dev}
        for step in range(1, self.steps + 1):
            track.step = step
            untried = bandit.untried
            late = waited >= self.patience or self.steps - step < untried
            if not self._step(track, bandit, late) and self.whole:
                break  # whoever leads has met all there is
            finalists.keep()
            if not self.whole:
                race.advance(round(self.extra + self.growth * step), self.reach)
            elif self.learns:
                race.complete(self.reach)
            leader = track.leader
            race.keep_up(board.basic, leader)
            dev = [case for case in race.seen(leader) if case.id in of_dev]
            board.score(board.basic, dev)  # in the end it is scored on all of dev anyway
            race.around(leader)
            best = board.best(job.dev) or start
            new = (best.id, leader.id) != last or (late and bandit.untried < untried)
            waited = 0 if new else waited + 1
            last = best.id, leader.id
            job.note(f"step {step}: best {board.name(best)}", board.value(best, job.dev), kind="step")
            if waited >= self.patience and not bandit.untried:
                break

    @staticmethod
    def _flawless(board: Board, race: Race) -> bool:
        """Whether the basic prompt makes no error; it meets further cases only as long as it makes none."""
        blocks = (race.order[at : at + race.block] for at in range(0, len(race.order), race.block))
        return not any(outcome.feedback for block in blocks for outcome in board.score(board.basic, block))

    def _step(self, track: Track, bandit: Bandit, late: bool) -> bool:
        """Let the best arm that has an idea propose, and its prompts run their first block; say whether one has."""
        job, leader, text, meter = track.job, track.leader, track.text, track.job.context.meter
        for arm, turn in bandit.order(late=late):
            before = meter.taken
            made = arm.propose(track, turn)
            led = [text if one.state.shown == text.state.shown else leader for one in made]
            bandit.took(arm, made, led, meter.taken - before)
            for candidate in made:
                track.race.enter(candidate)
                value = track.board.value(candidate, track.race.order)
                job.note(f"step {track.step}: {candidate.id}", value, kind="candidate")
            if made:
                return True
        return False
