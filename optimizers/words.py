"""Candidates that words decide: a regression on words and overlap, alone or with the replies of a prompt.

Both cost no further call. They are fitted on all labelled cases of train and dev. For the choice each case is judged
by a rule that was fitted without the cases of its fold, as with thresholds; groups stay in one fold.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from sklearn.linear_model import LogisticRegression

from ..cases import Case, Value
from ..evaluation.criteria import CriteriaScale
from ..evaluation.units import Floats, Ints
from ..programs.judge import Judge
from ..programs.verdicts import Verdict
from ..programs.word_rule import NO_CRITERION, WordRule, reply_figures
from ..text.word_regression import CriterionRule, ReplyPart
from .base import Job
from .board import Board, Candidate
from .candidate import Setting
from .learners import (
    UNSEEN,
    FittedWords,
    Parts,
    UnitTexts,
    fit_longer_side,
    fit_mixture,
    fit_parts,
    fit_words,
    label_power,
    make_folds,
    round_weight,
    round_weights,
)
from .offsets import fit_offsets
from .weighing import weigh_words

LEAST_LABELS: Final = 30
"""The fewest labelled units on which words are fitted."""
LEAST_A_SIDE: Final = 6
"""The fewest units of the second most frequent label."""
_LEAST_REPLIES: Final = 15
"""The fewest labelled units with a reply on which replies are calibrated."""
FOLDS: Final = 5
_RIDGE: Final = 10.0
"""The penalty of the regression of scores on words and reply, in units."""


@dataclass(frozen=True, kw_only=True)
class _Criterion:
    """The labelled units of one criterion, or all units of a judge without several; and the regressions on them."""

    name: str
    place: int | None  # of the criterion among the units of a case; ``None`` where all units count
    judge: Judge  # with the answer of this criterion alone
    units: UnitTexts
    fold_of_unit: Sequence[int]

    @cached_property
    def labelled(self) -> list[int]:
        """The positions of the labelled units."""
        positions: list[int] = []
        for unit, label in enumerate(self.units.gold):
            if label is not None:
                positions.append(unit)
        return positions

    def labelled_outside(self, fold: int | None) -> list[int]:
        """Return the positions of the labelled units outside a fold; of all for ``None``."""
        positions: list[int] = []
        for unit in self.labelled:
            if self.fold_of_unit[unit] != fold:
                positions.append(unit)
        return positions

    @property
    def has_enough_labels(self) -> bool:
        """Whether words can be fitted to its labels."""
        if len(self.labelled) < LEAST_LABELS:
            return False
        if self.judge.answer.scale.learned != "label":
            return True
        counts = Counter[Value]()
        for unit in self.labelled:
            counts[self.units.gold[unit]] += 1
        return len(counts) > 1 and counts.most_common(2)[1][1] >= LEAST_A_SIDE

    @cached_property
    def fits(self) -> dict[int | None, FittedWords]:
        """Fold -> the regression on the units outside it; ``None`` -> the regression on all."""
        fits: dict[int | None, FittedWords] = {None: fit_words(self.units, self.labelled)}
        for fold in sorted(set(self.fold_of_unit)):
            fits[fold] = fit_words(self.units, self.labelled_outside(fold))
        return fits

    @cached_property
    def decisive_fits(self) -> dict[int | None, FittedWords]:
        """Fold -> the regression that decides for it, as :attr:`fits`: with support signals where there is evidence."""
        if not self.units.has_evidence:
            return self.fits
        parts: dict[int | None, Parts] = {}
        for fold in (None, *sorted(set(self.fold_of_unit))):
            parts[fold] = fit_parts(self.units, self.labelled_outside(fold))
        outputs = parts[None].words.outputs
        crossed = self._score_across_folds(parts, outputs)
        fits: dict[int | None, FittedWords] = {}
        for fold, parts_of_fold in parts.items():
            units = self.labelled_outside(fold)
            gold = [self.units.gold[unit] for unit in units]
            scores = [crossed_of_part[units] for crossed_of_part in crossed]
            fits[fold] = fit_mixture(self.judge, gold, scores, outputs).mix(parts_of_fold)
        return fits

    def _score_across_folds(
        self, parts: Mapping[int | None, Parts], outputs: Sequence[Value]
    ) -> list[Floats]:
        """Return the scores that each part gives the labelled units without their fold: arrays (units, outputs)."""
        width = max(1, len(outputs))
        crossed = [np.full((len(self.fold_of_unit), width), UNSEEN) for _ in range(len(parts[None]))]
        for fold, parts_of_fold in parts.items():
            units = [unit for unit in self.labelled if self.fold_of_unit[unit] == fold]
            if not units:
                continue
            for array, part in zip(crossed, parts_of_fold, strict=True):
                scores = part.scores(self.units, units)
                if not outputs:  # a regression of scores has one output without a name
                    array[units] = scores
                for column, output in enumerate(part.outputs):
                    if output in outputs:
                        array[units, outputs.index(output)] = scores[:, column]
        return crossed

    def place_in_case(self, unit: int) -> int:
        """Return the place of a unit among all units of its case."""
        if self.place is not None:
            return self.place
        return unit - self.units.units_of_case[self.units.case_of_unit[unit]].start


class WordFits:
    """The regressions on words of one job: on all labelled cases of train and dev, and across folds."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.cases: list[Case] = []
        """The labelled cases of train and dev."""
        for case in job.train + job.dev:
            if case.labels:
                self.cases.append(case)
        folds = make_folds([case.group for case in self.cases], FOLDS, job.seed)
        self.folds = range(len(folds))
        self.fold_of_case: dict[str, int] = {}
        """Id of a case -> its fold."""
        for number, positions in enumerate(folds):
            for position in positions:
                self.fold_of_case[self.cases[position].id] = number
        self.criteria: list[_Criterion] = []
        """The criteria of the judge; one for a judge without several."""
        for name in job.judge.answer.criteria or (NO_CRITERION,):
            self.criteria.append(self._criterion(name))

    def _criterion(self, name: str) -> _Criterion:
        """Return the units of a criterion, of its name, or of a judge without several."""
        judge = self.job.judge
        cases: Sequence[Case] = self.cases
        place = None
        if name:
            scale = judge.answer.scale
            assert isinstance(scale, CriteriaScale)
            cases = scale.cases(name, cases)
            place = list(judge.answer.criteria).index(name)
            judge = judge.of_criterion(name)
        units = UnitTexts(judge, cases)
        fold_of_unit: list[int] = []
        for position in units.case_of_unit:
            fold_of_unit.append(self.fold_of_case[cases[position].id])
        return _Criterion(name=name, place=place, judge=judge, units=units, fold_of_unit=fold_of_unit)

    @property
    def can_fit(self) -> bool:
        """Whether each criterion has labels enough, and what is judged is text."""
        if self.job.judge.answer.unit in self.job.judge.image_fields:
            return False
        return len(self.folds) == FOLDS and all(criterion.has_enough_labels for criterion in self.criteria)

    def rule_of_words(self, fold: int | None) -> WordRule:
        """Return the rule of words alone that was fitted outside a fold; of all cases for ``None``."""
        rules: list[CriterionRule] = []
        for criterion in self.criteria:
            regression = criterion.decisive_fits[fold].regression
            rules.append({"criterion": criterion.name, "regression": regression, "reply": None})
        return WordRule(criteria=tuple(rules))

    def setting_of_words(self) -> Setting:
        """Return the setting in which words decide alone, fitted on all cases."""
        summary = {"decide": "words", "share": 1.0, **self.summary}
        return Setting(words=replace(self.rule_of_words(None), summary=summary), asks_model=False)

    @property
    def compares_texts(self) -> bool:
        """Whether a unit compares two texts, of which one may be longer."""
        return len(self.criteria[0].units.judged) > 1

    def rule_of_length(self, fold: int | None) -> WordRule:
        """Return the rule that the longer of two texts decides, fitted outside a fold; on all cases for ``None``."""
        (criterion,) = self.criteria
        regression = fit_longer_side(criterion.units, criterion.labelled_outside(fold))
        return WordRule(criteria=({"criterion": NO_CRITERION, "regression": regression, "reply": None},))

    def setting_of_length(self) -> Setting:
        """Return the setting in which the longer of two texts decides, fitted on all cases."""
        rule = replace(self.rule_of_length(None), summary={"decide": "length", "share": 1.0})
        return Setting(words=rule, asks_model=False)

    @cached_property
    def summary(self) -> dict[str, object]:
        """The grams that weigh most, by label or member, and warnings, as a card has them."""
        heaviest: dict[str, list[str]] = {}
        warnings: list[str] = []
        for criterion in self.criteria:
            weighing = weigh_words(criterion.decisive_fits[None], criterion.units, criterion.labelled)
            prefix = f"{criterion.name}, " if criterion.name else ""
            for label, grams in weighing.heaviest.items():
                heaviest[prefix + label] = grams
            for warning in weighing.warnings:
                warnings.append(prefix + warning)
        return {"heaviest": heaviest, "warnings": warnings}

    def cross_fitted(self, rules: Mapping[int, WordRule], setting: Setting) -> dict[str, Setting]:
        """Return case id -> the setting with the rule that was fitted without the case's fold."""
        setting_of_fold: dict[int, Setting] = {}
        for fold in self.folds:
            setting_of_fold[fold] = replace(setting, words=rules[fold])
        settings: dict[str, Setting] = {}
        for case_id, fold in self.fold_of_case.items():
            settings[case_id] = setting_of_fold[fold]
        return settings


