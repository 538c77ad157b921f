"""Assessing models on the benchmark (sections 6 and 7): they answer, a judge marks, code scores.

Every response is marked on the constraints that the benchmark holds for its query, so that all models are held
against the same ones. Hallucinated responses to fact queries are checked for facts too (Table 4).
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pydantic

from ...cases import Case
from ...gold.sources import read, read_typed
from ...jobs.assessing import AssessedModels, Calibrated, Replies, verdicts
from ...jobs.estimate import Ask, Span, judging, some
from ...keeping.loading import LoadedJudge
from ...programs.faithqa.constraints import Item, QueryRow, constraint_score
from ...programs.faithqa.scoring import TOP, constraints_of, line_of
from ...programs.faithqa.writing import Task
from ...programs.generator import answering
from ...signatures.faithqa import AnswerQuery

ANSWERING: Final = answering("faithqa-answer", AnswerQuery)
"""Responses of the models."""


class Question(QueryRow):
    """One query of a benchmark, as ``jurist generate faithqa`` writes it."""

    id: str
    task: Task
    constraints: list[Item] = pydantic.Field(min_length=1)
    topic: str = ""
    difficulty: str = ""

    @property
    def lines(self) -> list[str]:
        """What a response has to do, a constraint each."""
        return [line_of(one) for one in constraints_of(self.constraints)]

    @property
    def categories(self) -> list[str]:
        """The constraints' categories."""
        return [one.category for one in constraints_of(self.constraints)]


_QUESTION: Final = pydantic.TypeAdapter(Question)


@dataclass(frozen=True, kw_only=True)
class Response:
    """A model's response to a question."""

    question: Question  # what was asked
    text: str = ""  # the response; empty if there is none
    marks: tuple[
        str | None, ...
    ] = ()  # one for each constraint, ``None`` where the judge gave none that is usable
    facts: str | None = None  # what the fact check says of a hallucinated response to a fact query
    failed: bool = False  # whether the machinery failed to get the text or the marks
    counts: Mapping[str, int] = field(
        default_factory=dict
    )  # marks that code gave, and where the model differs

    @property
    def score(self) -> float | None:
        """The Constraint Score, 0 to 10; ``None`` unless every constraint is marked."""
        if not self.marks or None in self.marks:
            return None
        return constraint_score(self.question.categories, [mark == "satisfied" for mark in self.marks])

    def to_json(self) -> dict[str, Any]:
        """Return what was answered and how it was marked, as JSON values."""
        about = {"id": self.question.id, "task": self.question.task, "query": self.question.query}
        said = {"response": self.text, "marks": list(self.marks), "score": self.score, "facts": self.facts}
        return {**about, **said, "constraints": self.question.lines}


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's responses, in the order of the questions."""

    model: str
    responses: tuple[Response, ...]

    @property
    def unusable(self) -> float:
        """The share of questions without a score, 0 to 1."""
        return sum(one.score is None for one in self.responses) / len(self.responses)

    @property
    def failed(self) -> int:
        """On how many questions the machinery failed."""
        return sum(one.failed for one in self.responses)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many marks code gave, and where the judge's model differs."""
        return sum((Counter(one.counts) for one in self.responses), Counter())


@dataclass(frozen=True, kw_only=True)
class Assessment(AssessedModels[Assessed]):
    """Who is assessed on what; the judge ``satisfaction`` marks."""

    answering = ANSWERING
    questions: tuple[Question, ...]  # of the benchmark; at least one
    facts: LoadedJudge  # the judge ``fact-check``

    @property
    def asked(self) -> list[Case]:
        """What every model is asked, question by question."""
        return [Case(inputs={"query": one.query}, group=one.id) for one in self.questions]

    @property
    def size(self) -> str:
        """How much it is, in words."""
        return f"{len(self.questions)} queries"

    @property
    def settings(self) -> dict[str, Any]:
        """What else makes this the same job when it is started again, as JSON values."""
        return {
            "questions": [one.model_dump() for one in self.questions],
            "facts": self.facts.fingerprint(),
        }

    def judge_ask(self, said: Replies) -> Ask:
        """Return what marking takes: refusals are not asked about, and some responses' facts are."""
        cases = [self._case(one, text) for one, (text, _) in zip(some(self.questions), said, strict=True)]
        models = len(self.targets)
        marking = judging(self.judge, len(self.questions) * models, cases)
        checked = sum(one.task == "fact" for one in self.questions) * models * self.facts.judge.calls
        return replace(marking, calls=Span(0, marking.calls.most + checked))

    def judged(
        self, model: str, said: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's responses with their marks and facts; one without a text has neither."""
        pairs = list(zip(self.questions, said, strict=True))
        cases = [self._case(one, text) if text else None for one, (text, _) in pairs]
        given = [
            Response(
                question=one,
                text=text,
                marks=marked.values if marked else (),
                failed=failed or (marked is not None and marked.status == "failed"),
                counts=marked.counts if marked else {},
            )
            for (one, (text, failed)), marked in zip(pairs, verdicts(judge, cases, on_step), strict=True)
        ]
        facts = replace(self.facts, context=judge.context)
        # what is hallucinated about facts, and nothing else
        wrong = [one.question.task == "fact" and one.score not in (None, TOP) for one in given]
        about = [
            {"query": one.question.query, "response": one.text, "group": one.question.id} for one in given
        ]
        asked = [facts.judge.case(row) if bad else None for row, bad in zip(about, wrong, strict=True)]
        checked = zip(given, verdicts(facts, asked), strict=True)
        responses = tuple(replace(one, facts=check.value) if check else one for one, check in checked)
        return Assessed(model=model, responses=responses)

    def _case(self, one: Question, text: str) -> Case:
        row = {"query": one.query, "constraints": one.lines, "response": text}
        return self.judge.judge.case({**row, "group": one.id})


def is_benchmark(source: str) -> bool:
    """Say whether rows are those of a benchmark of queries with constraints."""
    rows = read(source).rows[:1]
    return bool(rows) and {"task", "query", "constraints"} <= set(rows[0][1])


def read_questions(source: str, per_cell: int | None = None, seed: int = 0) -> tuple[Question, ...]:
    """Read a benchmark, or of each task, topic and difficulty so many questions at random (section 6)."""
    questions: tuple[Question, ...] = read_typed(
        source, _QUESTION, hint="give what jurist generate faithqa writes, constraints included"
    )
    if per_cell is None:
        return questions
    cells: dict[tuple[str, ...], list[str]] = {}
    for one in questions:
        cells.setdefault((one.task, one.topic, one.difficulty), []).append(one.id)
    drawn = {
        name
        for cell, names in cells.items()
        for name in random.Random(f"{seed}/{cell}").sample(names, min(per_cell, len(names)))
    }
    return tuple(one for one in questions if one.id in drawn)
