"""A scale: what the values of an answer are, how they are spelled, voted on, described and held against gold.

It knows no judge, no prompt and no reply: how values are asked for and read is the business of answers
(:mod:`jurist.programs.answers`), which hold one. What is not abstract is what scales share whose values are near or far
from gold, not right or wrong.
"""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from ..cases import Case, Value, Values
from ..errors import UsageError
from .kinds import Kind
from .votes import Sampling, Votes, more_than_half

if TYPE_CHECKING:
    from .metrics import Metric, ValueFunction

Learned: TypeAlias = Literal["label", "number", "members"]
"""What a value is for whoever learns to predict it: one of several labels, a number, or the members of a set."""
Annotation: TypeAlias = Any
"""A type as pydantic takes it, such as ``Literal["yes", "no"]``: Python has no type of types like these."""
SHOWN: Final = 300
"""Characters of a unit's text that feedback quotes."""
_USUAL = 10  # frequent values among which the best constant answer is looked for
_NAMED = 60  # characters of a value that the name of a constant answer shows
SIZES = ("none", "one", "several")


@dataclass(frozen=True, kw_only=True)
class Lack:
    """The kind of gold that a part of a split needs and does not hold."""

    what: str  # which one is missing, such as ``positive``
    noun: str  # what there are several of, such as ``label``
    gold_words: str  # what its gold says, such as ``all labels are send``
    missing_values: str  # what rows would have to say


