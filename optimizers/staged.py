"""The search in stages: the basic prompt's answers, nearest rows, questions, the model's own answer, written prompts.

Each stage goes on only as long as the gain that may be expected of it is worth its tokens. Tokens are counted in rows
of the basic prompt; one such row is a length (:mod:`.worth`). Gains are compared in units of the metric; constants
give them as shares of the metric's best value.
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
from .settings import PositiveNumber
from .thresholds import add_fitted
from .worth import POINT, ROWS_PER_POINT, expected_gain, gain_for_lengths, gain_for_rows

_SPREAD = 0.03
"""The expected standard deviation of the gains of prompts of one kind, before any of them was tried."""
_ROWS_SPREAD = 0.1
"""The expected standard deviation for prompts that show labelled rows, where such rows help at all."""
_QUESTIONS_SPREAD = 0.1
"""The expected standard deviation for prompts with questions, under the head that is fitted to their answers."""
_QUESTION_SETS = 2
"""The most sets of questions that are tried; the second is tried where the first leads."""
_QUESTIONS_LENGTH = 2.0
"""The lengths that a row with questions is expected to take, before any was asked."""
_OWN_SPREAD = 0.1
"""The expected standard deviation for prompts with the model's own answer, where a judge has a task."""
_OWN_LENGTH = 2.0
"""A row with an own answer is expected to take so many times the tokens of the row without it."""
_SPREAD_PROMPTS = 1.0
"""The weight of an expected mean or standard deviation beside the prompts that were tried, in prompts."""
_RECORD = 0.56
"""One more of n normal values is better than the best of them by about so many standard deviations, divided by n."""
_PROPOSAL_ROWS = 5.0
"""A request to a proposer takes about as many tokens as so many rows of the basic prompt."""
_SUGGESTED_FACTOR = 2
"""The line about a stop suggests so many times the rows per point that would give the arm one more turn."""
_MOST_FACTOR = 4
"""The line suggests nothing where one more turn would take more than so many times the present rows per point."""
_ROUND_ROWS = 100
"""The line suggests a multiple of so many rows per point."""
_ALIKE_TURNS = 2
"""After so many turns in a row whose prompts all answer like their parents, an arm has no further turn."""
_USUAL_OPENINGS = 2
"""The prompts that show rows of which a search usually scores the first cases."""
_USUAL_PROMPTS = 20
"""The instructions that a search usually writes."""
_USUAL_BLOCKS = 3
"""The blocks of cases that an instruction meets on average."""
_BASIC_SHARE = 3
"""The basic prompt takes at most one call in so many for its first pass over train and dev."""


class RowsArm(Arm, Protocol):
    """An arm whose prompts show labelled rows in each call."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of rows that a prompt shows, by turn."""
        ...


class QuestionSource(Protocol):
    """The source of prompts that ask questions beside the judge's own."""

    def propose(self, job: Job, board: Board, start: Candidate, turn: int) -> list[Candidate]:
        """Enter a prompt with a new set of questions, and return it; empty without enough usable questions."""
        ...


