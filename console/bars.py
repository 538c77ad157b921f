"""Work under way, on standard error: a bar on a terminal, lines elsewhere, and what goes wrong."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self

from ..engines.meter import Amount, Meter
from ..report.scores import cost_words, counted_words
from .printing import print_notes

if TYPE_CHECKING:
    from rich.progress import Progress, Task, TaskID

    from ..optimizers.base import Event, Job

_WIDE = 100
"""Columns of a terminal from which on a bar is long."""
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


def status_words(
    *,
    done: int,
    total: int | None,
    unit: str,
    seconds_left: float | None = None,
    is_most: bool = False,
    best: float | None = None,
    spent: Amount | None = None,
    unpriced: int = 0,
) -> str:
    """Return the state of work in plain words, what matters most first, as a narrow terminal cuts the end.

    Args:
        done: how much of the work is done.
        total: how much there is; ``None`` if nobody knows.
        unit: what is counted, such as ``rows``.
        seconds_left: the seconds that the rest is expected to take; ``None`` if they are not known yet.
        is_most: whether ``total`` is a limit that the work may end before.
        best: the best score so far, if there is one.
        spent: the calls, tokens and dollars so far, if models are asked.
        unpriced: calls whose price is not known.
    """
    limit_words = "at most " if is_most else ""
    is_done = total is not None and done >= total and not is_most
    parts = [f"{done:,} {unit}"]
    if total is not None and not is_done:
        parts = [f"{done:,} of {limit_words}{total:,} {unit}"]
    if is_done:
        parts.append("computing the result")
    elif seconds_left is not None:
        parts.append(f"{limit_words or 'about '}{_clock(seconds_left)} left")
    if best is not None:
        parts.append(f"best score {best:.3f}")
    if spent is not None:
        if unit != "calls":
            parts.append(f"{spent.calls:,} calls")
        parts.append(cost_words(spent.cost, unpriced))
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    """Return a time as ``0:07`` or ``2:03:07``."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}"


def _new_progress() -> "Progress":
    """Return an empty display on standard error, which holds no results: one line, however narrow the terminal."""
    # Only a terminal shows bars, and importing Rich takes as long as starting the command line.
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Column
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    width = 20 if console.width >= _WIDE else 10

    class Line(ProgressColumn):
        """The title, a bar, and the state in words."""

        def render(self, task: "Task") -> Text:
            line = Text(f"{task.description} ", no_wrap=True, overflow="ellipsis")
            if task.total:
                filled = min(width, int(width * task.completed / task.total))
                line.append("━" * filled, style="green")
                line.append("━" * (width - filled), style="bright_black")
                line.append(" ")
            meter: Meter | None = task.fields["meter"]
            spent = None
            if meter is not None:
                spent = Amount(calls=meter.calls - meter.in_flight, tokens=meter.tokens, cost=meter.cost)
            total = None if task.total is None else round(task.total)
            line.append(
                status_words(
                    done=round(task.completed),
                    total=total,
                    unit=task.fields["unit"],
                    seconds_left=task.time_remaining,
                    is_most=task.fields["is_most"],
                    best=task.fields["best"],
                    spent=spent,
                    unpriced=meter.unpriced if meter is not None else 0,
                )
            )
            return line

    return Progress(
        Line(table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=console,
        transient=True,
        speed_estimate_period=_WINDOW_SECONDS,
    )


class Bar:
    """A bar that is not drawn before :meth:`begin`: whatever is said or asked first must stay readable."""

    quiet = 10.0
    """Seconds until the display first shows what goes wrong."""

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

    def begin(
        self,
        text: str,
        total: int | None,
        *,
        meter: Meter | None = None,
        unit: str = "rows",
        is_most: bool = False,
    ) -> None:
        """Draw the bar, or one more below.

        Args:
            text: what is done.
            total: how much there is to do; ``None`` if nobody knows.
            meter: what counts the calls and their price, if models are asked.
            unit: what is counted.
            is_most: whether ``total`` is a limit that the work may end before.
        """
        if not self.live:
            return
        if self._progress is None:
            self._progress = self._stack.enter_context(_new_progress())
        self._task = self._progress.add_task(
            text, total=total, meter=meter, unit=unit, is_most=is_most, best=None
        )

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
        self._most_calls: int | None = None  # of the search, where it has a limit
        self._pending_line = ""  # is said when it is due
        self._last_line_at = float("-inf")
        self._spent_words = ""
        self._best: float | None = None  # the score of the best prompt so far

    def __exit__(self, *raised: object) -> None:
        self.look()
        self._say_pending_line()
        super().__exit__(*raised)

    def begin_search(self, text: str, most_calls: int | None) -> None:
        """Draw the bar, which shows the phase and what is spent; a search sends at most ``most_calls``."""
        self._most_calls = most_calls
        self.begin(text, most_calls, unit="calls", is_most=True)
        self.watch(self._trouble_words, self.look)

    def event(self, event: "Event") -> None:
        """Take an event."""
        score = "" if event.best is None else f", score {event.best:.3f}"
        line = f"{event.text}{score}"
        if event.calls:
            line += f" ({counted_words(event.calls, 'call')} so far)"
        with self._lock:
            if event.kind == "step" and event.best is not None:
                self._best = event.best
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
            total = self._expected_calls or meter.budget.calls or self._most_calls
            is_most = self._expected_calls is None
            spent = Amount(calls=meter.calls - meter.in_flight, tokens=meter.tokens, cost=meter.cost)
            words = status_words(
                done=calls,
                total=total,
                unit="calls",
                is_most=is_most,
                best=self._best,
                spent=spent,
                unpriced=meter.unpriced,
            )
            self._spent_words = f"so far: {words}"
            if self._progress is not None and self._task is not None:
                self._progress.update(
                    self._task, completed=calls, total=total, meter=meter, is_most=is_most, best=self._best
                )

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
def progress(total: int | None, text: str, meter: Meter | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while something runs; yield the function that advances it."""
    with Bar() as bar:
        bar.begin(text, total, meter=meter)
        yield bar.step
