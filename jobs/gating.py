"""A gate: whether a judge is good enough on gold, and not worse than another version, in checks that pass or fail."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

from ..arguments.scoring import CriteriaOptions
from ..cases import Case, Value
from ..errors import JuristError, UsageError, plural, suggest_name
from ..evaluation.contrasts import Contrast, not_worse, usual_margin
from ..evaluation.plain import plain_fields
from ..evaluation.scale import resolve, shown_metrics
from ..keeping.contenders import Contender
from ..keeping.paying import PaidJob
from ..report.shown import Shown
from ..report.table import Table, table
from .comparing import Comparing, Comparison, ContenderResult
from .experiment import Answers


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit of a metric: the least or the largest value that passes."""

    metric: str  # its name
    value: float  # the limit
    is_lower_bound: bool  # whether it is the least value that passes, and not the largest

    @property
    def name(self) -> str:
        """The limit as an inequality, such as ``f1 >= 0.8``."""
        sign = "<="
        if self.is_lower_bound:
            sign = ">="
        return f"{self.metric} {sign} {self.value:g}"

    def check(self, scores: ContenderResult, *, sure: bool) -> "GateCheck":
        """Return the check of a judge's score: of its value, or if ``sure`` of the worse end of its interval."""
        score = scores.scores[self.metric]
        name = self.name
        low = score.value
        high = score.value
        if sure:
            name += ", for sure"
            low = score.interval.low
            high = score.interval.high
        passed = low >= self.value if self.is_lower_bound else high <= self.value
        return GateCheck(name=name, passed=passed, words=f"{self.metric} {score.value:.3f} {score.interval}")


Limits: TypeAlias = Mapping[str, float] | Sequence[tuple[str, float]]
"""Metrics with the values that they must reach, or must not exceed."""


def limits_of(minimum: Limits, maximum: Limits) -> tuple[Limit, ...]:
    """Return the limits of metrics: those of the lowest values that pass, then those of the highest."""
    limits = []
    for name, value in _pairs_of(minimum):
        limits.append(Limit(metric=name, value=value, is_lower_bound=True))
    for name, value in _pairs_of(maximum):
        limits.append(Limit(metric=name, value=value, is_lower_bound=False))
    return tuple(limits)


def _pairs_of(limits: Limits) -> Iterable[tuple[str, float]]:
    """Return the metrics with their values."""
    if isinstance(limits, Mapping):
        return limits.items()
    return limits


LEAST_GROUPS = 6
"""The fewest groups on which a paired test of whole groups can show anything."""


LEAST_OF_CLASS = 5
"""The fewest units of one of two classes: of fewer, one unit moves a recall by more than .2, the mean of two by .1."""