class Scale(Kind):
    """Base of all scales. Values are hashable, one for each unit of a case."""

    noun: str = "label"  # what a value is called
    learned: ClassVar[Learned] = "label"
    takes_mean: ClassVar[bool] = False  # whether the mean of several values is a value
    _combining: ClassVar[str] = "the answer that most of them give counts"

    # How values are held against gold; this is what evaluation sees of an answer.

    @property
    @abstractmethod
    def default(self) -> str:
        """The name of the metric that is used unless another is asked for: no constant answer does well in it."""

    @property
    @abstractmethod
    def metrics(self) -> "Mapping[str, Metric]":
        """The metrics that fit, by name."""

    @property
    def choosable(self) -> tuple[str, ...]:
        """The names of the metrics that answers can be better or worse in."""
        names = []
        for name, metric in self.metrics.items():
            if metric.higher_is_better is not None:
                names.append(name)
        return tuple(names)

    @property
    def compared(self) -> tuple[str, ...]:
        """The metrics that a comparison of judges shows beside the tested one."""
        return ("f1", "precision", "recall")

    @property
    def in_history(self) -> tuple[str, ...]:
        """The metrics that the history of a search holds of each prompt beside its score."""
        return ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics of every table."""
        return tuple(self.metrics)

    @property
    def classes(self) -> "Mapping[str, Mapping[str, Metric]]":
        """Class -> its metrics by name, where values are of classes."""
        return {}

    def units_by_class(self, metric: str, golds: Sequence[Value]) -> Mapping[str, int]:
        """Return the units of each class whose share a metric gives; empty for a metric that counts all units alike."""
        return {}

    @property
    def right_means(self) -> str:
        """The meaning of right, in words; empty where nothing is right or wrong."""
        return ""

    @abstractmethod
    def similarity(self, gold: Value, value: Value) -> float:
        """Return the similarity of two values, in [0, 1]; 1.0 for equal ones."""

    def consensus(self, values: Sequence[Value]) -> Value | None:
        """The value that several raters stand for, as of so many samples; ``None`` if there is none."""
        if not values:
            return None
        return self.combine(Counter(values), Sampling(samples=len(values)))

    def settle(self, values: Sequence[Value]) -> Value | None:
        """The value of one rater who gave several to equal inputs; ``None`` if they differ and none stands for all."""
        if len(set(values)) == 1:
            return values[0]
        return None

    def credit(self, gold: Value, value: Value | None) -> float:
        """Return the credit of a value, 0 to 1; an unusable one has 0."""
        if value is None:
            return 0.0
        return self.similarity(gold, value)

    @property
    def positive_values(self) -> tuple[Value, ...]:
        """The values of which precision, recall and F1 are; empty for scales without positive ones."""
        return ()

    @property
    def uses_threshold(self) -> bool:
        """Whether a vote threshold changes what samples combine to."""
        return False

    @property
    def has_probabilities(self) -> bool:
        """Whether a unit has a probability of each value, and of being what is looked for."""
        return False

    @property
    def weighted(self) -> tuple[tuple[Value, ...], ...]:
        """The sets of labels of which the likeliest may be taken by fitted weights."""
        return ()

    # How values are spelled.

    @property
    @abstractmethod
    def row_type(self) -> Annotation:
        """The annotation of a value in a gold row: what it is as JSON."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that people may give a unit, where that is a short list; else empty."""
        return ()

    @property
    def expects(self) -> str:
        """The values that people may give a unit, in words: ``one of: send, hold``."""
        if self.choices:
            return f"one of: {', '.join(self.choices)}"
        return f"a {self.noun} as JSON"

    def cell(self, written: str) -> object:
        """Return the value in a cell of a sheet, as a row's field has it; ``None`` if it is unusable."""
        try:
            data = json.loads(written)
        except (RecursionError, ValueError):
            data = written.strip()
        try:
            return self.to_json(self.of_json(data))
        except ValueError:
            return None

    def of_json(self, data: object) -> Value:
        """The value of which ``data`` is the JSON; raises ``ValueError`` where it is of none."""
        return data

    def to_json(self, value: Value | None) -> object:
        """A value as plain JSON types."""
        return value

    def text(self, value: Value) -> str:
        """A value in a few words; :meth:`cell` reads them back."""
        return str(value)

    def category(self, value: Value) -> str:
        """The name under which values are counted as confused with each other."""
        return self.text(value)

    def stratum(self, gold: Value) -> str:
        return self.category(gold)

    def task_words(self) -> str:
        """Return the possible answers in words, for a proposer."""
        return f"answer: {self.expects}"

    @abstractmethod
    def identity(self) -> dict[str, object]:
        """Return the identity of the scale as JSON values: its ``labels``, and all by which it differs from others."""

    def listing(self) -> tuple[tuple[str, str], ...]:
        """Return the possible answers, with a remark each."""
        if not self.choices:
            return ((self.expects, ""),)
        lines = []
        for choice in self.choices:
            lines.append((choice, self.remark(choice)))
        return tuple(lines)

    def remark(self, choice: str) -> str:
        """Return a remark on one of the choices."""
        return ""

    # How the samples of one unit become one value.

    def combine(self, votes: Votes, sampling: Sampling) -> Value | None:
        """Return the value that the votes of one unit give; ``None`` if they give none.

        By default it is the value with the most votes, if more than half of the samples cast one.
        """
        if sum(votes.values()) < more_than_half(sampling.samples):
            return None
        winner: Value = max(votes, key=lambda value: (votes[value], self.text(value)))
        return winner

    def is_decided(self, votes: Mapping[Value, int], remaining: int, sampling: Sampling) -> bool:
        """True where the ``remaining`` samples, whatever they say, cannot change what :meth:`combine` gives."""
        if remaining == 0:
            return True
        if sampling.by_probability and self.has_probabilities:  # a sample may have any probability
            return False
        if not self.domain:  # of values without number, what most samples give is the outcome
            return max(votes.values(), default=0) >= more_than_half(sampling.samples)
        # Votes pull one way each: what all of the samples left cannot change together, fewer of them cannot either.
        outcome = self.combine(votes, sampling)
        for value in self.domain:
            final_votes = dict(votes)
            final_votes[value] = votes.get(value, 0) + remaining
            if self.combine(final_votes, sampling) != outcome:
                return False
        return True

    def agreement(self, votes: Mapping[Value, int], value: Value | None) -> float | None:
        """Return the agreement of the votes cast with ``value``, 0 to 1; ``None`` without a value or a vote."""
        # A sample without a usable answer casts no vote, nor does one that was never drawn: how many were cast must be
        # said beside it.
        cast = sum(votes.values())
        if value is None or not cast:
            return None
        return sum(self.credit(value, vote) * count for vote, count in votes.items()) / cast

    def spread(self, votes: Mapping[str, float]) -> float:
        """Return the spread of votes (by :meth:`text`): 0 if all are the same, 1 at most."""
        return 1 - max(votes.values()) / sum(votes.values())

    def probability(self, shares: Votes) -> float | None:
        """Return the probability that a unit is what is looked for, by shares of values; ``None`` if unknown."""
        return None

    @property
    def voting_rule(self) -> str:
        """The rule by which another system combines several samples, in words."""
        return "one filling is one sample; with several, " + self._combining

    def voting_rule_under(self, sampling: Sampling) -> str:
        """Return the rule by which another system combines the samples of a sampling, in words."""
        return self.voting_rule

    # How people's values are described and drawn from.

    def describe(self, values: Sequence[Value]) -> dict[str, object]:
        """Return the counts of each value of gold, as JSON values by name."""
        counts = Counter(self.category(value) for value in values)
        return {f"{self.noun}s": dict(counts.most_common())}

    def sides(self, cases: Sequence[Case]) -> list[bool]:
        """Whether each case holds what is looked for, or what is rarer: two sides to draw from."""
        strata = self.strata(cases)
        usual = Counter(strata).most_common(1)
        return [name != usual[0][0] for name in strata]

    def strata(self, cases: Sequence[Case]) -> list[str]:
        """The stratum of each case, for draws in which each has its share."""
        return name_strata(cases, self.category)

    def check_part(self, cases: Sequence[Case]) -> Lack | None:
        """Return the gold that labelled cases lack to be a part of a split, ``None`` if nothing."""
        distinct_texts: set[str] = set()
        for case in cases:
            distinct_texts.update(self.text(value) for value in case.labels)
        if len(distinct_texts) > 1:
            return None
        words = f"all {self.noun}s are {' or '.join(distinct_texts)}"
        return Lack(what="second", noun=self.noun, gold_words=words, missing_values="anything else")

    def usual(self, golds: Sequence[Value]) -> Sequence[Value]:
        """The values of which the best constant answer is chosen, the likeliest first, by those of gold."""
        return [value for value, _ in Counter(golds).most_common(_USUAL)]

    def constants(self, golds: Sequence[Value]) -> Mapping[str, Value]:
        """The values of :meth:`usual` by what they are called: ``always "send"``."""
        return {f"always {self._named(value)}": value for value in self.usual(golds)}

    def _named(self, value: Value) -> str:
        text = json.dumps(self.to_json(value), ensure_ascii=False)
        if len(text) <= _NAMED:
            return text
        return text[: _NAMED - 3] + "..."

    def on_scale(self, number: float) -> Value:
        """The value that is nearest to a number."""
        raise TypeError(f"{type(self).__name__} are no numbers")

    # What is said of values to optimizers, and of the values of a whole run.

    def truth(self, text: str, gold: Value) -> str:
        """Return the gold of a unit in words, with the unit's text."""
        return f'"{text[:SHOWN]}" is {self.text(gold)} according to people'

    def feedback(self, text: str, gold: Value, value: Value | None) -> str:
        """Return the gold of a unit and the value that it was judged, in words."""
        judged = "unusable"
        if value is not None:
            judged = self.text(value)
        return f"{self.truth(text, gold)}; judged {judged}"

    def tally(self, values: Values, counts: Mapping[str, int]) -> Mapping[str, float]:
        """Return the numbers that a row adds to the sums of a run. ``counts`` are those of its readings."""
        return dict(counts)

    def totals(self, sums: Mapping[str, float]) -> dict[str, object]:
        """The sums of a run as JSON values."""
        return {}

    def total_words(self, sums: Mapping[str, float]) -> tuple[str, ...]:
        """The sums of a run in words."""
        parts = []
        for name, value in self.totals(sums).items():
            if isinstance(value, Mapping):
                counts = ", ".join(f"{key} {_short_number(count)}" for key, count in value.items())
                parts.append(f"{name.replace('_', ' ')}: {counts}")
            elif value is not None:
                parts.append(f"{name.replace('_', ' ')} {_short_number(value)}")
        if not parts:
            return ()
        return ("; ".join(parts),)

    def proof_facts(self, sums: Mapping[str, float]) -> dict[str, object]:
        """Return the facts of a card on the sums of the sealed test; empty if there are none."""
        return {}


