"""Replies that mark spans: FAVA's tagged text, and RAGTruth's list in JSON.

What they say has the fields that :class:`~jurist.programs.answers.spans.Marked` reads.
"""

import re
from typing import Any, Final

from ..text.replies import data, without_drafts

_CORRECTION: Final = "mark"
TAGS: Final = (
    *("entity", "relation", "contradictory", "invented", "subjective", "unverifiable", "delete"),
    _CORRECTION,
)
"""FAVA's kinds of errors; inside of them the wrong words, and those that should stand in their place."""
_TAG: Final = re.compile(rf"<\s*(?:(/)\s*)?({'|'.join(TAGS)})\s*>", re.IGNORECASE)
_LIST: Final = ("hallucination list", "hallucination_list", "hallucinations")


def tagged(reply: str) -> dict[str, Any]:
    """Return the outermost marked spans of a text, and the text as it was: without tags and corrections.

    Where a tag has no partner, nobody knows what is marked, and nothing is returned.
    """
    reply = without_drafts(reply, TAGS)
    text, spans, opened, at, corrections = "", list[tuple[int, int]](), list[tuple[str, int]](), 0, 0
    for tag in _TAG.finditer(reply):
        if not corrections:
            text += reply[at : tag.start()]
        at, name = tag.end(), tag[2].lower()
        if not tag[1]:
            opened.append((name, len(text)))
            corrections += name == _CORRECTION
        elif opened and opened[-1][0] == name:
            start = opened.pop()[1]
            corrections -= name == _CORRECTION
            if not opened and name != _CORRECTION:
                spans.append((start, len(text)))
        else:
            return {}
    return {} if opened else {"hallucinated": spans, "text": text + reply[at:]}


def listed(reply: str) -> dict[str, Any]:
    """Return the strings of the list in a reply: a JSON list, or the value of one of RAGTruth's keys.

    An item may be an object with the key ``text``, as in RAGTruth's own labels.
    """
    try:
        found = data(without_drafts(reply))
    except ValueError:
        return {}
    if isinstance(found, dict):
        found = next((found[key] for key in found if str(key).lower() in _LIST), None)
    if not isinstance(found, list):
        return {}
    return {"hallucinated": [one.get("text", one) if isinstance(one, dict) else one for one in found]}
