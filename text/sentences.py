"""Splitting a text into sentences: NLTK's Punkt for what is written with spaces, and Chinese by its own punctuation.

Nothing is ever downloaded: Punkt's parameters are built from our own lists (``data/sentences.toml``).

Around Punkt stand rules for what model responses are made of. Every line break is a boundary. A list marker
(``1.``, ``(b)``, ``-``, ``#``) stays with its item, also inside a line. Quotes, brackets, Markdown emphasis and
references such as ``[3]`` behind a stop belong to the sentence before. URLs and e-mail addresses are never cut.
Chinese (and Japanese) sentences end at ``。！？；`` and ``……``, with the quotes and brackets that close there.
It knows nothing of judges. CogniBench splits with NLTK too (section 3.1).
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from .tables import table

_WORDS: Final = {name: frozenset(words.split()) for name, words in table(__package__, "sentences").items()}

_HAN: Final = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = r"\u3040-\u30ff"
_CLOSING: Final = "”’」』）】》〉〕｝］\"')]}"

# A sentence end of its own, whatever follows; a half-width stop counts between two Chinese characters only.
_CHINESE_END: Final = re.compile(
    rf"[。！？；｡]+(?:…+)?|…{{2,}}[。！？]*|(?<=[{_HAN}{_KANA}])…|(?<=[{_HAN}{_KANA}])[!?.;]+(?=[{_HAN}{_KANA}])"
)
_GOES_ON: Final = re.compile(r"\s*[，、：,:。！？；…]")
_MARKER: Final = re.compile(
    r"(?:>[ \t]*)*"
    r"(?:\#{1,6}[ \t]+|[-*+•‣▪●○◦–—·][ \t]+(?:\[[ xX]\][ \t]+)?"
    r"|[*_]{0,3}\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{2,5})[.):][*_]{0,3}(?:[ \t]+|$)"
    r"|[（(]?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[）)、．][ \t]*)+"
)
_INNER_MARKER: Final = re.compile(r"(?<=[:;])[ \t]+(?P<marker>\(?\d{1,2}[.)])$")
_ONLY_MARKER: Final = re.compile(r"\(?(?:\d{1,3}|[a-hA-H])[.)]")
_CLOSERS: Final = re.compile(r"(?:[\"'’”»)\]}*_`~]|\[\d{1,3}(?:[,–-][ ]?\d{1,3})*\]|\[\^\w+\])+")
_PROTECTED: Final = re.compile(
    r"(?:https?://|ftp://|www\.)[^\s<>\"“”]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+", re.IGNORECASE
)
_TRAILING: Final = ".,;:!?)]}'\"*_"
_ELLIPSIS: Final = re.compile(r"…[\"'’”»)\]*_]*\s+(?=(?P<word>[^\W\d_]+))")
_SPACE: Final = re.compile(r"\s+(?P<next>\S)")
_NEAR: Final = 20  # characters in which a list marker at the end of a piece lies
_WORD: Final = re.compile(r"[^\W_]")
_INITIALS: Final = re.compile(r"[^\W\d](?:\.[^\W\d])+")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence of a text."""

    text: str  # without white space around it; never empty: ``original[start:end]``
    start: int
    end: int


