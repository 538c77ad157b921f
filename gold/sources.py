"""From what a user names to rows: files, folders, bundled gold sets, standard input, Hugging Face names."""

import csv
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import pydantic

from ..errors import GoldError, choices, near_file, why
from .authors import FECT_COLUMNS, cognibench_rows, is_cognibench
from .files import (
    Kind,
    OnBad,
    Place,
    Reading,
    Row,
    bytes_of,
    parse,
    parse_json,
    refuse,
    scan,
    text_of,
    validated,
)

Placed: TypeAlias = tuple[str, Kind, int, Row | GoldError]
"""The file, how its values are to be understood, the line (or record number), and the row or what is wrong with it."""

_DATA = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet"}
_BUNDLED = Path(__file__).parent.parent / "datasets"  # it has no __init__.py


def read(source: str | Path, on_bad: OnBad = refuse) -> Reading:
    """Read a source."""
    name, path = str(source), Path(source)
    if name == "-":
        return parse(sys.stdin.buffer.read(), "<stdin>", on_bad, "stdin")
    if hub := hub_name(name):
        return Reading(name=hub[0], path=name, rows=list(_stream_hub(*hub, name)), kind="columns")
    try:
        folder, file = bool(name) and path.is_dir(), path.exists()
    except OSError as error:
        raise GoldError(f"it cannot be read: {why(error)}", path=name[:80], hint="check the path") from error
    if folder:
        return _folder(path, path.resolve().name, name, on_bad)
    if file and name:
        return _file(path, name, on_bad, path.stem)
    if name in bundled_names():
        return _folder(_BUNDLED / name, name, name, on_bad)
    hint = near_file(path, "*.*") or "name a file, a folder, hf:org/name, or a bundled set"
    if not (path.suffix or "/" in name):
        hint = choices(name, bundled_names(), "the path of a file or folder, or hf:org/name")
    raise GoldError("there is no such file or folder", path=name or "''", hint=hint)


def can_be_read_again(source: str | Path) -> bool:
    """Whether reading a source takes nothing away from it: a pipe is read once."""
    return str(source) != "-" and not _is(Path(source), Path.is_fifo)


def stream(source: str | Path) -> Iterator[Placed]:
    """Return the rows of a source as they are read; those of a folder by the names of its files."""
    name, path = str(source), Path(source)
    if name == "-":
        yield from _scanned(sys.stdin.buffer, "<stdin>")
    elif hub := hub_name(name):
        for number, row in _stream_hub(*hub, name):
            yield name, "columns", number, row
    elif files := _data_files(path) if _is(path, Path.is_dir) else []:
        for file in files:
            yield from _streamed(file)
    elif name and (_is(path, Path.is_file) or _is(path, Path.is_fifo)):
        yield from _streamed(path)
    else:
        yield from _whole(read(source))


def bundled_names() -> tuple[str, ...]:
    """Return the names of the gold sets that come with jurist, sorted."""
    return tuple(sorted(file.parent.name for file in _BUNDLED.glob("*/gold.jsonl")))


def read_typed(source: str | Path, kind: pydantic.TypeAdapter[Any], *, hint: str) -> tuple[Any, ...]:
    """Read rows of one kind, each with an ``id`` of its own, in their order."""
    reading, typed = read(source), dict[str, Any]()
    for line, row in reading.rows:
        place = Place(reading.path, line)
        value = validated(kind, row, place, hint=hint)
        if typed.setdefault(value.id, value) is not value:
            raise place.wrong(f"the id {value.id!r} occurs twice", hint="rename one")
    if not typed:
        raise GoldError("there are no rows", path=reading.path, hint=hint)
    return tuple(typed.values())


def _is(path: Path, what: Callable[[Path], bool]) -> bool:
    try:
        return what(path)
    except OSError:  # a name that no file can have
        return False


def _file(file: Path, path: str, on_bad: OnBad, name: str) -> Reading:
    """Read one file; dialogues of CogniBench are joined with the ``labels.json`` beside them."""
    reading = parse(bytes_of(file, path), path, on_bad, name)
    if not reading.rows or not is_cognibench(reading.rows[0][1]):
        return reading
    beside = str(Path(path).with_name("labels.json"))
    labels = _object(file.with_name("labels.json"), beside, "labels", hint="write {dialogue id: {...}, ...}")
    rows = cognibench_rows(reading.rows, labels, path=path, labels_path=beside)
    return replace(reading, rows=rows, kind="json")


def _streamed(path: Path) -> Iterator[Placed]:
    name = str(path)
    try:
        with path.open("rb") as file:
            for number, placed in enumerate(_scanned(file, name)):
                if number == 0 and isinstance(placed[3], dict) and is_cognibench(placed[3]):
                    yield from _whole(read(path))
                    return
                yield placed
    except OSError as error:
        raise GoldError(f"the file cannot be read: {why(error)}", path=name, hint="check it") from error


def _scanned(file: BinaryIO, name: str) -> Iterator[Placed]:
    kind, found = scan(file, name)
    for line, row in found:
        yield name, kind, line, row


def _whole(reading: Reading) -> Iterator[Placed]:
    for line, row in reading.rows:
        yield reading.path, reading.kind, line, row


