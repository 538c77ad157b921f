"""Documents that generators write from: rows with ``text``, folders of ``.txt`` and ``.md``, references of gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import text_hash
from ..errors import GoldError
from ..programs.gold_readers import published_file
from ..text.escaping import well_formed
from ..text.wording import language_of
from .files import Place, Row, read_utf8
from .sources import All, OnBad, Reading, read, refuse

if TYPE_CHECKING:
    from ..programs.judge import Judge

_TEXT_SUFFIXES = {".txt", ".md"}
_LISTED_FILES = 8
_DOCUMENT_FIELDS = ("id", "group", "title", "topic", "language", "source")


@dataclass(frozen=True, kw_only=True)
class Document:
    """One text."""

    id: str  # unique among the documents of a job; stable when others are added
    text: str
    title: str = ""  # its subject; empty if its file names none
    topic: str = ""  # its subject area; empty if its file names none
    source: str = ""  # its file and line, for messages
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # the other fields of its row

    @property
    def language(self) -> str:
        """``zh`` where half of the words are Chinese, else ``en``."""
        return language_of(self.text)


def read_for(judge: Judge, source: str | Path, on_bad: OnBad = refuse) -> Reading[All]:
    """Return the rows of a source for a judge; for a judge that takes documents a row of each document."""
    if not judge.document:
        return read(source, on_bad)
    rows: All = []
    for number, document in enumerate(read_documents(source, judge.document), 1):
        row = dict(document.extra)
        row["id"] = document.id
        row["title"] = document.title
        row["topic"] = document.topic
        row["language"] = document.language
        row["source"] = document.source
        row["group"] = document.id
        row[judge.document] = document.text
        rows.append((Place(str(source), number), row))
    return Reading(name=Path(source).stem or "documents", path=str(source), rows=rows)


def nothing_for(judge: Judge, rows: int, path: str) -> GoldError:
    """Return the error of a source without rows, or without a row that the judge or the generator can use."""
    if not rows:
        return GoldError("there are no rows", path=path, hint="give at least one row")
    if judge.document:
        message = f"none of the {rows} documents has words to write from"
        hint = "give documents with sentences"
    else:
        message = f"none of the {rows} rows holds anything that judge {judge.name} judges"
        hint = "give other rows, or the judge whose rows these are"
    return GoldError(message, path=path, hint=hint)


def read_documents(source: str | Path, name: str = "") -> tuple[Document, ...]:
    """Return documents, in the order of the file or by file name; equal texts are one, as references of gold are.

    Args:
        source: a file of rows, a text file, or a folder of text files.
        name: one more field of rows that may hold the text.
    """
    document_of_text: dict[str, Document] = {}
    ids: set[str] = set()
    for document in _all_documents(Path(source), name):
        if document.text in document_of_text:
            continue
        if document.id in ids:  # conversations may be on several references
            document = replace(document, id=f"{document.id}-{text_hash(document.text)[:8]}")
        document_of_text[document.text] = document
        ids.add(document.id)
    return tuple(document_of_text.values())


def _all_documents(path: Path, name: str) -> Iterator[Document]:
    """Yield the document of each text file, else of each row; ``name`` is one more field that may hold its text."""
    files = _text_files(path)
    if files:
        yield from _file_documents(path, files)
        return
    text_fields = ["text", "reference"]
    if name:
        text_fields.append(name)
    for place, row in read(path).rows:
        yield _row_document(row, text_fields, place)


def _file_documents(path: Path, files: Sequence[Path]) -> Iterator[Document]:
    """Yield the document of each text file; refuse empty files, all of them in one message."""
    text_of_file: dict[Path, str] = {}
    empty_files: list[str] = []
    for file in files:
        text = read_utf8(file, str(file)).strip()
        text_of_file[file] = text
        if not text:
            empty_files.append(str(file))
    if empty_files:
        message = f"documents that hold nothing: {len(empty_files)} of {len(files)}"
        names = ", ".join(empty_files[:_LISTED_FILES])
        if len(empty_files) > _LISTED_FILES:
            names += f" and {len(empty_files) - _LISTED_FILES} more"
        raise GoldError(message, path=str(path), hint=f"remove {names}")
    root = path.parent if path in text_of_file else path
    for file, text in text_of_file.items():
        yield _file_document(file, text, root)


def _text_files(path: Path) -> list[Path]:
    """Return the text files of a folder, or the file if it is one; none where rows are to be read."""
    text_files: list[Path] = []
    with suppress(OSError):  # a name that no file can have: reading rows says so
        files = [path]
        if path.is_dir() and not _is_gold(path):
            files = sorted(path.rglob("*"))
        for file in files:
            if file.suffix.lower() in _TEXT_SUFFIXES and file.is_file():
                text_files.append(file)
    return text_files


def _is_gold(folder: Path) -> bool:
    """Say whether a folder is a gold set; it may hold texts beside its rows, such as a guideline."""
    return (folder / "gold.jsonl").is_file() or published_file(folder) is not None


def _file_document(path: Path, text: str, root: Path) -> Document:
    """Return the document of a text file; its title is a heading in the first line, else the file's name."""
    title = path.stem.replace("-", " ").replace("_", " ")
    first_line, _, body = text.partition("\n")
    if first_line.startswith("#") and body.strip():
        title = first_line.strip("# ")
        text = body.strip()
    name = path.relative_to(root).with_suffix("").as_posix()
    return Document(id=name, text=text, title=title, source=str(path))


def _row_document(row: Row, text_fields: Sequence[str], place: Place) -> Document:
    """Return the document of a row, whose text is in the first of the fields that is not empty."""
    text_field = _first_filled(row, text_fields) or "text"
    text = row.get(text_field)
    if not isinstance(text, str) or not text.strip():
        names = ", ".join(map(repr, list(row)[:8])) or "nothing"
        hint = f"the row has {names}; give it a field 'text'"
        raise place.wrong("the document has no text", text_field, hint=hint)
    for key, value in row.items():
        if isinstance(value, str) and value != well_formed(value):
            raise place.wrong("it holds half a character", key, hint="correct it, or remove the row")
    # gold has several rows on one reference, and their group names it
    id_fields = ("group", "id") if text_field == "reference" else ("id", "group")
    id_field = _first_filled(row, id_fields)
    extra: dict[str, object] = {}
    for key, value in row.items():
        if key != text_field and key not in _DOCUMENT_FIELDS:
            extra[key] = value
    return Document(
        id=str(row[id_field]) if id_field else text_hash(text)[:12],
        text=text.strip(),
        title=str(row.get("title") or ""),
        topic=str(row.get("topic") or ""),
        source=f"{place.path}:{place.line}",
        extra=extra,
    )


def _first_filled(row: Row, fields: Sequence[str]) -> str:
    """Return the first of the fields that the row has a value for; empty if it has none."""
    for name in fields:
        if row.get(name) not in (None, ""):
            return name
    return ""
