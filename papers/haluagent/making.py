"""From verified questions to the three formats (section 3.3), and to the benchmark's folder with its card.

Near-duplicate questions are left out. Every question gives a generative item and two true-or-false ones (its
correct answer, and one of its hallucinated answers). One with three hallucinated answers gives a single-choice
item too, if all four options are distinct. Options are shuffled by the seed, and the correct one stands
at each of the four places equally often, give or take one. Everything follows from the two files of a generation and
the seed, and is written anew each time.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

from ...evaluation.intervals import Share, breakdown
from ...evaluation.plain import plain
from ...gold.near import clusters, sketches
from ...gold.writing import json_text, write_whole
from ...jobs.generation import Generation, rejects_path
from ...programs.haluagent.writing import alike
from ...report.table import Table, table
from ...text.terms import numbers
from .items import FORMATS, LETTERS, Choice, Generative, Item, Question, TrueFalse, item_line

_WRONG = len(LETTERS) - 1  # hallucinated options of a single-choice item


@dataclass(frozen=True, kw_only=True)
class Made:
    """What became of a question."""

    question: Question
    items: tuple[Item, ...] = ()  # in the order of the formats; none if it was left out
    dropped: str = ""  # why it is not there in a format or at all; empty if it is


def aggregate(questions: Sequence[Question], seed: int = 0) -> Iterator[Made]:
    """Yield what becomes of each question, in their order; the same for the same questions and seed."""
    places, firsts = _balanced(seed), dict[Any, str]()
    texts = [f"{question.question} {question.correct_answer}" for question in questions]
    for question, text, cluster in zip(questions, texts, clusters(sketches(texts)), strict=True):
        # A question about another year is another question.
        first = firsts.setdefault((cluster, frozenset(numbers(text))), question.id)
        if first != question.id:
            yield Made(question=question, dropped=f"the question is a near-duplicate of {first}")
            continue
        options = [question.correct_answer, *(wrong.text for wrong in question.hallucinated[:_WRONG])]
        enough, same = len(options) > _WRONG, any(alike(*pair) for pair in combinations(options, 2))
        place = next(places) if enough and not same else None
        dropped = "no single-choice item: two options are near-duplicates" if enough and same else ""
        yield Made(question=question, items=(*_items(question, place, seed),), dropped=dropped)


def _items(question: Question, place: int | None, seed: int) -> Iterator[Item]:
    """Yield the items of a question, a single-choice one if its correct option has a place."""
    shared: dict[str, Any] = {
        **{name: getattr(question, name) for name in ("group", "topic", "language", "question")},
        "type": question.primary,
    }
    wrong = next(wrong.text for wrong in question.hallucinated if wrong.type == question.primary)
    yield Generative(
        id=f"{question.id}/generative",
        correct_answer=question.correct_answer,
        passage=question.passage,
        hallucinated_answer=wrong,
        entity=question.title,
        **shared,
    )
    if place is not None:
        ordered: list[tuple[str, str]] = [
            (answer.text, answer.type) for answer in question.hallucinated[:_WRONG]
        ]
        _rng(seed, question.id).shuffle(ordered)
        ordered.insert(place, (question.correct_answer, "correct"))
        options = {"options": [text for text, _ in ordered], "option_types": [kind for _, kind in ordered]}
        choice = {**options, "correct": LETTERS[place]}
        yield Choice.model_validate({"id": f"{question.id}/single-choice", **choice, **shared})
    false = _rng(seed, f"{question.id}/wrong").choice(question.hallucinated)
    yield TrueFalse(id=f"{question.id}/true", answer=question.correct_answer, correct=True, **shared)
    yield TrueFalse(
        id=f"{question.id}/false", answer=false.text, correct=False, **{**shared, "type": false.type}
    )


def statistics(made: Sequence[Made]) -> dict[str, Any]:
    """Return how many items there are by format (Table 4), and questions by topic, type and language (Figure 6)."""
    items = [item for question in made for item in question.items]
    formats = Counter(item.format for item in items)
    first = [question.items[0] for question in made if question.items]
    positions = Counter(str(item.correct) for item in items if isinstance(item, Choice))
    named = {
        f"{name}s": dict(sorted(Counter(str(getattr(item, name)) or "-" for item in first).items()))
        for name in ("topic", "type", "language")
    }
    return {
        "items": len(items),
        "formats": {name: formats[name] for name in FORMATS},
        "questions": formats["generative"],
        "documents": len({item.group for item in first}),
        **named,
        "correct_positions": {letter: positions[letter] for letter in LETTERS},
        "dropped": sum(bool(question.dropped) for question in made),
    }


def _rng(seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}")


def _balanced(seed: int) -> Iterator[int]:
    """Yield places from 0 to 3 for ever: each of every four is there once, in an order of its own."""
    rng, size = _rng(seed, "positions"), len(LETTERS)
    while True:
        yield from rng.sample(range(size), size)


def write_benchmark(
    job: Generation, verified: Path, *, topics: Mapping[str, str], seed: int = 0
) -> dict[str, Any]:
    """Write what the verified items aggregate to beside them, and return what stands in ``CARD.json``."""
    good, bad = _rows(verified), _rows(rejects_path(verified))
    questions = []
    for name, rows in groupby(good, key=lambda row: row["question_id"]):  # a row has one hallucinated answer
        own = list(rows)
        about = {**own[0], "id": name, "topic": topics.get(own[0]["group"], "")}
        answers = [{"text": row["hallucinated_answer"], "type": row["type"]} for row in own]
        questions.append(Question.model_validate({**about, "hallucinated": answers}))
    made = list(aggregate(questions, seed))
    left_out = [
        json_text({"question": one.question.id, "reason": one.dropped}) for one in made if one.dropped
    ]
    items = [item_line(item) for one in made for item in one.items]
    for name, lines in (("benchmark", items), ("benchmark.rejects", left_out)):
        write_whole("".join(f"{line}\n" for line in lines), verified.with_name(f"{name}.jsonl"))
    checks = job.generator.checked.checks
    cells = []  # the share of the written items that pass all checks, and each, by document
    for row in (*good, *bad):
        failed = {reason.split(":")[0] for reason in row.get("reasons", ())}
        cells.append((row["group"], "", "overall", float(not failed), 1.0))
        cells += [(row["group"], "", name, float(name not in failed), 1.0) for name in checks]
    accepted = breakdown(cells).get("", {}) or dict.fromkeys(("overall", *checks), Share.over(()))
    card = {
        "documents": len(topics),
        "seed": seed,
        "made": job.row_stamp(),
        "passages": len(job.cases),
        "acceptance": plain(accepted),
        "statistics": statistics(made),
    }
    write_whole(json_text(card, indent=2) + "\n", verified.with_name("CARD.json"))
    return card


def _rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of items; documents of which none was written have no row of their own here."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if "hallucinated_answer" in row]


def card_tables(card: Mapping[str, Any]) -> list[Table]:
    """Return what passed and what it aggregates to; topics, types and languages are in the card."""
    counts, accepted = card["statistics"], card["acceptance"]
    return [
        table(
            "share of written items that pass [95 % interval]",
            tuple(accepted),
            [[str(Share(**share)) for share in accepted.values()]],
        ),
        table(
            f"items by format (as C-FAITH Table 4); {counts['dropped']} questions are not there in a format or at all",
            ("overall", *counts["formats"]),
            [[counts["items"], *counts["formats"].values()]],
        ),
    ]
