"""Features: what is measured about each judged unit (a sentence or a claim) against the evidence."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from ...text.evidence import Evidence, Side, index_evidence, side_of, term_set
from ...text.lexicons import AGENT_WORDS, ANTONYMS, CUSTOMER_WORDS, REPORTING, hits, lexicons_of
from ...text.terms import latin_names, number_words, numbers, sentences, terms

_WORDING: Final = (
    "evaluative", "subjective", "hedge", "causal", "advice", "absolute", "impact", "summary", "inference",
)  # fmt: skip
NAMES: Final = (
    "cov_all", "cov_best", "cov_two", "cov_pairs", "cov_worst", "cov_low", "cov_full",
    "has_number", "number_missing", "has_name", "name_missing",
    "negation_gap", "antonym", "near_miss", "changed",
    *_WORDING, "new_evaluative",
    "length", "position", "first", "last", "question", "filler",
    "mean_cov", "rel_cov", "ask_sim", "history_sim", "other_side", "is_chat", "negated", "mood_missing",
)  # fmt: skip
_UNIT_LIMIT: Final = 50_000  # characters of one unit that are read
_SENTENCE_LIMIT: Final = 200  # sentences of one unit that are read
_OPENING: Final = 30  # characters of a claim that may name its side
_FRAME_TERMS: Final = frozenset(terms(f"{' '.join(CUSTOMER_WORDS)} {' '.join(AGENT_WORDS)} {REPORTING}"))
"""Terms of a claim's frame, as "The customer said that"; the conversation need not repeat them."""

BIAS_COLUMN: Final = len(NAMES)
"""The column after the features, which is 1 for every unit."""

Features: TypeAlias = dict[str, float]
"""Name of a feature -> its value for one unit."""
Vector: TypeAlias = list[float]
"""A number for each column: the features of one unit, or their weights. The few of a request need no NumPy."""
Matrix: TypeAlias = list[Vector]
"""Vectors with the same columns."""


@dataclass(frozen=True, kw_only=True)
class CaseTexts:
    """The texts of one case by role. ``units`` are judged, in order."""

    evidence: str
    units: tuple[str, ...]
    question: str = ""
    history: str = ""


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """The measured units of a case: ``matrix`` is (units, features); ``quotes`` the best evidence sentence of each."""

    matrix: Matrix
    quotes: tuple[str, ...]


@lru_cache(maxsize=1024)
def measure_case(case: CaseTexts) -> Measurements:
    """Return the features and quotes of all units of a case (cached by its texts)."""
    evidence = index_evidence(case.evidence)
    question_terms = term_set(case.question)
    history_terms = term_set(case.history)
    rows: list[Features] = []
    quotes: list[str] = []
    for unit in case.units:
        text = unit[:_UNIT_LIMIT]
        row, quote = _measure_unit(text, evidence)
        row["ask_sim"] = share_of_terms(term_set(text), question_terms)
        row["history_sim"] = share_of_terms(term_set(text), history_terms)
        rows.append(row)
        quotes.append(quote)
    _compare_units(rows)
    matrix: Matrix = []
    for row in rows:
        matrix.append([row[name] for name in NAMES])
    return Measurements(matrix=matrix, quotes=tuple(quotes))


def _compare_units(rows: Sequence[Features]) -> None:
    """Add the features that depend on the other units of the same response."""
    total = 0.0
    for row in rows:
        total += row["cov_all"]
    mean = total / max(1, len(rows))
    last = len(rows) - 1
    for place, row in enumerate(rows):
        row["position"] = place / max(1, last)
        row["first"] = float(place == 0 and last > 0)
        row["last"] = float(place == last and last > 0)
        row["mean_cov"] = mean
        row["rel_cov"] = row["cov_all"] - mean


def _measure_unit(unit: str, evidence: Evidence) -> tuple[Features, str]:
    """Return the features of a unit by itself, and the evidence sentence that fits it best, or ``""``."""
    lowered = unit.lower()
    side = _side_of_claim(lowered, evidence)
    spoken = evidence.of(side)
    unit_terms = term_set(unit)
    if side:
        unit_terms = unit_terms - _FRAME_TERMS or unit_terms
    best, place = spoken.best(unit_terms)
    quote = ""
    if place >= 0:
        quote = spoken.lines[place]
    row = _measure_coverage(unit, unit_terms, spoken, best, quote)
    row.update(_measure_wording(unit, lowered, evidence))
    row.update(_measure_numbers_and_names(unit, evidence))
    row.update(_measure_contradiction(lowered, quote.lower(), best))
    row["mood_missing"] = _share_of_missing_moods(lowered, spoken)
    row["is_chat"] = float(bool(side))
    row["other_side"] = 0.0
    if side:
        row["other_side"] = max(0.0, evidence.best(unit_terms)[0] - best)
    return row, quote


def _side_of_claim(lowered: str, evidence: Evidence) -> Side:
    """Return the side that a claim opens with, where the evidence tells the sides apart; else ``""``."""
    side = side_of(lowered[:_OPENING])
    return side if side in evidence.parts else ""


def _ratio(part: int, total: int) -> float:
    """Return a part of a total, in [0, 1]; 0 of nothing."""
    return part / total if total else 0.0


def share_of_terms(wanted_terms: frozenset[str], text_terms: frozenset[str]) -> float:
    """Return the share of some terms that a text has, in [0, 1]; 0 of no terms."""
    return _ratio(len(wanted_terms & text_terms), len(wanted_terms))


