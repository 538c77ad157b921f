"""Hard limits on what a job may spend: a call is reserved before it is made (docs/architecture.md)."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..arguments.groups import AllLimits
from ..errors import BudgetExhausted, ModelError, StopRequested, UsageError, check_types

if TYPE_CHECKING:
    from dspy.lm15 import Request

_LEAST_COST: Final = 1e-6
"""US dollars of an unknown call: it is certain only that it takes something."""
_WARM_UP: Final = 16
"""Calls that are not timed: engines load, connections open, and the first calls all go at once."""
_BYTES_OF_IMAGE: Final = 6_000
"""Bytes of text that take as many tokens as an image: providers count 260 to 1,600 tokens for most of them."""
_ROUNDING: Final = 1e-9
"""The share by which a limit may be passed, as prices are sums of floats: ten calls of 0.01 may be more than 0.1."""


class Budget(AllLimits):
    """The most that a job may take; ``None`` is no limit.

    Attributes:
        calls: requests, retries included.
        cost: US dollars.
        tokens: input and output tokens together.
        seconds: wall clock since the job (or its resumption) began.
    """

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        check_types(Budget, vars(self))
        for name, value in vars(self).items():
            if value is not None and not value > 0:
                raise UsageError(f"a budget of {value} {name} allows nothing", hint="give a number above 0")


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An amount of a budget: calls, tokens and US dollars that were taken, or that a call may take at most."""

    calls: int = 0
    tokens: float = 0
    cost: float = 0.0

    def __add__(self, amount: Amount) -> Amount:
        return Amount(
            calls=self.calls + amount.calls, tokens=self.tokens + amount.tokens, cost=self.cost + amount.cost
        )

    def __sub__(self, amount: Amount) -> Amount:
        return Amount(
            calls=self.calls - amount.calls, tokens=self.tokens - amount.tokens, cost=self.cost - amount.cost
        )


_NOTHING: Final = Amount()


