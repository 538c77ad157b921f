"""Predictions without a language model: by a linear model on words and overlap, or by the nearest labelled units."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from threadpoolctl import threadpool_limits

from ..cases import Case, Value, text_hash
from ..evaluation.units import Floats
from ..programs.judge import Judge
from ..text.nearest_texts import NearestTexts
from ..text.ranking import words as _words
from ..text.support_signals import measure_support
from ..text.word_regression import (
    EvidenceWords,
    FigureWeights,
    GramWeights,
    Regression,
    grams_of,
    join_texts,
    longer_side,
    measure_overlap,
)
from .offsets import fit_offsets, loss_of_labels

_NEIGHBOURS: Final = 5
_VOCABULARY: Final = 5000  # words and pairs of words that are learned: the most frequent ones
_CERTAIN: Final = 30.0  # log odds of a class where gold has no other
UNSEEN: Final = -30.0
"""The log odds of a label or member that a regression has not seen."""
_LEAST_SPREAD: Final = 1e-9  # standard deviation below which a figure is the same for all units
_MEMBERS: Final = 50  # members of sets that are learned: the most frequent ones

_Item = TypeVar("_Item")
Positions: TypeAlias = Sequence[int]
"""Positions of units, from 0."""
Matrix: TypeAlias = Any
"""A sparse matrix of SciPy, which says nothing of its types."""


class _Penalty(NamedTuple):
    """The strength with which weights are drawn to 0."""

    inverse: float  # of the penalty of a logistic regression
    ridges: Sequence[float]  # the penalties that a ridge regression chooses from


_PENALTY_OF_WORDS: Final = _Penalty(inverse=1.0, ridges=(1.0, 10.0, 100.0))
_PENALTY_OF_SIGNALS: Final = _Penalty(inverse=0.1, ridges=(10.0, 30.0, 100.0, 300.0))


class UnitTexts:
    """The units of some cases: their labels, their judged texts, and the evidence beside these."""

    def __init__(self, judge: Judge, cases: Sequence[Case]) -> None:
        self.judge = judge
        self.cases = cases
        self.units_of_case: list[range] = []  # the positions of each case's units
        self.case_of_unit: list[int] = []  # the position of each unit's case
        self.gold: list[Value | None] = []  # each unit's label
        unit_texts: list[str] = []
        for case_position, case in enumerate(cases):
            texts = judge.answer.units(case.inputs)
            if judge.answer.unit in judge.image_fields:
                texts = ("",) * len(texts)
            start = len(self.case_of_unit)
            self.units_of_case.append(range(start, start + len(texts)))
            self.case_of_unit.extend([case_position] * len(texts))
            unit_texts.extend(texts)
            if case.gold is None:
                self.gold.extend([None] * len(texts))
            else:
                self.gold.extend(case.gold)

        self.judged: list[list[str]] = [unit_texts]
        """Judged texts by unit: one list, or two where a unit compares two texts."""
        unit_fields = judge.answer.unit_fields
        if len(unit_fields) > 1:
            self.judged = []
            for name in unit_fields:
                self.judged.append(_join_texts(cases, [name]))
        self.evidence = _join_texts(cases, evidence_inputs(judge))
        """The evidence of each case, as one text."""
        self.tokens: list[list[str]] = []
        """The words of each unit's judged texts."""
        for texts_of_unit in zip(*self.judged, strict=True):
            self.tokens.append(_words("\n".join(texts_of_unit)))

    @cached_property
    def grams(self) -> list[list[list[list[str]]]]:
        """The grams (words and pairs of words) of judged texts, and of evidence where each case is one unit.

        The four levels of lists are: a kind of text; its texts, two where a unit compares two and else one; the units;
        the grams of a unit.
        """
        grams_of_judged: list[list[list[str]]] = []
        for texts in self.judged:
            grams_of_judged.append(list(map(grams_of, texts)))
        each_case_is_one_unit = len(self.case_of_unit) == len(self.cases)
        if len(self.judged) == 1 and each_case_is_one_unit and any(self.evidence):
            return [grams_of_judged, [list(map(grams_of, self.evidence))]]
        return [grams_of_judged]

    @cached_property
    def overlap(self) -> npt.NDArray[np.float64]:
        """Array (units, 4): the shares of a unit's words and pairs that its evidence has, and both log lengths.

        Where a unit compares two texts, the array is that of the first text less that of the second.
        """
        evidence = list(map(EvidenceWords, self.evidence))
        overlap = self._overlap_of(self.judged[0], evidence)
        if len(self.judged) > 1:
            return overlap - self._overlap_of(self.judged[1], evidence)
        return overlap

    @cached_property
    def has_evidence(self) -> bool:
        """Whether a text is judged beside evidence."""
        return any(self.evidence)

    @cached_property
    def signals(self) -> npt.NDArray[np.float64]:
        """Array (units, signals): the support signals of each unit; of two texts those of the first less the second."""
        columns_of_texts: list[npt.NDArray[np.float64]] = []
        for texts in self.judged:
            rows: list[list[float]] = []
            for text, case_position in zip(texts, self.case_of_unit, strict=True):
                rows.append(measure_support(text, self.evidence[case_position]))
            columns_of_texts.append(np.array(rows))
        if len(columns_of_texts) > 1:
            return columns_of_texts[0] - columns_of_texts[1]
        return columns_of_texts[0]

    @cached_property
    def longer_sides(self) -> npt.NDArray[np.float64]:
        """Array (units, 1): 1 where the first of two compared texts is longer, -1 where the second is."""
        sides = [longer_side(texts) for texts in zip(*self.judged, strict=True)]
        return np.array(sides, dtype=float).reshape(-1, 1)

    def _overlap_of(self, texts: Sequence[str], evidence: Sequence[EvidenceWords]) -> npt.NDArray[np.float64]:
        """Return the array (units, 4) of shares and log lengths for one text of each unit."""
        rows: list[list[float]] = []
        for text, case_position in zip(texts, self.case_of_unit, strict=True):
            rows.append(measure_overlap(text, evidence[case_position]))
        return np.array(rows)

    def groups(self, positions: Positions) -> list[str]:
        """Return the groups of the units at these positions."""
        groups: list[str] = []
        for case_position in _select(self.case_of_unit, positions):
            groups.append(self.cases[case_position].group)
        return groups


