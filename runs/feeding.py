"""Reading rows ahead in a thread, so that a slow pipe does not stop calls in flight; and rarer garbage collection."""

import asyncio
import contextvars
import gc
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")
_AHEAD = 256
"""Items that are read ahead at most."""
_GC_THRESHOLDS = (200_000, 20, 100)
"""Thresholds of :mod:`gc` during a run: with Python's own (700, 10, 10) it took a quarter of a row's time."""


class Feed(Generic[Item]):
    """Gives the tasks of one event loop the items of an iterable, which a thread reads ahead."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self._ready: deque[Item] = deque()
        self._room = threading.Event()
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._read,), name="jurist-rows", daemon=True).start()

    async def take(self) -> Item | None:
        """Wait for the next item and return it; ``None`` after the last one. Raises the error of the reading."""
        while not self._ready:
            if self._ended.is_set() and not self._ready:
                if self._error is not None:
                    raise self._error
                return None
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            # The thread may have read an item before the waiter was added.
            if self._ready or self._ended.is_set():
                self._wake()
            await waiter
        return self._next()

    def take_ready(self, limit: int) -> list[Item]:
        """Return the items that are there, at most ``limit``, without waiting."""
        return [self._next() for _ in range(min(limit, len(self._ready)))]

    def _next(self) -> Item:
        """Return an item that is there, and wake the thread when half of the room is free."""
        # The thread is woken for many items at once, as changing between threads is slow.
        item = self._ready.popleft()
        if len(self._ready) <= _AHEAD // 2 and not self._room.is_set():
            self._room.set()
        return item

    def take_rest(self) -> Iterator[Item]:
        """Yield the items that nobody has taken, blocking until each is there; an error of reading is not raised."""
        while True:
            ended = self._ended.is_set()
            if self._ready:
                yield self._next()
            elif ended:
                return
            else:
                self._ended.wait(0.001)

    def close(self) -> None:
        """End the reading."""
        self._closed = True
        self._room.set()

    def _read(self) -> None:
        """Read the items; this runs in the thread."""
        try:
            for item in self._items:
                self._wait_for_room()
                if self._closed:
                    break
                self._ready.append(item)
                self._tell()
        except BaseException as error:  # noqa: BLE001 - whoever takes the next item is told
            self._error = error
        self._ended.set()
        self._tell()

    def _wait_for_room(self) -> None:
        """Wait in the thread while too many items are read ahead."""
        if len(self._ready) >= _AHEAD:
            self._room.clear()
            if len(self._ready) > _AHEAD // 2 and not self._closed:  # items may have been taken since
                self._room.wait()

    def _tell(self) -> None:
        """Let the event loop wake tasks that wait; called in the thread."""
        if self._waiting and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # the loop was closed since: nobody waits any more
                return

    def _wake(self) -> None:
        """Wake a waiting task for each item that is there, or all tasks if no item will come."""
        number = len(self._waiting) if self._ended.is_set() else len(self._ready)
        while number and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                number -= 1


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let Python look for cycles of garbage less often during a block, as most objects are in use: it costs time."""
    usual_threshold = gc.get_threshold()
    # A command leaves its modules out of every search until the process ends.
    is_frozen = gc.get_freeze_count() > 0
    if not is_frozen:
        gc.freeze()  # modules stay
    gc.set_threshold(*_GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*usual_threshold)
        if not is_frozen:
            gc.unfreeze()
