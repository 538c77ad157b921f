"""Sentences of a text: NLTK's Punkt for what is written with spaces, and Chinese by its own punctuation.

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

from .tables import read_table

_WORDS: Final = {
    name: frozenset(words.split()) for name, words in read_table(__package__, "sentences").items()
}

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
    # The sentences and the white space between them are the whole text. A text of white space alone has none.
    tokenizer = _tokenizer()
    cuts = {0, len(text)}
    for line_start, line_end in _line_spans(text):
        cuts.update(_line_cuts(text, line_start, line_end, tokenizer))
    pieces: list[tuple[int, int]] = []
    for start, end in itertools.pairwise(sorted(cuts)):
        piece = _strip_span(text, start, end)
        if piece is not None:
            pieces.append(piece)
    sentences: list[Sentence] = []
    for start, end in _join_pieces(text, pieces):
        sentences.append(Sentence(text=text[start:end], start=start, end=end))
    return tuple(sentences)


def without_repeats(text: str) -> str:
    """Return a text without repeated sentences; spacing, case and the mark at their end make no difference."""
    result = ""
    gap = ""  # the widest white space since the last sentence of the result
    end = 0
    plain_sentences = set[str]()
    for sentence in split(text):
        gap = max(gap, text[end : sentence.start], key=lambda space: (space.count("\n"), len(space)))
        end = sentence.end
        plain = " ".join(sentence.text.casefold().rstrip(".!?。！？").split())
        if plain in plain_sentences:
            continue
        plain_sentences.add(plain)
        if result:
            result += gap
        result += sentence.text
        gap = ""
    return result


def locate(text: str, sentences: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) of sentences in the text they are from; nothing if they are not in it in this order."""
    spans: list[tuple[int, int]] = []
    end = 0
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
    parameters = punkt.PunktParameters()
    parameters.sent_starters = set(starters)
    for word in starters:  # they are in lower case inside sentences: with a capital letter they start one
        parameters.add_ortho_context(word, punkt._ORTHO_MID_LC | punkt._ORTHO_BEG_UC)
    parameters.abbrev_types = _Abbreviations(_WORDS["abbreviations"] | _WORDS["titles"])
    parameters.collocations.update(itertools.product(_WORDS["titles"], starters))
    parameters.collocations.update((word, "##number##") for word in _WORDS["before_numbers"])
    return punkt.PunktSentenceTokenizer(parameters)


class _Abbreviations(set[str]):
    """Abbreviations, and every run of single letters with stops between them: ``u.s``, ``j.r.r``."""

    def __contains__(self, word: object) -> bool:
        if super().__contains__(word):
            return True
        return isinstance(word, str) and bool(_INITIALS.fullmatch(word))


def _line_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the lines that are not blank; a line of a list marker alone goes with the next one."""
    start: int | None = None
    for match in re.finditer(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+", text):
        line = match[0].strip()
        if not line:
            continue
        if start is None:
            start = match.start()
        if _ONLY_MARKER.fullmatch(line):
            continue
        yield start, match.end()
        start = None
    if start is not None:
        yield start, len(text)


def _line_cuts(text: str, start: int, end: int, tokenizer: Any) -> Iterator[int]:
    """Yield the start and the end of a line without the white space around it, and where sentences end between."""
    line = _strip_span(text, start, end)
    if line is None:
        return
    start, end = line
    yield start
    yield end
    marker = _MARKER.match(text, start, end)
    body = marker.end() if marker else start
    protected_spans = _protected_spans(text, body, end)
    cuts = _chinese_ends(text, body, end)
    segment_start = body
    for segment_end in cuts + [end]:
        cuts += _spaced_ends(text, segment_start, segment_end, tokenizer)
        segment_start = segment_end
    for cut in cuts:
        if cut > body and not _is_inside(cut, protected_spans):
            yield cut


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place lies within one of the spans, not at its edge."""
    return any(start < place < end for start, end in spans)


def _protected_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return (start, end) of the URLs and e-mail addresses, without the punctuation behind them."""
    spans: list[tuple[int, int]] = []
    for match in _PROTECTED.finditer(text, start, end):
        address = match[0].rstrip(_TRAILING)
        spans.append((match.start(), match.start() + len(address)))
    return spans


def _chinese_ends(text: str, start: int, end: int) -> list[int]:
    """Return where Chinese sentences end: behind their stop and closing marks, unless the sentence goes on."""
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


def _spaced_ends(text: str, start: int, end: int, tokenizer: Any) -> Iterator[int]:
    """Yield where sentences with spaces between words end: Punkt's ends, corrected."""
    segment = text[start:end]
    for _, stop in tokenizer.span_tokenize(segment, realign_boundaries=False):
        closers = _CLOSERS.match(segment, stop)
        place = closers.end() if closers else stop
        space = _SPACE.match(segment, place)
        if space is None:
            continue
        if closers and space["next"].islower():
            if text[start + stop - 1] in "!?":
                continue  # "Why?" he asked.
            if closers[0][-1] in ")]":
                continue  # Look (it is there.) and see.
        marker = _INNER_MARKER.search(segment, max(0, place - _NEAR), place)
        if marker:
            place = marker.start("marker")
        yield start + place
    for match in _ELLIPSIS.finditer(segment):
        if match["word"][0].isupper() and match["word"].lower() in _WORDS["starters"]:
            yield start + match.end()


def _join_pieces(text: str, pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of sentences: list markers go with the next piece, pieces without words with the last."""
    current: tuple[int, int] | None = None
    for start, end in pieces:
        if current is None:
            current = start, end
        elif _is_opening(text, current) or not _WORD.search(text, start, end):
            current = current[0], end
        else:
            yield current
            current = start, end
    if current is not None:
        yield current


def _is_opening(text: str, span: tuple[int, int]) -> bool:
    """Return whether a piece only opens the next one: it has no word, or is a list marker."""
    start, end = span
    return not _WORD.search(text, start, end) or bool(_ONLY_MARKER.fullmatch(text, start, end))


def _strip_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return (start, end) without the white space around it; ``None`` for white space alone."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return None
    return start, end
