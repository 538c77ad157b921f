"""Documents that generators write from: rows with ``text``, folders of ``.txt`` and ``.md``, references of gold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import text_hash
from ..errors import GoldError
from ..text.escaping import well_formed
from ..text.wording import is_chinese
from .files import Place, text_of
from .sources import All, OnBad, Reading, read, refuse

if TYPE_CHECKING:
    from ..programs.judge import Judge

_PLAIN = {".txt", ".md"}
_TEXT = ("text", "reference")
_OWN = ("id", "group", "title", "topic", "language", "source")
_ABOUT = ("question", "history", "sentences", "response", "turns")
"""Fields of rows that are not documents but say something about a reference."""
_GOLD = ("gold.jsonl", "dialogues.json", "data/dialogues.json")
"""Files by which a folder is gold, whatever texts lie beside them."""
_HEADING = re.compile(r"\s*#{1,6}\s+(\S.*)")


@dataclass(frozen=True, kw_only=True)
class Document:
    """One text."""

    id: str  # unique among the documents of a job; stable when others are added
    text: str  # what is written from
    title: str = ""  # what it is about; empty if nobody said so
    topic: str = ""  # its subject area; empty if nobody said so
    source: str = ""  # where it stands, for messages
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # what else its row says, by name

    @property
    def language(self) -> str:
        """``zh`` where half of the words are Chinese, else ``en``."""
        return "zh" if is_chinese(self.text) else "en"


def read_for(judge: Judge, source: str | Path, on_bad: OnBad = refuse) -> Reading[All]:
    """Read rows for a judge: documents where it takes documents, else whatever the source holds."""
    return document_rows(source, judge.document) if judge.document else read(source, on_bad)


def nothing_for(judge: Judge, rows: int, path: str) -> GoldError:
    """Return the error of a source without rows, or in which none holds anything for the judge, or the generator."""
    if not rows:
        return GoldError("there are no rows", path=path, hint="give at least one row")
    if judge.document:
        said, hint = f"none of the {rows} documents has words to write from", "give documents with sentences"
    else:
        said = f"none of the {rows} rows holds anything that judge {judge.name} judges"
        hint = "give other rows, or the judge whose rows these are"
    return GoldError(said, path=path, hint=hint)


def document_rows(source: str | Path, name: str) -> Reading[All]:
    """Read documents as rows for a program."""
    rows = []
    for number, one in enumerate(read_documents(source, name), 1):
        row = {"id": one.id, "group": one.id, "title": one.title, "topic": one.topic, "source": one.source}
        row = {**one.extra, **row, "language": one.language, name: one.text}
        rows.append((Place(str(source), number), row))
    return Reading(name=Path(source).stem or "documents", path=str(source), rows=rows)


def read_documents(source: str | Path, name: str = "") -> tuple[Document, ...]:
    """Read documents, in the order of the file or by file name; equal ones are one."""
    documents: dict[str, Document] = {}
    for document in _documents(source, (*_TEXT, name) if name else _TEXT):
        other = documents.setdefault(document.id, document)
        if other.text != document.text:
            raise GoldError(
                f"another document with the id {document.id!r} stands at {other.source}",
                path=document.source,
                hint="give every document an id of its own",
            )
    return tuple(documents.values())


def _documents(source: str | Path, keys: Sequence[str]) -> Iterator[Document]:
    path = Path(source)
    files = [path] if path.suffix.lower() in _PLAIN and path.is_file() else []
    if path.is_dir() and not any((path / name).is_file() for name in _GOLD):
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _PLAIN and file.is_file())
    if files:
        yield from (_plain(file, path if path.is_dir() else path.parent) for file in files)
        return
    names: dict[str, str] = {}  # text of a reference -> the id of its document
    groups: set[str] = set()
    for place, row in read(source).rows:
        document = _document(row, keys, place)
        if not row.get("text") and any(name in row for name in _ABOUT):
            # rows of gold on one reference are one document, called by their group
            group = str(row.get("group") or text_hash(document.text)[:12])
            if document.text not in names and group in groups:
                group = f"{group}-{text_hash(document.text)[:8]}"
            document = replace(document, id=names.setdefault(document.text, group))
            groups.add(group)
        yield document


def _plain(path: Path, root: Path) -> Document:
    text = text_of(path, str(path)).strip()
    if not text:
        raise GoldError("the document is empty", path=str(path), hint="remove it")
    first, _, rest = text.partition("\n")
    heading = _HEADING.match(first)
    name = str(path.relative_to(root).with_suffix("")).replace("\\", "/")
    if heading and rest.strip():
        return Document(id=name, text=rest.strip(), title=heading[1].rstrip(), source=str(path))
    return Document(id=name, text=text, title=path.stem.replace("-", " ").replace("_", " "), source=str(path))


def _document(row: Mapping[str, Any], keys: Sequence[str], place: Place) -> Document:
    name = next((name for name in keys if row.get(name) not in (None, "")), "text")
    text = row.get(name)
    if not isinstance(text, str) or not text.strip():
        have = ", ".join(map(repr, list(row)[:8])) or "nothing"
        raise place.wrong(
            "the document has no text", name, hint=f"the row has {have}; give it a field 'text'"
        )
    for key, value in row.items():
        if isinstance(value, str) and value != well_formed(value):
            raise place.wrong("it holds half a character", key, hint="correct it, or remove the row")
    given = next((row[key] for key in ("id", "group") if row.get(key) not in (None, "")), None)
    return Document(
        id=str(given) if given is not None else text_hash(text)[:12],
        text=text.strip(),
        title=str(row.get("title") or ""),
        topic=str(row.get("topic") or ""),
        source=f"{place.path}:{place.line}",
        extra={key: value for key, value in row.items() if key not in (*_OWN, name)},
    )
