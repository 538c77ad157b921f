"""Rows on their way: read ahead in a thread, as a slow pipe must not stop the calls in flight, and seldom collected."""

import asyncio
import gc
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")
_AHEAD = 256
"""Items that are read before anybody takes them."""
_THRESHOLD = (200_000, 20, 100)
"""Of new objects and of rounds between looks; Python's own (700, 10, 10) took a quarter of a row's time."""


class Feed(Generic[Item]):
    """Items of an iterable for the tasks of one event loop; the thread ends with them, or with the process."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self._ready: deque[Item] = deque()
        self._room = threading.Event()
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="jurist-rows", daemon=True).start()

    async def take(self) -> Item | None:
        """Return the next item, or ``None`` after the last one."""
        while not self._ready:
            if self._ended.is_set() and not self._ready:
                if self._error is not None:
                    raise self._error
                return None
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiting.append(waiter)
            if self._ready or self._ended.is_set():  # meanwhile
                self._wake()
            await waiter
        return self._next()

    def ready(self, limit: int) -> list[Item]:
        """Return at most ``limit`` items that nobody has to wait for."""
        return [self._next() for _ in range(min(limit, len(self._ready)))]

    def _next(self) -> Item:
        """Return an item that is ready; the thread is woken for many at once, as changing between threads is slow."""
        item = self._ready.popleft()
        if len(self._ready) <= _AHEAD // 2 and not self._room.is_set():
            self._room.set()
        return item

    def rest(self) -> Iterator[Item]:
        """Return the items that nobody has taken, and block until each is there; what reading raises ends them."""
        while True:
            ended = self._ended.is_set()
            if self._ready:
                yield self._next()
            elif ended:
                return
            else:
                self._ended.wait(0.001)

    def close(self) -> None:
        """Read no more."""
        self._closed = True
        self._room.set()

    def _read(self) -> None:
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
        if len(self._ready) >= _AHEAD:
            self._room.clear()
            if len(self._ready) > _AHEAD // 2 and not self._closed:  # nobody took them meanwhile
                self._room.wait()

    def _tell(self) -> None:
        if self._waiting and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self._wake)
            except RuntimeError:  # it was closed meanwhile: nobody waits any more
                return

    def _wake(self) -> None:
        """Wake one for each item that is there; all, if none will come."""
        number = len(self._waiting) if self._ended.is_set() else len(self._ready)
        while number and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                number -= 1


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for cycles of garbage less often: what is in flight is in use, and finding that again costs time."""
    usual_threshold = gc.get_threshold()
    gc.freeze()  # modules stay
    gc.set_threshold(*_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*usual_threshold)
        gc.unfreeze()
