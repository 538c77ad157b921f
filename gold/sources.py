"""From what a user names to rows: files, folders, bundled gold sets, standard input, Hugging Face names."""

import itertools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import pydantic

from ..errors import GoldError, suggest_file, suggest_name, system_message
from ..programs.catalogue import BUNDLED_GOLD, list_bundled_gold
from ..programs.gold_readers import GoldReader, published_file, reader_of, split_reader_name
from ..programs.records import each_record
from .binary_tables import BOOKS
from .files import Place, Row, Rows, parse_json, read_utf8, validate_row
from .scanning import scan

OnBad: TypeAlias = Callable[[GoldError, Mapping[str, object] | None], None]
"""Takes what is wrong with a row and the row as far as it could be read; may raise the error."""

_DATA = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet"}

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


def refuse(error: GoldError, row: Mapping[str, object] | None) -> None:
    """Raise the error: the first bad row ends the reading."""
    raise error


def read(source: str | Path, on_bad: OnBad = refuse) -> Reading[All]:
    """Read all rows of a source."""
    stream = open_rows(source)
    rows: All = []
    for place, row in stream.rows:
        if isinstance(row, GoldError):
            on_bad(row, None)
        else:
            rows.append((place, row))
    return Reading(name=stream.name, path=stream.path, rows=rows, card=stream.card, notes=stream.notes)


def layouts(source: str | Path) -> set[frozenset[str]]:
    """Return the sets of columns that the rows of a source have; rows that cannot be read have none."""
    columns_of_rows: set[frozenset[str]] = set()
    for _, row in open_rows(source).rows:
        if not isinstance(row, GoldError):
            columns_of_rows.add(frozenset(row))
    return columns_of_rows


def open_rows(source: str | Path) -> Reading[Rows]:
    """Return a source whose rows are read as they are asked for; those of a folder by the names of its files."""
    name = str(source)
    path = Path(source)
    if name == "-":
        return Reading(name="stdin", path="<stdin>", rows=scan(sys.stdin.buffer, "<stdin>"))
    if name.startswith("hf:"):
        dataset, _, split = name.removeprefix("hf:").partition(":")
        return Reading(name=dataset, path=name, rows=_rows_of_hub(dataset, split, name))
    try:
        is_folder = bool(name) and path.is_dir()
        is_there = bool(name) and path.exists()
    except OSError as error:
        raise GoldError(
            f"it cannot be read: {system_message(error)}", path=name[:80], hint="check the path"
        ) from error
    if is_folder:
        return _open_folder(path, path.resolve().name, name)
    notes: list[str] = []
    if is_there:
        return Reading(name=path.stem, path=name, rows=_rows_of_file(path, name, notes=notes), notes=notes)
    book_name, _, sheet = name.rpartition("#")
    book = Path(book_name)
    if book.suffix.lower() in BOOKS and book.is_file():
        rows = _rows_of_file(book, book_name, sheet)
        return Reading(name=f"{book.stem}-{sheet}", path=name, rows=rows)
    if name in list_bundled_gold():
        return _open_folder(BUNDLED_GOLD / name, name, name)
    reader, place = split_reader_name(name)
    if reader is not None:
        return _open_published(reader, Path(place), place)
    hint = suggest_file(path, "*.*") or "name a file, a folder, hf:org/name, or a bundled set"
    if not (path.suffix or "/" in name):
        hint = suggest_name(name, list_bundled_gold(), "the path of a file or folder, or hf:org/name")
    raise GoldError("there is no such file or folder", path=name or "''", hint=hint)


def can_be_read_again(source: str | Path) -> bool:
    """True where reading a source takes nothing away from it: a pipe is read once."""
    try:
        return str(source) != "-" and not Path(source).is_fifo()
    except OSError:  # a name that no file can have
        return True


def file_of_rows(name: str) -> Path | None:
    """Return the file that rows name as their source, on disk or of a bundled set; ``None`` if it is gone."""
    if not name:
        return None
    for path in (Path(name), BUNDLED_GOLD / name):
        if path.is_file():
            return path
    return None


def read_typed(
    source: str | Path, kind: pydantic.TypeAdapter[Any], *, hint: str, on_bad: OnBad = refuse
) -> tuple[Any, ...]:
    """Read rows of one kind, each with an ``id`` of its own, in their order; ``on_bad`` takes all others."""
    typed = dict[str, Any]()
    for place, row in read(source, on_bad).rows:
        try:
            value = validate_row(kind, row, place, hint=hint)
            if value.id in typed:
                raise place.wrong(f"the id {value.id!r} occurs twice", hint="rename one")
            typed[value.id] = value
        except GoldError as error:
            on_bad(error, row)
    return tuple(typed.values())


