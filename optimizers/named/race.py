"""``race``: all arms in one search, which goes in stages. It is the default."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from ...text.templates import CHAT
from ..base import Job
from ..guidelines import Guidelines
from ..layouts import Layouts
from ..raced import Arm, Track
from ..settings import CountFromOne, CountsFromOne
from ..staged import Staged, basic_tokens
from ..wordings import Wordings
from .fewshot import FewShot
from .nearest import Nearest
from .opro import Opro
from .questions import QuestionsOptimizer, can_ask_questions, check_can_ask

ArmName: TypeAlias = Literal[
    "history", "nearest", "questions", "guidelines", "demonstrations", "layout", "wordings"
]

_OF_ROWS = 0.8
"""The share of the tokens of shown rows that is their text."""


@dataclass(frozen=True, kw_only=True)
class AllArms(Staged, Opro):
    """``race``: whatever helps, in stages; the settings of the race, of ``opro``, and of the other arms."""

    steps: CountFromOne = (
        100  # at most this many rounds; a long prompt counts as several, so that rounds are short
    )
    patience: CountFromOne = 24  # rounds without a new leader or another choice before it stops
    # which arms take part; those that a judge has no use for stay out
    arm: tuple[ArmName, ...] = get_args(ArmName)
    sizes: CountsFromOne = (8, 32, 16, 64, 4)  # numbers of demonstrations to try
    tokens: CountFromOne = 4_000  # the demonstrations of a prompt take at most about so many
    name: str = "race"
    # These arms propose in the first step beside the first arm: what they make takes few calls.
    first: ClassVar[tuple[str, ...]] = ("guidelines", "layout", "wordings")

    @property
    def shows_nearest_rows(self) -> bool:
        """Whether the arm ``nearest`` takes part, whose prompts show labelled rows like the one that is judged."""
        return Nearest.name in self.arm

    @property
    def asks_questions(self) -> bool:
        """Whether prompts with questions may take part."""
        return QuestionsOptimizer.name in self.arm

    def minimum(self, job: Job) -> int:
        """Return the calls without which a race cannot begin.

        Raises:
            OptimizerError: the user named questions that cannot be asked.
        """
        if job.own_questions:
            check_can_ask(job)
        return super().minimum(job)

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
        """Return the arms of the race that the setting ``arm`` names, in its order.

        Those that the judge or its model has no use for are left out, and so is :meth:`rows_arm`.
        """
        arms: dict[str, Arm] = {}
        if job.reads_instructions:
            arms["history"] = self  # new instructions, as those of ``opro``
            arms["guidelines"] = Guidelines(
                longest=self.longest, copied=self.copied, temperature=self.temperature
            )
        if job.shows_demonstrations:
            # Long prompts are the dearest to try, so each turn draws one set.
            arms["demonstrations"] = FewShot(sizes=self.sizes, tokens=self.tokens, sets=1)
        if Layouts.fits(job):
            arms["layout"] = Layouts()
        if job.decides:
            arms["wordings"] = Wordings()
        return [arms[name] for name in self.arm if name in arms]

    def rows_arm(self, job: Job, most_tokens: float) -> Nearest | None:
        """Return the arm that shows labelled rows; ``None`` where the setting ``arm`` or the judge has none."""
        if Nearest.name not in self.arm or not job.shows_demonstrations or most_tokens <= 0:
            return None
        # What stands around a row in a prompt takes tokens, too.
        return Nearest(tokens=int(min(self.tokens, _OF_ROWS * most_tokens)))

    def question_source(self, job: Job) -> QuestionsOptimizer | None:
        """Return the source of questions; ``None`` where the setting ``arm``, the judge or its model has none."""
        if QuestionsOptimizer.name not in self.arm or not can_ask_questions(job):
            return None
        return QuestionsOptimizer(copied=self.copied, temperature=self.temperature)

    def added_lengths(self, arm: Arm, track: Track) -> float:
        """Return the tokens that the shortest set of demonstrations adds to a row, in those of the basic prompt."""
        if not isinstance(arm, FewShot):
            return 0.0
        # A demonstration is not longer than a prompt, which asks about a case.
        longest = float(min(arm.sizes, default=0))
        tokens = basic_tokens(track)
        if not tokens:
            return longest
        return min(longest, arm.least_tokens(track.job) / tokens)


optimizer = AllArms
