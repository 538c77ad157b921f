"""How long work may still take: at the pace at which it went so far."""

from collections import defaultdict, deque
from collections.abc import Sequence

from rich.progress import ProgressColumn, Task, TaskID
from rich.text import Text

_WINDOW = 120.0
"""Seconds that are remembered."""
_LEAST = 2.0
"""Seconds of work before a pace is said."""


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


class TimeLeft(ProgressColumn):
    """The time that a task of a bar may still take."""

    def __init__(self) -> None:
        super().__init__()
        self._paces: defaultdict[TaskID, Pace] = defaultdict(Pace)

    def render(self, task: Task) -> Text:
        """Return it in hours, minutes and seconds."""
        self._paces[task.id].see(task.get_time(), task.completed)
        left = 0.0 if task.finished else self._paces[task.id].left([task.remaining])
        return Text("-:--:--" if left is None else clock(left), style="progress.remaining")


def clock(seconds: float) -> str:
    """Return seconds as ``1:02:03``."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