def _folder(folder: Path, name: str, path: str, on_bad: OnBad) -> Reading:
    if (folder / "gold.jsonl").is_file():
        return _card_folder(folder, name, path)
    published = _authors_file(folder) or _authors_file(folder / "data")
    files = [published] if published else [entry for entry in folder.iterdir() if _is_data(entry)]
    if len(files) == 1:
        return _file(files[0], f"{path}/{files[0].relative_to(folder)}", on_bad, name)
    return Reading(name=name, path=path, rows=list(_stream_hub(path, "", path)), kind="columns")


def _card_folder(folder: Path, name: str, path: str) -> Reading:
    gold, others, about = (f"{path}/{file}" for file in ("gold.jsonl", "second.jsonl", "CARD.json"))
    reading, second = parse(bytes_of(folder / "gold.jsonl", gold), gold, name=name), dict[int, Row]()
    rated = folder / "second.jsonl"
    for line, row in parse(bytes_of(rated, others), others).rows if rated.is_file() else []:
        count, number = len(reading.rows), row.pop("row", None)
        at = reading.rows[number][0] if type(number) is int and 0 <= number < count else None
        if at is None or at in second:
            hint = f"name each of the {count} rows of gold.jsonl at most once, counting from 0"
            raise Place(others, line).wrong(f"row is {number!r}", "row", hint=hint)
        second[at] = row
    card = _object(folder / "CARD.json", about, "a card", hint='write {"name": ..., "licence": ...}')
    return replace(reading, card=card, second=second)


def _authors_file(folder: Path) -> Path | None:
    """Return the file of a folder in which authors of a paper published their gold."""
    if (folder / "dialogues.json").is_file():
        return folder / "dialogues.json"
    fect = [file for file in sorted(folder.glob("*.csv")) if _columns(file) >= FECT_COLUMNS]
    if len(fect) > 1:
        names = ", ".join(file.name for file in fect)
        raise GoldError(
            f"several files are FECT gold: {names}", path=str(folder), hint="name one of the files"
        )
    return fect[0] if fect else None


def _columns(file: Path) -> frozenset[str]:
    with file.open("rb") as stream:
        head = stream.readline(65536).decode("utf-8-sig", "replace")
    return frozenset(name.strip() for name in next(csv.reader([head]), []))


def _object(file: Path, path: str, what: str, *, hint: str) -> dict[str, Any]:
    """Return the JSON object that a file holds; an empty one if there is no such file."""
    value = parse_json(text_of(file, path), path) if file.is_file() else {}
    if not isinstance(value, dict):
        raise GoldError(f"{what} must be a JSON object", path=path, hint=hint)
    return value


def _data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder and of those in it, but for hidden ones; none if it is gold of its own."""
    if (folder / "gold.jsonl").is_file() or _authors_file(folder) or _authors_file(folder / "data"):
        return []
    files = (entry for entry in folder.rglob("*") if _is_data(entry))
    return sorted(file for file in files if all(part[0] != "." for part in file.relative_to(folder).parts))


def _is_data(entry: Path) -> bool:
    return entry.suffix.lower() in _DATA and entry.is_file()


def hub_name(source: str) -> tuple[str, str] | None:
    """Return name and split of a source that ``datasets`` reads: ``hf:NAME:SPLIT``."""
    if not source.startswith("hf:"):
        return None
    name, _, split = source.removeprefix("hf:").partition(":")
    return name, split


def _stream_hub(name: str, split: str, path: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a dataset, by their numbers; the library keeps them on disk, and is imported when needed."""
    if not name.strip("/"):
        raise GoldError("the dataset has no name", path=path, hint="write hf:org/name or hf:org/name:split")
    import datasets
    import httpx
    import pyarrow

    broken = (OSError, ValueError, RuntimeError, ImportError, httpx.HTTPError)
    local, number = Path(name).exists(), 0
    # a local folder is read afresh each time: a shared cache would answer with what it held yesterday
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            found = datasets.load_dataset(name, split=split or None, cache_dir=folder if local else None)
        except (*broken, pyarrow.ArrowException, datasets.exceptions.DatasetsError) as error:
            said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            hint = (
                "put JSONL, CSV or Parquet files with the same columns into the folder, and name a split it has"
                if local
                else "check the name, the split, the network and HF_TOKEN, or download the file and give its path"
            )
            raise GoldError(f"the dataset cannot be loaded: {said}", path=path, hint=hint) from error
        if isinstance(found, dict):
            names = ", ".join(found)
            if len(found) > 1:
                hint = f"name one, or all: hf:NAME:{next(iter(found))}"
                raise GoldError(f"the dataset has the splits {names}", path=path, hint=hint)
            found = found[names]
        for number, row in enumerate(_named(found), 1):
            yield number, row
    if not number:
        raise GoldError("the dataset has no rows", path=path, hint="name another split: hf:org/name:split")


def _named(dataset: Any) -> Iterator[Row]:
    """Yield the rows of a dataset; class labels become their names."""
    names = {key: kind.int2str for key, kind in dataset.features.items() if hasattr(kind, "int2str")}
    for row in dataset:
        yield {
            key: names[key](value) if key in names and value is not None else value
            for key, value in row.items()
        }
