"""The conversations that are to be made of documents, for CogniBench (RefGPT, section 2.1).

It is a pure function of documents, lengths and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from ...gold.documents import Document
from ...programs.dialogue import Range


def plans(documents: Sequence[Document], seed: int, *, turns: Range, words: Range) -> list[dict[str, Any]]:
    """Return the dialogues to make, of so many turns and words a turn, as rows of their generator, one a document."""
    rows = []
    for document in documents:
        digest = hashlib.sha256(f"{seed}\x1f{document.id}".encode("utf-8", "surrogatepass")).digest()
        chance = int.from_bytes(digest[:8], "big") >> 1
        rows.append(
            {
                "id": document.id,
                "group": document.id,
                "title": document.title,
                "topic": document.title or document.topic,
                "language": document.language,
                "reference": document.text,
                "turns": turns.low + chance % (turns.high - turns.low + 1),
                "words": str(words),
                "source": document.source,
                "draw": chance >> 32,  # the sample number of its calls: other dialogues are other draws
            }
        )
    return rows
