"""The search in stages: the basic prompt's answers, nearest rows, questions, the model's own answer, written prompts.

Each stage goes on only as long as the gain that may be expected of it is worth its tokens.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .base import Job
from .board import Board
from .candidate import Candidate
from .drawing import blocks
from .question_labels import first_trial_size, may_fit_head
from .raced import Arm, Finalists, Raced, Track, Turns, is_flawless
from .thresholds import add_fitted
from .worth import POINT, ROWS_PER_POINT, expected_gain, gain_for_lengths, gain_for_rows

_SPREAD = 0.03
"""The standard deviation of prompts of one kind that is expected before any of them was tried, in best values."""
_ROWS_SPREAD = 0.1
"""The same of prompts that show labelled rows, where such rows help at all."""
_QUESTIONS_SPREAD = 0.1
"""The same of prompts that ask questions, under the head that is fitted to their answers."""
_QUESTION_SETS = 2
"""Sets of questions that are tried, the second where the first leads."""
_QUESTIONS_LENGTH = 2.0
"""The tokens of a row that asks questions, in those of the basic prompt, before any was asked."""
_OWN_SPREAD = 0.1
"""The standard deviation of prompts with the model's own answer, where a judge has a task, in best values."""
_OWN_LENGTH = 2.0
"""A row with an own answer is expected to take so many times the tokens of the row without it."""
_SPREAD_PROMPTS = 1.0
"""The weight of that expectation beside the prompts that were tried, in prompts."""
_RECORD = 0.56
"""One more of n normal values is better than the best of them by about so many standard deviations, divided by n."""
_PROPOSAL_ROWS = 5.0
"""A request to a proposer takes about as many tokens as so many rows of the basic prompt."""
_LONGER = 2
"""The line about a stop names so many times the rows per point with which the arm would have had one more turn."""
_LONGEST = 4
"""These are taken for at most so many times the present ones, however little the arm promises."""
_ROUND_ROWS = 100
"""The line names a multiple of so many rows."""
_ALIKE_TURNS = 2
"""After so many turns in a row whose prompts all answer like their parents, an arm has no further turn."""
_USUAL_OPENINGS = 2
"""So many prompts that show rows usually meet their first cases."""
_USUAL_PROMPTS = 20
"""So many instructions are usually written."""
_USUAL_BLOCKS = 3
"""So many blocks of cases an instruction meets on average."""
_BASIC_SHARE = 3
"""The basic prompt takes at most one call in so many for its first pass over train and dev."""


class RowsArm(Arm, Protocol):
    """An arm that shows labelled rows with each call, in its n-th turn so many as the n-th of its sizes."""

    @property
    def sizes(self) -> Sequence[int]:
        """The numbers of rows."""
        ...


class QuestionSource(Protocol):
    """The source of prompts that ask questions beside the judge's own."""

    def propose(self, job: Job, board: Board, start: Candidate, turn: int) -> list[Candidate]:
        """Enter a prompt with a new set of questions, and return it; nothing without enough usable questions."""
        ...