@dataclass(frozen=True, kw_only=True)
class Staged(Raced):
    """A race after cheaper stages. A subclass names its arms, the arm that shows rows, and the source of questions."""

    # the search may take the tokens of so many rows of the basic prompt for a gain of .01
    rows_per_point: PositiveNumber = ROWS_PER_POINT

    @abstractmethod
    def rows_arm(self, job: Job, most_tokens: float) -> RowsArm | None:
        """Return the arm of the stage of nearest rows; ``None`` where the judge has no use for it.

        Args:
            job: the job of the search.
            most_tokens: the tokens that the shown rows of a call may take together.
        """

    def question_source(self, job: Job) -> QuestionSource | None:
        """Return the source of questions; ``None`` where the judge or its model has no use for them."""
        return None

    @property
    def tries_own_answer(self) -> bool:
        """True: a stage tries prompts with the model's own answer."""
        return True

    def added_lengths(self, arm: Arm, track: Track) -> float:
        """Return the lengths that the shortest candidate of an arm adds to a row; 0 for instructions."""
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
            own_answer_helps = self._try_own_answer(track, finalists)
            self._search(track, finalists)
            if own_answer_helps:  # then the prompt that is best by now is tried with an own answer, too
                self._try_own_answer(track, finalists)
            self._complete_best(track)

    def _judge_basic(self, track: Track) -> None:
        """Score the basic prompt on all cases, as far as calls allow, and enter what is fitted to its answers."""
        job = track.job
        calls_left = job.context.meter.calls_left()
        cases = track.order
        if calls_left is not None:
            cases = cases[: calls_left // _BASIC_SHARE // job.calls_per_case]
        track.board.score(track.board.basic, cases)
        add_fitted(job, track.board, [track.board.basic])
        best = track.leader
        words = f"basic prompt scored on train and dev; best {track.board.name(best)}"
        job.note(words, track.board.value(best, cases), kind="step")

    def _complete_best(self, track: Track) -> None:
        """Score the prompt of the best candidate on all cases, so that its threshold or rule is fitted to all."""
        board = track.board
        prompt = board.prompt_of(best_candidate(track))
        board.score(prompt, track.open(prompt))

    def _try_rows(self, track: Track, arm: RowsArm, finalists: Finalists) -> None:
        """Try nearest rows; where the first number of them leads, try the other numbers."""
        for turn in range(1, len(arm.sizes) + 1):
            for candidate in arm.propose(track, turn):
                self._try_prompt(track, candidate, finalists, _ROWS_SPREAD)
                if turn == 1 and not leads(track, candidate):
                    return

    def _try_prompt(self, track: Track, candidate: Candidate, finalists: Finalists, spread: float) -> None:
        """Race a prompt of a stage, reserve the calls of its finalists, and note its best setting."""
        board = track.board
        race_alone(track, candidate, self.opening, spread)
        finalists.keep()
        best = best_of(track, family_of(track, candidate))
        words = f"{board.name(best)}, tried on {len(board.outcomes(candidate))} cases"
        track.job.note(words, board.value(best, track.order), kind="candidate")

    def _try_questions(self, track: Track, source: QuestionSource, finalists: Finalists) -> None:
        """Try a set of questions where its gain may be worth its tokens, and another set where the first leads."""
        board = track.board
        first_cases = first_trial_size(len(track.order))
        for turn in range(1, _QUESTION_SETS + 1):
            if not track.job.own_questions and not self._may_try_questions(track):
                return
            for candidate in source.propose(track.job, board, board.basic, turn):
                board.score(candidate, track.open(candidate)[:first_cases])
                self._try_prompt(track, candidate, finalists, _QUESTIONS_SPREAD)
                if not leads(track, candidate):
                    return

    def _may_try_questions(self, track: Track) -> bool:
        """Say whether there are labels, tokens and calls for a set of questions, and its gain may be worth them."""
        job = track.job
        if not may_fit_head(job):
            return False
        if (_QUESTIONS_LENGTH - 1.0) * basic_tokens(track) > tokens_left(track):
            return False
        cases = len(track.order)
        calls_left = job.context.meter.calls_left()
        if calls_left is not None and 2 * cases * job.calls_per_case > calls_left:
            return False
        best_value = track.board.best_value
        likely_gain = capped_gain(0.0, _QUESTIONS_SPREAD * best_value, headroom(track))
        rows = first_trial_size(cases) * _QUESTIONS_LENGTH + _PROPOSAL_ROWS
        return likely_gain >= price_of_rows(track, rows)

    def _try_own_answer(self, track: Track, finalists: Finalists) -> bool:
        """Try the best prompt with the model's own answer, and say whether it is better than without.

        Where a gain is not worth the tokens of the trial, nothing is tried, and the result is False.
        """
        job = track.job
        board = track.board
        if job.own_answer is None or job.decides or tokens_left(track) <= 0.0:
            return False
        candidates_without: list[Candidate] = []
        for candidate in board.candidates.values():
            if candidate.setting.asks_model and candidate.setting.own_answer is None:
                candidates_without.append(candidate)
        prompt = board.prompt_of(best_of(track, candidates_without))
        likely_gain = capped_gain(0.0, _OWN_SPREAD * board.best_value, headroom(track))
        rows = self.opening * _OWN_LENGTH * board.lengths(prompt)
        if likely_gain < price_of_rows(track, rows):
            job.note(f"the model's own answer is not tried: it is expected to gain {likely_gain:.4f} at most")
            return False
        setting = replace(prompt.setting, own_answer=job.own_answer)
        source = "own-answer, given before it judges"
        new_candidates = track.fresh(prompt.state, parent=prompt, source=source, setting=setting)
        if not new_candidates:
            return False
        (candidate,) = new_candidates
        self._try_prompt(track, candidate, finalists, _OWN_SPREAD)
        standings = track.standings()
        return standings[candidate.id].gain(standings[prompt.id]) > 0.0

    # -- hooks of the race

    def leaders(self, track: Track) -> list[Candidate]:
        """Return the best prompt without demonstrations, and the prompt of the best candidate."""
        best = best_candidate(track)
        return [track.text, track.board.prompt_of(best)]

    def try_out(self, track: Track, candidate: Candidate) -> None:
        """Score a new prompt on its first cases.

        An instruction meets one block, and a second one if it answered like its parent; it is retired if it did so on
        both. A prompt that shows other rows meets cases as long as they are worth their tokens.
        """
        if track.shows_other_rows(candidate):
            best = best_candidate(track)
            spread = _ROWS_SPREAD if track.shows_other_rows(best) else _SPREAD
            race_alone(track, candidate, self.opening, spread)
            return
        for _ in range(2):
            track.run(candidate)
            if not track.answers_like_parent(candidate):
                return
        track.board.retired.add(candidate.id)

    def advance(self, track: Track, candidates: Sequence[Candidate], count: int) -> None:
        """Score promising instructions on further blocks if the step wrote any; then combine the best with rows."""
        if not all(track.shows_other_rows(candidate) for candidate in candidates):
            track.advance(count, texts_only=True)
        self._combine(track)

    def _combine(self, track: Track) -> None:
        """Try the best instruction with the rows that help most, where both may be worth their tokens."""
        board = track.board
        standings = track.standings()
        candidates_with_rows: list[Candidate] = []
        for prompt in track.prompts:
            if track.shows_other_rows(prompt) and prompt.id in standings:
                candidates_with_rows += family_of(track, prompt)
        if not candidates_with_rows:
            return
        best = best_candidate(track)
        best_with_rows = best_of(track, candidates_with_rows)
        prompt_with_rows = board.prompt_of(best_with_rows)
        parent = board.candidates[prompt_with_rows.parent or board.basic.id]
        best_text = track.text
        if best_text.id == parent.id:  # the rows already stand below this instruction
            return
        text_gain = standings[best_text.id].gain(standings[parent.id])
        if text_gain <= 0.0:
            return
        # The gain of the instruction is expected to add to that of the rows.
        gain = mean_less_toll(track, best_with_rows) + text_gain - mean_less_toll(track, best)
        doubt = math.hypot(
            standings[best_text.id].doubt(standings[parent.id]),
            standings[best_with_rows.id].doubt(standings[best.id]),
        )
        likely_gain = capped_gain(gain, doubt, headroom(track))
        if likely_gain < price_of_rows(track, self.opening * board.lengths(prompt_with_rows)):
            return
        state = best_text.state
        for name, (demos, remembered) in prompt_with_rows.state.shown.items():
            state = state.with_demos(name, demos, remembered)
        source = f"{prompt_with_rows.source}, with the best instruction"
        demo_ids = prompt_with_rows.demo_ids
        for candidate in track.fresh(state, parent=best_text, source=source, demo_ids=demo_ids):
            race_alone(track, candidate, self.opening)

    def reason_to_stop(self, track: Track, turns: Turns) -> str:
        """Return the reason why no arm is worth a further turn; empty if one is.

        Arms that are not worth one are dropped; the others are put in the order of their gain per row.
        """
        if not turns.arms:
            if not track.job.reads_instructions:
                if track.job.decides:
                    return "jurist wrote no wording of its own: --prompt-model names a model that writes further ones"
                return (
                    "jurist wrote no prompt: this model reads no instructions, and demonstrations cannot help"
                )
            return f"jurist stopped the search: {_nothing_left('prompt')}"
        reason = ""
        gain_per_row: dict[str, float] = {}  # arm name -> that of its next candidate
        for arm in turns.arms:
            candidates = turns.candidates[arm.name]
            gain = self._likely_gain(arm, track, candidates, turns.since_lead[arm.name])
            rows = self._rows_of_next(arm, track, candidates)
            gain_per_row[arm.name] = gain / rows
            reason = self._reason_against(arm, track, turns, gain, rows)
            if reason:
                turns.drop(arm)
        turns.order_by(gain_per_row)
        if turns.arms:
            return ""
        return f"jurist stopped the search: {reason}"

    def _reason_against(self, arm: Arm, track: Track, turns: Turns, gain: float, rows: float) -> str:
        """Return the reason why an arm is not worth a further turn; empty if it is worth one.

        Args:
            arm: the arm.
            track: the race.
            turns: the turns of all arms.
            gain: the gain that may be expected of the next candidate of the arm.
            rows: the rows of the basic prompt that take as many tokens as that candidate.
        """
        if turns.is_silent(arm):
            return _nothing_left(arm.product)
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
        reason = (
            f"another {arm.product} would probably gain {gain:.4f} at most, too little for the tokens of {rows:.0f} "
            "rows that it takes"
        )
        if gain * _MOST_FACTOR >= price:
            # At these rows per point the arm would be worth one more turn.
            needed_rows = self.rows_per_point * price / gain
            suggested_rows = _ROUND_ROWS * math.ceil(_SUGGESTED_FACTOR * needed_rows / _ROUND_ROWS)
            return (
                f"{reason}. To search on, add --set rows_per_point={suggested_rows:.0f} to the command (now: the "
                f"tokens of {self.rows_per_point:g} rows for a gain of {POINT:g})"
            )
        if not best_candidate(track).setting.asks_model:
            return f"{reason}. Words alone lead; to search for a prompt without them, add --no-words"
        return reason

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
        """Return the gain over the best candidate that one more candidate of an arm may be expected to bring.

        It is the smaller of two estimates. The first is the expected gain of such a prompt over the prompt that it is
        made from, if it is chosen only where it is better. The second is the expected lead of one more of n equal
        prompts over the best of them.

        Args:
            arm: the arm.
            track: the race.
            candidates: the candidates that the arm made.
            since_lead: the number of these candidates; each time that one of them led, the number was halved.
        """
        board = track.board
        usual_gain = 0.0
        spread = _SPREAD
        lead = 0.0  # of the best candidate over the prompt that the next one is made from
        # Instructions are compared with instructions, and demonstrations with whatever is best.
        if self.added_lengths(arm, track):
            best = best_candidate(track)
            text_mean = track.standings()[track.text.id].mean
            lead = mean_less_toll(track, best) - text_mean
            if track.shows_other_rows(best):  # other rows may be expected to help as much as those that lead
                spread = _ROWS_SPREAD
                usual_gain = track.standings()[best.id].mean - text_mean
        mean, deviation = estimate_gains(track, candidates, usual_gain, spread)
        lengths = 1.0 + self.added_lengths(arm, track)
        if candidates:
            lengths = min(map(board.lengths, candidates))
        mean -= board.best_value * gain_for_lengths(lengths) + lead
        record_gain = _RECORD * deviation / (1.0 + since_lead)
        return min(record_gain, capped_gain(mean, deviation, headroom(track)))


def basic_tokens(track: Track) -> float:
    """Return the tokens of a row of the basic prompt; 0 if they are not known."""
    spend = track.board.spent(track.board.basic, track.order)
    return spend.tokens if spend is not None else 0.0


def tokens_left(track: Track) -> float:
    """Return the tokens that a row may take beyond the basic prompt under ``--tokens-per-row``; infinity without it."""
    if track.job.tokens_per_row is None:
        return math.inf
    return max(0.0, track.job.tokens_per_row - basic_tokens(track))


def price_of_rows(track: Track, rows: float) -> float:
    """Return the gain that the tokens of so many rows of the basic prompt must promise, in units of the metric."""
    return track.board.best_value * gain_for_rows(rows, track.rows_per_point)


def headroom(track: Track) -> float:
    """Return the distance from the best candidate to a perfect score, in units of the metric; 0 at least."""
    best = best_candidate(track)
    return max(0.0, track.board.perfect_value - track.standings()[best.id].mean)


def estimate_gains(
    track: Track, candidates: Sequence[Candidate], usual_gain: float = 0.0, spread: float = _SPREAD
) -> tuple[float, float]:
    """Return the mean and the standard deviation of the true gains of prompts over those they were made from.

    The expected values ``usual_gain`` and ``spread`` count as one more prompt, whose gain is known exactly. A prompt
    that met few cases has little weight. The squared error of a gain is taken off its square, as the part of chance.
    """
    board = track.board
    standings = board.standings(track.around, shrink=0.0)
    usual_variance = (spread * board.best_value) ** 2
    # Each prompt has a gain, its squared error, and a weight; a gain that is known exactly has the weight 1.
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


def best_candidate(track: Track) -> Candidate:
    """Return the best of all candidates, by its mean less toll."""
    return best_of(track, list(track.board.candidates.values()))


def best_of(track: Track, candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate with the highest mean less toll, the earliest of equal ones."""
    standings = track.standings()
    scored = [candidate for candidate in candidates if candidate.id in standings]
    return max(scored, key=lambda candidate: round(mean_less_toll(track, candidate), 9))


def mean_less_toll(track: Track, candidate: Candidate) -> float:
    """Return the mean of a candidate, less its toll: the gain that the tokens of its rows must bring."""
    return track.standings()[candidate.id].mean - track.board.toll(candidate)


def race_alone(track: Track, candidate: Candidate, opening: int, spread: float = _SPREAD) -> None:
    """Score a prompt on twice as many cases each time, as long as it is worth their tokens to know how good it is.

    Each time the prompt is entered again under the settings that are fitted to its answers. A prompt without questions
    is retired if it answers like its parent on the first two blocks.

    Args:
        track: the race.
        candidate: the prompt.
        opening: the number of cases that it meets the first time.
        spread: the expected standard deviation of the gains of such prompts, as a share of the metric's best value.
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
        open_cases = len(track.open(candidate))
        rows = min(open_cases, count) * board.lengths(candidate)
        if not open_cases or gain_of_knowing(track, candidate, spread) < price_of_rows(track, rows):
            return
        count *= 2


def family_of(track: Track, candidate: Candidate) -> list[Candidate]:
    """Return the candidates with the same requests as a prompt: the prompt under all its thresholds and rules."""
    family: list[Candidate] = []
    for member in track.board.candidates.values():
        if member.asked_id == candidate.asked_id:
            family.append(member)
    return family


def gain_of_knowing(track: Track, candidate: Candidate, spread: float) -> float:
    """Return the expected gain of knowing whether a prompt or the best of the others is better, and not guessing it."""
    family = family_of(track, candidate)
    ids = {member.id for member in family}
    rivals = [
        tried_candidate
        for tried_candidate in track.board.candidates.values()
        if tried_candidate.id not in ids
    ]
    best = best_of(track, family)
    rival = best_of(track, rivals)
    standings = track.standings()
    difference = mean_less_toll(track, best) - mean_less_toll(track, rival)
    variance = standings[best.id].doubt(standings[rival.id]) ** 2
    usual_variance = (spread * track.board.best_value) ** 2
    share = usual_variance / (usual_variance + variance)  # a difference on few cases is mostly luck
    return expected_gain(-abs(share * difference), math.sqrt(share * variance))


def leads(track: Track, candidate: Candidate) -> bool:
    """Say whether a prompt, under any of its settings, is the best of all candidates."""
    return best_candidate(track).asked_id == candidate.asked_id


def capped_gain(gain: float, doubt: float, cap: float) -> float:
    """Return the expected gain of a choice (:func:`.worth.expected_gain`) that cannot gain more than a cap."""
    return expected_gain(gain, doubt) - expected_gain(gain - max(0.0, cap), doubt)


def _nothing_left(product: str) -> str:
    """Return in words that the search has found nothing new to try, and what makes it find more."""
    return (
        f"it found no {product} that it has not tried. To search on, add labelled rows, or name another optimizer "
        "with --optimizer"
    )
