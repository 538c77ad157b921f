"""The decision threshold, and the weights of several labels: fitted without a further call.

Where few units are positive, the metric is a staircase in the cut, and its highest step is mostly luck: the best of a
staircase is known far less well than that of a smooth curve (Kim and Pollard 1990, section 6; Horowitz 1992 smooths
it). So each unit is positive in part under any cut: by the share above the cut of a normal distribution around the
unit's log odds. The distribution is wider where the units of its gold side differ more, and where they are fewer. A
reply in which a label is missing gives log odds far from all others. So the middle half of a side, and not its ends,
measures how much its units differ.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy

from ..cases import Case, Value
from ..evaluation.rows import JudgedRow
from ..evaluation.scale import resolve
from ..evaluation.units import Floats, Ints, encode
from ..programs.asking import Asker
from ..programs.verdicts import Verdict
from ..text.word_regression import LEAST_SHARE
from .base import Job, Result
from .board import Board, Candidate
from .candidate import Setting
from .objective import Objective, Outcome
from .offsets import fit_offsets

Crossed: TypeAlias = tuple[Setting, Mapping[str, Setting]]
"""The best setting on all cases, and case id -> the best setting on the cases of the other folds."""
Best: TypeAlias = Callable[[Sequence[int]], Setting]
"""A function from the positions of some cases to the best setting on them."""

_FOLDS = 4
"""Each case is judged under the setting that the cases of the other folds gave."""
_ALWAYS = 1e-12
"""From this probability on every unit is positive; from 1 minus it on, none is."""
_PROMPTS = 5
"""At the end of a search a threshold is fitted for so many prompts, and for the basic one."""
_CUTS = 100
"""So many cuts are tried, at equal distances of log odds."""
_ENDS = (0.02, 0.98)
"""The cuts lie between these quantiles of the units' log odds."""
_QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal distribution."""
_WIDTH = 2.0
"""The width of a unit's normal distribution: so many deviations of its side, times its units to the power of -1/5."""
_LEAST_WIDTH = 1e-3
_PARTS = 20
"""A unit is divided into so many parts, because metrics count whole numbers."""
_POWERS = (0.0, 0.5, 1.0)
"""The powers that are tried by which rare labels weigh more."""
_LEAST = 1e-12
"""The smallest probability whose logarithm is taken."""
_FARTHEST = 7.0
"""The largest distance of a weight's logarithm from their mean."""
_END = 1e-6
"""Probabilities nearer to 0 or 1 are not told apart."""


def can_fit_threshold(job: Job) -> bool:
    """Return whether a threshold that the user left open decides the job's verdicts."""
    scale = job.judge.answer.scale
    if job.settings.sampling.threshold is not None:
        return False
    if scale.uses_threshold and job.settings.sampling.samples > 1:
        return True
    metric = resolve(job.judge.metric, job.judge.comparison)
    return scale.has_probabilities and (metric.divisible or bool(scale.weighted))


def with_fitted_rules(job: Job, result: Result) -> Result:
    """Return a result with further candidates: the best few prompts, and the basic one, under fitted rules.

    A rule is a threshold, weights of labels, a head over answers to questions, or a regression on words, alone or
    together with the replies. None of them takes a further call.
    """
    board = result.board
    if not board.met(board.basic, job.dev):
        return result
    add_fitted(job, board, _best_prompts(job, result))
    return replace(result, best=board.best(job.dev) or board.basic)


def add_fitted(job: Job, board: Board, prompts: Sequence[Candidate], *, by_words: bool = True) -> None:
    """Enter prompts under the rules that are fitted from their stored verdicts, in place of earlier fits.

    Args:
        job: the job of the search.
        board: the board that holds the verdicts.
        prompts: candidates without a fitted rule.
        by_words: whether rules of words are fitted too, which takes a while.
    """
    for prompt in prompts:
        _withdraw_fits(board, prompt)
        if can_fit_threshold(job):
            _add_thresholds(job, board, prompt)
        if prompt.state.questions:
            # scikit-learn takes a second to load, and commands that fit nothing do without it.
            from .question_heads import add_heads

            add_heads(job, board, prompt)
    if by_words:
        from .words import add_word_candidates

        add_word_candidates(job, board, prompts)


def _withdraw_fits(board: Board, prompt: Candidate) -> None:
    """Take back the rules that were fitted to a prompt's verdicts on fewer cases."""
    for candidate in list(board.candidates.values()):
        if candidate.cross_fitted and candidate.parent == prompt.id and candidate.setting.asks_model:
            board.withdraw(candidate)