def _measure_coverage(
    unit: str, unit_terms: frozenset[str], evidence: Evidence, best: float, quote: str
) -> Features:
    """Return how far the evidence has the terms of a unit: all of it, its best sentences, the unit's worst sentence."""
    coverage = evidence.coverage(unit_terms)
    second_best = 0.0
    terms_beyond_quote = unit_terms.difference(terms(quote))
    if quote and terms_beyond_quote:
        second_best, _ = evidence.best(terms_beyond_quote)
    sentence_coverages: list[float] = []
    for sentence in sentences(unit)[:_SENTENCE_LIMIT]:
        sentence_coverages.append(evidence.coverage(term_set(sentence)))
    term_pairs = list(pairwise(terms(unit)))
    common_pairs = sum(pair in evidence.pairs for pair in term_pairs)
    return {
        "cov_all": coverage,
        "cov_best": best,
        "cov_two": best + (1.0 - best) * second_best,
        "cov_pairs": _ratio(common_pairs, len(term_pairs)),
        "cov_worst": min(sentence_coverages, default=coverage),
        "cov_low": max(0.0, 0.6 - coverage) / 0.6,
        "cov_full": max(0.0, coverage - 0.8) / 0.2,
    }


def _measure_numbers_and_names(unit: str, evidence: Evidence) -> Features:
    unit_numbers = numbers(unit)
    missing_numbers = unit_numbers - evidence.digits
    unit_names = latin_names(unit)
    missing_names = _words_beyond(unit_names, evidence)
    return {
        "has_number": float(bool(unit_numbers)),
        "number_missing": _ratio(len(missing_numbers), len(unit_numbers)),
        "has_name": float(bool(unit_names)),
        "name_missing": _ratio(len(missing_names), len(unit_names)),
        "changed": _exchange_degree(unit, evidence, missing_numbers, missing_names),
    }


def _words_beyond(words: Iterable[str], evidence: Evidence) -> list[str]:
    """Return the words in lower case that the evidence does not have."""
    return [word for word in words if word not in evidence.lowered]


def _exchange_degree(
    unit: str, evidence: Evidence, missing_numbers: Collection[str], missing_names: Sequence[str]
) -> float:
    """Return how far a number or a name that the evidence lacks stands in the place of another one, in [0, 1]."""
    # That is how far the rest of its sentence is covered, from 0 (half of it or less) to 1 (all of it): what is new
    # altogether brings other words that are new, what was exchanged does not.
    if not missing_numbers and not missing_names:
        return 0.0
    highest = 0.0
    for sentence in sentences(unit)[:_SENTENCE_LIMIT]:
        lowered = sentence.lower()
        names = [name for name in missing_names if name in lowered]
        if names or not numbers(sentence).isdisjoint(missing_numbers):
            name_terms = terms(" ".join(names))
            rest = term_set(sentence).difference(missing_numbers, name_terms)
            highest = max(highest, evidence.coverage(rest))
    return max(0.0, 2 * highest - 1)


def _measure_contradiction(lowered: str, quote: str, best: float) -> Features:
    """Return signs that the evidence says otherwise; both texts in lower case, ``best`` the coverage by the quote."""
    is_negated = hits("negation", lowered) > 0
    quote_is_negated = hits("negation", quote) > 0
    foreign_numbers = numbers(lowered) - numbers(quote) - number_words(quote)
    row = {"negated": float(is_negated), "negation_gap": 0.0, "antonym": 0.0, "near_miss": 0.0}
    if quote and is_negated != quote_is_negated:
        row["negation_gap"] = best
    if _has_antonym(lowered, quote):
        row["antonym"] = best
    if foreign_numbers:
        row["near_miss"] = best
    return row


def _has_antonym(text: str, quote: str) -> bool:
    """Return whether a text has a word and a quote only its opposite."""
    for first, second in ANTONYMS:
        if first in text and second in quote and first not in quote:
            return True
        if second in text and first in quote and second not in quote:
            return True
    return False


def _measure_wording(unit: str, lowered: str, evidence: Evidence) -> Features:
    term_count = len(terms(unit))
    last_sign = unit.rstrip(" \"'”’)")[-1:]
    evaluative_words = _words_in_lexicon("evaluative", lowered)
    new_words = _words_beyond(evaluative_words, evidence)
    row = {
        "new_evaluative": min(1.0, len(new_words) / 2),
        "length": min(1.0, math.log1p(term_count) / 4.0),
        "question": float(last_sign in ("?", "？")),
        "filler": min(1.0, hits("filler", lowered[:200]) * 4.0 / (term_count + 2)),
    }
    size = max(1.0, math.log2(1 + len(lowered) / 40))
    for lexicon in _WORDING:
        row[lexicon] = min(1.0, hits(lexicon, lowered) / size)
    return row


def _share_of_missing_moods(lowered: str, spoken: Evidence) -> float:
    """Return the share of a claim's words for feelings that the side it speaks of does not say."""
    mood_terms: set[str] = set()
    for word in _words_in_lexicon("emotion", lowered):
        mood_terms.update(terms(word))
    if not mood_terms:
        return 0.0
    return 1.0 - _ratio(len(mood_terms & spoken.places.keys()), len(mood_terms))


def _words_in_lexicon(lexicon: str, lowered: str) -> list[str]:
    """Return the distinct Latin words of a text in lower case that a lexicon holds."""
    words = set(re.findall(r"[a-z]+", lowered))
    return [word for word in words if lexicon in lexicons_of(word)]
