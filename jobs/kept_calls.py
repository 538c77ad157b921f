"""The calls of work whose answers finished jobs have kept, counted before anything is asked."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..cases import Case
from ..engines.channel import CallContext
from ..engines.journal import Journal
from ..engines.kept_answers import KeptAnswers
from ..engines.ledger import Ledger, oldest
from ..engines.meter import Meter
from ..errors import JuristError
from ..keeping.paying import PaidAnswers
from ..programs.asking import Asker

_MOST_COUNTED = 2_000
"""The most rows whose calls are counted: beyond that the count takes longer than a user waits for a forecast."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Rows that work asks a program about."""

    role: str  # the name of the model's part in the work
    make_asker: Callable[[CallContext], Asker]  # whose calls are made in a context
    cases: Sequence[Case]


class Countable(Protocol):
    """Work of which it is known beforehand which rows it asks about, and with which prompts."""

    def askings(self) -> Iterable[Asking]:
        """Return the rows that it asks about for certain; none where that follows from answers."""


def count_kept_calls(work: Countable, path: Path) -> PaidAnswers:
    """Return the answers of work that a file of kept answers has. Sends nothing, and may count too few.

    Args:
        work: the work.
        path: the file, which need not exist.
    """
    nothing = PaidAnswers(by_role={})
    if not path.exists():
        return nothing
    askings = list(work.askings())
    if sum(len(asking.cases) for asking in askings) > _MOST_COUNTED:
        return nothing
    by_role: dict[str, int] = {}
    kept_since = ""
    missing = 0
    try:
        with closing(KeptAnswers(path)) as kept_answers:
            for asking in askings:
                context = CallContext(
                    ledger=Ledger(),
                    meter=Meter(),
                    journal=Journal(),
                    kept_answers=kept_answers,
                    only_kept=True,
                )
                asker = asking.make_asker(context)
                # A panel gives up models that fail, and rows are embedded before they are asked about.
                if asker.settings.sampling.is_panel or asker.embedded or not asker.settings.asks_model:
                    return nothing
                asker.ask_all(asking.cases)
                spend = context.ledger.spend()
                by_role[asking.role] = by_role.get(asking.role, 0) + spend.reused
                kept_since = oldest(kept_since, spend.reused_since)
                missing += spend.failures
    except JuristError:  # the work itself says what cannot be asked
        return nothing
    return PaidAnswers(by_role=by_role, kept_since=kept_since, is_whole=bool(kept_since) and not missing)
