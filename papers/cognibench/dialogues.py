"""The conversations that are to be made of documents, for CogniBench (RefGPT, section 2.1).

It is a pure function of documents, lengths and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from ...gold.documents import Document
from ...programs.dialogue import Range


def draw_per_topic(documents: Sequence[Document], number: int, seed: int) -> list[Document]:
    """Return at most ``number`` documents of each topic by lot, in their order (appendix A.6, Figure 11).

    A document that is added takes the place of one of its topic, or of none.
    """
    documents_of_topic: dict[str, list[Document]] = {}
    for document in documents:
        documents_of_topic.setdefault(document.topic, []).append(document)
    drawn_ids: set[str] = set()
    for of_topic in documents_of_topic.values():
        by_lot = sorted(of_topic, key=lambda document: _lot(seed, document.id))
        drawn_ids.update(document.id for document in by_lot[:number])
    return [document for document in documents if document.id in drawn_ids]


def _lot(seed: int, document_id: str) -> bytes:
    """Return the lot that a document draws."""
    return hashlib.sha256(f"{seed}\x1f{document_id}".encode("utf-8", "surrogatepass")).digest()


def dialogue_rows(
    documents: Sequence[Document], seed: int, *, turns: Range, words: Range
) -> list[dict[str, Any]]:
    """Return the dialogues to make, of so many turns and words a turn, as rows of their generator, one a document."""
    rows = []
    for document in documents:
        chance = int.from_bytes(_lot(seed, document.id)[:8], "big") >> 1
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