def evidence_inputs(judge: Judge) -> list[str]:
    """Return the inputs whose texts are the evidence: not the judged ones, and no images."""
    fields: list[str] = []
    for name in judge.input_fields:
        if name not in judge.answer.unit_fields and name not in judge.image_fields:
            fields.append(name)
    return fields


def _join_texts(cases: Sequence[Case], fields: Sequence[str]) -> list[str]:
    """Return for each case one text: all texts in some of its input fields, joined by line breaks."""
    return [join_texts(case.inputs, fields) for case in cases]


def _select(items: Sequence[_Item], positions: Positions) -> list[_Item]:
    """Return the items at these positions."""
    return [items[position] for position in positions]


def make_folds(groups: Sequence[str], count: int, seed: int) -> list[list[int]]:
    """Return the positions of rows in folds of about the same size, each group in one fold.

    There are ``count`` folds, or fewer where there are fewer groups.
    """
    members: dict[str, list[int]] = {}
    for position, group in enumerate(groups):
        members.setdefault(group, []).append(position)
    parts: list[list[int]] = [[] for _ in range(min(count, len(members)))]
    for group in sorted(members, key=lambda name: text_hash(f"{seed}|{name}")):
        smallest = min(parts, key=len)
        smallest.extend(members[group])
    return parts


def predict_by_words(units: UnitTexts, labelled: Positions, unlabelled: Positions) -> list[Value]:
    """Return the values of unlabelled units by a linear model on words and overlap, fitted on labelled units."""
    return fit_words(units, labelled).predict(units, unlabelled)


def predict_by_neighbours(units: UnitTexts, labelled: Positions, unlabelled: Positions) -> list[Value]:
    """Return the values of unlabelled units by their nearest labelled units (BM25).

    A value is the one on which the neighbours agree by majority, else that of the nearest; the usual value of the scale
    where no neighbour has a word in common.
    """
    labelled_texts = NearestTexts(_select(units.tokens, labelled))
    comparison = units.judge.comparison
    gold = _select(units.gold, labelled)
    usual_value = units.judge.answer.scale.usual(gold)[0]
    answers: list[Value] = []
    for words in _select(units.tokens, unlabelled):
        values: list[Value] = []
        for neighbour in labelled_texts.search(words, _NEIGHBOURS):
            values.append(gold[neighbour.place])
        answer = usual_value
        if values:
            answer = comparison.consensus(values)
            if answer is None:
                answer = values[0]
        answers.append(answer)
    return answers