class Meter:
    """Counts one job's spending against its budget. Thread-safe."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._lock, self._start = threading.Lock(), time.monotonic()
        self.budget = budget or Budget()
        self.signal: int | None = None
        """The signal that has stopped the job, if one has."""

        self.calls, self.cost, self.tokens = 0, 0.0, 0
        self.unpriced = 0
        """Calls whose price is unknown."""
        self.kept = Amount()
        """The amount of all of these that finished jobs have paid."""
        self._failed = 0
        """Requests that brought no answer, or none that could be read."""

        self.in_flight = 0
        self._reserved = Amount()
        """The most that calls in flight may take."""
        self._in_flight_without_estimate = 0

        self.answers_kept_back = 0
        """Answers that are kept back for later work."""
        self.may_fail = False
        """Whether requests can fail, so that spare ones are kept back with those answers."""

        self.phase = 0
        """The number of the part of the job in hand: each :meth:`keep_back` begins another."""
        self._prior = dict[int, Amount]()
        """Phase -> the amount that earlier processes took in it, and that this one has not replayed yet."""
        self.replays = 0
        """Calls and failures of earlier processes that this one has met again."""

        self._sent = 0
        self._warmed_up_at = 0.0
        """When the last call of the warm-up was sent."""

    def stop(self, signal: int) -> None:
        """Let no further call begin. Takes no lock, as a signal's handler may interrupt whoever holds it."""
        self.signal = signal

    @property
    def is_over(self) -> bool:
        """Whether no call may begin any more, as the job was stopped or its seconds have passed."""
        if self.signal is not None:
            return True
        seconds = self.budget.seconds
        return seconds is not None and time.monotonic() - self._start > seconds * (1 + _ROUNDING)

    def _check_stopped(self) -> None:
        """Raise ``StopRequested`` if a signal has stopped the job."""
        if self.signal is not None:
            raise StopRequested(self.signal)

    @property
    def outstanding(self) -> Amount:
        """The amount, of all phases, that earlier processes of this job took and this one has not replayed yet."""
        with self._lock:
            return self._outstanding()

    def add_prior(self, phase: int, prior: Amount) -> None:
        """Count an amount that an earlier process took in a phase; before the first call of this process."""
        with self._lock:
            self._prior[phase] = self._prior.get(phase, Amount()) + prior

    @property
    def requests_kept_back(self) -> int:
        """Requests kept back for later work: one for each answer, and spare ones if requests can fail."""
        if not self.may_fail:
            return self.answers_kept_back
        return self.answers_kept_back + spare_requests(
            self.answers_kept_back, failed=self._failed, sent=self.calls
        )

    def keep_back(self, calls: int) -> None:
        """Keep ``calls`` answers back for later work, in place of those before, and begin the next phase."""
        # Their cost and tokens are kept back too, at the mean of the calls so far, and their seconds at the pace of the
        # calls that were sent, once there are enough of them to have a pace.
        with self._lock:
            self.answers_kept_back = calls
            self.phase += 1

    @property
    def needs_estimates(self) -> bool:
        """Whether the budget limits tokens or cost, which are known before a call only as an estimate."""
        return self.budget.tokens is not None or self.budget.cost is not None

    def reserve(
        self, reservation: Amount | None = None, *, may_wait: bool = True, replays_first: bool = False
    ) -> bool:
        """Take one call from the budget, before it is made.

        Args:
            reservation: the most that the call may take; ``None`` if there is no estimate yet.
            may_wait: whether the caller can try again after other calls have ended.
            replays_first: whether a call without room waits while calls of earlier processes are still to be replayed.

        Returns:
            ``False`` if the call has to wait.

        Raises:
            BudgetExhausted: there is no room for the call, and waiting would make none.
        """
        with self._lock:
            self._check_stopped()
            due_now, due_in_all = self._outstanding(self.phase), self._outstanding()
            replays_first = replays_first and due_now.calls > 0
            try:
                self._check_room_for_calls(due_now.calls)
                self._check_limit("calls", self.budget.calls, self.calls + due_in_all.calls + 1)
            except BudgetExhausted as stop:
                if replays_first and stop.limit == "calls":
                    return False
                raise
            if self._lacks_estimate(reservation):
                if may_wait:
                    return False
                limit = "cost" if self.budget.tokens is None else "tokens"
                raise BudgetExhausted(limit, getattr(self.budget, limit))
            try:
                self._check_tokens_and_cost(reservation, due_now, due_in_all)
            except BudgetExhausted:
                if may_wait and (self.in_flight or replays_first):
                    return False
                raise
            self._sent += 1
            if self._sent == _WARM_UP:
                self._warmed_up_at = time.monotonic()
            self.calls += 1
            self.in_flight += 1
            self._in_flight_without_estimate += reservation is None
            self._reserved += reservation or _NOTHING
            return True

    def _lacks_estimate(self, reservation: Amount | None) -> bool:
        """Say whether a call cannot be estimated together with those in flight, as one of them has no estimate."""
        if not self.needs_estimates or not self.in_flight:
            return False
        return reservation is None or self._in_flight_without_estimate > 0

    def _check_tokens_and_cost(self, reservation: Amount | None, due_now: Amount, due_in_all: Amount) -> None:
        """Raise ``BudgetExhausted`` if a call has no room in the tokens or the cost of the budget."""
        call = reservation or Amount(tokens=1.0, cost=_LEAST_COST)
        # Beside it there has to be room for the answers that are kept back, at the mean of the calls so far, and for
        # all that earlier processes took.
        growth = 1 + self.answers_kept_back / max(1, self.calls + due_now.calls)
        tokens = max((self.tokens + due_now.tokens) * growth, self.tokens + due_in_all.tokens)
        tokens += self._reserved.tokens + call.tokens
        self._check_limit("tokens", self.budget.tokens, tokens)
        cost = max((self.cost + due_now.cost) * growth, self.cost + due_in_all.cost)
        cost += self._reserved.cost + call.cost
        self._check_limit("cost", self.budget.cost, cost)

    def replay(self, paid: Amount, *, phase: int = 0) -> None:
        """Count a call whose answer an earlier process paid for; until :meth:`settle` it is in flight."""
        with self._lock:
            self._check_stopped()
            # A call that was paid in a later phase is new to this one: it found no room here, or was not asked for.
            due_calls = self._outstanding(self.phase).calls if phase > self.phase else 0
            self._check_room_for_calls(due_calls, paid.calls)
            self._remove_prior(phase, paid)
            self.calls += paid.calls
            self.in_flight += 1
            self._reserved += paid

    def count_earlier_failures(self, phase: int, calls: int) -> None:
        """Count attempts of an earlier process that failed, when their request is made again."""
        with self._lock:
            self._remove_prior(phase, Amount(calls=calls))
            self.calls += calls
            self._failed += calls

    def count_unusable(self, calls: int) -> None:
        """Count answers that could not be read and are asked for again: they raise the rate of failing requests."""
        with self._lock:
            self._failed += calls

    def _remove_prior(self, phase: int, prior: Amount) -> None:
        """Take an amount off the outstanding one of a phase, as this process has met it again."""
        self.replays += 1
        rest = self._prior.get(phase, Amount()) - prior
        if rest.calls > 0:
            self._prior[phase] = rest
        else:
            self._prior.pop(phase, None)

    def _outstanding(self, last_phase: float = math.inf) -> Amount:
        """Return the outstanding amount of all phases up to ``last_phase``; the caller has the lock."""
        total = _NOTHING
        for phase, prior in self._prior.items():
            if phase <= last_phase:
                total += prior
        return total

    def _check_room_for_calls(self, prior_calls: int = 0, calls: int = 1) -> None:
        """Raise ``BudgetExhausted`` if the limit on calls or seconds has no room for ``calls`` more.

        Beside them there has to be room for the calls that are kept back, and for ``prior_calls`` of earlier processes.
        """
        seconds_a_call = 0.0
        elapsed = time.monotonic() - self._start
        if self._sent >= 2 * _WARM_UP:
            seconds_a_call = (time.monotonic() - self._warmed_up_at) / (self._sent - _WARM_UP)
        kept_back = self.requests_kept_back
        self._check_limit("calls", self.budget.calls, self.calls + prior_calls + kept_back + calls, kept_back)
        seconds = elapsed + seconds_a_call * self.answers_kept_back
        self._check_limit("seconds", self.budget.seconds, math.nextafter(seconds, math.inf))

    @staticmethod
    def _check_limit(name: str, limit: float | None, amount: float, kept_back: int = 0) -> None:
        """Raise ``BudgetExhausted`` if an amount is over a limit; ``kept_back`` is for its message."""
        if limit is not None and amount > limit * (1 + _ROUNDING):
            raise BudgetExhausted(name, limit, remaining=kept_back)

    def settle(
        self, *, tokens: int, cost: float | None, reservation: Amount | None = None, failed: bool = False
    ) -> None:
        """Count the amount that a reserved call used, in place of its reservation.

        Args:
            tokens: input and output tokens.
            cost: US dollars; ``None`` if the price is unknown.
            reservation: the reservation that was made for it.
            failed: whether it brought no answer.

        Raises:
            ModelError: the price is unknown, and the budget limits the cost; or the endpoint does not report tokens,
                and the budget limits them.
        """
        with self._lock:
            self.in_flight -= 1
            self._failed += failed
            self._in_flight_without_estimate -= reservation is None
            if self.in_flight:
                self._reserved -= reservation or _NOTHING
            else:  # sums of floats drift: with nothing in flight nothing is reserved
                self._reserved = _NOTHING
            self.tokens += tokens
            self.cost += cost or 0.0
            self.unpriced += cost is None
        if self.budget.tokens is not None and not tokens and not failed:
            hint = "limit the job with --max-calls"
            raise ModelError(
                "a limit on tokens cannot be kept: the endpoint does not report tokens", hint=hint
            )
        if cost is None and self.budget.cost is not None:
            hint = "state it with --price-in and --price-out, or limit the job with --max-calls"
            if not tokens:
                hint = "the endpoint does not report tokens: limit the job with --max-calls"
            raise ModelError("--max-cost cannot be kept: the price of a reply is unknown", hint=hint)

    def settle_kept(self, taken: Amount, reservation: Amount | None, *, failed: bool) -> None:
        """Count the amount of a reserved call that was not sent, as a finished job has paid for it."""
        with self._lock:
            self._sent -= 1
            self.kept += taken
        self.settle(tokens=round(taken.tokens), cost=taken.cost, reservation=reservation, failed=failed)

    def limit_for_answers(self, answers: int) -> int:
        """Return the limit on calls (``--max-calls``) that would leave room for a number of answers more.

        The calls so far and the answers that are kept back are part of it.
        """
        spare = spare_in_turn(answers, self.answers_kept_back) if self.may_fail else 0
        return self.calls + answers + self.answers_kept_back + spare

    @property
    def calls_left_in_all(self) -> int:
        """Calls that the budget still allows, those that are kept back included; 0 if it does not limit calls."""
        return 0 if self.budget.calls is None else max(0, self.budget.calls - self.calls)

    def calls_left(self) -> int | None:
        """Return the calls that the budget allows now, without those kept back; ``None`` if it does not limit calls."""
        if self.budget.calls is None:
            return None
        return max(0, self.budget.calls - self.calls - self.requests_kept_back)


