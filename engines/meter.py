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
"""Calls whose pace says nothing yet: engines load, connections open, the first all go at once."""
_ROUNDING: Final = 1e-9
"""Prices are sums of floats: ten calls of 0.01 may come to a little more than 0.1."""


class Budget(AllLimits):
    """Limits of a job; ``None`` is no limit.

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
        self._failed = 0
        """Requests that brought no answer, or none that could be read."""

        self.in_flight = 0
        self._reserved = Amount()
        """The most that calls in flight may take."""
        self._in_flight_without_estimate = 0

        self.held = 0
        """Answers that are kept back for later work."""
        self.may_fail = False
        """Whether requests can fail, so that spare ones are kept back with those answers."""

        self.phase = 0
        """The number of the part of the job in hand: each :meth:`hold` begins another."""
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
        if self.signal is not None:
            raise StopRequested(self.signal)

    @property
    def outstanding(self) -> Amount:
        """The amounts that earlier processes took of the budget and that this process has not replayed yet."""
        with self._lock:
            return self._outstanding()

    def add_prior(self, phase: int, prior: Amount) -> None:
        """Take in what an earlier process took of the budget in a phase, before any call of this one."""
        with self._lock:
            self._prior[phase] = self._prior.get(phase, Amount()) + prior

    @property
    def requests_held(self) -> int:
        """Requests that are kept back for later work: one an answer, and spare ones by the rate of failing so far."""
        if not self.may_fail:
            return self.held
        return self.held + spare_requests(self.held, failed=self._failed, sent=self.calls)

    def hold(self, calls: int) -> None:
        """Keep ``calls`` answers back for later work."""
        # Cost and tokens are kept back too, at the mean of the calls so far, and seconds at the pace of those
        # really sent, once there are enough of them to have one.
        with self._lock:
            self.held = calls
            self.phase += 1

    @property
    def estimates(self) -> bool:
        """Whether a limit needs an estimate of each call."""
        return self.budget.tokens is not None or self.budget.cost is not None

    def reserve(
        self, reservation: Amount | None = None, *, may_wait: bool = True, replays_first: bool = False
    ) -> bool:
        """Take one call from the budget, before it is made; ``False`` if others have to be over first.

        ``reservation`` is the most that the call may take, ``None`` if there is no estimate yet. With ``replays_first``
        a call that has no room waits for those that were paid before.
        """
        with self._lock:
            self._check_stopped()
            due_now, due_in_all = self._outstanding(self.phase), self._outstanding()
            replays_first = replays_first and due_now.calls > 0
            try:
                self._check_begun(due_now.calls)
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
            self._reserved += reservation or Amount()
            return True

    def _lacks_estimate(self, reservation: Amount | None) -> bool:
        """Say whether a limit cannot be kept beside the calls in flight, as one of all these has no estimate."""
        if not self.estimates or not self.in_flight:
            return False
        return reservation is None or self._in_flight_without_estimate > 0

    def _check_tokens_and_cost(self, reservation: Amount | None, due_now: Amount, due_in_all: Amount) -> None:
        """Raise ``BudgetExhausted`` if a call has no room in the tokens or the cost of the budget."""
        call = reservation or Amount(tokens=1.0, cost=_LEAST_COST)
        # Beside it there has to be room for the answers that are kept back, at the mean of the calls so far, and for
        # all that earlier processes took.
        later = 1 + self.held / max(1, self.calls + due_now.calls)
        tokens = max((self.tokens + due_now.tokens) * later, self.tokens + due_in_all.tokens)
        tokens += self._reserved.tokens + call.tokens
        self._check_limit("tokens", self.budget.tokens, tokens)
        cost = max((self.cost + due_now.cost) * later, self.cost + due_in_all.cost)
        cost += self._reserved.cost + call.cost
        self._check_limit("cost", self.budget.cost, cost)

    def replay(self, paid: Amount, *, phase: int = 0) -> None:
        """Take a call whose answer is already there, with what was paid for it."""
        with self._lock:
            self._check_stopped()
            # What was paid in a later phase found no room in this one, or was not asked for in it.
            due_calls = self._outstanding(self.phase).calls if phase > self.phase else 0
            self._check_begun(due_calls, paid.calls)
            self._remove_prior(phase, paid)
            self.calls += paid.calls
            self.in_flight += 1
            self._reserved += paid

    def book(self, phase: int, calls: int) -> None:
        """Count attempts that failed in an earlier process, when what they asked is asked again."""
        with self._lock:
            self._remove_prior(phase, Amount(calls=calls))
            self.calls += calls
            self._failed += calls

    def count_unusable(self, calls: int) -> None:
        """Take note of answers that could not be read and are asked for again: spare requests are kept for them too."""
        with self._lock:
            self._failed += calls

    def _remove_prior(self, phase: int, prior: Amount) -> None:
        """Take an amount that this process has met again from what is outstanding."""
        self.replays += 1
        rest = self._prior.get(phase, Amount()) - prior
        if rest.calls > 0:
            self._prior[phase] = rest
        else:
            self._prior.pop(phase, None)

    def _outstanding(self, last_phase: float = math.inf) -> Amount:
        """Return the outstanding amount of phases up to one."""
        total = Amount()
        for phase, prior in self._prior.items():
            if phase <= last_phase:
                total += prior
        return total

    def _check_begun(self, prior: int = 0, calls: int = 1) -> None:
        """Raise ``BudgetExhausted`` if calls, or seconds, leave no room for calls beside those that are kept back."""
        seconds_a_call = 0.0
        elapsed = time.monotonic() - self._start
        if self._sent >= 2 * _WARM_UP:
            seconds_a_call = (time.monotonic() - self._warmed_up_at) / (self._sent - _WARM_UP)
        kept_back = self.requests_held
        self._check_limit("calls", self.budget.calls, self.calls + prior + kept_back + calls, kept_back)
        seconds = elapsed + seconds_a_call * self.held
        self._check_limit("seconds", self.budget.seconds, math.nextafter(seconds, math.inf))

    @staticmethod
    def _check_limit(name: str, limit: float | None, amount: float, kept_back: int = 0) -> None:
        """Raise ``BudgetExhausted`` if an amount is over a limit of the budget."""
        if limit is not None and amount > limit * (1 + _ROUNDING):
            raise BudgetExhausted(name, limit, remaining=kept_back)

    def settle(
        self, *, tokens: int, cost: float | None, reservation: Amount | None = None, failed: bool = False
    ) -> None:
        """Book what a reserved call used, and whether it ``failed`` to bring an answer."""
        with self._lock:
            self.in_flight -= 1
            self._failed += failed
            self._in_flight_without_estimate -= reservation is None
            if self.in_flight:
                self._reserved -= reservation or Amount()
            else:  # sums of floats drift: with nothing in flight nothing is reserved
                self._reserved = Amount()
            self.tokens += tokens
            self.cost += cost or 0.0
            self.unpriced += cost is None
        if cost is None and self.budget.cost is not None:
            hint = "state it with --price-in and --price-out, or limit the job with --max-calls"
            raise ModelError("--max-cost cannot be kept: the price of a reply is unknown", hint=hint)

    def short(self, calls: int) -> int:
        """Return the limit on calls that would leave room for ``calls`` more answers, besides what is held back."""
        spare = spare_in_turn(calls, self.held) if self.may_fail else 0
        return self.calls + calls + self.held + spare

    @property
    def taken(self) -> int:
        """The amount taken so far as one number: tokens, or calls where an endpoint reports no tokens."""
        return self.tokens + self.calls

    @property
    def unsent(self) -> int:
        """Requests that the limit on calls still allows, those that are kept back included; 0 without a limit."""
        return 0 if self.budget.calls is None else max(0, self.budget.calls - self.calls)

    def left(self) -> int | None:
        """Return how many calls the budget still allows, if it limits calls."""
        if self.budget.calls is None:
            return None
        return max(0, self.budget.calls - self.calls - self.requests_held)


_EXPECTED_FAILED: Final = 5
_EXPECTED_SENT: Final = 100
"""The rate of failing that is expected before anything is sent, and the requests that this expectation weighs."""
_DEVIATIONS: Final = 3.0
"""Standard deviations by which more requests may fail than the rate says before the spare ones are used up."""


def spare_requests(answers: int, *, failed: int = 0, sent: int = 0) -> int:
    """Return how many requests to keep back beside ``answers`` for those that will fail, by how many did so far."""
    rate = min(0.5, (failed + _EXPECTED_FAILED) / (sent + _EXPECTED_SENT))
    expected = answers * rate / (1.0 - rate)
    deviation = math.sqrt(answers * rate) / (1.0 - rate)
    return math.ceil(expected + _DEVIATIONS * deviation)


def spare_in_turn(first: int, later: int) -> int:
    """Return the spare requests for work on ``first`` answers that leaves enough of them for ``later`` ones.

    What is kept back for the later answers grows with the requests that fail before, and the first work may lose all
    of its spare ones: both are enough only together.
    """
    failed = spare_requests(first)
    return failed + spare_requests(later, failed=failed, sent=first + failed)


class CallEstimate:
    """An upper estimate of a request's amount, from the largest ratios so far. Thread-safe."""

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
    """Return the bytes of a request's texts."""
    system = request.system
    if not isinstance(system, str):
        system = "".join(part.text for part in system or ())
    size = _bytes_of(system)
    for message in request.messages:
        size += _bytes_of(message.text or "")
    return size


def _bytes_of(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))
