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
from dataclasses import dataclass, field
from itertools import combinations, groupby
from types import TracebackType
from typing import Any

from ...programs.haluagent.writing import ALIKE, alike, shingles
from .items import FORMATS, LETTERS, Choice, Generative, Item, Question, TrueFalse


class NearDuplicates:
    """The questions that were kept so far, within a document and across documents, without comparing every pair.

    Two texts whose character pairs have a Jaccard similarity of at least t share one among the rarest pairs of each:
    of n pairs, in any fixed order, the first n - ceil(t n) + 1 are enough to look up (prefix filtering). What is looked
    up stands in a file, so that memory does not grow with it; a context manager closes it.
    """

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


@dataclass(frozen=True, kw_only=True)
class Made:
    """What became of a question."""

    question: Question  # the question
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
    with NearDuplicates(one.question for one in questions()) as near:
        for one in questions():
            first = near.first(one.id, one.question, one.correct_answer)
            if first is not None:
                yield Made(question=one, dropped=f"the question is a near-duplicate of {first}")
                continue
            shared: dict[str, Any] = {
                "group": one.group,
                "topic": one.topic,
                "language": one.language,
                "type": one.primary,
            }
            whole = len(one.hallucinated) >= len(LETTERS) - 1
            texts = [one.correct_answer, *(wrong.text for wrong in one.hallucinated[: len(LETTERS) - 1])]
            choosable = whole and not any(alike(*pair) for pair in combinations(texts, 2))
            chosen = [_choice(one, shared, next(places), seed)] if choosable else []
            generative = Generative(
                id=f"{one.id}/generative",
                question=one.question,
                correct_answer=one.correct_answer,
                passage=one.passage,
                hallucinated_answer=next(
                    wrong.text for wrong in one.hallucinated if wrong.type == one.primary
                ),
                entity=one.title,
                **shared,
            )
            yield Made(
                question=one,
                items=(generative, *chosen, *_true_false(one, shared, seed)),
                dropped="no single-choice item: two options are near-duplicates"
                if whole and not choosable
                else "",
            )


@dataclass
class Statistics:
    """Counts of what is made, item by item."""

    formats: Counter[str] = field(default_factory=Counter)
    positions: Counter[str] = field(default_factory=Counter)
    shares: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in ("topic", "type", "language")}
    )
    documents: int = 0
    dropped: int = 0
    _last: str = ""

    def add(self, made: Made) -> None:
        """Count what became of a question; those of one document stand together."""
        self.dropped += bool(made.dropped)
        self.formats.update(item.format for item in made.items)
        self.positions.update(item.correct for item in made.items if isinstance(item, Choice))
        for name, counts in self.shares.items() if made.items else ():
            counts[str(getattr(made.items[0], name)) or "-"] += 1
        if made.items and made.question.group != self._last:
            self.documents, self._last = self.documents + 1, made.question.group

    def to_json(self) -> dict[str, Any]:
        """Return how many items there are by format (Table 4), and questions by topic, type and language (Figure 6)."""
        return {
            "items": self.formats.total(),
            "formats": {name: self.formats[name] for name in FORMATS},
            "questions": self.formats["generative"],
            "documents": self.documents,
            **{f"{name}s": dict(sorted(counts.items())) for name, counts in self.shares.items()},
            "correct_positions": {letter: self.positions[letter] for letter in LETTERS},
            "dropped": self.dropped,
        }


def _rng(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}")


def _balanced(seed: int) -> Iterator[int]:
    """Yield places from 0 to 3 for ever: each of every four is there once, in an order of its own."""
    rng, size = _rng(seed, "positions"), len(LETTERS)
    while True:
        yield from rng.sample(range(size), size)


def _choice(one: Question, shared: Mapping[str, Any], place: int, seed: int) -> Choice:
    others = list(one.hallucinated[: len(LETTERS) - 1])
    _rng(seed, one.id).shuffle(others)
    options = [answer.text for answer in others]
    kinds: list[Any] = [answer.type for answer in others]
    options.insert(place, one.correct_answer)
    kinds.insert(place, "correct")
    return Choice.model_validate(
        {
            "id": f"{one.id}/single-choice",
            "question": one.question,
            "options": options,
            "option_types": kinds,
            "correct": LETTERS[place],
            **shared,
        }
    )


def _true_false(one: Question, shared: Mapping[str, Any], seed: int) -> list[TrueFalse]:
    wrong = _rng(seed, f"{one.id}/wrong").choice(one.hallucinated)
    return [
        TrueFalse(
            id=f"{one.id}/true", question=one.question, answer=one.correct_answer, correct=True, **shared
        ),
        TrueFalse(
            id=f"{one.id}/false",
            question=one.question,
            answer=wrong.text,
            correct=False,
            **{**shared, "type": wrong.type},
        ),
    ]
