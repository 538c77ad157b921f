"""The other form of whole-response labelling: the response echoed, every sentence in tags that carry its label.

CogniBench's formative prompting (section 3.1, table 6): sentences are shown as ``<>sentence</>`` and the model
copies each of them into ``<faithful>sentence</faithful>``. A label belongs to the sentence whose text was copied,
word for word and in its order, and to no other: an echo that differs gives that sentence none.

The judged text may hold such tags itself. They are defused where they are shown, and a reply to a case that has any
is believed only if it is exactly one echo of each sentence in order: a tag that came out of the judged text tears
its own sentence apart, so it can cost labels and cannot give one.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from ...cases import Label, Values
from .base import Answer, Inputs, Places, Reading, Reply, reasoning_of
from .sentences import PerSentence, shown

_SPACES = re.compile(r"\s+")
_AMPERSANDS = re.compile(
    r"&(?:(?:amp|AMP|#0*38(?!\d)|#[xX]0*26(?![0-9a-fA-F]));?)+"
)  # escaped, however often


@dataclass(frozen=True, kw_only=True)
class Tagged(PerSentence):
    """Texts stand in empty tags, and a reply copies each into tags of its label."""

    rendering: ClassVar[str] = "tagged"
    probabilities = Answer.probabilities  # an echo has no items

    def show(self, texts: Sequence[str], places: Sequence[int]) -> Any:
        return "\n".join(f"<>{_harmless(texts[place], self.labels)}</>" for place in places)

    def read(self, reply: Reply, inputs: Inputs, places: Places = None) -> Reading:
        """Return the labels of the texts that were asked for, matched by text and order."""
        texts, asked = inputs[self.unit], self.asked(inputs, places)
        spans = _spans(reply.get(self.field), self.labels)
        wanted = [_plain(shown(texts[place])) for place in asked]
        tag, _ = _patterns(self.labels)
        if any(map(tag.search, wanted)) and [text for _, text in spans] != wanted:
            problem = "the judged text holds tags, and the reply is not an exact echo of it"
            return Reading(values=(None,) * len(texts), problem=problem)
        aligned, extra, duplicated = _aligned(spans, wanted)
        labels = dict(zip(asked, aligned, strict=True))
        return Reading(
            values=tuple(map(labels.get, range(len(texts)))),
            reasoning=reasoning_of(reply),
            extra=extra,
            duplicated=duplicated,
        )

    def example(self, values: Values, inputs: Inputs) -> str:
        pairs = zip(values, inputs[self.unit], strict=True)
        return "\n".join(
            f"<{label}>{_harmless(text, self.labels)}</{label}>" for label, text in pairs if label is not None
        )

    def label_rule(self) -> dict[str, Any]:
        meaning = (
            "each <label>text</label> belongs to the next sentence with just that text, white space aside; where a "
            "sentence holds such a tag itself, only a reply that echoes every sentence once and in order counts"
        )
        return {"labels": meaning}


@lru_cache(maxsize=64)
def _patterns(labels: tuple[Label, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a tag of these labels, wherever it stands (``<>``, ``</>``, ``<faithful>``), and one that ends an echo."""
    names = "|".join(map(re.escape, labels))
    tag = rf"<(?=\s*(?:/\s*)?(?:(?:{names})\s*)?>)"
    mark = rf"<\s*(?:({names})\s*|(/)\s*(?:({names})\s*)?)>"
    return re.compile(tag, re.IGNORECASE), re.compile(mark, re.IGNORECASE)


def _harmless(sentence: str, labels: tuple[Label, ...]) -> str:
    return _patterns(labels)[0].sub("‹", shown(sentence))


def _spans(text: Any, labels: tuple[Label, ...]) -> list[tuple[Label, str]]:
    """Return (label, plain text) of each echo in a reply, in its order."""
    if not isinstance(text, str):
        return []
    # A pattern that ignores case takes ``ſ`` for ``s``, and a tag with it is no label.
    known, marks = {label.lower(): label for label in labels}, list(_patterns(labels)[1].finditer(text))
    return [(known[name.lower()], _plain(body)) for name, body in _between(marks) if name.lower() in known]


def _between(marks: Sequence[re.Match[str]]) -> Iterator[tuple[str, str]]:
    """Yield the name of each opening tag and the text up to the first tag that closes it, whatever lies between."""
    closing: dict[str, int] = {}  # name -> place of the next tag that closes it
    ends = list[int | None]()
    for place in reversed(range(len(marks))):
        mark = marks[place]
        if mark[2]:
            closing[(mark[3] or "").lower()] = place
        nearest = [closing[name] for name in ("", (mark[1] or "").lower()) if name in closing]
        ends.append(min(nearest) if mark[1] and nearest else None)
    ends.reverse()
    after = 0
    for place, mark in enumerate(marks):
        end = ends[place]
        if end is not None and place >= after:
            yield mark[1], mark.string[mark.end() : marks[end].start()]
            after = end + 1


def _plain(text: str) -> str:
    """Return a text as it is compared: escapes, however often, our own defusing and runs of white space undone."""
    while (once := html.unescape(_AMPERSANDS.sub("&", text))) != text:
        text = once
    return _SPACES.sub(" ", text.replace("‹", "<")).strip()


def _aligned(
    spans: Sequence[tuple[Label, str]], wanted: Sequence[str]
) -> tuple[list[Label | None], int, int]:
    """Give each span to the next sentence of the same text."""
    labels: list[Label | None] = [None] * len(wanted)
    torn: set[int] = set()
    extra = start = 0
    for label, text in spans:
        place = next((n for n in range(start, len(wanted)) if wanted[n] == text), None)
        if place is not None:
            labels[place], start = label, place + 1
            continue
        before = [n for n in range(start) if wanted[n] == text and labels[n] is not None]
        if before:
            torn.update(n for n in before if labels[n] != label)
        else:
            extra += 1
    for n in torn:
        labels[n] = None
    return labels, extra, len(torn)
