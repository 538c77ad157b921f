"""Making the benchmark: items of three formats from verified questions (section 3.3), written with a card.

Near-duplicate questions are left out. Every other question gives a generative item and two true-or-false ones (with its
correct answer, and with one of its hallucinated answers). A question with three hallucinated answers gives a
single-choice item too, if no two of the four options are near-duplicates. Options are shuffled by the seed, and the
correct one stands at each of the four places equally often, give or take one. The benchmark depends only on the two
files of a generation and the seed; it is written anew each time.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, Final

from ...evaluation.intervals import Share, breakdown
from ...evaluation.plain import plain
from ...gold.documents import read_documents
from ...gold.goldset import Gold
from ...gold.near import clusters, sketches
from ...gold.splits import draw_cases
from ...gold.writing import json_text, write_whole
from ...jobs.generation import Description, Generation, Recipe, Writing, WritingRequest, rejects_path
from ...programs.haluagent.writing import are_near_duplicates, with_document_questions
from ...programs.languages import case_texts
from ...report.table import Table, table
from ...signatures.haluagent_labels import TYPES
from ...text.numerals import with_digits
from ...text.terms import numbers
from .items import FORMATS, LETTERS, Choice, Generative, Item, Question, TrueFalse, item_line

_WRONG_OPTIONS: Final = len(LETTERS) - 1  # hallucinated options of a single-choice item
_OVERALL: Final = "overall"
"""The name of the column for all checks together, and for all formats together."""


@dataclass(frozen=True, kw_only=True)
class QuestionItems:
    """The items that were made of a question."""

    question: Question
    items: tuple[Item, ...] = ()  # in the order of the formats; none if it was left out
    omission: str = ""  # why it has no single-choice item, or no item at all; empty if neither is so


def make_items(questions: Sequence[Question], seed: int = 0) -> Iterator[QuestionItems]:
    """Yield the items of each question, in the order of the questions; they depend on questions and seed alone."""
    positions = _balanced_positions(seed)
    texts = []
    for question in questions:
        texts.append(with_digits(f"{question.question} {question.correct_answer}"))
    text_clusters = clusters(sketches(texts))
    first_questions: dict[tuple[int, frozenset[str]], str] = {}
    for question, text, cluster in zip(questions, texts, text_clusters, strict=True):
        # Questions with different numbers, such as years, are different questions, however near their words are.
        key = (cluster, frozenset(numbers(text)))
        first_question = first_questions.setdefault(key, question.id)
        if first_question != question.id:
            reason = f"the question is a near-duplicate of {first_question}"
            yield QuestionItems(question=question, omission=reason)
            continue
        reason = ""
        position = None
        if len(question.hallucinated) >= _WRONG_OPTIONS:
            if _has_near_duplicates(_options(question)):
                reason = "no single-choice item: two options are near-duplicates"
            else:
                position = next(positions)
        items = tuple(_items_of_question(question, position, seed))
        yield QuestionItems(question=question, items=items, omission=reason)


def _options(question: Question) -> list[str]:
    """Return the texts of the options of a single-choice item, the correct one first."""
    options = [question.correct_answer]
    for answer in question.hallucinated[:_WRONG_OPTIONS]:
        options.append(answer.text)
    return options


def _has_near_duplicates(options: Sequence[str]) -> bool:
    """Say whether two of the options are near-duplicates."""
    return any(are_near_duplicates(first, second) for first, second in combinations(options, 2))


def _items_of_question(question: Question, position: int | None, seed: int) -> Iterator[Item]:
    """Yield the items of a question; a single-choice one unless the position of its correct option is ``None``."""
    common_fields: dict[str, Any] = {
        "group": question.group,
        "topic": question.topic,
        "language": question.language,
        "question": question.question,
        "type": question.primary,
    }
    primary_answer = next(answer for answer in question.hallucinated if answer.type == question.primary)
    yield Generative(
        id=f"{question.id}/generative",
        correct_answer=question.correct_answer,
        passage=question.passage,
        hallucinated_answer=primary_answer.text,
        entity=question.title,
        **common_fields,
    )
    if position is not None:
        yield _choice_of(question, position, seed, common_fields)
    false_answer = _rng(seed, f"{question.id}/wrong").choice(question.hallucinated)
    yield TrueFalse(id=f"{question.id}/true", answer=question.correct_answer, correct=True, **common_fields)
    # The item with a hallucinated answer has that answer's type in place of the question's.
    false_fields = {**common_fields, "type": false_answer.type}
    yield TrueFalse(id=f"{question.id}/false", answer=false_answer.text, correct=False, **false_fields)


def _choice_of(question: Question, position: int, seed: int, common_fields: Mapping[str, Any]) -> Choice:
    """Return a single-choice item with the correct option at a position, from 0."""
    options: list[tuple[str, str]] = []
    for answer in question.hallucinated[:_WRONG_OPTIONS]:
        options.append((answer.text, answer.type))
    _rng(seed, question.id).shuffle(options)
    options.insert(position, (question.correct_answer, "correct"))
    texts, types = [], []
    for text, answer_type in options:
        texts.append(text)
        types.append(answer_type)
    item = {
        "id": f"{question.id}/single-choice",
        "options": texts,
        "option_types": types,
        "correct": LETTERS[position],
        **common_fields,
    }
    return Choice.model_validate(item)


def item_statistics(questions_with_items: Sequence[QuestionItems]) -> dict[str, object]:
    """Return the numbers of items by format (Table 4), and of questions by topic, type and language (Figure 6)."""
    formats: Counter[str] = Counter()
    positions: Counter[str] = Counter()
    topics: Counter[str] = Counter()
    types: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    documents = set[str]()
    omissions = 0
    for question_items in questions_with_items:
        if question_items.omission:
            omissions += 1
        for item in question_items.items:
            formats[item.format] += 1
            if isinstance(item, Choice):
                positions[item.correct] += 1
        if question_items.items:  # the first item stands for its question, which counts once
            first_item = question_items.items[0]
            documents.add(first_item.group)
            topics[first_item.topic or "-"] += 1
            types[first_item.type] += 1
            languages[first_item.language or "-"] += 1
    return {
        "items": formats.total(),
        "formats": {name: formats[name] for name in FORMATS},
        "questions": formats["generative"],
        "documents": len(documents),
        "topics": dict(sorted(topics.items())),
        "types": dict(sorted(types.items())),
        "languages": dict(sorted(languages.items())),
        "correct_positions": {letter: positions[letter] for letter in LETTERS},
        "dropped": omissions,
    }


def _rng(seed: int, purpose: str) -> random.Random:
    """Return a random generator of its own for each purpose, so that one choice does not shift another."""
    return random.Random(f"{seed}/{purpose}")


def _balanced_positions(seed: int) -> Iterator[int]:
    """Yield positions from 0 to 3 for ever: each of every four once, in an order of its own."""
    rng = _rng(seed, "positions")
    size = len(LETTERS)
    while True:
        yield from rng.sample(range(size), size)


def write_benchmark(
    job: Generation, verified: Path, *, topics: Mapping[str, str], seed: int = 0
) -> dict[str, object]:
    """Write the items of the verified questions beside them, and return the contents of ``CARD.json``."""
    verified_rows = _read_item_rows(verified)
    rejected_rows = _read_item_rows(rejects_path(verified))
    questions_with_items = list(make_items(_join_questions(verified_rows, topics), seed))
    item_lines: list[str] = []
    rejected_lines: list[str] = []
    for question_items in questions_with_items:
        item_lines += map(item_line, question_items.items)
        if question_items.omission:
            line = {"question": question_items.question.id, "reason": question_items.omission}
            rejected_lines.append(json_text(line))
    _write_all_lines(verified.with_name("benchmark.jsonl"), item_lines)
    _write_all_lines(verified.with_name("benchmark.rejects.jsonl"), rejected_lines)
    card = {
        "documents": len(topics),
        "seed": seed,
        "made": job.row_stamp(),
        "questions_asked": len(job.cases),
        "yield_by_type": yield_by_type(job, verified_rows + rejected_rows),
        "acceptance": plain(_acceptance(verified_rows + rejected_rows, job.generator.checked.checks)),
        "statistics": item_statistics(questions_with_items),
    }
    _write_card(verified.with_name("CARD.json"), card)
    return card


def _write_all_lines(path: Path, lines: Sequence[str]) -> None:
    write_whole("".join(f"{line}\n" for line in lines), path)


def _write_card(path: Path, card: Mapping[str, object]) -> None:
    write_whole(json_text(card, indent=2) + "\n", path)


def _join_questions(rows: Sequence[Mapping[str, Any]], topics: Mapping[str, str]) -> list[Question]:
    """Return the questions of verified rows. A row is one hallucinated answer; those of a question are neighbours."""
    questions: list[Question] = []
    for question_id, question_rows in groupby(rows, key=lambda row: row["question_id"]):
        answer_rows = list(question_rows)
        first_row = answer_rows[0]
        answers = []
        for row in answer_rows:
            answers.append({"text": row["hallucinated_answer"], "type": row["type"]})
        question = {
            **first_row,
            "id": question_id,
            "topic": topics.get(first_row["group"], ""),
            "hallucinated": answers,
        }
        questions.append(Question.model_validate(question))
    return questions


def _acceptance(rows: Sequence[Mapping[str, Any]], checks: Sequence[str]) -> Mapping[str, Share]:
    """Return check -> the share of written items that pass it, with its interval over documents.

    The share of items that pass all checks stands first, as ``overall``.
    """
    cells: list[tuple[str, str, str, float, float]] = []  # (document, row of the table, check, passed, of)
    for row in rows:
        failed_checks = _failed_checks(row)
        cells.append((row["group"], "", _OVERALL, float(not failed_checks), 1.0))
        for check in checks:
            cells.append((row["group"], "", check, float(check not in failed_checks), 1.0))
    shares = breakdown(cells).get("", {})
    if not shares:
        return dict.fromkeys((_OVERALL, *checks), Share.over(()))
    return shares


def yield_by_type(job: Generation, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return type asked for -> questions, items written, items that pass each check, and items kept.

    ``as_asked`` counts the items kept whose hallucinated answer is of the type that the question was to induce.
    """
    checks = job.generator.checked.checks
    counts: dict[str, dict[str, int]] = {}
    for kind in TYPES:
        counts[kind] = dict.fromkeys(("questions", "items", *checks, "kept", "as_asked"), 0)
    for case in job.cases:
        counts[str(case.inputs["type"])]["questions"] += 1
    for row in rows:
        counts_of_type = counts[row["asked_type"]]
        failed_checks = _failed_checks(row)
        counts_of_type["items"] += 1
        for check in checks:
            if check not in failed_checks:
                counts_of_type[check] += 1
        if not failed_checks:
            counts_of_type["kept"] += 1
            if row["type"] == row["asked_type"]:
                counts_of_type["as_asked"] += 1
    return {kind: counts_of_type for kind, counts_of_type in counts.items() if counts_of_type["questions"]}


