"""What is wished for: how many turns, how long, about what, in which language; and the list of dialogues to make.

The plan is a pure function of documents, spec and seed: adding a document changes no other dialogue.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...errors import UsageError
from ...gold.documents import Document
from ...programs.dialogue_checks import Range
from ...text.wording import chinese_share

Language: TypeAlias = Literal["auto", "en", "zh"]
_TURNS, _WORDS = Range(3, 3), Range(40, 200)
_NAMES = {"en": "English", "zh": "Chinese"}
_MIXED = 0.1  # a document with less of a language than this has none of it


@dataclass(frozen=True, kw_only=True)
class DialogueSpec:
    """How the dialogues should be.

    Attributes:
        turns: exchanges of user and assistant; drawn from the range for each dialogue.
        words: length of every assistant message; each Chinese character is a word.
        topics: one dialogue is made for each document and topic; empty: the document's own title or topic.
        language: ``auto`` is the document's.
        copies: dialogues for each document and topic.
    """

    turns: Range = _TURNS
    words: Range = _WORDS
    topics: tuple[str, ...] = ()
    language: Language = "auto"
    copies: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes no dialogue."""
        if self.copies < 1:
            raise UsageError(f"{self.copies} dialogues a document are none", hint="give 1 or more")
        if any(not topic.strip() for topic in self.topics):
            raise UsageError("a topic is empty", hint="separate the topics by single commas")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One dialogue to be made.

    Attributes:
        id: of the dialogue: the document's id, with a number where a document has several.
        document: what it is grounded in.
        topic: what it is about; may be empty.
        turns: how many exchanges.
        words: how long every assistant message.
        language: ``en`` or ``zh``.
        draw: the sample number of all its calls: other dialogues are other draws.
    """

    id: str
    document: Document
    topic: str
    turns: int
    words: Range
    language: str
    draw: int

    def row(self) -> dict[str, Any]:
        """Return it as a row of the dialogue generator."""
        document = self.document
        return {
            "id": self.id,
            "group": document.id,
            "title": document.title,
            "topic": self.topic,
            "language": self.language,
            "reference": document.text,
            "turns": self.turns,
            "words": str(self.words),
            "source": document.source,
            "draw": self.draw,
        }


def plans(documents: Sequence[Document], spec: DialogueSpec, seed: int) -> tuple[Plan, ...]:
    """Return the dialogues to make, document by document.

    Raises:
        UsageError: two would have one id, or a document is not in the language that is wished for.
    """
    found = []
    for document in documents:
        _check_language(document, spec.language)
        topics = spec.topics or (document.title or document.topic,)
        several = len(topics) * spec.copies > 1
        for number in range(len(topics) * spec.copies):
            topic = topics[number // spec.copies]
            name = f"{document.id}-{number + 1}" if several else document.id
            chance = _chance(seed, document.id, topic, str(number % spec.copies))
            found.append(
                Plan(
                    id=name,
                    document=document,
                    topic=topic,
                    turns=spec.turns.low + chance % (spec.turns.high - spec.turns.low + 1),
                    words=spec.words,
                    language=document.language if spec.language == "auto" else spec.language,
                    draw=chance >> 32,
                )
            )
    return _distinct(found)


def _check_language(document: Document, language: Language) -> None:
    """Refuse a dialogue in another language than its document: whether it uses the document is told by its words."""
    share = chinese_share(document.text)
    if (language == "zh" and share < _MIXED) or (language == "en" and share > 1 - _MIXED):
        raise UsageError(
            f"{document.source or document.id} is not written in {_NAMES[language]}",
            hint="leave --language out: a dialogue is in the language of its document, or it could not be checked",
        )


def _distinct(found: list[Plan]) -> tuple[Plan, ...]:
    """Refuse ids that meet: a document called ``a-1`` beside two dialogues about ``a``."""
    names = Counter(plan.id for plan in found)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"two dialogues would be called {twice!r}", hint="give the documents other ids")
    return tuple(found)


def _chance(*parts: object) -> int:
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1  # 63 bits: the upper 31 are the draw
