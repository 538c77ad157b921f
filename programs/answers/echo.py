"""Sentences in tags, and which label an echo of them gives to each: :class:`~jurist.programs.answers.sentences.Tagged`.

Only the standard library: exports carry this source along (:mod:`jurist.exports.portable_file`).
"""

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...text.replies import is_frame
from .portable import READERS, RENDERERS, Reply, Rule, show_sentence

_SPACES = re.compile(r"\s+")
_LIST_NUMBER = re.compile(r"^(?:[-*•]|\(?\d{1,3}[.)])(?=\s|$)")
_EMPTY_TAGS = re.compile(r"<\s*>(?P<text>.*)<\s*/\s*>")
# escaped, however often
_AMPERSANDS = re.compile(r"&(?:(?:amp|AMP|#0*38(?!\d)|#[xX]0*26(?![0-9a-fA-F]));?)+")


class Echo(NamedTuple):
    """The labels that an echo gives to sentences."""

    labels: tuple[str | None, ...]
    extra: int = 0  # echoes of no sentence
    duplicated: int = 0  # sentences with two labels, which have none
    problem: str = ""  # why no sentence has a label


def put_in_tags(texts: Sequence[str], places: Sequence[int], labels: Sequence[str]) -> str:
    """Return the texts at these places one to a line, in empty tags."""
    return "\n".join(f"<>{defuse_tags(texts[place], labels)}</>" for place in places)


def read_echo(text: object, labels: Sequence[str], texts: Sequence[str], places: Sequence[int]) -> Echo:
    """Return the labels that an echo gives to the texts at these places, by text and order."""
    spans, text_around = _spans(text, tuple(labels))
    plain_texts = [_undo_escapes(show_sentence(texts[place])) for place in places]
    tag, _ = _patterns(tuple(labels))
    copied_texts = [copied for _, copied in spans]
    nothing: tuple[None, ...] = (None,) * len(texts)
    if any(map(tag.search, plain_texts)) and copied_texts != plain_texts:
        return Echo(nothing, problem="the judged text holds tags, and the reply is not an exact echo of it")
    for piece in text_around:
        if spans and not _is_no_answer(piece, plain_texts):
            return Echo(nothing, problem="other text stands around the tags of the reply")
    echo = _label_in_order(spans, plain_texts)
    label_of_place = dict(zip(places, echo.labels, strict=True))
    return echo._replace(labels=tuple(map(label_of_place.get, range(len(texts)))))


@lru_cache(maxsize=64)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a tag of these labels, wherever it stands (``<>``, ``</>``, ``<faithful>``), and one that ends an echo."""
    names = "|".join(map(re.escape, labels))
    tag = rf"<(?=\s*(?:/\s*)?(?:(?:{names})\s*)?>)"
    mark = rf"<\s*(?:(?P<opened>{names})\s*|(?P<slash>/)\s*(?:(?P<closed>{names})\s*)?)>"
    return re.compile(tag, re.IGNORECASE), re.compile(mark, re.IGNORECASE)


def defuse_tags(sentence: str, labels: Sequence[str]) -> str:
    """Return a sentence on one line, without a tag of these labels."""
    tag, _ = _patterns(tuple(labels))
    return tag.sub("‹", show_sentence(sentence))


def _spans(text: object, labels: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return (label, plain text) of each echo in a reply, in its order, and the texts around them."""
    if not isinstance(text, str):
        return [], []
    # A pattern that ignores case takes ``ſ`` for ``s``, and a tag with it is no label.
    label_of = {label.lower(): label for label in labels}
    spans: list[tuple[str, str]] = []
    text_around: list[str] = []
    opening: re.Match[str] | None = None
    position = 0
    for mark in _patterns(labels)[1].finditer(text):
        if opening is None:
            if mark["opened"]:
                opening = mark
            continue
        opened = opening["opened"].lower()
        closed = (mark["closed"] or opened).lower()
        if not mark["slash"] or closed != opened:
            continue  # what lies between an opening tag and its own closing one is copied text
        if opened in label_of:
            spans.append((label_of[opened], _undo_escapes(text[opening.end() : mark.start()])))
            text_around.append(text[position : opening.start()])
            position = mark.end()
        opening = None
    text_around.append(text[position:])
    return spans, text_around


def _is_no_answer(text: str, plain_texts: Sequence[str]) -> bool:
    """Return whether a text beside echoes says nothing: a frame, numbers of a list, or sentences as they were shown."""
    for line in text.splitlines():
        bare_line = _LIST_NUMBER.sub("", line.strip())
        empty_tags = _EMPTY_TAGS.fullmatch(bare_line)
        shown_text = empty_tags["text"] if empty_tags else bare_line
        if not is_frame(bare_line) and _undo_escapes(shown_text) not in plain_texts:
            return False
    return True


def _undo_escapes(text: str) -> str:
    """Return a text as it is compared: escapes, however often, our own defusing and runs of white space undone."""
    while True:
        unescaped = html.unescape(_AMPERSANDS.sub("&", text))
        if unescaped == text:
            return _SPACES.sub(" ", text.replace("‹", "<")).strip()
        text = unescaped


def _label_in_order(spans: Sequence[tuple[str, str]], plain_texts: Sequence[str]) -> Echo:
    """Return the labels of texts where each span labels the next text that equals it."""
    labels: list[str | None] = [None] * len(plain_texts)
    contradicted_places: set[int] = set()
    extra = start = 0
    for label, text in spans:
        place = _place_from(start, text, plain_texts)
        if place is not None:
            labels[place] = label
            start = place + 1
            continue
        earlier_labels: dict[int, str] = {}
        for earlier_place, earlier_label in enumerate(labels[:start]):
            if earlier_label is not None and plain_texts[earlier_place] == text:
                earlier_labels[earlier_place] = earlier_label
        if not earlier_labels:
            extra += 1
        for earlier_place, earlier_label in earlier_labels.items():
            if earlier_label != label:
                contradicted_places.add(earlier_place)
    for place in contradicted_places:
        labels[place] = None
    return Echo(labels=tuple(labels), extra=extra, duplicated=len(contradicted_places))


def _place_from(start: int, text: str, plain_texts: Sequence[str]) -> int | None:
    """Return the first place from ``start`` on that holds a text."""
    for place in range(start, len(plain_texts)):
        if plain_texts[place] == text:
            return place
    return None


def _read_tagged(rule: Rule, reply: Reply, texts: Sequence[str], places: Sequence[int]) -> list[object]:
    return list(read_echo(reply.get(rule["field"]), rule["set"], texts, places).labels)


READERS["tagged"] = _read_tagged
RENDERERS["tagged"] = put_in_tags
