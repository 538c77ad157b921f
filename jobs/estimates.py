"""What a job of several roles will cost, before anything is sent: calls, tokens and dollars, each as a range.

Tokens of a call are measured on real prompts that the offline engine answers; how many calls there will be is known
between two ends only, because turns are asked again, votes end early, and units are asked for once more. Prices are
those of :mod:`jurist.jobs.forecast`. Retries after failures and hidden reasoning are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..cases import Case
from ..engines.meter import Budget
from ..engines.models import Model
from ..keeping.loading import LoadedJudge
from ..programs.asking import room_for
from .forecast import Rate, Span, counted, free, price_of, rate, some, spanned

__all__ = ["Estimate", "Part", "judging"]


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is asked of one role.

    Attributes:
        role: its name in the job.
        model: who answers.
        calls: requests, from least to most.
        rate: tokens of one request; 0 if they are not known.
        who: how people call it; empty for role and model.
    """

    role: str
    model: Model
    calls: Span
    rate: Rate
    who: str = ""

    @property
    def words(self) -> str:
        """The calls, for people."""
        return f"{spanned(self.calls, str)} calls of {self.who or f'{self.role} ({self.model.name})'}"

    @property
    def most(self) -> int:
        """The most requests."""
        return round(self.calls.most or 0)

    @property
    def tokens(self) -> float:
        """Input and output tokens of one request."""
        return self.rate.input_tokens + self.rate.output_tokens

    @property
    def price(self) -> float | None:
        """US dollars of one request, 0 for what runs here; ``None`` if not known."""
        if free(self.model):
            return 0.0
        if not self.tokens:
            return None
        return price_of(self.model, round(self.rate.input_tokens), round(self.rate.output_tokens))


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate for one job.

    Attributes:
        what: the sizes, in words.
        parts: what is asked of each role.
        budget: limits, which bound the upper ends.
    """

    what: str
    parts: tuple[Part, ...]
    budget: Budget = field(default_factory=Budget)

    @property
    def paid_parts(self) -> tuple[Part, ...]:
        """Those whose model is not free."""
        return tuple(part for part in self.parts if not free(part.model))

    @property
    def calls(self) -> Span:
        """Requests of all roles."""
        return self._within([(1.0, part) for part in self.parts], self.budget.calls)

    @property
    def tokens(self) -> Span | None:
        """Input and output tokens of all roles; ``None`` if not known."""
        if not all(part.tokens for part in self.parts):
            return None
        return self._within([(part.tokens, part) for part in self.parts], self.budget.tokens)

    @property
    def cost(self) -> Span | None:
        """US dollars; ``None`` if a price or the tokens are not known."""
        priced = [(part.price, part) for part in self.parts]
        known = [(price, part) for price, part in priced if price is not None]
        if len(known) < len(priced):
            return None
        return self._within(known, self.budget.cost, digits=6)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is not known."""
        return tuple(dict.fromkeys(part.model.name for part in self.parts if part.price is None))

    @property
    def words(self) -> str:
        """One line for people."""
        asked = ", ".join(part.words for part in self.parts)
        tokens = f"about {spanned(self.tokens, counted)} tokens" if self.tokens else "tokens not known"
        return f"{self.what}: {asked}; {tokens}; {self._cost}"

    @property
    def _cost(self) -> str:
        if self.cost is None:
            return f"the price of {', '.join(self.unpriced)} is not known"
        return f"{spanned(self.cost, '{:.2f}'.format)} USD without hidden reasoning"

    def to_json(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types; ranges as ``[least, most]``."""
        return {
            "parts": {
                part.role: {"model": part.model.name, "calls": part.calls.to_json()} for part in self.parts
            },
            "calls": self.calls.to_json(),
            "tokens": self.tokens.to_json() if self.tokens else None,
            "cost": self.cost.to_json() if self.cost else None,
            "unpriced": list(self.unpriced),
        }

    def left(self, paid: Mapping[str, int]) -> tuple[int, float | None]:
        """Return the requests to models that are not free, at most, and their cost, at most.

        Args:
            paid: role -> answers that were paid before.
        """
        open_ = [(part, max(0, part.most - paid.get(part.role, 0))) for part in self.paid_parts]
        calls, prices = sum(number for _, number in open_), [part.price for part in self.paid_parts]
        if self.budget.calls is not None:
            calls = min(calls, max(0, self.budget.calls - sum(paid.values())))
        if any(price is None for price in prices):
            return calls, None
        cost = sum(number * (part.price or 0.0) for part, number in open_)
        return calls, cost if self.budget.cost is None else min(cost, self.budget.cost)

    def _within(
        self, priced: Sequence[tuple[float, Part]], limit: float | None, digits: int | None = None
    ) -> Span:
        least = round(sum(each * part.calls.least for each, part in priced), digits)
        most = round(sum(each * part.most for each, part in priced), digits)
        if limit is not None:
            least, most = min(least, limit), min(most, limit)
        return Span(least=least, most=most)


def judging(judge: LoadedJudge, questions: int, shown: Sequence[Case]) -> Part:
    """Return what labelling takes: from votes that are settled at once to incomplete replies in every fourth sample.

    Args:
        judge: who labels.
        questions: how many responses.
        shown: a few of them, to measure prompts by; without any, tokens are not known.
    """
    asked = rate(judge.asker, some(shown)) if shown else Rate()
    sampling = judge.sampling
    quickest = min(sampling.needed, sampling.samples - sampling.needed + 1)
    return Part(
        role="judge",
        model=judge.model,
        calls=Span(
            least=questions * quickest * judge.judge.calls,
            most=room_for(judge.judge, questions, sampling.samples),
        ),
        rate=asked,
    )