class ReplyFits:
    """The calibration of one prompt's replies beside words, on the labelled cases that the prompt has met."""

    def __init__(self, fits: WordFits, verdicts: Mapping[str, Verdict]) -> None:
        self._fits = fits
        self._verdicts = verdicts  # by the ids of cases

    def rule(self, fold: int | None) -> WordRule | None:
        """Return the rule of words and replies that was fitted outside a fold; ``None`` with too few replies."""
        rules: list[CriterionRule] = []
        for criterion in self._fits.criteria:
            figures, units = self._figures(criterion, fold)
            if len(units) < _LEAST_REPLIES:
                return None
            regression = criterion.decisive_fits[fold].regression
            reply = self._reply_part(criterion, fold, figures, units)
            rules.append({"criterion": criterion.name, "regression": regression, "reply": reply})
        return WordRule(criteria=tuple(rules))

    def setting(self, request: Setting) -> Setting | None:
        """Return the setting in which words and replies decide together, fitted on all; ``None`` with too few replies.

        Args:
            request: how the prompt was asked whose replies they are.
        """
        rule = self.rule(None)
        if rule is None:
            return None
        summary = {"decide": "stack", "share": self.share_of_words, **self._fits.summary}
        return replace(request, words=replace(rule, summary=summary))

    @cached_property
    def share_of_words(self) -> float:
        """The share of words in the decision: of the spreads of what words and replies add, 0 to 1, to two digits."""
        spread_of_words = 0.0
        spread_of_replies = 0.0
        for criterion in self._fits.criteria:
            figures, units = self._figures(criterion, None)
            reply = self._reply_part(criterion, None, figures, units)
            scores = criterion.decisive_fits[None].scores(criterion.units, units)
            spread_of_words += abs(reply["words_weight"]) * float(_deviations(scores).std())
            spread_of_replies += abs(reply["slope"]) * float(_deviations(figures).std())
        total = spread_of_words + spread_of_replies
        if not total:
            return 0.0
        return round(spread_of_words / total, 2)

    def _figures(self, criterion: _Criterion, fold: int | None) -> tuple[Floats, list[int]]:
        """Return the figures of the replies to labelled units outside a fold, and the positions of these units."""
        answer = self._fits.job.judge.answer
        regression = criterion.decisive_fits[fold].regression
        figures: list[list[float]] = []
        units: list[int] = []
        for unit in criterion.labelled_outside(fold):
            case = criterion.units.cases[criterion.units.case_of_unit[unit]]
            verdict = self._verdicts.get(case.id)
            if verdict is None or verdict.status == "failed" or verdict.refused:
                continue
            place = criterion.place_in_case(unit)
            unit_figures = reply_figures(regression, criterion.name, answer, verdict, place)
            if unit_figures:
                figures.append(unit_figures)
                units.append(unit)
        return np.array(figures), units

    def _reply_part(
        self, criterion: _Criterion, fold: int | None, figures: Floats, units: Sequence[int]
    ) -> ReplyPart:
        """Return the calibration of the replies beside the words that were fitted outside a fold."""
        gold: list[Value] = []
        for unit in units:
            gold.append(criterion.units.gold[unit])
        learned = criterion.judge.answer.scale.learned
        if learned == "number":
            words = self._word_scores_across_folds(criterion, units)
            return _calibrate_scores(words, figures[:, 0], np.array(gold, dtype=float))
        outputs = criterion.decisive_fits[fold].outputs
        if learned == "members":
            return _calibrate_members(figures, gold, outputs)
        codes = np.array(list(map(outputs.index, gold)))
        return _calibrate_labels(figures, codes, label_power(criterion.judge))

    def _word_scores_across_folds(self, criterion: _Criterion, units: Sequence[int]) -> Floats:
        """Return the score that words give each of some units, by a fit without the unit's fold."""
        scores: list[float] = []
        for unit in units:
            fit = criterion.decisive_fits[criterion.fold_of_unit[unit]]
            scores.append(float(fit.scores(criterion.units, [unit])[0, 0]))
        return np.array(scores)


