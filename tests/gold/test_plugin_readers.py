"""Formats of installed packages: ``NAME:PATH`` reads by the entry point ``jurist.readers`` of that name."""

import importlib
from pathlib import Path

import pytest

from jurist.errors import GoldError
from jurist.gold.sources import read

SOURCE = """
import csv
from pathlib import Path

class Notes:
    name, file_name, companion = "notes", "notes.txt", "marks.json"

    def records(self, file):
        return ({"line": line} for line in file.read_text().splitlines())

    def recognises(self, record):
        return False

    def row(self, record, companion):
        name, _, text = record["line"].partition("|")
        if not text:
            raise ValueError(f"no text in {record['line']!r}")
        return {"id": name, "message": text, "label": companion.get(name)}

class Sheets(Notes):
    name, file_name, companion = "sheets", "sheet.csv", ""

    def records(self, file):
        return None

    def row(self, record, companion):
        return {"message": record["Text"]}

notes, sheets = Notes(), Sheets()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of data, with a package of two readers installed."""
    site, data = tmp_path / "site", tmp_path / "data"
    info = site / "acme_notes-1.0.dist-info"
    info.mkdir(parents=True)
    data.mkdir()
    (site / "acme_notes.py").write_text(SOURCE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-notes\nVersion: 1.0\n")
    entries = (
        "[jurist.readers]\nnotes = acme_notes:notes\nsheets = acme_notes:sheets\nbad = acme_notes:Notes\n"
    )
    (info / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    (data / "notes.txt").write_text("a|Hello there\nb|Bye\n")
    (data / "marks.json").write_text('{"a": "polite"}')
    (data / "sheet.csv").write_text("Text\nHello\n")
    return data


def test_a_file_or_a_folder_is_read_by_the_reader_that_is_named(folder: Path) -> None:
    rows = [
        {"id": "a", "message": "Hello there", "label": "polite"},
        {"id": "b", "message": "Bye", "label": None},
    ]
    for source in (f"notes:{folder}", f"notes:{folder / 'notes.txt'}"):
        reading = read(source)
        assert [row for _, row in reading.rows] == rows
        assert reading.name == "notes"
    assert [place.line for place, _ in reading.rows] == [1, 2]
    assert [row for _, row in read(f"sheets:{folder}").rows] == [{"message": "Hello"}]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("notes:{folder}/missing.txt", "there is no such file"),
        ("other:{folder}", "there is no such file or folder"),
        ("bad:{folder}", "it is of type"),
        (
            "notes:{folder}/sheet.csv",
            "no text in 'Text'; take notes.txt and marks.json as they were published",
        ),
        ("notes:{folder}/binary.txt", "the file cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(source: str, message: str, folder: Path) -> None:
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(GoldError) as caught:
        read(source.format(folder=folder))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
