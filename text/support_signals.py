"""Support signals: figures of how far a text is copied from its evidence, and of what in it the evidence lacks.

Coverage and density of copied runs are those of Grusky et al. (2018). Written with the standard library, because
exports carry this source along and have to give the same numbers.
"""

import math
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from .ranking import words

SIGNAL_NAMES: Final = (
    "the share of words in copied runs",
    "the mean square of copied runs",
    "the longest copied run",
    "the longest copied run as a share",
    "words that the evidence lacks",
    "pairs of words that the evidence lacks",
    "triples of words that the evidence lacks",
    "rare stems that the evidence lacks",
    "how well one sentence of the evidence fits",
    "how badly the worst sentence is covered",
    "numbers that the evidence lacks",
    "the share of numbers that the evidence lacks",
    "names that the evidence lacks",
    "the share of names that the evidence lacks",
    "how many stems the evidence lacks",
    "a negation where the evidence has none, or none where it has one",
    "a negation",
    "the number of sentences",
    "the length as a share of that of the evidence",
)
"""The names of the figures of :func:`measure_support`, for people."""
LENGTH_SIGNALS: Final = (17, 18)
"""The places of the figures that say how long a text is."""

_MOST_WORDS: Final = 3000
"""The most words of a text among which copied runs are looked for."""
_MOST_PLACES: Final = 100
"""The most places of a word in the evidence at which a copied run may begin."""
_SENTENCE_BREAK: Final = r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？；])|\n+"
_NUMBER_TOKEN: Final = r"\d+(?:[.,]\d+)*"
_NAME_TOKEN: Final = r"(?<![.!?:;\"“(\n] )(?<![^\s])(?<!^)[A-Z][\w'’-]+"
_FUNCTION_WORDS: Final = frozenset(
    words(
        "a an the this that these those and or but so as if than then of to in on at by for from with about into over "
        "after before between through during up down out off under again i me my we us our you your he him his she "
        "her it its they them their what which who whom whose when where why how is are was were be been being am do "
        "does did done have has had having will would shall should can could may might must there here s t also just "
        "very too own same other such each more most some any all both few"
    )
)
"""English words that say nothing of what a text is about."""
_ENDINGS: Final = ("ing", "ed", "ly", "es", "s", "e")
"""English endings, of which the first that a word has is cut."""
_LEAST_STEM: Final = 3
"""The fewest letters that a word keeps before an ending."""
_NEGATION: Final = (
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b|[不没沒無无未非]"
)


def find_stems(text: str) -> list[str]:
    """Return the distinct words of a text without endings of English, and without words that say nothing of it."""
    stems: dict[str, None] = {}
    for word in words(text):
        if word not in _FUNCTION_WORDS:
            stems[_cut_ending(word)] = None
    return list(stems)


