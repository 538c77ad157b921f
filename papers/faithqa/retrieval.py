"""The fact check with retrieval (appendix A.5.3): errors that are found are checked again against a corpus.

A corpus is a folder of ``.txt`` and ``.md``, or a file of rows with ``text`` and perhaps ``title``. A process reads it
once, and keeps it in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from ...gold.documents import read_documents
from ...programs.faithqa.judges import DRAWS, FACT_CHECK
from ...programs.faithqa.programs import CheckThenRetrieve
from ...programs.judge import Judge
from ...programs.stepwise import Making
from ...text.nearest_texts import NearestTexts
from ...text.passages import passages
from ...text.terms import terms


class Passages:
    """Passages of texts, indexed for search by BM25."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Index texts by their content words."""
        self.texts = tuple(texts)
        self._nearest = NearestTexts([terms(text) for text in texts])

    def search(self, query: str, limit: int = 5) -> list[str]:
        """Return at most ``limit`` passages that share a word with the query, the nearest first."""
        return [self.texts[near.place] for near in self._nearest.search(terms(query), limit)]


@cache
def index_corpus(path: str) -> Passages:
    """Return the indexed passages of the corpus at a path, each with the title of its document before it."""
    texts = []
    for document in read_documents(path):
        for passage in passages(document.text):
            texts.append(" ".join(f"{document.title}: {passage}".split()))
    return Passages(texts)


@dataclass(frozen=True)
class Corpus:
    """The search in the corpus at a path. A copy of a program copies this, and not the passages."""

    path: str

    def __call__(self, query: str) -> list[str]:
        """Return the passages nearest to a query, the nearest first."""
        return index_corpus(self.path).search(query)


def fact_check(corpus: str) -> Judge:
    """Return the judge ``fact-check-retrieval``, which checks errors again against passages of a corpus.

    Commands take it from a Python file with ``judge = fact_check("reference/")``. The corpus is read at once, so that a
    fault of it is found before anything is asked.
    """
    index_corpus(corpus)
    return replace(
        FACT_CHECK,
        name="fact-check-retrieval",
        variant="retrieval",
        description="FAITHQA: the same; errors found are checked again against passages of a corpus",
        program=Making(CheckThenRetrieve, (Corpus(corpus),)),
        most_calls=DRAWS + 1,
    )
