"""What of a run is on the disk: written together as a whole or not at all, and in its order."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jurist.engines.database import Database
from jurist.errors import CheckpointError
from jurist.runs.outputs import OrderedLines


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
        assert (data.first("SELECT count(*) FROM lines"), data.first("SELECT 1 WHERE 0")) == (2, None)


@given(numbers=st.permutations(range(12)), came=st.integers(0, 12), none=st.sets(st.integers(0, 11)))
@settings(max_examples=60, deadline=None)
def test_lines_are_written_in_order_wherever_they_wait(numbers: list[int], came: int, none: set[int]) -> None:
    said = io.StringIO()
    order = OrderedLines[int](said, lambda item: f"{item:020}")
    for number in numbers[:came]:
        if order.is_next(number) and number not in none:
            order.write_next(f"{number:020}")
        else:
            order.give(number, None if number in none else number)
    whole = next(number for number in range(13) if number not in numbers[:came])
    written = [number for number in range(whole) if number not in none]
    assert [int(line) for line in said.getvalue().split()] == written, "nothing waits that need not"
    order.close()
    assert [int(line) for line in said.getvalue().split()] == sorted({*numbers[:came]} - none)
