"""The optimizers by name, the race of all arms (the default), and chains such as ``opro+fewshot``."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, get_origin, get_type_hints

from pydantic import TypeAdapter

from ..errors import BudgetExhausted, OptimizerError, choices
from ..programs.plugins import Registry
from .base import Job, Optimizer, races
from .board import Board, Candidate
from .contrastive import Contrastive
from .dspy_search import PREFIX, SHORT, DspyOptimizer
from .fewshot import FewShot, Nearest, Order
from .guidelines import Guidelines, Teach
from .instructions import ByCause, CFaith, Crossing, Opro, OproPaper
from .optuna_joint import Optuna
from .raced import Arm
from .threshold import Threshold

DEFAULT = "race"
_ARMS = ("nearest", "guidelines", "history", "causes", "demonstrations", "crossing", "order", "threshold")


@dataclass(frozen=True, kw_only=True)
class AllArms(Opro):
    """``race``: whatever helps, in one search; the settings of the race, of ``opro``, and of the other arms."""

    steps: int = 100  # at most this many rounds; a long prompt counts as several, so that rounds are short
    patience: int = 24  # rounds without a new leader or another choice before it stops
    arm: tuple[str, ...] = _ARMS  # which arms take part; those that a judge has no use for stay out
    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "race"
    by_price: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse an unknown arm."""
        for name in self.arm:
            if name not in _ARMS:
                raise OptimizerError(f"{self.name}.arm cannot be {name!r}", hint=choices(name, _ARMS))

    def arms(self, job: Job) -> Sequence[Arm]:
        """Return those that were asked for and that the judge has a use for."""
        writing: dict[str, Any] = {
            "longest": self.longest,
            "copied": self.copied,
            "temperature": self.temperature,
        }
        known: dict[str, Arm] = {
            "history": self,
            "causes": ByCause(**writing),
            "crossing": Crossing(**writing),
            "guidelines": Guidelines(**writing),
        }
        if job.judge.answer.has_examples:
            known["demonstrations"] = FewShot(sizes=self.sizes, tokens=self.tokens)
            known["order"] = Order()
            known["nearest"] = Nearest(tokens=self.tokens)
        if Threshold.fits(job):
            known["threshold"] = Threshold()
        return [known[name] for name in self.arm if name in known]


