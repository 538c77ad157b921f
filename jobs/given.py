"""What the public functions are given, in each of the forms that they take."""

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError, in_python
from ..gold.goldset import Gold
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, load_judge
from ..keeping.trust import Trust
from ..programs.asking import Sampling
from ..programs.judge import Judge
from .compiling import Compiled

__all__ = [
    "GoldLike",
    "JudgeLike",
    "checked",
    "gold_of",
    "judges_of",
    "model_of",
    "settings_of",
    "store_of",
    "warn",
]

JudgeLike: TypeAlias = str | Judge | LoadedJudge | Compiled
"""A reference or a judge as for :func:`jurist.load`; or what :func:`jurist.load` or :func:`jurist.compile`
returned, with its own model."""

GoldLike: TypeAlias = str | os.PathLike[str] | Gold | Any
"""A bundled name, a path, ``hf:org/name``, a :class:`~jurist.Gold`, a list of dictionaries, or a table of pandas,
Polars, PyArrow or ``datasets``."""

_Settings = TypeVar("_Settings", Budget, Model, Sampling)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_JUDGE = (str, Judge, LoadedJudge, Compiled)
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(("judge", "reference", "not_worse_than"), (_JUDGE, "judge, or the name of one")),
    **dict.fromkeys(("judges", "models"), ((list, tuple), "list, though there be one")),
    **dict.fromkeys(("seed", "concurrency", "repeats", "cases"), (int, "whole number, without quotes")),
    **dict.fromkeys(("options", "minimum", "maximum"), (Mapping, "dictionary of names and values")),
    "optimizer": (str, "name of an optimizer, or several joined by +"),
    "shares": ((list, tuple), "list of three shares, of train, dev and test"),
    "store": ((str, os.PathLike), "path of a folder"),
    "sink": (Callable, "function of an event"),
}
"""Argument of a public function -> what it must be, and how people call that."""


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a public function refuse arguments of another kind in one line, before it does anything."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for name, value in {**signature.bind(*args, **kwargs).arguments, **kwargs}.items():
            kind, words = _KINDS.get(name, (object, ""))
            if not (value is None or isinstance(value, kind)):
                raise UsageError(f"{name}={value!r} cannot be used", hint=f"give a {words}")
        return function(*args, **kwargs)

    return called


def judges_of(
    judge: JudgeLike, models: Sequence[str | Model], store: Store, options: Mapping[str, Any], draws: int = 1
) -> Sequence[LoadedJudge]:
    """Return a judge with each of the models; one that was loaded has its own already."""
    if isinstance(judge, Compiled | LoadedJudge):
        return [judge.judge if isinstance(judge, Compiled) else judge]
    return load_judge(judge, store=store, **options).on([model_of(one) for one in models], draws=draws)


def gold_of(gold: GoldLike, judge: Judge) -> Gold:
    """Return gold, read from wherever it is. Raises what :meth:`Gold.load` raises."""
    if isinstance(gold, Gold):
        return gold
    if isinstance(gold, str | os.PathLike):
        return Gold.load(os.fspath(gold), judge)
    return Gold.of(gold, judge)


def store_of(root: str | os.PathLike[str] | None, *, trust: bool = False) -> Store:
    """Return the store in a folder; default: the user's."""
    return Store(None if root is None else Path(root), trust=Trust(given=trust))


def model_of(model: str | Model) -> Model:
    """Return a model, by its name or as it is. Raises what :func:`settings_of` raises."""
    return Model(name=model) if isinstance(model, str) else settings_of(model, Model)


def settings_of(value: _Settings | None, kind: type[_Settings]) -> _Settings:
    """Return settings as they were given, or the kind's own.

    Raises:
        UsageError: they are something else.
    """
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{value!r} is no jurist.{kind.__name__}", hint=f"write jurist.{kind.__name__}(...)")
    return kind() if value is None else value


def warn(*notes: str) -> None:
    """Warn of what is not empty, where a :func:`checked` function was called."""
    if said := "; ".join(note for note in notes if note):
        warnings.warn(in_python(said), stacklevel=4)