_EXPECTED_FAILED: Final = 5
_EXPECTED_SENT: Final = 100
"""Before anything is sent, 5 of 100 requests are expected to fail; it weighs as much as 100 requests that were sent."""
_DEVIATIONS: Final = 3.0
"""Standard deviations above the expected failures for which spare requests are kept."""


def spare_requests(answers: int, *, failed: int = 0, sent: int = 0) -> int:
    """Return the spare requests for a number of answers, by the share of requests that failed so far."""
    rate = min(0.5, (failed + _EXPECTED_FAILED) / (sent + _EXPECTED_SENT))
    expected = answers * rate / (1.0 - rate)
    deviation = math.sqrt(answers * rate) / (1.0 - rate)
    return math.ceil(expected + _DEVIATIONS * deviation)


def spare_in_turn(first: int, later: int) -> int:
    """Return the spare requests for ``first`` answers and then ``later`` ones.

    If all spare requests of the first answers fail, the rate of failing is higher when the later answers are asked for,
    and these need more spare requests than by themselves.
    """
    failed = spare_requests(first)
    return failed + spare_requests(later, failed=failed, sent=first + failed)


class CallEstimate:
    """An upper estimate of the tokens and cost of a request, from the largest ratios so far. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_answer = False
        self._tokens_a_byte, self._longest_reply, self._cost_a_token = 0.0, 0, 0.0

    def of(self, request: Request) -> Amount | None:
        """Return the largest amount that a request may take; ``None`` before the first answer."""
        with self._lock:
            if not self._has_answer:
                return None
            limit = request.config.max_tokens
            reply = self._longest_reply if limit is None else limit
            tokens = self._tokens_a_byte * size_of(request) + reply
            return Amount(tokens=tokens, cost=tokens * self._cost_a_token)

    def learn(self, size: int, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Take in the tokens and the cost of a request of ``size`` bytes."""
        tokens = max(1, input_tokens + output_tokens)
        self.raise_to((input_tokens / max(1, size), output_tokens, (cost or 0.0) / tokens))

    def raise_to(self, largest: tuple[float, int, float] | None) -> None:
        """Take in the largest ratios of answers: tokens a byte, tokens of a reply, and US dollars a token."""
        if largest is None:
            return
        with self._lock:
            self._has_answer = True
            self._tokens_a_byte = max(self._tokens_a_byte, largest[0])
            self._longest_reply = max(self._longest_reply, largest[1])
            self._cost_a_token = max(self._cost_a_token, largest[2])


def size_of(request: Request) -> int:
    """Return the bytes of a request's texts, and for each image those of a text that takes as many tokens."""
    system = request.system
    if not isinstance(system, str):
        system = "".join(part.text for part in system or ())
    size = _bytes_of(system)
    for message in request.messages:
        size += _bytes_of(message.text or "")
        for part in message.parts:
            if part.type == "image":
                size += _BYTES_OF_IMAGE
    return size


def _bytes_of(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))