@dataclass(frozen=True, kw_only=True)
class Staged(Raced):
    """A race after cheaper stages; a subclass names the arms of the race, the rows, and the questions."""

    # a gain of .01 may take the tokens of so many rows of the basic prompt; more of them make the search longer
    rows_per_point: float = ROWS_PER_POINT

    @abstractmethod
    def rows_arm(self, job: Job, most_tokens: float) -> RowsArm | None:
        """Return the arm of the stage of nearest rows; ``None`` where the judge has no use for it.

        Args:
            job: the job of the search.
            most_tokens: that the rows of a call may take together.
        """

    def question_source(self, job: Job) -> QuestionSource | None:
        """Return the source of questions; ``None`` where the judge or its model has no use for them."""
        return None

    @property
    def tries_own_answer(self) -> bool:
        """Whether it tries prompts below whose task the model's own answer stands: always."""
        return True

    def added_lengths(self, arm: Arm, track: Track) -> float:
        """Return the tokens that the shortest candidate of an arm adds to a row, in those of the basic prompt."""
        return 0.0

    def expected_calls(self, job: Job) -> int | None:
        """Return the calls that a search usually takes: the stages, and some turns of the arms."""
        cases = min(self.sample, len(job.train)) + len(job.dev)
        rows = cases
        if self.rows_arm(job, math.inf) is not None:
            rows += _USUAL_OPENINGS * min(self.opening, cases) + cases // 2
        if self.question_source(job) is not None and may_fit_head(job):
            rows += cases
        if job.own_answer is not None:
            rows += round(_OWN_LENGTH * min(self.opening, cases))
        proposals = 0
        if self.proposals_of_first_step(job):
            rows += _USUAL_PROMPTS * _USUAL_BLOCKS * self.block
            proposals = _USUAL_PROMPTS
        return rows * job.calls_per_case + proposals

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Improve on ``start``, stage by stage."""
        if self.whole:
            super().run(job, board, start)
            return
        finalists = Finalists(job, board, self.finalists)
        with finalists.after():
            track = self._track(job, board, start)
            track.rows_per_point = self.rows_per_point
            if is_flawless(track):
                return
            if job.judge.has_examples:
                self._judge_basic(track)
            arm = self.rows_arm(job, tokens_left(track))
            if arm is not None:
                self._try_rows(track, arm, finalists)
            source = self.question_source(job)
            if source is not None:
                self._try_questions(track, source, finalists)
            helps = self._try_own_answer(track, finalists)
            self._search(track, finalists)
            if helps:  # below the task of the prompt that is best by now, too
                self._try_own_answer(track, finalists)
            self._complete_best(track)

    def _judge_basic(self, track: Track) -> None:
        """Score the basic prompt on all cases, as far as calls allow, and enter what is fitted from its answers."""
        job = track.job
        calls_left = job.context.meter.calls_left()
        cases = track.order
        if calls_left is not None:
            cases = cases[: calls_left // _BASIC_SHARE // job.calls_per_case]
        track.board.score(track.board.basic, cases)
        add_fitted(job, track.board, [track.board.basic])
        best = track.leader
        job.note(f"basic prompt scored on train and dev; best {track.board.name(best)}", kind="step")

    def _complete_best(self, track: Track) -> None:
        """Let the prompt of the best candidate meet all cases, for what is fitted from its answers."""
        board = track.board
        prompt = board.prompt_of(best_of(track, list(board.candidates.values())))
        board.score(prompt, track.open(prompt))

    def _try_rows(self, track: Track, arm: RowsArm, finalists: Finalists) -> None:
        """Try nearest rows, and other numbers of them where the first number leads."""
        board = track.board
        helps = True
        for turn in range(1, len(arm.sizes) + 1):
            if not helps:
                return
            for candidate in arm.propose(track, turn):
                race_alone(track, candidate, self.opening, _ROWS_SPREAD)
                finalists.keep()
                best = best_of(track, family_of(track, candidate))
                words = f"{board.name(best)}, tried on {len(board.outcomes(candidate))} cases"
                track.job.note(words, board.value(best, track.order), kind="candidate")
                if turn == 1:
                    helps = leads(track, candidate)

    def _try_questions(self, track: Track, source: QuestionSource, finalists: Finalists) -> None:
        """Try a set of questions where its gain may be worth its tokens, and another set where the first leads."""
        board = track.board
        basic = board.basic
        cases = len(track.order)
        for turn in range(1, _QUESTION_SETS + 1):
            rows = first_trial_size(cases) * _QUESTIONS_LENGTH + _PROPOSAL_ROWS
            gain = capped_gain(0.0, _QUESTIONS_SPREAD * board.best_value, headroom(track))
            too_long = (_QUESTIONS_LENGTH - 1.0) * basic_tokens(track) > tokens_left(track)
            calls_left = track.job.context.meter.calls_left()
            too_many = calls_left is not None and 2 * cases * track.job.calls_per_case > calls_left
            if (
                not may_fit_head(track.job)
                or too_long
                or too_many
                or gain < board.best_value * gain_for_rows(rows)
            ):
                return
            for candidate in source.propose(track.job, board, basic, turn):
                board.score(candidate, track.open(candidate)[: first_trial_size(cases)])
                race_alone(track, candidate, self.opening, _QUESTIONS_SPREAD)
                finalists.keep()
                best = best_of(track, family_of(track, candidate))
                words = f"{board.name(best)}, tried on {len(board.outcomes(candidate))} cases"
                track.job.note(words, board.value(best, track.order), kind="candidate")
                if not leads(track, candidate):
                    return

    def _try_own_answer(self, track: Track, finalists: Finalists) -> bool:
        """Try the best prompt with the model's own answer below the task; say whether that is better than without.

        Where a gain is not worth the tokens of knowing it, nothing is tried.
        """
        job = track.job
        board = track.board
        if job.own_answer is None or job.decides or tokens_left(track) <= 0.0:
            return False
        without: list[Candidate] = []
        for candidate in board.candidates.values():
            if candidate.setting.asks_model and candidate.setting.own_answer is None:
                without.append(candidate)
        prompt = board.prompt_of(best_of(track, without))
        likely_gain = capped_gain(0.0, _OWN_SPREAD * board.best_value, headroom(track))
        rows = self.opening * _OWN_LENGTH * board.lengths(prompt)
        if likely_gain < price_of_rows(track, rows):
            job.note(f"the model's own answer is not tried: it is expected to gain {likely_gain:.4f} at most")
            return False
        setting = replace(prompt.setting, own_answer=job.own_answer)
        source = "own-answer, given before it judges"
        for candidate in track.fresh(prompt.state, parent=prompt, source=source, setting=setting):
            race_alone(track, candidate, self.opening, _OWN_SPREAD)
            finalists.keep()
            best = best_of(track, family_of(track, candidate))
            words = f"{board.name(best)}, tried on {len(board.outcomes(candidate))} cases"
            job.note(words, board.value(best, track.order), kind="candidate")
            standings = track.standings()
            return standings[candidate.id].gain(standings[prompt.id]) > 0.0
        return False

    # -- hooks of the race

    def leaders(self, track: Track) -> list[Candidate]:
        """Return the prompt of the best candidate, and the best of those without demonstrations."""
        best = best_of(track, list(track.board.candidates.values()))
        return [track.text, track.board.prompt_of(best)]

    def try_out(self, track: Track, candidate: Candidate) -> None:
        """Let a new prompt meet its first block, and one more if it answers like its parent; then it is retired.

        A prompt that shows rows meets cases under all its settings, as far as that is worth their tokens.
        """
        if track.shows_other_rows(candidate):
            best = best_of(track, list(track.board.candidates.values()))
            spread = _ROWS_SPREAD if track.shows_other_rows(best) else _SPREAD
            race_alone(track, candidate, self.opening, spread)
            return
        for _ in range(2):
            track.run(candidate)
            if not track.answers_like_parent(candidate):
                return
        track.board.retired.add(candidate.id)

    def advance(self, track: Track, candidates: Sequence[Candidate], count: int) -> None:
        """Give blocks to the prompts without demonstrations that may be best, where the step made any of them."""
        if not all(track.shows_other_rows(candidate) for candidate in candidates):
            track.advance(count, texts_only=True)
        self._combine(track)

    def _combine(self, track: Track) -> None:
        """Give the best instruction the rows that help most, where both together may be worth their tokens."""
        board = track.board
        standings = track.standings()
        showing = [
            prompt for prompt in track.prompts if track.shows_other_rows(prompt) and prompt.id in standings
        ]
        if not showing:
            return
        members: list[Candidate] = []
        for prompt in showing:
            members += family_of(track, prompt)
        rows = best_of(track, members)
        prompt = board.prompt_of(rows)
        text = track.text
        parent = board.candidates[prompt.parent or board.basic.id]
        best = best_of(track, list(board.candidates.values()))
        text_gain = standings[text.id].gain(standings[parent.id])
        gain = standing_value(track, rows) + text_gain - standing_value(track, best)
        doubt = math.hypot(
            standings[text.id].doubt(standings[parent.id]), standings[rows.id].doubt(standings[best.id])
        )
        likely = capped_gain(gain, doubt, headroom(track))
        price = price_of_rows(track, self.opening * board.lengths(prompt))
        if text.id == parent.id or text_gain <= 0.0 or likely < price:
            return
        state = text.state
        for name, (demos, remembered) in prompt.state.shown.items():
            state = state.with_demos(name, demos, remembered)
        source = f"{prompt.source}, with the best instruction"
        for candidate in track.fresh(state, parent=text, source=source, demo_ids=prompt.demo_ids):
            race_alone(track, candidate, self.opening)

    def reason_to_stop(self, track: Track, turns: Turns) -> str:
        """Return why no arm is worth a further turn; arms that are not lose theirs."""
        if not turns.arms:
            if not track.job.reads_instructions:
                if track.job.decides:
                    return "jurist wrote no wording of its own: --prompt-model names a model that writes further ones"
                return (
                    "jurist wrote no prompt: this model reads no instructions, and demonstrations cannot help"
                )
            return "jurist stopped the search: it can make no further prompt"
        reason = ""
        gain_a_row: dict[str, float] = {}  # by arm, of its next candidate
        for arm in turns.arms:
            candidates = turns.candidates[arm.name]
            gain = self._likely_gain(arm, track, candidates, turns.since_lead[arm.name])
            rows = self._rows_of_next(arm, track, candidates)
            gain_a_row[arm.name] = gain / rows
            reason = self._reason_against(arm, track, turns, gain, rows)
            if reason:
                turns.drop(arm)
        turns.order_by(gain_a_row)
        if turns.arms:
            return ""
        return f"jurist stopped the search: {reason}"

    def _reason_against(self, arm: Arm, track: Track, turns: Turns, gain: float, rows: float) -> str:
        """Return why an arm is worth no further turn; empty if it is worth one.

        Args:
            gain: what may be expected of its next candidate.
            rows: of the basic prompt, that take as many tokens as that candidate.
        """
        if turns.is_silent(arm):
            return f"it can make no other {arm.product}"
        if self.added_lengths(arm, track) * basic_tokens(track) > tokens_left(track):
            return (
                f"with another {arm.product} a row would take more tokens than --tokens-per-row allows. "
                "To search on, allow more"
            )
        if turns.alike_turns(arm, track.board.retired) >= _ALIKE_TURNS:
            return f"the answers with each new {arm.product} were those of the prompt that it was made from"
        price = price_of_rows(track, rows)
        if gain >= price:
            return ""
        worthy_rows = self.rows_per_point * price / max(gain, price / _LONGEST)
        longer = _ROUND_ROWS * math.ceil(_LONGER * worthy_rows / _ROUND_ROWS)
        return (
            f"another {arm.product} would probably gain {gain:.4f} at most, too little for the tokens of {rows:.0f} "
            f"rows that it takes. To search on, add --set rows_per_point={longer:.0f} to the command (now: the "
            f"tokens of {self.rows_per_point:g} rows for a gain of {POINT:g})"
        )

    def _rows_of_next(self, arm: Arm, track: Track, candidates: Sequence[Candidate]) -> float:
        """Return the rows of the basic prompt that take as many tokens as one more candidate of an arm."""
        proposal_rows = _PROPOSAL_ROWS * min(arm.proposer_calls(track.job), 1)
        if not candidates:
            added_lengths = self.added_lengths(arm, track)
            cases = self.opening if added_lengths else self.block
            return cases * (1.0 + added_lengths) + proposal_rows
        board = track.board
        if self.added_lengths(arm, track):  # each further case is a decision of its own
            return self.opening * min(map(board.lengths, candidates)) + proposal_rows
        rows = 0.0
        for candidate in candidates:
            rows += len(board.outcomes(candidate)) * board.lengths(candidate)
        return rows / len(candidates) + proposal_rows

    def _likely_gain(self, arm: Arm, track: Track, candidates: Sequence[Candidate], since_lead: int) -> float:
        """Return an upper bound of the gain to expect of one more candidate of an arm over the best.

        It is what a prompt of this kind gains on average over the prompt that it is made from, where worse ones are not
        chosen. And it is no more than what one more of so many equals gains over the best of them.
        """
        board = track.board
        usual_gain = 0.0
        spread = _SPREAD
        lead = 0.0
        # Instructions are compared with instructions, and demonstrations with whatever is best.
        if self.added_lengths(arm, track):
            best = best_of(track, list(board.candidates.values()))
            text = track.standings()[track.text.id].mean
            lead = standing_value(track, best) - text
            if track.shows_other_rows(best):  # what other shown rows give, these may give too
                spread = _ROWS_SPREAD
                usual_gain = track.standings()[best.id].mean - text
        mean, deviation = spread_of(track, candidates, usual_gain, spread)
        lengths = 1.0 + self.added_lengths(arm, track)
        if candidates:
            lengths = min(map(board.lengths, candidates))
        mean -= board.best_value * gain_for_lengths(lengths) + lead
        of_record = _RECORD * deviation / (1.0 + since_lead)
        return min(of_record, capped_gain(mean, deviation, headroom(track)))


def basic_tokens(track: Track) -> float:
    """Return the tokens of a row of the basic prompt; 0 if they are not known."""
    spend = track.board.spent(track.board.basic, track.order)
    return spend.tokens if spend is not None else 0.0


def tokens_left(track: Track) -> float:
    """Return the tokens that may be added to a row of the basic prompt, by a limit that was named; else infinity."""
    if track.job.tokens_per_row is None:
        return math.inf
    return max(0.0, track.job.tokens_per_row - basic_tokens(track))


def price_of_rows(track: Track, rows: float) -> float:
    """Return the gain that the tokens of so many rows of the basic prompt must promise, in units of the metric."""
    return track.board.best_value * gain_for_rows(rows, track.rows_per_point)


def headroom(track: Track) -> float:
    """Return the distance from the best candidate to a perfect score, in units of the metric; 0 at least."""
    board = track.board
    best = best_of(track, list(board.candidates.values()))
    perfect = board.perfect_value
    return max(0.0, perfect - track.standings()[best.id].mean)


def spread_of(
    track: Track, candidates: Sequence[Candidate], usual_gain: float = 0.0, spread: float = _SPREAD
) -> tuple[float, float]:
    """Return the mean and the standard deviation of the true gains of prompts over those they were made from.

    Both begin from an expectation, which counts as a prompt that is known exactly: ``usual_gain`` and ``spread``. A
    prompt that met few cases says little of either, and what chance adds to its gain is taken off.
    """
    board = track.board
    standings = board.standings(track.around, shrink=0.0)
    usual_variance = (spread * board.best_value) ** 2
    # Of each prompt the gain, its squared error, and how much it says beside one that is known exactly.
    gains: list[tuple[float, float, float]] = []
    for candidate in candidates:
        standing = standings.get(candidate.id)
        parent = standings.get(candidate.parent or "")
        if standing is not None and parent is not None:
            squared_error = standing.doubt(parent) ** 2
            weight = usual_variance / (usual_variance + squared_error)
            gains.append((standing.gain(parent), squared_error, weight))
    total = _SPREAD_PROMPTS * usual_gain
    weights = _SPREAD_PROMPTS
    for gain, _, weight in gains:
        total += weight * gain
        weights += weight
    mean = total / weights
    squares = _SPREAD_PROMPTS * usual_variance
    weights = _SPREAD_PROMPTS
    for gain, squared_error, weight in gains:
        squares += weight**2 * ((gain - mean) ** 2 - squared_error)
        weights += weight**2
    return mean, math.sqrt(max(0.0, squares / weights))


def best_of(track: Track, candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate with the highest mean, less what the tokens of its rows must bring."""
    standings = track.standings()
    scored = [candidate for candidate in candidates if candidate.id in standings]
    return max(scored, key=lambda candidate: round(standing_value(track, candidate), 9))


