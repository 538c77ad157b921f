"""What a regression on words rests on, for people: the grams that weigh most, and what should make them wary."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ..evaluation.units import Floats
from ..text.support_signals import LENGTH_SIGNALS, SIGNAL_NAMES
from .learners import FittedWords, Matrix, Positions, UnitTexts

_SHOWN: Final = 6
"""Grams that are shown for each label."""
_WATCHED: Final = 20
"""The heaviest grams, of which most must occur in more than a few groups."""
_FEW_GROUPS: Final = 2
_MOST: Final = 0.5
"""The share of the spread that length may make, and of the watched grams that may occur in a few groups."""
_OVERLAP_NAMES: Final = (
    "words that the evidence has",
    "pairs of words that the evidence has",
    "the length of the text",
    "the length of the evidence",
)
_LENGTHS: Final = (2, 3)
"""The places of the lengths among the figures of overlap."""
_NUMBER_ENDS: Final = ("lower", "higher")


class Weighing(NamedTuple):
    """The words on which a regression rests."""

    heaviest: dict[str, list[str]]  # label or member -> the grams that say it most, the heaviest first
    warnings: list[str]


def weigh_words(fit: FittedWords, units: UnitTexts, labelled: Positions) -> Weighing:
    """Return the words on which a regression rests, by the labelled units at some positions."""
    matrix = fit.features.transform(units, labelled)
    names = _feature_names(fit)
    spreads = _spreads(matrix)
    heaviest: dict[str, list[str]] = {}
    influences = fit.weights * spreads  # array (outputs, features)
    for name, influence in _by_side(fit, influences):
        places = np.argsort(-influence, kind="stable")[:_SHOWN]
        heaviest[name] = [names[place] for place in places if influence[place] > 0]
    warnings: list[str] = []
    total = np.abs(influences).max(axis=0)
    warnings += _warn_of_length(fit, matrix)
    warnings += _warn_of_topics(units, labelled, matrix, names, total[: fit.features.gram_count])
    return Weighing(heaviest, warnings)


def _feature_names(fit: FittedWords) -> list[str]:
    """Return the name of each feature: a gram, a figure of overlap, or a support signal."""
    names: list[str] = []
    for kind, tfidf in zip(fit.features.kinds, fit.features.tfidf, strict=True):
        grams = sorted(tfidf.vocabulary_, key=tfidf.vocabulary_.__getitem__)
        for gram in grams:
            names.append(f'"{gram}"' if kind == "judged" else f'"{gram}" in the evidence')
    names.extend(_OVERLAP_NAMES)
    if fit.features.signals is not None:
        names.extend(SIGNAL_NAMES)
    return names


def _spreads(matrix: Matrix) -> Floats:
    """Return the standard deviation of each feature."""
    means = np.asarray(matrix.mean(axis=0)).ravel()
    squares = np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel()
    spreads: Floats = np.sqrt(np.maximum(0.0, squares - means**2))
    return spreads


def _by_side(fit: FittedWords, influences: Floats) -> list[tuple[str, Floats]]:
    """Return each label or member with the influence of the features on it; of a score its two ends."""
    scale = fit.judge.answer.scale
    if scale.learned == "number":
        return [(_NUMBER_ENDS[0], -influences[0]), (_NUMBER_ENDS[1], influences[0])]
    names = [str(output) for output in fit.outputs]
    if scale.learned == "label" and len(names) == 2:
        return [(names[0], -influences[0]), (names[1], influences[0])]
    return list(zip(names, influences, strict=True))


def _warn_of_length(fit: FittedWords, matrix: Matrix) -> list[str]:
    """Return a warning where most of what words say follows the lengths of texts; else nothing."""
    first_overlap = fit.features.gram_count
    columns = [first_overlap + place for place in _LENGTHS]
    if fit.features.signals is not None:
        first_signal = first_overlap + len(_OVERLAP_NAMES)
        columns += [first_signal + place for place in LENGTH_SIGNALS]
    of_lengths = matrix[:, columns] @ fit.weights[:, columns].T
    of_all = matrix @ fit.weights.T
    if float(np.std(of_lengths)) < _MOST * float(np.std(of_all)):
        return []
    return ["words weigh mostly by the length of texts; texts of another length may be judged wrongly"]


def _warn_of_topics(
    units: UnitTexts, labelled: Positions, matrix: Matrix, names: Sequence[str], influences: Floats
) -> list[str]:
    """Return a warning where most of the heaviest grams occur in a few groups only; else nothing."""
    groups = np.array(units.groups(labelled))
    if len(set(groups.tolist())) <= 2 * _FEW_GROUPS:
        return []
    heaviest = np.argsort(-influences, kind="stable")[:_WATCHED]
    columns = matrix.tocsc()
    rare: list[str] = []
    for place in heaviest:
        rows = columns[:, [place]].nonzero()[0]
        if len(set(groups[rows].tolist())) <= _FEW_GROUPS:
            rare.append(names[place])
    if len(rare) <= _MOST * len(heaviest):
        return []
    return [
        f"most of the heaviest words occur in one or two groups ({', '.join(rare[:3])}); "
        "rows of other topics may be judged wrongly"
    ]
