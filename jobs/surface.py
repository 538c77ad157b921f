"""The arguments of the public functions, in each form that they take, and the surface where a job tells how it goes."""

import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NoReturn, Protocol, TypeAlias, TypedDict

import dspy

from ..arguments.groups import Combining
from ..engines.meter import Budget, Meter
from ..engines.models import OWN, Model
from ..errors import UsageError, in_words_of_caller, printable
from ..evaluation.votes import Rule
from ..gold.goldset import Gold
from ..gold.mapping import MappingLike, RowMapping, make_mapping
from ..keeping.artifacts import Store
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.logs import LogReference
from ..keeping.naming import locate_judge
from ..keeping.paying import PaidAnswers, PaidJob, Start, Work, kept_answers_file, paying
from ..keeping.spend_card import reused_words
from ..keeping.trust import Trust
from ..optimizers.base import Event, Sink
from ..programs.judge import Judge
from ..programs.languages import case_texts
from .cascading import Cascading
from .comparing import Comparing, Evaluating
from .estimate import CostEstimate
from .experiment import Answers, Experiment
from .hardening import Hardening
from .kept_calls import Countable, count_kept_calls
from .log_columns import read_judge_name
from .log_judge import infer_judge
from .plan import Plan
from .recorded import read_log

ModelLike: TypeAlias = str | Model | dspy.LM
"""``offline``, a DSPy model string, a :class:`~jurist.Model`, or a ``dspy.LM``. Where none is named, a version asks the
model that it was proven with, and a basic prompt that of the first version which is named beside it, else
``offline``."""

GoldLike: TypeAlias = str | os.PathLike[str] | Gold | Any
"""A bundled name, a path, ``hf:org/name``, a :class:`~jurist.Gold`, cases such as ``gold.split().test``, a list of
dictionaries, or a table of pandas, Polars, PyArrow or ``datasets``."""


class Loading(TypedDict, total=False):
    """The settings of asking a judge that is given by name: see :func:`jurist.load`."""

    samples: int | None
    threshold: float | None
    combine: Combining | None
    concurrency: int
    strictness: str | None
    language: str | None
    verifier: ModelLike | None
    verifiers: Sequence[str] | None
    adapter: str | None
    redraws: int | None


class Asked(Work, Countable, Protocol):
    """Work whose end is foreseen before it asks about rows."""

    @property
    def rows(self) -> int:
        """The number of rows that are asked about."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user before the first call."""

    def foresee(self) -> CostEstimate:
        """Estimate it. Sends nothing."""


