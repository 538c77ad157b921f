"""A gate: whether a judge is good enough on gold, and not worse than another version, in checks that pass or fail."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

from ..arguments.scoring import CriteriaOptions
from ..errors import JuristError, UsageError, choices, plural
from ..evaluation.contrasts import not_worse, usual_margin
from ..evaluation.plain import plain_fields
from ..evaluation.scale import resolve, shown_metrics
from ..keeping.contenders import Contender
from ..keeping.paying import PaidJob
from .comparing import Comparing, Comparison, ContenderResult
from .experiment import Answers


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit of a metric: the least or the largest value that passes."""

    metric: str  # its name
    value: float  # the limit
    lowest: bool  # whether it is the lowest that passes, and not the highest

    @property
    def name(self) -> str:
        """``f1 >= 0.8``."""
        return f"{self.metric} {'>=' if self.lowest else '<='} {self.value:g}"

    def check(self, scores: ContenderResult, *, sure: bool) -> "Check":
        """Hold a judge's score against it: the value, or if ``sure`` the worse end of its 95 % interval."""
        score = scores.scores[self.metric]
        held = (score.interval.low if self.lowest else score.interval.high) if sure else score.value
        passed = held >= self.value if self.lowest else held <= self.value
        return Check(
            name=f"{self.name}{', for sure' if sure else ''}",
            passed=passed,
            words=f"{self.metric} {score.value:.3f} {score.interval}",
        )


Limits: TypeAlias = Mapping[str, float] | Sequence[tuple[str, float]]
"""Metrics and what they must reach, or must not exceed."""


def limits_of(minimum: Limits, maximum: Limits) -> tuple[Limit, ...]:
    """Return the limits of metrics and their lowest, and highest, values."""
    return tuple(
        Limit(metric=name, value=value, lowest=lowest)
        for lowest, limits in ((True, minimum), (False, maximum))
        for name, value in (limits.items() if isinstance(limits, Mapping) else limits)
    )


LEAST_GROUPS = 6
"""Groups without which no paired test of whole groups shows anything."""


