"""CogniBench's Table 3 on any gold: detectors of hallucinated sentences side by side.

Every line is a judge that can be loaded: the auto-labelling judge, basic or compiled, the single-pass detector, a
judge of one sentence at a time, or a detector named with its model. Responses on which one of them was compiled are
left out for all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from ...cases import Case, Label
from ...errors import UsageError
from ...jobs.estimate import Estimate
from ...jobs.experiment import Experiment
from ...jobs.looking import seen_by
from ...jobs.measuring import part_of
from ...keeping.loading import LoadedJudge
from ...keeping.paying import PaidJob
from ...programs.answers.infer import closed
from ...programs.judge import Judge
from ...programs.statements import BySentence
from ...programs.strictness import BELOW, DEFAULT
from ...signatures.cognibench import LABELS
from .asked import Plan, ask, planned, rows_at
from .result import Line, Table, line_of, table_of


@dataclass(frozen=True, kw_only=True)
class Detectors(Experiment):
    """The table before anything is asked: an experiment whose judges may take responses or single sentences.

    The first contender is tested against each other one; gold is that of the judge ``cognibench``.
    """

    kind: ClassVar[str] = "table cognibench-3"
    fewest: ClassVar[int] = 1
    strictness: str = DEFAULT  # below it a cognitive sentence is hallucinated (the paper's: grounded)
    seed: int = 0  # of the permutation test

    def _check_alike(self) -> None:
        """Refuse judges that are not asked about hallucinated sentences; how they are asked may differ."""
        for one in self.contenders:
            _refuse_other_question(one.judge)

    @property
    def positive(self) -> frozenset[Label]:
        """The hallucinated labels of gold."""
        return BELOW[self.strictness]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The responses of which no detector's artifact has seen anything."""
        hidden: set[str] = set()
        for one in self.contenders:
            if one.artifact:
                plan = planned(one.judge, self.gold, self.gold.cases)
                seen = seen_by(one, plan.cases)
                places = zip(plan.gold, plan.places, strict=True)
                hidden |= {
                    case.id for case, found in places if any(p and plan.cases[p[0]].id in seen for p in found)
                }
        return tuple(case for case in self.gold.cases if case.id not in hidden)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """What each detector is asked."""
        return tuple(planned(one.judge, self.gold, self.cases) for one in self.contenders)

    @property
    def rows(self) -> int:
        """The number of cases of all detectors, for a progress bar."""
        return sum(len(plan.cases) for plan in self.plans)

    def fingerprint(self) -> dict[str, Any]:
        """Return what makes this the same table when it is started again, as JSON values."""
        return {**super().fingerprint(), "strictness": self.strictness}

    def forecast(self) -> Estimate:
        """Estimate calls, tokens and cost."""
        parts = []
        for name, one, plan in zip(self.names, self.contenders, self.plans, strict=True):
            number = len(plan.cases) * one.sampling.samples
            parts.append(part_of(name, one.asker(), one.models, plan.cases, (number, number)))
        what = f"{len(parts)} detector{'s' if len(parts) > 1 else ''} x {len(self.cases)} responses"
        return Estimate(what=what, parts=tuple(parts), budget=self.budget)

    def table(self, job: PaidJob, on_case: Callable[[], None] = lambda: None) -> Table:
        """Ask all detectors and score them."""
        lines = []
        named = zip(self.names, self.contenders, self.plans, job.contexts.values(), strict=True)
        for name, one, plan, context in named:
            asked = ask(plan, replace(one, context=context).asker(), on_case)
            rows = rows_at(asked, one.sampling.needed)
            lines.append(self._line(name, one, rows, context.ledger.spend()))
        self.look.done(self.kind)
        return table_of(
            "cognibench-3",
            self.gold.name,
            self.strictness,
            lines,
            self.positive,
            pairs=[(0, other) for other in range(1, len(lines))],
            seed=self.seed,
            alpha=self.look.level,
            notes=self._notes(),
        )

    def _line(self, name: str, one: LoadedJudge, rows: Sequence[Any], spend: Any) -> Line:
        tiers = set(one.judge.answer.choices) == set(LABELS)
        return line_of(name, one.model.name, rows, self.cases, self.positive, tiers=tiers, spend=spend)

    def _notes(self) -> list[str]:
        said = (*(each.note for each in self.contenders), self.look.words, self.left_out_words)
        notes = [one for one in said if one]
        fixed = [one.name for one in self.contenders if not one.judge.answer.levels]
        if fixed and self.strictness != DEFAULT:
            notes.append(
                f"{', '.join(fixed)} cannot be set to the strictness {self.strictness}: as for {DEFAULT}"
            )
        return list(dict.fromkeys(notes))


def _refuse_other_question(judge: Judge) -> None:
    """Refuse a judge of sentences whose positive labels mean something else, such as *cognitive*."""
    if not isinstance(judge.expand, BySentence):
        return
    positive = closed(judge.answer).positive
    found = {label for label, own in judge.expand.labels.items() if own in positive}
    if not any(found <= below for below in BELOW.values()):
        raise UsageError(
            f"judge {judge.name} finds {' and '.join(sorted(positive))} sentences, not hallucinated ones",
            hint="name detectors of hallucinations: cognibench, detector, factual, nli:MODEL, lettuce:MODEL, ...",
        )