class Surface:
    """Where a job is started, tells how it goes, and asks what it needs; this one is Python's: a bar, no questions."""

    def __init__(self, store: Store, start: Start | None = None, mapping: MappingLike | None = None) -> None:
        self.store = store
        self.start = start or Start(root=store.checkpoints)
        self.mapping = make_mapping(mapping)

    def note(self, *notes: str) -> None:
        """Say what a user should know."""
        warn(*notes)

    def loaded(self, judge: LoadedJudge) -> None:
        """Hear of a judge that was loaded, before anything is asked."""

    def judge(self, judge: str | Judge) -> tuple[Judge, str]:
        """Return the judge to compile, and how it was named, if by name."""
        if isinstance(judge, Judge):
            return judge, ""
        return locate_judge(judge, self.store, source=True)

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return the gold that was given; note the labels that look misspelt."""
        labelled = read_gold(gold, judge, mapping=self.mapping)
        self.note(*labelled.misspelt_words)
        return labelled

    def held_against(
        self, contenders: Sequence[LoadedJudge | LogReference], gold: GoldLike
    ) -> tuple[tuple[Contender, ...], Gold]:
        """Return the judges and the logs, read as verdicts on the gold, and the gold."""
        if not contenders:
            raise UsageError("no judge is named", hint="name at least two")
        labelled = self.gold(gold, self._judge_of_gold(contenders, gold))
        ready: list[Contender] = []
        for contender in contenders:
            if isinstance(contender, LoadedJudge):
                self.loaded(contender)
                ready.append(contender.for_texts(case_texts(labelled.cases)))
            else:
                ready.append(read_log(contender, labelled, self.store))
        return tuple(ready), labelled

    def _judge_of_gold(self, contenders: Sequence[LoadedJudge | LogReference], gold: GoldLike) -> Judge:
        """Return the judge by which gold is read: the first one, else that of a log, else one that fits the rows."""
        logs: list[LogReference] = []
        for contender in contenders:
            if isinstance(contender, LoadedJudge):
                return contender.judge
            logs.append(contender)
        for log in logs:
            name = read_judge_name(log)
            if name:
                return self.judge(name)[0]
        return infer_judge(logs, gold, self.mapping)

    @contextmanager
    def compiling(self, plan: Plan, sink: Sink | None) -> Iterator[tuple[Sink, Start]]:
        """Show a compilation: yield what takes its events, and how it is started."""
        if sink is not None:
            yield sink, self.start
            return
        with show_compilation(plan.judge.name) as progress_sink:
            yield progress_sink, self.start

    @contextmanager
    def asking(
        self, work: Asked, title: str, *, reuses: bool = True
    ) -> Iterator[tuple[PaidJob, Callable[[], None]]]:
        """Open work that asks models: yield it, and what is called after each row.

        Args:
            work: what is asked.
            title: names it in its progress.
            reuses: whether answers that finished work has kept are used again, and its own are kept.
        """

        def open_work(paid: PaidAnswers) -> None:
            root = self.start.root
            if reuses and root is not None and not self.start.fresh and not any(paid.by_role.values()):
                paid = count_kept_calls(work, kept_answers_file(root))
            self.opened(work, paid)

        start = replace(self.start, reuses=reuses, on_open=open_work)
        with paying(work, start) as job, self.counted(title, work.rows, job.meter) as step:
            yield job, step

    def opened(self, work: Asked, paid: PaidAnswers) -> None:
        """Hear of work, and of the answers that are paid already, before it asks models; what this raises ends it."""
        self.note(work.foresee().ending)
        if paid.is_whole:
            self.note(f"{reused_words(paid.kept_since)}; --fresh asks anew")

    def measured(self, work: Cascading | Comparing | Evaluating | Hardening, title: str) -> Any:
        """Ask about gold, and return what that shows, while the paid answers are still kept."""
        self.note(*work.notes)
        with self.asking(work, title, reuses=work.reuses_answers) as (job, step):
            answers = work.ask(job, step)
            result = work.conclude(job, answers, step)
            self.keep(job, work, result, answers)
        return result

    def counted(self, title: str, rows: int, meter: Meter) -> AbstractContextManager[Callable[[], None]]:
        """Show how many rows have been asked about, and what the meter counts: yield what is called after each."""
        return count_rows(title, rows)

    def keep(self, job: PaidJob, work: Experiment, result: Any, answers: Sequence[Answers]) -> None:
        """Take a result while what was paid for it is still kept."""


class Asking(Loading, total=False):
    """The settings of asking judges about gold: see :func:`jurist.compare`."""

    budget: Budget | None
    mapping: MappingLike | None
    raters: str | Sequence[str]
    merge: Rule | None
    store: str | os.PathLike[str] | Store | None
    resume: bool
    fresh: bool
    surface: Surface | None


def resolve_asking(asking: Asking) -> tuple[Surface, Budget, dict[str, Any]]:
    """Return the surface of a job, its limits, and the options of judges that are given by name.

    Raises:
        UsageError: a surface is given, and beside it what a surface brings itself.
    """
    options: dict[str, Any] = dict(asking)
    surface = options.pop("surface", None)
    if surface is not None:
        _refuse_beside_surface(options)
    store = open_store(options.pop("store", None))
    mapping = make_mapping(options.pop("mapping", None))
    mapping = mapping.with_named(options.pop("raters", ()), options.pop("merge", None))
    start = Start(
        root=store.checkpoints,
        resume=options.pop("resume", True),
        fresh=options.pop("fresh", False),
    )
    if surface is None:
        surface = Surface(store, start, mapping)
    budget = options.pop("budget", None) or Budget()
    return surface, budget, options


def _refuse_beside_surface(options: Mapping[str, Any]) -> None:
    """Refuse the arguments that would be ignored, since the surface of a job brings its own."""
    if not options.get("resume", True):
        _raise_goes_against_surface("resume")
    for name in ("store", "mapping", "raters", "merge", "fresh"):
        if options.get(name):
            _raise_goes_against_surface(name)


def _raise_goes_against_surface(name: str) -> NoReturn:
    raise UsageError(
        f"{name}= goes against surface=, which brings its own",
        hint=f"leave out {name}=, or give it to the surface",
    )


def read_gold(
    gold: GoldLike, judge: Judge, *, labelled: bool = True, mapping: RowMapping | None = None
) -> Gold:
    """Return gold from a file, from rows in Python, or as it is. Raises what :meth:`Gold.load` raises."""
    if isinstance(gold, Gold):
        if mapping is not None and (mapping.raters or mapping.merge):
            raise UsageError(f"{gold!r} was read before", hint="give raters= and merge= to jurist.Gold.load")
        missing_fields = [name for name in judge.input_fields if name not in gold.judge.input_fields]
        if missing_fields:
            raise UsageError(
                f"{gold!r} has no {' and no '.join(missing_fields)}, which {judge.name} takes",
                hint=f'read its rows for this judge: jurist.Gold.load(rows, "{judge.name}")',
            )
        return gold
    if isinstance(gold, str | os.PathLike):
        return Gold.load(os.fspath(gold), judge, labelled=labelled, mapping=mapping)
    return Gold.of(gold, judge, labelled=labelled, mapping=mapping)


def read_holdout(holdout: GoldLike, gold: Gold) -> Gold:
    """Return a test of one's own, read as the gold is: the same columns, labels and shared inputs."""
    if isinstance(holdout, str | os.PathLike):
        return Gold.load(os.fspath(holdout), gold.settled, mapping=RowMapping.of_json(gold.mapping))
    return read_gold(holdout, gold.settled)