class Scaling:
    """The center and the scale of some figures, by labelled units."""

    def __init__(self, figures: Floats, is_difference: bool) -> None:
        self.centers = figures.mean(axis=0)
        if is_difference:  # the difference of two texts is centred at 0 by design
            self.centers = np.zeros(figures.shape[1])
        spread = figures.std(axis=0)
        self.scales = np.where(spread > _LEAST_SPREAD, spread, 1.0)

    def __call__(self, figures: Floats) -> Floats:
        """Return figures on this scale."""
        scaled: Floats = (figures - self.centers) / self.scales
        return scaled

    def weighed(self, weights: Floats) -> FigureWeights:
        """Return the scaling with the weights (outputs, figures) of a regression, as data."""
        return {
            "centers": round_weights(self.centers),
            "scales": round_weights(self.scales),
            "weights": [round_weights(row) for row in weights],
        }


class WordFeatures:
    """The features that labelled units give: TF-IDF of their grams, and their overlap and support signals, scaled."""

    def __init__(self, units: UnitTexts, labelled: Positions, *, with_signals: bool) -> None:
        self.kinds: list[str] = []
        """The kind of text of each block of grams: ``judged`` or ``evidence``."""
        self.tfidf: list[TfidfVectorizer] = []
        """The TF-IDF of each block."""
        for kind, gram_lists in zip(("judged", "evidence"), units.grams, strict=False):
            training_texts: list[list[str]] = []
            for grams in gram_lists:
                training_texts.extend(_select(grams, labelled))
            vocabulary = _frequent_words(training_texts, _VOCABULARY)
            if not vocabulary:
                continue
            tfidf = TfidfVectorizer(analyzer=list, sublinear_tf=True, vocabulary=vocabulary)
            self.kinds.append(kind)
            self.tfidf.append(tfidf.fit(training_texts))
        is_difference = len(units.judged) > 1
        self.overlap = Scaling(units.overlap[labelled], is_difference)
        self.signals: Scaling | None = None
        if with_signals:
            self.signals = Scaling(units.signals[labelled], is_difference)

    def transform(self, units: UnitTexts, positions: Positions) -> Matrix:
        """Return the matrix of units x features: the blocks of grams, the overlap, then the signals if they count."""
        blocks: list[Matrix] = []
        gram_lists_of_kind = dict(zip(("judged", "evidence"), units.grams, strict=False))
        for kind, tfidf in zip(self.kinds, self.tfidf, strict=True):
            blocks.append(_tfidf_block(tfidf, gram_lists_of_kind[kind], positions))
        blocks.append(scipy.sparse.csr_array(self.overlap(units.overlap[positions])))
        if self.signals is not None:
            blocks.append(scipy.sparse.csr_array(self.signals(units.signals[positions])))
        return scipy.sparse.hstack(blocks, format="csr")

    @property
    def gram_count(self) -> int:
        """The number of grams, which come before all other features."""
        return sum(len(tfidf.vocabulary_) for tfidf in self.tfidf)


