"""The attempts that a journal holds, and its files as a kill leaves them."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path


def attempts(path: Path) -> list[sqlite3.Row]:
    """Return all attempts, in the order in which they left; the journal may be in use."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        put_back(copy, left_by_a_kill(path))
        with closing(sqlite3.connect(copy)) as data:
            data.row_factory = sqlite3.Row
            return data.execute("SELECT * FROM attempts ORDER BY id").fetchall()


def states(path: Path) -> list[str]:
    """Return what came of each attempt."""
    return [row["state"] for row in attempts(path)]


def forget_after(path: Path, number: int) -> None:
    """Leave the first attempts only, as if the process had been killed after them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as data:
        data.execute("DELETE FROM attempts WHERE id > ?", (number,))


def left_by_a_kill(path: Path) -> dict[str, bytes]:
    """Return the files of a journal in use as they are now: what SIGKILL would leave."""
    files = {end: Path(f"{path}{end}") for end in ("", "-wal")}
    return {end: file.read_bytes() for end, file in files.items() if file.exists()}


def put_back(path: Path, files: dict[str, bytes]) -> None:
    """Make a journal what :func:`left_by_a_kill` has returned."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    for end, data in files.items():
        Path(f"{path}{end}").write_bytes(data)
