"""Heads: regressions that make the value of a case of a prompt's answers to its questions, and of its vote.

A head costs no further call. It is fitted on all labelled cases of train and dev that the prompt has met. For the
choice each case is judged by a head that was fitted without the cases of its fold; groups stay in one fold. A head
with words adds the scores of the regression on words to its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from sklearn.linear_model import LogisticRegression

from ..cases import Case, Value
from ..evaluation.units import Floats
from ..programs.judge import Judge
from ..programs.questions import Questions, kinds_of
from ..programs.verdicts import Verdict
from ..programs.word_rule import NO_CRITERION, WordRule, reply_figures
from ..text.word_regression import CriterionRule, QuestionPart, Regression
from .base import Job
from .board import Board, Candidate
from .candidate import Setting
from .learners import round_weights
from .question_labels import LEAST_ANSWERED, LEAST_OF_SECOND_LABEL
from .words import FOLDS, WordFits, verdicts_of

_INVERSE_PENALTY: Final = 0.1
"""The inverse of the penalty of the regression of labels (``C`` of scikit-learn), on columns of variance 1."""
_RIDGE: Final = 20.0
"""The penalty of the regression of scores, in cases."""
_LEAST_SPREAD: Final = 1e-9
"""The standard deviation below which a column is the same for all cases."""


@dataclass(frozen=True, kw_only=True)
class FittedHead:
    """A regression that was fitted to the columns of labelled cases.

    The columns are the answers to the questions, then the figures of the prompt's vote. The regression gives a score
    for each label, or one score where a number is learned.
    """

    labels: Sequence[Value]  # of the scores; empty where a number is learned
    intercepts: Floats  # of each score; of two labels that of the second alone
    weights: Floats  # array (scores, columns)
    centers: Floats  # the mean of each column
    scales: Floats  # the standard deviation of each column; 1 for a column that is the same for all cases

    def question_part(self, questions: Questions) -> QuestionPart:
        """Return the part ``questions`` of a rule, which weighs the columns; its figures have seven digits."""
        return {
            "kinds": list(kinds_of(questions)),
            "centers": round_weights(self.centers),
            "scales": round_weights(self.scales),
            "weights": [round_weights(row) for row in self.weights],
        }


def fit_head(judge: Judge, columns: Floats, gold: Sequence[Value]) -> FittedHead:
    """Return the head that is fitted to labelled cases.

    Args:
        judge: the judge, whose metric says whether rare labels weigh as much as others.
        columns: array (cases, columns) of answers and of figures of the vote; NaN stands for a missing answer.
        gold: the label of each case.
    """
    has_answer = ~np.isnan(columns)
    counts = np.maximum(1, has_answer.sum(axis=0))
    centers = np.where(has_answer, columns, 0.0).sum(axis=0) / counts
    centered = np.where(has_answer, columns, centers) - centers
    spreads = centered.std(axis=0)
    scales = np.where(spreads > _LEAST_SPREAD, spreads, 1.0)
    standardised = centered / scales
    labels: list[Value] = []
    if judge.answer.scale.learned == "number":
        intercepts, weights = _fit_number_columns(standardised, np.array(gold, dtype=float))
    else:
        labels = sorted(set(gold), key=str)
        intercepts, weights = _fit_label_columns(judge, standardised, list(map(labels.index, gold)))
    return FittedHead(labels=labels, intercepts=intercepts, weights=weights, centers=centers, scales=scales)


def _fit_number_columns(standardised: Floats, numbers: Floats) -> tuple[Floats, Floats]:
    """Return the intercept and the weights of a ridge regression of numbers, as arrays (1,) and (1, columns)."""
    mean = numbers.mean()
    matrix = standardised.T @ standardised + _RIDGE * np.eye(standardised.shape[1])
    weights = np.linalg.solve(matrix, standardised.T @ (numbers - mean))
    return np.array([mean]), weights[None, :]


def _fit_label_columns(judge: Judge, standardised: Floats, codes: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the intercepts and the weights of a logistic regression of the labels with these codes, 0 and up.

    The weights are an array (labels, columns). Of two labels the first has weights of 0, and the intercept is that of
    the second.
    """
    class_weight = None if judge.metric == "accuracy" else "balanced"
    model = LogisticRegression(C=_INVERSE_PENALTY, class_weight=class_weight, max_iter=1000)
    model.fit(standardised, codes)
    weights: Floats = model.coef_
    if len(weights) == 1:  # scikit-learn gives two labels one row: the log odds of the second
        weights = np.vstack([np.zeros(weights.shape[1]), weights[0]])
    return model.intercept_, weights


