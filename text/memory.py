"""Caches that stay small: short texts are kept in number, long ones only a few."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def characters(text: str) -> int:
    """Return the length of a text (``len`` with a narrower type)."""
    return len(text)


def by_length(
    size: Callable[[K], int], *, limit: int, keep: int, keep_long: int = 4
) -> Callable[[Callable[[K], V]], Callable[[K], V]]:
    """Cache a function of one argument, with a separate small cache for long arguments."""

    def decorate(function: Callable[[K], V]) -> Callable[[K], V]:
        short = lru_cache(maxsize=keep)(function)
        long = lru_cache(maxsize=keep_long)(function)

        @wraps(function)
        def cached(key: K) -> V:
            return short(key) if size(key) <= limit else long(key)

        return cached

    return decorate