class Members(Scale):
    """Base of scales whose values are tuples of any number of members."""

    learned: ClassVar[Learned] = "members"

    def stratum(self, gold: Value) -> str:
        return SIZES[min(2, len(gold))]

    def strata(self, cases: Sequence[Case]) -> list[str]:
        return name_strata(cases, self.stratum)


def name_strata(cases: Sequence[Case], stratum_of: Callable[[Value], str]) -> list[str]:
    """Return the stratum of the first labelled unit of each case, ``unlabelled`` for a case without any."""
    strata = []
    for case in cases:
        stratum = "unlabelled"
        if case.labels:
            stratum = stratum_of(case.labels[0])
        strata.append(stratum)
    return strata


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a closed set. Raises ``UsageError`` without any, and for one that is named twice."""
    if not names or len(set(names)) != len(names):
        raise UsageError(
            f"the label set {list(names)} is empty or names a label twice", hint="name each once"
        )
    return tuple(names)


def _short_number(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)


MetricLike: TypeAlias = "str | ValueFunction | Metric"
"""A name of :attr:`Scale.metrics`, a function (gold, predicted) -> float in [0, 1], or a
:class:`~jurist.evaluation.metrics.Metric`."""


def resolve(metric: MetricLike, comparison: Scale) -> "Metric":
    """The metric behind a name or a function."""
    from .metrics import Metric, own_metric

    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        return own_metric(metric, comparison.metrics)
    if metric not in comparison.choosable:
        names = ", ".join(comparison.choosable)
        raise UsageError(f"the metric {metric!r} does not fit this judge", hint=f"use one of {names}")
    return comparison.metrics[metric]


def shown_metrics(comparison: Scale, metric: MetricLike) -> "list[Metric]":
    """Return the metrics of every table, and the judge's own."""
    metrics = []
    for name in comparison.shown:
        metrics.append(comparison.metrics[name])
    judge_metric = resolve(metric, comparison)
    if judge_metric.name not in comparison.shown:
        metrics.append(judge_metric)
    return metrics
