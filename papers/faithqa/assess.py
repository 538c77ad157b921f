"""An assessment of models on the benchmark (sections 6 and 7): they answer, a judge marks, code scores.

A judge marks every response on the constraints that the benchmark has for its query, so that all models meet the same
ones. Hallucinated responses to fact queries are checked for facts too (Table 4).

The tables have the shapes of Tables 3, 4, 9, 10 and 11 and of Figure 4. Captions of Tables 10 and 11 are exchanged in
the paper: the table about a missing query, response or article is that of response evaluation.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pydantic

from ...cases import Case
from ...errors import UsageError
from ...evaluation.intervals import Cell, Share, breakdown
from ...evaluation.plain import plain
from ...gold.sources import read_typed
from ...jobs.assessing import (
    Assessment,
    AssessmentRequest,
    BenchmarkKind,
    Calibrated,
    Replies,
    View,
    figure_record,
    judge_cases,
)
from ...jobs.estimate import Ask, Span
from ...jobs.measuring import make_judge_ask, spread_evenly
from ...keeping.loading import LoadedJudge
from ...programs.faithqa.constraints import MARKS, Item, QueryRow, constraint_score
from ...programs.faithqa.judges import FACT_CHECK, SATISFACTION
from ...programs.faithqa.scoring import TOP, constraints_of, line_of, missing_of
from ...programs.faithqa.writing import ANALYSIS, EVALUATED, TASKS, Task
from ...programs.generator import make_answerer
from ...report.table import Table, table
from ...signatures.faithqa import AnswerQuery


class Question(QueryRow):
    """One query of a benchmark, as ``jurist generate faithqa`` writes it."""

    id: str
    task: Task
    constraints: list[Item] = pydantic.Field(min_length=1)
    topic: str = ""
    difficulty: str = ""

    @property
    def lines(self) -> list[str]:
        """The constraints that a response has to meet, one line each."""
        return list(map(line_of, constraints_of(self.constraints)))

    @property
    def categories(self) -> list[str]:
        """The category of each constraint, in the order of ``lines``."""
        return [constraint.category for constraint in constraints_of(self.constraints)]


@dataclass(frozen=True, kw_only=True)
class Response:
    """A model's response to a question."""

    question: Question  # what was asked
    text: str = ""  # the response; empty if there is none
    # a mark for each constraint; ``None`` if the judge gave no usable one
    marks: tuple[str | None, ...] = ()
    facts: str | None = None  # the verdict of the fact check on a hallucinated response to a fact query
    failed: bool = False  # whether the machinery failed to get the text or the marks

    @property
    def score(self) -> float | None:
        """The Constraint Score, 0 to 10; ``None`` unless every constraint is marked."""
        if not self.marks or None in self.marks:
            return None
        return constraint_score(self.question.categories, [mark == "satisfied" for mark in self.marks])

    def to_json(self) -> dict[str, object]:
        """Return the response and its marks as JSON values."""
        return {
            "id": self.question.id,
            "task": self.question.task,
            "query": self.question.query,
            "response": self.text,
            "marks": list(self.marks),
            "score": self.score,
            "facts": self.facts,
            "constraints": self.question.lines,
        }


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """One model's responses, in the order of the questions."""

    model: str
    responses: tuple[Response, ...]

    @property
    def unusable(self) -> float:
        """The share of questions without a score, 0 to 1."""
        unscored = [response for response in self.responses if response.score is None]
        return len(unscored) / len(self.responses)

    @property
    def failed(self) -> int:
        """The number of questions on which the machinery failed."""
        return len([response for response in self.responses if response.failed])


class Count(NamedTuple):
    """One response in one cell of a table."""

    response: Response
    row: Sequence[str]  # the words of its row, beside the task
    column: str
    part: float  # the numerator that it adds to the share of the cell
    whole: float  # the denominator


