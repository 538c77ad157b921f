"""The decision threshold, and the weights of several labels: fitted at no further call.

Where few units are positive, the metric is a staircase in the cut, and its highest step is mostly luck: the best of a
staircase is known far less well than that of a smooth curve (Kim and Pollard 1990, section 6; Horowitz 1992 smooths
it). So each unit is found, in part, under any cut: by the share above it of a normal distribution around the unit's
log odds. It is the wider, the more those of its gold side differ and the fewer they are. A reply in which a label is
missing says log odds far from all others, so the middle half of a side and not its ends says how much it differs.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtr, softmax

from ..cases import Case, Value
from ..errors import OptimizerError
from ..evaluation.rows import Row
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, Ints, encode
from ..programs.asking import Asker
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from .base import Job, Result
from .board import Board, Candidate
from .candidate import Setting
from .objective import Objective
from .raced import Track

Crossed: TypeAlias = tuple[Setting, Mapping[str, Setting]]
"""What is best on all cases, and for each of them, by id, what is best on the other folds' cases."""
Best: TypeAlias = Callable[[Sequence[int]], Any]
"""What is best on some of the cases, by their places: a threshold, or weights."""

_FOLDS = 4  # in which each case is judged under the threshold that the other folds' cases gave
_ALWAYS = 1e-12  # a probability from which on every unit is positive; from 1 less it on none is
_STEPS = 40  # thresholds of probability that are tried where the metric cannot be smoothed
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
class Deciding:
    """Whose kept samples are decided under another threshold, or other weights."""

    judge: Judge
    under: Callable[[Setting], Asker]
    samples: int  # of each case
    seed: int  # of the folds


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The arm, and the optimizer."""

    name: str = "threshold"

    @staticmethod
    def fits(job: Job) -> bool:
        """Return whether the job's verdicts are decided by a threshold that the user left open."""
        answer, sampling = job.judge.answer, job.sampling
        several = answer.scale.uses_threshold and sampling.samples > 1
        return sampling.threshold is None and (several or answer.scale.has_probabilities)

    def propose(self, track: Track, turn: int) -> list[Candidate]:
        """Enter the leader under the threshold that is best for it; at first the basic prompt meets further cases."""
        job, board = track.job, track.board
        if turn == 1:
            met = [case for case in track.race.order if board.outcome(board.basic, case)]
            rest = [case for case in track.race.order if board.outcome(board.basic, case) is None]
            if any(one.measured for one in board.verdicts(board.basic, met)):
                left = job.context.meter.left()
                board.score(board.basic, rest if left is None else rest[: left // 6 // job.calls_per_case])
        known = set(board.candidates)
        return [one for one in _entered(job, board, track.leader, track.step) if one.id not in known]

    def minimum(self, job: Job) -> int:
        """Return the calls for one prompt on train and dev."""
        return (len(job.train) + len(job.dev)) * job.calls_per_case

    def run(self, job: Job, board: Board, start: Candidate) -> Candidate:
        """Score ``start`` on all of train; its threshold is fitted where every search ends."""
        if not self.fits(job):
            raise OptimizerError(
                f"no threshold of judge {job.judge.name} is left to be fitted",
                hint="it takes closed labels, or several samples, and no --threshold",
            )
        board.score(start, job.labelled_train())
        return start


def with_thresholds(job: Job, result: Result) -> Result:
    """Return a result in which the best few prompts, and the basic one, are candidates under a fitted threshold too."""
    board = result.board
    if not Threshold.fits(job) or not board.met(board.basic, job.dev):
        return result
    known = [board.candidates[one.id] for one in board.by_gain()]
    first = [one for one in known if board.scored(one, job.dev)][:_PROMPTS]
    for one in {one.id: one for one in (board.basic, *first)}.values():
        for made in _entered(job, board, one, 0):
            board.score(made, [case for case in (*job.train, *job.dev) if board.outcome(one, case)])
    return replace(result, best=board.best(job.dev) or result.best)


def fitted(job: Job, board: Board, candidate: Candidate) -> dict[str, Crossed]:
    """Return the settings that are best for a candidate on all that it met, but for its own; by what is fitted."""
    met = [case for case in (*job.train, *job.dev) if board.outcome(candidate, case)]
    cases = [case for case in met if case.id not in candidate.demo_ids]
    if not cases:
        return {}
    by = Deciding(
        judge=job.judge,
        under=lambda setting: job.asker(job.judge.basic(), setting),
        samples=job.sampling.samples,
        seed=job.seed,
    )
    own, fold, found = candidate.setting, _folds(by, cases), dict[str, Crossed]()
    now, verdicts = job.sampling_under(own).needed, board.verdicts(candidate, cases)
    for name, best in (
        ("threshold", _threshold(by, cases, verdicts, now)),
        *_weights(by, cases, verdicts).items(),
    ):
        if best is None or (values := best(range(len(cases)))) in (own.weights, now):
            continue
        others = {one: best([at for at, of in enumerate(fold) if of != one]) for one in sorted(set(fold))}
        field = "threshold" if name == "threshold" else "weights"
        setting, *crossed = (
            replace(own, **{"threshold": None, "weights": None, field: value})
            for value in (values, *(others[of] for of in fold))
        )
        found[name] = setting, {case.id: one for case, one in zip(cases, crossed, strict=True)}
    return found


def _entered(job: Job, board: Board, parent: Candidate, step: int) -> list[Candidate]:
    """Enter candidates under what is fitted for one, where it is not what it has."""
    made = []
    for name, (setting, crossed) in fitted(job, board, parent).items():
        source, cut = name, setting.threshold
        if cut is not None:
            source += f", {cut:g} votes" if cut >= 1 else f", probability {cut:.3g}"
        made.append(
            board.add(parent.state, parent=parent, source=source, step=step, setting=setting, crossed=crossed)
        )
    return made


def _folds(by: Deciding, cases: Sequence[Case]) -> list[int]:
    """Return the fold of each case; groups stay whole, and each fold has about its share of every stratum."""
    strata = by.judge.answer.scale.strata(cases)
    order = random.Random(f"folds/{by.seed}").sample(range(len(cases)), len(cases))
    groups = dict.fromkeys(cases[at].group for at in sorted(order, key=lambda at: strata[at]))
    folds = {group: number % _FOLDS for number, group in enumerate(groups)}
    return [folds[case.group] for case in cases]


def _threshold(by: Deciding, cases: Sequence[Case], verdicts: Sequence[Verdict], now: float) -> Best | None:
    """Return what fits a threshold; ``None`` if no labelled unit's probability is known."""
    if not by.judge.answer.scale.uses_threshold:
        return None
    if not any(one.measured for one in verdicts):
        return _by_steps(by, cases, verdicts, range(1, by.samples + 1), now)
    if resolve(by.judge.metric, by.judge.comparison).divisible:
        return _by_probability(by, cases, verdicts)
    return _by_steps(by, cases, verdicts, (now, *_between(by, verdicts)), now)


def _weights(by: Deciding, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, Best]:
    """Return what fits weights of several labels: to people's labels, and against what each label has on average."""
    scale, objective = by.judge.answer.scale, Objective(judge=by.judge)
    units = [
        (at, shares, gold)
        for at, (case, one) in enumerate(zip(cases, verdicts, strict=True))
        for shares, gold in zip(one.probabilities, case.gold or repeat(None), strict=False)
        if one.measured and shares
    ]
    tables = [
        _Shares(
            names=[scale.text(label) for label in labels],
            places=np.array([at for at, *_ in own]),
            known=np.array([[shares.get(label, 0.0) for label in labels] for _, shares, _ in own]),
            gold=np.array([-1 if gold is None else labels.index(gold) for *_, gold in own]),
        )
        for labels in scale.weighted
        if (own := [unit for unit in units if not unit[1].keys().isdisjoint(labels)])
    ]
    if not tables:
        return {}

    def by_means(at: Sequence[int]) -> Mapping[str, float]:
        return dict(pair for one in tables for pair in one.against_means(at))

    def value(weights: Mapping[str, float], at: Sequence[int]) -> float:
        asker = by.under(Setting(weights=weights))
        return objective.aggregate(
            [objective.outcome(cases[one], asker.revote(cases[one], verdicts[one])) for one in at]
        )

    def by_labels(at: Sequence[int]) -> Mapping[str, float]:
        tried = [dict(pair for one in tables for pair in one.to_labels(at, power)) for power in _POWERS]
        return max(tried, key=lambda weights: round(value(weights, at), 9))

    return {"weights, fitted to people's labels": by_labels, "weights, against each label's mean": by_means}


@dataclass(frozen=True, kw_only=True)
class _Shares:
    """N units on one set of L labels: their cases, the probability of each label (N, L), and the code of gold or -1."""

    names: Sequence[str]
    places: Ints
    known: Floats
    gold: Ints

    def against_means(self, at: Sequence[int]) -> Iterator[tuple[str, float]]:
        """Return each label with a weight by which all are as probable on average."""
        chosen = self.known[np.isin(self.places, at)]
        return self._named(-np.log((chosen.sum(axis=0) + 1 / len(self.names)) / (len(chosen) + 1)))

    def to_labels(self, at: Sequence[int], power: float) -> Iterator[tuple[str, float]]:
        """Return each label with a weight that is fitted to what people said."""
        chosen = np.isin(self.places, at) & (self.gold >= 0)
        return self._named(_offsets(self.known[chosen], self.gold[chosen], power))

    def _named(self, offsets: Floats) -> Iterator[tuple[str, float]]:
        weights = np.exp(np.clip(offsets - offsets.mean(), -_FARTHEST, _FARTHEST))
        return ((name, float(f"{weight:.4g}")) for name, weight in zip(self.names, weights, strict=True))


def _offsets(shares: Floats, gold: Ints, power: float) -> Floats:
    """Return what is added to each label's logarithm: a logistic model of these alone and one scale of all.

    A label with n units counts as much as n to the power of 1 - ``power``.
    """
    logs, count = np.log(np.maximum(shares, _LEAST_SHARE)), shares.shape[1]
    each = np.bincount(gold, minlength=count)[gold] ** -power
    each *= len(gold) / max(each.sum(), _END)

    def loss(found: Floats) -> tuple[float, Floats]:
        scale, offsets = np.exp(found[0]), found[1:]
        wanted = softmax(scale * logs + offsets, axis=1)
        slope = wanted * each[:, None]
        slope[np.arange(len(gold)), gold] -= each
        value = -(each * np.log(np.maximum(wanted[np.arange(len(gold)), gold], _LEAST))).sum()
        by_scale = float((slope * logs).sum() * scale)
        return value + float(found @ found) / 2, np.array([by_scale, *slope.sum(axis=0)]) + found

    found = minimize(loss, np.zeros(count + 1), jac=True, method="L-BFGS-B").x
    return np.asarray(found[1:] / np.exp(found[0]))


def _by_probability(by: Deciding, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> Best | None:
    """Return what fits the probability from which on a unit is positive."""
    judge, probability = by.judge, by.judge.answer.scale.probability
    always, never = (by.under(Setting(threshold=at)) for at in (_ALWAYS, 1 - _ALWAYS))
    units: list[tuple[int, float, Value, list[Value | None]]] = []  # with the value on each side
    for at, (case, one) in enumerate(zip(cases, verdicts, strict=True)):
        found, clear = always.revote(case, one), never.revote(case, one)
        sides = zip(case.gold or (), found.probabilities, found.values, clear.values, strict=False)
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
    odds: Floats = logit(np.clip([share for _, share, *_ in units], _END, 1 - _END))
    positive = np.array([probability({gold: 1.0}) == 1.0 for _, _, gold, _ in units])

    def best(places: Sequence[int]) -> float:
        chosen = np.isin(place, places)
        if not chosen.any():
            return 0.5
        widths = np.full(len(chosen), _LEAST_WIDTH)
        for side in (True, False):
            if (own := chosen & (positive == side)).any():
                widths[own] = max(_LEAST_WIDTH, _WIDTH * _deviation(odds[own]) * own.sum() ** -0.2)
        low, high = np.quantile(odds[chosen], _ENDS)
        cuts = np.linspace(float(low), float(high), _CUTS)
        shares = ndtr((odds[chosen] - cuts[:, None]) / widths[chosen])
        parts = np.rint(_PARTS * shares).astype(np.int64)
        # Each unit twice: in part as it is decided when found, and for the rest as when it is not.
        weights = np.zeros((len(cuts), 2, len(chosen)), dtype=np.int64)
        weights[:, 0, chosen], weights[:, 1, chosen] = parts, _PARTS - parts
        values = metric.resampled(both, weights.reshape(len(cuts), -1))
        cut = expit(cuts[int(np.argmax(np.round(values if metric.higher_is_better else -values, 9)))])
        return round(float(np.clip(cut, _END, 1 - _END)), 6)

    return best


def _deviation(odds: Floats) -> float:
    """Return the standard deviation, or by the middle half of the numbers where that says less and is not 0."""
    middle = float(np.subtract(*np.quantile(odds, (0.75, 0.25)))) / _QUARTILES
    return min(float(odds.std()), middle or np.inf)


def _between(by: Deciding, verdicts: Sequence[Verdict]) -> Sequence[float]:
    """Return the probabilities to try: between those of the units."""
    answer = by.judge.answer
    found = [answer.scale.probability(shares) for one in verdicts for shares in one.probabilities]
    known = np.unique([share for share in found if share is not None])
    between = (known[1:] + known[:-1]) / 2
    if len(between) > _STEPS:
        between = between[np.linspace(0, len(between) - 1, _STEPS).round().astype(int)]
    return [cut for cut in (round(float(one), 6) for one in between) if 0 < cut < 1]


def _by_steps(
    by: Deciding, cases: Sequence[Case], verdicts: Sequence[Verdict], cuts: Sequence[float], now: float
) -> Best:
    """Return what fits one of some thresholds; of equally good ones the nearest to ``now``."""
    objective = Objective(judge=by.judge)
    under = {}
    for cut in cuts:
        asker = by.under(Setting(threshold=cut))
        pairs = zip(cases, verdicts, strict=True)
        under[cut] = [objective.outcome(case, asker.revote(case, one)) for case, one in pairs]

    def best(places: Sequence[int]) -> float:
        values = {cut: objective.aggregate([found[at] for at in places]) for cut, found in under.items()}
        return max(values, key=lambda cut: (round(values[cut], 9), -abs(cut - now)))

    return best