def _deviations(scores: Floats) -> Floats:
    """Return scores of several outputs less the mean of each unit; those of one output as they are."""
    if scores.shape[1] == 1:
        return scores
    deviations: Floats = scores - scores.mean(axis=1, keepdims=True)
    return deviations


def _calibrate_labels(figures: Floats, gold: Ints, power: float) -> ReplyPart:
    """Return the calibration of replies beside words for closed labels."""
    slope, offsets = fit_offsets(figures, gold, power)
    return _make_reply_part(slope, offsets.tolist())


def _calibrate_members(figures: Floats, gold: Sequence[Value], names: Sequence[Value]) -> ReplyPart:
    """Return the calibration of replies beside words for sets: by one logistic model of all members."""
    is_member: list[bool] = []
    for members in gold:
        for name in names:
            is_member.append(name in members)
    slope = 0.0
    offset = 0.0
    if len(set(is_member)) > 1:
        model = LogisticRegression(class_weight="balanced").fit(figures.reshape(-1, 1), is_member)
        slope = float(model.coef_[0, 0])
        offset = float(model.intercept_[0])
    return _make_reply_part(slope, [offset] * len(names))


def _calibrate_scores(words: Floats, replies: Floats, gold: Floats) -> ReplyPart:
    """Return the calibration of replies beside words for scores: by a ridge regression on both, on their own scale."""
    columns = np.column_stack([words, replies])
    means = columns.mean(axis=0)
    spreads = columns.std(axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0)
    standardised = (columns - means) / spreads
    matrix = standardised.T @ standardised + _RIDGE * np.eye(2)
    weights = np.linalg.solve(matrix, standardised.T @ (gold - gold.mean())) / spreads
    offset = float(gold.mean()) - float(weights @ means)
    return _make_reply_part(float(weights[1]), [offset], words_weight=float(weights[0]))


