"""A detector's answer: a list of strings from the response, read back as one label per sentence.

The response is shown one sentence to a line. CogniBench's detector (appendix A.10) returns the hallucinated
sentences themselves, so nothing but the text says which sentence is meant, and every returned string is looked
up in it. Texts are compared after one normalisation (:func:`folded`): Unicode NFKC, lower case, and neither white
space nor quotation marks. In this order a string is

1. a line, word for word: that sentence. A sentence that occurs again is shown with its number, ``Yes. (2)``, so
   that every line is another one; a string without the number is the first mention, then the second, and so on;
2. a line without its list marker, or a part of exactly one sentence, at least four letters or digits of it: that
   sentence, as the paper does with detectors that mark less than a sentence (appendix A.8.1);
3. a run over several sentences, at one place only: those of which it covers at least half, or, if there are none,
   the one of which it covers most;
4. anything else, such as a rewording or a part that stands in two sentences: unusable, and counted. It was meant
   to name a sentence, and nobody knows which. So the named sentences are hallucinated, and all the others, which
   would be faithful only because nothing names them, have no label.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ...cases import Values
from ...text.escaping import one_line
from .base import Answer, Inputs, Places, Reading, Reply, reasoning_of
from .sentences import PerSentence, shown

_QUOTES: Final = frozenset("\"'`´‘’‚‛“”„‟«»‹›<「」『』〝〞＂＇")  # a prompt may show ``<`` as ``‹``
_DASHES: Final = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_MARKER: Final = re.compile(r"^(?:[-*•]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_LEAST: Final = 4  # letters or digits of a part of a sentence
_SHOWN: Final = 60
_ECHO: Final = "text"  # of a reply: the text in which spans have places


@dataclass(frozen=True, kw_only=True)
class Listed(PerSentence):
    """Texts stand on a line each, and a reply lists those that were found; all others have the other label.

    ``labels`` are that of every other text, then that of a listed one.
    """

    repeatable: ClassVar[bool] = False
    rendering: ClassVar[str] = "lines"
    probabilities = Answer.probabilities  # what is not listed has none

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return "\n".join(lines_of(texts))

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return each text's label; without a list there is none, after an unusable string only the named."""
        texts, items, (clear, found) = inputs[self.unit], reply.get(self.field), self.labels
        if not isinstance(items, list | tuple):
            return Reading(values=(None,) * len(texts), problem=f"{self.field} is no list")
        text = _Text(texts)
        named, lost = text.find(items, reply.get(_ECHO))
        heard = text.echoed(reply.get(_ECHO)) if not lost else frozenset()
        rest = (clear if place in heard else None for place in range(len(texts)))
        labels = tuple(found if place in named else label for place, label in enumerate(rest))
        return Reading(values=labels, reasoning=reasoning_of(reply), problem=_problem(lost, len(items)))

    def example(self, values: Values, inputs: Inputs) -> list[str]:
        """Return the lines of the found texts."""
        # An unlabelled text is not in the list, which says that it is not found: do not train on such rows.
        lines = zip(lines_of(inputs[self.unit]), values, strict=True)
        return [line for line, label in lines if label == self.labels[1]]

    def label_rule(self) -> dict[str, Any]:
        meaning = (
            "a line of the input that is listed word for word has the label 'listed', every other line 'not_listed'; "
            "compare without case, white space and quotation marks; a listed string that is in no line or in several "
            "is counted, and lines that nothing names have no usable label then; jurist.programs.answers.spans has "
            "the rule for parts and runs"
        )
        clear, found = self.labels
        return {"labels": meaning, "listed": found, "not_listed": clear}


@dataclass(frozen=True, kw_only=True)
class Marked(Listed):
    """The same for programs that take the response as one text, in which spans have places.

    An item of the list is a string, or the (start, end) of a span in the text that the reply gives as ``text``.
    That text repeats the response; a sentence that it does not repeat has no label, unless a span names it.
    """

    rendering: ClassVar[str] = "custom"

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return joined(texts)


def joined(sentences: Sequence[str]) -> str:
    """Return the sentences as one text, a blank between them."""
    return " ".join(map(shown, sentences))


def folded(text: str) -> str:
    """Return ``text`` as it is compared: NFKC, lower case, plain dashes, no white space, no quotation marks."""
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return "".join(char for char in plain if char not in _QUOTES and not char.isspace())


