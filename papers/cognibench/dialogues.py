"""Which conversations are to be made of documents, for CogniBench (RefGPT, section 2.1).

It is a pure function of documents, lengths and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ...errors import UsageError
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
    per_topic: int | None = None,
) -> list[dict[str, Any]]:
    """Return the dialogues to make as rows of their generator, one a document.

    ``turns`` are exchanges of user and assistant, drawn from the range for each dialogue; ``words`` the length of every
    assistant message; ``per_topic`` draws so many documents of each topic.
    """
    rows = []
    for document in documents if per_topic is None else _uniform(documents, per_topic, seed):
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


def _uniform(documents: Sequence[Document], per_topic: int, seed: int) -> list[Document]:
    """Return so many documents of each topic (appendix A.6); which ones follows from the seed and their ids."""

    def lot(document: Document) -> str:
        return hashlib.sha256(f"{seed}/{document.id}".encode("utf-8", "surrogatepass")).hexdigest()

    topics = Counter[str]()
    drawn = set[str]()
    for document in sorted(documents, key=lot):
        topics[document.topic] += 1
        drawn |= {document.id} if topics[document.topic] <= per_topic else set()
    if short := [topic or "no topic" for topic, count in topics.items() if count < per_topic]:
        raise UsageError(
            f"there are fewer than {per_topic} documents of {', '.join(sorted(short))}",
            hint=f"give a --per-topic of {min(topics.values())} or less, or more documents",
        )
    return [document for document in documents if document.id in drawn]
