"""From what a user names to rows: files, folders, bundled gold sets, standard input, Hugging Face names."""

import itertools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, choices, near_file, why
from ..programs.gold_readers import GoldReader, published_file, reader_of, split_reader_name
from ..programs.records import each_record
from .binary_tables import BOOKS
from .files import Place, Row, Rows, parse_json, read_utf8, validate_row
from .scanning import scan

OnBad: TypeAlias = Callable[[GoldError, Mapping[str, Any] | None], None]
"""Takes what is wrong with a row and the row as far as it could be read; may raise the error."""

_DATA = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet"}
_BUNDLED = Path(__file__).parent.parent / "datasets"  # it has no __init__.py

R = TypeVar("R")
All: TypeAlias = list[tuple[Place, Row]]
"""Rows with their places."""


@dataclass(frozen=True, kw_only=True)
class Reading(Generic[R]):
    """A source and its rows: all of them, or as they are asked for."""

    name: str  # a short name: the bundled name, the file's stem, the folder's name
    path: str  # the file (or source) to name in messages
    rows: R
    card: Mapping[str, Any] = field(default_factory=dict)  # the card of the gold set; empty if it has none
    # what a user should know of how it is read; complete when all rows are
    notes: list[str] = field(default_factory=list)


def refuse(error: GoldError, row: Mapping[str, Any] | None) -> None:
    """Raise the error: the first bad row ends the reading."""
    raise error


def read(source: str | Path, on_bad: OnBad = refuse) -> Reading[All]:
    """Read all rows of a source."""
    stream, rows = opened(source), All()
    for place, row in stream.rows:
        if isinstance(row, GoldError):
            on_bad(row, None)
        else:
            rows.append((place, row))
    return Reading(name=stream.name, path=stream.path, rows=rows, card=stream.card, notes=stream.notes)


def opened(source: str | Path) -> Reading[Rows]:
    """Return a source whose rows are read as they are asked for; those of a folder by the names of its files."""
    name, path = str(source), Path(source)
    if name == "-":
        return Reading(name="stdin", path="<stdin>", rows=scan(sys.stdin.buffer, "<stdin>"))
    if name.startswith("hf:"):
        dataset, _, split = name.removeprefix("hf:").partition(":")
        return Reading(name=dataset, path=name, rows=_hub(dataset, split, name))
    try:
        folder, file = bool(name) and path.is_dir(), bool(name) and path.exists()
    except OSError as error:
        raise GoldError(f"it cannot be read: {why(error)}", path=name[:80], hint="check the path") from error
    if folder:
        return _folder(path, path.resolve().name, name)
    notes: list[str] = []
    if file:
        return Reading(name=path.stem, path=name, rows=_file(path, name, notes=notes), notes=notes)
    book, _, sheet = name.rpartition("#")
    if Path(book).suffix.lower() in BOOKS and Path(book).is_file():
        return Reading(name=f"{Path(book).stem}-{sheet}", path=name, rows=_file(Path(book), book, sheet))
    if name in bundled_names():
        return _folder(_BUNDLED / name, name, name)
    reader, place = split_reader_name(name)
    if reader is not None:
        return _published(reader, Path(place), place)
    hint = near_file(path, "*.*") or "name a file, a folder, hf:org/name, or a bundled set"
    if not (path.suffix or "/" in name):
        hint = choices(name, bundled_names(), "the path of a file or folder, or hf:org/name")
    raise GoldError("there is no such file or folder", path=name or "''", hint=hint)


def can_be_read_again(source: str | Path) -> bool:
    """Whether reading a source takes nothing away from it: a pipe is read once."""
    try:
        return str(source) != "-" and not Path(source).is_fifo()
    except OSError:  # a name that no file can have
        return True


def bundled_names() -> tuple[str, ...]:
    """Return the names of the gold sets that come with jurist, sorted."""
    return tuple(sorted(file.parent.name for file in _BUNDLED.glob("*/gold.jsonl")))


def read_typed(source: str | Path, kind: pydantic.TypeAdapter[Any], *, hint: str) -> tuple[Any, ...]:
    """Read rows of one kind, each with an ``id`` of its own, in their order."""
    typed = dict[str, Any]()
    for place, row in read(source).rows:
        value = validate_row(kind, row, place, hint=hint)
        if typed.setdefault(value.id, value) is not value:
            raise place.wrong(f"the id {value.id!r} occurs twice", hint="rename one")
    return tuple(typed.values())


def _file(file: Path, path: str, sheet: str = "", notes: list[str] | None = None) -> Rows:
    """Yield the rows of one file; one in the format of a paper is read by the paper's reader."""
    try:
        with file.open("rb") as stream:
            rows = scan(stream, path, sheet, notes)
            first = list(itertools.islice(rows, 1))
            reader = reader_of(first[0][1]) if first else None
            rows = itertools.chain(first, rows)
            yield from rows if reader is None else _rows_of_records(reader, rows, file)
    except OSError as error:
        raise GoldError(f"the file cannot be read: {why(error)}", path=path, hint="check it") from error


