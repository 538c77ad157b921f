"""The terminal: bars with the time that is left, questions before much is paid, and what Python's functions tell it."""

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from ..arguments.groups import PaidOptions, RowOptions
from ..engines.models import Model
from ..errors import JuristError, UsageError
from ..gold.goldset import Gold
from ..jobs.estimate import Estimate, free
from ..jobs.given import GoldLike, Surface
from ..keeping.artifacts import Store
from ..keeping.paying import Start
from ..programs.judge import Judge
from .inputs import gold_of, store_of
from .printing import remark

_WIDE = 200
_FIRST_LOOK = 10.0
"""Seconds until a bar says for the first time what goes wrong."""
_WINDOW = 120.0
"""Seconds that are remembered."""
_LEAST = 2.0
"""Seconds of work before a pace is said."""


def human() -> Console:
    """Return the console of progress: standard error, so that standard output holds results only."""
    if sys.stderr.isatty():
        return Console(stderr=True, highlight=False)
    return Console(stderr=True, highlight=False, soft_wrap=True, width=_WIDE)


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


class Bar:
    """A bar that is not drawn before :meth:`begin`: whatever is said or asked first must stay readable."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._shown: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def begin(self, text: str, total: int | None) -> None:
        """Draw the bar, or one more below."""
        if self._shown is None:
            console = human()
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            # In a file or a pipe a bar would leave nothing but an empty line.
            hidden = not console.is_terminal
            shown = Progress(*columns, TimeLeft(), console=console, transient=True, disable=hidden)
            self._shown = self._stack.enter_context(shown)
        self._task = self._shown.add_task(text, total=total)

    def watch(self, trouble: Callable[[], str]) -> None:
        """Say what goes wrong as long as it does, at first often and then less and less."""
        ended = threading.Event()
        self._stack.callback(ended.set)

        def watching() -> None:
            said, pause = "", _FIRST_LOOK
            while not ended.wait(pause):
                now = trouble()
                if now != said:
                    remark(now)
                    said, pause = now, 2 * pause

        threading.Thread(target=watching, name="jurist-trouble", daemon=True).start()

    def step(self) -> None:
        """Advance the bar that was drawn last."""
        if self._shown is not None:
            self._shown.advance(self._task)


@contextmanager
def progress(total: int | None, text: str) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while something runs; yield what advances it."""
    with Bar() as bar:
        bar.begin(text, total)
        yield bar.step


class Started(Bar):
    """A job from its opening to its end, as a context manager, and its bars.

    With a real model the estimate is shown and, above the limits, a person is asked, before anything is sent and
    before the bar is drawn. The offline engine is never asked about.
    """

    def __init__(
        self, options: PaidOptions, models: Collection[Model], foresee: Callable[[], Estimate]
    ) -> None:
        super().__init__()
        self.estimate: Estimate | None = None
        self._options, self._foresee = options, foresee
        self._real = [model for model in models if not free(model)]

    @property
    def forecast(self) -> dict[str, Any] | None:
        """The estimate as JSON values."""
        return self.estimate.to_json() if self.estimate else None

    def start(self, text: str, total: int) -> Start:
        """Return how the job is started, with the first bar it will show."""
        options, root = self._options, store_of(self._options).checkpoints

        def opened(paid: Mapping[str, int]) -> None:
            if self._real:
                self.estimate = self._foresee()
                agree(self.estimate, paid, yes=options.yes)
            self.begin(text, total)

        return Start(root=root, resume=options.resume, fresh=options.fresh, on_open=opened)


