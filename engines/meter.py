"""Hard limits on what a job may spend.

A call is reserved before it is made. What holds, with any concurrency:

- *calls*: never one more than the limit.
- *tokens* and *cost*: a call is made only if its estimate fits into what is left
  beside the estimates of all calls in flight. The estimate is the input, counted
  in bytes at the most tokens per byte seen so far, plus the limit on a reply
  (``max_tokens``), or the longest reply so far where there is none; the price is
  the dearest per token so far. A call that does not fit waits until those in
  flight have arrived, and ends the work if it still does not fit. So a limit is
  passed only by what a call takes beyond its estimate; the first call of a model,
  of which nothing is known, goes alone.
- *seconds*: no call is begun after the limit; calls in flight are paid for, and
  may arrive within their time-out.

Answers replayed from a journal count as if paid now: a resumed job stops where
an uninterrupted one would. :class:`~jurist.errors.BudgetExhausted` is a
``BaseException``, and once the calls or the seconds are spent every further call
raises it again, so that nothing an optimizer catches lets the work go on; of tokens
and cost a smaller call may still fit into what is left.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from ..errors import BudgetExhausted, ModelError, UsageError

__all__ = ["Budget", "Meter", "Promise"]


_SOMETHING = 1e-6  # US dollars: of an unknown call it is known only that it takes something
_WARM_UP = 16  # calls whose pace says nothing yet: engines load, connections open, the first all go at once
_ROUNDING = 1e-9  # prices are sums of floats: ten calls of 0.01 may come to a little more than 0.1


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of a job; ``None`` is no limit.

    Attributes:
        calls: requests, retries included.
        cost: US dollars.
        tokens: input and output tokens together.
        seconds: wall clock since the job (or its resumption) began.
    """

    calls: int | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive."""
        for name in ("calls", "cost", "tokens", "seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"a budget of {value} {name} allows nothing", hint="give a number above 0")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a call will take at most, as far as it can be known: ``tokens``, and ``cost`` in US dollars."""

    tokens: float = 0.0
    cost: float = 0.0


class Meter:
    """Counts one job's spending against its budget. Thread-safe."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.calls, self.cost, self.tokens = 0, 0.0, 0
        self._in_flight, self._unknown = 0, 0
        self._promised = Promise()
        self._held, self._spare = 0, 0
        self._sent, self._warm = 0, 0.0
        self._lock, self._start = threading.Lock(), time.monotonic()

    @property
    def held(self) -> int:
        """The calls that are kept back."""
        return self._held

    def hold(self, calls: int, *, spare: int | None = None) -> None:
        """Keep ``calls`` of the budget back for later work; ``hold(0)`` gives them free.

        ``spare`` calls are kept back too (default: as before), for work that does with whatever is left: of
        calls only.

        Cost, tokens and seconds are kept back in proportion: cost and tokens at the mean of the calls made so far,
        seconds at the pace of those really sent, once there are enough of them to have one.
        """
        with self._lock:
            self._held, self._spare = calls, self._spare if spare is None else spare

    @property
    def estimates(self) -> bool:
        """Whether a limit needs an estimate of each call."""
        return self.budget.tokens is not None or self.budget.cost is not None

    def reserve(self, promise: Promise | None = None) -> bool:
        """Take one call from the budget, before it is made.

        Args:
            promise: what it will take at most; ``None`` if nothing is known, so that it has to go alone.

        Returns:
            False if it has to wait until a call in flight has arrived; nothing is taken then.

        Raises:
            BudgetExhausted: the call would go over a limit.
        """
        with self._lock:
            later = self._held / max(1, self.calls)
            self._check_begun()
            if self.estimates and self._in_flight and (promise is None or self._unknown):
                return False
            try:
                own, flying = promise or Promise(tokens=1.0, cost=_SOMETHING), self._promised
                self._over(
                    "tokens", self.budget.tokens, self.tokens * (1 + later) + flying.tokens + own.tokens
                )
                self._over("cost", self.budget.cost, self.cost * (1 + later) + flying.cost + own.cost)
            except BudgetExhausted:
                if self._in_flight:
                    return False
                raise
            self._sent += 1
            if self._sent == _WARM_UP:
                self._warm = time.monotonic()
            self.calls += 1
            self._in_flight += 1
            self._unknown += promise is None
            self._promise(promise, 1)
            return True

    def replay(self, known: Promise) -> None:
        """Take a call whose answer is already there, and of which everything is known.

        Raises:
            BudgetExhausted: it goes over a limit.
        """
        with self._lock:
            self._check_begun()
            self.calls += 1
            self._in_flight += 1
            self._promise(known, 1)

    @property
    def tightest(self) -> tuple[str, float]:
        """The name and value of the limit on tokens or cost that is nearest to being met."""
        found = [
            (spent / limit, name, limit)
            for name, limit, spent in (
                ("tokens", self.budget.tokens, float(self.tokens)),
                ("cost", self.budget.cost, self.cost),
            )
            if limit is not None
        ]
        _, name, limit = max(found)
        return name, limit

    def _check_begun(self) -> None:
        now, pace = time.monotonic(), 0.0
        if self._sent >= 2 * _WARM_UP:
            pace = (now - self._warm) / (self._sent - _WARM_UP)
        self._over("calls", self.budget.calls, self.calls + self._held + self._spare + 1)
        seconds = now - self._start + pace * self._held
        self._over("seconds", self.budget.seconds, math.nextafter(seconds, math.inf))

    @staticmethod
    def _over(name: str, limit: float | None, wanted: float) -> None:
        if limit is not None and wanted > limit * (1 + _ROUNDING):
            raise BudgetExhausted(name, limit)

    def _promise(self, promise: Promise | None, sign: int) -> None:
        if promise is not None:
            before = self._promised
            self._promised = Promise(
                tokens=before.tokens + sign * promise.tokens, cost=before.cost + sign * promise.cost
            )

    def settle(self, *, tokens: int, cost: float | None, promise: Promise | None = None) -> None:
        """Book what a reserved call used.

        Args:
            tokens: input and output.
            cost: US dollars; ``None`` says that its price is not known.
            promise: what it was reserved with.

        Raises:
            ModelError: a limit on cost cannot be kept because prices are not known.
        """
        with self._lock:
            self._in_flight -= 1
            self._unknown -= promise is None
            # Sums of floats drift: with nothing in flight nothing is promised.
            self._promise(promise, -1)
            if not self._in_flight:
                self._promised = Promise()
            self.tokens += tokens
            self.cost += cost or 0.0
        if cost is None and self.budget.cost is not None:
            raise ModelError(
                "this model's price is not known", hint="limit the job with --max-calls instead of --max-cost"
            )

    def short(self, calls: int) -> int:
        """Return the limit on calls that would leave room for ``calls`` more, besides what is held back."""
        return self.calls + self._held + calls

    def left(self) -> int | None:
        """Return how many calls the budget still allows, if it limits calls."""
        if self.budget.calls is None:
            return None
        return max(0, self.budget.calls - self.calls - self._held - self._spare)
