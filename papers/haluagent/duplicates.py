"""Near-duplicate questions, within a document and across documents, without comparing every pair.

Two texts whose character pairs have a Jaccard similarity of at least t share one among the rarest pairs of each: of n
pairs, in any fixed order, the first n - ceil(t n) + 1 are enough to look up (prefix filtering). What is looked up
stands in a file, so that memory does not grow with it.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable
from types import TracebackType

from ...programs.haluagent.checks import ALIKE, alike, shingles


class NearDuplicates:
    """The questions that were kept so far; a context manager, because it holds a file of its own."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._often = Counter(pair for question in questions for pair in shingles(question))
        self._kept = sqlite3.connect("")  # a temporary file that goes with the connection
        self._kept.executescript(
            "create table asked (place integer primary key, name text, question text, answer text);"
            "create table pairs (pair text, place integer, primary key (pair, place)) without rowid;"
        )

    def __enter__(self) -> "NearDuplicates":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.close()

    def first(self, name: str, question: str, answer: str = "") -> str | None:
        """Return the name of the first question that was kept and is like this one; keep this one if there is none.

        Near-duplicates are alike in the question, and the question with its answer is alike too: a question about
        another year has another answer.
        """
        ordered = sorted(shingles(question), key=lambda pair: (self._often[pair], pair))
        prefix = ordered[: len(ordered) - math.ceil(ALIKE * len(ordered)) + 1]
        near = self._kept.execute(
            "select name, question, answer from asked where place in (select place from pairs where pair in "
            f"({', '.join('?' * len(prefix))})) order by place",
            prefix,
        )
        for other, asked, said in near:
            if alike(question, asked) and alike(f"{question} {answer}", f"{asked} {said}"):
                return str(other)
        place = self._kept.execute(
            "insert into asked (name, question, answer) values (?, ?, ?)", (name, question, answer)
        ).lastrowid
        self._kept.executemany("insert into pairs values (?, ?)", [(pair, place) for pair in prefix])
        return None
