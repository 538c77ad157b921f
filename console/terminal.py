"""The terminal: bars with the time that is left, questions before much is paid, and what Python's functions tell it."""

import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Self

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

from ..arguments.groups import Limits, PaidOptions, Resume, RowOptions, StoreOptions
from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import JuristError, UsageError, plural
from ..gold.goldset import Gold
from ..jobs.estimate import Estimate, free
from ..jobs.surface import Asked, GoldLike, Surface
from ..keeping.paying import PaidJob, Start, paying
from ..programs.judge import Judge
from .inputs import gold_of, start_of, store_of
from .printing import remark

_WIDE = 200
_FIRST_LOOK = 10.0
"""Seconds until a bar says for the first time what goes wrong."""
_WINDOW = 120.0
"""Seconds of work that the time that is left is foreseen by."""


def human() -> Console:
    """Return the console of progress: standard error, so that standard output holds results only."""
    if sys.stderr.isatty():
        return Console(stderr=True, highlight=False)
    return Console(stderr=True, highlight=False, soft_wrap=True, width=_WIDE)


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
            self._shown = self._stack.enter_context(
                Progress(
                    TextColumn("{task.description}"),
                    BarColumn(),
                    MofNCompleteColumn(),
                    TimeElapsedColumn(),
                    TimeRemainingColumn(),
                    console=console,
                    transient=True,
                    # In a file or a pipe a bar would leave nothing but an empty line.
                    disable=not console.is_terminal,
                    speed_estimate_period=_WINDOW,
                )
            )
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
        self.forecast: dict[str, Any] | None = None  # the estimate as JSON values
        self._options, self._foresee = options, foresee
        self._real = [model for model in models if not free(model)]

    def start(self, text: str, total: int) -> Start:
        """Return how the job is started, with the first bar it will show."""
        options, root = self._options, store_of(self._options).checkpoints

        def opened(paid: Mapping[str, int]) -> None:
            if self._real:
                estimate = self._foresee()
                self.forecast = estimate.to_json()
                agree(estimate, paid, yes=options.yes)
            self.begin(text, total)

        return Start(root=root, resume=options.resume, fresh=options.fresh, on_open=opened)


class Terminal(Surface):
    """The surface of a command: remarks and bars on standard error, gold as the options say."""

    def __init__(self, options: StoreOptions) -> None:
        store = store_of(options)
        super().__init__(store, start_of(options, store) if isinstance(options, Resume) else None)
        self.forecast: dict[str, Any] = {}
        self._options = options
        self.columns = dict(options.columns) if isinstance(options, RowOptions) else {}

    @contextmanager
    def asking(self, work: Asked, title: str) -> Iterator[tuple[PaidJob, Callable[[], None]]]:
        """Say what is about to be spent and can be shown by it, and ask a person where that is much."""
        with paying(work, self.start) as job:
            estimate = work.foresee()
            self.forecast = estimate.to_json()
            yes = isinstance(self._options, Limits) and self._options.yes
            agree(estimate, job.paid, yes=yes, notes=self.notes(work))
            with self.counted(title, work.rows) as step:
                yield job, step

    def notes(self, work: Any) -> Sequence[str]:
        """Return what a user should know before it is asked."""
        return tuple(work.remarks)

    def note(self, *notes: str) -> None:
        """Say each."""
        remark(*notes)

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return gold, read as the options say."""
        assert isinstance(self._options, RowOptions)
        read = gold_of(str(gold), judge, self._options)
        remark(*(f"{words}: judged as it is" for words in read.blank_words))
        if aside := read.skipped - len(read.ambiguous):
            remark(
                f"{plural(aside, 'row')} set aside: without a label, without an input, or with nothing for the judge"
            )
        return read

    def counted(self, title: str, rows: int) -> AbstractContextManager[Callable[[], None]]:
        """Show a bar."""
        return progress(rows, title)


ASK_CALLS = 1000
"""Calls to real models above which a person is asked."""
ASK_COST = 1.0
"""US dollars above which a person is asked."""


class NotApprovedError(JuristError):
    """A person said no: nothing was sent."""


def approve(
    calls: int | None,
    cost: float | None,
    budget: Budget,
    *,
    yes: bool,
    unpriced: Sequence[str] = (),
    hosted: Sequence[str] = (),
) -> None:
    """Ask a person before much is paid; where nobody can answer, refuse.

    ``calls`` and US dollars are those of real models at most, ``None`` if not known; of the models whose price is not
    known (``unpriced``) some are asked at their provider's own address (``hosted``). A limit on cost within
    :data:`ASK_COST` answers the question, and so does one on calls within :data:`ASK_CALLS` where no price is known.
    """
    if (
        budget.cost is not None and unpriced and calls != 0
    ):  # the meter would refuse, but after a call was paid
        raise UsageError(
            f"--max-cost cannot be kept: the price of {', '.join(unpriced)} is not known",
            hint="limit the calls with --max-calls instead",
        )
    if yes or calls == 0 or (budget.cost is not None and cost is not None and cost <= ASK_COST):
        return
    number = "an unlimited number of" if calls is None else f"up to {calls}"
    if calls is None or calls > ASK_CALLS or (cost or 0) > ASK_COST:
        price = "" if cost is None else f" and may cost {cost:.2f} USD"
        why = f"this makes {number} calls to a real model{price}"
    elif hosted and (budget.calls is None or budget.calls > ASK_CALLS):
        why = f"this makes {number} calls to {', '.join(hosted)}, whose price is not known"
    else:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(why, hint="add --yes to go on")
    sys.stderr.write(f"{why}; go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotApprovedError("nothing was sent", hint="answer y, or add --yes")


def agree(
    estimate: Estimate, paid: Mapping[str, int], *, yes: bool, spent: int = 0, notes: Sequence[str] = ()
) -> None:
    """Say what is about to be spent, and ask a person where that is much; nothing is sent before."""
    answers, limit = sum(paid.values()), estimate.budget.calls
    remark(f"before: {estimate.words}{f'; {answers} answers are paid already' if answers else ''}")
    whole = estimate.whole.calls
    if limit is not None and limit - spent < whole.most:
        may = "will" if limit - spent < whole.least else "may"
        remark(f"--max-calls {limit} {may} stop it before the end; --resume continues from there")
    remark(*notes)
    unpriced, hosted = estimate.unpriced(), estimate.unpriced(hosted=True)
    approve(*estimate.left(paid, spent), estimate.budget, yes=yes, unpriced=unpriced, hosted=hosted)