class QuestionFits:
    """The heads of one prompt: one that is fitted on all its labelled cases, and one outside each fold."""

    def __init__(
        self, fits: WordFits, questions: Questions, columns: Mapping[str, Sequence[float | None]]
    ) -> None:
        """Take what a head is fitted to.

        Args:
            fits: the job's regressions on words, which have the labelled cases and their folds.
            questions: the questions of the prompt.
            columns: id of a case -> its answers, then the figures of its vote.
        """
        self._fits = fits
        self._judge = fits.job.judge
        self._questions = questions
        self._labels = labels_of_cases(fits)
        self.cases: list[Case] = []
        """The labelled cases with answers, in order."""
        self.columns: dict[str, Sequence[float | None]] = {}
        """Id of each of these cases -> its columns."""
        rows: list[Sequence[float | None]] = []
        for case in fits.cases:
            if case.id in columns:
                self.cases.append(case)
                self.columns[case.id] = columns[case.id]
                rows.append(columns[case.id])
        self._matrix: Floats = np.array(rows, dtype=float)  # a missing answer, ``None``, becomes NaN

    @property
    def outputs(self) -> list[object]:
        """The labels of the scores as JSON values."""
        scale = self._judge.answer.scale
        return [scale.to_json(label) for label in self._labels]

    @property
    def can_fit(self) -> bool:
        """Whether there are enough cases with answers, and enough of each label outside every fold."""
        if len(self.cases) < LEAST_ANSWERED:
            return False
        if not self._labels:
            return True
        places_to_fit = [self._outside(fold) for fold in (None, *self._fits.folds)]
        return all(map(self._has_labels, places_to_fit))

    def _has_labels(self, places: Sequence[int]) -> bool:
        """Say whether the cases at some places have all labels, and the second most frequent one often enough."""
        counts = Counter(self._gold_labels(places))
        if len(counts) < len(self._labels):
            return False
        return counts.most_common(2)[-1][1] >= LEAST_OF_SECOND_LABEL // 2

    def _outside(self, fold: int | None) -> list[int]:
        """Return the places of the cases outside a fold; of all cases for ``None``."""
        places: list[int] = []
        for place, case in enumerate(self.cases):
            if self._fits.fold_of_case[case.id] != fold:
                places.append(place)
        return places

    def _gold_labels(self, places: Sequence[int]) -> list[Value]:
        """Return the labels of the cases at some places."""
        return [_gold_label(self.cases[place]) for place in places]

    def head(self, fold: int | None) -> FittedHead:
        """Return the head that was fitted outside a fold; on all cases for ``None``."""
        places = self._outside(fold)
        return fit_head(self._judge, self._matrix[places], self._gold_labels(places))

    def rule(self, fold: int | None, *, with_words: bool = False) -> WordRule:
        """Return the rule with the head that was fitted outside a fold, alone or with the regression on words."""
        head = self.head(fold)
        regression = regression_without_words(self._judge, self._labels, head.intercepts)
        if with_words:  # the scores of both are added, and so their intercepts
            words = self._fits.criteria[0].fits[fold].regression
            intercepts = np.array(words["intercepts"]) + np.array(regression["intercepts"])
            regression = {**words, "intercepts": round_weights(intercepts)}
        criterion_rule: CriterionRule = {
            "criterion": NO_CRITERION,
            "regression": regression,
            "reply": None,
            "questions": head.question_part(self._questions),
        }
        return WordRule(criteria=(criterion_rule,), answers=self.columns)

    @cached_property
    def share_of_words(self) -> float:
        """The share of words in a decision by head and words: of the sum of both spreads of scores, to two digits."""
        words = self._fits.criteria[0]
        case_ids = {case.id for case in self.cases}
        units: list[int] = []
        for unit, position in enumerate(words.units.case_of_unit):
            if words.units.cases[position].id in case_ids:
                units.append(unit)
        head = self.head(None)
        matrix = np.where(np.isnan(self._matrix), head.centers, self._matrix)
        scores = (matrix - head.centers) / head.scales @ head.weights.T
        spread_of_head = _spread(scores)
        spread_of_words = _spread(words.fits[None].scores(words.units, units))
        total = spread_of_head + spread_of_words
        if not total:
            return 0.0
        return round(spread_of_words / total, 2)

    def setting(self, request: Setting, *, with_words: bool) -> Setting:
        """Return the setting in which the head that is fitted on all cases decides, alone or with words.

        Args:
            request: the part of the prompt's setting that changes its requests.
            with_words: whether the regression on words is added.
        """
        summary = self.summary
        if with_words:
            summary = {**summary, **self._fits.summary, "share": self.share_of_words}
        return replace(request, words=replace(self.rule(None, with_words=with_words), summary=summary))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The entry of the card about the head: each question with its weight, heaviest first, and the vote's share."""
        head = self.head(None)
        count = len(self._questions)
        influence = head.weights
        if self._labels:  # only differences between the scores of labels decide
            influence = head.weights - head.weights.mean(axis=0)
        weight_of_questions = float(np.abs(influence[:, :count]).sum())
        total = float(np.abs(influence).sum())
        share_of_vote = 0.0
        if total:
            share_of_vote = round(1 - weight_of_questions / total, 2)
        entries: list[dict[str, Any]] = []
        for place, question in enumerate(self._questions):
            column = influence[:, place]
            if self._labels:
                towards = str(self._labels[int(column.argmax())])
                weight = float(column.max())
            else:
                towards = "higher" if column[0] >= 0 else "lower"
                weight = abs(float(column[0]))
            entries.append({**question.to_json(), "towards": towards, "weight": round(weight, 3)})
        entries.sort(key=lambda entry: -entry["weight"])
        return {
            "decide": "questions",
            "share": 0.0,
            "share_of_vote": share_of_vote,
            "questions": entries,
        }


