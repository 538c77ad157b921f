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
from ...text.terms import content_terms, is_cjk, latin_names, number_words, numbers, sentences, terms

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "coverage": (
        "cov_all", "cov_best", "cov_two", "cov_pairs", "cov_worst", "cov_low", "cov_full", "cov_lead",
    ),
    "numbers": ("has_number", "number_missing", "quantity"),
    "names": ("has_name", "name_missing"),
    "contradiction": ("negation_gap", "antonym", "near_miss", "changed"),
    "wording": (
        "evaluative", "subjective", "hedge", "causal", "advice", "absolute", "impact", "summary", "inference",
        "elaboration", "new_evaluative",
    ),
    "shape": ("length", "position", "first", "last", "question", "filler", "list_item", "colon"),
    "response": ("mean_cov", "rel_cov", "prev_cov", "next_cov"),
    "dialogue": (
        "ask_sim", "history_sim", "any_cov", "other_side", "emotion", "mood_missing", "cause_missing",
        "negated", "is_chat",
    ),
}  # fmt: skip
NAMES: Final = tuple(name for group in GROUPS.values() for name in group)
_CAUSE: Final = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|thanks to|for (?:its|their|the)|over|since)\b|因为|由于|出于"
)
LONGEST: Final = 50_000  # characters of one unit that are read
_LIST_ITEM: Final = re.compile(r"^\s*(?:\d{1,3}[.)、]|[-*•·])\s*")
_FRAME: Final = frozenset(terms(" ".join((*CUSTOMER_WORDS, *AGENT_WORDS, REPORTING))))
_WORDING: Final = GROUPS["wording"][:-1]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The texts of one case by role. ``units`` are judged, in order."""

    evidence: str
    units: tuple[str, ...]
    ask: str = ""
    history: str = ""

    def __len__(self) -> int:
        """Characters of all texts together."""
        return len(self.evidence) + sum(map(len, self.units)) + len(self.ask) + len(self.history)


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
    covs = [row["cov_all"] for row in rows]
    mean, several = (sum(covs) / len(covs) if covs else 0.0), len(rows) > 1
    for place, row in enumerate(rows):  # what depends on the other units of the same response
        row["position"] = place / (len(rows) - 1) if several else 0.0
        row["first"] = float(place == 0 and several)
        row["last"] = float(place == len(rows) - 1 and several)
        row["mean_cov"] = mean
        row["rel_cov"] = row["cov_all"] - mean
        row["prev_cov"] = covs[place - 1] if place else mean
        row["next_cov"] = covs[place + 1] if place + 1 < len(rows) else mean
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
    row = {
        **_coverage(unit, wanted, own, best, place),
        **_wording(lowered, evidence),
        **_shape(unit, lowered),
        **_numbers_and_names(unit, evidence),
        **_contradiction(lowered, quote.lower(), best),
        **_dialogue(lowered, own),
    }
    if side:
        row["is_chat"] = 1.0
        row["any_cov"] = evidence.coverage(wanted)
        row["other_side"] = max(0.0, evidence.best(wanted)[0] - best)
    return row, quote


def _coverage(
    unit: str, wanted: frozenset[str], evidence: Evidence, best: float, place: int
) -> dict[str, float]:
    order = content_terms(unit)
    cov = evidence.coverage(wanted)
    pairs = list(pairwise(order))
    found = sum(pair in evidence.pairs for pair in pairs)
    left = wanted if place < 0 else wanted - set(terms(evidence.lines[place]))
    second = evidence.best(left)[0] if left and place >= 0 else 0.0
    pieces = sentences(unit)[:200]
    worst = min((evidence.coverage(term_set(p)) for p in pieces), default=cov) if len(pieces) > 1 else cov
    return {
        "cov_all": cov,
        "cov_best": best,
        "cov_two": best + (1.0 - best) * second,
        "cov_pairs": found / len(pairs) if pairs else 0.0,
        "cov_worst": worst,
        "cov_low": max(0.0, 0.6 - cov) / 0.6,
        "cov_full": max(0.0, cov - 0.8) / 0.2,
        "cov_lead": best / cov if cov > 0 else 0.0,
    }


def _numbers_and_names(unit: str, evidence: Evidence) -> dict[str, float]:
    digits = numbers(_LIST_ITEM.sub("", unit))
    names = latin_names(unit)
    absent = [n for n in names if n not in evidence.lowered]
    lost = digits - evidence.digits
    return {
        "has_number": float(bool(digits)),
        "number_missing": len(lost) / len(digits) if digits else 0.0,
        "quantity": min(1.0, hits("quantity", unit.lower()[:4000]) / 2),
        "has_name": float(bool(names)),
        "name_missing": len(absent) / len(names) if names else 0.0,
        "changed": _changed(unit, evidence, lost, absent) if lost or absent else 0.0,
    }


def _changed(unit: str, evidence: Evidence, lost: set[str], absent: Sequence[str]) -> float:
    """Return how far a number or a name that the evidence lacks stands in the place of another one.

    That is how far the rest of its sentence is covered, from 0 (half of it or less) to 1 (all of it): what is new
    altogether brings other words that are new, what was exchanged does not.
    """
    found = 0.0
    for piece in sentences(unit)[:200]:
        names = [name for name in absent if name in piece.lower()]
        if names or lost & numbers(piece):
            rest = term_set(piece) - lost - set(terms(" ".join(names)))
            found = max(found, evidence.coverage(rest))
    return max(0.0, 2 * found - 1)


def _contradiction(lowered: str, quote: str, best: float) -> dict[str, float]:
    if not quote:
        return {}
    gap = (hits("negation", lowered) > 0) != (hits("negation", quote) > 0)
    clash = any(
        (a in lowered and b in quote and a not in quote) or (b in lowered and a in quote and b not in quote)
        for a, b in ANTONYMS
    )
    off = numbers(lowered) - numbers(quote) - number_words(quote)
    return {
        "negation_gap": best if gap else 0.0,
        "antonym": best if clash else 0.0,
        "near_miss": best if off else 0.0,
    }


def _wording(lowered: str, evidence: Evidence) -> dict[str, float]:
    size = max(1.0, math.log2(1 + len(lowered) / 40))
    counts = {name: hits(name, lowered) for name in _WORDING}
    row = {name: min(1.0, count / size) for name, count in counts.items()}
    words = set(re.findall(r"[a-z]+", lowered))
    fresh = [w for w in words if "evaluative" in lexicons_of(w) and w not in evidence.lowered]
    return {**row, "new_evaluative": min(1.0, len(fresh) / 2)}


def _shape(unit: str, lowered: str) -> dict[str, float]:
    count = len(content_terms(unit))
    filler = hits("filler", lowered[:200])
    return {
        "length": min(1.0, math.log1p(count) / 4.0),
        "question": float(unit.rstrip(" \"'”’)").endswith(("?", "？"))),
        "filler": min(1.0, filler * 4.0 / (count + 2)),
        "list_item": float(bool(_LIST_ITEM.match(unit))),
        "colon": float(unit.rstrip().endswith((":", "：")) or (":" in unit[:60] and not is_cjk(unit))),
    }


def _dialogue(lowered: str, own: Evidence) -> dict[str, float]:
    """Measure causes and feelings: does the side that the claim names say them itself?"""
    emotion = hits("emotion", lowered)
    row = {"emotion": min(1.0, emotion / 2), "negated": float(hits("negation", lowered) > 0)}
    cause = _CAUSE.search(lowered)
    if cause:
        tail = frozenset(terms(lowered[cause.end() :]))
        row["cause_missing"] = 1.0 - own.coverage(tail) if tail else 0.0
    if emotion:
        felt = {
            t
            for word in set(re.findall(r"[a-z]+", lowered))
            if "emotion" in lexicons_of(word)
            for t in terms(word)
        }
        row["mood_missing"] = 1.0 - _share(frozenset(felt), frozenset(own.places)) if felt else 0.0
    return row