def _best_prompts(job: Job, result: Result) -> list[Candidate]:
    """Return the basic prompt, the best few of those that have met all of dev, and those with a fitted rule.

    They are without that rule.
    """
    board = result.board
    standings = board.standings(result.best)
    estimated: list[Candidate] = []
    refitted: list[Candidate] = []
    for candidate in board.candidates.values():
        if candidate.cross_fitted:
            refitted.append(board.candidates[candidate.parent or ""])
        elif board.scored(candidate, job.dev) and candidate.id in standings:
            estimated.append(candidate)
    best_first = sorted(estimated, key=lambda candidate: -round(standings[candidate.id].mean, 9))
    prompts = [board.basic] + best_first[:_PROMPTS] + refitted
    return list({prompt.id: prompt for prompt in prompts}.values())


def _add_thresholds(job: Job, board: Board, prompt: Candidate) -> None:
    """Enter a prompt under a fitted threshold, and under fitted weights."""
    met = _met_cases(job, board, prompt)
    for name, (setting, cross_fitted) in fitted(job, board, prompt).items():
        source = name
        threshold = setting.threshold
        if threshold is not None and threshold >= 1:
            source = f"{name}, {threshold:g} votes"
        elif threshold is not None:
            source = f"{name}, probability {threshold:.3g}"
        candidate = board.add(
            prompt.state, parent=prompt, source=source, setting=setting, cross_fitted=cross_fitted
        )
        board.score(candidate, met)


def _met_cases(job: Job, board: Board, candidate: Candidate) -> list[Case]:
    """Return the cases of train and dev that a candidate has met."""
    return [case for case in job.train + job.dev if board.outcome(candidate, case)]


def fitted(job: Job, board: Board, candidate: Candidate) -> dict[str, Crossed]:
    """Return ``threshold`` and ``weights`` -> the best settings of a candidate on the cases that it met.

    Cases that its prompt shows as demonstrations do not count. A setting that is the candidate's own is left out.
    """
    cases = _met_cases(job, board, candidate)
    cases = [case for case in cases if case.id not in candidate.demo_ids]
    if not cases:
        return {}
    current = candidate.setting
    stored = _StoredSamples(
        job=job,
        cases=cases,
        verdicts=board.verdicts(candidate, cases),
        threshold=job.sampling_under(current).needed,
    )
    fold_of_case = _folds(job, cases)
    settings: dict[str, Crossed] = {}
    for name, best in (("threshold", _threshold(stored)), ("weights", _weights(stored))):
        if best is None:
            continue
        setting = _as_asked(best(range(len(cases))), current)
        if setting == current or setting.threshold == stored.threshold:
            continue
        cross_fitted: dict[str, Setting] = {}  # of each case the setting that was fitted on the other folds
        for fold in set(fold_of_case):
            fold_ids: list[str] = []
            positions: list[int] = []
            for position, case in enumerate(cases):
                if fold_of_case[position] == fold:
                    fold_ids.append(case.id)
                else:
                    positions.append(position)
            cross_fitted.update(dict.fromkeys(fold_ids, _as_asked(best(positions), current)))
        settings[name] = setting, cross_fitted
    return settings


def _as_asked(fitted_setting: Setting, current: Setting) -> Setting:
    """Return a fitted threshold, or weights, with what the current setting changes in requests."""
    request = current.of_request
    return replace(request, threshold=fitted_setting.threshold, weights=fitted_setting.weights)


@dataclass(frozen=True, kw_only=True)
class _StoredSamples:
    """A candidate's stored samples, to be decided under other settings."""

    job: Job
    cases: Sequence[Case]
    verdicts: Sequence[Verdict]
    threshold: float  # the current one

    def under(self, setting: Setting) -> Asker:
        """Return the asker that decides the samples under a setting."""
        return self.job.asker(self.job.judge.basic(), setting)

    def outcomes(self, setting: Setting) -> list[Outcome]:
        """Return the outcome of each case under a setting."""
        asker = self.under(setting)
        objective = Objective(judge=self.job.judge)
        outcomes: list[Outcome] = []
        for case, verdict in zip(self.cases, self.verdicts, strict=True):
            outcomes.append(objective.outcome(case, asker.revote(case, verdict)))
        return outcomes

    def value(self, outcomes: Sequence[Outcome], positions: Sequence[int]) -> float:
        """Return the objective of the cases at some positions."""
        objective = Objective(judge=self.job.judge)
        return round(objective.aggregate([outcomes[position] for position in positions]), 9)