def split(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of ``text`` in their order."""
    # The sentences and the white space between them are the whole text. A text without anything but white space has
    # none.
    tokenizer = _tokenizer()
    cuts = sorted(
        {0, len(text), *(cut for line in _lines(text) for cut in _line_cuts(text, *line, tokenizer))}
    )
    pieces = [piece for start, end in itertools.pairwise(cuts) if (piece := _stripped(text, start, end))]
    return tuple(Sentence(text=text[start:end], start=start, end=end) for start, end in _joined(text, pieces))


def without_repeats(text: str) -> str:
    """Return a text without the sentences that stand in it before, but for spacing, case and the mark at their end."""
    kept, gap, at, known = "", "", 0, set[str]()
    for sentence in split(text):
        gap = max(gap, text[at : sentence.start], key=lambda space: (space.count("\n"), len(space)))
        plain = " ".join(sentence.text.casefold().rstrip(".!?。！？").split())
        if plain not in known:
            kept, gap = kept + gap * bool(kept) + sentence.text, ""
            known.add(plain)
        at = sentence.end
    return kept


def locate(text: str, sentences: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) of sentences in the text they are from; equal ones are found one after the other."""
    # empty if they do not all stand in it in their order
    spans, end = [], 0
    for sentence in sentences:
        start = text.find(sentence, end)
        if start < 0:
            return ()
        end = start + len(sentence)
        spans.append((start, end))
    return tuple(spans)


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    """Return Punkt with its parameters; NLTK takes about a second to import and is imported here only."""
    from nltk.tokenize import punkt

    starters = _WORDS["starters"]
    known = punkt.PunktParameters()
    known.sent_starters = set(starters)
    for word in starters:  # seen in lower case inside sentences: with a capital letter they start one
        known.add_ortho_context(word, punkt._ORTHO_MID_LC | punkt._ORTHO_BEG_UC)
    known.abbrev_types = _Abbreviations({*_WORDS["abbreviations"], *_WORDS["titles"]})
    known.collocations |= {(title, word) for title in _WORDS["titles"] for word in starters}
    known.collocations |= {(word, "##number##") for word in _WORDS["before_numbers"]}
    return punkt.PunktSentenceTokenizer(known)


class _Abbreviations(set[str]):
    """Abbreviations, and every run of single letters with stops between them: ``u.s``, ``j.r.r``."""

    def __contains__(self, word: object) -> bool:
        return super().__contains__(word) or (isinstance(word, str) and bool(_INITIALS.fullmatch(word)))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """The lines that are not blank; a line that is a list marker only goes with the one after it."""
    start: int | None = None
    for match in re.finditer(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", text):
        line = match[0].strip()
        if not line:
            continue
        start = match.start() if start is None else start
        if _ONLY_MARKER.fullmatch(line):
            continue
        yield start, match.end()
        start = None
    if start is not None:
        yield start, len(text)


def _line_cuts(text: str, start: int, end: int, tokenizer: Any) -> Iterator[int]:
    """Where sentences end inside a line, and where the line ends."""
    line = _stripped(text, start, end)
    if line is None:
        return
    start, end = line
    yield start
    yield end
    marker = _MARKER.match(text, start, end)
    body = marker.end() if marker else start
    edges = [body, *_chinese(text, body, end), end]
    # nothing is cut in URLs and e-mail addresses, without punctuation at their end
    protected = [
        (match.start(), match.start() + len(match[0].rstrip(_TRAILING)))
        for match in _PROTECTED.finditer(text, body, end)
    ]
    for left, right in itertools.pairwise(edges):
        cuts = [right, *_spaced(text, left, right, tokenizer)]
        yield from (
            cut for cut in cuts if body < cut and not any(low < cut < high for low, high in protected)
        )


def _chinese(text: str, start: int, end: int) -> list[int]:
    """Where Chinese sentences end: behind their stop and what closes there, unless the sentence goes on."""
    cuts: list[int] = []
    for match in _CHINESE_END.finditer(text, start, end):
        place = match.end()
        while place < end and text[place] in _CLOSING:
            # A straight quote closes only what is open.
            if text[place] == '"' and text.count('"', start, place) % 2 == 0:
                break
            place += 1
        if place < end and not _GOES_ON.match(text, place, end):
            cuts.append(place)
    return cuts


def _spaced(text: str, start: int, end: int, tokenizer: Any) -> Iterator[int]:
    """Where sentences end that are written with spaces between words: Punkt's ends, put right."""
    segment = text[start:end]
    ends = {stop for _, stop in tokenizer.span_tokenize(segment, realign_boundaries=False)}
    for stop in sorted(ends):
        closers = _CLOSERS.match(segment, stop)
        place = closers.end() if closers else stop
        after = _SPACE.match(segment, place)
        if after is None:
            continue
        if closers and after["next"].islower() and (text[start + stop - 1] in "!?" or closers[0][-1] in ")]"):
            continue  # "Why?" he asked. Look (it is there.) and see.
        marker = _INNER_MARKER.search(segment, max(0, place - _NEAR), place)
        yield start + (marker.start("marker") if marker else place)
    for match in _ELLIPSIS.finditer(segment):
        if match["word"][0].isupper() and match["word"].lower() in _WORDS["starters"]:
            yield start + match.end()


def _joined(text: str, pieces: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join list markers to the piece after them, and pieces without any letter or digit to the one before."""
    current: tuple[int, int] | None = None
    for start, end in pieces:
        if current is None:
            current = start, end
        elif (
            not _WORD.search(text, start, end)
            or not _WORD.search(text, *current)
            or _ONLY_MARKER.fullmatch(text, *current)
        ):  # the second piece is no sentence of its own, or the first is none yet
            current = current[0], end
        else:
            yield current
            current = start, end
    if current is not None:
        yield current


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space around it, or None if there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None
