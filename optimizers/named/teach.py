"""``teach``: rules from what people said of training cases, and the rows most like the one that is judged, at once."""

import random
from dataclasses import dataclass

from ..base import Job, Optimizer
from ..board import Board, Candidate
from ..demonstrations import add_remembered_rows, list_demonstrable_cases
from ..drawing import order_by_strata
from ..guidelines import Guidelines, answering
from ..proposing import lessons_of
from ..settings import CountFromOne, CountFromZero


@dataclass(frozen=True, kw_only=True)
class Teach(Guidelines, Optimizer):
    """Rules and nearest rows, without a search: the basic prompt and the taught one are scored on dev."""

    nearest: CountFromZero = 8  # the most labelled rows that the prompt shows beside the judged one
    tokens: CountFromOne = 4_000  # about the most tokens that these rows take together
    errors: CountFromZero = 20  # train cases that are judged to find errors, where nobody gave a reason
    name: str = "teach"

    @property
    def searches(self) -> bool:
        """False: it tries one prompt, and a larger budget changes nothing."""
        return False

    @property
    def shows_nearest_rows(self) -> bool:
        """True: its prompt shows the labelled rows that are most like the judged one."""
        return True

    @property
    def most_demonstrations(self) -> int:
        """The most labelled rows that a prompt shows."""
        return self.nearest

    def least_cases(self, job: Job) -> int:
        """Return the number of the cases that rules are made from, and of those of dev."""
        return min(len(job.train), self.sample) + len(job.dev)

    def minimum(self, job: Job) -> int:
        """Return the number of calls for two passes over dev, and for making the rules."""
        reason_count = len(self.reasons(job))
        if reason_count:
            return 2 * len(job.dev) * job.calls_per_case + self.portion_count(reason_count)
        judged_cases = min(self.errors, len(job.train))
        cases = 2 * len(job.dev) + judged_cases
        return cases * job.calls_per_case + self.portion_count(judged_cases)

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Teach the start, and score it on dev."""
        lessons = self.reasons(job)
        if not lessons:
            order = order_by_strata(
                job.labelled_train(), job.judge.answer, random.Random(f"teach/{job.seed}")
            )
            judged_cases = order[: self.errors]
            outcomes = list(zip(judged_cases, board.score(start, judged_cases), strict=True))
            lessons = lessons_of(job, board.objective, answering(job), outcomes)
        state, params = self.ruled(job, start.state, lessons)
        words = f"{len(params.get('rules', ()))} rules of {len(lessons)} cases"
        if job.shows_demonstrations:
            state = add_remembered_rows(
                job.judge,
                list_demonstrable_cases(job),
                state,
                self.nearest,
                self.tokens,
                job.settings.embedder,
            )
            words += ", nearest rows"
        taught = board.add(state, parent=start, source=f"teach, {words}", demo_ids=(), params=params)
        board.score(taught, job.dev)
        job.note(f"teach: {words}", board.value(taught, job.dev), kind="step")


optimizer = Teach
