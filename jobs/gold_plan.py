"""The number of labels to give: what a compilation could show with them, from the labels or the proof that are there.

Nothing is asked of a model. :mod:`~jurist.evaluation.power` draws the sealed tests; the gold set of so many labels is
split as usual.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ..cases import Value
from ..errors import ArtifactError, UsageError, checked, plural
from ..evaluation.plain import plain_fields
from ..evaluation.power import ASSUMED_RIGHT, share_of_value
from ..evaluation.scale import resolve
from ..evaluation.units import Units
from ..evaluation.votes import Rule
from ..gold.goldset import Gold
from ..gold.label_totals import FIRST_LEVEL, TOTALS, LabelTotals, encode_labels, pool_of_labels
from ..gold.mapping import MappingLike, make_mapping
from ..gold.rows import label_keys
from ..gold.splits import Shares
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.naming import compiled_judge_of, locate_judge
from ..programs.judge import Judge
from ..report.foreseen import totals_of_version
from ..report.shown import Shown
from ..report.table import Table, table
from .surface import GoldLike, read_gold

_MANY_IN_A_GROUP = 3.0  # labels of a group, on average, from which on new groups are of more use
_RARE = 0.2  # the share of the labels below which a class is rare
_CLASS_METRICS = ("balanced_accuracy", "macro_f1")
"""Metrics in which each label counts alike, however rare it is."""
_POSITIVE_METRICS = ("f1", "precision", "recall")
"""Metrics of the positive labels."""


@dataclass(frozen=True, kw_only=True)
class GainPower:
    """A gain in the judge's metric, and how probably the sealed test shows it."""

    gain: float
    probability: float


