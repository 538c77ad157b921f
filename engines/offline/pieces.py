"""A verdict on a claim, rendered piece by piece: its phrases by kind of wording, and its relation, with their coverage.

For a field that asks for the units of a claim (text, kind, reasoning, verified). The verdict was reached before and
elsewhere: the pieces show it and are made to agree with it. This is no reasoning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ...text.evidence import index_evidence, side_of, term_set
from ...text.lexicons import REPORTING, STOP_WORDS, hits, lexicons_of
from ...text.terms import CJK, CJK_STOP, is_cjk, shorten

PieceKind = Literal["concrete", "descriptive", "interpretation", "relation"]

_INTERPRETING: Final = ("emotion", "subjective", "stance")
_DESCRIBING: Final = ("evaluative", "absolute", "hedge", "elaboration")
_TOKEN: Final = re.compile(rf"[^\W{''.join(sorted(CJK_STOP))}]+(?:[.,'’-][^\W{CJK}]+)*|\S")
_QUALIFYING: Final = re.compile(r"\w{2,}(?:ly|ful|ous|ive|able|ible|less|ish|iest)")
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
    """One piece of a claim: its words, their kind, how far the evidence covers them, and what is rendered of them."""

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
    """Return the pieces of a claim in its order, the whole claim last as its relation.

    If it holds, every piece is verified; otherwise those that are covered are, but never the least covered one.
    """
    index = index_evidence(evidence)
    side = side_of(claim.lower()[:30])
    own = index.of(side) if side else index
    found: list[tuple[str, PieceKind, float]] = [
        (text, kind, 1.0 if text.lower() in own.lowered else own.coverage(term_set(text)))
        for text, kind in _phrases(claim)
    ]
    found.append((shorten(claim, _LONGEST) or "(blank)", "relation", own.best(term_set(claim))[0]))
    # Of equals the last: words may all be covered and their relation wrong, not the other way round.
    least = min(range(len(found)), key=lambda place: (found[place][2], -place))
    made = []
    for place, (text, kind, coverage) in enumerate(found):
        line = own.best(term_set(text))[1]
        verified = holds or (coverage >= _ENOUGH and place != least)
        quote = own.lines[line] if line >= 0 else ""
        made.append(Piece(text=text, kind=kind, coverage=coverage, quote=quote, verified=verified))
    return made


def _phrases(claim: str) -> Iterator[tuple[str, PieceKind]]:
    """Yield runs of neighbouring words of one kind, each once, in order."""
    seen: set[str] = set()
    start = end = 0
    running: PieceKind | None = None
    words = [(word.start(), word.end(), _kind(word[0])) for word in _TOKEN.finditer(claim[: _MOST * 400])]
    for left, right, kind in [*words, (0, 0, None)]:
        if kind is not None and kind == running and claim[end:left].isspace():
            end = right
            continue
        text = shorten(claim[start:end], _LONGEST)
        if running is not None and text.lower() not in seen and len(seen) < _MOST:
            seen.add(text.lower())
            yield text, running
        start, end, running = left, right, kind


def _kind(word: str) -> PieceKind | None:
    lowered = word.lower().replace("’", "'")
    if not lowered[0].isalnum() or lowered in _FRAME or lowered in CJK_STOP:
        return None
    lists = (
        {name for name in (*_INTERPRETING, *_DESCRIBING) if hits(name, lowered)}
        if is_cjk(word)
        else lexicons_of(lowered)
    )
    if lists & set(_INTERPRETING):
        return "interpretation"
    if lists & set(_DESCRIBING):
        return "descriptive"
    if lowered in STOP_WORDS or "causal" in lists:
        return None
    return "descriptive" if _QUALIFYING.fullmatch(lowered) else "concrete"
