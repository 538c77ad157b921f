"""What an exchange must fulfil before it is kept. Every fault is one sentence that the model can act on.

*Uses the reference* means two things, both measured with the content words (stems, character pairs) of the
offline engine's text index, which needs no model: the idf-weighted share of the message's content words that the
reference holds is at least :data:`USED`, and at least :data:`NEW` of them are not simply taken from the user's
message. With these bounds, 93 % of 185 assistant turns of the public CogniBench dialogues and 95 % of the 84
bundled ones pass against their own reference, and 0.6 % and 0.0 % against the reference of another dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..text.evidence import index_evidence, term_set
from ..text.wording import count_words, is_chinese
from .plans import Plan

__all__ = ["COPIED", "NEW", "USED", "complaints", "coverage", "reply_complaints"]

USED: Final = 0.2
"""The least share of a message's content words, weighted by rarity, that the reference must hold."""
NEW: Final = 3
"""The least number of the reference's content words in a message that the user did not say."""
COPIED: Final = 0.8
"""The share of the reference's runs of words from which on a message is a copy of the whole reference."""
_RUN: Final = 6  # words (or Chinese characters) of a run
_LONG_QUESTION: Final = 120
_ROLE: Final = re.compile(
    r"<\s*/?\s*(?:user|assistant)\s*>|^\s*(?:user|assistant|用户|助手)\s*[:：]", re.I | re.M
)
_TOKEN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_]+")


def coverage(reference: str, message: str) -> float:
    """Return the idf-weighted share of a message's content words that the reference holds, 0 to 1."""
    return index_evidence(reference).coverage(term_set(message))


def complaints(plan: Plan, turns: Sequence[dict[str, str]], user: str, assistant: str) -> tuple[str, ...]:
    """Return what is wrong with an exchange after ``turns``; empty if nothing is."""
    faults: list[str] = []
    earlier = {_flat(turn["content"]) for turn in turns}
    for name, text in (("user", user), ("assistant", assistant)):
        if not text.strip():
            faults.append(f"The {name}'s message is empty.")
        elif _ROLE.search(text):
            faults.append(f"The {name}'s message holds another speaker's turn; write one message only.")
        elif _flat(text) in earlier:
            faults.append(f"The {name}'s message was said before; write another.")
        elif is_chinese(text) != (plan.language == "zh"):
            faults.append(f"The {name}'s message is not in {plan.language_name}.")
    if faults:
        return tuple(faults)
    if count_words(user) > _LONG_QUESTION:
        faults.append("The user's message is too long; write one or two sentences.")
    unit = "characters" if plan.language == "zh" else "words"
    words = count_words(assistant)
    if words not in plan.words:
        way = "longer" if words < plan.words.low else "shorter"
        faults.append(f"The assistant's message has {words} {unit}; write a {way} one, {plan.length}.")
    return (*faults, *reply_complaints(plan.document.text, user, assistant))


def reply_complaints(reference: str, user: str, assistant: str) -> tuple[str, ...]:
    """Return what is wrong with the way an answer uses the reference."""
    evidence, said = index_evidence(reference), term_set(assistant)
    if evidence.coverage(said) < USED or len((said - term_set(user)) & evidence.places.keys()) < NEW:
        return ("The assistant's message hardly uses the reference; answer from what the reference says.",)
    if _copied(reference, assistant) >= COPIED:
        return (
            "The assistant's message copies the whole reference; answer in other words, and only what is asked.",
        )
    return ()


def _copied(reference: str, message: str) -> float:
    """Return the share of the reference's runs of six words that the message repeats."""
    runs = _runs(reference)
    return len(runs & _runs(message)) / len(runs) if runs else 0.0


def _runs(text: str) -> set[tuple[str, ...]]:
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    return {tuple(tokens[i : i + _RUN]) for i in range(len(tokens) - _RUN + 1)}


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