def _rows_of_file(file: Path, path: str, sheet: str = "", notes: list[str] | None = None) -> Rows:
    """Yield the rows of one file; a file in the format of a paper is read by the paper's reader."""
    try:
        with file.open("rb") as stream:
            rows = scan(stream, path, sheet, notes)
            first = next(rows, None)
            if first is None:
                return
            _, first_row = first
            reader = reader_of(first_row)
            rows = itertools.chain([first], rows)
            if reader is not None:
                rows = _rows_of_records(reader, rows, file)
            yield from rows
    except OSError as error:
        raise GoldError(
            f"the file cannot be read: {system_message(error)}", path=path, hint="check it"
        ) from error


def _open_published(reader: GoldReader, place: Path, path: str) -> Reading[Rows]:
    """Return the rows of a file, or of a folder with such a file, in a reader's format."""
    file = place
    if place.is_dir():
        file = place / reader.file_name
    if not file.is_file():
        raise GoldError(
            "there is no such file", path=str(file), hint=suggest_file(file, "*.*") or "check the path"
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
        placed_records = (
            (Place(str(file), number), dict(record)) for number, record in enumerate(records, 1)
        )
        yield from _rows_of_records(reader, placed_records, file)
    except (OSError, ValueError) as error:
        hint = f"give a file in the format {reader.name}"
        raise GoldError(f"the file cannot be read: {error}", path=str(file), hint=hint) from error


def _rows_of_records(reader: GoldReader, records: Rows, file: Path) -> Rows:
    """Yield the rows that a reader makes of records, with the file beside them that it needs."""
    companion: Mapping[str, Any] = {}
    if reader.companion:
        companion_file = file.with_name(reader.companion)
        companion = _object_of_file(companion_file, str(companion_file), "{id: {...}, ...}")
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


def _open_folder(folder: Path, name: str, path: str) -> Reading[Rows]:
    """Return the rows of a folder: a gold set with its card, the file of a paper, or all of its data files."""
    gold_file = folder / "gold.jsonl"
    if gold_file.is_file():
        card = _object_of_file(folder / "CARD.json", f"{path}/CARD.json", '{"name": ..., "licence": ...}')
        gold = f"{path}/gold.jsonl"
        return Reading(name=name, path=gold, rows=_rows_of_file(gold_file, gold), card=card)
    published = published_file(folder)
    files = [published] if published else _data_files(folder)
    if not files:
        hint = f"put a file of rows into it: {', '.join(sorted(_DATA))}"
        raise GoldError("the folder holds no file of rows", path=path, hint=hint)
    notes: list[str] = []
    return Reading(name=name, path=path, rows=_rows_of_files(files, folder, path, notes), notes=notes)


def _rows_of_files(files: Sequence[Path], folder: Path, path: str, notes: list[str]) -> Rows:
    """Yield the rows of files in a folder, one file after the other."""
    for file in files:
        yield from _rows_of_file(file, f"{path}/{file.relative_to(folder)}", notes=notes)


def _object_of_file(file: Path, path: str, shape: str) -> dict[str, Any]:
    """Return the JSON object that a file holds; an empty one if there is no such file."""
    if not file.is_file():
        return {}
    value = parse_json(read_utf8(file, path), Place(path, 1))
    if not isinstance(value, dict):
        raise GoldError("it must be a JSON object", path=path, hint=f"write {shape}")
    return value


def _data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder and of the folders in it, without hidden ones, sorted."""
    files = []
    for entry in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in entry.relative_to(folder).parts)
        if not is_hidden and entry.suffix.lower() in _DATA and entry.is_file():
            files.append(entry)
    return sorted(files)


def _rows_of_hub(name: str, split: str, path: str) -> Rows:
    """Yield the rows of a dataset, by their numbers; the library keeps them on disk, and is imported when needed."""
    if not name.strip("/"):
        raise GoldError("the dataset has no name", path=path, hint="write hf:org/name or hf:org/name:split")
    import datasets
    import httpx
    import pyarrow

    try:
        dataset = datasets.load_dataset(name, split=split or None)
    except (
        OSError,
        ValueError,
        RuntimeError,
        ImportError,
        httpx.HTTPError,
        pyarrow.ArrowException,
        datasets.exceptions.DatasetsError,
    ) as error:
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