@dataclass(frozen=True, kw_only=True)
class FittedWords:
    """A regression on words and overlap, and maybe on support signals, that was fitted to labelled units."""

    judge: Judge
    features: WordFeatures
    outputs: Sequence[Value]  # the label or the member of each output; of two labels there is one output
    intercepts: Floats  # of each output
    weights: Floats  # array (outputs, features)

    def scores(self, units: UnitTexts, positions: Positions) -> Floats:
        """Return the array (units, outputs) of what the regression says; of two labels both have a score."""
        matrix = self.features.transform(units, positions)
        scores: Floats = matrix @ self.weights.T + self.intercepts
        if self._is_of_two_labels:
            return np.column_stack([np.zeros(len(scores)), scores])
        return scores

    @property
    def _is_of_two_labels(self) -> bool:
        """Whether its one output is the log odds of the second of two labels."""
        return self.judge.answer.scale.learned == "label" and len(self.outputs) == 2

    def predict(self, units: UnitTexts, positions: Positions) -> list[Value]:
        """Return the values of the units at some positions."""
        if not positions:
            return []
        scores = self.scores(units, positions)
        scale = self.judge.answer.scale
        if scale.learned == "number":
            return [scale.on_scale(float(score)) for score in scores[:, 0]]
        if scale.learned == "label":
            return _select(self.outputs, scores.argmax(axis=1).tolist())
        values: list[Value] = []
        for unit_scores in scores:
            members: list[Value] = []
            for member, score in zip(self.outputs, unit_scores, strict=True):
                if score > 0:
                    members.append(member)
            values.append(tuple(members))
        return values

    @cached_property
    def regression(self) -> Regression:
        """The regression as data, with figures of seven digits."""
        scale = self.judge.answer.scale
        outputs: list[object] = []
        for output in self.outputs:
            outputs.append(scale.to_json(output) if scale.learned == "label" else output)
        grams: list[GramWeights] = []
        first_column = 0
        for kind, tfidf in zip(self.features.kinds, self.features.tfidf, strict=True):
            weights_of_gram: dict[str, list[float]] = {}
            for gram, column in sorted(tfidf.vocabulary_.items()):
                of_outputs = self.weights[:, first_column + column]
                weights_of_gram[gram] = round_weights([tfidf.idf_[column], *of_outputs])
            grams.append({"kind": kind, "grams": weights_of_gram})
            first_column += len(tfidf.vocabulary_)
        answer = self.judge.answer
        first_signal = first_column + len(self.features.overlap.scales)
        regression: Regression = {
            "learned": scale.learned,
            "outputs": outputs,
            "judged": list(answer.unit_fields),
            "evidence": evidence_inputs(self.judge),
            "intercepts": round_weights(self.intercepts),
            "grams": grams,
            "overlap": self.features.overlap.weighed(self.weights[:, first_column:first_signal]),
        }
        if self.features.signals is not None:
            regression["signals"] = self.features.signals.weighed(self.weights[:, first_signal:])
        return regression


def round_weight(number: float) -> float:
    """Return a weight as it is kept: with seven significant digits."""
    return float(f"{number:.7g}")


def round_weights(numbers: Iterable[float]) -> list[float]:
    """Return weights as they are kept: with seven significant digits."""
    return list(map(round_weight, numbers))


def fit_words(units: UnitTexts, labelled: Positions) -> FittedWords:
    """Return the linear model on words and overlap that is fitted to the labelled units at some positions."""
    # Problems of this size run up to ten times slower on several threads. With few rows, some fits along the way
    # divide by zero and are not chosen.
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        fit = _FITS[units.judge.answer.scale.learned]
        features = WordFeatures(units, labelled, with_signals=False)
        gold = _select(units.gold, labelled)
        return fit(units.judge, gold, features, features.transform(units, labelled), _PENALTY_OF_WORDS)


class Parts(NamedTuple):
    """Two regressions with the same features: one on words and overlap, one on overlap and support signals."""

    words: FittedWords
    signals: FittedWords


def fit_parts(units: UnitTexts, labelled: Positions) -> Parts:
    """Return the regressions on words and on support signals, fitted to the labelled units at some positions."""
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        fit = _FITS[units.judge.answer.scale.learned]
        features = WordFeatures(units, labelled, with_signals=True)
        matrix = features.transform(units, labelled).tocsc()
        gold = _select(units.gold, labelled)
        first_overlap = features.gram_count
        first_signal = first_overlap + units.overlap.shape[1]
        words = fit(units.judge, gold, features, matrix[:, :first_signal].tocsr(), _PENALTY_OF_WORDS)
        signals = fit(units.judge, gold, features, matrix[:, first_overlap:].tocsr(), _PENALTY_OF_SIGNALS)
    signal_count = matrix.shape[1] - first_signal
    return Parts(
        words=replace(words, weights=np.pad(words.weights, ((0, 0), (0, signal_count)))),
        signals=replace(signals, weights=np.pad(signals.weights, ((0, 0), (first_overlap, 0)))),
    )


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """The weights of the parts in one regression, and their calibrations by a slope and an offset of each label."""

    weights: Floats  # of each part, together 1
    slopes: Floats  # of each part
    offsets: Sequence[Mapping[Value, float]]  # of each part: label -> offset; empty for other answers

    def mix(self, parts: Parts) -> FittedWords:
        """Return one regression: the weighted sum of the calibrated parts."""
        fit = parts.words
        intercepts = np.zeros_like(fit.intercepts)
        feature_weights = np.zeros_like(fit.weights)
        for part, weight, slope, offsets in zip(parts, self.weights, self.slopes, self.offsets, strict=True):
            part_offsets = _offsets_of_outputs(part, offsets)
            intercepts = intercepts + weight * (slope * part.intercepts + part_offsets)
            feature_weights = feature_weights + weight * slope * part.weights
        return replace(fit, intercepts=intercepts, weights=feature_weights)


