"""``questions``: sets of small questions that a proposer splits the judge's instruction into, under fitted heads.

After LLM-Rubric (arXiv 2501.00274), AutoMetrics (2512.17267) and HypoEval (2504.07174): a model answers small questions
better than one large question, and a regression (a head) learns from labels how much each answer weighs.
"""

import random
from dataclasses import dataclass
from typing import Final

import dspy

from ...cases import Case
from ...errors import OptimizerError
from ...programs.questions import Question, Questions, parse_question
from ...programs.verdicts import Verdict
from ...text.wording import normalised
from ..base import Job, Optimizer
from ..board import Board, Candidate
from ..guidelines import answering
from ..proposing import CopyGuard, Writing, count_proposals, describe_gold, describe_task, exemplar, propose
from ..question_labels import LEAST_ANSWERED, may_fit_head, why_no_questions
from ..settings import CountFromOne

_LONGEST: Final = 300
"""The most characters of a question."""


class ProposeQuestions(dspy.Signature):
    """Split what a judge decides into small questions.

    You see what the judge is given and must answer, its instruction, and rows with the labels that people gave, some of
    which the judge gets right and some wrong. Write 5 to 15 questions about a row. The answers, taken together, must
    tell the label: ask for what the rows with one label have and the others lack, and above all for what the judge
    overlooks. Each question asks about one thing alone, can be answered from the row without knowing the label, means
    the same for every row, and is no repetition of another. Do not ask for the label itself, and do not quote the rows.
    Write one question a line in the language of the instruction, and end each line with [yes or no], or with [1 to 5]
    where the thing comes in degrees. Write nothing else.
    """

    task: str = dspy.InputField(desc="the judge's inputs, its labels, and which of them are positive")
    current_instruction: str = dspy.InputField(desc="the instruction that the judge has")
    rows: str = dspy.InputField(
        desc="numbered rows, with the labels people gave, their reasons, and what was judged"
    )
    questions: str = dspy.OutputField(desc="a question a line, each with [yes or no] or [1 to 5] at its end")


