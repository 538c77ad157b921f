"""Answers that several cases of a job share: each is asked for once, and whoever comes meanwhile waits for it."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from .ledger import Spend

_MOST_KEPT: Final = 10_000
"""Answers that are kept at once; the oldest is asked for again."""


class SharedAnswer(NamedTuple):
    """An answer and the spend of its call."""

    text: str
    spend: Spend
    is_new: bool = True  # whether the case in hand has paid it


class SharedAnswers:
    """The answers that cases of a job share, by what was asked."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, SharedAnswer] = OrderedDict()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    async def get(self, key: str, ask: Callable[[], Awaitable[SharedAnswer]]) -> SharedAnswer:
        """Return the answer to what a key stands for; ``ask`` gets one that nobody has asked for.

        An error of ``ask`` is not kept: whoever comes next asks again.
        """
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        lock = locks.setdefault(key, asyncio.Lock())
        async with lock:
            answer = self._answers.get(key)
            if answer is not None:
                return answer
            try:
                answer = await ask()
            finally:  # whoever waits has the lock already
                locks.pop(key, None)
            self._answers[key] = answer._replace(is_new=False)
            if len(self._answers) > _MOST_KEPT:
                self._answers.popitem(last=False)
            return answer
