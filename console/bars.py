"""What a person sees of work under way: a bar on a terminal, lines elsewhere, and what goes wrong."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ..optimizers.base import Event, Job
from ..report.scores import cost_words
from .printing import remark

_LOOKS = 0.25
"""Seconds between two looks at the work."""
_BETWEEN = 1.0
"""Seconds between two lines about steps or candidates; phases and notes are always said."""
_WINDOW = 120.0
"""Seconds of work that the time that is left is foreseen by."""


class Bar:
    """A bar that is not drawn before :meth:`begin`: whatever is said or asked first must stay readable."""

    quiet = 10.0
    """Seconds until it is said for the first time what goes wrong."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)  # standard output holds results only
        # in a file or a pipe a bar would leave nothing but an empty line
        self.live = console.is_terminal and not console.is_dumb_terminal
        self._stack, self._task = ExitStack(), TaskID(0)
        self._shown = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(separator=" of "),
            TextColumn("{task.fields[spent]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self.live,
            speed_estimate_period=_WINDOW,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):  # there may be nobody left to look
            self._stack.close()

    def begin(self, text: str, total: int | None) -> None:
        """Draw the bar, or one more below."""
        if not self._shown.tasks:
            self._stack.enter_context(self._shown)
        self._task = self._shown.add_task(text, total=total, spent="")

    def step(self) -> None:
        """Advance the bar that was drawn last."""
        if self._shown.tasks:
            self._shown.advance(self._task)

    def watch(self, tell: Callable[[], str], look: Callable[[], None] = lambda: None) -> None:
        """Look all the time, and say what there is to tell while it changes, at first often and then less and less."""
        ended = threading.Event()
        self._stack.callback(ended.set)

        def watching() -> None:
            shown, pause = "", self.quiet
            due = time.monotonic() + pause
            while not ended.wait(min(_LOOKS, pause)):
                look()
                if time.monotonic() < due:
                    continue
                now = tell()
                if now != shown:
                    remark(now)
                    shown, pause = now, 2 * pause
                due = time.monotonic() + pause

        threading.Thread(target=watching, name="jurist-watch", daemon=True).start()


class SearchBar(Bar):
    """The bar of a search, which takes its events. Nothing that goes wrong with saying them reaches the search."""

    quiet = 30.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.RLock()
        self._job: Job | None = None
        self._begun = 0
        self._expected: int | None = None
        self._held, self._said, self._spent = "", float("-inf"), ""

    def __exit__(self, *raised: object) -> None:
        self.look()
        self._flush()
        super().__exit__(*raised)

    def begin(self, text: str, total: int | None) -> None:
        """Draw the bar, which shows the phase and what is spent from then on."""
        super().begin(text, total)
        self.watch(self._told, self.look)

    def event(self, event: Event) -> None:
        """Take an event."""
        value = f", score {event.best:.3f}" if event.best is not None else ""
        line = f"{event.calls} calls: {event.text}{value}"
        with self._lock:
            if event.kind == "phase":
                self._job, self._expected = event.job or self._job, event.expected
                self._begun = 0 if event.expected is None else event.calls
                if self._shown.tasks:
                    self._shown.update(self._task, description=event.phase)
            if event.kind in ("phase", "note"):
                if event.phase != "splitting":  # over in a moment; a line about it would only be in the way
                    self._flush()
                    self._held = line
                    self._flush()
            elif event.kind == "step" or not (self.live or self._held):
                self._held = line
                self.look()

    def look(self) -> None:
        """Bring the bar up to date, and say the last step, if it is due."""
        with self._lock:
            if self._clock() - self._said >= _BETWEEN:
                self._flush()
            if self._job and self._shown.tasks:
                meter = self._job.context.meter
                # calls that have come back: many are sent at once
                calls, total = (
                    meter.calls - meter.in_flight - self._begun,
                    self._expected or meter.budget.calls,
                )
                cost = cost_words(meter.cost, {"unpriced": meter.unpriced})
                spent = f"calls, {meter.tokens} tokens, {cost}"
                self._shown.update(self._task, completed=calls, total=total, spent=spent)
                self._spent = f"spent: {calls} of {total or 'any number of'} {spent}"

    def _flush(self) -> None:
        if not self._held:
            return
        line, self._held, self._said = self._held, "", self._clock()
        with suppress(OSError, ValueError):  # nobody who reads is no reason to end the work
            remark(line)

    def _told(self) -> str:
        """Return what goes wrong, and where no bar shows it what is spent."""
        trouble = self._job.context.trouble if self._job else ""
        return "; ".join(filter(None, ["" if self.live else self._spent, trouble]))


@contextmanager
def progress(total: int | None, text: str) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while something runs; yield what advances it."""
    with Bar() as bar:
        bar.begin(text, total)
        yield bar.step
