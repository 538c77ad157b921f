"""The question before much is paid: one rule for every command that may send many calls to a real model."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import JuristError, UsageError
from ..jobs.estimate import Estimate
from .printing import remark

ASK_CALLS = 1000
"""Calls to real models above which a person is asked."""
ASK_COST = 1.0
"""US dollars above which a person is asked."""


class NotApprovedError(JuristError):
    """A person said no: nothing was sent."""


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What is to be approved."""

    calls: int | None  # requests to real models, at most; ``None`` without a limit
    cost: float | None  # US dollars, at most; ``None`` if not known
    unpriced: tuple[str, ...] = ()  # models of a provider's own address whose price is not known
    unknown: tuple[str, ...] = ()  # all models whose price is not known, those at other addresses too
    bounded: bool = False  # whether the user limited the calls
    capped: bool = False  # whether the user limited the cost
    about: str = "about"  # ``about`` for an estimate, ``up to`` for a limit

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
    """Ask a person before much is paid; where nobody can answer, refuse."""
    blind = dict.fromkeys((*bill.unknown, *bill.unpriced))
    if bill.capped and blind and bill.calls != 0:  # the meter would refuse as well, but after a call was paid
        raise UsageError(
            f"--max-cost cannot be kept: the price of {', '.join(blind)} is not known",
            hint="limit the calls with --max-calls instead",
        )
    worry = "" if yes else bill.worry()
    if not worry:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(worry, hint="add --yes to go on")
    sys.stderr.write(f"{worry}; go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotApprovedError("nothing was sent", hint="answer y, or add --yes")


def agree(
    estimate: Estimate,
    paid: Mapping[str, int],
    *,
    yes: bool,
    spent: int = 0,
    bounded: bool | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Say what is about to be spent, and ask a person where that is much; nothing is sent before."""
    answers, limit = sum(paid.values()), estimate.budget.calls
    kept = f"; {answers} answers are paid already" if answers else ""
    remark(f"before: {estimate.words}{kept}")
    whole = estimate.whole.calls
    if limit is not None and whole.most is not None and limit - spent < whole.most:
        may = "will" if limit - spent < whole.least else "may"
        remark(f"--max-calls {limit} {may} stop it before the end; --resume continues from there")
    for note in notes:
        remark(note)
    approve(bill(estimate, paid, spent=spent, bounded=bounded), yes=yes)


def bill(estimate: Estimate, paid: Mapping[str, int], *, spent: int = 0, bounded: bool | None = None) -> Bill:
    """Return what is to be approved of an estimate; see :func:`agree`."""
    calls, cost = estimate.left(paid, spent)
    billed = estimate.billed
    return Bill(
        calls=calls,
        cost=cost,
        unpriced=estimate.hosted,
        unknown=estimate.unpriced,
        bounded=estimate.budget.calls is not None if bounded is None else bounded,
        capped=estimate.budget.cost is not None,
        about="about" if billed.least == billed.most else "up to",
    )
