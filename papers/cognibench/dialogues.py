"""Which conversations are to be made of documents, for CogniBench (RefGPT, section 2.1).

It is a pure function of documents, lengths and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from ...gold.documents import Document
from ...programs.dialogue import Range

TURNS: Final = Range(3, 3)
WORDS: Final = Range(40, 200)


def plans(
    documents: Sequence[Document],
    seed: int = 0,
    *,
    turns: Range = TURNS,
    words: Range = WORDS,
) -> list[dict[str, Any]]:
    """Return the dialogues to make as rows of their generator, one a document.

    ``turns`` are exchanges of user and assistant, drawn from the range for each dialogue; ``words`` the length of every
    assistant message.
    """
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