def open_store(root: str | os.PathLike[str] | Store | None, *, trust: bool = False) -> Store:
    """Return the store in a folder; default: the user's."""
    if isinstance(root, Store):
        return root
    if root is not None:
        root = os.fspath(root)
    return Store(root, trust=Trust(trusts_all=trust))


def make_model(model: ModelLike | None) -> Model:
    """Return the model of a name or of a ``dspy.LM``, or a model as it is; for ``None`` each version's own."""
    if model is None:
        return Model(name=OWN)
    if isinstance(model, dspy.LM):
        return Model.of_lm(model)
    if isinstance(model, str):
        return Model(name=model)
    return model


def warn(*notes: str) -> None:
    """Warn of the notes that are not empty, each once; the warning names the line that called a public function."""
    text = in_words_of_caller("; ".join(filter(None, dict.fromkeys(notes))))
    if not text:
        return
    stacklevel = 1
    for frame in inspect.stack(0):
        module = str(frame.frame.f_globals.get("__name__"))
        if not module.startswith("jurist.") and module != "contextlib":  # which opens a block of jurist's
            break
        stacklevel += 1
    warnings.warn(text, stacklevel=stacklevel)


@contextmanager
def show_compilation(title: str) -> Iterator[Sink]:
    """Yield a sink that shows a compilation's calls, its phase and the value it last spoke of."""
    with _bar(title, None, "call") as bar:

        def take(event: Event) -> None:
            if event.kind == "phase":
                bar.total = None if event.expected is None else event.calls + event.expected
                bar.set_description_str(f"{title}: {event.phase}")
            text = printable(" ".join(event.text.split()))[:60]
            value = "" if event.best is None else f" {event.best:.3f}"
            bar.set_postfix_str(text + value, refresh=False)
            bar.update(event.calls - bar.n)

        yield take


@contextmanager
def count_rows(title: str, rows: int | None) -> Iterator[Callable[[], None]]:
    """Yield a function that is called after each row; ``rows`` is ``None`` where nobody knows how many there are."""
    with _bar(title, rows, "row") as bar:
        yield lambda: bar.update(1)


def _bar(title: str, total: int | None, unit: str) -> Any:
    """Return a progress bar; it is not drawn where nobody looks at it."""
    from tqdm.auto import tqdm  # draws a widget in a notebook that has them, else a line of text

    is_watched = "ipykernel" in sys.modules or sys.stderr.isatty()
    return tqdm(total=total, desc=title, unit=unit, leave=False, disable=not is_watched)
