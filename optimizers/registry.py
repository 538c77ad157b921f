"""The optimizers by name, and the race of all arms, which is the default.

An optimizer is a name of :data:`OPTIMIZERS`, ``dspy:CLASS``, ``FILE.py:NAME``, a name that an installed package brings
(entry points ``jurist.optimizers``), or an object: an :class:`.base.Optimizer`, or an optimizer of DSPy.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, TypeAlias, TypeGuard, get_args

from ..engines.dspy_internals import Teleprompter
from ..errors import OptimizerError, choices
from ..programs.plugins import PluginKind, executed_hashes, split_file_name
from ..text.templates import CHAT
from .base import Job, MinimalOptimizer, Optimizer, WithDefaults
from .contrastive import Contrastive
from .dspy_search import PREFIX, SHORT, DspyOptimizer
from .fewshot import FewShot, Nearest
from .guidelines import Guidelines, Teach
from .instructions import CFaith, Opro
from .layouts import Layouts
from .optuna_joint import Optuna
from .raced import Arm
from .threshold import Threshold

DEFAULT = "race"
ArmName: TypeAlias = Literal["history", "nearest", "guidelines", "demonstrations", "layout"]


@dataclass(frozen=True, kw_only=True)
class AllArms(Opro):
    """``race``: whatever helps, in one search; the settings of the race, of ``opro``, and of the other arms."""

    steps: int = 100  # at most this many rounds; a long prompt counts as several, so that rounds are short
    patience: int = 24  # rounds without a new leader or another choice before it stops
    # which arms take part; those that a judge has no use for stay out
    arm: tuple[ArmName, ...] = get_args(ArmName)
    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "race"
    # These arms propose in the first step beside the first arm. The first two are what `teach` does, which takes
    # some twenty calls.
    first: ClassVar[tuple[str, ...]] = ("nearest", "guidelines", "layout")

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether the arm ``nearest`` takes part, whose prompts show labelled rows like the one that is judged."""
        return Nearest.name in self.arm

    @property
    def most_demonstrations(self) -> int:
        """The largest set that is tried."""
        return max(self.sizes, default=0)

    def other_adapters(self, job: Job) -> Sequence[str]:
        """Return the chat adapter if the arm ``layout`` may try it in place of the plain one; else nothing."""
        if Layouts.name in self.arm and Layouts.fits(job):
            return (CHAT,)
        return ()

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return the arms named by the setting ``arm``, in its order, without those that the judge has no use for."""
        arms: dict[str, Arm] = {
            "history": self,  # new instructions, as those of ``opro``
            "guidelines": Guidelines(longest=self.longest, copied=self.copied, temperature=self.temperature),
        }
        if job.judge.answer.has_examples:
            # Long prompts are the dearest to try, so the first turns draw one set each, and other arms wait.
            arms["demonstrations"] = FewShot(sizes=self.sizes, tokens=self.tokens, trial=1)
            arms["nearest"] = Nearest(tokens=self.tokens)
        if Layouts.fits(job):
            arms["layout"] = Layouts()
        return [arms[name] for name in self.arm if name in arms]


OPTIMIZERS: Mapping[str, Callable[..., Optimizer]] = {
    "race": AllArms,
    "opro": Opro,
    "fewshot": FewShot,
    "nearest": Nearest,
    "teach": Teach,
    "optuna": Optuna,
    "cfaith": CFaith,
    "contrastive": Contrastive,
    "threshold": Threshold,
    **{name: partial(DspyOptimizer.called, name) for name in SHORT},
}
"""Name -> the class or function that makes the optimizer from its settings."""

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
"""Optimizers of Python files and of installed packages."""


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
        return OPTIMIZERS[name]()
    if name.startswith(PREFIX):
        return DspyOptimizer.called(name)
    plugin = PLUGIN_OPTIMIZERS.installed(name)
    if plugin is None:
        names = list(OPTIMIZERS) + list(PLUGIN_OPTIMIZERS.installed_names())
        raise OptimizerError(f"no optimizer is called {name!r}", hint=choices(name, names))
    return _instance(plugin, name)


def _from_object(value: object, options: Mapping[str, object] | None) -> Optimizer:
    """Return the optimizer of an object. Its settings are fixed, except those that DSPy takes at ``compile``."""
    if isinstance(value, type) or not _may_optimize(value):
        raise OptimizerError(f"{value!r:.80} is no optimizer", hint=f"give an instance of {_OPTIMIZER_WORDS}")
    optimizer = _instance(value, repr(value))
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


def list_nearest_row_optimizers() -> list[str]:
    """Return the names of the optimizers whose prompts show the labelled rows most like the one that is judged."""
    return [name for name, maker in OPTIMIZERS.items() if maker().shows_nearest_rows]