def _offsets_of_outputs(part: FittedWords, offset_of_label: Mapping[Value, float]) -> Floats:
    """Return the offset of each output of a regression; of two labels the one output is the odds of the second."""
    offsets: Floats = np.array([offset_of_label.get(output, 0.0) for output in part.outputs])
    if len(offsets) == len(part.intercepts):
        return offsets
    if len(offsets) == 2:
        return np.diff(offsets)
    return np.zeros(1)  # a score has no label


def fit_mixture(
    judge: Judge, gold: Sequence[Value], scores_of_parts: Sequence[Floats], outputs: Sequence[Value]
) -> Mixture:
    """Return the mixture of parts, weighed by their likelihoods on units that they were not fitted to.

    Args:
        judge: the judge.
        gold: the labels of the units.
        scores_of_parts: of each part the array (units, outputs) of what it says of the units.
        outputs: the labels or members of the outputs; nothing for scores.
    """
    learned = judge.answer.scale.learned
    slopes = np.ones(len(scores_of_parts))
    offsets: list[dict[Value, float]] = []
    losses: list[float] = []
    for place, scores in enumerate(scores_of_parts):
        offsets_of_part: dict[Value, float] = {}
        if learned == "label":
            codes = np.array(list(map(outputs.index, gold)))
            power = label_power(judge)
            slopes[place], fitted_offsets = fit_offsets(scores, codes, power)
            offsets_of_part = dict(zip(outputs, fitted_offsets.tolist(), strict=True))
            losses.append(loss_of_labels(slopes[place] * scores + fitted_offsets, codes, power))
        elif learned == "members":
            losses.append(_loss_of_members(scores, gold, outputs))
        else:
            errors = scores[:, 0] - np.array(gold, dtype=float)
            mean_square = max(float((errors**2).mean()), _LEAST_SPREAD)
            losses.append(len(errors) / 2 * math.log(mean_square))
        offsets.append(offsets_of_part)
    likelihoods = np.exp(min(losses) - np.array(losses))
    return Mixture(weights=likelihoods / likelihoods.sum(), slopes=slopes, offsets=offsets)


def _loss_of_members(scores: Floats, gold: Sequence[Value], names: Sequence[Value]) -> float:
    """Return the negative log likelihood of the members of sets by their log odds."""
    loss = 0.0
    for unit_scores, members in zip(scores, gold, strict=True):
        for name, score in zip(names, unit_scores.tolist(), strict=True):
            loss += float(np.logaddexp(0.0, -score if name in members else score))
    return loss


def fit_longer_side(units: UnitTexts, labelled: Positions) -> Regression:
    """Return the regression on which of two compared texts is longer alone, fitted to labelled units, as data."""
    gold = _select(units.gold, labelled)
    outputs = sorted(set(gold), key=str)
    weights = np.zeros((1, 1))
    if len(outputs) > 1:
        # Without an intercept no side is preferred by its place.
        model = LogisticRegression(class_weight=_class_weight(units.judge), fit_intercept=False)
        with threadpool_limits(1):
            weights = model.fit(units.longer_sides[labelled], list(map(outputs.index, gold))).coef_
    return {
        "learned": "label",
        "outputs": list(map(units.judge.answer.scale.to_json, outputs)),
        "judged": list(units.judge.answer.unit_fields),
        "evidence": [],
        "intercepts": [0.0] * len(weights),
        "grams": [],
        "overlap": {"centers": [], "scales": [], "weights": []},
        "longer": round_weights(weights[:, 0]),
    }


def _frequent_words(texts: Sequence[Sequence[str]], limit: int) -> list[str]:
    """Return the ``limit`` words that the most texts hold, without words of a single text."""
    text_counts = Counter[str]()
    for words in texts:
        text_counts.update(dict.fromkeys(words).keys())  # in order: a set's order differs between processes
    return _select_repeated(text_counts, limit)


