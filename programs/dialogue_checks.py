"""What an exchange must fulfil before it is kept. Every fault is one sentence that the model can act on.

*Uses the reference* means two things, both measured with the content words (stems, character pairs) of the
offline engine's text index, which needs no model: the idf-weighted share of the message's content words that the
reference holds is at least :data:`USED`, and at least :data:`NEW` of them are not simply taken from the user's
message. With these bounds, 93 % of 185 assistant turns of the public CogniBench dialogues and 95 % of the 84
bundled ones pass against their own reference, and 0.6 % and 0.0 % against the reference of another dialogue.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from ..errors import UsageError
from ..text.evidence import index_evidence, term_set
from ..text.wording import count_words, is_chinese

Turn: TypeAlias = dict[str, str]
"""``{"role": "user" | "assistant", "content": str}``."""
CHECKS: Final = ("readable", "language", "length", "grounded")
"""What an exchange is checked for: one message of each speaker that was not said before, in the right language, of
the right length, and using the reference without copying it."""

USED: Final = 0.2
"""The least share of a message's content words, weighted by rarity, that the reference must hold."""
NEW: Final = 3
"""The least number of the reference's content words in a message that the user did not say."""
COPIED: Final = 0.8
"""The share of the reference's runs of words from which on a message is a copy of the whole reference."""
_RUN: Final = 6  # words (or Chinese characters) of a run
_LONG_QUESTION: Final = 120
_ROLE: Final = re.compile(
    r"<\s*(?:/\s*)?(?:user|assistant)\s*>|^[^\S\n]*(?:user|assistant|用户|助手)\s*[:：]", re.I | re.M
)
_RANGE: Final = re.compile(r"\s*(\d+)\s*(?:[-–:]\s*(\d+)\s*)?")
_NAMES: Final = {"en": "English", "zh": "Chinese"}
_TOKEN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]|[^\W_]+")


@dataclass(frozen=True)
class Range:
    """Whole numbers from ``low`` to ``high``, both included."""

    low: int
    high: int

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def range_of(text: str, option: str) -> Range:
    """Return ``3`` or ``2-5`` as a range."""
    match = _RANGE.fullmatch(text)
    if not match:
        raise UsageError(f"{option} {text!r} is no number and no range", hint="write it as 3 or 2-5")
    low, high = int(match[1]), int(match[2] or match[1])
    if not 1 <= low <= high:
        raise UsageError(f"{option} {text!r} is an empty range", hint="write it as MIN-MAX, from 1 on")
    return Range(low, high)


class Fault(NamedTuple):
    """What is wrong with an exchange: the check that says no, and a sentence that the model can act on."""

    check: str
    complaint: str


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What every exchange of a dialogue must be like.

    Attributes:
        reference: the only source of facts.
        language: ``en`` or ``zh``.
        words: length of every assistant message; each Chinese character is a word.
    """

    reference: str
    language: str
    words: Range

    @property
    def language_name(self) -> str:
        """The language as prompts name it."""
        return _NAMES[self.language]

    @property
    def unit(self) -> str:
        """What length is counted in."""
        return "characters" if self.language == "zh" else "words"

    @property
    def length(self) -> str:
        """The length as prompts name it."""
        low, high = self.words.low, self.words.high
        return f"{low} {self.unit}" if low == high else f"between {low} and {high} {self.unit}"


def coverage(reference: str, message: str) -> float:
    """Return the idf-weighted share of a message's content words that the reference holds, 0 to 1."""
    return index_evidence(reference).coverage(term_set(message))


def faults(asked: Exchange, turns: Sequence[Turn], user: str, assistant: str) -> tuple[Fault, ...]:
    """Return what is wrong with an exchange after ``turns``; empty if nothing is."""
    found: list[Fault] = []
    earlier = {_flat(turn["content"]) for turn in turns}
    for name, text in (("user", user), ("assistant", assistant)):
        if not text.strip():
            found.append(Fault("readable", f"The {name}'s message is empty."))
        elif _ROLE.search(text):
            told = f"The {name}'s message holds another speaker's turn; write one message only."
            found.append(Fault("readable", told))
        elif _flat(text) in earlier:
            found.append(Fault("readable", f"The {name}'s message was said before; write another."))
        elif is_chinese(text) != (asked.language == "zh"):
            found.append(Fault("language", f"The {name}'s message is not in {asked.language_name}."))
    if found:
        return tuple(found)
    return (*_length_faults(asked, user, assistant), *_reference_faults(asked.reference, user, assistant))


def _length_faults(asked: Exchange, user: str, assistant: str) -> list[Fault]:
    found = []
    if count_words(user) > _LONG_QUESTION:
        found.append(Fault("length", "The user's message is too long; write one or two sentences."))
    words = count_words(assistant)
    if words not in asked.words:
        way = "longer" if words < asked.words.low else "shorter"
        told = f"The assistant's message has {words} {asked.unit}; write a {way} one, {asked.length}."
        found.append(Fault("length", told))
    return found


def _reference_faults(reference: str, user: str, assistant: str) -> list[Fault]:
    evidence, said = index_evidence(reference), term_set(assistant)
    told = ""
    if evidence.coverage(said) < USED or len((said - term_set(user)) & evidence.places.keys()) < NEW:
        told = "The assistant's message hardly uses the reference; answer from what the reference says."
    elif _copied(reference, assistant) >= COPIED:
        told = "The assistant's message copies the whole reference; answer in other words, and only what is asked."
    return [Fault("grounded", told)] if told else []


def _copied(reference: str, message: str) -> float:
    """Return the share of the reference's runs of six words that the message repeats."""
    runs = _runs(reference)
    return len(runs & _runs(message)) / len(runs) if runs else 0.0


def _runs(text: str) -> set[tuple[str, ...]]:
    tokens = [token.lower() for token in _TOKEN.findall(text)]
    return {tuple(tokens[i : i + _RUN]) for i in range(len(tokens) - _RUN + 1)}


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
