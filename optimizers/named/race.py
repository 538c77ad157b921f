"""``race``: all arms in one search. It is the default."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from ...text.templates import CHAT
from ..base import Job
from ..guidelines import Guidelines
from ..layouts import Layouts
from ..raced import Arm
from .fewshot import FewShot
from .nearest import Nearest
from .opro import Opro

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


optimizer = AllArms
