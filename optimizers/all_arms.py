"""``race``: whatever helps, in one search. The default.

Instructions from scored history (``opro``) and from errors grouped by cause
(``cfaith``), crossings of two good prompts, demonstrations, their order, and the
decision threshold are arms of one race; calls flow to the arm that gains
(:mod:`jurist.optimizers.raced`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .base import Job, refuse_other
from .fewshot import FewShot, Order
from .opro import Opro
from .raced import Arm
from .rewriting import ByCause, Crossing
from .threshold import Threshold

_NAMES = ("history", "causes", "demonstrations", "crossing", "order", "threshold")


@dataclass(frozen=True, kw_only=True)
class AllArms(Opro):
    """The settings of the race, of ``opro``, and of the other arms."""

    arm: tuple[str, ...] = _NAMES  # which arms take part; those that a judge has no use for stay out
    sizes: tuple[int, ...] = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    tokens: int = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "race"

    def __post_init__(self) -> None:
        """Refuse an unknown way or arm."""
        super().__post_init__()
        for name in self.arm:
            refuse_other(f"{self.name}.arm", name, _NAMES)

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
        }
        if job.judge.answer.has_examples:
            known["demonstrations"] = FewShot(sizes=self.sizes, tokens=self.tokens)
            known["order"] = Order()
        if Threshold.fits(job):
            known["threshold"] = Threshold()
        return [known[name] for name in self.arm if name in known]
