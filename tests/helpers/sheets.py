"""What the tests share that fill in sheets, as people do: a rule says what is written for each unit."""

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path


def fill_sheet(path: str | Path, label: Callable[[dict[str, str]], str | Mapping[str, str]]) -> int:
    """Write into every line of a sheet what a rule says; return the number of lines.

    The rule gets a line by column. It returns the label of the rater, or values of several columns.
    """
    file = Path(path)
    lines = list(csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))
    (rater,) = [column for column in lines[0] if column.startswith("rater:")]
    for line in lines:
        said = label(line)
        if isinstance(said, str):
            said = {rater: said}
        line.update(said)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    return len(lines)
