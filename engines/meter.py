"""Hard limits on what a job may spend: a call is reserved before it is made (docs/architecture.md)."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arguments.groups import AllLimits
from ..errors import BudgetExhausted, ModelError, StopRequested, UsageError, check_types

if TYPE_CHECKING:
    from dspy.lm15 import Request

_SOMETHING = 1e-6  # US dollars: of an unknown call it is known only that it takes something
_WARM_UP = 16  # calls whose pace says nothing yet: engines load, connections open, the first all go at once
_ROUNDING = 1e-9  # prices are sums of floats: ten calls of 0.01 may come to a little more than 0.1


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

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, cost=self.cost + other.cost
        )

    def __sub__(self, other: Amount) -> Amount:
        return self + Amount(calls=-other.calls, tokens=-other.tokens, cost=-other.cost)


class Meter:
    """Counts one job's spending against its budget. Thread-safe."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.calls, self.cost, self.tokens = 0, 0.0, 0
        self.unpriced = 0  # calls whose price is unknown
        self.in_flight, self._unknown = 0, 0
        self._reserved = Amount()
        self.held = 0  # answers that are kept back for later work
        self.may_fail = (
            False  # whether requests can fail, so that spare ones are kept back with those answers
        )
        self._failed = 0  # requests that brought no answer, or none that could be read
        self.phase, self._prior, self.replays = 0, dict[int, Amount](), 0
        self._sent, self._warm = 0, 0.0
        self.signal: int | None = None
        self._lock, self._start = threading.Lock(), time.monotonic()

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
        """Take one call from the budget, before it is made; ``False`` if others have to be over first."""
        own = reservation or Amount(tokens=1.0, cost=_SOMETHING)
        with self._lock:
            self._check_stopped()
            now, every = self._outstanding(self.phase), self._outstanding()
            replays_first = replays_first and now.calls > 0
            try:
                self._check_begun(now.calls)
                self._over("calls", self.budget.calls, self.calls + every.calls + 1)
            except BudgetExhausted as stop:
                if replays_first and stop.limit == "calls":
                    return False
                raise
            if self.estimates and self.in_flight and (reservation is None or self._unknown):
                if may_wait:
                    return False
                limit = "cost" if self.budget.tokens is None else "tokens"
                raise BudgetExhausted(limit, getattr(self.budget, limit))
            later = 1 + self.held / max(1, self.calls + now.calls)
            for name in ("tokens", "cost"):
                spent, soon, ever = (getattr(amount, name) for amount in (self, now, every))
                # Beside what is kept back and outstanding now, or all that is outstanding.
                wanted = max((spent + soon) * later, spent + ever)
                wanted += getattr(self._reserved, name) + getattr(own, name)
                try:
                    self._over(name, getattr(self.budget, name), wanted)
                except BudgetExhausted:
                    if may_wait and (self.in_flight or replays_first):
                        return False
                    raise
            self._sent += 1
            if self._sent == _WARM_UP:
                self._warm = time.monotonic()
            self.calls += 1
            self.in_flight += 1
            self._unknown += reservation is None
            self._reserved += reservation or Amount()
            return True

    def replay(self, known: Amount, *, phase: int = 0) -> None:
        """Take a call whose answer is already there, and of which everything is known."""
        with self._lock:
            self._check_stopped()
            # What was paid in a later phase found no room in this one, or was not asked for in it.
            early = self._outstanding(self.phase).calls if phase > self.phase else 0
            self._check_begun(early, known.calls)
            self._replayed(phase, known)
            self.calls += known.calls
            self.in_flight += 1
            self._reserved += known

    def book(self, phase: int, calls: int) -> None:
        """Count attempts that failed in an earlier process, when what they asked is asked again."""
        with self._lock:
            self._replayed(phase, Amount(calls=calls))
            self.calls += calls
            self._failed += calls

    def count_unusable(self, calls: int) -> None:
        """Take note of answers that could not be read and are asked for again: spare requests are kept for them too."""
        with self._lock:
            self._failed += calls

    def _replayed(self, phase: int, prior: Amount) -> None:
        self.replays += 1
        left = self._prior.get(phase, Amount()) - prior
        if left.calls > 0:
            self._prior[phase] = left
        else:
            self._prior.pop(phase, None)

    def _outstanding(self, until: float = math.inf) -> Amount:
        """Return the outstanding amount of phases up to ``until``."""
        return sum((prior for phase, prior in self._prior.items() if phase <= until), Amount())

    def _check_begun(self, prior: int = 0, calls: int = 1) -> None:
        now, pace = time.monotonic(), 0.0
        if self._sent >= 2 * _WARM_UP:
            pace = (now - self._warm) / (self._sent - _WARM_UP)
        held = self.requests_held
        self._over("calls", self.budget.calls, self.calls + prior + held + calls, held)
        seconds = now - self._start + pace * self.held
        self._over("seconds", self.budget.seconds, math.nextafter(seconds, math.inf))

    @staticmethod
    def _over(name: str, limit: float | None, wanted: float, kept: int = 0) -> None:
        if limit is not None and wanted > limit * (1 + _ROUNDING):
            raise BudgetExhausted(name, limit, kept=kept)

    def settle(
        self, *, tokens: int, cost: float | None, reservation: Amount | None = None, failed: bool = False
    ) -> None:
        """Book what a reserved call used, and whether it ``failed`` to bring an answer."""
        with self._lock:
            self.in_flight -= 1
            self._failed += failed
            self._unknown -= reservation is None
            # Sums of floats drift: with nothing in flight nothing is reserved.
            self._reserved = self._reserved - (reservation or Amount()) if self.in_flight else Amount()
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


