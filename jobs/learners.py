"""Predictions without a language model: by a linear model on words and overlap, or by the nearest labelled units."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import bm25s
import numpy as np
import numpy.typing as npt
import scipy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from threadpoolctl import threadpool_limits

from ..cases import Case, Value, text_hash
from ..programs.judge import Judge
from ..text.ranking import words as _words
from ..text.wording import strings

_NEIGHBOURS: Final = 5
_VOCABULARY: Final = 5000  # words and pairs of words that are learned: the most frequent ones
_MEMBERS: Final = 50  # members of sets that are learned: the most frequent ones

_Item = TypeVar("_Item")
Positions: TypeAlias = Sequence[int]
"""Positions of units, from 0."""
Matrix: TypeAlias = Any
"""A sparse matrix of SciPy, which says nothing of its types."""


class Features(NamedTuple):
    """The features of the units to learn from and of those to predict: two matrices with a row for each unit."""

    labelled: Matrix
    unlabelled: Matrix


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
        evidence_fields: list[str] = []
        for name in judge.input_fields:
            if name not in unit_fields:
                evidence_fields.append(name)
        self.evidence = _join_texts(cases, evidence_fields)
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
            grams_of_judged.append(_grams_of_texts(texts))
        each_case_is_one_unit = len(self.case_of_unit) == len(self.cases)
        if len(self.judged) == 1 and each_case_is_one_unit and any(self.evidence):
            return [grams_of_judged, [_grams_of_texts(self.evidence)]]
        return [grams_of_judged]

    @cached_property
    def overlap(self) -> npt.NDArray[np.float64]:
        """Array (units, 4): the shares of a unit's words and pairs that its evidence has, and both log lengths.

        Where a unit compares two texts, the array is that of the first text less that of the second.
        """
        evidence = [_EvidenceWords.of(text) for text in self.evidence]
        overlap = self._overlap_of(self.judged[0], evidence)
        if len(self.judged) > 1:
            return overlap - self._overlap_of(self.judged[1], evidence)
        return overlap

    def _overlap_of(
        self, texts: Sequence[str], evidence: Sequence["_EvidenceWords"]
    ) -> npt.NDArray[np.float64]:
        """Return the array (units, 4) of shares and log lengths for one text of each unit."""
        rows: list[list[float]] = []
        for text, case_position in zip(texts, self.case_of_unit, strict=True):
            rows.append(_measure_overlap(_words(text), evidence[case_position]))
        return np.array(rows)

    def groups(self, positions: Positions) -> list[str]:
        """Return the groups of the units at these positions."""
        groups: list[str] = []
        for case_position in _select(self.case_of_unit, positions):
            groups.append(self.cases[case_position].group)
        return groups


def _join_texts(cases: Sequence[Case], fields: Sequence[str]) -> list[str]:
    """Return for each case one text: all texts in some of its input fields, joined by line breaks."""
    texts: list[str] = []
    for case in cases:
        values = [case.inputs[name] for name in fields]
        texts.append("\n".join(strings(values)))
    return texts


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
    # Problems of this size run up to ten times slower on several threads. With few rows, some fits along the way
    # divide by zero and are not chosen.
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        predict = _PREDICTORS[units.judge.answer.scale.learned]
        gold = _select(units.gold, labelled)
        return predict(units.judge, gold, _features(units, labelled, unlabelled))


def predict_by_neighbours(units: UnitTexts, labelled: Positions, unlabelled: Positions) -> list[Value]:
    """Return the values of unlabelled units by their nearest labelled units (BM25).

    A value is the one on which the neighbours agree by majority, else that of the nearest; the usual value of the scale
    where no neighbour has a word in common.
    """
    quiet = {"show_progress": False, "leave_progress": False}  # options of bm25s
    index = bm25s.BM25()
    index.index(_select_words(units, labelled, ""), **quiet)
    # The index refuses an empty query. No text holds the word " ".
    queries = _select_words(units, unlabelled, " ")
    neighbour_count = min(_NEIGHBOURS, len(labelled))
    nearest, scores = index.retrieve(queries, k=neighbour_count, backend_selection="numpy", **quiet)

    comparison = units.judge.comparison
    gold = _select(units.gold, labelled)
    usual_value = units.judge.answer.scale.usual(gold)[0]
    answers: list[Value] = []
    for neighbours, similarities in zip(nearest.tolist(), scores.tolist(), strict=True):
        values: list[Value] = []
        for neighbour, similarity in zip(neighbours, similarities, strict=True):
            if similarity > 0:
                values.append(gold[neighbour])
        answer = usual_value
        if values:
            answer = comparison.consensus(values)
            if answer is None:
                answer = values[0]
        answers.append(answer)
    return answers


def _select_words(units: UnitTexts, positions: Positions, placeholder: str) -> list[list[str]]:
    """Return the words of the units at these positions; the placeholder alone for a unit without words."""
    words_of_units: list[list[str]] = []
    for words in _select(units.tokens, positions):
        words_of_units.append(words or [placeholder])
    return words_of_units


def _features(units: UnitTexts, labelled: Positions, unlabelled: Positions) -> Features:
    """Return the features of units: TF-IDF of their grams, and their overlap, scaled on the labelled units."""
    of_labelled: list[Matrix] = []
    of_unlabelled: list[Matrix] = []
    for gram_lists in units.grams:
        training_texts: list[list[str]] = []
        for grams in gram_lists:
            training_texts.extend(_select(grams, labelled))
        vocabulary = _frequent_words(training_texts, _VOCABULARY)
        if not vocabulary:
            continue
        tfidf = TfidfVectorizer(analyzer=list, sublinear_tf=True, vocabulary=vocabulary).fit(training_texts)
        of_labelled.append(_tfidf_block(tfidf, gram_lists, labelled))
        of_unlabelled.append(_tfidf_block(tfidf, gram_lists, unlabelled))

    overlap = units.overlap[labelled]
    is_difference = len(units.judged) > 1  # the difference of two texts is centred at 0 by design
    center = 0.0 if is_difference else overlap.mean(axis=0)
    spread = overlap.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    of_labelled.append(scipy.sparse.csr_array((overlap - center) / scale))
    of_unlabelled.append(scipy.sparse.csr_array((units.overlap[unlabelled] - center) / scale))
    return Features(
        labelled=scipy.sparse.hstack(of_labelled, format="csr"),
        unlabelled=scipy.sparse.hstack(of_unlabelled, format="csr"),
    )


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


def _predict_labels(judge: Judge, gold: Sequence[Value], features: Features) -> list[Value]:
    """Return the closed labels of unlabelled units by a logistic regression."""
    return _classify(judge, gold, features)


def _predict_members(judge: Judge, gold: Sequence[Value], features: Features) -> list[Value]:
    """Return the label sets of unlabelled units by a logistic regression for each frequent label."""
    set_counts = Counter[str]()
    for members in gold:
        set_counts.update(dict.fromkeys(members).keys())
    sets: list[list[str]] = [[] for _ in range(features.unlabelled.shape[0])]
    for name in sorted(_select_repeated(set_counts, _MEMBERS)):
        has_member = _classify(judge, [name in members for members in gold], features)
        for members, included in zip(sets, has_member, strict=True):
            if included:
                members.append(name)
    return list(map(tuple, sets))


def _predict_numbers(judge: Judge, gold: Sequence[Value], features: Features) -> list[Value]:
    """Return the scores of unlabelled units by a ridge regression, each rounded to the nearest value of the scale."""
    scores = np.array(gold, dtype=float)
    model = RidgeCV(alphas=(1.0, 10.0, 100.0)).fit(features.labelled, scores)
    values: list[Value] = []
    for number in model.predict(features.unlabelled):
        values.append(judge.answer.scale.on_scale(float(number)))
    return values


def _classify(judge: Judge, gold: Sequence[Value], features: Features) -> list[Value]:
    """Return the classes of unlabelled units; rare classes weigh as much as others unless accuracy is the metric."""
    classes = sorted(set(gold), key=str)
    if len(classes) < 2:
        return [gold[0]] * features.unlabelled.shape[0]
    codes = list(map(classes.index, gold))
    class_weight = None if judge.metric == "accuracy" else "balanced"
    model = LogisticRegression(class_weight=class_weight, max_iter=1000).fit(features.labelled, codes)
    predicted_codes: list[int] = model.predict(features.unlabelled).tolist()
    return _select(classes, predicted_codes)


_Predict: TypeAlias = Callable[[Judge, Sequence[Value], Features], list[Value]]
_PREDICTORS: Final[Mapping[str, _Predict]] = {
    "label": _predict_labels,
    "members": _predict_members,
    "number": _predict_numbers,
}
"""Kind of values (``learned`` of a scale) -> the function that predicts them from labels and features."""


def _grams_of_texts(texts: Sequence[str]) -> list[list[str]]:
    """Return, for each text, its words and its pairs of neighbouring words."""
    grams_of_texts: list[list[str]] = []
    for text in texts:
        words = _words(text)
        pairs = [f"{word} {following}" for word, following in pairwise(words)]
        grams_of_texts.append(words + pairs)
    return grams_of_texts


class _EvidenceWords(NamedTuple):
    """The words of a case's evidence: distinct ones, distinct pairs of neighbours, and the number of all."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    length: int

    @classmethod
    def of(cls, text: str) -> "_EvidenceWords":
        """Return the words of a text."""
        words = _words(text)
        return cls(frozenset(words), frozenset(pairwise(words)), len(words))


def _measure_overlap(words: Sequence[str], evidence: _EvidenceWords) -> list[float]:
    """Return the shares of a text's words and pairs that the evidence holds, and the log lengths of both."""
    distinct_words = set(words)
    distinct_pairs = set(pairwise(words))
    return [
        len(distinct_words & evidence.words) / max(1, len(distinct_words)),
        len(distinct_pairs & evidence.pairs) / max(1, len(distinct_pairs)),
        math.log1p(len(words)),
        math.log1p(evidence.length),
    ]