@dataclass(frozen=True)
class Breakdown:
    """One table of the paper: shares by row and column, with clustered 95 % intervals."""

    title: str
    tasks: Sequence[Task]  # the tasks whose responses are counted; a response without a score is left out
    columns: Sequence[str]  # in their order; ``score`` is a mean on the scale of the Constraint Score
    counts: Callable[[Sequence[Response]], Iterable[Count]]  # counts such responses

    def of(self, model: Assessed) -> dict[str, dict[str, Share]]:
        """Return a model's shares: row -> column -> share, rows in the order of the tasks."""
        scored = []
        for response in model.responses:
            if response.question.task in self.tasks and response.score is not None:
                scored.append(response)
        cells = list[Cell[tuple[int, str], str]]()
        for count in self.counts(scored):
            question = count.response.question
            # Rows are sorted by the number of the task, and then by their words.
            place = (self.tasks.index(question.task), " ".join([question.task] + list(count.row)))
            cells.append((question.group or question.id, place, count.column, count.part, count.whole))
        shares_by_row: dict[str, dict[str, Share]] = {}
        for (_, words), shares in sorted(breakdown(cells).items()):
            shares_by_row[words] = dict(sorted(shares.items()))
            if "score" in shares:
                shares_by_row[words]["score"] = shares["score"].of_scale(TOP)
        return shares_by_row

    def table(self, models: Sequence[Assessed]) -> Table:
        """Return a table of the shares of several models, each with its denominator."""
        rows = []
        for model in models:
            for words, shares in self.of(model).items():
                row = [model.model, words]
                for column in self.columns:
                    row.append(_share_cell(shares.get(column)))
                rows.append(row)
        columns = ["model", "what"] + list(self.columns)
        return table(f"{self.title}: share [95 %] (of)", columns, rows)


def _share_cell(share: Share | None) -> str:
    """Return a share with its denominator in brackets; a dash for none."""
    if share is None:
        return "-"
    return f"{share} ({share.of:.0f})"


def _scores(*names: str) -> Callable[[Sequence[Response]], Iterator[Count]]:
    """Return a function that counts perfect responses, scores and, if they were checked, accurate facts.

    A row of its table is one combination of the properties ``names`` of the question.
    """

    def counts(scored: Sequence[Response]) -> Iterator[Count]:
        for response in scored:
            row = []
            for name in names:
                row.append(getattr(response.question, name))
            yield Count(response, row, "perfect", float(response.score == TOP), 1.0)
            yield Count(response, row, "score", response.score or 0.0, TOP)
            if response.facts:
                yield Count(response, row, "factual", float(response.facts == "accurate"), 1.0)

    return counts


def _hallucinated(scored: Sequence[Response]) -> Iterator[Count]:
    """Count responses that violate a constraint, by the part that the query lacks."""
    for response in scored:
        for part in missing_of(response.question.constraints):
            yield Count(response, [response.question.topic], part, float(response.score != TOP), 1.0)


def _failures(scored: Sequence[Response]) -> Iterator[Count]:
    """Count the kinds of failure of hallucinated responses.

    Their three constraints are: notice that a part is missing, request it, and invent nothing.
    """
    for response in scored:
        if response.score != TOP and missing_of(response.question.constraints):
            notice, _, no_invention = response.marks
            if no_invention != "satisfied":
                kind = "T2"
            elif notice != "satisfied":
                kind = "T1"
            else:
                kind = "other"
            for name in _FAILURES:
                yield Count(response, [response.question.topic], name, float(name == kind), 1.0)


def _violations(scored: Sequence[Response]) -> Iterator[Count]:
    """Count each violated constraint in all rows of its task, so that the shares of a task sum to 1."""
    violated = []
    categories_of_task: dict[Task, set[str]] = {}
    for response in scored:
        for category, mark in zip(response.question.categories, response.marks, strict=True):
            if mark in _VIOLATED:
                violated.append((response, category, mark))
                categories_of_task.setdefault(response.question.task, set()).add(category)
    for response, category, mark in violated:
        for row in categories_of_task[response.question.task]:
            for column in _VIOLATED:
                yield Count(response, [row], column, float((row, column) == (category, mark)), 1.0)


