"""Hard limits on what a job may spend.

A call is reserved before it is made, so a limit on calls is exact, with any
concurrency. The price and tokens of a call are known only afterwards; each call
in flight is therefore reserved at the dearest price seen so far, and a job ends
at most one call above a limit on cost or tokens. Answers replayed from a
journal count as if paid now: a resumed job stops where an uninterrupted one would.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from ..errors import BudgetExhausted, ModelError, UsageError

__all__ = ["Budget", "Meter"]


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


class Meter:
    """Counts one job's spending against its budget. Thread-safe."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.calls, self.cost, self.tokens = 0, 0.0, 0
        self._in_flight, self._dearest, self._longest = 0, 0.0, 0
        self._held = 0
        self._lock, self._start = threading.Lock(), time.monotonic()

    @property
    def held(self) -> int:
        """The calls that are kept back."""
        return self._held

    def hold(self, calls: int) -> None:
        """Keep ``calls`` of the budget back for later work; ``hold(0)`` gives them free.

        Cost, tokens and seconds are kept back in proportion, at the mean of the calls made so far.
        """
        with self._lock:
            self._held = calls

    def reserve(self) -> None:
        """Take one call from the budget, before it is made.

        Raises:
            BudgetExhausted: the call would go over a limit.
        """
        with self._lock:
            for name, limit, spent in self._standing():
                if limit is not None and spent >= limit:
                    raise BudgetExhausted(name, limit)
            self.calls += 1
            self._in_flight += 1

    def _standing(self) -> tuple[tuple[str, float | None, float], ...]:
        """Return (limit's name, limit, spent and promised) for each kind."""
        budget, later = self.budget, self._held / max(1, self.calls)
        seconds = time.monotonic() - self._start
        return (
            ("calls", budget.calls, self.calls + self._held),
            ("cost", budget.cost, self.cost * (1 + later) + self._in_flight * self._dearest),
            ("tokens", budget.tokens, self.tokens * (1 + later) + self._in_flight * self._longest),
            ("seconds", budget.seconds, seconds * (1 + later)),
        )

    def settle(self, *, tokens: int, cost: float | None) -> None:
        """Book what a reserved call used; ``cost=None`` says that its price is not known.

        Raises:
            ModelError: a limit on cost cannot be kept because prices are not known.
        """
        with self._lock:
            self._in_flight -= 1
            self.tokens += tokens
            self.cost += cost or 0.0
            self._dearest, self._longest = max(self._dearest, cost or 0.0), max(self._longest, tokens)
        if cost is None and self.budget.cost is not None:
            raise ModelError(
                "this model's price is not known", hint="limit the job with --max-calls instead of --max-cost"
            )

    def short(self, calls: int) -> int:
        """Return the limit on calls that would leave room for ``calls`` more, besides what is held back."""
        return self.calls + self._held + calls

    def left(self) -> int | None:
        """Return how many calls the budget still allows, if it limits calls."""
        return None if self.budget.calls is None else max(0, self.budget.calls - self.calls - self._held)
