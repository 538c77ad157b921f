"""The optimizers by name.

An optimizer is a name of :data:`OPTIMIZERS`, ``dspy:CLASS``, ``FILE.py:NAME``, a name that an installed package brings
(entry points ``jurist.optimizers``), or an object: an :class:`.base.Optimizer`, or an optimizer of DSPy.
"""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import TypeGuard

from ..engines.dspy_internals import Teleprompter
from ..errors import OptimizerError, repr_in_brief, suggest_name
from ..programs.plugins import PluginKind, executed_hashes, split_file_name
from .base import MinimalOptimizer, Optimizer, WithDefaults
from .dspy_search import PREFIX, DspyOptimizer
from .settings import check_ranges

DEFAULT = "race"


_OPTIMIZER_WORDS = "a frozen dataclass with name, minimum and run, as docs/optimizers.md has one"


def _may_optimize(value: object) -> TypeGuard[object]:
    """Return whether a value is an optimizer, a class of optimizers, or an optimizer of DSPy."""
    if isinstance(value, type):
        has_members = all(callable(getattr(value, member, None)) for member in ("minimum", "run"))
        return has_members and dataclasses.is_dataclass(value) and not inspect.isabstract(value)
    return isinstance(value, Teleprompter) or (
        isinstance(value, MinimalOptimizer) and dataclasses.is_dataclass(value)
    )


PLUGIN_OPTIMIZERS: PluginKind[object] = PluginKind(
    group="jurist.optimizers",
    noun="optimizer",
    expected=f"an optimizer ({_OPTIMIZER_WORDS})",
    accepts=_may_optimize,
    error=OptimizerError,
)
"""Optimizers of the modules in ``named/``, of Python files and of installed packages."""
OPTIMIZERS: Mapping[str, object] = PLUGIN_OPTIMIZERS.load_modules("optimizers.named")
"""The optimizers that come with jurist: name -> a class, or an optimizer."""


def make(optimizer: object, options: Mapping[str, object] | None = None) -> Optimizer:
    """Return an optimizer by its name, or from an object, with the settings in ``options`` changed.

    Raises:
        OptimizerError: there is no optimizer of this name, the object is none, or a setting is unknown or unusable.
    """
    if not isinstance(optimizer, str):
        return _from_object(optimizer, options)
    named_optimizer = _by_name(optimizer)
    if options:
        return named_optimizer.with_settings(options)
    return named_optimizer


def _by_name(name: str) -> Optimizer:
    """Return the optimizer of a name, with its usual settings."""
    path, attribute = split_file_name(name)
    if path is not None:
        return _instance(PLUGIN_OPTIMIZERS.from_file(path, attribute), name)
    if name in OPTIMIZERS:
        return _instance(OPTIMIZERS[name], name)
    if name.startswith(PREFIX):
        return DspyOptimizer.called(name)
    plugin = PLUGIN_OPTIMIZERS.from_package(name)
    if plugin is None:
        names = list(OPTIMIZERS) + list(PLUGIN_OPTIMIZERS.installed_names())
        raise OptimizerError(f"no optimizer is called {name!r}", hint=suggest_name(name, names))
    return _instance(plugin, name)


def _from_object(value: object, options: Mapping[str, object] | None) -> Optimizer:
    """Return the optimizer of an object. Its settings are fixed, except those that DSPy takes at ``compile``."""
    if isinstance(value, type) or not _may_optimize(value):
        raise OptimizerError(
            f"{repr_in_brief(value)} is no optimizer", hint=f"give an instance of {_OPTIMIZER_WORDS}"
        )
    optimizer = _instance(value, repr(value))
    if dataclasses.is_dataclass(value):
        check_ranges(value, optimizer.name)
    if not options:
        return optimizer
    if isinstance(value, Teleprompter):  # DSPy takes some settings, as num_trials of MIPROv2, in ``compile``
        return optimizer.with_settings(options)
    raise OptimizerError(f"{optimizer.name} has its settings already", hint="leave out --set")


def _instance(value: object, place: str) -> Optimizer:
    """Return the optimizer of an object, or of a class with its usual settings, with all members."""
    if isinstance(value, type):
        try:
            value = value()
        except TypeError as error:
            raise OptimizerError(f"{place}: {error}", hint="give all of its settings a default") from error
    if isinstance(value, Teleprompter):
        return DspyOptimizer.from_object(value)
    if isinstance(value, Optimizer):
        return value
    if isinstance(value, MinimalOptimizer):
        return WithDefaults(optimizer=value, name=value.name)
    raise OptimizerError(f"{place} is no optimizer", hint=f"give an instance of {_OPTIMIZER_WORDS}")


def code_hashes(optimizer: object) -> dict[str, str]:
    """Return the hash of the Python file that an optimizer is named from, with what it imports; else nothing."""
    if not isinstance(optimizer, str):
        return {}
    path, _ = split_file_name(optimizer)
    if path is None:
        return {}
    hashes = executed_hashes(path)
    if not hashes:
        return {}
    return {"optimizer_code": hashes["judge_code"]}


def is_named_or_of_dspy(optimizer: object) -> bool:
    """Return whether an optimizer is a name, or an object of DSPy: of another object the code may have changed."""
    return isinstance(optimizer, str | Teleprompter)


def list_nearest_row_optimizers() -> list[str]:
    """Return the names of the optimizers whose prompts show the labelled rows most like the one that is judged."""
    return [name for name in OPTIMIZERS if _by_name(name).shows_nearest_rows]