@dataclass(frozen=True, kw_only=True)
class QuestionsOptimizer(Writing, Optimizer):
    """The settings: how many sets of questions are tried, how many questions are in each, and what a proposer sees."""

    sets: CountFromOne = 2  # sets of questions that are tried
    most: CountFromOne = 12  # the most questions of a set
    fewest: CountFromOne = 3  # usable questions without which a set is not tried
    shown: CountFromOne = 24  # labelled rows of train that a proposer sees
    name: str = "questions"

    @property
    def asks_questions(self) -> bool:
        """True: it tries prompts that ask questions."""
        return True

    def minimum(self, job: Job) -> int:
        """Return the calls for the basic prompt and one set on train and dev, and for its proposal.

        Raises:
            OptimizerError: the judge, or its model, cannot be asked further questions.
        """
        check_can_ask(job)
        return 2 * (len(job.train) + len(job.dev)) * job.calls_per_case + 2

    def expected_calls(self, job: Job) -> int:
        """Return the calls of the basic prompt and of all sets."""
        cases = len(job.train) + len(job.dev)
        return (1 + self.sets) * cases * job.calls_per_case + self.sets

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Score the start, then a prompt with each set of questions, on all of train and dev."""
        board.score(start, job.dev + tuple(job.labelled_train()))
        for turn in range(1, self.sets + 1):
            for candidate in self.propose(job, board, start, turn):
                board.score(candidate, job.dev + tuple(job.labelled_train()))
                job.note(board.name(candidate), board.value(candidate, job.dev), kind="candidate")

    def propose(self, job: Job, board: Board, start: Candidate, turn: int) -> list[Candidate]:
        """Enter a prompt with a new set of questions, and return it; empty without enough usable questions.

        Where the user named questions, they are the only set.
        """
        questions = job.own_questions or self._write_questions(job, board, start, turn)
        if not questions:
            return []
        state = start.state.with_questions(answering(job), questions)
        source = f"{self.name}, {len(questions)} asked with the judge's own"
        earlier_ids = set(board.candidates)
        candidate = board.add(state, parent=start, source=source, step=turn)
        if candidate.id in earlier_ids:
            return []
        return [candidate]

    def _write_questions(self, job: Job, board: Board, start: Candidate, turn: int) -> Questions:
        """Return the questions of a new proposal, or of a second one; empty if neither has enough usable ones."""
        predictor_name = answering(job)
        instruction = start.state.predictors[predictor_name].instructions
        guard = CopyGuard(job.train, [instruction])
        inputs = {"task": describe_task(job, predictor_name), "current_instruction": instruction}
        for attempt in range(2):
            rows = "\n\n".join(self._describe_rows(job, board, start, 2 * turn + attempt))
            for proposal in propose(job, ProposeQuestions, [{**inputs, "rows": rows}], self.temperature):
                questions = self._usable_questions(proposal["questions"], guard)
                if len(questions) >= self.fewest:
                    return questions
                count_proposals(job, ProposeQuestions.__name__, count=1, usable=0)
                job.note(f"a proposal has {len(questions)} usable questions, {self.fewest} are needed")
        return ()

    def _describe_rows(self, job: Job, board: Board, start: Candidate, draw_number: int) -> list[str]:
        """Return labelled rows of train as texts for a proposer: half of them judged wrongly, as far as there are any.

        Rows with a reason come first in the choice. The texts are in random order.
        """
        wrong: list[Case] = []
        right: list[Case] = []
        for case in job.labelled_train():
            outcome = board.outcome(start, case)
            if outcome is not None and outcome.has_error:
                wrong.append(case)
            else:
                right.append(case)
        draw = random.Random(f"{self.name}/{job.seed}/{draw_number}")
        for cases in (wrong, right):
            draw.shuffle(cases)
            cases.sort(key=lambda case: not case.reason)
        wrong = wrong[: max(self.shown // 2, self.shown - len(right))]
        sample = wrong + right[: self.shown - len(wrong)]
        draw.shuffle(sample)
        texts: list[str] = []
        for number, case in enumerate(sample, 1):
            words = f"people say: {describe_gold(case, job.judge)}"
            outcome = board.outcome(start, case)
            if outcome is not None:
                words += f"\nthe judge: {_describe_verdict(outcome.verdict, has_error=outcome.has_error)}"
            texts.append(f"row {number}\n{exemplar(job, answering(job), case, words)}")
        return texts

    def _usable_questions(self, text: str, guard: CopyGuard) -> Questions:
        """Return the questions of a proposal, without repetitions, long ones, and those that copy training rows."""
        questions: list[Question] = []
        normalised_texts: set[str] = set()
        for line in text.splitlines():
            question = parse_question(line)
            if question is None or len(question.text) > _LONGEST:
                continue
            normalised_text = normalised(question.text)
            if normalised_text in normalised_texts or guard.share(question.text) > self.copied:
                continue
            normalised_texts.add(normalised_text)
            questions.append(question)
        return tuple(questions[: self.most])


def _describe_verdict(verdict: Verdict, *, has_error: bool) -> str:
    """Return the judge's verdict on a row, in words for a proposer, such as "send (wrong)"."""
    values = ", ".join(str(value) for value in verdict.values if value is not None) or "nothing usable"
    correctness = "wrong" if has_error else "right"
    return f"{values} ({correctness})"


def check_can_ask(job: Job) -> None:
    """Refuse a job whose prompts cannot ask questions, or whose gold has too few labels for a head.

    Raises:
        OptimizerError: the job is such a one; the message has the reason and the next step.
    """
    reason = why_no_questions(job.judge)
    hint = "leave out --optimizer questions"
    if not job.questions:
        reason = "--no-questions was given"
        hint = "leave out --no-questions"
    elif job.decides and not job.reads_instructions and not job.own_questions:
        reason = "a decision model writes no questions"
        hint = "name a model that writes text with --prompt-model, or questions of your own with --questions"
    elif not job.reads_instructions and not job.own_questions:
        reason = "the offline engine reads no instructions, and so no questions"
        hint = "name a language model with --model"
    elif not reason and not may_fit_head(job):
        reason = (
            f"train and dev have fewer than {LEAST_ANSWERED} labelled rows, or too few of the rarer label"
        )
        hint = "give gold with more rows"
    if reason:
        raise OptimizerError(
            f"the demand of judge {job.judge.name} cannot be split into questions: {reason}", hint=hint
        )


def can_ask_questions(job: Job) -> bool:
    """Say whether the judge's model can be asked questions, somebody writes them, and they may be asked."""
    are_written = job.reads_instructions or bool(job.own_questions)
    return job.questions and are_written and not why_no_questions(job.judge)


optimizer = QuestionsOptimizer
