"""What needs no language model: a linear model on words and overlap, and the labels of the nearest labelled rows."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Final, TypeAlias

import bm25s
import numpy as np
from scipy.sparse import csr_array, hstack, vstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from ..cases import Case, Value, text_hash
from ..evaluation.measured import objective_score
from ..evaluation.rows import Row
from ..programs.judge import Judge
from ..text.ranking import words as _words

_NEIGHBOURS: Final = 5
_INNER: Final = 3  # parts of what is learned from, to choose a setting
_OFTEN: Final = 5000  # words and pairs of words that are learned from: those of most labelled units
_COLUMNS: Final = 2**20  # of the table of words: so many that two words hardly share one
_MEMBERS: Final = 50  # members of sets that are looked for
_WEIGHTS: Final = (None, "balanced")
_PENALTIES: Final = (1.0, 10.0, 100.0)

Places: TypeAlias = Sequence[int]
"""Which units, from 0."""
_Fit: TypeAlias = "Callable[[Units, Places, Places, Any], list[Value]]"
"""What answers units, having learned from labelled ones: (all, the labelled, those to answer, a setting) -> values."""


@dataclass(frozen=True)
class Units:
    """The units of some cases, as learners see them."""

    judge: Judge  # whose they are
    cases: Sequence[Case]  # the cases

    @cached_property
    def place(self) -> list[range]:
        """The units of each case."""
        sizes = np.cumsum([0, *(len(self.judge.answer.units(case.inputs)) for case in self.cases)]).tolist()
        return [range(start, end) for start, end in pairwise(sizes)]

    @cached_property
    def case(self) -> list[int]:
        """The case of each unit."""
        return [number for number, places in enumerate(self.place) for _ in places]

    @cached_property
    def gold(self) -> list[Value | None]:
        """What people said of each unit."""
        return [
            value
            for case, places in zip(self.cases, self.place, strict=True)
            for value in (case.gold if case.gold is not None else (None,) * len(places))
        ]

    @cached_property
    def judged(self) -> list[list[str]]:
        """The texts that are judged, one for each unit; two lists of them where two texts are compared."""
        answer = self.judge.answer
        if len(answer.unit_fields) > 1:
            return [[_plain(case.inputs[name]) for case in self.cases] for name in answer.unit_fields]
        return [[text for case in self.cases for text in answer.units(case.inputs)]]

    @cached_property
    def evidence(self) -> list[str]:
        """Of each case, all that is not judged."""
        names = [name for name in self.judge.input_fields if name not in self.judge.answer.unit_fields]
        return ["\n".join(_plain(case.inputs[name]) for name in names) for case in self.cases]

    @cached_property
    def words(self) -> list[list[Any]]:
        """How often each word and pair of words is in a unit; where a case is one unit, in its evidence too."""
        judged = _counts(*self.judged)
        alone = len(judged) == 1 and len(self.case) == len(self.cases) and any(self.evidence)
        return [judged, _counts(self.evidence)] if alone else [judged]

    @cached_property
    def overlap(self) -> Any:
        """Of each unit, how much of it the evidence holds, and lengths: of two compared texts, first less second."""
        known = [_words(text) for text in self.evidence]
        held = [(frozenset(words), frozenset(pairwise(words))) for words in known]
        tables = [
            np.array(
                [
                    _overlap(_words(text), *held[case], len(known[case]))
                    for text, case in zip(texts, self.case, strict=True)
                ]
            )
            for texts in self.judged
        ]
        return tables[0] - tables[1] if len(tables) > 1 else tables[0]

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The words of each unit's judged text."""
        return [_words("\n".join(texts)) for texts in zip(*self.judged, strict=True)]

    def groups(self, places: Places) -> list[str]:
        """Return the group of each of these units."""
        return [self.cases[self.case[place]].group for place in places]


def folds(groups: Sequence[str], count: int, seed: int) -> list[list[int]]:
    """Return the places of rows in parts of about the same size that keep groups whole; fewer if there are fewer."""
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    parts: list[list[int]] = [[] for _ in range(min(count, len(members)))]
    for group in sorted(members, key=lambda name: text_hash(f"{seed}|{name}")):
        min(parts, key=len).extend(members[group])
    return parts


def by_words(units: Units, known: Places, asked: Places, seed: int = 0) -> list[Value]:
    """Answer by a linear model on words and overlap, with the setting that does best on parts of the labelled units."""
    fit: _Fit = _FITS[units.judge.answer.scale.learned]
    settings = _PENALTIES if units.judge.answer.scale.learned == "number" else _WEIGHTS
    with threadpool_limits(1):  # on several threads, problems this small take up to ten times as long
        setting = max(settings, key=lambda one: _inner_score(units, known, seed, fit, one))
        return fit(units, known, asked, setting)