def _folds(job: Job, cases: Sequence[Case]) -> list[int]:
    """Return the fold of each case; groups stay whole, and each fold has about its share of every stratum."""
    strata = job.judge.answer.scale.strata(cases)
    shuffled = random.Random(f"folds/{job.seed}").sample(range(len(cases)), len(cases))
    by_stratum = sorted(shuffled, key=lambda position: strata[position])
    fold_of_group: dict[str, int] = {}
    for position in by_stratum:
        fold_of_group.setdefault(cases[position].group, len(fold_of_group) % _FOLDS)
    return [fold_of_group[case.group] for case in cases]


def _threshold(stored: _StoredSamples) -> Best | None:
    """Return the fit of a threshold; ``None`` if no labelled unit's probability is known."""
    judge = stored.job.judge
    if not judge.answer.scale.uses_threshold:
        return None
    if not any(verdict.measured for verdict in stored.verdicts):
        return _by_votes(stored)
    # Of a metric that does not count units, such as a function of the user's own, no curve over cuts is smooth.
    if not resolve(judge.metric, judge.comparison).divisible:
        return None
    return _by_probability(stored)


def _by_votes(stored: _StoredSamples) -> Best:
    """Return the fit of a number of votes; among equally good ones the nearest to the current one."""
    outcomes_under: dict[int, list[Outcome]] = {}
    for votes in range(1, stored.job.settings.sampling.samples + 1):
        outcomes_under[votes] = stored.outcomes(Setting(threshold=votes))

    def best(positions: Sequence[int]) -> Setting:
        def merit(votes: int) -> tuple[float, float]:
            return stored.value(outcomes_under[votes], positions), -abs(votes - stored.threshold)

        return Setting(threshold=max(outcomes_under, key=merit))

    return best


class _LabelledUnit(NamedTuple):
    """A labelled unit with a probability."""

    case: int  # the position of its case
    probability: float  # of the positive label
    gold: Value
    if_positive: Value | None  # its value where the probability is above the threshold
    if_negative: Value | None


def _labelled_units(stored: _StoredSamples) -> list[_LabelledUnit]:
    """Return the labelled units whose probability is known."""
    probability = stored.job.judge.answer.scale.probability
    always_positive = stored.under(Setting(threshold=_ALWAYS))
    never_positive = stored.under(Setting(threshold=1 - _ALWAYS))
    units: list[_LabelledUnit] = []
    for position, (case, verdict) in enumerate(zip(stored.cases, stored.verdicts, strict=True)):
        marked = always_positive.revote(case, verdict)
        clear = never_positive.revote(case, verdict)
        unit_parts = zip(case.gold or (), marked.probabilities, marked.values, clear.values, strict=False)
        for gold, shares, if_positive, if_negative in unit_parts:
            if gold is None:
                continue
            share = probability(shares)
            if share is not None:
                units.append(_LabelledUnit(position, share, gold, if_positive, if_negative))
    return units


def _by_probability(stored: _StoredSamples) -> Best | None:
    """Return the fit of the probability from which on a unit is positive."""
    judge = stored.job.judge
    units = _labelled_units(stored)
    if not units:
        return None
    rows: list[JudgedRow] = []  # each unit twice: as it is decided when positive, then as when it is not
    for number, unit in enumerate(units):
        rows.append(_row_of_labelled_unit(f"0{number:09d}", unit.gold, unit.if_positive))
    for number, unit in enumerate(units):
        rows.append(_row_of_labelled_unit(f"1{number:09d}", unit.gold, unit.if_negative))
    metric = resolve(judge.metric, judge.comparison)
    encoded = encode(judge.comparison, rows)
    case_positions: list[int] = []
    probabilities: list[float] = []
    positives: list[bool] = []
    for unit in units:
        case_positions.append(unit.case)
        probabilities.append(unit.probability)
        positives.append(judge.answer.scale.probability({unit.gold: 1.0}) == 1.0)
    case_of_unit = np.array(case_positions)
    odds: Floats = scipy.special.logit(np.clip(probabilities, _END, 1 - _END))
    is_positive = np.array(positives)

    def best(positions: Sequence[int]) -> Setting:
        chosen = np.isin(case_of_unit, positions)
        if not chosen.any():
            return Setting(threshold=0.5)
        widths = np.full(len(chosen), _LEAST_WIDTH)  # of each unit's normal distribution
        for side in (True, False):
            of_side = chosen & (is_positive == side)
            if of_side.any():
                width = _WIDTH * _deviation(odds[of_side]) * of_side.sum() ** -0.2
                widths[of_side] = max(_LEAST_WIDTH, width)
        low, high = np.quantile(odds[chosen], _ENDS)
        cuts = np.linspace(float(low), float(high), _CUTS)
        # Array (cuts, chosen units): the part of each unit that is positive under a cut.
        positive_shares = scipy.special.ndtr((odds[chosen] - cuts[:, None]) / widths[chosen])
        positive_parts = np.rint(_PARTS * positive_shares).astype(np.int64)
        weights = np.zeros((len(cuts), 2, len(chosen)), dtype=np.int64)
        weights[:, 0, chosen] = positive_parts
        weights[:, 1, chosen] = _PARTS - positive_parts
        values = metric.resampled(encoded, weights.reshape(len(cuts), -1))
        merits = -values
        if metric.higher_is_better:
            merits = values
        best_cut = cuts[int(np.argmax(np.round(merits, 9)))]
        threshold = np.clip(scipy.special.expit(best_cut), _END, 1 - _END)
        return Setting(threshold=round(float(threshold), 6))

    return best


