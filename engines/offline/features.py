"""What is measured about one unit (a sentence or a claim) against the evidence."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
LONGEST: Final = 50_000  # characters of one unit that are read
_PIECES: Final = 200  # sentences of one unit that are read
_FRAME: Final = frozenset(terms(" ".join((*CUSTOMER_WORDS, *AGENT_WORDS, REPORTING))))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The texts of one case by role. ``units`` are judged, in order."""

    evidence: str
    units: tuple[str, ...]
    ask: str = ""
    history: str = ""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The measured case: ``matrix`` is (units, features); ``quotes`` the best evidence sentence of each."""

    matrix: NDArray[np.float64]
    quotes: tuple[str, ...]


@lru_cache(maxsize=1024)
def read_units(scene: Scene) -> Reading:
    """Measure all units of a case (cached by its texts)."""
    evidence = index_evidence(scene.evidence)
    ask, history = term_set(scene.ask), term_set(scene.history)
    rows, quotes = list[dict[str, float]](), list[str]()
    for unit in scene.units:
        row, quote = _measured(unit[:LONGEST], evidence)
        wanted = term_set(unit[:LONGEST])
        rows.append({**row, "ask_sim": _share(wanted, ask), "history_sim": _share(wanted, history)})
        quotes.append(quote)
    mean, several = sum(row["cov_all"] for row in rows) / max(1, len(rows)), len(rows) > 1
    for place, row in enumerate(rows):  # what depends on the other units of the same response
        row["position"] = place / (len(rows) - 1) if several else 0.0
        row["first"] = float(place == 0 and several)
        row["last"] = float(place == len(rows) - 1 and several)
        row["mean_cov"] = mean
        row["rel_cov"] = row["cov_all"] - mean
    matrix = np.array([[row.get(name, 0.0) for name in NAMES] for row in rows], dtype=np.float64)
    return Reading(matrix=matrix.reshape(len(rows), len(NAMES)), quotes=tuple(quotes))


def _share(wanted: frozenset[str], known: frozenset[str]) -> float:
    return len(wanted & known) / len(wanted) if wanted and known else 0.0


def _measured(unit: str, evidence: Evidence) -> tuple[dict[str, float], str]:
    """Return the features of a unit, and the evidence sentence that fits it best."""
    lowered = unit.lower()
    named = side_of(lowered[:30])
    side: Side = named if named in evidence.parts else ""
    own, wanted = evidence.of(side), term_set(unit)
    if side:  # a claim's frame ("The customer said that") need not be repeated by the conversation
        wanted = wanted - _FRAME or wanted
    best, place = own.best(wanted)
    quote = own.lines[place] if place >= 0 else ""
    return {
        **_coverage(unit, wanted, own, best, quote),
        **_wording(unit, lowered, evidence),
        **_numbers_and_names(unit, evidence),
        **_contradiction(lowered, quote.lower(), best),
        "mood_missing": _mood_missing(lowered, own),
        "is_chat": float(bool(side)),
        "other_side": max(0.0, evidence.best(wanted)[0] - best) if side else 0.0,
    }, quote


def _coverage(
    unit: str, wanted: frozenset[str], evidence: Evidence, best: float, quote: str
) -> dict[str, float]:
    cov, pairs = evidence.coverage(wanted), list(pairwise(terms(unit)))
    left = wanted - set(terms(quote))
    second = evidence.best(left)[0] if left and quote else 0.0
    pieces = sentences(unit)[:_PIECES]
    return {
        "cov_all": cov,
        "cov_best": best,
        "cov_two": best + (1.0 - best) * second,
        "cov_pairs": sum(pair in evidence.pairs for pair in pairs) / len(pairs) if pairs else 0.0,
        "cov_worst": min((evidence.coverage(term_set(p)) for p in pieces), default=cov),
        "cov_low": max(0.0, 0.6 - cov) / 0.6,
        "cov_full": max(0.0, cov - 0.8) / 0.2,
    }


def _numbers_and_names(unit: str, evidence: Evidence) -> dict[str, float]:
    digits, names = numbers(unit), latin_names(unit)
    absent = [name for name in names if name not in evidence.lowered]
    lost = digits - evidence.digits
    return {
        "has_number": float(bool(digits)),
        "number_missing": len(lost) / len(digits) if digits else 0.0,
        "has_name": float(bool(names)),
        "name_missing": len(absent) / len(names) if names else 0.0,
        "changed": _changed(unit, evidence, lost, absent) if lost or absent else 0.0,
    }


def _changed(unit: str, evidence: Evidence, lost: set[str], absent: Sequence[str]) -> float:
    """Return how far a number or a name that the evidence lacks stands in the place of another one."""
    # That is how far the rest of its sentence is covered, from 0 (half of it or less) to 1 (all of it): what is new
    # altogether brings other words that are new, what was exchanged does not.
    most = 0.0
    for piece in sentences(unit)[:_PIECES]:
        names = [name for name in absent if name in piece.lower()]
        if names or lost & numbers(piece):
            rest = term_set(piece) - lost - set(terms(" ".join(names)))
            most = max(most, evidence.coverage(rest))
    return max(0.0, 2 * most - 1)


def _contradiction(lowered: str, quote: str, best: float) -> dict[str, float]:
    negated = hits("negation", lowered) > 0
    clash = any(
        (a in lowered and b in quote and a not in quote) or (b in lowered and a in quote and b not in quote)
        for a, b in ANTONYMS
    )
    off = numbers(lowered) - numbers(quote) - number_words(quote)
    return {
        "negated": float(negated),
        "negation_gap": best if quote and negated != (hits("negation", quote) > 0) else 0.0,
        "antonym": best if clash else 0.0,
        "near_miss": best if off else 0.0,
    }


def _wording(unit: str, lowered: str, evidence: Evidence) -> dict[str, float]:
    size, count = max(1.0, math.log2(1 + len(lowered) / 40)), len(terms(unit))
    words = set(re.findall(r"[a-z]+", lowered))
    fresh = [word for word in words if "evaluative" in lexicons_of(word) and word not in evidence.lowered]
    return {
        **{name: min(1.0, hits(name, lowered) / size) for name in _WORDING},
        "new_evaluative": min(1.0, len(fresh) / 2),
        "length": min(1.0, math.log1p(count) / 4.0),
        "question": float(unit.rstrip(" \"'”’)").endswith(("?", "？"))),
        "filler": min(1.0, hits("filler", lowered[:200]) * 4.0 / (count + 2)),
    }


def _mood_missing(lowered: str, own: Evidence) -> float:
    """Return the share of the feelings that a claim names whose words the side that it speaks of does not say."""
    felt = [word for word in set(re.findall(r"[a-z]+", lowered)) if "emotion" in lexicons_of(word)]
    wanted = frozenset(term for word in felt for term in terms(word))
    return 1.0 - _share(wanted, frozenset(own.places)) if wanted else 0.0
