"""What the public functions are given, in each of the forms that they take."""

import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeAlias, TypedDict, TypeVar, get_args

import dspy

from ..engines.meter import Budget
from ..engines.models import OFFLINE, Model
from ..errors import UsageError, choices, in_python
from ..evaluation.votes import Sampling
from ..gold.goldset import Gold
from ..gold.mapping import RowMapping
from ..keeping.artifacts import Store
from ..keeping.loaders import load
from ..keeping.loading import LoadedJudge
from ..keeping.naming import locate
from ..keeping.paying import PaidJob, Start, Work, paying
from ..keeping.recorded import RecordedJudge
from ..keeping.trust import Trust
from ..optimizers.base import Optimizer, Sink
from ..programs.judge import Judge
from ..report.progress import counted, shown
from .cascading import Cascading
from .comparing import Comparing, Evaluating
from .compiling import Compiled
from .estimate import Estimate
from .experiment import Answers, Experiment, scoring_judge
from .hardening import Hardening
from .plan import Plan
from .recorded import held_against, log_against

JudgeLike: TypeAlias = str | Judge | LoadedJudge | Compiled
"""A reference or a judge as for :func:`jurist.load`; or what :func:`jurist.load` or :func:`jurist.compile`
returned, with its own model."""

ModelLike: TypeAlias = str | Model | dspy.LM
"""``offline``, a DSPy model string, a :class:`~jurist.Model`, or a ``dspy.LM``."""

GoldLike: TypeAlias = str | os.PathLike[str] | Gold | Any
"""A bundled name, a path, ``hf:org/name``, a :class:`~jurist.Gold`, a list of dictionaries, or a table of pandas,
Polars, PyArrow or ``datasets``."""


class Loading(TypedDict, total=False):
    """How a judge that is given by name is asked: see :func:`jurist.load`."""

    samples: int | None
    threshold: float | None
    concurrency: int
    strictness: str | None
    verifier: ModelLike | None
    adapter: str | None


class Asking(Loading, total=False):
    """How judges are asked about gold: see :func:`jurist.compare`."""

    budget: Budget | None
    store: str | os.PathLike[str] | Store | None
    resume: bool
    fresh: bool
    surface: "Surface | None"


