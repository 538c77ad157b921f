"""Work under way, on standard error: a bar on a terminal, lines elsewhere, and what goes wrong."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self

from ..report.scores import cost_words
from .printing import print_notes

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ..optimizers.base import Event, Job

_LOOK_SECONDS = 0.25
"""Seconds between two looks at the work."""
_LINE_SECONDS = 1.0
"""Seconds between two lines about steps or candidates; phases and notes are always said."""
_WINDOW_SECONDS = 120.0
"""Seconds of work from which the time that remains is foreseen."""


def _is_live_terminal() -> bool:
    """Whether standard error is a terminal that can redraw a line."""
    # In a file or a pipe a bar would leave nothing but an empty line.
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _new_progress() -> "Progress":
    """Return an empty display of bars on standard error, which holds no results."""
    # Only a terminal shows bars, and importing Rich takes as long as starting the command line.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(separator=" of "),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
        speed_estimate_period=_WINDOW_SECONDS,
    )


class Bar:
    """A bar that is not drawn before :meth:`begin`: whatever is said or asked first must stay readable."""

    quiet = 10.0
    """Seconds until it is said for the first time what goes wrong."""

    def __init__(self) -> None:
        self.live = _is_live_terminal()
        self._stack = ExitStack()
        self._progress: Progress | None = None  # drawn from the first :meth:`begin` on, on a terminal
        self._task: TaskID | None = None  # the bar that was drawn last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):  # the terminal may be gone
            self._stack.close()

    def begin(self, text: str, total: int | None) -> None:
        """Draw the bar, or one more below."""
        if not self.live:
            return
        if self._progress is None:
            self._progress = self._stack.enter_context(_new_progress())
        self._task = self._progress.add_task(text, total=total, spent="")

    def step(self) -> None:
        """Advance the bar that was drawn last."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    def watch(self, tell: Callable[[], str], look: Callable[[], None] = lambda: None) -> None:
        """Call ``look`` all the time, and say the text of ``tell`` when it has changed, less and less often."""
        ended = threading.Event()
        self._stack.callback(ended.set)

        def watch_until_ended() -> None:
            last_text = ""
            pause = self.quiet
            due = time.monotonic() + pause
            while not ended.wait(min(_LOOK_SECONDS, pause)):
                look()
                if time.monotonic() < due:
                    continue
                text = tell()
                if text != last_text:
                    print_notes(text)
                    last_text = text
                    pause = 2 * pause
                due = time.monotonic() + pause

        threading.Thread(target=watch_until_ended, name="jurist-watch", daemon=True).start()


class SearchBar(Bar):
    """The bar of a search, which takes its events. Nothing that goes wrong with saying them reaches the search."""

    quiet = 30.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.RLock()
        self._job: Job | None = None
        self._calls_before_phase = 0
        self._expected_calls: int | None = None  # of the phase, where they are known
        self._pending_line = ""  # is said when it is due
        self._last_line_at = float("-inf")
        self._spent_words = ""

    def __exit__(self, *raised: object) -> None:
        self.look()
        self._say_pending_line()
        super().__exit__(*raised)

    def begin(self, text: str, total: int | None) -> None:
        """Draw the bar, which shows the phase and what is spent from then on."""
        super().begin(text, total)
        self.watch(self._trouble_words, self.look)

    def event(self, event: "Event") -> None:
        """Take an event."""
        score = "" if event.best is None else f", score {event.best:.3f}"
        line = f"{event.calls} calls: {event.text}{score}"
        with self._lock:
            if event.kind == "phase":
                self._begin_phase(event)
            if event.kind in ("phase", "note"):
                if event.phase != "splitting":  # over in a moment; a line about it would only be in the way
                    self._say_pending_line()
                    self._pending_line = line
                    self._say_pending_line()
            elif event.kind == "step" or not (self.live or self._pending_line):
                self._pending_line = line
                self.look()

    def _begin_phase(self, event: "Event") -> None:
        if event.job is not None:
            self._job = event.job
        self._expected_calls = event.expected
        self._calls_before_phase = 0 if event.expected is None else event.calls
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=event.phase)

    def look(self) -> None:
        """Bring the bar up to date, and say the last step, if it is due."""
        with self._lock:
            if self._clock() - self._last_line_at >= _LINE_SECONDS:
                self._say_pending_line()
            if self._job is None:
                return
            meter = self._job.context.meter
            # Many calls are sent at once: only those that came back have been done.
            calls = meter.calls - meter.in_flight - self._calls_before_phase
            total = self._expected_calls or meter.budget.calls
            cost = cost_words(meter.cost, meter.unpriced)
            spent = f"calls, {meter.tokens} tokens, {cost}"
            self._spent_words = f"spent: {calls} of {total or 'any number of'} {spent}"
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, completed=calls, total=total, spent=spent)

    def _say_pending_line(self) -> None:
        line = self._pending_line
        if not line:
            return
        self._pending_line = ""
        self._last_line_at = self._clock()
        with suppress(OSError, ValueError):  # nobody who reads is no reason to end the work
            print_notes(line)

    def _trouble_words(self) -> str:
        """Return a line about failures, and, where no bar shows it, the spend."""
        parts = []
        if not self.live and self._spent_words:
            parts.append(self._spent_words)
        if self._job is not None and self._job.context.trouble:
            parts.append(self._job.context.trouble)
        return "; ".join(parts)


@contextmanager
def progress(total: int | None, text: str) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while something runs; yield the function that advances it."""
    with Bar() as bar:
        bar.begin(text, total)
        yield bar.step
