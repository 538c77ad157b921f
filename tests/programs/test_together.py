"""Many askings at once: order, limits, and what a stop in the middle leaves behind."""

import asyncio
import gc
from typing import Any

import pytest

from jurist.errors import BudgetExhausted
from jurist.programs.together import run_to_end, together


class Work:
    """Items that take a moment, one of which stops everything."""

    def __init__(self, stop: BaseException | None = None, at: int = 3) -> None:
        self.stop, self.at = stop, at
        self.begun: list[int] = []
        self.ended: list[int] = []

    async def __call__(self, item: int) -> int:
        self.begun.append(item)
        try:
            await asyncio.sleep(0.002 * (item % 3))
            if item == self.at and self.stop is not None:
                raise self.stop
            await asyncio.sleep(0.005)
            return item * item
        finally:
            self.ended.append(item)


def beside(work: Work, running: bool) -> Any:
    """Ask where no event loop runs, or where one does, as in a notebook."""

    def ask() -> Any:
        return run_to_end(together(list(range(12)), work, concurrency=4))

    async def notebook() -> Any:
        return ask()

    if not running:
        return ask()
    loop = asyncio.new_event_loop()
    task = loop.create_task(notebook())
    try:
        return loop.run_until_complete(task)
    finally:
        if task.done() and not task.cancelled():
            task.exception()  # the notebook's own business
        loop.close()


@pytest.mark.parametrize("running", [False, True])
def test_results_are_in_the_order_of_the_items(running: bool) -> None:
    work = Work()
    assert beside(work, running) == [n * n for n in range(12)]
    assert work.begun == list(range(12))


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), ValueError("broken"), BudgetExhausted("calls", 9)])
def test_a_stop_ends_all_and_leaves_nothing_half_done(
    stop: BaseException, running: bool, caplog: pytest.LogCaptureFixture
) -> None:
    gc.collect()
    caplog.clear()
    work = Work(stop)
    with pytest.raises(type(stop)) as raised:
        beside(work, running)
    assert raised.value is stop
    assert sorted(work.ended) == sorted(work.begun)
    assert len(work.begun) < 12
    gc.collect()  # what an event loop leaves behind is logged when it is collected
    assert caplog.records == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3)])
def test_a_stop_while_a_limit_is_awaited_is_not_lost(stop: BaseException) -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(0.01 * item)
        raise BudgetExhausted("calls", 9) if item == 0 else stop

    with pytest.raises(type(stop)) as raised:
        run_to_end(together([0, 1], work, concurrency=2))
    assert raised.value is stop