def lines_of(sentences: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences on one line each, no two alike: one that occurs again gets its number."""
    lines: list[str] = []
    plain = [shown(text) for text in sentences]
    taken, times = {folded(line) for line in plain}, Counter[str]()
    for line in plain:
        key = folded(line)
        times[key] += 1
        if times[key] > 1:
            number = times[key]
            while folded(f"{line} ({number})") in taken:
                number += 1
            line = f"{line} ({number})"
            taken.add(folded(line))
        lines.append(line)
    return tuple(lines)


class _Text:
    """A response in which returned strings are looked up."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.keys = [folded(shown(text)) for text in sentences]
        self.bare = [folded(_MARKER.sub("", shown(text))) for text in sentences]
        self.marked = {folded(line): place for place, line in enumerate(lines_of(sentences))}
        self.whole = "".join(self.keys)

    def find(self, items: Sequence[Any], echo: str | None = None) -> tuple[set[int], list[str]]:
        """Return the places of the named sentences, and the strings that name none."""
        named: set[int] = set()
        lost: list[str] = []
        mentions: Counter[str] = Counter()
        for item in items:
            places, text = self._placed(item, echo) if isinstance(item, tuple) else (set[int](), item)
            places = places or self._named(text, mentions)
            named |= places
            if not places:
                lost.append(str(text))
        return named, lost

    def echoed(self, echo: str | None) -> Collection[int]:
        """Return the places of the sentences that an echo holds as often as the response; all where there is none."""
        heard = self.whole if echo is None else folded(echo)
        return {place for place, key in enumerate(self.keys) if heard.count(key) == self.whole.count(key)}

    def _placed(self, span: tuple[int, int], echo: str | None) -> tuple[set[int], str]:
        """Return the places that a span of an exact echo covers, and its text, by which it is looked up elsewhere."""
        start, end = span
        if echo is None or not 0 <= start < end <= len(echo):
            return set(), ""
        if folded(echo) != self.whole:
            return set(), echo[start:end]
        # From behind: a span that begins inside of a letter, at its accent, covers the letter.
        return self._covered(len(self.whole) - len(folded(echo[start:])), len(folded(echo[:end]))), ""

    def _named(self, item: Any, mentions: Counter[str]) -> set[int]:
        text = item.strip() if isinstance(item, str) else ""
        key = folded(text)
        # without any text nothing is named, not even a line of nothing but quotation marks
        return (self._line(key, mentions) or self._part(key) or self._run(key)) if text else set()

    def _line(self, key: str, mentions: Counter[str]) -> set[int]:
        same = [place for place, other in enumerate(self.keys) if other == key]
        if not same:
            return {self.marked[key]} if key in self.marked else set()
        mentions[key] += 1
        return {same[min(mentions[key], len(same)) - 1]}

    def _part(self, key: str) -> set[int]:
        places = {place for place, other in enumerate(self.bare) if key == other}
        if not places and sum(map(str.isalnum, key)) >= _LEAST:
            places = {place for place, other in enumerate(self.keys) if key in other}
        return places if len(places) == 1 else set()

    def _run(self, key: str) -> set[int]:
        start = self.whole.find(key) if key else -1
        if start < 0 or self.whole.find(key, start + 1) >= 0 or any(key in other for other in self.keys):
            return set()
        return self._covered(start, start + len(key))

    def _covered(self, start: int, end: int) -> set[int]:
        """Return the sentences of which a run of folded letters covers half, or else the one it covers most of."""
        covered: dict[int, float] = {}
        at = 0
        for place, other in enumerate(self.keys):
            both = min(at + len(other), end) - max(at, start)
            if both > 0:
                covered[place] = both / len(other)
            at += len(other)
        most = max(covered, key=lambda place: covered[place], default=None)
        return {place for place, share in covered.items() if share >= 0.5 or place == most}


def _problem(lost: Sequence[str], count: int) -> str:
    if not lost:
        return ""
    first = one_line(lost[0])
    shown = first if len(first) <= _SHOWN else first[: _SHOWN - 1] + "…"
    return f"{len(lost)} of {count} returned strings name no sentence of the response: {shown!r}"