class Terminal(Surface):
    """The surface of a command: remarks and bars on standard error, gold as the options say."""

    def __init__(self, store: Store, rows: RowOptions) -> None:
        self.store, self._rows = store, rows

    def note(self, *notes: str) -> None:
        """Say each."""
        for said in filter(None, notes):
            remark(said)

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return gold, read as the options say."""
        return gold_of(str(gold), judge, self._rows)

    def counted(self, title: str, rows: int) -> AbstractContextManager[Callable[[], None]]:
        """Show a bar."""
        return progress(rows, title)


ASK_CALLS = 1000
"""Calls to real models above which a person is asked."""
ASK_COST = 1.0
"""US dollars above which a person is asked."""


class NotApprovedError(JuristError):
    """A person said no: nothing was sent."""


@dataclass(frozen=True, kw_only=True)
class Bill:
    """What is to be approved."""

    calls: int | None  # requests to real models, at most; ``None`` without a limit
    cost: float | None  # US dollars, at most; ``None`` if not known
    unpriced: tuple[str, ...] = ()  # models of a provider's own address whose price is not known
    unknown: tuple[str, ...] = ()  # all models whose price is not known, those at other addresses too
    bounded: bool = False  # whether the user limited the calls
    capped: bool = False  # whether the user limited the cost
    about: str = "about"  # ``about`` for an estimate, ``up to`` for a limit

    def worry(self) -> str:
        """Return why a person should be asked, as ``this ...``; empty if there is no reason.

        A cost limit within :data:`ASK_COST` answers the question, and so does a limit on calls within
        :data:`ASK_CALLS` where no price is known.
        """
        if self.calls == 0 or (self.capped and self.cost is not None and self.cost <= ASK_COST):
            return ""
        number = "an unlimited number of" if self.calls is None else f"{self.about} {self.calls}"
        if self.calls is None or self.calls > ASK_CALLS:
            price = f" and may cost {self.cost:.2f} USD" if self.cost is not None else ""
            return f"this makes {number} calls to a real model{price}"
        if self.cost is not None and self.cost > ASK_COST:
            return f"this makes {number} calls to a real model and may cost {self.cost:.2f} USD"
        if self.unpriced and not self.bounded:
            return f"this makes {number} calls to {', '.join(self.unpriced)}, whose price is not known"
        return ""


def approve(bill: Bill, *, yes: bool) -> None:
    """Ask a person before much is paid; where nobody can answer, refuse."""
    blind = dict.fromkeys((*bill.unknown, *bill.unpriced))
    if bill.capped and blind and bill.calls != 0:  # the meter would refuse as well, but after a call was paid
        raise UsageError(
            f"--max-cost cannot be kept: the price of {', '.join(blind)} is not known",
            hint="limit the calls with --max-calls instead",
        )
    worry = "" if yes else bill.worry()
    if not worry:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(worry, hint="add --yes to go on")
    sys.stderr.write(f"{worry}; go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotApprovedError("nothing was sent", hint="answer y, or add --yes")


def agree(
    estimate: Estimate,
    paid: Mapping[str, int],
    *,
    yes: bool,
    spent: int = 0,
    bounded: bool | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Say what is about to be spent, and ask a person where that is much; nothing is sent before."""
    answers, limit = sum(paid.values()), estimate.budget.calls
    kept = f"; {answers} answers are paid already" if answers else ""
    remark(f"before: {estimate.words}{kept}")
    whole = estimate.whole.calls
    if limit is not None and whole.most is not None and limit - spent < whole.most:
        may = "will" if limit - spent < whole.least else "may"
        remark(f"--max-calls {limit} {may} stop it before the end; --resume continues from there")
    for note in notes:
        remark(note)
    approve(bill(estimate, paid, spent=spent, bounded=bounded), yes=yes)


def bill(estimate: Estimate, paid: Mapping[str, int], *, spent: int = 0, bounded: bool | None = None) -> Bill:
    """Return what is to be approved of an estimate; see :func:`agree`."""
    calls, cost = estimate.left(paid, spent)
    billed = estimate.billed
    return Bill(
        calls=calls,
        cost=cost,
        unpriced=estimate.hosted,
        unknown=estimate.unpriced,
        bounded=estimate.budget.calls is not None if bounded is None else bounded,
        capped=estimate.budget.cost is not None,
        about="about" if billed.least == billed.most else "up to",
    )
