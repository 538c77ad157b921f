"""Heads over questions: a regression on the answers of a prompt, and on its own vote, gives the value.

A head costs no further call. It is fitted on all labelled cases of train and dev that the prompt has met. For the
choice each case is judged by a head that was fitted without the cases of its fold; groups stay in one fold. With words
besides, the log odds of the regression on words are added.
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
from ..text.word_regression import QuestionPart, Regression
from .base import Job
from .board import Board, Candidate
from .candidate import Setting
from .question_labels import LEAST_A_SIDE, LEAST_ANSWERED
from .words import FOLDS, WordFits

_INVERSE_PENALTY: Final = 0.1
"""Of the logistic regression of labels (``C`` of scikit-learn), on columns of variance 1."""
_RIDGE: Final = 20.0
"""The penalty of the regression of scores, in cases."""
_LEAST_SPREAD: Final = 1e-9
"""The standard deviation below which a column is the same for all cases."""


@dataclass(frozen=True, kw_only=True)
class FittedHead:
    """A head that was fitted to labelled cases."""

    labels: Sequence[Value]  # of the scores; empty where a number is learned
    intercepts: Floats  # of each score
    weights: Floats  # array (scores, columns)
    centers: Floats  # of each column
    scales: Floats

    def part(self, questions: Questions) -> QuestionPart:
        """Return the weights as data, with figures of seven digits."""
        return {
            "kinds": list(kinds_of(questions)),
            "centers": _round_numbers(self.centers),
            "scales": _round_numbers(self.scales),
            "weights": [_round_numbers(row) for row in self.weights],
        }


def _round_numbers(numbers: Floats) -> list[float]:
    return [float(f"{number:.7g}") for number in numbers]


def fit_head(judge: Judge, columns: Floats, gold: Sequence[Value]) -> FittedHead:
    """Return the regression on columns, of which an answer that is missing is not a number.

    Args:
        judge: the judge, whose metric says whether rare labels weigh as much as others.
        columns: array (cases, columns) of answers and figures of the judge's own vote.
        gold: the label of each case.
    """
    has_answer = ~np.isnan(columns)
    counts = np.maximum(1, has_answer.sum(axis=0))
    centers = np.where(has_answer, columns, 0.0).sum(axis=0) / counts
    filled = np.where(has_answer, columns, centers) - centers
    spreads = filled.std(axis=0)
    scales = np.where(spreads > _LEAST_SPREAD, spreads, 1.0)
    standardised = filled / scales
    if judge.answer.scale.learned == "number":
        numbers = np.array(gold, dtype=float)
        matrix = standardised.T @ standardised + _RIDGE * np.eye(standardised.shape[1])
        weights = np.linalg.solve(matrix, standardised.T @ (numbers - numbers.mean()))
        return FittedHead(
            labels=(),
            intercepts=np.array([numbers.mean()]),
            weights=weights[None, :],
            centers=centers,
            scales=scales,
        )
    labels = sorted(set(gold), key=str)
    class_weight = None if judge.metric == "accuracy" else "balanced"
    model = LogisticRegression(C=_INVERSE_PENALTY, class_weight=class_weight, max_iter=1000)
    model.fit(standardised, list(map(labels.index, gold)))
    intercepts: Floats = model.intercept_
    weights = model.coef_
    if len(labels) == 2:  # a regression of two labels has the log odds of the second alone
        weights = np.vstack([np.zeros(weights.shape[1]), weights[0]])
    return FittedHead(labels=labels, intercepts=intercepts, weights=weights, centers=centers, scales=scales)


class QuestionFits:
    """The heads over the answers of one prompt: on all labelled cases that it has met, and across folds."""

    def __init__(
        self, fits: WordFits, questions: Questions, columns: Mapping[str, Sequence[float | None]]
    ) -> None:
        """Take the folds, the questions, and by the id of each case its answers and the figures of its vote."""
        self._fits = fits
        self._judge = fits.job.judge
        self._questions = questions
        self._outputs = labels_of_cases(fits)
        self.cases: list[Case] = []
        """The labelled cases with answers, in order."""
        self.columns: dict[str, Sequence[float | None]] = {}
        """Id of each of these cases -> its columns."""
        rows: list[list[float]] = []
        for case in fits.cases:
            if case.id in columns:
                self.cases.append(case)
                self.columns[case.id] = columns[case.id]
                rows.append([np.nan if figure is None else figure for figure in columns[case.id]])
        self._matrix = np.array(rows)

    @property
    def outputs(self) -> list[object]:
        """The labels of the scores as JSON values."""
        scale = self._judge.answer.scale
        return [scale.to_json(label) for label in self._outputs]

    @property
    def can_fit(self) -> bool:
        """Whether there are enough cases with answers, in each fold's remainder as in all."""
        return all(self._is_enough(self._outside(fold)) for fold in (None, *self._fits.folds))

    def _is_enough(self, places: Sequence[int]) -> bool:
        """Say whether a head can be fitted to the cases at some places."""
        share = len(places) / max(1, len(self.cases))
        if len(places) < LEAST_ANSWERED * share or len(self.cases) < LEAST_ANSWERED:
            return False
        if not self._outputs:
            return True
        counts = Counter(_gold_label(self.cases[place]) for place in places)
        return len(counts) == len(self._outputs) and counts.most_common(2)[-1][1] >= LEAST_A_SIDE // 2

    def _outside(self, fold: int | None) -> list[int]:
        """Return the places of the cases outside a fold; of all for ``None``."""
        places: list[int] = []
        for place, case in enumerate(self.cases):
            if self._fits.fold_of_case[case.id] != fold:
                places.append(place)
        return places

    def head(self, fold: int | None) -> FittedHead:
        """Return the head that was fitted outside a fold; on all cases for ``None``."""
        places = self._outside(fold)
        gold = [_gold_label(self.cases[place]) for place in places]
        return fit_head(self._judge, self._matrix[places], gold)

    def rule(self, fold: int | None, *, with_words: bool = False) -> WordRule:
        """Return the rule that was fitted outside a fold, alone or with the regression on words added."""
        head = self.head(fold)
        intercepts = head.intercepts
        if len(head.labels) == 2:
            intercepts = intercepts[-1:]
        regression = regression_without_words(self._judge, self._outputs, intercepts)
        if with_words:
            words = self._fits.criteria[0].fits[fold].regression
            intercepts = np.array(words["intercepts"]) + np.array(regression["intercepts"])
            regression = {**words, "intercepts": _round_numbers(intercepts)}
        part = head.part(self._questions)
        return WordRule(
            criteria=(
                {"criterion": NO_CRITERION, "regression": regression, "reply": None, "questions": part},
            ),
            answers=self.columns,
        )

    @cached_property
    def share_of_words(self) -> float:
        """The share of words in the log odds of both: of the spreads of what each adds, 0 to 1, to two digits."""
        words = self._fits.criteria[0]
        case_ids = {case.id for case in self.cases}
        units: list[int] = []
        for unit, position in enumerate(words.units.case_of_unit):
            if words.units.cases[position].id in case_ids:
                units.append(unit)
        head = self.head(None)
        filled = np.where(np.isnan(self._matrix), head.centers, self._matrix)
        scores = (filled - head.centers) / head.scales @ head.weights.T
        spread_of_head = _spread(scores)
        spread_of_words = _spread(words.fits[None].scores(words.units, units))
        total = spread_of_head + spread_of_words
        if not total:
            return 0.0
        return round(spread_of_words / total, 2)

    def setting(self, request: Setting, *, with_words: bool) -> Setting:
        """Return the setting in which a head that was fitted on all cases decides, alone or with words.

        ``request`` is the setting with what changes requests alone.
        """
        summary = self.summary
        if with_words:
            summary = {**summary, **self._fits.summary, "share": self.share_of_words}
        return replace(request, words=replace(self.rule(None, with_words=with_words), summary=summary))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Who decides and the weight of each question, as a card has them, the heaviest first."""
        head = self.head(None)
        count = len(self._questions)
        influence = head.weights - head.weights.mean(axis=0)
        if not self._outputs:
            influence = head.weights
        of_questions = float(np.abs(influence[:, :count]).sum())
        total = float(np.abs(influence).sum())
        weighed: list[dict[str, Any]] = []
        for number, question in enumerate(self._questions):
            column = influence[:, number]
            if self._outputs:
                towards = str(self._outputs[int(column.argmax())])
                weight = float(column.max())
            else:
                towards = "higher" if column[0] >= 0 else "lower"
                weight = abs(float(column[0]))
            weighed.append({**question.to_json(), "towards": towards, "weight": round(weight, 3)})
        weighed.sort(key=lambda entry: -entry["weight"])
        return {
            "decide": "questions",
            "share": 0.0,
            "share_of_vote": round(1 - of_questions / total, 2) if total else 0.0,
            "questions": weighed,
        }


def labels_of_cases(fits: WordFits) -> list[Value]:
    """Return the labels that occur in gold, in the order of the scores; nothing where a number is learned."""
    if fits.job.judge.answer.scale.learned == "number":
        return []
    return sorted({_gold_label(case) for case in fits.cases}, key=str)


def regression_without_words(judge: Judge, labels: Sequence[Value], intercepts: Floats) -> Regression:
    """Return a regression that has intercepts alone."""
    answer = judge.answer
    scale = answer.scale
    return {
        "learned": scale.learned,
        "outputs": [scale.to_json(label) for label in labels],
        "judged": list(answer.unit_fields),
        "evidence": [name for name in judge.input_fields if name not in answer.unit_fields],
        "intercepts": _round_numbers(intercepts),
        "grams": [],
        "overlap": {"centers": [], "scales": [], "weights": []},
    }


def columns_of_verdicts(fits: WordFits, verdicts: Mapping[str, Verdict]) -> dict[str, Sequence[float | None]]:
    """Return by the id of a case its answers and the figures of its vote; cases without any are left out."""
    judge = fits.job.judge
    labels_alone = regression_without_words(judge, labels_of_cases(fits), np.zeros(0))
    columns: dict[str, Sequence[float | None]] = {}
    for case_id, verdict in verdicts.items():
        if verdict.status == "failed" or verdict.refused or not verdict.answers:
            continue
        figures = reply_figures(labels_alone, NO_CRITERION, judge.answer, verdict, 0)
        if figures:
            columns[case_id] = [*verdict.answers, *figures]
    return columns


def _spread(scores: Floats) -> float:
    """Return the standard deviation of the scores of labels, each less the mean of its case."""
    return float((scores - scores.mean(axis=1, keepdims=True)).std())


def _gold_label(case: Case) -> Value:
    """Return the label of a case with one unit."""
    assert case.gold is not None
    label = case.gold[0]
    assert label is not None
    return label


def add_heads(job: Job, board: Board, prompt: Candidate) -> list[Candidate]:
    """Enter a prompt that asks questions under heads over its answers, alone and with words; return the candidates."""
    questions = prompt.state.questions
    if not questions:
        return []
    fits = WordFits(job)
    if len(fits.folds) < FOLDS:
        return []
    met: list[Case] = []
    for case in fits.cases:
        if board.outcome(prompt, case) and case.id not in prompt.demo_ids:
            met.append(case)
    verdicts: dict[str, Verdict] = {}
    for case, verdict in zip(met, board.verdicts(prompt, met), strict=True):
        verdicts[case.id] = verdict
    heads = QuestionFits(fits, questions, columns_of_verdicts(fits, verdicts))
    if not heads.can_fit:
        return []
    candidates = [_enter_head(board, fits, heads, prompt, met)]
    if job.words and job.judge.answer.scale.learned == "label" and fits.can_fit:
        candidates.append(_enter_head(board, fits, heads, prompt, met, with_words=True))
    return candidates


def _enter_head(
    board: Board,
    fits: WordFits,
    heads: QuestionFits,
    prompt: Candidate,
    met: Sequence[Case],
    *,
    with_words: bool = False,
) -> Candidate:
    """Enter the candidate that a head over a prompt's answers decides, alone or with words."""
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
    board.score(candidate, met)
    return candidate
