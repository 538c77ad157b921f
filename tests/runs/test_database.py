"""The database of a run: what is written together is there as a whole, or not at all."""

from pathlib import Path

import pytest

from jurist.errors import CheckpointError
from jurist.runs.database import Database


def many(data: Database) -> None:
    with data.together():
        for _ in range(1000):
            data.all("INSERT INTO lines VALUES (?)", "x" * 1000)


def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path: Path) -> None:
    with Database(tmp_path / "kept.sqlite", "CREATE TABLE lines (line TEXT);") as data:
        data.all("INSERT INTO lines VALUES (?)", "before")
        data.all("PRAGMA max_page_count = 4")
        with pytest.raises(CheckpointError, match=r"is full; make room on the disk"):
            many(data)
        assert [line for (line,) in data.all("SELECT line FROM lines")] == ["before"]
        data.all("PRAGMA max_page_count = 1000000")
        with data.together():
            data.all("INSERT INTO lines VALUES (?)", "after")
    with Database(tmp_path / "kept.sqlite", "") as data:
        assert (data.one("SELECT count(*) FROM lines"), data.one("SELECT 1 WHERE 0")) == (2, None)