_FAILURES: Final = ("T1", "T2", "other")
_VIOLATED: Final = MARKS[1:]
_SCORED: Final = ("perfect", "score")
BREAKDOWNS: Final[Mapping[str, Breakdown]] = {
    "overview": Breakdown(
        "by task: perfect (no constraint violated) and Constraint Score (as Table 3)",
        TASKS,
        _SCORED,
        _scores(),
    ),
    "facts": Breakdown(
        "facts by topic and difficulty (as Table 4; factual: hallucinated responses with accurate facts)",
        ("fact",),
        _SCORED + ("factual",),
        _scores("topic", "difficulty"),
    ),
    "creative": Breakdown(
        "creative writing by form and difficulty (as Table 9)",
        ("story", "poem"),
        _SCORED,
        _scores("difficulty"),
    ),
    "missing": Breakdown(
        "hallucinated evaluations by topic and missing part (as Table 10)",
        ("evaluation",),
        EVALUATED,
        _hallucinated,
    ),
    "failures": Breakdown(
        "hallucinated analyses by topic (as Table 11; T1: the missing article is not mentioned, T2: it is made up)",
        ANALYSIS,
        _FAILURES,
        _failures,
    ),
    "violations": Breakdown(
        "violated constraints of a task by category (as Figure 4)", TASKS, _VIOLATED, _violations
    ),
}
"""Name in JSON -> table."""


ANSWERING: Final = make_answerer("faithqa-answer", AnswerQuery)
"""The program with which the assessed models answer a query."""


_QUESTION: Final = pydantic.TypeAdapter(Question)


@dataclass(frozen=True, kw_only=True)
class QueryAssessment(Assessment):
    """An assessment of models on queries; the judge ``satisfaction`` marks their responses."""

    answering = ANSWERING
    unit = "queries"
    questions: tuple[Question, ...]  # of the benchmark; at least one
    facts: LoadedJudge  # the judge ``fact-check``

    @property
    def question_cases(self) -> list[Case]:
        cases = []
        for question in self.questions:
            cases.append(Case(inputs={"query": question.query}, group=question.id))
        return cases

    @property
    def settings(self) -> dict[str, object]:
        return {
            **super().settings,
            "questions": [question.model_dump() for question in self.questions],
            "facts": self.facts.fingerprint(),
        }

    def judge_ask(self, replies: Replies) -> Ask:
        """Return the requests of marking, at most; a response to a fact query may have its facts checked too."""
        cases = []
        for question, (text, _) in zip(spread_evenly(self.questions), replies, strict=True):
            cases.append(self._case(question, text))
        models = len(self.targets)
        marking = make_judge_ask(self.judge, len(self.questions) * models, cases)
        fact_questions = [question for question in self.questions if question.task == "fact"]
        fact_calls = len(fact_questions) * models * self.facts.judge.calls
        return replace(marking, calls=Span(0, marking.calls.high + fact_calls))

    def model_result(
        self,
        model: str,
        replies: Replies,
        judge: LoadedJudge,
        calibrated: Calibrated,
        on_step: Callable[[], None],
    ) -> Assessed:
        """Return one model's responses with their marks and facts; a response without a text has neither."""
        cases = []
        for question, (text, _) in zip(self.questions, replies, strict=True):
            cases.append(self._case(question, text) if text else None)
        verdicts = judge_cases(judge, cases, on_step)
        responses = []
        for question, (text, failed), verdict in zip(self.questions, replies, verdicts, strict=True):
            response = Response(question=question, text=text, failed=failed)
            if verdict is not None:
                failed = failed or verdict.status == "failed"
                response = replace(response, marks=verdict.values, failed=failed)
            responses.append(response)
        return Assessed(model=model, responses=tuple(self._with_facts(responses, judge)))

    def _with_facts(self, responses: Sequence[Response], judge: LoadedJudge) -> list[Response]:
        """Return responses, those that hallucinate on a fact query with the verdict of the fact check."""
        facts = replace(self.facts, context=judge.context)
        cases = []
        for response in responses:
            question = response.question
            case = None
            if question.task == "fact" and response.score not in (None, TOP):
                row = {"query": question.query, "response": response.text, "group": question.id}
                case = facts.judge.case(row)
            cases.append(case)
        checked = []
        for response, verdict in zip(responses, judge_cases(facts, cases), strict=True):
            if verdict is not None:
                response = replace(response, facts=verdict.value)
            checked.append(response)
        return checked

    def view(self, results: list[Assessed]) -> View:
        models, body = [], list[Table | str]()
        for result in results:
            values: dict[str, object] = {"model": result.model}
            for name, part in BREAKDOWNS.items():
                values[name] = plain(part.of(result))
            models.append(values)
        for part in BREAKDOWNS.values():
            shares = part.table(results)
            if shares.rows:
                body.append(shares)
        body.append(f"{self.judge_words}; facts: {self.facts.name}")
        data = {
            "benchmark": self.benchmark,
            "queries": len(self.questions),
            "models": models,
            "facts": self.facts.name,
        }
        return data, _response_lines(results), body

    def figures(self, results: list[Assessed]) -> list[dict[str, object]]:
        records = []
        for result in results:
            for name, part in BREAKDOWNS.items():
                for words, shares in part.of(result).items():
                    for column, share in shares.items():
                        records.append(figure_record(result.model, name, f"{words}: {column}", share))
        return records

    def _case(self, question: Question, text: str) -> Case:
        row = {"query": question.query, "constraints": question.lines, "response": text}
        return self.judge.judge.case({**row, "group": question.id})


