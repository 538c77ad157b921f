"""The candidate x case matrix as rows that an artifact keeps, and what asking a candidate takes.

A row is one candidate on one case. The sealed test is never in it. Prices and
tokens of a case are those of the answers, whether they were paid in this run
or replayed from the journal of an interrupted one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases import Value
from ..engines.ledger import Spend
from .objective import Outcome

MOST_CELLS = 200_000
"""Rows that an artifact keeps, about 30 MB; a search this large keeps the candidates with the most rows."""


OUTPUT_PRICE = 4.0
"""What an output token costs beside an input token, where prices are not known; it is 4 to 5 times with most models."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What one case takes on average."""

    calls: float  # answered calls. input_tokens, output_tokens: of the prompt, and of the reply
    input_tokens: float
    output_tokens: float
    cost: float | None  # US dollars; ``None`` if the price of a call is not known

    @property
    def tokens(self) -> float:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def per_row(self) -> dict[str, float]:
        """Return the tokens as a card has them."""
        return {"input": round(self.input_tokens, 1), "output": round(self.output_tokens, 1)}


def spent(usages: Sequence[Spend]) -> Spent:
    """Return the means over cases; at least one."""
    count = len(usages)
    unknown = any(usage.unpriced for usage in usages)
    return Spent(
        calls=sum(_answered(usage) for usage in usages) / count,
        input_tokens=sum(usage.input_tokens for usage in usages) / count,
        output_tokens=sum(usage.output_tokens for usage in usages) / count,
        cost=None if unknown else sum(usage.cost for usage in usages) / count,
    )


def prices(taken: Sequence[Spent]) -> list[float]:
    """Return the price of a case of each: in dollars where all are known and not nothing, else in input tokens."""
    dollars = [one.cost for one in taken if one.cost]
    if len(dollars) == len(taken):
        return dollars
    return [one.input_tokens + OUTPUT_PRICE * one.output_tokens for one in taken]


def cells(
    candidate: str, entries: Iterable[tuple[str, Outcome, Spend]], to_json: Callable[[Value | None], Any]
) -> Iterator[dict[str, Any]]:
    """Yield a candidate's rows from (part, outcome, usage) of each case it was scored on, values as JSON."""
    for part, outcome, usage in entries:
        yield {
            "candidate": candidate,
            "case": outcome.row.id,
            "part": part,
            "labels": [to_json(value) for value in outcome.row.predicted],
            "score": round(outcome.score, 6),
            "calls": _answered(usage),
            "tokens": usage.input_tokens + usage.output_tokens,
        }


def bounded(
    rows: Sequence[Mapping[str, Any]], keep: Sequence[str], most: int = MOST_CELLS
) -> tuple[list[Mapping[str, Any]], int]:
    """Return the rows of as many whole candidates as fit, in their order, and how many rows were left out."""
    if len(rows) <= most:
        return list(rows), 0
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["candidate"]] = counts.get(row["candidate"], 0) + 1
    first = [one for one in dict.fromkeys(keep) if one in counts]
    order = [*first, *sorted((one for one in counts if one not in first), key=lambda one: -counts[one])]
    kept, room = set[str](), most
    for one in order:
        if counts[one] <= room:
            kept.add(one)
            room -= counts[one]
    found = [row for row in rows if row["candidate"] in kept]
    return found, len(rows) - len(found)


def _answered(usage: Spend) -> int:
    return usage.calls - usage.retries - usage.failures + usage.replayed
