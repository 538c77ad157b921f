"""The cost of calls: by the prices that a user has stated for a model, else by the table that DSPy ships."""

import os
from functools import cache, lru_cache
from typing import Final

from dspy.lm15 import Message, Request, Response, Usage

from ..arguments.groups import Prices
from .dspy_internals import estimate_cost, model_info

_MILLION = 1_000_000


def shipped_prices() -> None:
    """Take prices from the table that DSPy ships; a newer one would be fetched in the middle of a run."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "true")


def stated_cost(prices: Prices, usage: Usage) -> float | None:
    """Return US dollars of usage that counts all tokens, by stated prices.

    ``None`` without any price, and where the endpoint reports no tokens.
    """
    if prices.price_in is None or prices.price_out is None or usage.input_tokens is None:
        return None
    price_cached = prices.price_in if prices.price_cached is None else prices.price_cached
    cached_tokens: int = usage.cache_read_tokens or 0
    input_tokens: int = usage.input_tokens - cached_tokens
    output_tokens: int = usage.output_tokens or 0
    dollars = input_tokens * prices.price_in + cached_tokens * price_cached + output_tokens * prices.price_out
    return dollars / _MILLION


def listed_cost(provider: str, request: Request, response: Response) -> float | None:
    """Return US dollars of a reply as it came, by the table; ``None`` where the table has no price for it."""
    requested = request.model.partition("/")[2]
    if not _is_listed(provider, response.model) and not _is_listed(provider, requested):
        return None
    cost, _ = estimate_cost(response, provider=provider, requested_model=requested, request=request)
    if cost is None:
        return None
    return float(cost)


_INPUT_PRICES: Final = {"typesafe/jev": 0.042, "decisions/gpt-6-luna": 0.10}
"""Beginning of a decision model's name -> US dollars of a million input tokens, 2026-11-28; its answers are free."""


def input_cost(model: str, input_tokens: int | None) -> float | None:
    """Return US dollars of a decision model's answer by its input tokens; ``None`` if they or the price are unknown."""
    if input_tokens is None:
        return None
    for beginning, price in _INPUT_PRICES.items():
        if model.startswith(beginning):
            return input_tokens * price / _MILLION
    return None


@lru_cache(maxsize=256)  # each look-up goes through the whole table
def _is_listed(provider: str, name: str) -> bool:
    """Say whether the table has a model."""
    return bool(model_info(provider, name))


@cache  # each look-up goes through the whole table
def foreseen_cost(model: str, prices: Prices, input_tokens: int, output_tokens: int) -> float | None:
    """Return US dollars of a call with so many tokens, none of them cached; ``None`` if the price is unknown."""
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    if prices.price_in is not None:
        return stated_cost(prices, usage)
    cost_of_input = input_cost(model, input_tokens)
    if cost_of_input is not None:
        return cost_of_input
    shipped_prices()
    provider, _, name = model.partition("/")
    reply = Response(id=None, model=name, message=Message.assistant(""), finish_reason="stop", usage=usage)
    cost, _ = estimate_cost(reply, provider=provider, requested_model=name)
    if cost is None:
        return None
    return float(cost)
