"""Benchmark queries (section 5, appendix A.6): written, verified to be answerable or not, and mapped.

Omission tasks (fact, story, poem) set conditions, and must be answerable. Misinterpretation tasks (evaluation,
relationship, summary) bring material of which exactly one part is removed, and must be unanswerable.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, Self, TypeAlias, get_args

import dspy
import pydantic

from ...cases import Case
from ...evaluation.checked_items import Check, CheckedItem
from ...signatures.faithqa import (
    Answerable,
    BenchmarkQuery,
    MapConstraints,
    WriteAnalysisQuery,
    WriteCreativeQuery,
    WriteEvaluationQuery,
    WriteFactQuery,
)
from ...text.tables import read_table
from ...text.wording import is_chinese
from ..frozen import frozen
from ..generator import Generator
from ..stepwise import Steps, Stepwise
from .scoring import MISSING, StatedConstraint, stated_constraints, unanchored

Task: TypeAlias = Literal["fact", "story", "poem", "evaluation", "relationship", "summary"]
"""The tasks of Table 1."""
TASKS: Final[tuple[Task, ...]] = get_args(Task)
OMISSION: Final[tuple[Task, ...]] = ("fact", "story", "poem")
"""Tasks in which models leave conditions out; in the others they misread what is missing."""
ANALYSIS: Final[tuple[Task, ...]] = ("relationship", "summary")
"""Tasks of content analysis."""
ARTICLES: Final = 3
"""Articles of a content analysis."""
EVALUATED: Final = ("query", "article", "response")
"""The parts of a response evaluation."""
LIMIT: Final = 4
"""The most constraints of an easy query."""

_EASY: Final[Mapping[str, object]] = {"difficulty": "easy", "conditions": 3}
_CHECKS: Final = ("language", "answerable", "conditions")
_WORDS: Final[dict[str, Any]] = read_table(__package__, "queries")
_FIXED_WORDS: Final = re.compile(r"\d+|[\"“][^\"“”]+[\"”]")


class QueryPlan(pydantic.BaseModel, extra="ignore"):
    """One query to be written; a document that says no more than its text becomes an easy query about facts."""

    texts: list[str] = pydantic.Field(default_factory=list)
    task: Task = "fact"
    title: str = ""
    topic: str = ""
    language: Literal["en", "zh"] = "en"
    difficulty: Literal["", "easy", "hard"] = ""
    conditions: int = LIMIT
    requirements: list[str] = pydantic.Field(default_factory=list)
    removed: str = ""
    id: str = ""
    group: str = ""
    source: str = ""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _of_document(cls, data: object) -> object:
        if isinstance(data, Mapping) and isinstance(data.get("texts"), str):
            return {**_EASY, **data, "texts": [data["texts"]]}
        return data

    @pydantic.model_validator(mode="after")
    def _check_material(self) -> Self:
        needed = int(self.task in ("fact", "evaluation"))
        if self.task in ANALYSIS:
            needed = ARTICLES
        if len(self.texts) != needed:
            raise ValueError(
                f"a query of task {self.task} is written from {needed} texts, not {len(self.texts)}"
            )
        if (self.task in OMISSION) == bool(self.removed):
            raise ValueError(f"task {self.task} removes {'nothing' if self.removed else 'one part'}")
        return self


class WriteQuery(Stepwise):
    """Writes one query (``fact``, ``creative``, ``evaluation`` or ``analysis``), verifies and maps it.

    Its item has ``query``, ``constraints`` (what it is mapped to, or what it lacks) and ``number`` of constraints.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fact = dspy.Predict(WriteFactQuery)
        self.creative = dspy.Predict(WriteCreativeQuery)
        self.evaluation = dspy.Predict(WriteEvaluationQuery)
        self.analysis = dspy.Predict(WriteAnalysisQuery)
        self.verify = frozen(dspy.Predict(Answerable))
        self.map = frozen(dspy.Predict(MapConstraints))

    def steps(self, **plan: Any) -> Steps:
        """Write, verify, and map what should be complete."""
        task, language = plan["task"], plan["language"]
        language_name = _WORDS[language]["language"]
        writer, inputs = self._writer(plan)
        written = yield writer, {**inputs, "language": language_name}
        query = _assemble_query(plan, written)
        verified = yield self.verify, {"query": query}
        items: list[StatedConstraint] | None = [StatedConstraint(category=MISSING, text=plan["removed"])]
        if task in OMISSION:
            mapped = yield self.map, {"query": query}
            items = stated_constraints(mapped)
        constraints = [vars(item) for item in items or []]
        number = sum(item["category"] != MISSING for item in constraints)
        unanchored_constraints = unanchored(items or (), query)
        in_language = is_chinese(query) == (language == "zh")
        checks = {
            "language": _make_check(in_language, f"it is not {language_name}"),
            "answerable": _check_answerable(verified, expected=task in OMISSION),
            "conditions": _check_conditions(plan, query, number, len(unanchored_constraints)),
        }
        item = {"query": query, "constraints": constraints, "number": number}
        return dspy.Prediction(written=[item], checks=[checks])

    def _writer(self, plan: Mapping[str, Any]) -> tuple[dspy.Predict, dict[str, object]]:
        """Return the predictor that writes a query of this task, and its inputs besides the language."""
        texts = plan["texts"]
        match plan["task"]:
            case "fact":
                concept = plan["title"] or plan["topic"]
                return self.fact, {
                    "concept": concept,
                    "topic": plan["topic"],
                    "conditions": plan["conditions"],
                    "passage": texts[0],
                }
            case "story" | "poem":
                return self.creative, {"form": plan["task"], "requirements": plan["requirements"]}
            case "evaluation":
                return self.evaluation, {"article": texts[0]}
            case _:
                return self.analysis, {"articles": texts, "kind": plan["task"]}


