"""The price of tokens as a gain: the gain that a search must promise for them, and that a longer row must bring.

A length is a unit of tokens: those that a row of the basic prompt takes.
"""

import math
from typing import Final

POINT: Final = 0.01
"""A point, as a share of the best value of the metric."""
ROWS_PER_POINT: Final = 200.0
"""A search may take the tokens of so many rows of the basic prompt for a point that it expects."""
FREE_LENGTHS: Final = 2.0
"""The lengths that a row may take without a gain."""
GAIN_PER_LENGTH: Final = 0.0025
"""The gain that each further length must bring: one more right row in 400 rows, each of which is a length longer."""


def gain_for_rows(rows: float, rows_per_point: float = ROWS_PER_POINT) -> float:
    """Return the gain that a search must promise for the tokens of so many rows of the basic prompt.

    It is a share of the best value of the metric.
    """
    return POINT * rows / rows_per_point


def gain_for_lengths(lengths: float) -> float:
    """Return the gain that a prompt must bring if its rows take so many lengths, as a share of the best value."""
    return GAIN_PER_LENGTH * max(0.0, lengths - FREE_LENGTHS)


def expected_gain(gain: float, doubt: float) -> float:
    """Return the expected gain of a choice between a candidate and the present best one.

    The candidate's true gain has a normal distribution. Where it is below 0 the present best is kept, a gain of 0.

    Args:
        gain: the mean of that distribution.
        doubt: its standard deviation.
    """
    if doubt <= 0.0:
        return max(0.0, gain)
    distance = gain / doubt
    density = math.exp(-distance * distance / 2) / math.sqrt(2 * math.pi)
    share_above = math.erfc(-distance / math.sqrt(2)) / 2
    return doubt * density + gain * share_above
