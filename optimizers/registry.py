"""The optimizers by name, and the race of all arms, which is the default."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from ..errors import OptimizerError, choices
from .base import Job, Optimizer
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
    # what `teach` teaches, at some twenty calls, and the other form of a prompt that stands as its user wrote it
    first: ClassVar[tuple[str, ...]] = ("nearest", "guidelines", "layout")

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return those that were asked for and that the judge has a use for."""
        known: dict[str, Arm] = {
            "history": self,
            "guidelines": Guidelines(longest=self.longest, copied=self.copied, temperature=self.temperature),
        }
        if job.judge.answer.has_examples:
            # at first one set a turn: long prompts are the dearest to try, and other arms wait
            known["demonstrations"] = FewShot(sizes=self.sizes, tokens=self.tokens, trial=1)
            known["nearest"] = Nearest(tokens=self.tokens)
        if Layouts.fits(job):
            known["layout"] = Layouts()
        return [known[name] for name in self.arm if name in known]


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
"""What makes an optimizer of its settings, by name."""


def make(name: str | Optimizer, options: Mapping[str, Any] | None = None) -> Optimizer:
    """Return the optimizer called ``name`` with its settings."""
    if not isinstance(name, str):
        named: Any = name  # whatever somebody takes for one
        if isinstance(named, type) or not dataclasses.is_dataclass(named):
            hint = "give an instance of a frozen dataclass with name, minimum and run, as docs/optimizers.md has one"
            raise OptimizerError(f"{name!r:.80} is no optimizer", hint=hint)
        if options:
            raise OptimizerError(f"{name.name} has its settings already", hint="leave out --set")
        return name
    if name in OPTIMIZERS:
        default = OPTIMIZERS[name]()
    elif name.startswith(PREFIX):
        default = DspyOptimizer.called(name)
    else:
        raise OptimizerError(f"no optimizer is called {name!r}", hint=choices(name, OPTIMIZERS))
    usual = settings_of(default)
    if isinstance(default, DspyOptimizer):
        usual = default.parameters() | usual
        kinds = {setting: type(value) for setting, value in usual.items()}
    else:
        kinds = get_type_hints(type(default))
    if unknown := sorted(set(options or {}) - set(usual)):
        hint = choices(unknown[0], sorted(usual))
        raise OptimizerError(f"{name} has no setting {', '.join(unknown)}", hint=hint)
    own = {
        setting: _as(kinds[setting], usual[setting], value, f"{name}.{setting}")
        for setting, value in (options or {}).items()
    }
    if isinstance(default, DspyOptimizer):
        return default.changed(own)
    return dataclasses.replace(default, **own)  # type: ignore[type-var]


def settings_of(optimizer: Optimizer) -> dict[str, Any]:
    """Return every setting that is used, the defaults included, as JSON values."""
    if isinstance(optimizer, DspyOptimizer):
        return optimizer.to_json()
    return {
        item.name: list(value) if isinstance(value := getattr(optimizer, item.name), tuple) else value
        for item in dataclasses.fields(optimizer)  # type: ignore[arg-type]
        if item.name != "name"
    }


def _as(kind: Any, default: Any, value: Any, where: str) -> Any:
    """Return a setting's value as its field's type; numbers are finite and at least 0."""
    read = value
    try:
        if kind is type(None):  # DSPy says nothing of its type
            kind = bool | int | float | str
            read = _literal(value) if isinstance(value, str) else value
        if get_origin(kind) is tuple and isinstance(value, str):
            read = [item.strip() for item in value.split(",")]
        typed = TypeAdapter(kind).validate_python(read)
        numbers = [
            one for one in (typed if isinstance(typed, tuple) else [typed]) if isinstance(one, int | float)
        ]
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError("out of range")
        return typed
    except (TypeError, ValueError, OverflowError) as error:
        hint = f"give a value like {default!r}" if default != () else "give values joined by commas"
        raise OptimizerError(f"{where} cannot be {value!r}", hint=hint) from error


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