def _cut_ending(word: str) -> str:
    """Return a word without its English ending: ``stopped`` gives ``stop``, ``houses`` and ``housed`` give ``hous``."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < _LEAST_STEM or not stem.isascii():
            continue
        if len(stem) == _LEAST_STEM:
            return stem
        has_doubled_letter = (
            stem[-1] == stem[-2] and stem[-1] not in "lsz"
        )  # "fall" and "miss" keep both letters
        if has_doubled_letter and ending in ("ing", "ed"):
            return stem[:-1]
        return stem.removesuffix("e")
    return word


class SupportIndex:
    """The words, neighbouring words, sentences, stems and numbers of an evidence text, by which texts are measured."""

    def __init__(self, text: str) -> None:
        self.words = words(text)
        self.places: dict[str, list[int]] = {}  # word -> where it stands
        for place, word in enumerate(self.words):
            self.places.setdefault(word, []).append(place)
        self.pairs = frozenset(pairwise(self.words))
        self.triples = frozenset(zip(self.words, self.words[1:], self.words[2:], strict=False))
        self.sentences = split_sentences(text)
        self.sentences_of_stem: dict[str, list[int]] = {}
        for number, sentence in enumerate(self.sentences):
            for stem in find_stems(sentence):
                self.sentences_of_stem.setdefault(stem, []).append(number)
        self.numbers = find_numbers(text)

    def weight(self, stem: str) -> float:
        """Return the inverse sentence frequency of a stem; a missing one weighs as the rarest."""
        sentences_with_stem = len(self.sentences_of_stem.get(stem, ()))
        return math.log(1.0 + (len(self.sentences) + 1.0) / (sentences_with_stem + 0.5))

    def coverage(self, stems: Collection[str]) -> float:
        """Return the weighted share of stems that the evidence has, 0 to 1; 0 of none."""
        total = 0.0
        covered = 0.0
        for stem in stems:
            weight = self.weight(stem)
            total += weight
            if stem in self.sentences_of_stem:
                covered += weight
        if not total:
            return 0.0
        return covered / total

    def best_sentence(self, stems: Collection[str]) -> tuple[float, str]:
        """Return the largest weighted share of stems that one sentence has, with that sentence, which may be empty."""
        total = 0.0
        weights: dict[int, float] = {}
        for stem in stems:
            weight = self.weight(stem)
            total += weight
            for number in self.sentences_of_stem.get(stem, ()):
                weights[number] = weights.get(number, 0.0) + weight
        if not weights:
            return 0.0, ""
        best = min(weights, key=lambda number: (-round(weights[number], 9), number))
        return weights[best] / total, self.sentences[best]

    def copied_runs(self, text_words: Sequence[str]) -> list[int]:
        """Return the lengths of the runs of words that a text copies: from each place on the longest one, in order."""
        runs: list[int] = []
        start = 0
        while start < len(text_words):
            longest = 0
            for place in self.places.get(text_words[start], ())[:_MOST_PLACES]:
                length = self._common_length(text_words, start, place)
                longest = max(longest, length)
            if longest:
                runs.append(longest)
            start += max(1, longest)
        return runs

    def _common_length(self, text_words: Sequence[str], start: int, place: int) -> int:
        """Return how many words of a text and of the evidence are the same from two places on."""
        longest_possible = min(len(text_words) - start, len(self.words) - place)
        length = 0
        while length < longest_possible and text_words[start + length] == self.words[place + length]:
            length += 1
        return length


@lru_cache(maxsize=64)
def index_support(evidence: str) -> SupportIndex:
    """Return the index of an evidence text; units of a row share it."""
    return SupportIndex(evidence)


def split_sentences(text: str) -> list[str]:
    """Return the pieces of a text between sentence ends and line breaks that hold a word."""
    return [piece for piece in re.split(_SENTENCE_BREAK, text) if words(piece)]


def find_numbers(text: str) -> set[str]:
    """Return the numbers of a text in digits, without separators of thousands."""
    return {number.replace(",", "") for number in re.findall(_NUMBER_TOKEN, text)}


def find_names(text: str) -> set[str]:
    """Return the words with a capital that do not open a sentence, in lower case."""
    return {word for name in re.findall(_NAME_TOKEN, text) for word in words(name)}


def measure_support(text: str, evidence: str) -> list[float]:
    """Return the support signals of a text beside its evidence, in the order of :data:`SIGNAL_NAMES`."""
    index = index_support(evidence)
    text_words = words(text)[:_MOST_WORDS]
    word_count = max(1, len(text_words))
    runs = index.copied_runs(text_words)
    longest = max(runs, default=0)
    distinct_words = list(dict.fromkeys(text_words))
    stems = find_stems(text)
    lacking_stems = [stem for stem in stems if stem not in index.sentences_of_stem]
    pairs = dict.fromkeys(pairwise(text_words))
    triples = dict.fromkeys(zip(text_words, text_words[1:], text_words[2:], strict=False))
    best_share, best_sentence = index.best_sentence(stems)
    text_sentences = split_sentences(text)
    coverage = index.coverage(stems)
    coverages: list[float] = []
    for sentence in text_sentences:
        sentence_stems = find_stems(sentence)
        if sentence_stems:
            coverages.append(index.coverage(sentence_stems))
    worst_coverage = min(coverages, default=coverage)
    numbers = find_numbers(text)
    lacking_numbers = numbers - index.numbers
    names = find_names(text)
    lacking_names = names - index.places.keys()
    is_negated = _is_negated(text)
    negation_gap = 0.0
    if best_sentence and is_negated != _is_negated(best_sentence):
        negation_gap = best_share
    return [
        sum(runs) / word_count,
        math.log1p(sum(run * run for run in runs) / word_count),
        math.log1p(longest),
        longest / word_count,
        sum(word not in index.places for word in distinct_words) / max(1, len(distinct_words)),
        len(pairs.keys() - index.pairs) / max(1, len(pairs)),
        len(triples.keys() - index.triples) / max(1, len(triples)),
        1.0 - coverage,
        best_share,
        worst_coverage,
        math.log1p(len(lacking_numbers)),
        len(lacking_numbers) / max(1, len(numbers)),
        math.log1p(len(lacking_names)),
        len(lacking_names) / max(1, len(names)),
        math.log1p(len(lacking_stems)),
        negation_gap,
        float(is_negated),
        math.log1p(len(text_sentences)),
        math.log((len(text_words) + 1) / (len(index.words) + 1)),
    ]


def _is_negated(text: str) -> bool:
    """Return whether a text holds a negation."""
    return re.search(_NEGATION, text.lower()) is not None
