"""The decision threshold, and the weights of several labels: fitted at no further call.

Where few units are positive, the metric is a staircase in the cut, and its highest step is mostly luck: the best of a
staircase is known far less well than that of a smooth curve (Kim and Pollard 1990, section 6; Horowitz 1992 smooths
it). So each unit is found, in part, under any cut: by the share above it of a normal distribution around the unit's
log odds. It is the wider, the more those of its gold side differ and the fewer they are. A reply in which a label is
missing says log odds far from all others, so the middle half of a side and not its ends says how much it differs.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy

from ..cases import Case, Value
from ..errors import OptimizerError
from ..evaluation.rows import Row
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, Ints, encode
from ..programs.asking import Asker
from ..programs.verdicts import Verdict
from .base import Job, Optimizer, Result
from .board import Board, Candidate
from .candidate import Setting
from .objective import Objective, Outcome

Crossed: TypeAlias = tuple[Setting, Mapping[str, Setting]]
"""What is best on all cases, and for each of them, by id, what is best on the other folds' cases."""
Best: TypeAlias = Callable[[Sequence[int]], Setting]
"""What is best on some of the cases, by their places."""

_FOLDS = 4  # in which each case is judged under the threshold that the other folds' cases gave
_ALWAYS = 1e-12  # a probability from which on every unit is positive; from 1 less it on none is
_PROMPTS = 5  # prompts for which one is fitted when the search is over, the basic one besides
_CUTS = 100  # tried, at equal distances of log odds
_ENDS = (0.02, 0.98)  # the shares of the units between whose log odds they lie
_QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution
# of the normal, in standard deviations of a side's log odds, times its units to the power of -1/5
_WIDTH = 2.0
_LEAST_WIDTH = 1e-3
_PARTS = 20  # into which a unit is divided: metrics count whole numbers
_POWERS = (0.0, 0.5, 1.0)  # by which rare labels count more, to try
_LEAST_SHARE = 1e-4  # of a label that a reply does not show
_LEAST = 1e-12
_FARTHEST = 7.0  # that a weight's logarithm is from their mean
_END = 1e-6  # nearest to 0 and to 1 that a probability is told apart


@dataclass(frozen=True, kw_only=True)
class Threshold(Optimizer):
    """The optimizer: it searches nothing, and its threshold is fitted where every search ends."""

    name: str = "threshold"

    @staticmethod
    def fits(job: Job) -> bool:
        """Return whether the job's verdicts are decided by a threshold that the user left open."""
        scale, sampling = job.judge.answer.scale, job.sampling
        several = scale.uses_threshold and sampling.samples > 1
        counts = resolve(job.judge.metric, job.judge.comparison).divisible or bool(scale.weighted)
        return sampling.threshold is None and (several or (scale.has_probabilities and counts))

    def minimum(self, job: Job) -> int:
        """Return the calls for one prompt on train and dev."""
        return (len(job.train) + len(job.dev)) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> None:
        """Score ``start`` on all of train."""
        if not self.fits(job):
            raise OptimizerError(
                f"no threshold of judge {job.judge.name} is left to be fitted",
                hint="it takes several samples, or closed labels and a metric that counts units, and no --threshold",
            )
        board.score(start, job.labelled_train())


def with_thresholds(job: Job, result: Result) -> Result:
    """Return a result in which the best few prompts, and the basic one, are candidates under a fitted threshold too."""
    board = result.board
    if not Threshold.fits(job) or not board.met(board.basic, job.dev):
        return result
    stands = board.standings(result.best)
    whole = [prompt for prompt in board.candidates.values() if board.scored(prompt, job.dev)]
    known = [prompt for prompt in whole if prompt.id in stands]
    first = sorted(known, key=lambda prompt: -round(stands[prompt.id].mean, 9))[:_PROMPTS]
    for prompt in {prompt.id: prompt for prompt in (board.basic, *first)}.values():
        met = [case for case in (*job.train, *job.dev) if board.outcome(prompt, case)]
        for name, (setting, crossed) in fitted(job, board, prompt).items():
            source, cut = name, setting.threshold
            if cut is not None:
                source += f", {cut:g} votes" if cut >= 1 else f", probability {cut:.3g}"
            made = board.add(prompt.state, parent=prompt, source=source, setting=setting, crossed=crossed)
            board.score(made, met)
    return replace(result, best=board.best(job.dev) or result.best)