class GateCriteria(CriteriaOptions):
    """The criteria of a gate."""

    limits: tuple[Limit, ...] = ()  # of metrics

    def check(self, *, compares: bool) -> None:
        """Refuse a gate that no judge could fail; ``compares`` says whether there is a second judge."""
        if not (self.limits or compares):
            hint = "give --min METRIC=VALUE, --max METRIC=VALUE or --not-worse-than"
            raise UsageError("there is nothing to pass", hint=hint)
        if self.margin is not None and not compares:
            raise UsageError("--margin says how much worse than what", hint="give --not-worse-than too")
        if not (0 <= self.max_unusable <= 1 and 0 <= (self.margin or 0) < math.inf):
            hint = "give --max-unusable from 0 to 1, and --margin from 0 on"
            raise UsageError("a limit of the gate is no number that can be met", hint=hint)


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One check of the judge: its name, whether it holds, and its numbers in words."""

    name: str
    passed: bool
    words: str
    undecided: bool = False  # whether the rows cannot tell if it holds


@dataclass(frozen=True, kw_only=True)
class Gating(Comparing):
    """The judge that is to pass, and the one that it must not be worse than, if there is one."""

    kind: ClassVar[str] = "gate"
    chooses: ClassVar[bool] = False
    reuses_answers: ClassVar[bool] = False
    fewest: ClassVar[int] = 1

    criteria: GateCriteria = field(default_factory=GateCriteria)
    has_same_rival: bool = False  # whether the one that it must not be worse than is the judge itself

    @classmethod
    def of(cls, contenders: Sequence[Contender], **settings: Any) -> Self:
        """Return the gate of a judge, and of the one that it must not be worse than."""
        settings["criteria"].check(compares=len(contenders) > 1)
        has_same_rival = any(contenders[0].is_same(contender) for contender in contenders[1:])
        if has_same_rival:  # it is asked once
            contenders = contenders[:1]
        return cls(contenders=tuple(contenders), has_same_rival=has_same_rival, **settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_limits()
        self._check_enough()

    def _check_enough(self) -> None:
        """Refuse a gate where the rows of the gold that are left are too few, or of one class."""
        labelled = [case for case in self.cases if case.labels]
        units = sum(len(case.labels) for case in labelled)
        groups = {case.group for case in labelled}
        least_units = self.criteria.at_least
        least_groups = min(LEAST_GROUPS, least_units)
        lack = self.scored.answer.scale.check_part(labelled)
        if lack is not None:
            reason = f"{lack.gold_words}: there is no {lack.what} one"
            hint = f"add rows labelled {lack.missing_values}"
        elif units < least_units or len(groups) < least_groups:
            reason = f"a gate needs {plural(least_units, 'labelled unit')} in {plural(least_groups, 'group')}"
            hint = "give labelled rows that no version was compiled on; --at-least N allows fewer"
        else:
            reason, hint = self._rare_class(labelled)
            if not reason:
                return
        remaining = f"{plural(units, 'labelled unit')} in {plural(len(groups), 'group')}"
        if self.left_out:
            remaining = f"{remaining} remain of {self.gold.name}, as {self.left_out_words}"
        else:
            remaining = f"{self.gold.name} has {remaining}"
        name = self.contenders[0].name
        raise JuristError(f"whether {name} passes cannot be found out: {remaining}; {reason}", hint=hint)

    def _rare_class(self, labelled: Sequence[Case]) -> tuple[str, str]:
        """Return the reason and the hint where a class has too few units for the limit of a metric; else two empty."""
        golds: list[Value] = []
        for case in labelled:
            golds.extend(case.labels)
        # A gate that takes fewer units than usual takes fewer of a class, in the same share.
        least_of_class = min(LEAST_OF_CLASS, math.ceil(self.criteria.at_least / 4))
        for limit in self.criteria.limits:
            units_by_class = self.scored.comparison.units_by_class(limit.metric, golds)
            # In a mean over more classes than two each weighs less, so fewer units of each are enough.
            least = math.ceil(2 * least_of_class / max(2, len(units_by_class)))
            for label, units in units_by_class.items():
                if units < least:
                    return (
                        f"{limit.metric} needs {least} units labelled {label!r} (found: {units})",
                        f"add rows labelled {label!r}, or limit a metric that counts all units alike, such as accuracy",
                    )
        return "", ""

    def _check_limits(self) -> None:
        """Refuse limits of unknown metrics, and limits that every judge, or none, would meet."""
        judge = self.contenders[0].judge
        metrics = {metric.name: metric for metric in shown_metrics(judge.comparison, judge.metric)}
        for limit in self.criteria.limits:
            metric = metrics.get(limit.metric)
            if metric is None:
                hint = suggest_name(limit.metric, metrics)
                raise UsageError(f"no metric of {judge.name} is called {limit.metric!r}", hint=hint)
            if limit.is_lower_bound and metric.higher_is_better is False:
                raise UsageError(
                    f"{limit.name} cannot be a limit: the lower {limit.metric}, the better",
                    hint=f"give the highest that passes: --max {limit.metric}={limit.value:g}",
                )
            if not metric.low <= limit.value <= metric.high:
                raise UsageError(
                    f"{limit.name} cannot be a limit: {limit.metric} is from {metric.low:g} to {metric.high:g}",
                    hint="give a limit between these",
                )

    def conclude(self, job: PaidJob, answers: Sequence[Answers], on_case: Callable[[], None]) -> "Gate":
        """Return the gate with its checks: of the limits, against the other judge, and of rows without an answer."""
        comparison = self.compare_answers(answers)
        result = comparison.contenders[0]
        checks = []
        for limit in self.criteria.limits:
            checks.append(limit.check(result, sure=self.criteria.sure))
        if self.has_same_rival:
            words = "it is the same judge, and asked once"
            checks.append(GateCheck(name=f"not worse than {result.name}", passed=True, words=words))
        for test in comparison.tests:
            checks.append(self._check_not_worse(test, comparison))
        checks.append(_check_unusable(result, self.criteria.max_unusable))
        if self.gold.rejected:
            checks.append(self._check_set_aside(comparison))
        return Gate(
            judge=result.name,
            gold=comparison.gold,
            cases=comparison.cases,
            left_out=self.left_out,
            rejected=self.gold.rejected,
            checks=tuple(checks),
            comparison=comparison,
        )

    def _check_set_aside(self, comparison: Comparison) -> GateCheck:
        """Return the check of the share of the gold's rows that cannot be used: the score says nothing of these."""
        largest_share = self.criteria.max_unusable
        rejected = self.gold.rejected
        share = rejected / (comparison.cases + self.left_out + rejected)
        return GateCheck(
            name=f"set aside <= {largest_share:.1%}",
            passed=share <= largest_share,
            words=f"{share:.1%} of the rows of {self.gold.name} cannot be used",
        )

    def _check_not_worse(self, test: Contrast, comparison: Comparison) -> GateCheck:
        """Return the check of a test against the other judge: of the judge's metric, or of a criterion."""
        metric = resolve(self.scored.metric, self.scored.comparison)
        if test.metric != metric.name:  # that of a criterion
            metric = self.scored.comparison.metrics[test.metric]
        margin = self.criteria.margin
        if margin is None:
            margin = usual_margin(metric)
        decision = not_worse(test, margin, comparison.cases)
        name = f"not worse than {test.second} by more than {margin:g}"
        if any(another.metric != test.metric for another in comparison.tests):
            name += f" in {test.metric}"
        return GateCheck(
            name=name,
            passed=decision.outcome == "holds",
            words=decision.words,
            undecided=decision.outcome == "cannot be told",
        )