_DEFAULTS = {"concurrency": 8, "resume": False, "fresh": False}
"""What holds of those where ``None`` does not."""
_Settings = TypeVar("_Settings", Budget, Model, Sampling)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_JUDGE = (str, Judge, LoadedJudge, Compiled)
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(
        ("judge", "reference", "not_worse_than"), (_JUDGE, "judge (jurist.Judge), or the name of one")
    ),
    **dict.fromkeys(("judges", "models"), ((list, tuple), "list, though there be one")),
    **dict.fromkeys(("seed", "concurrency", "repeats", "cases"), (int, "whole number, without quotes")),
    "options": (Mapping, "dictionary of names and values"),
    **dict.fromkeys(("minimum", "maximum"), ((Mapping, tuple), "dictionary of names and values")),
    "optimizer": (
        (str, Optimizer),
        "name (DSPy's too: mipro, gepa), several joined by +, or an optimizer of your own",
    ),
    "shares": ((list, tuple), "list of three shares, of train, dev and test"),
    "store": ((str, os.PathLike, Store), "path of a folder"),
    **dict.fromkeys(
        ("model", "prompt_model", "verifier"),
        (
            (str, Model, dspy.LM),
            "model: 'openai/gpt-4.1-mini', or jurist.Model('openai/gpt-4.1-mini', temperature=0.7)",
        ),
    ),
    "sink": (Callable, "function of an event"),
}
"""Argument of a public function -> what it must be, and how people call that."""


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a public function refuse arguments of another kind in one line, before it does anything."""
    signature = _spelled_out(inspect.signature(function))
    known = dict(signature.parameters)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name in kwargs.keys() - known.keys():
            said = in_python(f"--{name.replace('_', '-')}")
            taken_by = re.split(r"\W", said)[0].lower()  # budget of Budget(calls=...)
            renamed = taken_by != name and {taken_by, f"{taken_by}s"} & known.keys()
            meant = f"write {said}" if renamed else choices(name, sorted(known))
            raise TypeError(f"{function.__name__}() has no argument {name!r}; {meant}")
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python says what is missing, and of which function
        for name, value in given.items():
            kind, words = _KINDS.get(name, (object, ""))
            if not (isinstance(value, kind) or (value is None and known[name].default is None)):
                raise UsageError(f"{name}={value!r:.80} cannot be used", hint=f"give a {words}")
        return function(*args, **kwargs)

    vars(called)["__signature__"] = signature
    return called


def _spelled_out(signature: inspect.Signature) -> inspect.Signature:
    """Return a signature with the names behind ``**options``, which help and notebooks then show."""
    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            parameters.append(one)
            continue
        (typed,) = get_args(one.annotation)
        parameters += [
            inspect.Parameter(name, one.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=kind)
            for name, kind in typed.__annotations__.items()
        ]
    return signature.replace(parameters=parameters)


def loaded_of(
    reference: str | Judge,
    store: Store,
    *,
    version: int | str = "",
    model: ModelLike = OFFLINE,
    verifier: ModelLike | None = None,
    adapter: str | None = None,
    **options: Any,
) -> LoadedJudge:
    """Return a judge as :func:`jurist.load` does."""
    return load(
        reference,
        version=str(version),
        store=store,
        model=model_of(model),
        verifier=None if verifier is None else model_of(verifier),
        **options,
    ).with_adapter(adapter)


def judges_of(
    judges: Sequence[JudgeLike],
    models: ModelLike | Sequence[ModelLike] | None,
    store: Store,
    options: Mapping[str, Any],
    draws: int = 1,
) -> tuple[LoadedJudge, ...]:
    """Return each judge with each of the models (default: ``offline``); one that was loaded keeps its own."""
    loaded = [one.judge if isinstance(one, Compiled) else one for one in judges]
    ready = [one for one in loaded if isinstance(one, LoadedJudge)]
    changed = [name for name, value in options.items() if value is not None]
    changed += ["model"] * (models is not None and len(ready) == len(loaded))
    if ready and changed:
        said = f"{ready[0].name} was loaded before, and keeps its own {' and '.join(changed)}"
        raise UsageError(said, hint="give that to jurist.load, or name the judge here")
    named = [OFFLINE] if models is None else [models] if isinstance(models, str | Model | dspy.LM) else models
    asked = [model_of(one) for one in named]
    found: list[LoadedJudge] = []
    for one in loaded:
        if isinstance(one, LoadedJudge):
            found.append(one)
        else:
            found += loaded_of(one, store, model=asked[0], **options).on(asked, draws=draws)
    return tuple(found)


def gold_of(gold: GoldLike, judge: Judge, *, labelled: bool = True) -> Gold:
    """Return gold, read from wherever it is. Raises what :meth:`Gold.load` raises."""
    if isinstance(gold, Gold):
        return gold
    if isinstance(gold, str | os.PathLike):
        return Gold.load(os.fspath(gold), judge, labelled=labelled)
    return Gold.of(gold, judge, labelled=labelled)


def holdout_of(given: GoldLike, gold: Gold) -> Gold:
    """Return a test of one's own, read as the gold is: the same columns, labels and shared inputs."""
    if isinstance(given, str | os.PathLike):
        return Gold.load(os.fspath(given), gold.settled, mapping=RowMapping(**gold.mapping))
    return gold_of(given, gold.settled)


def store_of(root: str | os.PathLike[str] | Store | None, *, trust: bool = False) -> Store:
    """Return the store in a folder; default: the user's."""
    if isinstance(root, Store):
        return root
    return Store(None if root is None else Path(root), trust=Trust(given=trust))


def model_of(model: ModelLike) -> Model:
    """Return a model, by its name, of DSPy, or as it is. Raises what :func:`settings_of` raises."""
    if isinstance(model, dspy.LM):
        return Model.of_lm(model)
    return Model(name=model) if isinstance(model, str) else settings_of(model, Model)


def settings_of(value: _Settings | None, kind: type[_Settings]) -> _Settings:
    """Return settings as they were given, or the kind's own."""
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{value!r} is no jurist.{kind.__name__}", hint=f"write jurist.{kind.__name__}(...)")
    return kind() if value is None else value


