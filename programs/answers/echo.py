"""Sentences in tags, and which label an echo of them gives to each: :class:`~jurist.programs.answers.sentences.Tagged`.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import html
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...text.replies import is_frame
from .portable import READERS, RENDERERS, shown

_SPACES = re.compile(r"\s+")
_LIST_NUMBER = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.)])(?=\s|$)")
_EMPTY_TAGS = re.compile(r"<\s*>(?P<text>.*)<\s*/\s*>")
# escaped, however often
_AMPERSANDS = re.compile(r"&(?:(?:amp|AMP|#0*38(?!\d)|#[xX]0*26(?![0-9a-fA-F]));?)+")


def in_tags(texts: Sequence[str], places: Sequence[int], labels: Sequence[str]) -> str:
    """Return the texts at these places one to a line, in empty tags."""
    return "\n".join(f"<>{harmless(texts[place], labels)}</>" for place in places)


def echoed(
    text: Any, labels: Sequence[str], texts: Sequence[str], asked: Sequence[int]
) -> tuple[tuple[str | None, ...], int, int, str]:
    """Return the labels that an echo gives to the texts that were asked for, by text and order."""
    # besides: how many echoes are of no text, how many texts got two labels, and why none has a label
    spans, around = _spans(text, tuple(labels))
    wanted = [_plain(shown(texts[place])) for place in asked]
    tag, _ = _patterns(tuple(labels))
    problem = ""
    if any(map(tag.search, wanted)) and [copied for _, copied in spans] != wanted:
        problem = "the judged text holds tags, and the reply is not an exact echo of it"
    elif spans and not all(_is_no_answer(piece, wanted) for piece in around):
        problem = "other text stands around the tags of the reply"
    if problem:
        return (None,) * len(texts), 0, 0, problem
    aligned, extra, duplicated = _aligned(spans, wanted)
    labelled = dict(zip(asked, aligned, strict=True))
    return tuple(map(labelled.get, range(len(texts)))), extra, duplicated, ""


@lru_cache(maxsize=64)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a tag of these labels, wherever it stands (``<>``, ``</>``, ``<faithful>``), and one that ends an echo."""
    names = "|".join(map(re.escape, labels))
    tag = rf"<(?=\s*(?:/\s*)?(?:(?:{names})\s*)?>)"
    mark = rf"<\s*(?:({names})\s*|(/)\s*(?:({names})\s*)?)>"
    return re.compile(tag, re.IGNORECASE), re.compile(mark, re.IGNORECASE)


def harmless(sentence: str, labels: Sequence[str]) -> str:
    """Return a sentence on one line, without a tag of these labels."""
    return _patterns(tuple(labels))[0].sub("‹", shown(sentence))


def _spans(text: Any, labels: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (label, plain text) of each echo in a reply, in its order, and the texts around them."""
    if not isinstance(text, str):
        return [], []
    # A pattern that ignores case takes ``ſ`` for ``s``, and a tag with it is no label.
    label_of = {label.lower(): label for label in labels}
    spans: list[tuple[str, str]] = []
    around: list[str] = []
    opening: re.Match[str] | None = None
    position = 0
    for mark in _patterns(labels)[1].finditer(text):
        if opening is None:
            opening = mark if mark[1] else None
        elif mark[2] and (mark[3] or opening[1]).lower() == opening[1].lower():  # whatever lies between
            if opening[1].lower() in label_of:
                spans.append((label_of[opening[1].lower()], _plain(text[opening.end() : mark.start()])))
                around.append(text[position : opening.start()])
                position = mark.end()
            opening = None
    around.append(text[position:])
    return spans, around


def _is_no_answer(text: str, wanted: Sequence[str]) -> bool:
    """Return whether a text beside echoes says nothing: a frame, numbers of a list, or sentences as they were shown."""
    for line in text.splitlines():
        bare = _LIST_NUMBER.sub("", line.strip())
        shown_line = _EMPTY_TAGS.fullmatch(bare)
        copied = _plain(shown_line["text"] if shown_line else bare)
        if not is_frame(bare) and copied not in wanted:
            return False
    return True


def _plain(text: str) -> str:
    """Return a text as it is compared: escapes, however often, our own defusing and runs of white space undone."""
    while (once := html.unescape(_AMPERSANDS.sub("&", text))) != text:
        text = once
    return _SPACES.sub(" ", text.replace("‹", "<")).strip()


def _aligned(spans: Sequence[tuple[str, str]], wanted: Sequence[str]) -> tuple[list[str | None], int, int]:
    """Give each span to the next sentence of the same text."""
    labels: list[str | None] = [None] * len(wanted)
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


def _read(rule: Mapping[str, Any], reply: Any, texts: Sequence[str], places: Sequence[int]) -> list[Any]:
    return list(echoed(reply.get(rule["field"]), rule["set"], texts, places)[0])


READERS["tagged"] = _read
RENDERERS["tagged"] = in_tags