def fitted(job: Job, board: Board, candidate: Candidate) -> dict[str, Crossed]:
    """Return the settings that are best for a candidate on all that it met, but for its own; by what is fitted."""
    met = [case for case in (*job.train, *job.dev) if board.outcome(candidate, case)]
    cases = [case for case in met if case.id not in candidate.demo_ids]
    if not cases:
        return {}
    current, verdicts = candidate.setting, board.verdicts(candidate, cases)
    kept = _Kept(job=job, cases=cases, verdicts=verdicts, now=job.sampling_under(current).needed)
    folds, settings = _folds(job, cases), dict[str, Crossed]()
    for name, best in (("threshold", _threshold(kept)), ("weights", _weights(kept))):
        if best is None:
            continue
        setting = replace(best(range(len(cases))), form=current.form)
        if setting == current or setting.threshold == kept.now:
            continue
        without = {}
        for fold in set(folds):
            others = [at for at, own in enumerate(folds) if own != fold]
            without[fold] = replace(best(others), form=current.form)
        settings[name] = setting, {case.id: without[own] for case, own in zip(cases, folds, strict=True)}
    return settings


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A candidate's stored samples, to be decided under other settings."""

    job: Job
    cases: Sequence[Case]
    verdicts: Sequence[Verdict]
    now: float  # the threshold under which they are decided

    def under(self, setting: Setting) -> Asker:
        """Return the samples as decided under a setting."""
        return self.job.asker(self.job.judge.basic(), setting)

    def outcomes(self, setting: Setting) -> list[Outcome]:
        """Return the outcome of each case under a setting."""
        asker, objective = self.under(setting), Objective(judge=self.job.judge)
        pairs = zip(self.cases, self.verdicts, strict=True)
        return [objective.outcome(case, asker.revote(case, verdict)) for case, verdict in pairs]

    def value(self, outcomes: Sequence[Outcome], places: Sequence[int]) -> float:
        """Return the objective of some of the cases."""
        return round(Objective(judge=self.job.judge).aggregate([outcomes[at] for at in places]), 9)


def _folds(job: Job, cases: Sequence[Case]) -> list[int]:
    """Return the fold of each case; groups stay whole, and each fold has about its share of every stratum."""
    strata = job.judge.answer.scale.strata(cases)
    order = random.Random(f"folds/{job.seed}").sample(range(len(cases)), len(cases))
    groups = dict.fromkeys(cases[at].group for at in sorted(order, key=lambda at: strata[at]))
    folds = {group: number % _FOLDS for number, group in enumerate(groups)}
    return [folds[case.group] for case in cases]


def _threshold(kept: _Kept) -> Best | None:
    """Return the fit of a threshold; ``None`` if no labelled unit's probability is known."""
    judge = kept.job.judge
    if not judge.answer.scale.uses_threshold:
        return None
    if not any(verdict.measured for verdict in kept.verdicts):
        return _by_votes(kept)
    # Of a metric that does not count units, such as a function of the user's own, no curve over cuts is smooth.
    return _by_probability(kept) if resolve(judge.metric, judge.comparison).divisible else None


def _by_votes(kept: _Kept) -> Best:
    """Return the fit of a number of votes; among equally good ones the nearest to the current one."""
    numbers = range(1, kept.job.sampling.samples + 1)
    under = {votes: kept.outcomes(Setting(threshold=votes)) for votes in numbers}

    def best(places: Sequence[int]) -> Setting:
        votes = max(under, key=lambda votes: (kept.value(under[votes], places), -abs(votes - kept.now)))
        return Setting(threshold=votes)

    return best


