"""The question before much is paid: one rule for every command that may send many calls to a real model."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ..errors import JuristError, UsageError

__all__ = ["ASK_CALLS", "ASK_COST", "Bill", "NotApprovedError", "approve"]

ASK_CALLS = 1000
"""Calls to real models above which a person is asked."""
ASK_COST = 1.0
"""US dollars above which a person is asked."""


class NotApprovedError(JuristError):
    """A person said no: nothing was sent."""


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What is to be approved.

    Attributes:
        calls: requests to real models, at most; ``None`` without a limit.
        cost: US dollars, at most; ``None`` if not known.
        unpriced: models of a provider's own address whose price is not known.
        bounded: whether the user limited the calls.
        capped: whether the user limited the cost.
        about: ``about`` for an estimate, ``up to`` for a limit.
    """

    calls: int | None
    cost: float | None
    unpriced: tuple[str, ...] = ()
    bounded: bool = False
    capped: bool = False
    about: str = "about"

    def worry(self) -> str:
        """Return why a person should be asked, as ``this ...``; empty if there is no reason.

        A cost limit within :data:`ASK_COST` answers the question, and so does a limit on calls within
        :data:`ASK_CALLS` where no price is known.
        """
        if self.calls == 0 or (self.capped and self.cost is not None and self.cost <= ASK_COST):
            return ""
        number = "an unlimited number of" if self.calls is None else f"{self.about} {self.calls}"
        if self.calls is None or self.calls > ASK_CALLS:
            price = f" and may cost {self.cost:.2f} USD" if self.cost is not None else ""
            return f"this makes {number} calls to a real model{price}"
        if self.cost is not None and self.cost > ASK_COST:
            return f"this makes {number} calls to a real model and may cost {self.cost:.2f} USD"
        if self.unpriced and not self.bounded:
            return f"this makes {number} calls to {', '.join(self.unpriced)}, whose price is not known"
        return ""


def approve(bill: Bill, *, yes: bool) -> None:
    """Ask a person before much is paid; where nobody can answer, refuse.

    Raises:
        UsageError: there is a reason to ask, ``yes`` is not given, and standard input is not a terminal.
        NotApprovedError: the answer was not yes.
    """
    worry = "" if yes else bill.worry()
    if not worry:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(worry, hint="add --yes to go on")
    sys.stderr.write(f"{worry}; go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotApprovedError("nothing was sent", hint="answer y, or add --yes")
