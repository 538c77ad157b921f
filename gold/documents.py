"""Documents that generators write from: rows with ``text``, folders of ``.txt`` and ``.md``, references of gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cases import text_hash
from ..errors import GoldError
from ..programs.gold_readers import published_file
from ..text.escaping import well_formed
from ..text.wording import is_chinese
from .files import Place, text_of
from .sources import All, OnBad, Reading, read, refuse

if TYPE_CHECKING:
    from ..programs.judge import Judge

_PLAIN = {".txt", ".md"}
_OWN = ("id", "group", "title", "topic", "language", "source")


@dataclass(frozen=True, kw_only=True)
class Document:
    """One text."""

    id: str  # unique among the documents of a job; stable when others are added
    text: str  # what is written from
    title: str = ""  # what it is about; empty if nobody says so
    topic: str = ""  # its subject area; empty if nobody says so
    source: str = ""  # where it stands, for messages
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)  # what else its row says, by name

    @property
    def language(self) -> str:
        """``zh`` where half of the words are Chinese, else ``en``."""
        return "zh" if is_chinese(self.text) else "en"


def read_for(judge: Judge, source: str | Path, on_bad: OnBad = refuse) -> Reading[All]:
    """Read rows for a judge: documents where it takes documents, else whatever the source holds."""
    if not judge.document:
        return read(source, on_bad)
    rows = []
    for number, document in enumerate(read_documents(source, judge.document), 1):
        about = {key: getattr(document, key) for key in ("id", "title", "topic", "language", "source")}
        row = {**document.extra, **about, "group": document.id, judge.document: document.text}
        rows.append((Place(str(source), number), row))
    return Reading(name=Path(source).stem or "documents", path=str(source), rows=rows)


def nothing_for(judge: Judge, rows: int, path: str) -> GoldError:
    """Return the error of a source without rows, or in which none holds anything for the judge, or the generator."""
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
    """Read documents, in the order of the file or by file name; equal texts are one, as references of gold are."""
    documents: dict[str, Document] = {}
    ids: set[str] = set()
    path, keys = Path(source), ("text", "reference", *filter(None, [name]))
    texts = {file: text_of(file, str(file)).strip() for file in _texts(path)}
    if empty := [str(file) for file, text in texts.items() if not text]:
        message = f"documents that hold nothing: {len(empty)} of {len(texts)}"
        more = f" and {len(empty) - 8} more" if len(empty) > 8 else ""
        raise GoldError(message, path=str(path), hint=f"remove {', '.join(empty[:8])}{more}")
    root = path if path not in texts else path.parent
    plain_texts = [_plain(file, text, root) for file, text in texts.items()]
    for document in plain_texts or (_document(row, keys, place) for place, row in read(path).rows):
        if document.text not in documents:
            if document.id in ids:  # conversations may be on several references
                document = replace(document, id=f"{document.id}-{text_hash(document.text)[:8]}")
            documents[document.text] = document
            ids.add(document.id)
    return tuple(documents.values())


def _texts(path: Path) -> list[Path]:
    """Return the texts that a folder holds, or the file if it is one; none where rows are to be read."""
    files = [path]
    with suppress(OSError):  # a name that no file can have: reading rows says so
        if path.is_dir() and not _is_gold(path):
            files = sorted(path.rglob("*"))
        return [file for file in files if file.suffix.lower() in _PLAIN and file.is_file()]
    return []


def _is_gold(folder: Path) -> bool:
    """Return whether a folder is gold, whatever texts lie beside its rows, such as a guideline."""
    return (folder / "gold.jsonl").is_file() or published_file(folder) is not None


def _plain(path: Path, text: str, root: Path) -> Document:
    title, (first, _, rest) = path.stem.replace("-", " ").replace("_", " "), text.partition("\n")
    if first.startswith("#") and rest.strip():
        title, text = first.strip("# "), rest.strip()
    name = path.relative_to(root).with_suffix("").as_posix()
    return Document(id=name, text=text, title=title, source=str(path))


def _document(row: Mapping[str, Any], keys: Sequence[str], place: Place) -> Document:
    name = next((name for name in keys if row.get(name) not in (None, "")), "text")
    text = row.get(name)
    if not isinstance(text, str) or not text.strip():
        have = ", ".join(map(repr, list(row)[:8])) or "nothing"
        hint = f"the row has {have}; give it a field 'text'"
        raise place.wrong("the document has no text", name, hint=hint)
    for key, value in row.items():
        if isinstance(value, str) and value != well_formed(value):
            raise place.wrong("it holds half a character", key, hint="correct it, or remove the row")
    # rows of gold on one reference are called by their group
    named = ("group", "id") if name == "reference" else ("id", "group")
    return Document(
        id=next((str(row[key]) for key in named if row.get(key) not in (None, "")), text_hash(text)[:12]),
        text=text.strip(),
        title=str(row.get("title") or ""),
        topic=str(row.get("topic") or ""),
        source=f"{place.path}:{place.line}",
        extra={key: value for key, value in row.items() if key not in (*_OWN, name)},
    )
