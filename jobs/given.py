"""What the public functions are given, in each of the forms that they take."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..engines.meter import Budget
from ..engines.models import Model
from ..errors import UsageError
from ..gold.goldset import Gold
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge, load_judge
from ..keeping.trust import Trust
from ..programs.asking import Sampling
from ..programs.judge import Judge
from .compiling import Compiled

__all__ = ["GoldLike", "JudgeLike", "gold_of", "judges_of", "model_of", "settings_of", "store_of"]

JudgeLike: TypeAlias = "str | Judge | LoadedJudge | Compiled"
"""A reference or a judge as for :func:`jurist.load`; or what :func:`jurist.load` or :func:`jurist.compile`
returned, with its own model."""

GoldLike: TypeAlias = "str | os.PathLike[str] | Gold | Any"
"""A bundled name, a path, ``hf:org/name``, a :class:`~jurist.Gold`, a list of dictionaries, or a table of pandas,
Polars, PyArrow or ``datasets``."""

_Settings = TypeVar("_Settings", Budget, Model, Sampling)


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
