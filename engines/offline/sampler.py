"""The choice by weights: the highest one at temperature 0, a draw above it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Chooses at temperature 0 what is most probable, above it by a draw from p ** (1 / temperature)."""

    temperature: float
    rng: random.Random

    def choose(self, weights: Sequence[float]) -> int:
        """Return the place of the highest weight, or, above temperature 0, of one that is drawn."""
        rounded = [round(weight, 9) for weight in weights]
        highest = max(rounded)
        if self.temperature <= 0.0 or len(rounded) == 1:
            return rounded.index(highest)
        heated = [(weight / highest) ** (1.0 / self.temperature) for weight in rounded]
        return self.rng.choices(range(len(heated)), heated)[0]

    def choose_yes(self, probability: float) -> bool:
        """Return whether something of this probability is so."""
        return self.choose([probability, 1.0 - probability]) == 0
