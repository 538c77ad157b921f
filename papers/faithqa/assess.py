"""Assessing models on the benchmark (sections 6 and 7): they answer, a judge marks, code scores.

Every response is marked on the constraints that the benchmark holds for its query, so that all models are held
against the same ones. Hallucinated responses to fact queries are checked for facts too (Table 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pydantic

from ...cases import Case
from ...gold.readers import read
from ...gold.typed_rows import read_typed
from ...jobs.assessing import AssessedModels, Calibrated, Replies
from ...jobs.estimate import Part, Span
from ...jobs.foresee import judging
from ...jobs.generation import job_id
from ...jobs.measuring import some
from ...keeping.loading import LoadedJudge
from ...programs.answering import answering
from ...programs.asking import Verdict
from ...programs.faithqa.constraints import Item, constraints_of, line_of
from ...programs.faithqa.scoring import DEFAULT_WEIGHTS, Category, Weights, constraint_score
from ...signatures.faithqa import AnswerQuery

__all__ = [
    "Assessed",
    "Assessment",
    "Question",
    "Response",
    "is_benchmark",
    "read_questions",
]


ANSWERING: Final = answering("faithqa-answer", AnswerQuery)
"""Responses of the models."""


class Question(pydantic.BaseModel, extra="ignore", frozen=True):
    """One query of a benchmark, as ``jurist generate faithqa`` writes it."""

    id: str
    task: str
    query: str
    constraints: tuple[Item, ...] = pydantic.Field(min_length=1)
    topic: str = ""
    difficulty: str = ""
    missing: str = ""
    group: str = ""

    @property
    def lines(self) -> list[str]:
        """What a response has to do, a constraint each."""
        return [line_of(one) for one in constraints_of(self.constraints)]

    @property
    def categories(self) -> list[Category]:
        """The constraints' categories."""
        return [one.category for one in constraints_of(self.constraints)]


_QUESTION: Final = pydantic.TypeAdapter(Question)


@dataclass(frozen=True, kw_only=True)
class Response:
    """A model's response to a question.

    Attributes:
        question: what was asked.
        text: the response; empty if there is none.
        marks: one for each constraint, ``None`` where the judge gave none that is usable.
        score: the Constraint Score, 0 to 10; ``None`` unless every constraint is marked.
        facts: what the fact check says of a hallucinated response to a fact query.
        failed: whether the machinery failed to get the text or the marks.
    """

    question: Question
    text: str = ""
    marks: tuple[str | None, ...] = ()
    score: float | None = None
    facts: str | None = None
    failed: bool = False

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


@dataclass(frozen=True, kw_only=True)
class Assessment(AssessedModels[Assessed]):
    """Who is assessed on what; the judge ``satisfaction`` marks.

    Attributes:
        questions: of the benchmark; at least one.
        facts: the judge ``fact-check``.
        weights: of the priorities.
    """

    answering = ANSWERING
    questions: tuple[Question, ...]
    facts: LoadedJudge
    weights: Weights = DEFAULT_WEIGHTS

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
            "questions": job_id({"questions": [one.model_dump() for one in self.questions]}),
            "facts": self.facts.fingerprint(),
            "weights": [self.weights.mandatory, self.weights.important, self.weights.optional],
        }

    def judge_part(self, said: Replies) -> Part:
        """Return what marking takes: what code can check is not asked, and some responses' facts are."""
        answered = _responses(some(self.questions), said)
        models = len(self.targets)
        marking = judging(
            self.judge, len(self.questions) * models, [_mark_case(self, one) for one in answered]
        )
        checked = sum(one.task == "fact" for one in self.questions) * models * self.facts.judge.calls
        most = None if marking.calls.most is None else marking.calls.most + checked
        return replace(marking, calls=Span(least=0, most=most))

    def judged(
        self, model: str, said: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's responses with their marks, scores and facts."""
        marked = _marked(self, judge, _responses(self.questions, said), on_step)
        facts = replace(self.facts, context=judge.context)
        return Assessed(model=model, responses=tuple(_checked(facts, marked)))


def is_benchmark(source: str) -> bool:
    """Say whether rows are those of a benchmark of queries with constraints."""
    rows = read(source).rows[:1]
    return bool(rows) and {"task", "query", "constraints"} <= set(rows[0][1])


def read_questions(source: str) -> tuple[Question, ...]:
    """Read a benchmark.

    Raises:
        GoldError: the source or one of its rows cannot be used, with its place; or two have one id.
    """
    return read_typed(
        source, _QUESTION, hint="give what jurist generate faithqa writes, constraints included"
    )


def _responses(questions: Sequence[Question], said: Sequence[tuple[str, bool]]) -> list[Response]:
    return [
        Response(question=one, text=text, failed=failed)
        for one, (text, failed) in zip(questions, said, strict=True)
    ]


def _mark_case(work: Assessment, one: Response) -> Case:
    row = {"query": one.question.query, "constraints": one.question.lines, "response": one.text}
    return work.judge.judge.case({**row, "group": one.question.id})


def _marked(
    work: Assessment, judge: LoadedJudge, given: Sequence[Response], on_step: Callable[[], None]
) -> list[Response]:
    """Return the responses with their marks and scores; one without a text gets neither."""
    asked = [one for one in given if one.text]
    cases = [_mark_case(work, one) for one in asked]
    verdicts = judge.asker().ask_all(cases, lambda index, verdict: on_step())
    found = {one.question.id: verdict for one, verdict in zip(asked, verdicts, strict=True)}
    return [_scored(work, one, found.get(one.question.id)) for one in given]


def _scored(work: Assessment, one: Response, verdict: Verdict | None) -> Response:
    if verdict is None:
        return one
    marks = tuple(verdict.values)
    score = None
    if marks and None not in marks:
        satisfied = [mark == "satisfied" for mark in marks]
        score = constraint_score(one.question.categories, satisfied, work.weights)
    return replace(one, marks=marks, score=score, failed=verdict.status == "failed")


def _checked(facts: LoadedJudge, given: Sequence[Response]) -> list[Response]:
    """Return the responses with the facts of the hallucinated ones among those to fact queries."""
    asked = [one for one in given if one.question.task == "fact" and one.score is not None and one.score < 10]
    rows = [{"query": one.question.query, "response": one.text, "group": one.question.id} for one in asked]
    verdicts = facts.asker().ask_all([facts.judge.case(row) for row in rows])
    found = {one.question.id: verdict.value for one, verdict in zip(asked, verdicts, strict=True)}
    return [replace(one, facts=_text(found.get(one.question.id))) for one in given]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