def _published(reader: GoldReader, place: Path, path: str) -> Reading[Rows]:
    """Return the rows of a file, or of a folder with such a file, in a reader's format."""
    file = place / reader.file_name if place.is_dir() else place
    if not file.is_file():
        raise GoldError(
            "there is no such file", path=str(file), hint=near_file(file, "*.*") or "check the path"
        )
    notes: list[str] = []
    return Reading(name=file.stem, path=path, rows=_rows_in_format(reader, file, notes), notes=notes)


def _rows_in_format(reader: GoldReader, file: Path, notes: list[str]) -> Rows:
    """Yield the rows of a file in a reader's format."""
    try:
        records = reader.records(file)
        if records is None:
            with file.open("rb") as stream:
                yield from _rows_of_records(reader, scan(stream, str(file), notes=notes), file)
            return
        placed = ((Place(str(file), number), dict(record)) for number, record in enumerate(records, 1))
        yield from _rows_of_records(reader, placed, file)
    except (OSError, ValueError) as error:
        hint = f"give a file in the format {reader.name}"
        raise GoldError(f"the file cannot be read: {error}", path=str(file), hint=hint) from error


def _rows_of_records(reader: GoldReader, records: Rows, file: Path) -> Rows:
    """Yield the rows that a reader makes of records, with the file beside them that it needs."""
    companion: Mapping[str, Any] = {}
    if reader.companion:
        beside = file.with_name(reader.companion)
        companion = _object(beside, str(beside), "{id: {...}, ...}")
    for place, record in records:
        if isinstance(record, GoldError):
            yield place, record
            continue
        try:
            row: Row | GoldError = dict(reader.row(record, companion))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            files = " and ".join(filter(None, (reader.file_name, reader.companion)))
            row = place.wrong(str(error), hint=f"take {files} as they were published")
        yield place, row


def _folder(folder: Path, name: str, path: str) -> Reading[Rows]:
    """Return the rows of a folder: a gold set with its card, what authors published, or all of its data files."""
    if (folder / "gold.jsonl").is_file():
        card = _object(folder / "CARD.json", f"{path}/CARD.json", '{"name": ..., "licence": ...}')
        gold = f"{path}/gold.jsonl"
        return Reading(name=name, path=gold, rows=_file(folder / "gold.jsonl", gold), card=card)
    published = published_file(folder)
    files = [published] if published else _data_files(folder)
    if not files:
        hint = f"put a file of rows into it: {', '.join(sorted(_DATA))}"
        raise GoldError("the folder holds no file of rows", path=path, hint=hint)
    notes: list[str] = []
    streams = (_file(file, f"{path}/{file.relative_to(folder)}", notes=notes) for file in files)
    return Reading(name=name, path=path, rows=itertools.chain.from_iterable(streams), notes=notes)


def _object(file: Path, path: str, shape: str) -> dict[str, Any]:
    """Return the JSON object that a file holds; an empty one if there is no such file."""
    value = parse_json(read_utf8(file, path), Place(path, 1)) if file.is_file() else {}
    if not isinstance(value, dict):
        raise GoldError("it must be a JSON object", path=path, hint=f"write {shape}")
    return value


def _data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder and of those in it, but for hidden ones."""
    files = (entry for entry in folder.rglob("*") if entry.suffix.lower() in _DATA and entry.is_file())
    return sorted(file for file in files if all(part[0] != "." for part in file.relative_to(folder).parts))


def _hub(name: str, split: str, path: str) -> Rows:
    """Yield the rows of a dataset, by their numbers; the library keeps them on disk, and is imported when needed."""
    if not name.strip("/"):
        raise GoldError("the dataset has no name", path=path, hint="write hf:org/name or hf:org/name:split")
    import datasets
    import httpx
    import pyarrow

    broken = (OSError, ValueError, RuntimeError, ImportError, httpx.HTTPError, pyarrow.ArrowException)
    try:
        dataset = datasets.load_dataset(name, split=split or None)
    except (*broken, datasets.exceptions.DatasetsError) as error:
        message = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        hint = "check the name, the split, the network and HF_TOKEN, or download the file and give its path"
        raise GoldError(f"the dataset cannot be loaded: {message}", path=path, hint=hint) from error
    if isinstance(dataset, dict):
        names = ", ".join(dataset)
        if len(dataset) > 1:
            hint = f"name one, or all: hf:NAME:{next(iter(dataset))}"
            raise GoldError(f"the dataset has the splits {names}", path=path, hint=hint)
        dataset = dataset[names]
    number = 0
    for number, row in enumerate(each_record(dataset, path), 1):
        yield Place(path, number, "columns"), row
    if not number:
        raise GoldError("the dataset has no rows", path=path, hint="name another split: hf:org/name:split")
