"""What the public functions are given, in each of the forms that they take, and where a job tells how it goes."""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict

import dspy

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError, printable
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..keeping.artifacts import Store
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.logs import LogReference
from ..keeping.naming import locate
from ..keeping.paying import PaidJob, Start, Work, paying
from ..keeping.trust import Trust
from ..optimizers.base import Event, Sink
from ..programs.judge import Judge
from .cascading import Cascading
from .comparing import Comparing, Evaluating
from .estimate import Estimate
from .experiment import Answers, Experiment
from .hardening import Hardening
from .log_columns import read_judge_name
from .log_judge import infer_judge
from .plan import Plan
from .recorded import read_log

ModelLike: TypeAlias = str | Model | dspy.LM
"""``offline``, a DSPy model string, a :class:`~jurist.Model`, or a ``dspy.LM``."""

GoldLike: TypeAlias = str | os.PathLike[str] | Gold | Any
"""A bundled name, a path, ``hf:org/name``, a :class:`~jurist.Gold`, a list of dictionaries, or a table of pandas,
Polars, PyArrow or ``datasets``."""


MappingLike: TypeAlias = RowMapping | Mapping[str, str]
"""How columns and labels are called, or of columns alone what each is to the judge."""


class Loading(TypedDict, total=False):
    """How a judge that is given by name is asked: see :func:`jurist.load`."""

    samples: int | None
    threshold: float | None
    concurrency: int
    strictness: str | None
    verifier: ModelLike | None
    adapter: str | None
    redraws: int | None


class Asked(Work, Protocol):
    """Work whose end is foreseen before it asks about rows."""

    @property
    def rows(self) -> int:
        """How many rows are asked about."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""

    def foresee(self) -> Estimate:
        """Estimate it. Sends nothing."""


class Surface:
    """Where a job is started, tells how it goes, and asks what it needs; this one is Python's: a bar, no questions."""

    def __init__(self, store: Store, start: Start | None = None, mapping: MappingLike | None = None) -> None:
        self.store, self.start = store, start or Start(root=store.checkpoints)
        self.mapping = mapping_of(mapping)

    def note(self, *notes: str) -> None:
        """Say what a user should know."""
        warn(*notes)

    def judge(self, judge: str | Judge) -> tuple[Judge, str]:
        """Return the judge to compile, and how it was named, if by name."""
        return (judge, "") if isinstance(judge, Judge) else locate(judge, self.store, source=True)

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return the gold that was given."""
        return gold_of(gold, judge, mapping=self.mapping)

    def held_against(
        self, contenders: Sequence[LoadedJudge | LogReference], gold: GoldLike
    ) -> tuple[tuple[Contender, ...], Gold]:
        """Return the judges and the logs, read as verdicts on the gold, and the gold."""
        if not contenders:
            raise UsageError("no judge is named", hint="name at least two")
        logs = [contender for contender in contenders if isinstance(contender, LogReference)]
        judges = [contender.judge for contender in contenders if isinstance(contender, LoadedJudge)]
        if judges:  # gold is read as that of the first
            judge = judges[0]
        elif name := next(filter(None, map(read_judge_name, logs)), ""):
            judge = self.judge(name)[0]
        else:
            judge = infer_judge(logs, gold, self.mapping)
        labelled = self.gold(gold, judge)
        ready: list[Contender] = []
        for contender in contenders:
            ready.append(contender if isinstance(contender, LoadedJudge) else read_log(contender, labelled))
        return tuple(ready), labelled

    @contextmanager
    def compiling(self, plan: Plan, sink: Sink | None) -> Iterator[tuple[Sink, Start]]:
        """Show a compilation: yield what takes its events, and how it is started."""
        with shown(plan.judge.name) if sink is None else nullcontext(sink) as taking:
            yield taking, self.start

    @contextmanager
    def asking(self, work: Asked, title: str) -> Iterator[tuple[PaidJob, Callable[[], None]]]:
        """Open work that asks models: yield it, and what is called after each row."""
        start = replace(self.start, on_open=lambda paid: self.opened(work, paid))
        with paying(work, start) as job, self.counted(title, work.rows) as step:
            yield job, step

    def opened(self, work: Asked, paid: Mapping[str, int]) -> None:
        """Hear of work, and of the answers that are paid already, before it asks models; what this raises ends it."""

    def measured(self, work: Cascading | Comparing | Evaluating | Hardening, title: str) -> Any:
        """Ask about gold, and return what that shows, while the paid answers are still kept."""
        self.note(*work.remarks)
        with self.asking(work, title) as (job, step):
            answers = work.ask(job, step)
            result = work.conclude(job, answers, step)
            self.keep(job, work, result, answers)
        return result

    def counted(self, title: str, rows: int) -> AbstractContextManager[Callable[[], None]]:
        """Show how many rows have been asked about: yield what is called after each."""
        return counted(title, rows)

    def keep(self, job: PaidJob, work: Experiment, result: Any, answers: Sequence[Answers]) -> None:
        """Take a result while what was paid for it is still kept."""


class Asking(Loading, total=False):
    """How judges are asked about gold: see :func:`jurist.compare`."""

    budget: Budget | None
    mapping: MappingLike | None
    store: str | os.PathLike[str] | Store | None
    resume: bool
    fresh: bool
    surface: Surface | None


def started(asking: Asking) -> tuple[Surface, Budget, dict[str, Any]]:
    """Return where a job is started, its limits, and how judges that are given by name are asked."""
    options: dict[str, Any] = dict(asking)
    names = ("budget", "surface", "store", "mapping")
    budget, surface, store, mapping = (options.pop(name, None) for name in names)
    place = store_of(store)
    start = Start(root=place.checkpoints, **{name: options.pop(name, False) for name in ("resume", "fresh")})
    return surface or Surface(place, start, mapping), budget or Budget(), options


def mapping_of(mapping: MappingLike | None) -> RowMapping:
    """Return names; a dictionary is those of columns."""
    return mapping if isinstance(mapping, RowMapping) else RowMapping(columns=mapping or {})


def gold_of(
    gold: GoldLike, judge: Judge, *, labelled: bool = True, mapping: RowMapping | None = None
) -> Gold:
    """Return gold, read from wherever it is. Raises what :meth:`Gold.load` raises."""
    if isinstance(gold, Gold):
        return gold
    if isinstance(gold, str | os.PathLike):
        return Gold.load(os.fspath(gold), judge, labelled=labelled, mapping=mapping)
    return Gold.of(gold, judge, labelled=labelled, mapping=mapping)


def holdout_of(holdout: GoldLike, gold: Gold) -> Gold:
    """Return a test of one's own, read as the gold is: the same columns, labels and shared inputs."""
    if isinstance(holdout, str | os.PathLike):
        return Gold.load(os.fspath(holdout), gold.settled, mapping=RowMapping(**gold.mapping))
    return gold_of(holdout, gold.settled)


