"""What a person sees while a judge is compiled: a bar and the best so far on a terminal, plain lines elsewhere.

All drawing happens in one thread of its own, which takes the events from a queue. Whatever goes wrong in it ends the
drawing and not the work. It costs little: the best is looked for at most once a second, and never for more than a
twentieth of the time.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..engines.meter import Meter
from ..errors import plural, printable
from ..evaluation.intervals import metric_interval
from ..evaluation.scale import resolve
from ..evaluation.units import encode
from ..optimizers.base import Event, Job
from ..optimizers.board import Board
from ..optimizers.candidate import candidate_names, source_words

_WINDOW = 120.0
"""Seconds that a pace remembers."""
_LEAST = 2.0
"""Seconds of work before a pace is said."""
_REFRESH = 0.25
"""Seconds between two drawings."""
_LOOK = 1.0
"""Seconds between two looks for the best, at least."""
_SHARE = 20
"""The best is looked for in at most one part in this many of the time."""
_QUIET = 30.0
"""Seconds without a line in a pipe after which one says how far the work is."""
_BAR = 30
"""Columns of the bar."""
_ID = re.compile(r"\b[0-9a-f]{12}\b")
"""What a candidate's id looks like."""
_BETWEEN = 1.0
"""Seconds between two lines about steps or candidates; phases and notes are always printed."""


def clock(seconds: float) -> str:
    """Return seconds as ``1:02:03``."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Pace:
    """How fast amounts grow over the last two minutes, and when they will have grown by so much more.

    The slower of two paces is taken: that since the beginning, as the first answers of many calls at once come
    together; and that of the later half, as what was paid before comes at once, and calls take longer while prompts
    grow.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, tuple[float, ...]]] = deque()

    def see(self, now: float, *amounts: float) -> None:
        """Take note of amounts at a time in seconds."""
        self._seen.append((now, amounts))
        while now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()

    def left(self, rest: Sequence[float | None]) -> float | None:
        """Return the seconds until the first of the amounts has grown by its rest."""
        if not self._seen:
            return None
        now, last = self._seen[-1]
        begin = self._seen[0]
        middle = (begin[0] + now) / 2
        half = next(one for one in reversed(self._seen) if one[0] <= middle)
        ends = []
        for place, amount in enumerate(rest):
            spans = [(now - then, last[place] - amounts[place]) for then, amounts in (begin, half)]
            if amount is not None and all(grown > 0 for _, grown in spans):
                ends.append(max(0.0, amount) * max(passed / grown for passed, grown in spans))
        return min(ends, default=None) if now - begin[0] >= _LEAST else None