def _assemble_query(plan: Mapping[str, Any], reply: dspy.Prediction) -> str:
    """Return the query with its material, the removed part left empty."""
    task, language, texts = plan["task"], plan["language"], plan["texts"]
    if task in OMISSION:
        return _field_text(reply, "query")
    if task == "evaluation":
        heads = _WORDS[language]["heads"]
        head = heads[len(texts[0]) % len(heads)]
        parts = {
            "query": _field_text(reply, "question"),
            "article": texts[0],
            "response": _field_text(reply, "response"),
        }
    else:
        head = _field_text(reply, "instruction")
        parts = {f"article {number}": text for number, text in enumerate(texts, 1)}
    labels = _WORDS[language]["labels"]
    blocks = [head]
    for name, body in parts.items():
        kind, _, number = name.partition(" ")
        space = " " if number and language == "en" else ""
        block = f"{labels[kind]}{space}{number}:"
        if name != plan["removed"]:
            block += f" {body}"
        blocks.append(block)
    return "\n\n".join(blocks)


def _field_text(reply: dspy.Prediction, name: str) -> str:
    return str(reply.get(name) or "").strip()


def _make_check(holds: bool, reason: str) -> Check:
    """Return a check with a verdict, and the reason if it does not hold."""
    if holds:
        return Check(verdict="yes")
    return Check(verdict="no", reason=reason)


def _check_answerable(reply: dspy.Prediction, *, expected: bool) -> Check:
    """Return whether a query can be answered as expected."""
    answerable = reply.get("answerable")
    if not isinstance(answerable, bool):
        return Check(verdict="unusable", reason=f"the verdict was {answerable!r}")
    reason = "it can be answered although a part is missing"
    if expected:
        reason = _field_text(reply, "reason")
    return _make_check(answerable == expected, reason)


def _check_conditions(plan: Mapping[str, Any], query: str, number: int, unanchored_count: int) -> Check:
    """Return whether a query sets as many conditions as it should, and what it was told to demand."""
    if plan["task"] not in OMISSION:
        return Check(verdict="yes")
    lost_words: list[str] = []
    for requirement in plan["requirements"]:
        for word in _FIXED_WORDS.findall(requirement):
            if word.strip('"“”') not in query:
                lost_words.append(word)
    if lost_words:
        return _make_check(False, f"it does not demand {', '.join(lost_words)}")
    if unanchored_count:
        return _make_check(False, f"{unanchored_count} of its conditions are not in its words")
    fits = number > LIMIT
    if plan["difficulty"] == "easy":
        fits = 1 <= number <= LIMIT
    return _make_check(fits, f"it sets {number} conditions and should be {plan['difficulty']}")


def _row_of_query(case: Case, item: CheckedItem, number: int) -> dict[str, object]:
    """Return the row of a query: its task, what it lacks, and its constraints."""
    plan = case.inputs
    return {
        "id": case.group,
        "group": case.group,
        "task": plan["task"],
        "topic": plan["topic"],
        "language": plan["language"],
        "difficulty": plan["difficulty"],
        "missing": plan["removed"],
        "query": item.data["query"],
        "constraints": item.data["constraints"],
    }


FAITHQA_QUERIES: Final = Generator(
    name="faithqa",
    case_nouns=("query", "queries"),
    signature=BenchmarkQuery,
    program=WriteQuery,
    checks=_CHECKS,
    document="texts",
    rows=QueryPlan,
    to_row=_row_of_query,
    most_calls=3,
    case_calls=lambda case: (1, 1),
    description="FAITHQA: queries with several conditions, or with one part of their material missing",
)