def store_of(root: str | os.PathLike[str] | Store | None, *, trust: bool = False) -> Store:
    """Return the store in a folder; default: the user's."""
    if isinstance(root, Store):
        return root
    return Store(None if root is None else Path(root), trust=Trust(given=trust))


def model_of(model: ModelLike) -> Model:
    """Return a model, by its name, of DSPy, or as it is."""
    if isinstance(model, dspy.LM):
        return Model.of_lm(model)
    return Model(name=model) if isinstance(model, str) else model


def warn(*notes: str) -> None:
    """Warn of what is not empty, each once, where a public function was called."""
    if text := "; ".join(note for note in dict.fromkeys(notes) if note):
        modules = (str(one.frame.f_globals.get("__name__")) for one in inspect.stack(0))
        depth = next(number for number, name in enumerate(modules) if not name.startswith("jurist."))
        warnings.warn(text, stacklevel=depth + 1)


@contextmanager
def shown(title: str) -> Iterator[Sink]:
    """Yield a sink that shows a compilation's calls, its phase and the value it last spoke of."""
    with _bar(title, None, "call") as bar:

        def take(event: Event) -> None:
            if event.kind == "phase":
                bar.total = None if event.expected is None else event.calls + event.expected
                bar.set_description_str(f"{title}: {event.phase}")
            value = "" if event.best is None else f" {event.best:.3f}"
            bar.set_postfix_str(printable(" ".join(event.text.split()))[:60] + value, refresh=False)
            bar.update(event.calls - bar.n)

        yield take


@contextmanager
def counted(title: str, rows: int | None) -> Iterator[Callable[[], None]]:
    """Yield what is to be called after each of so many rows; ``None`` where nobody knows how many."""
    with _bar(title, rows, "row") as bar:
        yield lambda: bar.update(1)


def _bar(title: str, total: int | None, unit: str) -> Any:
    from tqdm.auto import tqdm  # draws a widget in a notebook that has them, else a line of text

    looked_at = "ipykernel" in sys.modules or sys.stderr.isatty()
    return tqdm(total=total, desc=title, unit=unit, leave=False, disable=not looked_at)