_FAILED_BEFORE, _SENT_BEFORE = 5, 100
"""The rate of failing that is expected before anything is sent, and the requests that this expectation weighs."""
_DEVIATIONS = 3.0
"""Standard deviations by which more requests may fail than the rate says before the spare ones are used up."""


def spare_requests(answers: int, *, failed: int = 0, sent: int = 0) -> int:
    """Return how many requests to keep back beside ``answers`` for those that will fail, by how many did so far."""
    rate = min(0.5, (failed + _FAILED_BEFORE) / (sent + _SENT_BEFORE))
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


class Estimate:
    """An upper estimate of a request's amount, from the largest ratios seen so far. Thread-safe."""

    def __init__(self) -> None:
        self._lock, self._known = threading.Lock(), False
        self._density, self._longest, self._dearest = 0.0, 0, 0.0

    def of(self, request: Request) -> Amount | None:
        """Return the largest amount that a request may take; ``None`` before the first answer."""
        with self._lock:
            if not self._known:
                return None
            limit = request.config.max_tokens
            reply = self._longest if limit is None else limit
            tokens = self._density * size_of(request) + reply
            return Amount(tokens=tokens, cost=tokens * self._dearest)

    def learn(self, size: int, input_tokens: int, output_tokens: int, cost: float | None) -> None:
        """Take in what a request of ``size`` bytes took."""
        used = max(1, input_tokens + output_tokens)
        self.know((input_tokens / max(1, size), output_tokens, (cost or 0.0) / used))

    def know(self, most: tuple[float, int, float] | None) -> None:
        """Take in the most that answers took: tokens a byte, tokens of a reply, and US dollars a token."""
        if most is None:
            return
        with self._lock:
            self._known = True
            self._density = max(self._density, most[0])
            self._longest = max(self._longest, most[1])
            self._dearest = max(self._dearest, most[2])


def size_of(request: Request) -> int:
    """Return the bytes of a request's texts."""
    system = request.system
    parts = [system] if isinstance(system, str) else [part.text for part in system or ()]
    parts += [message.text or "" for message in request.messages]
    return sum(len(part) if part.isascii() else len(part.encode("utf-8", "surrogatepass")) for part in parts)
