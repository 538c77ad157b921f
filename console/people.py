"""What people did on the same rows, to stand beside judges' scores: the human ceiling, and where raters differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..evaluation.ceiling import Ceiling
from ..experiment import Answers, Experiment
from ..strata import Strata, ceiling_of, strata
from .raters import ceiling_card
from .strata import ceiling_line, strata_lines

__all__ = ["People"]


@dataclass(frozen=True, kw_only=True)
class People:
    """Raters beside judges.

    Attributes:
        strata: by contender, how its first repeat went where raters agree, differ, or are ambiguous.
        ceiling: each rater against the rest; ``None`` with fewer than two.
    """

    strata: Mapping[str, Strata]
    ceiling: Ceiling | None

    @classmethod
    def of(cls, experiment: Experiment, answers: Sequence[Answers], seed: int) -> People:
        """Sort the rows of an experiment."""
        only = {case.id for case in (*experiment.cases, *experiment.gold.aside)}
        return cls(
            strata={
                one.name: strata(experiment.gold, [*one.repeats[0], *one.aside], only=only) for one in answers
            },
            ceiling=ceiling_of(experiment.gold, only=only, seed=seed),
        )

    def to_json(self) -> dict[str, Any]:
        """Return ``strata`` by contender and ``ceiling`` as plain JSON types."""
        return {
            "strata": {name: one.to_json() for name, one in self.strata.items()},
            "ceiling": self.ceiling and ceiling_card(self.ceiling),
        }

    def lines(self) -> list[str]:
        """Return the lines to print; none where a gold set has one rater."""
        return [line for line in (ceiling_line(self.ceiling), *strata_lines(self.strata)) if line]
