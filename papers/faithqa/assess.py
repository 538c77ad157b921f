"""Assessing models on the benchmark (sections 6 and 7): they answer, a judge marks, code scores.

Every response is marked on the constraints that the benchmark holds for its query, so that all models are held
against the same ones. Hallucinated responses to fact queries are checked for facts too (Table 4).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pydantic

from ...cases import Case
from ...gold.sources import read_typed
from ...jobs.assessing import Assessment, Calibrated, Replies, View, verdicts
from ...jobs.estimate import Ask, Span, judging, some
from ...keeping.loading import LoadedJudge
from ...programs.faithqa.scoring import TOP
from ...programs.generator import answering
from ...report.table import Table
from ...signatures.faithqa import AnswerQuery
from .results import BREAKDOWNS, Assessed, Question, Response

ANSWERING: Final = answering("faithqa-answer", AnswerQuery)
"""Responses of the models."""


_QUESTION: Final = pydantic.TypeAdapter(Question)


@dataclass(frozen=True, kw_only=True)
class QueryAssessment(Assessment):
    """Who is assessed on what; the judge ``satisfaction`` marks."""

    answering = ANSWERING
    unit = "queries"
    questions: tuple[Question, ...]  # of the benchmark; at least one
    facts: LoadedJudge  # the judge ``fact-check``

    @property
    def asked(self) -> list[Case]:
        return [Case(inputs={"query": one.query}, group=one.id) for one in self.questions]

    @property
    def settings(self) -> dict[str, Any]:
        return {
            **super().settings,
            "questions": [one.model_dump() for one in self.questions],
            "facts": self.facts.fingerprint(),
        }

    def judge_ask(self, replies: Replies) -> Ask:
        """Return what marking takes: refusals are not asked about, and some responses' facts are."""
        cases = [self._case(one, text) for one, (text, _) in zip(some(self.questions), replies, strict=True)]
        models = len(self.targets)
        marking = judging(self.judge, len(self.questions) * models, cases)
        checked = sum(one.task == "fact" for one in self.questions) * models * self.facts.judge.calls
        return replace(marking, calls=Span(0, marking.calls.most + checked))

    def judged(
        self, model: str, replies: Replies, judge: LoadedJudge, known: Calibrated, on_step: Callable[[], None]
    ) -> Assessed:
        """Return one model's responses with their marks and facts; one without a text has neither."""
        pairs = list(zip(self.questions, replies, strict=True))
        cases = [self._case(question, text) if text else None for question, (text, _) in pairs]
        responses = [
            Response(
                question=question,
                text=text,
                marks=marked.values if marked else (),
                failed=failed or (marked is not None and marked.status == "failed"),
            )
            for (question, (text, failed)), marked in zip(pairs, verdicts(judge, cases, on_step), strict=True)
        ]
        facts = replace(self.facts, context=judge.context)
        checked = []  # what is hallucinated about facts, and nothing else
        for response in responses:
            question, wrong = response.question, response.score not in (None, TOP)
            row = {"query": question.query, "response": response.text, "group": question.id}
            checked.append(facts.judge.case(row) if wrong and question.task == "fact" else None)
        pairs_checked = zip(responses, verdicts(facts, checked), strict=True)
        return Assessed(
            model=model,
            responses=tuple(
                replace(response, facts=check.value) if check else response
                for response, check in pairs_checked
            ),
        )

    def view(self, results: list[Assessed]) -> View:
        data = {
            "benchmark": self.benchmark,
            "queries": len(self.questions),
            "models": [
                {"model": one.model} | {name: part.to_json(one) for name, part in BREAKDOWNS.items()}
                for one in results
            ],
            "facts": self.facts.name,
        }
        answers = ({"model": one.model, **row.to_json()} for one in results for row in one.responses)
        tables = [part.table(results) for part in BREAKDOWNS.values()]
        body: list[Table | str] = [
            *(one for one in tables if one.rows),
            f"{self.judge_words}; facts: {self.facts.name}",
        ]
        return data, answers, body

    def _case(self, one: Question, text: str) -> Case:
        row = {"query": one.query, "constraints": one.lines, "response": text}
        return self.judge.judge.case({**row, "group": one.id})


def read_questions(source: str, per_cell: int | None = None, seed: int = 0) -> tuple[Question, ...]:
    """Read a benchmark, or of each task, topic and difficulty so many questions at random (section 6)."""
    questions: tuple[Question, ...] = read_typed(
        source, _QUESTION, hint="give what jurist generate faithqa writes, constraints included"
    )
    if per_cell is None:
        return questions
    cells: dict[tuple[str, ...], list[str]] = {}
    for question in questions:
        cells.setdefault((question.task, question.topic, question.difficulty), []).append(question.id)
    drawn = {
        name
        for cell, names in cells.items()
        for name in random.Random(f"{seed}/{cell}").sample(names, min(per_cell, len(names)))
    }
    return tuple(question for question in questions if question.id in drawn)
