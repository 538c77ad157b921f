"""What a gain is worth: the tokens that a search may take for it, and the tokens that a row may take for it."""

import math
from typing import Final

POINT: Final = 0.01
"""A point, as a share of the metric's best value."""
ROWS_PER_POINT: Final = 200.0
"""A search may take the tokens of so many rows of the basic prompt for a point that it expects."""
FREE_LENGTHS: Final = 2.0
"""A row may take so many times the tokens of the basic prompt; each further length must bring ``A_LENGTH``."""
A_LENGTH: Final = 0.0025
"""The gain that each further length must bring: one more right row for the tokens of 400 rows of the basic prompt."""


def gain_for_rows(rows: float, rows_per_point: float = ROWS_PER_POINT) -> float:
    """Return the gain that the tokens of so many rows of the basic prompt must promise, as such a share."""
    return POINT * rows / rows_per_point


def gain_for_lengths(lengths: float) -> float:
    """Return the gain that a row of so many times the tokens of the basic prompt must bring, as such a share."""
    return A_LENGTH * max(0.0, lengths - FREE_LENGTHS)


def expected_gain(gain: float, doubt: float) -> float:
    """Return the mean of the gains above 0 of a normal distribution: what is gained if the better one is chosen."""
    if doubt <= 0.0:
        return max(0.0, gain)
    distance = gain / doubt
    density = math.exp(-distance * distance / 2) / math.sqrt(2 * math.pi)
    share_above = math.erfc(-distance / math.sqrt(2)) / 2
    return doubt * density + gain * share_above
