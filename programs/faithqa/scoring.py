"""Constraint Score: how much of a query's weight a response satisfies (section 4.2).

Score = satisfied weight / total weight x 10, where each constraint weighs what its priority says. It knows neither
models nor how the marks were made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from ...errors import UsageError
from ...signatures.faithqa import Category, Mark

Priority = Literal["mandatory", "important", "optional"]
"""How heavily a constraint weighs."""

Band = Literal["strong", "partial", "major"]
"""Strong adherence, partial satisfaction, major intent hallucination (section 4.2)."""

TOP: Final = 10.0
"""The score of a response that satisfies every constraint: Perfect."""
MARKS: Final[tuple[Mark, ...]] = get_args(Mark)

PRIORITY: Final[Mapping[Category, Priority]] = {
    "location": "mandatory",
    "time": "mandatory",
    "subject": "mandatory",
    "action": "mandatory",
    "qualifier": "important",
    "quantity": "important",
    "other": "optional",
}
"""Category -> the set that a constraint belongs to: C_m, C_i or C_o (section 4.1)."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """w_m, w_i and w_o of section 4.2. The paper does not give its figures; 3, 2 and 1 keep its order.

    Raises:
        UsageError: a weight is not a positive finite number, or a lower priority weighs more.
    """

    mandatory: float = 3.0
    important: float = 2.0
    optional: float = 1.0

    def __post_init__(self) -> None:
        """Refuse weights that no score can be computed from."""
        values = (self.mandatory, self.important, self.optional)
        if not (float("inf") > values[0] >= values[1] >= values[2] > 0):
            raise UsageError(
                f"the weights {values[0]:g}, {values[1]:g}, {values[2]:g} cannot be used",
                hint="give positive numbers, mandatory at least important, important at least optional",
            )

    def of(self, category: Category) -> float:
        """Return what a constraint of this category weighs."""
        return float(getattr(self, PRIORITY[category]))


DEFAULT_WEIGHTS: Final = Weights()


def constraint_score(
    categories: Sequence[Category], satisfied: Sequence[bool], weights: Weights = DEFAULT_WEIGHTS
) -> float:
    """Return W_s / W_t x 10 of one response, in [0, 10]."""
    if not categories or len(categories) != len(satisfied):
        raise ValueError(f"{len(categories)} constraints and {len(satisfied)} marks give no score")
    heavy = [weights.of(category) for category in categories]
    if all(satisfied):
        return TOP  # exactly, whatever the weights: Perfect is counted by it
    return TOP * sum(weight for weight, held in zip(heavy, satisfied, strict=True) if held) / sum(heavy)


def band(score: float) -> Band:
    """Return what a score says: 9 and more ``strong``, more than 7 ``partial``, 7 and less ``major``.

    The paper gives 7 to both lower bands; here it is ``major``.
    """
    return "strong" if score >= 9 else "partial" if score > 7 else "major"
