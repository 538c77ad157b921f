"""Doing many askings at once: in order, a few in flight, and nothing paid for is lost when the budget ends."""

import asyncio
import atexit
import contextvars
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

import dspy

from ..engines.adapters import adapter as adapter_named
from ..engines.channel import is_in_event_loop
from ..errors import AnswerPending, BudgetExhausted, ModelError

Item = TypeVar("Item")
Result = TypeVar("Result")
Work: TypeAlias = Coroutine[Any, Any, Result]
"""A coroutine, as event loops take it."""


class Gathered:
    """Calls whose answers may come later, each in a block of its own: all are asked for before the first is missed."""

    pending: AnswerPending | None = None

    def __enter__(self) -> "Gathered":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, AnswerPending):
            self.pending = error
        return isinstance(error, AnswerPending)

    def end(self) -> None:
        """Raise ``AnswerPending`` if an answer of any block is still to come."""
        if self.pending:
            raise self.pending


class _Stopped(Exception):  # noqa: N818 - it says that the work was stopped, not that it failed
    """Carries Ctrl-C or an exit out of a task.

    An event loop that meets those itself leaves at once: other tasks stay half done, and what became of them is
    logged whenever they happen to be collected.
    """

    def __init__(self, stop: BaseException) -> None:
        self.stop = stop
        super().__init__(repr(stop))


def asking_of(lm: dspy.LM, adapter: dspy.Adapter | str) -> AbstractContextManager[object]:
    """Return the context in which a program's calls go to ``lm``, written by ``adapter`` or the one of that name."""
    if isinstance(adapter, str):
        adapter = adapter_named(adapter)
    # The calls are recorded nowhere.
    context: AbstractContextManager[object] = dspy.context(
        lm=lm,
        adapter=adapter,
        disable_history=True,
        trace=None,
        track_usage=False,
    )
    return context


async def together(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]], *, concurrency: int
) -> list[Result]:
    """Return the results of ``work`` in the order of the items, with at most ``concurrency`` at once."""
    results: dict[int, Result] = {}
    numbered_items = iter(enumerate(items))

    async def take() -> tuple[int, Item] | None:
        return next(numbered_items, None)

    async def do(numbered_item: tuple[int, Item]) -> None:
        number, item = numbered_item
        results[number] = await work(item)

    await work_through(take, do, concurrency=max(1, min(concurrency, len(items))))
    return [results[number] for number in range(len(items))]


async def work_through(
    take: Callable[[], Awaitable[Item | None]], work: Callable[[Item], Awaitable[None]], *, concurrency: int
) -> None:
    """Do ``work`` for each item that ``take`` gives, until it gives ``None``; nobody waits for the slowest.

    An error ends the taking of items; it is raised when all work that was begun has ended.
    """
    await _Workers(take, work).run(concurrency)


class _Workers(Generic[Item]):
    """Tasks that each take an item and do the work on it, again and again."""

    def __init__(
        self, take: Callable[[], Awaitable[Item | None]], work: Callable[[Item], Awaitable[None]]
    ) -> None:
        self._take, self._work = take, work
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting: set[asyncio.Task[None] | None] = set()  # the tasks that wait for an item
        self._stops: list[BaseException] = []  # Ctrl-C or an exit, raised inside the work on an item
        self._errors: list[BaseException] = []  # after the first of them no item is taken

    async def run(self, concurrency: int) -> None:
        """Work until there are no more items, and raise what ended the work before."""
        self._tasks = [asyncio.ensure_future(self._work_on()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*self._tasks)
        except asyncio.CancelledError:
            if not self._stops:
                raise
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in self._stops + self._errors:
            raise error

    async def _work_on(self) -> None:
        while not self._errors:
            item = await self._next_item()
            if item is None:
                return
            try:
                # A task of its own gives the item a context of its own, in which its work sets context variables.
                await asyncio.create_task(self._do(item))
            except (BudgetExhausted, ModelError) as error:
                # What is left of tokens or cost may be enough for another item, but the work has ended.
                self._end(error)

    async def _next_item(self) -> Item | None:
        task = asyncio.current_task()
        self._waiting.add(task)
        try:
            return await self._take()
        except asyncio.CancelledError:
            if self._errors:
                return None
            raise
        except (Exception, BudgetExhausted) as error:  # noqa: BLE001 - it is raised when all have arrived
            self._end(error)
            return None
        finally:
            self._waiting.discard(task)

    async def _do(self, item: Item) -> None:
        try:
            await _contained(self._work(item))
        except _Stopped as stopped:
            self._stops.append(stopped.stop)
            for task in self._tasks:  # at once: whoever is about to send a request must not
                task.cancel()

    def _end(self, error: BaseException) -> None:
        """Keep an error, after which no item is taken, and wake the tasks that wait for one."""
        self._errors.append(error)
        for task in self._waiting:
            if task and task is not asyncio.current_task():
                task.cancel()


async def _contained(work: Awaitable[Result]) -> Result:
    await asyncio.sleep(0)  # the loop hears which connections were closed while it stood still
    try:
        return await work
    except (KeyboardInterrupt, SystemExit) as stop:
        raise _Stopped(stop) from stop


def run_to_end(work: Awaitable[Result]) -> Result:
    """Run a coroutine to its end, also where an event loop is already running (notebooks), and return its result."""
    # A dedicated thread gets its own loop then; context variables are carried over, and so is Ctrl-C.
    run: Callable[[Work[Result]], Result] = asyncio.run
    if is_in_event_loop():
        run = _run_beside
    elif threading.current_thread() is threading.main_thread():
        run = _main_loop.run
    try:
        return run(_contained(work))
    except _Stopped as stopped:
        raise stopped.stop from None


class _MainLoop:
    """The event loop of the main thread. Connections live as long as their loop, so one serves all calls of a job."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._process = os.getpid()

    def run(self, work: Work[Result]) -> Result:
        """Run a coroutine to its end as ``asyncio.run`` does, and keep the loop where that ends well."""
        if self._process != os.getpid():  # a forked process must not touch the loop of its parent
            self._runner, self._process = None, os.getpid()
        if self._runner is None:
            self._runner = asyncio.Runner()
        try:
            return self._runner.run(work, context=contextvars.copy_context())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the loop and its connections; the next call begins another."""
        runner, self._runner = self._runner, None
        if runner is not None and self._process == os.getpid():
            runner.close()


_main_loop = _MainLoop()
atexit.register(_main_loop.close)


def _run_beside(work: Work[Result]) -> Result:
    """Run a coroutine to its end in a thread with a loop of its own, and return its result."""
    context = contextvars.copy_context()
    running_tasks: list[asyncio.Task[Any]] = []

    async def main() -> Result:
        task = asyncio.current_task()
        if task is not None:
            running_tasks.append(task)
        return await work

    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(context.run, asyncio.run, main())
        try:
            return future.result()
        except KeyboardInterrupt:
            if running_tasks and not future.done():  # leaving the pool waits for the thread
                task = running_tasks[0]
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
