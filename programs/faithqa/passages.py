"""Passages of a user's own files, found by BM25: the reference work of the fact check (appendix A.5.3).

A corpus is a file or a folder of texts (``.txt``, ``.md``) and of JSON lines with ``text`` and perhaps ``title``, as
extractors of Wikipedia dumps write them. It is held in memory, and read once in a process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import bm25s

from ...errors import UsageError
from ...text.terms import content_terms

__all__ = ["Passages", "passages_of"]

_WORDS: Final = 120  # of a passage; a longer paragraph is cut
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_TEXTS: Final = (".txt", ".md")


@dataclass(frozen=True)
class Passages:
    """Indexed passages.

    Attributes:
        texts: each with the title of its document before it.
        index: the BM25 index over their content words.
    """

    texts: tuple[str, ...]
    index: Any

    def search(self, query: str, most: int = 5) -> list[str]:
        """Return at most ``most`` passages that share a word with the query, the nearest first."""
        terms = list(content_terms(query))
        if not terms:
            return []
        places, scores = self.index.retrieve(
            [terms], k=min(most, len(self.texts)), show_progress=False, leave_progress=False
        )
        return [self.texts[place] for place, score in zip(places[0], scores[0], strict=True) if score > 0]


@cache
def passages_of(path: str) -> Passages:
    """Return the passages of a file or of all files under a folder.

    Raises:
        UsageError: there is no such place, or no text in it, or a file in it cannot be read.
    """
    root = Path(path)
    if not root.exists():
        raise UsageError(
            f"{path}: no such file or folder", hint="name a folder of .txt, .md or JSON lines files"
        )
    files = sorted(one for one in root.rglob("*") if one.is_file()) if root.is_dir() else [root]
    texts = tuple(
        passage for file in files for title, body in _documents(file) for passage in _cut(title, body)
    )
    if not texts:
        raise UsageError(f"{path}: there is no text", hint="name a folder of .txt, .md or JSON lines files")
    index = bm25s.BM25()
    index.index(
        [list(content_terms(text)) or [""] for text in texts], show_progress=False, leave_progress=False
    )
    return Passages(texts, index)


def _documents(file: Path) -> Iterator[tuple[str, str]]:
    """Yield title and text of each document of a file; a file that is neither kind holds none."""
    try:
        body = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        if file.suffix in _TEXTS:
            raise UsageError(f"{file}: not UTF-8", hint="save it as UTF-8") from error
        return
    if file.suffix in _TEXTS:
        yield file.stem, body
        return
    for number, line in enumerate(body.splitlines(), 1):
        if not line.lstrip().startswith("{"):
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{file}:{number}: not a JSON object", hint="correct the line") from error
        if isinstance(row.get("text"), str):
            yield str(row.get("title") or file.stem), row["text"]


def _cut(title: str, body: str) -> Iterator[str]:
    for paragraph in _PARAGRAPH.split(body):
        words = paragraph.split()
        for start in range(0, len(words), _WORDS):
            yield f"{title}: {' '.join(words[start : start + _WORDS])}"