def labels_of_cases(fits: WordFits) -> list[Value]:
    """Return the labels that occur in gold, in the order of the scores; nothing where a number is learned."""
    if fits.job.judge.answer.scale.learned == "number":
        return []
    return sorted({_gold_label(case) for case in fits.cases}, key=str)


def regression_without_words(judge: Judge, labels: Sequence[Value], intercepts: Floats) -> Regression:
    """Return the regression on words that gives every text the same scores: its intercepts."""
    answer = judge.answer
    scale = answer.scale
    return {
        "learned": scale.learned,
        "outputs": [scale.to_json(label) for label in labels],
        "judged": list(answer.unit_fields),
        "evidence": [name for name in judge.input_fields if name not in answer.unit_fields],
        "intercepts": round_weights(intercepts),
        "grams": [],
        "overlap": {"centers": [], "scales": [], "weights": []},
    }


def columns_of_verdicts(fits: WordFits, verdicts: Mapping[str, Verdict]) -> dict[str, Sequence[float | None]]:
    """Return the columns of cases: id of a case -> its answers, then the figures of its vote.

    A case is left out if its verdict has no answers or no vote.
    """
    judge = fits.job.judge
    regression = regression_without_words(judge, labels_of_cases(fits), np.zeros(0))
    columns: dict[str, Sequence[float | None]] = {}
    for case_id, verdict in verdicts.items():
        if verdict.status == "failed" or verdict.refused or not verdict.answers:
            continue
        figures = reply_figures(regression, NO_CRITERION, judge.answer, verdict, 0)
        if figures:
            columns[case_id] = [*verdict.answers, *figures]
    return columns


def _spread(scores: Floats) -> float:
    """Return the standard deviation of scores, an array (cases, labels), after the mean of each case is taken off."""
    return float((scores - scores.mean(axis=1, keepdims=True)).std())


def _gold_label(case: Case) -> Value:
    """Return the label of a case with one unit."""
    assert case.gold is not None
    label = case.gold[0]
    assert label is not None
    return label


def add_heads(job: Job, board: Board, prompt: Candidate) -> list[Candidate]:
    """Enter a prompt under a head alone and under a head with words, and return these candidates.

    There are none of a prompt that asks no questions, or that has too few labelled cases for a head.
    """
    questions = prompt.state.questions
    if not questions:
        return []
    fits = WordFits(job)
    if len(fits.folds) < FOLDS:
        return []
    verdicts = verdicts_of(board, prompt, fits.cases)
    cases = [case for case in fits.cases if case.id in verdicts]
    heads = QuestionFits(fits, questions, columns_of_verdicts(fits, verdicts))
    if not heads.can_fit:
        return []
    candidates = [_enter_head(board, fits, heads, prompt, cases)]
    if job.words and job.judge.answer.scale.learned == "label" and fits.can_fit:
        candidates.append(_enter_head(board, fits, heads, prompt, cases, with_words=True))
    return candidates


def _enter_head(
    board: Board,
    fits: WordFits,
    heads: QuestionFits,
    prompt: Candidate,
    cases: Sequence[Case],
    *,
    with_words: bool = False,
) -> Candidate:
    """Enter a prompt under a head, alone or with words, score it on some cases, and return the candidate."""
    rules: dict[int, WordRule] = {}
    for fold in fits.folds:
        rules[fold] = heads.rule(fold, with_words=with_words)
    source = f"head on {len(prompt.state.questions)} questions"
    if with_words:
        source += " and on words"
    setting = heads.setting(prompt.setting.of_request, with_words=with_words)
    candidate = board.add(
        prompt.state,
        parent=prompt,
        source=source,
        setting=setting,
        cross_fitted=fits.cross_fitted(rules, setting),
    )
    board.score(candidate, cases)
    return candidate