def _response_lines(results: Iterable[Assessed]) -> Iterator[dict[str, object]]:
    """Yield a line for each response of each model."""
    for result in results:
        for response in result.responses:
            yield {"model": result.model, **response.to_json()}


def read_questions(source: str, per_cell: int | None = None, seed: int = 0) -> tuple[Question, ...]:
    """Return the questions of a benchmark, or at most ``per_cell`` random ones of each task, topic and difficulty.

    Section 6 draws a sample like this.
    """
    questions: tuple[Question, ...] = read_typed(
        source, _QUESTION, hint="give what jurist generate faithqa writes, constraints included"
    )
    if per_cell is None:
        return questions
    cells: dict[tuple[str, ...], list[str]] = {}
    for question in questions:
        cells.setdefault((question.task, question.topic, question.difficulty), []).append(question.id)
    drawn_ids = set[str]()
    for cell, ids in cells.items():
        drawn_ids.update(random.Random(f"{seed}/{cell}").sample(ids, min(per_cell, len(ids))))
    return tuple(question for question in questions if question.id in drawn_ids)


def _plan(request: AssessmentRequest) -> QueryAssessment:
    """Return the assessment on the queries of a request."""
    judge = request.load_judge(SATISFACTION.name)
    if judge.judge.answer.scale.identity() != SATISFACTION.answer.scale.identity():
        raise UsageError(
            f"{judge.name} does not mark constraints", hint=f"name a version of {SATISFACTION.name}"
        )
    facts = request.load_fact_judge(FACT_CHECK.name)
    if facts.judge.answer.scale.identity() != FACT_CHECK.answer.scale.identity():
        raise UsageError(f"{facts.name} does not check facts", hint=f"name a version of {FACT_CHECK.name}")
    return QueryAssessment(
        questions=read_questions(request.benchmark, request.per_cell, request.seed)[: request.limit],
        facts=facts,
        **request.assessment_arguments(judge, temperature=0.3),
    )


KIND: Final = BenchmarkKind(
    recognises=lambda columns: columns >= {"task", "query", "constraints"},
    plan=_plan,
    options=frozenset({"fact_judge", "per_cell"}),
)
"""Queries with their constraints."""
