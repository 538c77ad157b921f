"""What needs no language model: a linear model on words and overlap, and the labels of the nearest labelled rows."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import bm25s
import numpy as np
import scipy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from threadpoolctl import threadpool_limits

from ..cases import Case, Value, text_hash
from ..programs.judge import Judge
from ..text.ranking import words as _words
from ..text.wording import strings

_NEIGHBOURS: Final = 5
_OFTEN: Final = 5000  # words and pairs of words that are learned from: those of most labelled units
_MEMBERS: Final = 50  # members of sets that are looked for

Places: TypeAlias = Sequence[int]
"""Which units, from 0."""
Features: TypeAlias = tuple[Any, Any]
"""What is known of labelled units, and of those to answer: a row each."""
_Predict: TypeAlias = "Callable[[Units, Places, Features], list[Value]]"
"""What answers units, having learned from labelled ones: (all, the labelled, features) -> values."""


class Units:
    """The units of some cases, as learners see them."""

    def __init__(self, judge: Judge, cases: Sequence[Case]) -> None:
        self.judge, self.cases, answer = judge, cases, judge.answer
        units = [answer.units(case.inputs) for case in cases]
        ends = np.cumsum([0, *map(len, units)]).tolist()
        self.of_case = [range(start, end) for start, end in pairwise(ends)]  # the units of each case
        # the case of each unit
        self.case_of = [number for number, own in enumerate(self.of_case) for _ in own]
        self.gold: list[Value | None] = [
            value
            for case, own in zip(cases, units, strict=True)
            for value in (case.gold if case.gold is not None else (None,) * len(own))
        ]
        # The texts that are judged, one for each unit; two lists of them where two texts are compared.
        self.judged = [[text for own in units for text in own]]
        if len(answer.unit_fields) > 1:
            self.judged = [
                ["\n".join(strings(case.inputs[name])) for case in cases] for name in answer.unit_fields
            ]
        rest = [name for name in judge.input_fields if name not in answer.unit_fields]
        self.evidence = ["\n".join(strings([case.inputs[name] for name in rest])) for case in cases]
        self.tokens = [_words("\n".join(texts)) for texts in zip(*self.judged, strict=True)]

    @cached_property
    def words(self) -> list[list[list[list[str]]]]:
        """The words and pairs of words of each unit's texts; where a case is one unit, of its evidence too."""
        judged = [[_grams(text) for text in texts] for texts in self.judged]
        alone = len(judged) == 1 and len(self.case_of) == len(self.cases) and any(self.evidence)
        return [judged, [[_grams(text) for text in self.evidence]]] if alone else [judged]

    @cached_property
    def overlap(self) -> Any:
        """Of each unit, how much of it the evidence holds, and lengths: of two compared texts, first less second."""
        known = [_words(text) for text in self.evidence]
        held = [(frozenset(words), frozenset(pairwise(words)), len(words)) for words in known]
        first, *second = [
            np.array(
                [_overlap(_words(text), *held[case]) for text, case in zip(texts, self.case_of, strict=True)]
            )
            for texts in self.judged
        ]
        return first - second[0] if second else first

    def groups(self, places: Places) -> list[str]:
        """Return the group of each of these units."""
        return [self.cases[self.case_of[place]].group for place in places]


def folds(groups: Sequence[str], count: int, seed: int) -> list[list[int]]:
    """Return the places of rows in parts of about the same size that keep groups whole; fewer if there are fewer."""
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    parts: list[list[int]] = [[] for _ in range(min(count, len(members)))]
    for group in sorted(members, key=lambda name: text_hash(f"{seed}|{name}")):
        min(parts, key=len).extend(members[group])
    return parts


def by_words(units: Units, known: Places, asked: Places) -> list[Value]:
    """Answer by a linear model on words and overlap."""
    # on several threads, problems this small take up to ten times as long; of a few rows some fits are no numbers
    with threadpool_limits(1), np.errstate(invalid="ignore"):
        predict = _LEARNERS[units.judge.answer.scale.learned]
        return predict(units, known, _features(units, known, asked))