def _by_probability(kept: _Kept) -> Best | None:
    """Return the fit of the probability from which on a unit is positive."""
    judge, probability = kept.job.judge, kept.job.judge.answer.scale.probability
    always, never = (kept.under(Setting(threshold=at)) for at in (_ALWAYS, 1 - _ALWAYS))
    # of each labelled unit its case, the probability, gold, and the values if it is positive, and if not
    units: list[tuple[int, float, Value, list[Value | None]]] = []
    for at, (case, verdict) in enumerate(zip(kept.cases, kept.verdicts, strict=True)):
        marked, clear = always.revote(case, verdict), never.revote(case, verdict)
        sides = zip(case.gold or (), marked.probabilities, marked.values, clear.values, strict=False)
        for gold, shares, *values in sides:
            if gold is not None and (share := probability(shares)) is not None:
                units.append((at, share, gold, values))
    if not units:
        return None
    rows = [
        Row(id=name, group=name, gold=(gold,), predicted=(values[side],), failed=False)
        for side in (0, 1)
        for number, (_, _, gold, values) in enumerate(units)
        for name in [f"{side}{number:09d}"]
    ]
    metric, both = resolve(judge.metric, judge.comparison), encode(judge.comparison, rows)
    place = np.array([at for at, *_ in units])
    odds: Floats = scipy.special.logit(np.clip([share for _, share, *_ in units], _END, 1 - _END))
    positive = np.array([probability({gold: 1.0}) == 1.0 for _, _, gold, _ in units])

    def best(places: Sequence[int]) -> Setting:
        chosen = np.isin(place, places)
        if not chosen.any():
            return Setting(threshold=0.5)
        widths = np.full(len(chosen), _LEAST_WIDTH)
        for side in (True, False):
            if (own := chosen & (positive == side)).any():
                widths[own] = max(_LEAST_WIDTH, _WIDTH * _deviation(odds[own]) * own.sum() ** -0.2)
        low, high = np.quantile(odds[chosen], _ENDS)
        cuts = np.linspace(float(low), float(high), _CUTS)
        shares = scipy.special.ndtr((odds[chosen] - cuts[:, None]) / widths[chosen])
        parts = np.rint(_PARTS * shares).astype(np.int64)
        # Each unit twice: in part as it is decided when found, and for the rest as when it is not.
        weights = np.zeros((len(cuts), 2, len(chosen)), dtype=np.int64)
        weights[:, 0, chosen], weights[:, 1, chosen] = parts, _PARTS - parts
        values = metric.resampled(both, weights.reshape(len(cuts), -1))
        cut = scipy.special.expit(
            cuts[int(np.argmax(np.round(values if metric.higher_is_better else -values, 9)))]
        )
        return Setting(threshold=round(float(np.clip(cut, _END, 1 - _END)), 6))

    return best


def _deviation(odds: Floats) -> float:
    """Return the standard deviation, or by the middle half of the numbers where that says less and is not 0."""
    middle = float(np.subtract(*np.quantile(odds, (0.75, 0.25)))) / _QUARTILES
    return min(float(odds.std()), middle or np.inf)


def _weights(kept: _Kept) -> Best | None:
    """Return the fit of the weights of several labels; ``None`` if no probability is known."""
    scale = kept.job.judge.answer.scale
    units = [
        (at, shares, gold)
        for at, (case, verdict) in enumerate(zip(kept.cases, kept.verdicts, strict=True))
        for shares, gold in zip(verdict.probabilities, case.gold or (), strict=False)
        if verdict.measured and shares and gold is not None
    ]
    tables: list[tuple[list[str], Ints, Floats, Ints]] = []  # names; of each unit its case, shares, and gold
    for labels in scale.weighted:
        if own := [unit for unit in units if not unit[1].keys().isdisjoint(labels)]:
            shares = np.array([[known.get(label, 0.0) for label in labels] for _, known, _ in own])
            gold = np.array([labels.index(value) for *_, value in own])
            place = np.array([at for at, *_ in own])
            tables.append((list(map(scale.text, labels)), place, shares, gold))
    if not tables:
        return None

    def best(places: Sequence[int]) -> Setting:
        tried = []
        for power in _POWERS:
            weights: dict[str, float] = {}
            for names, place, shares, gold in tables:
                chosen = np.isin(place, places)
                offsets = _offsets(shares[chosen], gold[chosen], power)
                factors = np.exp(np.clip(offsets - offsets.mean(), -_FARTHEST, _FARTHEST))
                weights |= {name: float(f"{factor:.4g}") for name, factor in zip(names, factors, strict=True)}
            tried.append(Setting(weights=weights))
        return max(tried, key=lambda setting: kept.value(kept.outcomes(setting), places))

    return best


def _offsets(shares: Floats, gold: Ints, power: float) -> Floats:
    """Return the offset of each label's log probability, from a logistic model of offsets and one common scale."""
    # A label with n units counts as much as n to the power of 1 - ``power``
    logs, count = np.log(np.maximum(shares, _LEAST_SHARE)), shares.shape[1]
    each = np.bincount(gold, minlength=count)[gold] ** -power
    each *= len(gold) / max(each.sum(), _END)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        """Return the penalised loss and its gradient, by the logarithm of the scale and the offsets."""
        scale, offsets = np.exp(parameters[0]), parameters[1:]
        wanted = scipy.special.softmax(scale * logs + offsets, axis=1)
        slope = wanted * each[:, None]
        slope[np.arange(len(gold)), gold] -= each
        value = -(each * np.log(np.maximum(wanted[np.arange(len(gold)), gold], _LEAST))).sum()
        by_scale = float((slope * logs).sum() * scale)
        penalty = float(parameters @ parameters) / 2
        return value + penalty, np.array([by_scale, *slope.sum(axis=0)]) + parameters

    best = scipy.optimize.minimize(loss, np.zeros(count + 1), jac=True, method="L-BFGS-B").x
    return np.asarray(best[1:] / np.exp(best[0]))
