"""The texts of a collection that share most words with a query, by BM25; the same ones on every machine."""

from collections.abc import Sequence
from typing import NamedTuple

import bm25s
import numpy as np


class NearText(NamedTuple):
    """The place of a text in its collection, and its BM25 score."""

    place: int
    score: float


class NearestTexts:
    """A collection of texts, each as the list of its words, indexed for search by BM25."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        """Index the words of each text; a text may have none."""
        self._index = bm25s.BM25()
        words_of_texts = [list(words) or [""] for words in texts]  # the index refuses a text without words
        self._index.index(words_of_texts, show_progress=False, leave_progress=False)

    def search(self, words: Sequence[str], limit: int) -> list[NearText]:
        """Return at most ``limit`` texts that share a word with the query, the nearest first, equal ones by place."""
        query_words = [word for word in words if word]
        if not query_words:
            return []
        scores = self._index.get_scores(query_words)
        # The index's own search leaves the order of equal scores to the processor: NumPy partitions by its vectors.
        order = np.argsort(-scores, kind="stable")[:limit]
        nearest: list[NearText] = []
        for place in order.tolist():
            if scores[place] > 0:
                nearest.append(NearText(place, float(scores[place])))
        return nearest
