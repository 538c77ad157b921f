"""Answers that several cases of a job share: the first case asks for an answer, and the others wait for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from .ledger import Spend

_MOST_KEPT: Final = 10_000
"""The most answers that are kept. Then each new one drops the oldest, which is asked for again when it is needed."""


class SharedAnswer(NamedTuple):
    """An answer and the spend of its call."""

    text: str
    spend: Spend
    is_new: bool = True  # whether the case that gets it asked for it, and so paid its call


class SharedAnswers:
    """The answers that cases of a job share; cases that need the same answer have the same key."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, SharedAnswer] = OrderedDict()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    async def get(self, key: str, ask: Callable[[], Awaitable[SharedAnswer]]) -> SharedAnswer:
        """Return the answer of a key; for the first case that needs it ``ask`` makes the call.

        An error of ``ask`` reaches the case that asked. The next case asks again.
        """
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        lock = locks.setdefault(key, asyncio.Lock())
        async with lock:
            answer = self._answers.get(key)
            if answer is not None:
                return answer
            answer = await ask()
            self._answers[key] = answer._replace(is_new=False)
            # After an error the lock stays: cases that wait for it and those that come later ask one after the other.
            locks.pop(key, None)
            if len(self._answers) > _MOST_KEPT:
                self._answers.popitem(last=False)
            return answer