def _check_unusable(result: ContenderResult, largest_share: float) -> GateCheck:
    """Return the check of the share of labelled units that have no answer."""
    units = result.counts.units
    # 1 less the coverage would not do: of 4 in 80 it is more than 0.05.
    share = 1.0
    if units.labelled:
        share = (units.labelled - units.answered) / units.labelled
    return GateCheck(
        name=f"unusable <= {largest_share:.1%}",
        passed=share <= largest_share,
        words=f"{share:.1%} of the labelled units have no answer",
    )


def check_table(checks: Sequence[GateCheck]) -> Table:
    """Return a row for each check of a gate: whether it passed, ``?`` if that cannot be told."""
    rows = []
    for check in checks:
        mark = "FAIL"
        if check.passed:
            mark = "pass"
        elif check.undecided:
            mark = "?"
        rows.append([mark, check.name, check.words])
    return table("", ["", "check", "found"], rows)


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(Shown):
    """The result of a gate."""

    judge: str  # ``JUDGE@VERSION`` or ``JUDGE:basic``
    gold: str  # the gold's name
    cases: int  # rows judged
    # rows left out because a version was compiled on them or on near copies of them, or a prompt shows them
    left_out: int
    rejected: int  # rows that cannot be used, which were set aside
    checks: tuple[GateCheck, ...]  # each with its numbers
    comparison: Comparison  # all scores, and the paired test if there is another judge

    @property
    def passed(self) -> bool:
        """Whether all checks hold."""
        return all(check.passed for check in self.checks)

    @property
    def undecided(self) -> bool:
        """Whether no check fails, and the rows cannot tell whether all hold."""
        failing = [check for check in self.checks if not check.passed]
        return bool(failing) and all(check.undecided for check in failing)

    @property
    def decision(self) -> str:
        """The decision, without what decides it."""
        failures = 0
        for check in self.checks:
            if not check.passed and not check.undecided:
                failures += 1
        decided = "passes"
        if failures:
            decided = f"fails {failures} of {len(self.checks)} checks"
        elif self.undecided:
            decided = "whether it passes cannot be told"
        size = plural(self.cases, "case")
        uncounted: list[str] = []
        if self.left_out:
            uncounted.append(f"{self.left_out} left out")
        if self.rejected:
            uncounted.append(f"{self.rejected} set aside")
        if uncounted:
            size += f" ({', '.join(uncounted)})"
        return f"{self.judge} on {self.gold}, {size}, {decided}"

    @property
    def words(self) -> str:
        """One line: the decision, and what decides it."""
        reasons = []
        for check in self.checks:
            if check.passed == self.passed:
                reasons.append(f"{check.name} ({check.words})")
        return f"{self.decision}: {'; '.join(reasons)}"

    @property
    def headline(self) -> str:
        """The decision, and what decides it."""
        return self.words

    def parts(self) -> list[Table | str]:
        """Return the decision and the checks."""
        return [self.decision, check_table(self.checks)]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each check."""
        return [dict(plain_fields(check)) for check in self.checks]

    def to_json(self) -> dict[str, Any]:
        """Return the gate as JSON values: its fields, ``passed``, ``undecided`` and ``words``."""
        return {
            **plain_fields(self),
            "passed": self.passed,
            "undecided": self.undecided,
            "words": self.words,
        }
