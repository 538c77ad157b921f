"""From verified questions to the three formats (section 3.3).

Near-duplicate questions are removed first. Every question gives a generative item and two true-or-false ones (its
correct answer, and one of its hallucinated answers). One with three hallucinated answers gives a single-choice
item too, if all four options are distinct. Options are shuffled by the seed, and the correct one stands
at each of the four places equally often, give or take one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ...programs.haluagent.checks import alike
from .duplicates import duplicates
from .items import FORMATS, LETTERS, Choice, Generative, Hallucinated, Item, Question, TrueFalse

__all__ = ["Aggregated", "aggregate", "questions_of", "statistics"]


@dataclass(frozen=True, kw_only=True)
class Aggregated:
    """The benchmark.

    Attributes:
        items: in the order of the questions, and of the formats for each.
        dropped: (question, why it is not there in a format or at all).
    """

    items: tuple[Item, ...]
    dropped: tuple[tuple[Question, str], ...]


def questions_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Return the questions of verified rows, each of which holds one hallucinated answer.

    Args:
        rows: with ``question_id``, the fields of a question, ``hallucinated_answer`` and ``type``.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(row["question_id"], {**row, "id": row["question_id"], "hallucinated": []})
        one["hallucinated"].append(Hallucinated(text=row["hallucinated_answer"], type=row["type"]))
    return tuple(Question.model_validate(one) for one in found.values())


def aggregate(questions: Sequence[Question], seed: int = 0) -> Aggregated:
    """Return the items of questions in all formats; the same for the same questions and seed."""
    copies = duplicates([(one.question, one.correct_answer) for one in questions])
    kept = [one for place, one in enumerate(questions) if place not in copies]
    dropped = [
        (questions[place], f"the question is a near-duplicate of {questions[first].id}")
        for place, first in copies.items()
    ]
    whole = [one for one in kept if len(one.hallucinated) >= len(LETTERS) - 1]
    choosable = {one.id for one in whole if _distinct(one)}
    dropped += [
        (one, "no single-choice item: two options are near-duplicates")
        for one in whole
        if one.id not in choosable
    ]
    places = _balanced(len(choosable), seed)
    items: list[Item] = []
    for one in kept:
        shared = {"group": one.group, "topic": one.topic, "language": one.language, "type": one.primary}
        items.append(_generative(one, shared))
        if one.id in choosable:
            items.append(_choice(one, shared, next(places), seed))
        items += _true_false(one, shared, seed)
    return Aggregated(items=tuple(items), dropped=tuple(dropped))


def statistics(items: Sequence[Item]) -> dict[str, Any]:
    """Return how many items there are by format (Table 4), and questions by topic, type and language (Figure 6)."""
    formats = Counter(item.format for item in items)
    asked = [item for item in items if isinstance(item, Generative)]

    def counted(name: str) -> dict[str, int]:
        return dict(sorted(Counter(str(getattr(item, name)) or "-" for item in asked).items()))

    positions: Counter[str] = Counter(item.correct for item in items if isinstance(item, Choice))
    return {
        "items": len(items),
        "formats": {name: formats[name] for name in FORMATS},
        "questions": len(asked),
        "documents": len({item.group for item in items}),
        "topics": counted("topic"),
        "types": counted("type"),
        "languages": counted("language"),
        "correct_positions": {letter: positions[letter] for letter in LETTERS},
    }


def _rng(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}")


def _balanced(count: int, seed: int) -> Iterator[int]:
    """Yield a place from 0 to 3 for each of ``count`` items, each place as often as the others or once more."""
    rng, size = _rng(seed, "positions"), len(LETTERS)
    order = rng.sample(range(size), size)
    places = [order[number % size] for number in range(count)]
    rng.shuffle(places)
    yield from places


def _distinct(one: Question) -> bool:
    texts = [one.correct_answer, *(answer.text for answer in one.hallucinated[: len(LETTERS) - 1])]
    return not any(alike(first, second) for first, second in combinations(texts, 2))


def _of_primary(one: Question) -> Hallucinated:
    return next(answer for answer in one.hallucinated if answer.type == one.primary)


def _generative(one: Question, shared: Mapping[str, Any]) -> Generative:
    return Generative(
        id=f"{one.id}/generative",
        question=one.question,
        correct_answer=one.correct_answer,
        passage=one.passage,
        hallucinated_answer=_of_primary(one).text,
        entity=one.title,
        **shared,
    )


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