def by_neighbours(units: Units, known: Places, asked: Places, seed: int = 0) -> list[Value]:
    """Answer by what most of the nearest labelled units say (BM25), or else the nearest."""
    index, comparison = bm25s.BM25(), units.judge.comparison
    quiet = {"show_progress": False, "leave_progress": False}
    index.index([units.tokens[place] or [""] for place in known], **quiet)
    most = min(_NEIGHBOURS, len(known))
    texts = [units.tokens[place] or [" "] for place in asked]  # no text holds that word, and none is refused
    found, scores = index.retrieve(texts, k=most, backend_selection="numpy", **quiet)
    gold = [units.gold[place] for place in known]
    usual = units.judge.answer.scale.usual(gold)[0]
    answers = []
    for near, score in zip(found.tolist(), scores.tolist(), strict=True):
        values = [gold[one] for one, reached in zip(near, score, strict=True) if reached > 0]
        agreed = comparison.consensus(values) if values else usual
        answers.append(values[0] if agreed is None else agreed)
    return answers


def _inner_score(units: Units, known: Places, seed: int, fit: _Fit, setting: Any) -> float:
    """Return the judge's metric of a setting, on parts of the labelled units that the rest answers."""
    rows: list[Row] = []
    parts = folds(units.groups(known), _INNER, seed)
    for part in parts if len(parts) > 1 else ():
        apart = frozenset(part)
        rest = [place for number, place in enumerate(known) if number not in apart]
        asked = [known[number] for number in part]
        rows += [
            Row(id=str(place), group="", gold=(units.gold[place],), predicted=(value,))
            for place, value in zip(asked, fit(units, rest, asked, setting), strict=True)
        ]
    judge = units.judge
    return objective_score(rows, judge.metric, judge.comparison) if rows else 0.0


def _features(units: Units, known: Places, asked: Places) -> tuple[Any, Any]:
    """Return what is known of labelled units and of those to answer, weighed and scaled by the labelled ones."""
    blocks: list[list[Any]] = [[], []]
    compared = len(units.judged) > 1
    for table in units.words:
        learned = [one[known] for one in table]
        held = sum((one > 0).sum(axis=0) for one in learned)
        several = np.flatnonzero(held > 1)
        often = several[np.argsort(-held[several], kind="stable")[:_OFTEN]]
        if not len(often):
            continue
        weigh = TfidfTransformer(sublinear_tf=True).fit(vstack([one[:, often] for one in learned]))
        for block, places in zip(blocks, (known, asked), strict=True):
            weighed = [weigh.transform(one[places][:, often]) for one in table]
            block.append(weighed[0] - weighed[1] if compared else weighed[0])
    numbers = units.overlap[known]
    middle, spread = (0.0 if compared else numbers.mean(axis=0)), numbers.std(axis=0)
    for block, places in zip(blocks, (known, asked), strict=True):
        block.append(csr_array((units.overlap[places] - middle) / np.where(spread > 0, spread, 1.0)))
    learned, answered = (hstack(block, format="csr") for block in blocks)
    return learned, answered


def _labels(units: Units, known: Places, asked: Places, weight: str | None) -> list[Value]:
    features = _features(units, known, asked)
    return _predicted(features, [units.gold[place] for place in known], weight)


def _members(units: Units, known: Places, asked: Places, weight: str | None) -> list[Value]:
    features = _features(units, known, asked)
    gold: list[Any] = [units.gold[place] for place in known]
    often = Counter(member for value in gold for member in set(value)).most_common(_MEMBERS)
    names = sorted(name for name, count in often if count > 1)
    chosen = {name: _predicted(features, [name in value for value in gold], weight) for name in names}
    return [tuple(name for name in names if chosen[name][number]) for number in range(len(asked))]


def _number(units: Units, known: Places, asked: Places, penalty: float) -> list[Value]:
    learned, answered = _features(units, known, asked)
    gold = np.array([units.gold[place] for place in known], dtype=float)
    found = Ridge(alpha=penalty).fit(learned, gold).predict(answered)
    return [units.judge.answer.scale.on_scale(float(number)) for number in found]


def _predicted(features: tuple[Any, Any], gold: Sequence[Any], weight: str | None) -> list[Any]:
    if len(set(gold)) < 2:
        return [gold[0]] * features[1].shape[0]
    model = LogisticRegression(class_weight=weight, max_iter=1000)
    names = sorted(set(gold), key=str)
    codes = {name: code for code, name in enumerate(names)}
    found = model.fit(features[0], [codes[value] for value in gold]).predict(features[1])
    return [names[code] for code in found.tolist()]


_FITS: Final[Mapping[str, _Fit]] = {"label": _labels, "members": _members, "number": _number}


def _plain(value: Any) -> str:
    """Return an input as text: the texts that it holds, one to a line."""
    if isinstance(value, Mapping):
        return "\n".join(map(_plain, value.values()))
    if isinstance(value, list | tuple):
        return "\n".join(map(_plain, value))
    return "" if value is None else str(value)


def _grams(text: str) -> list[str]:
    words = _words(text)
    return [*words, *(f"{one} {two}" for one, two in pairwise(words))]


def _counts(*lists: Sequence[str]) -> list[Any]:
    """Return how often each word and pair of words is in the texts of each list, in the same (hashed) columns."""
    different = {text: place for place, text in enumerate(dict.fromkeys(chain(*lists)))}
    counter = HashingVectorizer(analyzer=_grams, n_features=_COLUMNS, norm=None, alternate_sign=False)
    counted = csr_array(counter.transform(different))
    used = counted[:, np.unique(counted.indices)]
    return [used[[different[text] for text in texts]] for texts in lists]


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
