"""Lines in the order of the input, whoever was answered first; or as they come."""

from typing import Protocol

from .formats import Lines
from .state import RunState

__all__ = ["AsTheyCome", "InOrder", "Order"]


class Order(Protocol):
    """Who says when a line is written."""

    def give(self, number: int, line: str | None) -> None:
        """Take the line of a row, or that it has none.

        Args:
            number: of the row among those that are judged, from 0, each once.
            line: the line, as JSON.
        """

    def flush(self) -> None:
        """Write what waits for rows that never came."""


class AsTheyCome:
    """Writes each line at once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def give(self, number: int, line: str | None) -> None:
        """Write the line."""
        if line is not None:
            self._lines.write(line)

    def flush(self) -> None:
        """Do nothing: nothing waits."""


class InOrder:
    """Keeps a line until all before it are written; many that wait are on the disk."""

    def __init__(self, lines: Lines, state: RunState) -> None:
        self._lines, self._state, self._next = lines, state, 0

    def give(self, number: int, line: str | None) -> None:
        """Write the line, and those that have waited for it, or let it wait."""
        if number != self._next:
            self._state.wait(number, line)
            return
        if line is not None:
            self._lines.write(line)
        self._next += 1
        while waited := self._state.waited(self._next):
            if waited[0] is not None:
                self._lines.write(waited[0])
            self._next += 1

    def flush(self) -> None:
        """Write the lines that wait, in their order."""
        for line in self._state.all_waited():
            self._lines.write(line)
