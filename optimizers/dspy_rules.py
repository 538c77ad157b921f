"""``infer-rules``: DSPy's InferRules.

Bootstrapped demonstrations, and on top of them rules that a proposer induces
from labelled training cases, several times. Calls: one bootstrap, and V and one
proposal per predictor for each set of rules; one more whenever the examples are
too long for the proposer. A predictor of which gold says nothing gets no rules.

DSPy's optimizer keeps one signature for all its candidates: it writes each new
rules over the best ones, returns the last, and changes the student's own
signature on the way. The record holds each prompt as it was when it was scored,
and the student is a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dspy.teleprompt import InferRules as DspyInferRules
from dspy.utils.exceptions import ContextWindowExceededError

from ..cases import Case
from .base import Job
from .drawing import labelled
from .dspy_search import DspyOptimizer, Proposals, SearchBudget, pool, proposer
from .recorder import Judging, Recorder

_USUAL, _MOST = 10, 50


@dataclass(frozen=True, kw_only=True)
class InferRules(DspyOptimizer):
    """InferRules' settings."""

    candidates: int = 0  # sets of rules; 0 fits them to the budget (10 without one)
    rules: int = 10  # rules of a set
    sample: int = 40  # train cases shown to the proposer and bootstrapped from, at most
    demos: int = 4  # bootstrapped demonstrations, at most; 0 for labelled ones only
    labels: int = 8  # demonstrations in all, at most
    accept: float = 0.5  # score of a case, in [0, 1], from which its answer may become a demonstration
    finalists: int = 1  # prompts scored on all of dev at the end
    name: str = "infer-rules"

    def smallest(self, job: Job, budget: SearchBudget) -> int:
        """Return the calls of the bootstrap and one set of rules."""
        return self._bootstrap(len(job.train)) * budget.run + budget.predictors

    def sets(self, budget: SearchBudget, cases: int, dev: int) -> int:
        """Return the sets of rules that the budget pays for."""
        if self.candidates or budget.left is None:
            return self.candidates or _USUAL

        def calls(sets: int) -> int:
            return self._bootstrap(cases) * budget.run + sets * (budget.predictors + dev * budget.run)

        return budget.largest(range(_MOST, 0, -1), calls, least=1)

    def _bootstrap(self, cases: int) -> int:
        return min(cases, self.sample or cases, 2 * self.demos)

    def compile(self, recorder: Recorder, student: Judging, budget: SearchBudget) -> None:
        """Add demonstrations and rules to the student."""
        job = recorder.job
        train, dev = pool(job, self.name, self.sample), labelled(job.dev) or list(job.dev)
        optimizer = _Rules(
            job,
            train,
            Proposals(job, self.name),
            num_candidates=self.sets(budget, len(train), len(dev)),
            num_rules=self.rules,
            num_threads=1,
            metric=recorder.metric,
            metric_threshold=self.accept,
            max_bootstrapped_demos=self.demos,
            max_labeled_demos=self.labels,
        )
        # Given to the constructor, the model that writes rules would also be the teacher of the demonstrations.
        optimizer.rules_induction_program.teacher_settings = {"lm": proposer(job)}
        for name, predictor in student.program.named_predictors():
            predictor.rules_for = name  # its copies keep it
        optimizer.compile(
            student,
            teacher=recorder.teacher(),
            trainset=recorder.examples(train),
            valset=recorder.examples(dev),
        )


class _Rules(DspyInferRules):
    """DSPy's optimizer, with examples as gold gives them for each predictor.

    DSPy shows a whole case's answer to each predictor, so far as its fields are called alike; writes a heading without
    rules where a proposal is empty; and does not recognise the error that tells it to shorten its examples.
    """

    def __init__(self, job: Job, cases: Sequence[Case], proposals: Proposals, **settings: Any) -> None:
        super().__init__(**settings)
        self._job, self._proposals = job, proposals
        known = [job.judge.demos(case) for case in cases]
        self._examples = {
            name: [dict(demos[name]) for demos in known if name in demos]
            for name, _ in job.judge.basic().named_predictors()
        }

    def induce_natural_language_rules(self, predictor: Any, trainset: object) -> str:
        """Return rules for a predictor; none where there are no examples, or not one that the proposer can take."""
        name = predictor.rules_for
        while examples := self._examples[name]:
            try:
                rules: str = self.rules_induction_program(self.format_examples(examples, predictor.signature))
            except ContextWindowExceededError:
                self._shorten(name)
                continue
            if rules:
                self._proposals.good()
            else:
                self._proposals.lost("the proposer's reply cannot be read, or holds no rules")
            return rules
        return ""

    def update_program_instructions(self, predictor: Any, natural_language_rules: str) -> None:
        """Append rules to a predictor's instruction, if there are any."""
        if natural_language_rules:
            super().update_program_instructions(predictor, natural_language_rules)

    def _shorten(self, name: str) -> None:
        """Leave a quarter of the examples out, for all later proposals too: every attempt is paid for."""
        count = len(self._examples[name])
        self._examples[name] = self._examples[name][: count * 3 // 4]
        self._job.note(
            f"infer-rules: {count} examples are too long for the proposer; it is shown {len(self._examples[name])}"
        )
