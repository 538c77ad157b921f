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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from ...cases import Label, Values
from .reading import Reading, reasoning_of
from .sentences import Quoted, shown

_SPACES = re.compile(r"\s+")
_AMPERSANDS = re.compile(
    r"&(?:(?:amp|AMP|#0*38(?!\d)|#[xX]0*26(?![0-9a-fA-F]));?)+"
)  # escaped, however often
_Found: TypeAlias = tuple[list[Label | None], int, int]


@dataclass(frozen=True, kw_only=True)
class Echoed(Quoted):
    """One label for each sentence of a response, given as tags around its copy."""

    repeatable: ClassVar[bool] = True

    def render(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs with every sentence in empty tags."""
        return self.render_partial(inputs, range(len(inputs[self.unit])))

    def render_partial(self, inputs: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
        """Return the inputs with some of the sentences only."""
        lines = (f"<>{self._harmless(inputs[self.unit][place])}</>" for place in places)
        return {**inputs, self.unit: "\n".join(lines)}

    def read_partial(self, reply: Mapping[str, Any], count: int, places: Sequence[int]) -> Reading:
        """Return the labels of the sentences that were asked for, matched by their text and order."""
        spans, wanted = self._spans(reply), [_plain(shown(self.sentences[place])) for place in places]
        if any(map(self._tag.search, wanted)) and [text for _, text in spans] != wanted:
            problem = "the judged text holds tags, and the reply is not an exact echo of it"
            return Reading(values=(None,) * count, problem=problem)
        found = _aligned(spans, wanted)
        labels = dict(zip(places, found[0], strict=True))
        return Reading(
            values=tuple(labels.get(place) for place in range(count)),
            reasoning=reasoning_of(reply),
            extra=found[1],
            duplicated=found[2],
        )

    def example(self, values: Values) -> str:
        """Return the labelled sentences in their tags, one to a line."""
        pairs = zip(values, self.sentences, strict=True)
        return "\n".join(
            f"<{label}>{self._harmless(text)}</{label}>" for label, text in pairs if label is not None
        )

    def render_rule(self, name: str) -> str:
        """Return ``tagged`` for the sentences."""
        if type(self).render is not Echoed.render:
            return "custom"
        return "tagged" if name == self.unit else "as-is"

    def parser_rule(self) -> dict[str, Any]:
        """Return what the tags mean."""
        meaning = (
            "each <label>text</label> belongs to the next sentence with just that text, white space aside; where a "
            "sentence holds such a tag itself, only a reply that echoes every sentence once and in order counts"
        )
        return {"field": self.field, "label_of_value": None, "labels": meaning}

    @cached_property
    def _tag(self) -> re.Pattern[str]:
        """A tag of this answer, wherever it stands: ``<>``, ``</>``, ``<faithful>``, ``</faithful>``."""
        names = "|".join(map(re.escape, self.labels))
        return re.compile(rf"<(?=\s*(?:/\s*)?(?:(?:{names})\s*)?>)", re.IGNORECASE)

    @cached_property
    def _mark(self) -> re.Pattern[str]:
        """An opening or a closing tag that may end an echo."""
        names = "|".join(map(re.escape, self.labels))
        return re.compile(rf"<\s*(?:({names})\s*|(/)\s*(?:({names})\s*)?)>", re.IGNORECASE)

    def _harmless(self, sentence: str) -> str:
        return self._tag.sub("‹", shown(sentence))

    def _spans(self, reply: Mapping[str, Any]) -> list[tuple[Label, str]]:
        """Return (label, plain text) of each echo in a reply, in its order."""
        text, known = reply.get(self.field), {label.lower(): label for label in self.labels}
        if not isinstance(text, str):
            return []
        spans = list[tuple[Label, str]]()
        for name, body in _between(list(self._mark.finditer(text))):
            # A pattern that ignores case takes ``ſ`` for ``s``, and a tag with it is no label.
            if (label := known.get(name.lower())) is not None:
                spans.append((label, _plain(body)))
        return spans


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


def _aligned(spans: Sequence[tuple[Label, str]], wanted: Sequence[str]) -> _Found:
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