def _make_reply_part(slope: float, offsets: Sequence[float], words_weight: float = 1.0) -> ReplyPart:
    """Return the calibration of replies with seven significant digits."""
    return {
        "slope": round_weight(slope),
        "offsets": round_weights(offsets),
        "words_weight": round_weight(words_weight),
    }


def add_word_candidates(
    job: Job, board: Board, prompts: Sequence[Candidate], *, with_length: bool = False
) -> list[Candidate]:
    """Enter words alone, and words with the replies of each prompt, judged across folds; return the candidates.

    Args:
        job: the job of the search.
        board: the board that holds the verdicts.
        prompts: the prompts whose replies may count.
        with_length: whether the rule that the longer of two texts is preferred is entered too. It is the constant
            answer that a proof holds candidates against, so that no test can show it to be better.
    """
    if not job.words or not job.judge.answer.constants(()):
        return []
    fits = WordFits(job)
    if not fits.can_fit:
        return []
    candidates = [_enter_rule(board, fits, "words", fits.rule_of_words, fits.setting_of_words())]
    if with_length and fits.compares_texts:
        setting = fits.setting_of_length()
        candidates.append(_enter_rule(board, fits, "length", fits.rule_of_length, setting))
    for prompt in prompts:
        if prompt.state.questions:
            continue  # heads over questions take words along
        candidate = _enter_stack(board, fits, prompt)
        if candidate is not None:
            candidates.append(candidate)
    return candidates


def _enter_rule(
    board: Board, fits: WordFits, source: str, rule_outside: Callable[[int], WordRule], setting: Setting
) -> Candidate:
    """Enter the candidate that a rule decides for which no model is asked."""
    rules: dict[int, WordRule] = {}
    for fold in fits.folds:
        rules[fold] = rule_outside(fold)
    candidate = board.add(
        board.basic.state,
        parent=board.basic,
        source=source,
        setting=setting,
        cross_fitted=fits.cross_fitted(rules, setting),
    )
    board.score(candidate, fits.cases)
    return candidate


def verdicts_of(board: Board, prompt: Candidate, cases: Sequence[Case]) -> dict[str, Verdict]:
    """Return id -> the verdict of a prompt on each case that it has answered and does not show."""
    answered: list[Case] = []
    for case in cases:
        if board.outcome(prompt, case) and case.id not in prompt.demo_ids:
            answered.append(case)
    verdicts: dict[str, Verdict] = {}
    for case, verdict in zip(answered, board.verdicts(prompt, answered), strict=True):
        verdicts[case.id] = verdict
    return verdicts


def _enter_stack(board: Board, fits: WordFits, prompt: Candidate) -> Candidate | None:
    """Enter the candidate that words and the replies of a prompt decide together; ``None`` with too few replies."""
    verdicts = verdicts_of(board, prompt, fits.cases)
    replies = ReplyFits(fits, verdicts)
    setting = replies.setting(prompt.setting.of_request)
    rules: dict[int, WordRule] = {}
    for fold in fits.folds:
        rule = replies.rule(fold)
        if rule is not None:
            rules[fold] = rule
    if setting is None or len(rules) < len(fits.folds):
        return None
    candidate = board.add(
        prompt.state,
        parent=prompt,
        source="stack, words and replies",
        setting=setting,
        cross_fitted=fits.cross_fitted(rules, setting),
    )
    board.score(candidate, [case for case in fits.cases if case.id in verdicts])
    return candidate
