"""What a person sees while a judge is compiled: a bar and the best so far on a terminal, plain lines elsewhere.

All drawing happens in one thread of its own, which takes the events from a queue. Whatever goes wrong in it ends the
drawing and not the work.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from ..errors import printable
from ..optimizers.base import Event, Job

_REFRESH = 0.25
"""Seconds between two drawings."""
_BETWEEN = 1.0
"""Seconds between two lines about steps or candidates; phases and notes are always printed."""
_QUIET = 30.0
"""Seconds without a line after which one says how far the work is; on a terminal only where calls fail."""


class Watch:
    """A sink of events, and the context in which they are shown."""

    def __init__(self, console: Console, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._title, self._clock = console, title, clock
        self._live = console.is_terminal and not console.is_dumb_terminal
        self._events, self._over = SimpleQueue[Event](), threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jurist-watch")
        self._drawing: Future[None] | None = None
        self._job: Job | None = None
        self._begun, self._phase = 0, "starting"
        self._expected: int | None = None
        self._held, self._printed, self._spoke = "", float("-inf"), clock()

    def __enter__(self) -> "Watch":
        self._drawing = self._pool.submit(self._draw)
        return self

    def __exit__(self, *details: Any) -> None:
        self._over.set()
        fault = self._drawing.exception() if self._drawing else None
        self._pool.shutdown()
        if fault is None:
            return
        with suppress(OSError, ValueError):  # there may be nobody left to tell
            self._console.print(Text(f"the display stopped ({one_line(repr(fault))}); the work did not"))

    def event(self, event: Event) -> None:
        """Take an event; never raises, never waits. A note that comes before the display is said at once."""
        if event.kind == "note" and self._drawing is None:
            self._say(event.text)
        else:
            self._events.put(event)

    def _draw(self) -> None:
        columns = (
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[spent]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(
            *columns, console=self._console, auto_refresh=False, transient=True, disable=not self._live
        ) as bar:
            task, over = bar.add_task(self._title, total=None, spent=""), False
            while not over:
                over = self._over.wait(_REFRESH)
                with suppress(Empty):
                    while True:
                        self._take(self._events.get_nowait())
                self._tell()
                calls, total = self._amounts()
                bar.update(task, description=self._phase, completed=calls, total=total, spent=self._spent())
                bar.refresh()
        self._flush()

    def _take(self, event: Event) -> None:
        value = f"  value {event.best:.3f}" if event.best is not None else ""
        line = f"{event.calls} calls: {event.text}{value}"
        if event.kind == "phase":
            self._phase, self._begun, self._expected = event.phase, event.calls, event.expected
            self._job = event.job or self._job
        if event.kind in ("phase", "note"):
            if event.phase != "splitting":  # over in a moment; a line about it would only be in the way
                self._flush()
                self._say(line)
        elif event.kind == "step" or not (self._live or self._held):
            self._held = line

    def _tell(self) -> None:
        """Say the last step, if it is due; after a long silence what is spent, and what goes wrong."""
        now = self._clock()
        if self._held and now - self._printed >= _BETWEEN:
            self._printed = now
            self._flush()
        trouble = self._job.context.trouble if self._job else ""
        if now - self._spoke >= _QUIET and (trouble or not self._live):
            self._say("; ".join(filter(None, [f"spent: {self._spent()}", trouble])))

    def _flush(self) -> None:
        if self._held:
            self._say(self._held)
        self._held = ""

    def _say(self, line: str) -> None:
        self._spoke = self._clock()
        self._console.print(Text(printable(one_line(line))), soft_wrap=not self._console.is_terminal)

    def _amounts(self) -> tuple[int, int | None]:
        """Return the calls of this phase that have come back, and how many it has at most; many are sent at once."""
        if self._job is None:
            return 0, None
        meter = self._job.context.meter
        done = meter.calls - meter.in_flight
        return (done, meter.budget.calls) if self._expected is None else (done - self._begun, self._expected)

    def _spent(self) -> str:
        if self._job is None:
            return ""
        (calls, most), meter = self._amounts(), self._job.context.meter
        return f"{calls}{'' if most is None else f' of {most}'} calls, {meter.tokens} tokens, {meter.cost:.4f} USD"


def one_line(text: str) -> str:
    """Return a text on one line, without characters that steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