def by_neighbours(units: Units, known: Places, asked: Places) -> list[Value]:
    """Answer by what most of the nearest labelled units say (BM25), or else the nearest."""
    index, comparison = bm25s.BM25(), units.judge.comparison
    quiet = {"show_progress": False, "leave_progress": False}
    index.index([units.tokens[place] or [""] for place in known], **quiet)
    most = min(_NEIGHBOURS, len(known))
    texts = [units.tokens[place] or [" "] for place in asked]  # no text holds that word, and none is refused
    nearest, scores = index.retrieve(texts, k=most, backend_selection="numpy", **quiet)
    gold = [units.gold[place] for place in known]
    usual = units.judge.answer.scale.usual(gold)[0]
    answers = []
    for near, score in zip(nearest.tolist(), scores.tolist(), strict=True):
        values = [gold[number] for number, reached in zip(near, score, strict=True) if reached > 0]
        agreed = comparison.consensus(values) if values else usual
        answers.append(values[0] if agreed is None else agreed)
    return answers


def _features(units: Units, known: Places, asked: Places) -> Features:
    """Return what is known of labelled units and of those to answer, weighed and scaled by the labelled ones."""
    blocks: list[list[Any]] = [[], []]
    compared = len(units.judged) > 1
    for lists in units.words:
        learned = [texts[place] for texts in lists for place in known]
        often = Counter(gram for grams in learned for gram in set(grams)).most_common(_OFTEN)
        if not (words := [gram for gram, count in often if count > 1]):
            continue
        weigh = TfidfVectorizer(analyzer=list, sublinear_tf=True, vocabulary=words).fit(learned)
        for block, places in zip(blocks, (known, asked), strict=True):
            weighed = [weigh.transform([texts[place] for place in places]) for texts in lists]
            block.append(weighed[0] - weighed[1] if compared else weighed[0])
    numbers = units.overlap[known]
    middle, spread = (0.0 if compared else numbers.mean(axis=0)), numbers.std(axis=0)
    for block, places in zip(blocks, (known, asked), strict=True):
        block.append(
            scipy.sparse.csr_array((units.overlap[places] - middle) / np.where(spread > 0, spread, 1.0))
        )
    of_known, of_asked = (scipy.sparse.hstack(block, format="csr") for block in blocks)
    return of_known, of_asked


def _labels(units: Units, known: Places, features: Features) -> list[Value]:
    return _predicted(units, features, [units.gold[place] for place in known])


def _members(units: Units, known: Places, features: Features) -> list[Value]:
    gold: list[Any] = [units.gold[place] for place in known]
    often = Counter(member for value in gold for member in set(value)).most_common(_MEMBERS)
    names = sorted(name for name, count in often if count > 1)
    chosen = {name: _predicted(units, features, [name in value for value in gold]) for name in names}
    return [tuple(name for name in names if chosen[name][number]) for number in range(features[1].shape[0])]


def _number(units: Units, known: Places, features: Features) -> list[Value]:
    gold = np.array([units.gold[place] for place in known], dtype=float)
    numbers = RidgeCV(alphas=(1.0, 10.0, 100.0)).fit(features[0], gold).predict(features[1])
    return [units.judge.answer.scale.on_scale(float(number)) for number in numbers]


def _predicted(units: Units, features: Features, gold: Sequence[Any]) -> list[Any]:
    """Return what a logistic regression says; rare values count as much as others, but where accuracy is wanted."""
    if len(set(gold)) < 2:
        return [gold[0]] * features[1].shape[0]
    weight = None if units.judge.metric == "accuracy" else "balanced"
    names = sorted(set(gold), key=str)
    codes = [names.index(value) for value in gold]
    model = LogisticRegression(class_weight=weight, max_iter=1000).fit(features[0], codes)
    return [names[code] for code in model.predict(features[1]).tolist()]


_LEARNERS: Final[Mapping[str, _Predict]] = {"label": _labels, "members": _members, "number": _number}
"""By what a scale's values are learned as: what predicts them."""


def _grams(text: str) -> list[str]:
    words = _words(text)
    return [*words, *(f"{word} {following}" for word, following in pairwise(words))]


def _overlap(
    words: Sequence[str], held: frozenset[str], pairs: frozenset[tuple[str, str]], evidence: int
) -> list[float]:
    own, two = set(words), set(pairwise(words))
    return [
        len(own & held) / max(1, len(own)),
        len(two & pairs) / max(1, len(two)),
        math.log1p(len(words)),
        math.log1p(evidence),
    ]