class Watch:
    """A sink of events, and the context in which they are shown."""

    def __init__(self, console: Console, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._title, self._clock = console, title, clock
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jurist-watch")
        self._drawing: Future[None] | None = None
        self._view = _View(title, clock)
        self._lines = _Lines(console, clock)

    def __enter__(self) -> "Watch":
        live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._drawing = self._pool.submit(self._live if live else self._plain)
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
            self._lines.say(event.text)
        else:
            self._events.put(event)

    def _live(self) -> None:
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            while not self._over.wait(_REFRESH):
                self._take()
                live.update(self._view.drawn(self._console.width), refresh=True)
            self._take()
            live.update(Text(""), refresh=True)
        self._lines.flush()

    def _plain(self) -> None:
        while not self._over.wait(_REFRESH):
            self._take()
            self._view.pace()
            if self._lines.quiet(_QUIET) and self._view.job is not None:
                self._lines.say(self._view.status())
        self._take()
        self._lines.flush()

    def _take(self) -> None:
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                break
            event = self._view.named(event)
            self._view.take(event)
            self._lines.take(self._view.signed(event))
        self._lines.due()


class _Lines:
    """Events as plain lines, no more than one a second about steps; the last one held back is not lost."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console, self._clock = console, clock
        self._last, self._held = float("-inf"), ""
        self._spoke = clock()

    def take(self, event: Event) -> None:
        value = f"  value {event.best:.3f}" if event.best is not None else ""
        line = f"{event.calls} calls: {event.text}{value}"
        if event.kind in ("phase", "note"):
            if event.phase != "splitting":  # over in a moment; a line about it would only be in the way
                self.flush()
                self.say(line)
        elif event.kind == "step" or (not self._console.is_terminal and not self._held):
            self._held = line

    def due(self) -> None:
        if self._held and self._clock() - self._last >= _BETWEEN:
            self._last = self._clock()
            self.flush()

    def flush(self) -> None:
        if self._held:
            self.say(self._held)
        self._held = ""

    def say(self, line: str) -> None:
        self._spoke = self._clock()
        self._console.print(Text(printable(one_line(line))), soft_wrap=not self._console.is_terminal)

    def quiet(self, seconds: float) -> bool:
        return self._clock() - self._spoke >= seconds


class Best:
    """The candidate that a board would choose now, in words. Other threads write to the board meanwhile."""

    def __init__(self, job: Job, board: Board) -> None:
        self._job, self._board = job, board
        self.metric = resolve(job.judge.metric, job.judge.comparison)
        self._words: dict[
            tuple[str, int], str
        ] = {}  # by candidate and cases: its name, its value on dev, its interval
        self._high: tuple[float, str] | None = None  # the highest value that was shown, and its words

    def look(self) -> str:
        """Return the best so far; why another that had more on dev is not it."""
        tried = list(self._board.candidates.copy().values())
        best, dev = self._board.best(self._job.dev) if tried else None, self._job.dev
        known = self._board.outcomes(best) if best else {}
        met = [case for case in dev if case.id in known]
        if best is None or not met:
            return "best so far: none scored on dev yet"
        value = self._board.value(best, met)
        key = best.id, len(met)
        if key not in self._words:
            rows = [known[case.id].row for case in met if known[case.id].labelled]
            ends = metric_interval(encode(self._job.judge.comparison, rows), self.metric) if rows else None
            within = f" [{ends.low:.3f}, {ends.high:.3f}]" if ends else ""
            name = candidate_names((one.id, one.source) for one in tried)[best.id]
            part = "dev" if len(met) == len(dev) else f"{len(met)} of {len(dev)} dev cases"
            said = f"{name}, {self.metric.name} on {part} {self.metric.oriented(value):.3f}{within}"
            self._words[key] = said
        words, why = self._words[key], ""
        if self._high is None or value >= self._high[0]:
            self._high = value, words
        elif self._high[1] != words:
            why = f"; it is surer by all that is known than {self._high[1]} was"
        return one_line(f"best so far: {words}; {plural(len(tried), 'candidate')}{why}")


class _View:
    """What is shown of a job."""

    def __init__(self, title: str, clock: Callable[[], float]) -> None:
        self._title, self._clock = title, clock
        self._begun = clock()
        self._phase, self._now = "starting", ""
        self._expected: tuple[int, int] | None = None
        self._pace = Pace()
        self.best: Best | None = None
        self._said, self._next = "", 0.0
        self.job: Job | None = None
        self._board: Board | None = None

    def take(self, event: Event) -> None:
        if event.kind == "phase":
            self._phase = event.phase
            self._expected = None if event.expected is None else (event.calls, event.expected)
        self._now = event.text
        if event.job is not None and event.board is not None:
            self.job, self._board = event.job, event.board
            self.best = Best(event.job, event.board)

    def named(self, event: Event) -> Event:
        """Return an event that calls candidates by their names, and says of a new one what it tries."""
        board = event.board or self._board
        if board is None or not (ids := _ID.findall(event.text)):
            return event
        tried = {one.id: one.source for one in board.candidates.copy().values()}
        names = candidate_names(tried.items())
        text = _ID.sub(lambda found: names.get(found[0], found[0]), event.text)
        if event.kind == "candidate" and (source := tried.get(ids[-1])):
            text += f", {source_words(source)}"
        return replace(event, text=text)

    def signed(self, event: Event) -> Event:
        """Return an event whose value is that of the metric: what optimizers maximise of an error is its negative."""
        if self.best is None or event.best is None:
            return event
        return replace(event, best=self.best.metric.oriented(event.best))

    def pace(self) -> None:
        if self.job is not None:
            meter = self.job.context.meter
            self._pace.see(self._clock(), _answered(meter), meter.cost, meter.tokens)

    def drawn(self, width: int) -> RenderableType:
        """Return the bar with calls, money and time, and the lines below it."""
        self.pace()
        head = Text(
            one_line(f"{self._title}: {self._phase}"), style="bold", no_wrap=True, overflow="ellipsis"
        )
        now = Text(one_line(self._now), style="dim", no_wrap=True, overflow="ellipsis")
        if self.job is None:
            return Group(head, now)
        meter = self.job.context.meter
        begun, total = self._expected or (0, meter.budget.calls)
        bar = ProgressBar(total=total, completed=_answered(meter) - begun, width=min(_BAR, width // 3))
        line = Table.grid(padding=(0, 1))
        line.add_row(bar, Text(_spent(meter, total and begun + total)))
        return Group(head, line, *(Text(one) for one in (self._time(meter), *self._state()) if one), now)

    def status(self) -> str:
        """Return best so far, spend against budget, and time, in words."""
        if self.job is None:
            return self._phase
        meter, (best, trouble) = self.job.context.meter, self._state()
        spent = f"spent: {_spent(meter, meter.budget.calls)}"
        return "\n".join(line for line in (best, spent, trouble, self._time(meter)) if line)

    def _state(self) -> tuple[str, str]:
        """Return the best so far, which is looked for now and then, and what goes wrong."""
        if self.best is not None and self._clock() >= self._next:
            begun = time.perf_counter()
            self._said = self.best.look()
            self._next = self._clock() + max(_LOOK, _SHARE * (time.perf_counter() - begun))
        return self._said, one_line(self.job.context.trouble) if self.job else ""

    def _time(self, meter: Meter) -> str:
        budget, passed = meter.budget, self._clock() - self._begun
        calls = budget.calls if self._expected is None else sum(self._expected)
        rest = (
            None if calls is None else calls - _answered(meter),
            None if budget.cost is None else budget.cost - meter.cost,
            None if budget.tokens is None else budget.tokens - meter.tokens,
        )
        ends = [self._pace.left(rest), None if budget.seconds is None else max(0.0, budget.seconds - passed)]
        left = min((end for end in ends if end is not None), default=None)
        until = "" if self._expected is not None else " if the whole budget is used"
        said = "?" if left is None else f"about {clock(left)}{until}"
        return f"elapsed {clock(passed)}, left {said}"


def _spent(meter: Meter, most: int | None) -> str:
    budget = meter.budget
    amounts = (
        (f"{meter.calls}", most),
        (f"{meter.tokens}", budget.tokens),
        (f"{meter.cost:.4f}", budget.cost and f"{budget.cost:g}"),
    )
    calls, tokens, cost = (said if limit is None else f"{said} of {limit}" for said, limit in amounts)
    return f"{calls} calls, {tokens} tokens, {cost} USD"


def _answered(meter: Meter) -> int:
    """Return the calls that have come back; many are sent at once."""
    return meter.calls - meter.in_flight


def one_line(text: str) -> str:
    """Return a text on one line, without characters that steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text).strip()