def budget_of(asking: Asking) -> Budget:
    """Take the limits from how judges are asked."""
    return settings_of(asking.pop("budget", None), Budget)


def warn(*notes: str) -> None:
    """Warn of what is not empty, each once, where a public function was called."""
    if said := "; ".join(note for note in dict.fromkeys(notes) if note):
        modules = (str(one.frame.f_globals.get("__name__")) for one in inspect.stack(0))
        depth = next(number for number, name in enumerate(modules) if not name.startswith("jurist."))
        warnings.warn(in_python(said), stacklevel=depth + 1)


class Asked(Work, Protocol):
    """Work whose end is foreseen before it asks about rows."""

    @property
    def rows(self) -> int:
        """How many rows are asked about."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know before it is asked."""

    def foresee(self) -> Estimate:
        """Estimate it. Sends nothing."""


class Surface:
    """Where a job is started, tells how it goes, and asks what it needs; this one is Python's: a bar, no questions."""

    def __init__(self, store: Store, start: Start) -> None:
        self.store, self.start = store, start

    @classmethod
    def of(cls, asking: Asking) -> "Surface":
        """Take from how judges are asked what says where that is."""
        store, resume = store_of(asking.pop("store", None)), asking.pop("resume", False)
        start = Start(root=store.checkpoints, resume=resume, fresh=asking.pop("fresh", False))
        return asking.pop("surface", None) or cls(store, start)

    def note(self, *notes: str) -> None:
        """Say what a user should know."""
        warn(*notes)

    def judge(self, judge: str | Judge) -> tuple[Judge, str]:
        """Return the judge to compile, and how it was named, if by name."""
        return (judge, "") if isinstance(judge, Judge) else locate(judge, self.store, source=True)

    columns: Mapping[str, str] = {}
    """Columns of the user's files -> what the judge calls them."""

    def gold(self, gold: GoldLike, judge: Judge) -> Gold:
        """Return the gold that was given."""
        return gold_of(gold, judge)

    def held_against(
        self, contenders: Sequence[LoadedJudge], gold: GoldLike
    ) -> tuple[tuple[LoadedJudge, ...], Gold]:
        """Return the judges, those of logs with what they say of the gold, and the gold."""
        live = [one for one in contenders if not isinstance(one, RecordedJudge)]
        scored = scoring_judge(live or contenders)
        return held_against(
            contenders, scored, gold, self.gold, lambda name: self.judge(name)[0], self.columns
        )

    def log_against(self, name: str, gold: GoldLike) -> tuple[RecordedJudge, Gold]:
        """Return the judge of a log with what it says of the gold, and the gold."""
        return log_against(name, gold, self.gold, lambda found: self.judge(found)[0], self.columns)

    @contextmanager
    def compiling(
        self, plan: Plan, sink: Sink | None
    ) -> Iterator[tuple[Sink, Callable[[Mapping[str, int]], None]]]:
        """Show a compilation: yield what takes its events, and what is told of the answers that are paid already."""
        with shown(plan.judge.name) if sink is None else nullcontext(sink) as taking:
            yield taking, lambda paid: None

    @contextmanager
    def asking(self, work: Asked, title: str) -> Iterator[tuple[PaidJob, Callable[[], None]]]:
        """Open work that asks models: yield it, and what is called after each row."""
        with paying(work, self.start) as job, self.counted(title, work.rows) as step:
            yield job, step

    def measured(self, work: Cascading | Comparing | Evaluating | Hardening, title: str) -> Any:
        """Ask about gold, and return what that shows, while the paid answers are still kept."""
        self.note(*work.remarks)
        with self.asking(work, title) as (job, step):
            answers = work.ask(job, step)
            found = work.conclude(job, answers, step)
            self.keep(job, work, found, answers)
        return found

    def counted(self, title: str, rows: int) -> AbstractContextManager[Callable[[], None]]:
        """Show how many rows have been asked about: yield what is called after each."""
        return counted(title, rows)

    def keep(self, job: PaidJob, work: Experiment, found: Any, answers: Sequence[Answers]) -> None:
        """Take a result while what was paid for it is still kept."""