def _select_repeated(counts: Counter[str], limit: int) -> list[str]:
    """Return the ``limit`` most common names, without those that were counted once."""
    names: list[str] = []
    for name, count in counts.most_common(limit):
        if count > 1:
            names.append(name)
    return names


def _tfidf_block(
    tfidf: TfidfVectorizer, gram_lists: Sequence[Sequence[list[str]]], positions: Positions
) -> Matrix:
    """Return the TF-IDF rows of units; where a unit compares two texts, those of the first less the second."""
    block = tfidf.transform(_select(gram_lists[0], positions))
    if len(gram_lists) > 1:
        return block - tfidf.transform(_select(gram_lists[1], positions))
    return block


def _fit_labels(
    judge: Judge, gold: Sequence[Value], features: WordFeatures, matrix: Matrix, penalty: _Penalty
) -> FittedWords:
    """Return a logistic regression for closed labels."""
    labels = sorted(set(gold), key=str)
    if len(labels) == 1:
        return FittedWords(
            judge=judge,
            features=features,
            outputs=labels,
            intercepts=np.zeros(1),
            weights=np.zeros((1, matrix.shape[1])),
        )
    intercepts, weights = _fit_classes(judge, list(map(labels.index, gold)), matrix, penalty)
    return FittedWords(judge=judge, features=features, outputs=labels, intercepts=intercepts, weights=weights)


def _fit_members(
    judge: Judge, gold: Sequence[Value], features: WordFeatures, matrix: Matrix, penalty: _Penalty
) -> FittedWords:
    """Return a logistic regression for each frequent member of sets."""
    set_counts = Counter[str]()
    for members in gold:
        set_counts.update(dict.fromkeys(members).keys())
    names = sorted(_select_repeated(set_counts, _MEMBERS))
    intercepts: list[Floats] = [np.zeros(0)]
    weights: list[Floats] = [np.zeros((0, matrix.shape[1]))]
    for name in names:
        intercept, weight = _fit_classes(judge, [int(name in members) for members in gold], matrix, penalty)
        intercepts.append(intercept)
        weights.append(weight)
    return FittedWords(
        judge=judge,
        features=features,
        outputs=names,
        intercepts=np.concatenate(intercepts),
        weights=np.concatenate(weights),
    )


def _fit_numbers(
    judge: Judge, gold: Sequence[Value], features: WordFeatures, matrix: Matrix, penalty: _Penalty
) -> FittedWords:
    """Return a ridge regression for scores."""
    model = RidgeCV(alphas=penalty.ridges).fit(matrix, np.array(gold, dtype=float))
    return FittedWords(
        judge=judge,
        features=features,
        outputs=[],
        intercepts=np.array([model.intercept_]),
        weights=model.coef_[None, :],
    )


def _fit_classes(
    judge: Judge, codes: Sequence[int], matrix: Matrix, penalty: _Penalty
) -> tuple[Floats, Floats]:
    """Return the intercepts and the weights of the classes with these codes, 0 and up; of two classes those of class 1.

    Rare classes weigh as much as others unless accuracy is the metric.
    """
    if len(set(codes)) < 2:
        return np.array([_CERTAIN if codes[0] else -_CERTAIN]), np.zeros((1, matrix.shape[1]))
    model = LogisticRegression(C=penalty.inverse, class_weight=_class_weight(judge), max_iter=1000).fit(
        matrix, codes
    )
    return model.intercept_, model.coef_


def _class_weight(judge: Judge) -> str | None:
    """Return how a fit weighs classes, as scikit-learn names it: alike unless accuracy is the metric."""
    if label_power(judge):
        return "balanced"
    return None


def label_power(judge: Judge) -> float:
    """Return the power of :func:`.offsets.fit_offsets`: 1, for labels that weigh alike, unless accuracy is the metric.

    Accuracy counts units alike, so that a frequent label weighs more.
    """
    if judge.metric == "accuracy":
        return 0.0
    return 1.0


_Fit: TypeAlias = Callable[[Judge, Sequence[Value], WordFeatures, Matrix, _Penalty], FittedWords]
_FITS: Final[Mapping[str, _Fit]] = {
    "label": _fit_labels,
    "members": _fit_members,
    "number": _fit_numbers,
}
"""Kind of values (``learned`` of a scale) -> the function that fits a regression to labels and features."""
