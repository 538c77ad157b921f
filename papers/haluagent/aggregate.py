"""From verified questions to the three formats (section 3.3), one question after the other.

Near-duplicate questions are left out. Every question gives a generative item and two true-or-false ones (its
correct answer, and one of its hallucinated answers). One with three hallucinated answers gives a single-choice
item too, if all four options are distinct. Options are shuffled by the seed, and the correct one stands
at each of the four places equally often, give or take one.
"""

import math
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

from ...programs.haluagent.writing import ALIKE, alike, shingles
from .items import FORMATS, LETTERS, Choice, Generative, Item, Question, TrueFalse

_WRONG = len(LETTERS) - 1  # hallucinated options of a single-choice item


class NearDuplicates:
    """The questions that were kept so far, within a document and across documents, without comparing every pair.

    Two texts whose character pairs have a Jaccard similarity of at least t share one among the rarest pairs of each:
    of n pairs, in any fixed order, the first n - ceil(t n) + 1 are enough to look up (prefix filtering). What is looked
    up stands in a file, so that memory does not grow with it, until it is closed.
    """

    def __init__(self, questions: Iterable[str]) -> None:
        self._often = Counter(pair for question in questions for pair in shingles(question))
        self._kept = sqlite3.connect("")  # a temporary file that goes with the connection
        self.close = self._kept.close
        self._kept.executescript(
            "create table asked (place integer primary key, name text, question text, answer text);"
            "create table pairs (pair text, place integer, primary key (pair, place)) without rowid;"
        )

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


@dataclass(frozen=True, kw_only=True)
class Made:
    """What became of a question."""

    question: Question
    items: tuple[Item, ...] = ()  # in the order of the formats; none if it was left out
    dropped: str = ""  # why it is not there in a format or at all; empty if it is


def questions_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Question]:
    """Yield the questions of verified rows, each of which holds one hallucinated answer."""
    for name, group in groupby(rows, key=lambda row: row["question_id"]):
        ones = list(group)
        answers = [{"text": row["hallucinated_answer"], "type": row["type"]} for row in ones]
        yield Question.model_validate({**ones[0], "id": name, "hallucinated": answers})


def aggregate(questions: Callable[[], Iterable[Question]], seed: int = 0) -> Iterator[Made]:
    """Yield what becomes of each question, in their order; the same for the same questions and seed."""
    places = _balanced(seed)
    with closing(NearDuplicates(one.question for one in questions())) as near:
        for one in questions():
            first = near.first(one.id, one.question, one.correct_answer)
            if first is not None:
                yield Made(question=one, dropped=f"the question is a near-duplicate of {first}")
                continue
            texts = [one.correct_answer, *(wrong.text for wrong in one.hallucinated[:_WRONG])]
            whole, same = len(texts) > _WRONG, any(alike(*pair) for pair in combinations(texts, 2))
            place = next(places) if whole and not same else None
            dropped = "no single-choice item: two options are near-duplicates" if whole and same else ""
            yield Made(question=one, items=(*_items(one, place, seed),), dropped=dropped)


def _items(one: Question, place: int | None, seed: int) -> Iterator[Item]:
    """Yield the items of a question, a single-choice one if its correct option has a place."""
    about = {"group": one.group, "topic": one.topic, "language": one.language, "question": one.question}
    shared: dict[str, Any] = {**about, "type": one.primary}
    wrong = next(wrong.text for wrong in one.hallucinated if wrong.type == one.primary)
    yield Generative(
        id=f"{one.id}/generative",
        correct_answer=one.correct_answer,
        passage=one.passage,
        hallucinated_answer=wrong,
        entity=one.title,
        **shared,
    )
    if place is not None:
        ordered: list[tuple[str, str]] = [(answer.text, answer.type) for answer in one.hallucinated[:_WRONG]]
        _rng(seed, one.id).shuffle(ordered)
        ordered.insert(place, (one.correct_answer, "correct"))
        options = {"options": [text for text, _ in ordered], "option_types": [kind for _, kind in ordered]}
        choice = {**options, "correct": LETTERS[place]}
        yield Choice.model_validate({"id": f"{one.id}/single-choice", **choice, **shared})
    false = _rng(seed, f"{one.id}/wrong").choice(one.hallucinated)
    yield TrueFalse(id=f"{one.id}/true", answer=one.correct_answer, correct=True, **shared)
    yield TrueFalse(id=f"{one.id}/false", answer=false.text, correct=False, **{**shared, "type": false.type})


class Statistics:
    """Counts of what is made, item by item."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._document: str | None = None

    def add(self, made: Made) -> None:
        """Count what became of a question; those of one document stand together."""
        self._counts["dropped", ""] += bool(made.dropped)
        self._counts.update(("formats", item.format) for item in made.items)
        self._counts.update(("positions", item.correct) for item in made.items if isinstance(item, Choice))
        for item in made.items[:1]:
            names = ("topic", "type", "language")
            self._counts.update((name, str(getattr(item, name)) or "-") for name in names)
            self._counts["documents", ""] += item.group != self._document
            self._document = item.group

    def to_json(self) -> dict[str, Any]:
        """Return how many items there are by format (Table 4), and questions by topic, type and language (Figure 6)."""
        formats = {name: self._counts["formats", name] for name in FORMATS}
        named = {
            f"{name}s": {
                value: count for (kind, value), count in sorted(self._counts.items()) if kind == name
            }
            for name in ("topic", "type", "language")
        }
        return {
            "items": sum(formats.values()),
            "formats": formats,
            "questions": formats["generative"],
            "documents": self._counts["documents", ""],
            **named,
            "correct_positions": {letter: self._counts["positions", letter] for letter in LETTERS},
            "dropped": self._counts["dropped", ""],
        }


def _rng(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}")


def _balanced(seed: int) -> Iterator[int]:
    """Yield places from 0 to 3 for ever: each of every four is there once, in an order of its own."""
    rng, size = _rng(seed, "positions"), len(LETTERS)
    while True:
        yield from rng.sample(range(size), size)
