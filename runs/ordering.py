"""Lines in the order of the input, whoever was answered first; or as they come."""

from .database import Database
from .formats import Lines

_IN_MEMORY = 2**22
"""Characters of lines that wait in memory for their turn."""
_TABLE = "PRAGMA temp_store=FILE; CREATE TABLE waiting (number INTEGER PRIMARY KEY, line TEXT);"


class AsTheyCome:
    """Writes each line at once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def give(self, number: int, line: str | None) -> None:
        """Take the line of a row, as JSON, or that it has none; each number, from 0 in the order of the input, once."""
        if line is not None:
            self._lines.write(line)

    def flush(self) -> None:
        """Write what waits for rows that never came."""


class InOrder(AsTheyCome):
    """Keeps a line until all before it are written; many that wait are on the disk."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(lines)
        self._next = 0
        self._waiting, self._size, self._on_disk = dict[int, str | None](), 0, 0
        self._disk: Database | None = None

    def give(self, number: int, line: str | None) -> None:
        """Write the line, and those that have waited for it, or let it wait."""
        if number != self._next:
            self._wait(number, line)
            return
        given: tuple[str | None] | None = (line,)
        while given:
            super().give(self._next, given[0])
            self._next += 1
            given = self._waited(self._next)

    def flush(self) -> None:
        """Write the lines that wait, in their order."""
        if self._waiting:
            self._to_disk()
        if self._disk is not None:
            for (line,) in self._disk.each("SELECT line FROM waiting WHERE line NOT NULL ORDER BY number"):
                self._lines.write(line)
            self._disk.close()

    def _wait(self, number: int, line: str | None) -> None:
        self._waiting[number] = line
        self._size += len(line or "")
        if self._size >= _IN_MEMORY:
            self._to_disk()

    def _waited(self, number: int) -> tuple[str | None] | None:
        """Return a line that waited, and keep it no longer; ``None`` if nothing is known of it."""
        if number in self._waiting:
            line = self._waiting.pop(number)
            self._size -= len(line or "")
            return (line,)
        if self._disk is None or not self._on_disk:
            return None
        found = self._disk.all("DELETE FROM waiting WHERE number = ? RETURNING line", number)
        self._on_disk -= len(found)
        return found[0] if found else None

    def _to_disk(self) -> None:
        self._disk = self._disk or Database(None, _TABLE)
        self._disk.many("INSERT INTO waiting VALUES (?, ?)", self._waiting.items())
        self._on_disk += len(self._waiting)
        self._waiting, self._size = {}, 0