_OWN: Mapping[str, Callable[..., Optimizer]] = {
    "race": AllArms,
    "opro": Opro,
    "fewshot": FewShot,
    "nearest": Nearest,
    "teach": Teach,
    "optuna": Optuna,
    "opro-paper": OproPaper,
    "cfaith": CFaith,
    "contrastive": Contrastive,
    "threshold": Threshold,
    **{name: partial(DspyOptimizer.called, name) for name in SHORT},
}
OPTIMIZERS: Registry[Callable[..., Optimizer]] = Registry(
    _OWN, group="jurist.optimizers", fits=dataclasses.is_dataclass, what="optimizer"
)
"""What makes an optimizer of its settings, by name; those of plug-ins too."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Optimizers in turn, each starting from the best so far, with an equal share of the calls that are left."""

    parts: tuple[Optimizer, ...]

    @property
    def name(self) -> str:
        """The parts' names joined by ``+``."""
        return "+".join(part.name for part in self.parts)

    @property
    def races(self) -> bool:
        """Whether the first part scores the basic prompt itself."""
        return races(self.parts[0])

    def minimum(self, job: Job) -> int:
        """Return the calls of which the first part's share is what it needs; later parts refuse what cannot work."""
        first, *_ = [part.minimum(job) for part in self.parts]
        # Where the first part does not race, the basic prompt has been scored before anything is shared.
        before = 0 if self.races else len(job.dev) * job.calls_per_case
        own = max(1, first - before)
        return before + len(self.parts) * (own - 1) + 1  # a share is rounded up

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Run the parts; one that has used up its share makes way for the next."""
        meter = job.context.meter
        held = meter.held
        for later in reversed(range(len(self.parts))):
            left = meter.left()
            kept_back = 0 if left is None else left * later // (later + 1)
            meter.hold(held, spare=kept_back)
            try:
                start = self.parts[-1 - later].run(job, board, start)
            except BudgetExhausted as stop:
                if not kept_back or stop.limit != "calls":
                    raise
                start = board.best(job.dev) or start
            finally:
                meter.hold(held, spare=0)
        return start


_MOST = {"metric_threshold": 1.0, "temperature": 2.0, "init_temperature": 2.0}


def make(name: str | Optimizer, options: Mapping[str, Any] | None = None) -> Optimizer:
    """Return the optimizer (or chain) called ``name`` with its settings."""
    if not isinstance(name, str):
        given: Any = name  # whatever somebody takes for one
        if isinstance(given, type) or not dataclasses.is_dataclass(given):
            hint = "give an instance of a frozen dataclass with name, minimum and run, as docs/plugins.md has one"
            raise OptimizerError(f"{name!r:.80} is no optimizer", hint=hint)
        if options:
            raise OptimizerError(f"{name.name} has its settings already", hint="leave out --set")
        return name
    left = dict(options or {})
    parts = [_one(part, options or {}, left) for part in name.split("+")]
    if left:
        known = sorted({setting for part in parts for setting in settings_of(part)[part.name]})
        raise OptimizerError(
            f"{name} has no setting {', '.join(sorted(left))}", hint=choices(min(left), known)
        )
    return parts[0] if len(parts) == 1 else Chain(parts=tuple(parts))


def settings_of(optimizer: Optimizer) -> dict[str, dict[str, Any]]:
    """Return every setting that is used, the defaults included, as JSON values: by optimizer, for a chain each."""
    parts = optimizer.parts if isinstance(optimizer, Chain) else (optimizer,)
    return {part.name: _settings(part) for part in parts}


def _settings(part: Optimizer) -> dict[str, Any]:
    if isinstance(part, DspyOptimizer):
        return part.to_json()
    return {
        item.name: list(value) if isinstance(value := getattr(part, item.name), tuple) else value
        for item in dataclasses.fields(part)  # type: ignore[arg-type]
        if item.name != "name"
    }


def _one(name: str, options: Mapping[str, Any], left: dict[str, Any]) -> Optimizer:
    if name in OPTIMIZERS:
        default = OPTIMIZERS[name]()
    elif name.startswith(PREFIX):
        default = DspyOptimizer.called(name)
    else:
        raise OptimizerError(f"no optimizer is called {name!r}", hint=choices(name, OPTIMIZERS))
    usual = _settings(default)
    if isinstance(default, DspyOptimizer):
        usual = default.parameters() | usual
        kinds = {setting: type(value) for setting, value in usual.items()}
    else:
        kinds = get_type_hints(type(default))
    own: dict[str, Any] = {}
    for setting in usual.keys() & options.keys():
        own[setting] = _as(kinds[setting], usual[setting], options[setting], f"{name}.{setting}")
        left.pop(setting, None)
    if isinstance(default, DspyOptimizer):
        return default.changed(own)
    return dataclasses.replace(default, **own)  # type: ignore[type-var]


def _as(kind: Any, default: Any, value: Any, where: str) -> Any:
    """Return a setting's value as its field's type; numbers are finite, at least 0, and in range where there is one."""
    most = _MOST.get(where.rpartition(".")[2], math.inf)
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
        if not all(0 <= number <= most and math.isfinite(number) for number in numbers):
            raise ValueError("out of range")
        return typed
    except (TypeError, ValueError, OverflowError) as error:
        hint = f"give a value like {default!r}" if default != () else "give values joined by commas"
        hint += f", from 0 to {most:g}" if most < math.inf else ""
        raise OptimizerError(f"{where} cannot be {value!r}", hint=hint) from error


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
