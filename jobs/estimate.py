"""What questions to judges will cost, before anything is sent: calls, tokens and dollars, each as a range.

Tokens are measured on a few prompts that the offline engine answers. How many calls there will be is known between
two ends only: units may be asked for again, a program may stop early, and a search may find much or nothing. Prices
are those of :mod:`jurist.jobs.forecast`. Retries after failures and hidden reasoning are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..cases import Case
from ..engines.models import Model
from ..programs.asking import Asker, room_for
from ..programs.state import PromptState
from .forecast import Rate, Span, counted, free, price_of, rate, some, spanned

__all__ = ["Estimate", "Questions", "estimate"]


@dataclass(frozen=True, kw_only=True)
class Questions:
    """One kind of question.

    Attributes:
        asker: gives what asks.
        model: who answers.
        cases: what is asked about, for the size of a prompt.
        number: how many questions there are, from least to most.
        examples: labelled cases, some of which the longest prompts show.
        shown: how many of them these may show, at most.
    """

    asker: Callable[[], Asker]
    model: Model
    cases: Sequence[Case]
    number: tuple[int, int]
    examples: Sequence[Case] = ()
    shown: int = 0


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimate; ``[least, most]`` in JSON.

    Attributes:
        what: the sizes, in words.
        calls: requests.
        billed: those of them that go to a model that does not run here.
        tokens: input and output; ``None`` if not known.
        cost: US dollars; ``None`` if a price or the tokens are not known.
        unpriced: models whose price is not known.
    """

    what: str
    calls: Span
    billed: Span
    tokens: Span | None
    cost: Span | None
    unpriced: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """One line for people."""
        tokens = f"about {spanned(self.tokens, counted)} tokens" if self.tokens else "tokens not known"
        return f"{self.what}: {spanned(self.calls, str)} calls, {tokens}, {self._cost}"

    @property
    def _cost(self) -> str:
        if not self.billed.most:
            return "no cost"
        if self.cost is None:
            return (
                f"the price of {', '.join(self.unpriced)} is not known" if self.unpriced else "cost not known"
            )
        return f"about {spanned(self.cost, '{:.2f}'.format)} USD without hidden reasoning"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON types; ranges as ``[least, most]``."""
        found = {
            name: value.to_json() if isinstance(value, Span) else value for name, value in vars(self).items()
        }
        return {**found, "unpriced": list(self.unpriced)}


def estimate(parts: Sequence[Questions], what: str) -> Estimate:
    """Estimate calls, tokens and cost; sends nothing.

    At the least, every question is one call with the prompt as it is. At the most, every prompt of the judge's
    program is asked, a quarter of the calls is repeated for units left out, and all examples are shown.

    Args:
        parts: the kinds of questions.
        what: the sizes, in words.
    """
    ends = [_ends(part) for part in parts if part.number[1]]
    paid = [one for one in ends if not free(one.model)]
    unpriced = tuple(dict.fromkeys(one.model.name for one in paid if None in one.prices))
    known = all(one.tokens[1] for one in ends if not one.model.classifier)
    return Estimate(
        what=what,
        calls=_sum([one.calls for one in ends]),
        billed=_sum([one.calls for one in paid]),
        tokens=_sum([one.tokens for one in ends]) if known else None,
        cost=None if unpriced or not known else _sum([one.cost for one in paid], digits=6),
        unpriced=unpriced,
    )


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """Calls of one kind of question, what one takes, and what it costs, each at the least and at the most."""

    model: Model
    calls: tuple[int, int]
    rates: tuple[Rate, Rate]
    prices: tuple[float | None, float | None]

    @property
    def tokens(self) -> tuple[float, float]:
        (low, high), (few, many) = self.calls, self.rates
        return (
            low * (few.input_tokens + few.output_tokens),
            high * (many.input_tokens + many.output_tokens),
        )

    @property
    def cost(self) -> tuple[float, float]:
        return self.calls[0] * (self.prices[0] or 0.0), self.calls[1] * (self.prices[1] or 0.0)


def _ends(part: Questions) -> _Ends:
    basic = Rate() if part.model.classifier else rate(part.asker, some(part.cases))
    rates = basic, _longest(part, basic)
    least, most = part.number
    few, many = (
        0.0 if free(part.model) else price_of(part.model, round(one.input_tokens), round(one.output_tokens))
        for one in rates
    )
    return _Ends(
        model=part.model,
        calls=(
            least * part.asker().judge.answer.presentations,
            most if part.model.classifier else room_for(part.asker().judge, most, 1),
        ),
        rates=rates,
        prices=(few, many),
    )


def _longest(part: Questions, basic: Rate) -> Rate:
    """Return the rate of the prompt with as many examples as it may show, by what a few of them add."""
    shown = some([case for case in part.examples if case.known])
    if not part.shown or not shown or not basic.input_tokens:
        return basic
    asker = part.asker()
    state = PromptState.of(asker.program)
    for case in shown:
        for name, demo in asker.judge.demos(case).items():
            state = state.with_demos(name, (*state.predictors[name].demos, demo))
    with_some = replace(asker, program=state.apply(asker.judge.basic()))
    added = rate(lambda: with_some, some(part.cases)).input_tokens - basic.input_tokens
    return replace(basic, input_tokens=basic.input_tokens + part.shown * max(0.0, added / len(shown)))


def _sum(ends: Sequence[tuple[float, float]], digits: int | None = None) -> Span:
    least, most = (round(sum(pair[end] for pair in ends), digits) for end in (0, 1))
    return Span(least=least, most=most)
