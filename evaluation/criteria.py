"""Several criteria of one row, each on a scale of its own: every unit of a case is one criterion.

A value says which criterion it is of, so that pooled values of all criteria are told apart. Each keeps its own metrics
(``grounded.f1``); ``mean`` is the mean of their default ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..cases import Case, Value, Values
from .rows import JudgedRow
from .scale import Annotation, Lack, Scale
from .votes import Sampling, Votes

if TYPE_CHECKING:
    from .metrics import Metric

MEAN: Final = "mean"
"""The metric over all criteria."""


@dataclass(frozen=True, order=True)
class Rated:
    """A value of one criterion."""

    criterion: str
    value: Value

    def __str__(self) -> str:
        return f"{self.criterion}: {self.value}"


RatedVotes: TypeAlias = Mapping[Rated, Any]
"""The votes of one unit, or the probabilities of its values."""


@dataclass(frozen=True)
class CriteriaScale(Scale):
    """Criteria by name, each with its scale."""

    scales: Mapping[str, Scale]

    default = MEAN
    noun = "answer"
    row_type: Annotation = dict[str, Any]

    @cached_property
    def metrics(self) -> "Mapping[str, Metric]":
        """``mean``, and those of each criterion as ``criterion.metric``."""
        from .criteria_metrics import metrics_of_criteria

        return metrics_of_criteria(MEAN, self.scales)

    @property
    def compared(self) -> tuple[str, ...]:
        names = []
        for criterion, scale in self.scales.items():
            names.append(f"{criterion}.{scale.default}")
        return tuple(names)

    @property
    def shown(self) -> tuple[str, ...]:
        names = [MEAN]
        for criterion, scale in self.scales.items():
            names.extend(f"{criterion}.{key}" for key in scale.shown)
        return tuple(names)

    @property
    def domain(self) -> tuple[Rated, ...]:
        values: list[Rated] = []
        for criterion, scale in self.scales.items():
            if not scale.domain:
                return ()
            values.extend(_rate(criterion, scale.domain))
        return tuple(values)

    def units_by_class(self, metric: str, golds: Sequence[Rated]) -> Mapping[str, int]:
        criterion, _, criterion_metric = metric.partition(".")
        if criterion not in self.scales:
            return {}
        return self.scales[criterion].units_by_class(criterion_metric, _plain_values(criterion, golds))

    @property
    def right_means(self) -> str:
        if all(scale.right_means for scale in self.scales.values()):
            return "right by its own criterion"
        return ""

    def right(self, gold: Rated, value: Rated) -> bool | None:
        return self.scales[gold.criterion].right(gold.value, value.value)

    def wrong(self, gold: Rated) -> Rated:
        return replace(gold, value=self.scales[gold.criterion].wrong(gold.value))

    def similarity(self, gold: Rated, value: Rated) -> float:
        if gold.criterion != value.criterion:
            return 0.0
        return self.scales[gold.criterion].similarity(gold.value, value.value)

    def consensus(self, values: Sequence[Rated]) -> Rated | None:
        if not values:
            return None
        criterion = values[0].criterion
        consensus = self.scales[criterion].consensus([value.value for value in values])
        if consensus is None:
            return None
        return Rated(criterion, consensus)

    def settle(self, values: Sequence[Rated]) -> Rated | None:
        criterion = values[0].criterion
        settled = self.scales[criterion].settle([value.value for value in values])
        if settled is None:
            return None
        return Rated(criterion, settled)

    @property
    def expects(self) -> str:
        return "; ".join(f"{name}: {scale.expects}" for name, scale in self.scales.items())

    def cell(self, written: str) -> dict[str, object] | None:
        """The value of a text such as ``grounded: true``, as a row has it."""
        criterion, _, text = written.partition(":")
        if criterion not in self.scales:
            return None
        value = self.scales[criterion].cell(text.strip())
        if value is None:
            return None
        return {criterion: value}

    def of_json(self, data: object) -> Rated:
        if not isinstance(data, Mapping) or len(data) != 1 or not (data.keys() <= self.scales.keys()):
            raise ValueError(f"no criterion of {', '.join(self.scales)} with its value: {data!r}")
        ((criterion, value),) = data.items()
        return Rated(criterion, self.scales[criterion].of_json(value))

    def to_json(self, value: Rated | None) -> dict[str, object] | None:
        if value is None:
            return None
        return {value.criterion: self.scales[value.criterion].to_json(value.value)}

    def stratum(self, gold: Rated) -> str:
        return f"{gold.criterion}: {self.scales[gold.criterion].stratum(gold.value)}"

    def text(self, value: Rated) -> str:
        return f"{value.criterion}: {self.scales[value.criterion].text(value.value)}"

    def task_words(self) -> str:
        lines = []
        for criterion, scale in self.scales.items():
            words = scale.task_words().replace("\n", "; ")
            lines.append(f"{criterion}: {words}")
        return "\n".join(lines)

    def identity(self) -> dict[str, object]:
        identities = {}
        for criterion, scale in self.scales.items():
            identities[criterion] = scale.identity()
        return {"criteria": identities}

    def listing(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, scale.expects) for name, scale in self.scales.items())

    def combine(self, votes: RatedVotes, sampling: Sampling) -> Rated | None:
        for criterion, criterion_votes in _by_criterion(votes).items():
            # A unit is one criterion, so all of its votes are of the first one.
            weights = _criterion_weights(criterion, sampling)
            value = self.scales[criterion].combine(criterion_votes, weights)
            if value is None:
                return None
            return Rated(criterion, value)
        return None

    def is_decided(self, votes: Mapping[Rated, int], remaining: int, sampling: Sampling) -> bool:
        """True where the criterion of the votes is decided; before any vote, only if no sample remains."""
        if remaining == 0:
            return True
        for criterion, criterion_votes in _by_criterion(votes).items():
            if self.scales[criterion].is_decided(criterion_votes, remaining, sampling):
                return True
        return False

    @property
    def takes_mean(self) -> bool:  # type: ignore[override]
        return any(scale.takes_mean for scale in self.scales.values())

    @property
    def has_probabilities(self) -> bool:
        return any(scale.has_probabilities for scale in self.scales.values())

    @property
    def weighted(self) -> tuple[tuple[Rated, ...], ...]:
        """Return the labels of each criterion that has probabilities."""
        weighted_sets = []
        for criterion, scale in self.scales.items():
            if scale.has_probabilities:
                weighted_sets.append(tuple(_rate(criterion, scale.domain)))
        return tuple(weighted_sets)

    def probability(self, shares: RatedVotes) -> float | None:
        for criterion, criterion_shares in _by_criterion(shares).items():
            return self.scales[criterion].probability(criterion_shares)
        return None

    def describe(self, values: Sequence[Rated]) -> dict[str, object]:
        descriptions: dict[str, object] = {}
        for criterion, scale in self.scales.items():
            descriptions[criterion] = scale.describe(_plain_values(criterion, values))
        return descriptions

    def strata(self, cases: Sequence[Case]) -> list[str]:
        strata_by_criterion = []
        for criterion, scale in self.scales.items():
            strata_by_criterion.append(scale.strata(self.cases(criterion, cases)))
        return [", ".join(strata) for strata in zip(*strata_by_criterion, strict=True)]

    def cases(self, name: str, cases: Sequence[Case]) -> list[Case]:
        """Return cases with the gold of one criterion alone."""
        place = list(self.scales).index(name)
        cases_of_criterion = []
        for case in cases:
            gold: Values | None = None
            if case.gold and case.gold[place] is not None:
                gold = _plain_value(case.gold[place])
            cases_of_criterion.append(replace(case, gold=gold, ratings={}, spans=()))
        return cases_of_criterion

    def rows(self, name: str, rows: Sequence[JudgedRow]) -> list[JudgedRow]:
        """Return rows with the gold and the answer of one criterion alone."""
        place = list(self.scales).index(name)
        rows_of_criterion = []
        for row in rows:
            gold = _plain_value(row.gold[place])
            answer = _plain_value(row.predicted[place])
            rows_of_criterion.append(replace(row, gold=gold, predicted=answer))
        return rows_of_criterion

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        for name, scale in self.scales.items():
            labelled_cases = []
            for case in self.cases(name, cases):
                if case.labels:
                    labelled_cases.append(case)
            if not labelled_cases:
                continue
            lack = scale.check_part(labelled_cases)
            if lack:
                return replace(lack, gold_words=f"{name}: {lack.gold_words}")
        return None

    def usual(self, golds: Sequence[Rated]) -> Sequence[Rated]:
        constants: list[Rated] = []
        for criterion, scale in self.scales.items():
            constants.extend(_rate(criterion, scale.usual(_plain_values(criterion, golds))))
        return constants

    def feedback(self, text: str, gold: Rated, value: Rated | None) -> str:
        prefix = f"{gold.criterion}: "
        criterion_value = None
        if value is not None:
            criterion_value = value.value
        scale = self.scales[gold.criterion]
        return prefix + scale.feedback(text.removeprefix(prefix), gold.value, criterion_value)

    def truth(self, text: str, gold: Rated) -> str:
        prefix = f"{gold.criterion}: "
        return prefix + self.scales[gold.criterion].truth(text.removeprefix(prefix), gold.value)


def _plain_value(value: Rated | None) -> Values:
    """Return a value without its criterion, as the values of a case with one unit."""
    if value is None:
        return (None,)
    return (value.value,)


def _by_criterion(votes: RatedVotes) -> dict[str, Votes]:
    """Return votes, or shares, of plain values by the criterion that they are of."""
    votes_by_criterion: dict[str, dict[Value, Any]] = {}
    for value, count in votes.items():
        votes_by_criterion.setdefault(value.criterion, {})[value.value] = count
    return dict(votes_by_criterion)


def _criterion_weights(name: str, sampling: Sampling) -> Sampling:
    """Return a sampling with the weights of one criterion's labels alone; they are kept under ``criterion: label``."""
    if sampling.weights is None:
        return sampling
    prefix = f"{name}: "
    weights: dict[str, float] = {}
    for key, weight in sampling.weights.items():
        if key.startswith(prefix):
            weights[key.removeprefix(prefix)] = weight
    return replace(sampling, weights=weights)


def _rate(criterion: str, values: Iterable[Value]) -> list[Rated]:
    """Return values of one criterion with its name."""
    return [Rated(criterion, value) for value in values]


def _plain_values(name: str, values: Sequence[Rated]) -> list[Value]:
    """Return the values of one criterion, without its name."""
    plain_values = []
    for value in values:
        if value.criterion == name:
            plain_values.append(value.value)
    return plain_values
