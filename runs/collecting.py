"""Garbage collection while many rows are in flight."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLD = (200_000, 20, 100)
"""Of new objects and of rounds between looks; Python's own (700, 10, 10) took a quarter of a row's time."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for cycles of garbage less often: what is in flight is in use, and finding that again costs time.

    What is gone without a cycle is freed at once, as ever.
    """
    before = gc.get_threshold()
    gc.freeze()  # modules stay
    gc.set_threshold(*_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
