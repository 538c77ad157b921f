"""Questions before much is paid, and before a key goes to a host of others."""

import select
import sys
from collections.abc import Iterable, Sequence

from ..engines.hosts import check_host, key_transfer
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JuristError, UsageError, plural, unknown_price
from ..jobs.estimate import CostEstimate
from ..keeping.paying import PaidAnswers
from ..keeping.spend_card import reused_words
from .printing import print_notes

ASK_CALLS = 1000
"""Calls to real models above which a person is asked."""
ASK_COST = 1.0
"""US dollars above which a person is asked."""
REPLY_SECONDS = 600.0
"""Seconds that the question waits for an answer: a terminal may be there with nobody in front of it."""


class NotApprovedError(JuristError):
    """A person said no: nothing was sent."""


def approve(
    calls: int | None,
    cost: float | None,
    budget: Budget,
    *,
    yes: bool,
    unpriced: Sequence[str] = (),
    hosted: Sequence[str] = (),
) -> None:
    """Ask a person before much is paid; where nobody can answer, refuse."""
    # ``calls`` and US dollars are those of real models at most, ``None`` if not known; of the models whose price is not
    # known (``unpriced``) some are asked at their provider's own address (``hosted``). A limit on cost within
    # :data:`ASK_COST` answers the question, and so does one on calls within :data:`ASK_CALLS` where no price is known.
    if budget.cost is not None and unpriced and calls != 0:
        # The meter would refuse, but after a call was paid.
        raise unknown_price(*unpriced)
    if yes or calls == 0 or (budget.cost is not None and cost is not None and cost <= ASK_COST):
        return
    number = "an unlimited number of" if calls is None else f"up to {calls}"
    if calls is None or calls > ASK_CALLS or (cost or 0) > ASK_COST:
        why = f"this makes {number} calls to a real model"
        if cost is not None:
            why += f" and may cost {cost:.2f} USD"
    elif hosted and (budget.calls is None or budget.calls > ASK_CALLS):
        why = f"this makes {number} calls to {', '.join(hosted)}, whose price is not known"
    else:
        return
    if not _has_terminal():
        raise UsageError(why, hint="add --yes to go on")
    _ask(why, hint="add --yes")


def approve_keys(models: Iterable[Model], *, yes: bool) -> None:
    """Ask a person before a provider's key goes to a host of others; where nobody can answer, refuse."""
    asked_models: dict[Model, None] = {}
    for model in models:
        asked_models.update(dict.fromkeys(model.each))
    for model in asked_models:
        check_host(model)
        transfer = key_transfer(model)
        if transfer is None or transfer.approved:
            continue
        if yes:
            print_notes(
                f"{transfer.words}; --api-key-env NAME names the variable whose key is meant for that host"
            )
            continue
        if not _has_terminal():
            raise UsageError(
                transfer.words,
                hint=f"name the key of that host; --api-key-env {transfer.variable} sends this one",
            )
        _ask(transfer.words, hint="name the variable that holds the key of that host with --api-key-env")
        transfer.approve()


def _has_terminal() -> bool:
    """Whether somebody may be there who answers a question."""
    return sys.stdin is not None and sys.stdin.isatty()


def _ask(why: str, *, hint: str) -> None:
    """Ask a person whether to go on. Raises an error where the answer is no, or does not come."""
    sys.stderr.write(f"{why}; go on? [y/N] ")
    sys.stderr.flush()
    reply = _typed_line(REPLY_SECONDS)
    if reply is None:
        raise UsageError(f"{why}, and nobody answered the question", hint=f"{hint} to go on")
    if reply.strip().lower() not in ("y", "yes"):
        raise NotApprovedError("nothing was sent", hint=f"answer y, or {hint}")


def _typed_line(seconds: float) -> str | None:
    """Return the line that a person types on standard input, or ``None`` if nobody types one in time."""
    if sys.platform != "win32":  # Windows can wait for sockets alone
        readable, _, _ = select.select([sys.stdin], [], [], seconds)
        if not readable:
            return None
    return sys.stdin.readline()


def agree(
    estimate: CostEstimate, paid: PaidAnswers, *, yes: bool, spent: int = 0, notes: Sequence[str] = ()
) -> None:
    """Say what is about to be spent, and ask a person where that is much; nothing is sent before."""
    forecast = f"forecast: {estimate.words}"
    answers = sum(paid.by_role.values())
    if paid.is_whole:
        words = f"{plural(answers, 'call')}, 0 paid: {reused_words(paid.kept_since)}; --fresh asks anew"
        forecast = f"forecast: {estimate.what}: {words}"
    elif paid.kept_since:
        forecast += f"; {answers} of them not paid: {reused_words(paid.kept_since)}; --fresh asks anew"
    elif answers:
        forecast += f"; {answers} answers are paid already"
    print_notes(forecast)
    limit = estimate.budget.calls
    unlimited = estimate.without_limits.calls
    kept = answers if paid.kept_since else 0
    if limit is not None and limit - spent < unlimited.high - kept:
        may = "will" if limit - spent < unlimited.low - kept else "may"
        print_notes(f"--max-calls {limit} {may} stop it before the end; --resume continues from there")
    print_notes(*notes)
    unpriced, hosted = estimate.unpriced(), estimate.unpriced(hosted=True)
    remaining = estimate.remaining(paid.by_role, spent, counted=not paid.kept_since)
    approve(*remaining, estimate.budget, yes=yes, unpriced=unpriced, hosted=hosted)
    approve_keys((model for ask in estimate.asks for model in ask.models), yes=yes)