def standing_value(track: Track, candidate: Candidate) -> float:
    """Return the mean of a candidate, less what the tokens of its rows must bring."""
    return track.standings()[candidate.id].mean - track.board.toll(candidate)


def race_alone(track: Track, candidate: Candidate, opening: int, spread: float = _SPREAD) -> None:
    """Let a prompt meet cases, twice as many each time, as long as it is worth their tokens to know how good it is.

    After each time it is entered under the settings that are fitted from its answers. A prompt that answers like its
    parent on two blocks is retired.
    """
    board = track.board
    job = track.job
    for block in list(blocks(track.open(candidate)[: 2 * track.block], track.block)):
        board.score(candidate, block)
    if not candidate.state.questions and track.answers_like_parent(candidate):
        board.retired.add(candidate.id)
        return
    count = opening
    while True:
        board.score(candidate, track.open(candidate)[: max(0, count - len(board.outcomes(candidate)))])
        add_fitted(job, board, [candidate], by_words=False)
        track.around = track.leader
        left = len(track.open(candidate))
        rows = min(left, count) * board.lengths(candidate)
        if not left or gain_of_knowing(track, candidate, spread) < price_of_rows(track, rows):
            return
        count *= 2


def family_of(track: Track, candidate: Candidate) -> list[Candidate]:
    """Return a prompt under all its settings."""
    family: list[Candidate] = []
    for member in track.board.candidates.values():
        if member.asked_id == candidate.asked_id:
            family.append(member)
    return family


def gain_of_knowing(track: Track, candidate: Candidate, spread: float) -> float:
    """Return the gain to expect if the better of a prompt and the best of the others were known, and not guessed."""
    family = family_of(track, candidate)
    ids = {member.id for member in family}
    others = [other for other in track.board.candidates.values() if other.id not in ids]
    best = best_of(track, family)
    rival = best_of(track, others)
    standings = track.standings()
    difference = standing_value(track, best) - standing_value(track, rival)
    variance = standings[best.id].doubt(standings[rival.id]) ** 2
    usual_variance = (spread * track.board.best_value) ** 2
    share = usual_variance / (usual_variance + variance)  # a difference on few cases is mostly luck
    return expected_gain(-abs(share * difference), math.sqrt(share * variance))


def leads(track: Track, candidate: Candidate) -> bool:
    """Say whether a prompt under one of its settings is the best of all candidates."""
    return best_of(track, list(track.board.candidates.values())).asked_id == candidate.asked_id


def capped_gain(gain: float, doubt: float, most: float) -> float:
    """Return the gain to expect of one with a normal distribution, of which no more than ``most`` can be had."""
    return expected_gain(gain, doubt) - expected_gain(gain - max(0.0, most), doubt)
