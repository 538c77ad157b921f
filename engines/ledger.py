"""The calls, tokens and cost of a job by purpose, counted where a call is made: DSPy loses those of other threads."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Purpose = Literal["judge", "proposer", "generator"]


@dataclass(kw_only=True)
class Spend:
    """Counts of one purpose."""

    calls: int = 0  # requests sent, retries included
    replayed: int = (
        0  # answers that were paid before and taken from a journal, or from a finished job, instead
    )
    replayed_tokens: int = 0  # input and output of these
    replayed_cost: float = 0.0  # US dollars, over those of these whose price is known
    replayed_unpriced: int = 0  # those of these whose price is not known
    reused: int = 0  # those of them that a finished job has kept
    reused_since: str = ""  # when the oldest of these was kept, in UTC; empty without any
    failed_before: int = 0  # failed requests taken from a journal, sent before
    retries: int = 0  # requests that repeated a failed one
    failures: int = 0  # requests that gave up
    redrawn: int = 0  # samples whose reply could not be read, and which were drawn once more
    input_tokens: int = 0  # all input, cached tokens included
    output_tokens: int = 0  # all output, hidden reasoning included
    cached_tokens: int = 0  # the part of the input that the endpoint had kept from an earlier request
    # the part of the output that nobody is shown, as far as the endpoint reports it
    reasoning_tokens: int = 0
    cost: float = 0.0  # US dollars, over the calls whose price is known
    unpriced: int = 0  # calls whose price is not known
    # waited for answers that came now; not in JSON, as lines of a run say the same whenever they are written
    seconds: float = 0.0

    def add(self, spend: "Spend") -> None:
        """Add the counts of another one."""
        counts = vars(self)
        since = oldest(self.reused_since, spend.reused_since)
        for name, count in vars(spend).items():
            counts[name] += count
        self.reused_since = since

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a plain mapping, the cost rounded to a millionth."""
        counts = dict(vars(self))
        counts["cost"] = round(self.cost, 6)
        del counts["seconds"]
        counts["replayed_cost"] = round(self.replayed_cost, 6)
        rare_names = ("replayed_tokens", "replayed_cost", "replayed_unpriced", "reused", "reused_since")
        for name in rare_names:
            if not counts[name]:
                del counts[name]
        return counts


def oldest(*moments: str) -> str:
    """Return the first of moments in time, as ISO 8601 in UTC; empty ones do not count."""
    return min(filter(None, moments), default="")


class FirstReplies:
    """Calls ``tell`` once when so many replies have come, over all channels that share it. Thread-safe."""

    def __init__(self, number: int, tell: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._missing = number
        self._tell = tell

    def count(self) -> None:
        """Count a reply."""
        with self._lock:
            self._missing -= 1
            is_last = self._missing == 0
        if is_last:
            self._tell()


class Ledger:
    """Thread-safe counts of calls, tokens and cost, by purpose."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spend: defaultdict[Purpose, Spend] = defaultdict(Spend)

    def add(self, purpose: Purpose, spend: Spend) -> None:
        """Add to the counts of one purpose."""
        with self._lock:
            self._spend[purpose].add(spend)

    @classmethod
    def merged(cls, ledgers: "Iterable[Ledger]") -> "Ledger":
        """Return the sum of several ledgers."""
        total = cls()
        for ledger in ledgers:
            with ledger._lock:
                for purpose, spend in ledger._spend.items():
                    total._spend[purpose].add(spend)
        return total

    def spend(self, purpose: Purpose | None = None) -> Spend:
        """Return a copy of one purpose's counts, or of the sum over all."""
        total = Spend()
        with self._lock:
            for spend_purpose, spend in self._spend.items():
                if purpose in (None, spend_purpose):
                    total.add(spend)
        return total

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Return ``{"total": ..., purpose: ...}`` as plain mappings."""
        with self._lock:
            purposes = sorted(self._spend)
        counts = {"total": self.spend().to_json()}
        for purpose in purposes:
            counts[purpose] = self.spend(purpose).to_json()
        return counts
