"""The conversations that are to be made of documents, for CogniBench (RefGPT, section 2.1).

It is a pure function of documents, lengths and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from ...errors import plural
from ...gold.documents import Document, read_documents
from ...jobs.generation import Generation, Recipe, Writing, WritingRequest
from ...programs.dialogue import Range, range_of
from ...text.wording import count_words


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
                "topic": document.topic,
                "language": document.language,
                "reference": document.text,
                "turns": turns.low + chance % (turns.high - turns.low + 1),
                "words": str(words),
                "source": document.source,
                "draw": chance >> 32,  # the sample number of its calls: other dialogues are other draws
            }
        )
    return rows


def _plan(request: WritingRequest) -> Writing:
    """Return the job that writes dialogues about documents, and a warning where documents are too short for them."""
    settings = request.settings
    turns, words = range_of(settings["turns"], "--turns"), range_of(settings["words"], "--words")
    documents: Sequence[Document] = read_documents(request.documents)
    if settings["per_topic"] is not None:
        documents = draw_per_topic(documents, settings["per_topic"], request.seed)
    rows = dialogue_rows(documents, request.seed, turns=turns, words=words)
    job = Generation(
        loaded=request.loaded,
        cases=tuple(map(request.loaded.judge.case, rows)),
        budget=request.budget,
        settings={"seed": request.seed},
    )
    warning = _short_documents_words(documents, turns, words)
    return Writing(job=job, output=request.output, noun="dialogues", warning=warning)


def _short_documents_words(documents: Sequence[Document], turns: Range, words: Range) -> str:
    """Return how many documents are shorter than the answers that are asked for, and what to ask; empty if none is."""
    lengths = sorted(count_words(document.text) for document in documents)
    needed = turns.low * words.low
    short_count = sum(length < needed for length in lengths)
    if not short_count:
        return ""
    fitting = min(words.low, max(5, lengths[0] // 10 * 5))  # about half of the shortest document
    return (
        f"{short_count} of {plural(len(lengths), 'document')} have fewer words ({lengths[0]} to {lengths[-1]}) than "
        f"the {needed} that {turns.low} answers of {words.low} words or more take: longer documents, or "
        f"--turns 1 --words {fitting}-{words.high}, fit together"
    )


RECIPE: Final = Recipe(
    generators=("dialogue",),
    settings={"turns": "3", "words": "40-200", "per_topic": None},
    plan=_plan,
)
"""Dialogues, one of each document."""