@dataclass(frozen=True, kw_only=True)
class LabelForecast:
    """A forecast of the gains that a compilation with so many labels could show."""

    labels: int  # train and dev included
    test_labels: int
    test_groups: int
    # shown with a probability of .8; ``None`` where even the largest may be missed
    smallest_gain: float | None
    power: tuple[GainPower, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class GoldPlan(Shown):
    """Forecasts for several numbers of labels, and the labels that help most."""

    judge: str
    metric: str
    source: str  # what the forecasts were drawn from, in words
    assumed: str  # what was supposed of answers that nobody knows, in words; empty of a proof
    level: float  # of the one-sided test
    labels: int  # those that are there
    labels_per_group: float
    estimated_gain: float | None  # of the version's sealed test, turned so that more is better
    # that show the estimated gain with a probability of .8; ``None`` where 2,000 do not
    enough_labels: int | None
    forecasts: tuple[LabelForecast, ...]
    advice: tuple[str, ...]  # which labels help most

    @property
    def words(self) -> str:
        """The source of the draws, and how many labels show the gain that a sealed test estimated."""
        words = f"{self.judge}: {plural(self.labels, 'label')} are there; drawn from {self.source}"
        if self.assumed:
            words += f", if {self.assumed}"
        if self.estimated_gain is None:
            return words
        words += f"; its sealed test estimated a gain of {self.estimated_gain:.3f} in {self.metric}"
        if self.enough_labels:
            words += f", which about {self.enough_labels} labels show in four of five compilations"
        elif self.estimated_gain > 0.0:
            words += ", which even 2,000 labels would mostly not show"
        return words

    def parts(self) -> list[Table | str]:
        """Return the words, a row for each number of labels, and the advice."""
        columns = ["labels", "of these test", "groups of test", f"gain in {self.metric} shown in 4 of 5"]
        for power in self.forecasts[0].power:
            columns.append(f"shows {power.gain:.3g}")
        rows = []
        for forecast in self.forecasts:
            smallest_gain = "none"
            if forecast.smallest_gain is not None:
                smallest_gain = f"{forecast.smallest_gain:.2g}"
            row: list[object] = [forecast.labels, forecast.test_labels, forecast.test_groups, smallest_gain]
            for power in forecast.power:
                row.append(f"{power.probability:.0%}")
            rows.append(row)
        return [self.words, table("", columns, rows), *self.advice]

    def records(self) -> list[dict[str, object]]:
        """Return a row for each number of labels; ``shows GAIN`` is the probability that the test shows it."""
        records: list[dict[str, object]] = []
        for forecast in self.forecasts:
            record: dict[str, object] = {
                "labels": forecast.labels,
                "test_labels": forecast.test_labels,
                "test_groups": forecast.test_groups,
                "smallest_gain": forecast.smallest_gain,
            }
            for power in forecast.power:
                record[f"shows {power.gain:.3g}"] = power.probability
            records.append(record)
        return records

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return plain_fields(self)


@checked
def plan_gold(
    judge: str | Judge,
    gold: GoldLike | None = None,
    *,
    labels: Sequence[int] = TOTALS,
    shares: Shares | None = None,
    mapping: MappingLike | None = None,
    raters: str | Sequence[str] = (),
    merge: Rule | None = None,
    store: str | Store | None = None,
) -> GoldPlan:
    """Say what a compilation with more labels could show in the judge's metric; asks no model.

    Args:
        judge: a judge; or a version, ``JUDGE@V``, whose answers on its sealed test are resampled.
        gold: labelled rows of the judge, whose labels and groups are resampled; none with a version.
        labels: numbers of labels to forecast, train and dev included; the present number is added.
        shares: of train, dev and test; default: those of the judge, else the usual ones for so many rows.
        mapping: the names of columns and labels in ``gold``.
        raters, merge: see :meth:`jurist.Gold.load`.
        store: the folder of artifacts; default ``$JURIST_STORE``, else ``./compiled``.

    Raises:
        UsageError: neither gold nor a version is named, or both. GoldError: the gold cannot be used.
        ArtifactError: the version kept no answers of a sealed test.
    """
    if not labels or min(labels) < 1:
        raise UsageError("a number of labels is below 1", hint="give whole numbers, such as 100 200 400")
    if not isinstance(store, Store):
        store = Store(store)
    if isinstance(judge, str) and is_version(judge):
        if gold is not None:
            raise UsageError(
                f"{judge} is a version, and gold is named too",
                hint="leave out the gold, or the version: jurist gold plan JUDGE --gold F",
            )
        return plan_from_version(store.load(judge), store, labels, shares)
    if gold is None:
        raise UsageError("no gold is named", hint="name labelled rows, or a version: JUDGE@V")
    if isinstance(judge, str):
        judge = locate_judge(judge, store)[0]
    return plan_from_gold(
        read_gold(gold, judge, mapping=make_mapping(mapping).with_named(raters, merge)), labels, shares
    )


def is_version(judge: str) -> bool:
    """Say whether a name of a judge names a version of it; an ``@`` in the folder of a file names none."""
    return "@" in judge.rpartition("/")[2]


def plan_from_gold(gold: Gold, labels: Sequence[int] = TOTALS, shares: Shares | None = None) -> GoldPlan:
    """Return the plan that is drawn from labels, with made-up answers.

    Raises:
        UsageError: nothing is labelled.
    """
    judge = gold.judge
    labelled = encode_labels(gold.cases, judge.comparison)
    if labelled is None or not label_keys(judge):
        raise UsageError(
            f"{gold.name} has no label", hint="label some rows first: jurist review JUDGE ROWS -o F.jsonl"
        )
    totals = LabelTotals(
        pool=pool_of_labels(labelled, judge.metric, judge.comparison, FIRST_LEVEL),
        labels_per_case=len(labelled.gold) / len(gold.cases),
        shares=shares or judge.shares,
    )
    return _plan(
        totals,
        judge,
        labelled,
        name=judge.name,
        source=f"the labels of {gold.name}",
        assumed=f"both prompts are right on {ASSUMED_RIGHT:.0%} of the units of each kind",
        present=len(labelled.gold),
        numbers=labels,
        estimated_gain=None,
    )


def plan_from_version(
    artifact: Artifact, store: Store, labels: Sequence[int] = TOTALS, shares: Shares | None = None
) -> GoldPlan:
    """Return the plan that is drawn from the answers of a version and of the basic prompt on the sealed test.

    Raises:
        ArtifactError: the version kept no answers of a sealed test.
    """
    artifact.check_is_no_cascade()
    judge = compiled_judge_of(artifact, store)
    totals = totals_of_version(artifact, judge, shares)
    if totals is None:
        raise ArtifactError(
            f"{artifact.ref} kept no answers of a sealed test",
            hint=f"plan from labels: jurist gold plan {artifact.about.reference} --gold F",
        )
    gold = artifact.about.gold
    present = round(totals.labels_per_case * ((gold.train or 0) + (gold.dev or 0) + (gold.test or 0)))
    return _plan(
        totals,
        judge,
        totals.pool.units,
        name=artifact.ref,
        source=f"the answers of both prompts on the sealed test of {artifact.ref}",
        assumed="",
        present=present,
        numbers=labels,
        estimated_gain=totals.pool.measured_gain,
    )


def _plan(
    totals: LabelTotals,
    judge: Judge,
    labelled: Units,
    *,
    name: str,
    source: str,
    assumed: str,
    present: int,
    numbers: Sequence[int],
    estimated_gain: float | None,
) -> GoldPlan:
    """Return the plan of the numbers of labels that are asked about, and of the present one."""
    gains = list(totals.pool.typical_gains)
    enough_labels = None
    if estimated_gain is not None and estimated_gain > 0.0:
        gains.append(estimated_gain)
        enough_labels = totals.enough_labels(estimated_gain)
    forecasts: list[LabelForecast] = []
    for number in sorted({present, *numbers}):
        forecasts.append(_forecast(totals, number, gains))
    forecasts = _evened(forecasts)
    return GoldPlan(
        judge=name,
        metric=totals.pool.metric.name,
        source=source,
        assumed=assumed,
        level=totals.pool.level,
        labels=present,
        labels_per_group=totals.pool.units_per_group,
        estimated_gain=estimated_gain,
        enough_labels=enough_labels,
        forecasts=tuple(forecasts),
        advice=(*_advise_split(forecasts), *_advise(judge, labelled, totals.pool.units_per_group)),
    )


def _forecast(totals: LabelTotals, labels: int, gains: Sequence[float]) -> LabelForecast:
    """Return the forecast for so many labels, with the power for each gain in order of size."""
    groups = totals.test_groups(labels)
    power: list[GainPower] = []
    for gain in sorted(gains):
        if gain <= totals.pool.largest_gain:
            power.append(GainPower(gain=gain, probability=totals.pool.power(gain, groups)))
    return LabelForecast(
        labels=labels,
        test_labels=round(groups * totals.pool.units_per_group),
        test_groups=groups,
        smallest_gain=totals.pool.smallest_gain(groups),
        power=tuple(power),
    )


def _evened(forecasts: Sequence[LabelForecast]) -> list[LabelForecast]:
    """Return forecasts in which a test of more groups shows no less; what was drawn varies by luck."""
    evened: dict[int, LabelForecast] = {}
    before: LabelForecast | None = None
    for forecast in sorted(forecasts, key=lambda forecast: forecast.test_groups):
        if before is not None:
            gains = [gain for gain in (before.smallest_gain, forecast.smallest_gain) if gain is not None]
            power: list[GainPower] = []
            for earlier, drawn in zip(before.power, forecast.power, strict=True):
                power.append(replace(drawn, probability=max(earlier.probability, drawn.probability)))
            forecast = replace(forecast, smallest_gain=min(gains, default=None), power=tuple(power))
        evened[forecast.labels] = forecast
        before = forecast
    return [evened[forecast.labels] for forecast in forecasts]


def _advise_split(forecasts: Sequence[LabelForecast]) -> Iterator[str]:
    """Yield why more labels do not make the test larger, where they do not: the usual split of many is another one."""
    for few, many in pairwise(forecasts):
        if many.labels >= 1.2 * few.labels and many.test_labels < 1.1 * few.test_labels:
            yield (
                f"with {many.labels} labels the test has {many.test_labels}, and with {few.labels} it has "
                f"{few.test_labels}: the usual split gives train more of many rows; compile --split 30/20/50 keeps "
                "half for the test"
            )


def _advise(judge: Judge, labelled: Units, labels_per_group: float) -> Iterator[str]:
    """Yield which labels help most."""
    if labels_per_group > _MANY_IN_A_GROUP:
        yield (
            f"label rows of new groups: {labels_per_group:.1f} labels are of one group on average, and more rows of "
            "the groups that are there show little more"
        )
    metric = resolve(judge.metric, judge.comparison).name
    labels, share = _rarest_labels(judge, labelled, metric)
    if share < _RARE:
        yield (
            f"label more rows that may be {' or '.join(map(repr, labels))}: only {share:.0%} of the labels are, and "
            f"{metric} is no surer than these few make it"
        )


def _rarest_labels(judge: Judge, labelled: Units, metric: str) -> tuple[Sequence[Value], float]:
    """Return the labels on whose errors the metric depends most, and their share of all; a share of 1 if on none."""
    shares = share_of_value(labelled)
    if not judge.comparison.domain or metric not in _CLASS_METRICS + _POSITIVE_METRICS:
        return (), 1.0
    if metric in _CLASS_METRICS:
        label = next(iter(shares))
        return (label,), shares[label]
    positive = [label for label in shares if judge.comparison.probability({label: 1.0}) == 1.0]
    return positive, sum(shares[label] for label in positive)
