"""What a job spent, as a card and a result hold it."""

from __future__ import annotations

from collections.abc import Sequence

from ..engines.ledger import oldest
from .part import Count, Figure, Part


def reused_words(since: str) -> str:
    """Return the answers of which time are used again; ``since`` is ISO 8601, in UTC."""
    return f"answers of {since[:16].replace('T', ' ')} UTC are used again"


class PurposeSpend(Part):
    """The spend of calls for one purpose."""

    calls: Count = 0
    replayed: Count = 0
    replayed_tokens: Count = 0
    replayed_cost: Figure = 0
    replayed_unpriced: Count = 0
    reused: Count = 0
    reused_since: str = ""
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    reasoning_tokens: Count = 0
    cost: Figure = 0
    unpriced: Count = 0
    lost: Count = 0

    @property
    def all_tokens(self) -> int:
        """Tokens of input and output."""
        return self.input_tokens + self.output_tokens

    @property
    def total(self) -> PurposeSpend:
        """The counts for all purposes."""
        return self

    @classmethod
    def sum_of(cls, spends: Sequence[PurposeSpend]) -> PurposeSpend:
        """Return the sum of several spends."""
        total = cls(reused_since=oldest(*(spend.reused_since for spend in spends)))
        counts: dict[str, float] = {}
        for name in cls.model_fields:
            if name != "reused_since":
                counts[name] = sum(getattr(spend, name) for spend in spends)
        return total.model_copy(update=counts)


class SpendCard(PurposeSpend):
    """The spend of a job: all of its calls, and the calls by purpose."""

    tokens: Count | None = None
    by_purpose: dict[str, PurposeSpend] = {}

    @property
    def all_tokens(self) -> int:
        """Tokens of input and output."""
        return super().all_tokens if self.tokens is None else self.tokens

    @property
    def total(self) -> PurposeSpend:
        """The counts for all purposes."""
        return self.by_purpose.get("total", self)