def _failed_checks(row: Mapping[str, Any]) -> set[str]:
    """Return the names of the checks that the item of a row did not pass."""
    return {reason.split(":")[0] for reason in row.get("reasons", ())}


def _read_item_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file that are items; the others say why a document has none. No file has no rows."""
    rows: list[dict[str, Any]] = []
    if not path.exists():
        return rows
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if "hallucinated_answer" in row:
                rows.append(row)
    return rows


def card_tables(card: Mapping[str, Any]) -> list[Table]:
    """Return the tables that are printed of a card: shares of items that pass, and items by format."""
    counts = card["statistics"]
    acceptance = card["acceptance"]
    shares = [str(Share(**share)) for share in acceptance.values()]
    formats = {_OVERALL: counts["items"], **counts["formats"]}
    title = f"items by format (as C-FAITH Table 4); {counts['dropped']} questions are not there in a format or at all"
    yields = card["yield_by_type"]
    yield_rows: list[list[object]] = []
    columns: list[str] = []
    for kind, counts_of_type in yields.items():
        columns = ["type asked for", *(name.replace("_", " ") for name in counts_of_type)]
        yield_rows.append([kind, *counts_of_type.values()])
    return [
        table("share of written items that pass [95 % interval]", tuple(acceptance), [shares]),
        table(
            "yield by type: questions, items written, items that pass each check",
            columns,
            yield_rows,
        ),
        table(title, list(formats), [list(formats.values())]),
    ]


def _plan(request: WritingRequest) -> Writing:
    """Return the job that asks the first documents their questions, and makes a benchmark of what passes."""
    folder = request.output
    job = _questions_to_ask(request)
    topics = {}
    for document in read_documents(request.documents, "knowledge"):
        topics[document.id] = str(document.topic or document.extra.get("label") or "")

    def describe(verified: Path) -> Description:
        card = write_benchmark(job, verified, topics=topics, seed=request.seed)
        return card, [*card_tables(card), f"card: {folder / 'CARD.json'}"]

    def emptiness(card: Mapping[str, Any]) -> str:
        if card["statistics"]["items"]:
            return ""
        return f"{folder} holds no item: nothing that was written passed"

    return Writing(job=job, output=folder / "verified.jsonl", describe=describe, emptiness=emptiness)


def _questions_to_ask(request: WritingRequest) -> Generation:
    """Return the job that asks the first documents their questions, those of a document one after the other."""
    settings = request.settings
    per_document = settings["per_document"]
    asking = with_document_questions(
        request.loaded.judge,
        per_document=per_document,
        types=settings["types"],
        characters=settings["characters"],
    )
    cases = Gold.load(request.documents, asking).cases
    groups = tuple(dict.fromkeys(case.group for case in cases))[: settings["limit"]]
    cases = tuple(case for case in cases if case.group in groups)
    if per_document is not None:
        drawn_ids = {case.id for case in draw_cases(cases, "type", per_document, request.seed)}
        cases = tuple(case for case in cases if case.id in drawn_ids)
    loaded = request.loaded.for_texts(case_texts(cases))
    return Generation(loaded=loaded, cases=cases, budget=request.budget)


RECIPE: Final = Recipe(
    generators=("haluagent", "haluagent-zh"),
    settings={"per_document": None, "types": None, "characters": None, "limit": None},
    plan=_plan,
)
"""A benchmark of items in three formats, in a folder."""