class Criteria(CriteriaOptions):
    """The criteria of a gate."""

    limits: tuple[Limit, ...] = ()  # of metrics

    def check(self, *, other: bool) -> None:
        """Refuse what nobody could fail; ``other`` says whether there is a judge that it must not be worse than."""
        if not (self.limits or other):
            hint = "give --min METRIC=VALUE, --max METRIC=VALUE or --not-worse-than"
            raise UsageError("there is nothing to pass", hint=hint)
        if self.margin is not None and not other:
            raise UsageError("--margin says how much worse than what", hint="give --not-worse-than too")
        if not (0 <= self.max_unusable <= 1 and 0 <= (self.margin or 0) < math.inf):
            hint = "give --max-unusable from 0 to 1, and --margin from 0 on"
            raise UsageError("a limit of the gate is no number that can be met", hint=hint)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was asked of the judge: what, whether it holds, and the numbers."""

    name: str
    passed: bool
    words: str
    undecided: bool = False  # whether the rows cannot tell if it holds


@dataclass(frozen=True, kw_only=True)
class Gating(Comparing):
    """The judge that is to pass, and the one that it must not be worse than, if there is one."""

    kind: ClassVar[str] = "gate"
    chooses: ClassVar[bool] = False
    fewest: ClassVar[int] = 1

    criteria: Criteria = field(default_factory=Criteria)
    itself: bool = False  # whether that one is the judge itself, which is asked once

    @classmethod
    def of(cls, contenders: Sequence[Contender], **settings: Any) -> Self:
        """Return the gate of a judge, and of the one that it must not be worse than."""
        settings["criteria"].check(other=len(contenders) > 1)
        itself = any(contenders[0].is_same(one) for one in contenders[1:])
        return cls(contenders=tuple(contenders[:1] if itself else contenders), itself=itself, **settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_limits()
        self._check_enough()

    def _check_enough(self) -> None:
        """Refuse to decide on what is left of the gold where that is too little to find anything out."""
        labelled = [case for case in self.cases if case.known]
        units = sum(len(case.known) for case in labelled)
        groups = len({case.group for case in labelled})
        least_units = self.criteria.at_least
        least_groups = min(LEAST_GROUPS, least_units)
        lack = self.scored.answer.scale.check_part(labelled)
        if units >= least_units and groups >= least_groups and lack is None:
            return
        if lack is not None:
            reason, hint = f"{lack.said}: there is no {lack.what} one", f"add rows labelled {lack.wanted}"
        else:
            reason = f"a gate needs {plural(least_units, 'labelled unit')} in {plural(least_groups, 'group')}"
            hint = (
                "give labelled rows that no version was compiled on; --at-least N (at_least=N in Python) is content "
                "with N units"
            )
        rest = f"{plural(units, 'labelled unit')} in {plural(groups, 'group')}"
        if self.left_out:
            rest += f" remain of {self.gold.name}, as {self.left_out_words}"
        else:
            rest = f"{self.gold.name} has {rest}"
        name = self.contenders[0].name
        raise JuristError(f"whether {name} passes cannot be found out: {rest}; {reason}", hint=hint)

    def _check_limits(self) -> None:
        """Refuse limits of metrics that there are not, or that nothing could meet or miss."""
        judge = self.contenders[0].judge
        known = {one.name: one for one in shown_metrics(judge.comparison, judge.metric)}
        for limit in self.criteria.limits:
            if (metric := known.get(limit.metric)) is None:
                hint = choices(limit.metric, known)
                raise UsageError(f"no metric of {judge.name} is called {limit.metric!r}", hint=hint)
            if limit.lowest and metric.higher_is_better is False:
                raise UsageError(
                    f"{limit.name} says nothing: the lower {limit.metric}, the better",
                    hint=f"give the highest that passes: --max {limit.metric}={limit.value:g}",
                )
            if not metric.low <= limit.value <= metric.high:
                raise UsageError(
                    f"{limit.name} says nothing: {limit.metric} is from {metric.low:g} to {metric.high:g}",
                    hint="give a limit between these",
                )

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> Any:
        criteria = self.criteria
        comparison = self.compared(answers)
        one = comparison.contenders[0]
        same = Check(
            name=f"not worse than {one.name}", passed=True, words="it is the same judge, and asked once"
        )
        counts, most = one.counts.units, criteria.max_unusable
        # not 1 less the coverage, which of 4 in 80 is more than 0.05
        missing = (counts.labelled - counts.answered) / counts.labelled if counts.labelled else 1.0
        answered = Check(
            name=f"unusable <= {most:.1%}",
            passed=missing <= most,
            words=f"{missing:.1%} of the labelled units have no answer",
        )
        return Gate(
            judge=one.name,
            gold=comparison.gold,
            cases=comparison.cases,
            left_out=self.left_out,
            checks=(
                *(limit.check(one, sure=criteria.sure) for limit in criteria.limits),
                *([same] if self.itself else self._not_worse(comparison)),
                answered,
            ),
            comparison=comparison,
        )

    def _not_worse(self, comparison: Comparison) -> list[Check]:
        """Return a check for each test against the other judge: over all, and of each criterion."""
        checks = []
        several = len({test.metric for test in comparison.tests}) > 1
        for test in comparison.tests:
            metric = resolve(self.scored.metric, self.scored.comparison)
            if test.metric != metric.name:  # that of a criterion
                metric = self.scored.comparison.metrics[test.metric]
            margin = self.criteria.margin
            if margin is None:
                margin = usual_margin(metric)
            found = not_worse(test, margin, comparison.cases)
            name = f"not worse than {test.second} by more than {margin:g}"
            if several:
                name += f" in {test.metric}"
            checks.append(
                Check(
                    name=name,
                    passed=found.outcome == "holds",
                    words=found.words,
                    undecided=found.outcome == "cannot be told",
                )
            )
        return checks


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The result of a gate."""

    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    gold: str  # the gold's name
    cases: int  # rows judged
    left_out: int  # rows left out because a version was compiled on them or on near copies of them
    checks: tuple[Check, ...]  # each with its numbers
    comparison: Comparison  # all scores, and the paired test if there is another judge

    @property
    def passed(self) -> bool:
        """Whether all checks hold."""
        return all(check.passed for check in self.checks)

    @property
    def undecided(self) -> bool:
        """Whether no check fails, and the rows cannot tell whether all hold."""
        open_checks = [check for check in self.checks if not check.passed]
        return bool(open_checks) and all(check.undecided for check in open_checks)

    @property
    def decision(self) -> str:
        """The decision, without what decides it."""
        failing = sum(not check.passed and not check.undecided for check in self.checks)
        decided = "passes"
        if failing:
            decided = f"fails {failing} of {len(self.checks)} checks"
        elif self.undecided:
            decided = "whether it passes cannot be told"
        size = plural(self.cases, "case")
        if self.left_out:
            size += f" ({self.left_out} left out)"
        return f"{self.judge} on {self.gold}, {size}, {decided}"

    @property
    def words(self) -> str:
        """One line: the decision, and what decides it."""
        shown = [f"{check.name} ({check.words})" for check in self.checks if check.passed == self.passed]
        return f"{self.decision}: {'; '.join(shown)}"

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            **plain_fields(self),
            "passed": self.passed,
            "undecided": self.undecided,
            "words": self.words,
        }
