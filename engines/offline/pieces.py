"""A verdict on a claim, rendered piece by piece: its words by kind, its relation, each with its coverage.

For a field that asks for the units of a claim (text, kind, reasoning, verified). The claim is cut at
function words into phrases; word lists and suffixes say which are interpretation or description, and
the rest is concrete. The verdict was reached before and elsewhere: the pieces show it, they do not
give it, and are made to agree with it. This is no reasoning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from ...text.evidence import Evidence, index_evidence, side_of, term_set
from ...text.lexicons import LEXICONS, REPORTING, STOP_WORDS, hits, lexicons_of
from ...text.terms import CJK, CJK_STOP, is_cjk, shorten

__all__ = ["Piece", "PieceKind", "pieces", "wording_kind"]

PieceKind = Literal["concrete", "descriptive", "interpretation", "relation"]

_INTERPRETING: Final = ("emotion", "subjective", "stance")
_DESCRIBING: Final = ("evaluative", "absolute", "hedge", "elaboration")
_TOKEN: Final = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:[.,'’-][^\W_{CJK}]+)*|\S")
_QUALIFYING: Final = re.compile(r"\w{2,}(?:ly|ful|ous|ive|able|ible|less|ish|iest)")
_LINK: Final = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result of|in order to|so that|since|after|before|for)\b|"
    r"因为|由于|出于|为了|之后|之前"
)
_FRAME: Final = frozenset((*REPORTING.split(), "whether"))
_NAMES: Final[tuple[tuple[str, PieceKind], ...]] = (
    (r"concrete|具体", "concrete"),
    (r"descri|描述", "descriptive"),
    (r"interpret|subjective|主观|解读", "interpretation"),
    (r"relation|关系", "relation"),
)
_MOST: Final = 40  # pieces of one claim
_LONGEST: Final = 200  # characters of one piece that are shown
_ENOUGH: Final = 0.5  # share of a piece's weight that its evidence must cover


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One piece of a claim.

    Attributes:
        text: its words.
        kind: what sort of wording it is.
        coverage: the idf-weighted share of it that the evidence holds, 0 to 1; of a relation, that the
            best single sentence holds; of an interpretation, at least 0.5 if the evidence has another word
            of the same list.
        quote: the evidence sentence that fits best, or "".
        verified: what is rendered.
    """

    text: str
    kind: PieceKind
    coverage: float
    quote: str
    verified: bool

    @property
    def reasoning(self) -> str:
        """One sentence: what was measured, and whether the verdict overrode it."""
        closest = f'; closest evidence: "{shorten(self.quote, _LONGEST)}"' if self.quote else ""
        forced = "" if self.verified == (self.coverage >= _ENOUGH) else "; set by the verdict on the claim"
        return f"{self.coverage:.0%} of it is covered by the evidence{closest}{forced}."


def wording_kind(label: str) -> PieceKind | None:
    """Return which sort of wording a label of a closed set names, if it names one."""
    return next((kind for cue, kind in _NAMES if re.search(cue, label.lower())), None)


def pieces(claim: str, evidence: str, *, holds: bool) -> list[Piece]:
    """Return the pieces of a claim in its order, its relation last.

    Args:
        claim: the claim; at most 40 pieces of it are made.
        evidence: the text it was judged by.
        holds: the verdict. If so, every piece is verified; otherwise those that are covered are, but
            never the least covered one.
    """
    index = index_evidence(evidence)
    side = side_of(claim.lower()[:30])
    own = index.of(side) if side else index
    found = [(text, kind, _coverage(text, kind, own, index)) for text, kind in _phrases(claim)]
    link = _LINK.search(claim.lower())
    tied = shorten(claim[link.start() :] if link else claim, _LONGEST) or "(blank)"
    found.append((tied, "relation", own.best(term_set(claim))[0]))
    # Of equals the last: words may all be covered and their relation wrong, not the other way round.
    least = min(range(len(found)), key=lambda i: (found[i][2], -i))
    return [
        Piece(
            text=text,
            kind=kind,
            coverage=coverage,
            quote=_quote(text if kind != "relation" else claim, own),
            verified=holds or (coverage >= _ENOUGH and place != least),
        )
        for place, (text, kind, coverage) in enumerate(found)
    ]