def _row_of_labelled_unit(name: str, gold: Value, value: Value | None) -> JudgedRow:
    """Return a unit with a value as a row in a group of its own."""
    return JudgedRow(id=name, group=name, gold=(gold,), predicted=(value,), failed=False)


def _deviation(odds: Floats) -> float:
    """Return the standard deviation, or that of the middle half of the numbers if it is smaller and not 0."""
    lower_quartile, upper_quartile = np.quantile(odds, (0.25, 0.75))
    middle_deviation = float(upper_quartile - lower_quartile) / _QUARTILES
    deviation = float(odds.std())
    if middle_deviation == 0.0:
        return deviation
    return min(deviation, middle_deviation)


class _LabelTable(NamedTuple):
    """The units of one set of weighted labels."""

    names: list[str]  # of the labels
    case: Ints  # for each unit the position of its case
    shares: Floats  # (units, labels): the share of each label
    gold: Ints  # for each unit the position of its label


def _weights(stored: _StoredSamples) -> Best | None:
    """Return the fit of the weights of several labels; ``None`` if no probability is known."""
    tables = _label_tables(stored)
    if not tables:
        return None

    def best(positions: Sequence[int]) -> Setting:
        settings: list[Setting] = []
        for power in _POWERS:
            weights: dict[str, float] = {}
            for table in tables:
                chosen = np.isin(table.case, positions)
                offsets = _offsets(table.shares[chosen], table.gold[chosen], power)
                factors = np.exp(np.clip(offsets - offsets.mean(), -_FARTHEST, _FARTHEST))
                for name, factor in zip(table.names, factors, strict=True):
                    weights[name] = float(f"{factor:.4g}")
            settings.append(Setting(weights=weights))
        return max(settings, key=lambda setting: stored.value(stored.outcomes(setting), positions))

    return best


def _label_tables(stored: _StoredSamples) -> list[_LabelTable]:
    """Return a table of labelled units for each set of weighted labels that has any."""
    scale = stored.job.judge.answer.scale
    units: list[tuple[int, Mapping[Value, float], Value]] = []  # position of the case, shares, label
    for position, (case, verdict) in enumerate(zip(stored.cases, stored.verdicts, strict=True)):
        if not verdict.measured:
            continue
        for shares, label in zip(verdict.probabilities, case.gold or (), strict=False):
            if shares and label is not None:
                units.append((position, shares, label))

    tables: list[_LabelTable] = []
    for labels in scale.weighted:
        case_positions: list[int] = []
        share_rows: list[list[float]] = []
        label_positions: list[int] = []
        for position, shares, label in units:
            if not shares.keys().isdisjoint(labels):
                case_positions.append(position)
                share_rows.append([shares.get(table_label, 0.0) for table_label in labels])
                label_positions.append(labels.index(label))
        if case_positions:
            table = _LabelTable(
                names=list(map(scale.text, labels)),
                case=np.array(case_positions),
                shares=np.array(share_rows),
                gold=np.array(label_positions),
            )
            tables.append(table)
    return tables


def _offsets(shares: Floats, gold: Ints, power: float) -> Floats:
    """Return the offset of each label's log probability, for the scale on which these probabilities are."""
    scale, offsets = fit_offsets(np.log(np.maximum(shares, LEAST_SHARE)), gold, power)
    return offsets / scale
