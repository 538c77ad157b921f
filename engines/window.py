"""A check that a server has read all of a prompt: some cut a long one and do not say so, as Ollama does."""

import threading
from typing import Final

_LEAST_DENSITY: Final = 1 / 6
"""Tokens for a byte of text, at least, before any prompt has shown more."""
_SMALLEST: Final = 512
"""Tokens of the smallest window that anybody sets; servers that do not count may report any number below."""
_NO_TEXT: Final = 1 / 10
"""Tokens for a byte, below which no prompt is: fewer mean that whole messages were dropped."""
_LARGEST_PART: Final = 0.6
"""The share of the expected tokens below which messages may have been dropped."""


class Window:
    """The tokens for each byte of the prompts of one endpoint. Thread-safe."""

    def __init__(self) -> None:
        self._density: float | None = None  # the lowest of any prompt that was read whole
        self._lock = threading.Lock()

    def missing_from(self, size: int, tokens: int) -> int:
        """Return about how many tokens of a prompt of ``size`` bytes were not read, if ``tokens`` were; 0 for none."""
        if tokens < _SMALLEST:
            return 0
        with self._lock:
            density = _LEAST_DENSITY if self._density is None else self._density
            expected = size * density
            # A window is a round number, which a prompt of another length has by chance alone.
            is_window = tokens % 256 == 0 or tokens % 1000 == 0
            fills_window = is_window and tokens < 0.98 * expected
            lacks_messages = tokens < _NO_TEXT * size and tokens < _LARGEST_PART * expected
            if fills_window or lacks_messages:
                return round(expected - tokens)
            if self._density is None or tokens / size < self._density:
                self._density = tokens / size
            return 0
