"""What the rows of a table will cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..cases import Case
from ..engines.models import Model
from ..forecast import Forecast, price_of, rate, some
from ..programs.asking import Asker

__all__ = ["Questions", "estimate"]


@dataclass(frozen=True, kw_only=True)
class Questions:
    """One kind of question of a table.

    Attributes:
        asker: gives what asks.
        model: who answers.
        cases: what is asked about, for the size of a prompt.
        number: how many questions there are.
    """

    asker: Callable[[], Asker]
    model: Model
    cases: Sequence[Case]
    number: int


def estimate(parts: Sequence[Questions], *, cases: int) -> Forecast:
    """Estimate calls, tokens and cost; sends nothing."""
    calls = billed = tokens_in = tokens_out = 0
    cost, unpriced = 0.0, []
    for part in parts:
        if not part.number:
            continue
        per = rate(part.asker, some(part.cases))
        number = round(per.calls * part.number)
        calls += number
        tokens_in += round(number * per.input_tokens)
        tokens_out += round(number * per.output_tokens)
        if part.model.offline or part.model.classifier:
            continue
        billed += number
        price = price_of(part.model, round(per.input_tokens), round(per.output_tokens))
        cost += number * (price or 0.0)
        if price is None:
            unpriced.append(part.model.name)
    return Forecast(
        contenders=len(parts),
        cases=cases,
        repeats=1,
        calls=calls,
        billed=billed,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost=cost,
        unpriced=tuple(dict.fromkeys(unpriced)),
    )
