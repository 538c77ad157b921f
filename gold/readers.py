"""From what a user names to rows: files, folders, bundled gold sets, standard input, Hugging Face names.

What a source is, is told from its content: the suffix only decides which broken
content is an error of which format. Readers know no judge; see ``gold`` for that.
"""

import csv
import importlib.resources
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..errors import GoldError, choices, near_file
from .authors import FECT_COLUMNS, cognibench_rows, is_cognibench
from .columns import OnBad, refuse
from .decoding import bytes_of, text_of
from .hubsets import hub_name, stream_hub
from .jsonrows import parse_json
from .rowfiles import parse
from .rowtypes import Kind, Row, Rows, Table
from .tool_results import unfolded

_DATA = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a source holds."""

    name: str  # a short name: the bundled name, the file's stem, the folder's name
    path: str  # the file (or source) to name in messages
    rows: Rows  # (line or record number, row)
    kind: Kind = "json"  # how values are to be understood
    card: Mapping[str, Any] = field(default_factory=dict)  # the card of the gold set; empty if it has none
    # index of a row, counted from 0 -> the second rater's row, with its line
    second: Mapping[int, tuple[int, Row]] = field(default_factory=dict)
    second_path: str = ""  # the file of the second rater


def read(source: str | Path, on_bad: OnBad = refuse) -> Reading:
    """Read a source."""
    name = str(source)
    if name == "-":
        return _file(sys.stdin.buffer.read(), "stdin", "<stdin>", on_bad)
    if hub := hub_name(name):
        return Reading(name=hub[0], path=name, rows=list(stream_hub(*hub, name)), kind="columns")
    path = Path(name)
    try:
        folder, file = bool(name) and path.is_dir(), path.exists()
    except OSError as error:
        raise GoldError(
            f"it cannot be read: {error.strerror}", path=name[:80], hint="check the path"
        ) from error
    if folder:
        return _folder(path, path.resolve().name, name, on_bad)
    if file and name:
        return _dialogues(_opened(path, path.stem, name, on_bad), path.parent)
    if name in bundled_names():
        return _folder(_bundled() / name, name, name, on_bad)
    hint = near_file(path, "*.*") or "name a file, a folder, hf:org/name, or a bundled set"
    if not (path.suffix or "/" in name):
        hint = choices(name, bundled_names(), "the path of a file or folder, or hf:org/name")
    raise GoldError("there is no such file or folder", path=name or "''", hint=hint)


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder and of those in it, by name, but for hidden ones.

    There are none if together they are something else.
    """
    if not folder.is_dir() or (folder / "gold.jsonl").is_file():
        return []
    for place in (folder, folder / "data"):
        if place.is_dir() and ((place / "dialogues.json").is_file() or _fect_file(place, str(place))):
            return []
    files = (entry for entry in folder.rglob("*") if _is_data(entry))
    return sorted(file for file in files if not any(_hidden(part) for part in file.relative_to(folder).parts))


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _is_data(entry: Traversable) -> bool:
    return entry.is_file() and Path(entry.name).suffix.lower() in _DATA


def bundled_names() -> tuple[str, ...]:
    """Return the names of the gold sets that come with jurist, sorted."""
    folder = _bundled()
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name for entry in folder.iterdir() if (entry / "gold.jsonl").is_file()))


def _bundled() -> Traversable:
    # the folder has no __init__.py, so it is reached through the package that holds it
    return importlib.resources.files((__package__ or "jurist.gold").rpartition(".")[0]).joinpath("datasets")


def _opened(file: Traversable, name: str, path: str, on_bad: OnBad = refuse) -> Reading:
    return _file(bytes_of(file, path), name, path, on_bad)


def _file(data: bytes, name: str, path: str, on_bad: OnBad = refuse) -> Reading:
    table = parse(data, path, on_bad)
    return Reading(name=name, path=path, rows=unfolded(table.rows), kind=table.kind)


def _folder(folder: Traversable, name: str, path: str, on_bad: OnBad) -> Reading:
    if (folder / "gold.jsonl").is_file():
        return _card_folder(folder, name, path)
    for place, where in ((folder, path), (folder / "data", f"{path}/data")):
        if not place.is_dir():
            continue
        if (place / "dialogues.json").is_file():
            return _dialogues(_opened(place / "dialogues.json", name, f"{where}/dialogues.json"), place)
        if (fect := _fect_file(place, where)) is not None:
            return _opened(fect, name, f"{where}/{fect.name}", on_bad)
    files = [entry for entry in folder.iterdir() if _is_data(entry)]
    if len(files) == 1:
        return _opened(files[0], name, f"{path}/{files[0].name}", on_bad)
    return Reading(name=name, path=path, rows=list(stream_hub(path, "", path)), kind="columns")


def _card_folder(folder: Traversable, name: str, path: str) -> Reading:
    gold, second, others = f"{path}/gold.jsonl", folder / "second.jsonl", f"{path}/second.jsonl"
    table = parse(bytes_of(folder / "gold.jsonl", gold), gold)
    hint = 'write {"name": ..., "licence": ...}'
    rated = parse(bytes_of(second, others), others) if second.is_file() else None
    return Reading(
        name=name,
        path=gold,
        rows=table.rows,
        kind=table.kind,
        card=_object(folder / "CARD.json", f"{path}/CARD.json", "a card", hint=hint),
        second=_second(rated, len(table.rows), others) if rated else {},
        second_path=others,
    )


def _second(table: Table, count: int, path: str) -> dict[int, tuple[int, Row]]:
    found: dict[int, tuple[int, Row]] = {}
    for line, row in table.rows:
        number = row.get("row")
        if (
            not isinstance(number, int)
            or isinstance(number, bool)
            or not 0 <= number < count
            or number in found
        ):
            raise GoldError(
                f"row is {number!r}",
                path=path,
                line=line,
                field="row",
                hint=f"name each of the {count} rows of gold.jsonl at most once, counting from 0",
            )
        found[number] = (line, {key: value for key, value in row.items() if key != "row"})
    return found


def _fect_file(folder: Traversable, path: str) -> Traversable | None:
    found = [
        entry
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.lower().endswith(".csv") and _columns(entry) >= FECT_COLUMNS
    ]
    if len(found) > 1:
        names = ", ".join(entry.name for entry in found)
        raise GoldError(f"several files are FECT gold: {names}", path=path, hint="name one of the files")
    return found[0] if found else None


def _columns(file: Traversable) -> frozenset[str]:
    with file.open("rb") as stream:
        head = stream.readline(65536).decode("utf-8-sig", "replace")
    return frozenset(name.strip() for name in next(csv.reader(io.StringIO(head)), []))


def _dialogues(reading: Reading, folder: Traversable) -> Reading:
    """Join CogniBench dialogues with the ``labels.json`` beside them; leave other rows as they are."""
    if not reading.rows or not is_cognibench(reading.rows[0][1]):
        return reading
    path = str(Path(reading.path).with_name("labels.json"))
    labels = _object(folder / "labels.json", path, "labels", hint="write {dialogue id: {...}, ...}")
    rows = cognibench_rows(reading.rows, labels, path=reading.path, labels_path=path)
    return Reading(name=reading.name, path=reading.path, rows=rows, kind="json")


def _object(file: Traversable, path: str, what: str, *, hint: str) -> dict[str, Any]:
    """Return the JSON object that a file holds; an empty one if there is no such file."""
    found = parse_json(text_of(bytes_of(file, path), path), path) if file.is_file() else {}
    if not isinstance(found, dict):
        raise GoldError(f"{what} must be a JSON object", path=path, hint=hint)
    return found
