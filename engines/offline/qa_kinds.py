"""What questions ask for and what answers are, by patterns: times, places, people, works, amounts, properties ...

Patterns of usual words, English and Chinese (data/qa.toml), not understanding: what is put another way is not found.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ...text.tables import table
from ...text.terms import is_cjk

__all__ = ["DATA", "RULES", "Rule", "Span", "asked_for", "cites", "fits_kind", "spans", "type_of"]

DATA: Final[dict[str, Any]] = table(__package__, "qa")
GAP: Final = "____"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What an instruction of a writing step must ask for, lest the step goes wrong on a ``share`` of texts."""

    name: str
    step: str
    cue: str
    fails: str
    english: str
    chinese: str
    share: float = 1.0


RULES: Final = tuple(Rule(**row) for row in DATA["rule"])


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of a sentence that a question can ask for."""

    kind: str
    sentence: str
    text: str
    start: int
    asks: str

    @property
    def question(self) -> str:
        """The sentence with a gap, and what is to be put into it."""
        end = self.start + len(self.text)
        gapped = f"{self.sentence[: self.start]}{GAP}{self.sentence[end:]}"
        return self.asks.format(text=gapped.replace('"', "'"))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def spans(sentence: str) -> list[Span]:
    """Return what can be asked for in a sentence, rare kinds first; two do not overlap."""
    language = "zh" if is_cjk(sentence) else "en"
    found: list[Span] = []
    for row in DATA["span"]:
        if row["language"] != language:
            continue
        for match in _compiled(row["pattern"]).finditer(sentence):
            groups = match.groupdict()
            name = "gap" if groups.get("gap") else "gap2"
            start, end = match.span(name)
            text = sentence[start:end].rstrip()
            if len(text) < 2 or any(start < one.start + len(one.text) and one.start < end for one in found):
                continue
            found.append(Span(kind=row["kind"], sentence=sentence, text=text, start=start, asks=row["asks"]))
    return found


def asked_for(question: str) -> str:
    """Return the kind of thing that a question asks for; empty if no pattern says so."""
    # A question with a gap says what it asks for before it quotes the sentence.
    asking = re.split('["“]', question)[0] if GAP in question else question
    lowered = asking.lower()
    return next((row["kind"] for row in DATA["asked"] if _compiled(row["cue"]).search(lowered)), "")


def cites(answer: str) -> bool:
    """Say whether an answer supports itself with a source."""
    return bool(_compiled(DATA["marks"]["citing"]).search(answer))


def fits_kind(kind: str, answer: str) -> bool:
    """Say whether an answer can be of a kind: a time holds a date, an amount a number; of others nothing is known."""
    mark = DATA["marks"].get(kind)
    return mark is None or bool(_compiled(mark).search(answer))


def type_of(question: str, answer: str, *, invented: bool = False) -> str:
    """Return the hallucination type that the rules give a wrong answer to a question."""
    kind = asked_for(question)
    if cites(answer):
        return "reference"
    if invented and kind not in ("attribute", "quantity"):
        return "fabrication"
    return str(DATA["types"].get(kind, "entity"))