def _quote(text: str, evidence: Evidence) -> str:
    place = evidence.best(term_set(text))[1]
    return evidence.lines[place] if place >= 0 else ""


def _coverage(text: str, kind: PieceKind, own: Evidence, whole: Evidence) -> float:
    # The sides are heard, not mentioned: their names stand before the lines, not in them.
    lowered = " ".join(word for word in text.lower().split() if side_of(word) not in whole.parts)
    if lowered in own.lowered:
        return 1.0
    coverage = own.coverage(term_set(lowered))
    if kind == "interpretation" and coverage < _ENOUGH and _shares_list(lowered, own.lowered):
        return _ENOUGH  # the least that implicit evidence can be: other words of the same sort
    return coverage


def _shares_list(lowered: str, evidence: str) -> bool:
    return any(hits(name, lowered) and hits(name, evidence) for name in _INTERPRETING)


def _phrases(claim: str) -> Iterator[tuple[str, PieceKind]]:
    """Yield runs of neighbouring words of one kind, each once, in order."""
    seen: set[str] = set()
    start = end = 0
    running: PieceKind | None = None
    for left, right, kind in [*_words(claim[: _MOST * 400]), (0, 0, None)]:
        if kind is not None and kind == running and not claim[end:left].strip() and not is_cjk(claim[left]):
            end = right
            continue
        text = shorten(claim[start:end], _LONGEST)
        if running is not None and text.lower() not in seen and len(seen) < _MOST:
            seen.add(text.lower())
            yield text, running
        start, end, running = left, right, kind


def _words(claim: str) -> Iterator[tuple[int, int, PieceKind | None]]:
    for token in _TOKEN.finditer(claim):
        if is_cjk(token.group()[0]):
            yield from _wide_words(token.group(), token.start())
        else:
            yield token.start(), token.end(), _kind(token.group())


def _kind(word: str) -> PieceKind | None:
    lowered = word.lower().replace("’", "'")
    lists = lexicons_of(lowered)
    if not lowered[0].isalnum() or lowered in _FRAME:
        return None
    if lists & set(_INTERPRETING):
        return "interpretation"
    if lists & set(_DESCRIBING):
        return "descriptive"
    if lowered in STOP_WORDS or "causal" in lists:
        return None
    return "descriptive" if _QUALIFYING.fullmatch(lowered) else "concrete"


@lru_cache(maxsize=1)
def _wide() -> dict[str, re.Pattern[str]]:
    """Return the Chinese entries of each word list as a pattern, longest first."""
    found = {}
    for name, text in LEXICONS.items():
        entries = [entry for entry in "".join(text.split()).split("|") if entry and is_cjk(entry)]
        found[name] = re.compile("|".join(sorted(map(re.escape, entries), key=len, reverse=True)) or r"(?!)")
    return found


def _wide_words(run: str, offset: int) -> Iterator[tuple[int, int, PieceKind | None]]:
    """Cut a run of Chinese at the words of the lists, and at function characters."""
    kinds: list[PieceKind | None] = [None if char in CJK_STOP else "concrete" for char in run]
    cut = set()
    sorts: tuple[tuple[tuple[str, ...], PieceKind | None], ...] = (
        (_DESCRIBING, "descriptive"),
        (_INTERPRETING, "interpretation"),
        (("causal",), None),
    )
    for names, kind in sorts:
        for name in names:
            for match in _wide()[name].finditer(run):
                kinds[match.start() : match.end()] = [kind] * (match.end() - match.start())
                cut |= {match.start(), match.end()}
    start = 0
    for place in range(1, len(run) + 1):
        if place == len(run) or place in cut or kinds[place] != kinds[start]:
            yield offset + start, offset + place, kinds[start]
            start = place
