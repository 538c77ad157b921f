"""Read a proposal request: scored instructions, the current one, and the errors it reports."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ...text.lexicons import hits
from ...text.terms import latin_names, numbers
from .criteria import BANK, Criterion, instruction_sentences
from .labels import meaning_of

__all__ = ["Scored", "Story", "bank_sentence", "extra_sentences", "needs", "normal", "read_story"]

_SCORE: Final = re.compile(
    r"(?:resulting\s+)?(?:score|得分|分数|评分)(?:\s*#\d+)?[`*\"']*\s*[:：=]\s*(-?\d+(?:\.\d+)?)\s*%?[»\"]*",
    re.I,
)
_LABEL: Final = re.compile(
    r"^[^\na-z\u4e00-\u9fff]*(?:text|instruction|instructions|prompt|candidate|指令|提示|文本)(?:\s*#?\d+)?\s*[:：]\s*",
    re.I | re.M,
)
_PREFIX: Final = re.compile(r"^[^\na-z]*Prefix #\d+:.*$", re.M)
_NUMBER_MARK: Final = re.compile(r"^\s*(?:\[\d+\]\s*)?[«\"'`>|-]*\s*")
_PEOPLE: Final = re.compile(
    r"[\"“](?P<text>[^\n]{3,600}?)[\"”] is (?P<gold>[\w-]+) according to people; judged (?P<said>[\w-]+)"
)
_PEOPLE_SAY: Final = (
    r"gold(?: label)?|expected|correct(?: label| answer)?|human|true label|should be|reference label"
)
_MODEL_SAYS: Final = r"judged|got|predicted|prediction|answered|model said|judge said|but was|output"
_VALUE: Final = r"\b[\s:=\"'`*(is]*"
_GOLD: Final = re.compile(
    rf"\b(?:{_PEOPLE_SAY}){_VALUE}(?P<gold>[\w-]+)[^\n]{{0,60}}?\b(?:{_MODEL_SAYS}){_VALUE}(?P<said>[\w-]+)"
    rf"|\b(?:{_MODEL_SAYS}){_VALUE}(?P<said2>[\w-]+)[^\n]{{0,60}}?\b(?:{_PEOPLE_SAY}){_VALUE}(?P<gold2>[\w-]+)"
    r"|(?:标准|正确|应为|人工)[^\n]{0,6}?[:：为是]?\s*(?P<gold3>[\w-]+)"
    r"[^\n]{0,20}?(?:判为|预测|模型)[:：为是]*\s*(?P<said3>[\w-]+)",
    re.I,
)
_MOST_ERRORS: Final = 40
_READ: Final = 50_000  # characters of error reports that are read
_QUOTED: Final = re.compile(
    r"(?:claim|sentence|statement|声明|句子)\W{1,4}([^\n]{5,600})|[\"“]([^\n\"”]{8,600})[\"”]", re.I
)
_INSTRUCTION_FIELD: Final = re.compile(r"instruction|prompt|attempt|history|scored|candidate|指令|提示")


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One instruction with its score (None for the current one when no score is shown)."""

    text: str
    score: float | None


@dataclass(frozen=True, kw_only=True)
class Story:
    """What a proposal request shows.

    Attributes:
        basic: the current or basic instruction, or "".
        scored: instructions with scores, best first.
        errors: (claim text, "over" when something unsupported was let pass, "under" the other way, or "").
        examples: text that must never be copied into an instruction.
    """

    basic: str
    scored: tuple[Scored, ...]
    errors: tuple[tuple[str, str], ...]
    examples: str

    @property
    def shown(self) -> frozenset[str]:
        """All instructions the request shows, normalised."""
        return frozenset(normal(text) for text in (self.basic, *(s.text for s in self.scored)) if text)


def normal(text: str) -> str:
    """Return a text without case, punctuation and spacing, to compare instructions."""
    return re.sub(r"[\W_]+", "", text.casefold())


def read_story(values: dict[str, str]) -> Story:
    """Read the inputs of a proposal request by field name."""
    basic, scored, rest = "", [], []
    for name, text in values.items():
        found = _scored(text)
        lowered = name.lower()
        if found and (_INSTRUCTION_FIELD.search(lowered) or len(values) == 1):
            scored += found
        elif "instruction" in lowered and not re.search("attempt|previous|histor|scored", lowered):
            basic = basic or text.strip()
        else:
            rest.append(text)
    scored.sort(key=lambda s: -(s.score or 0.0))
    examples = "\n\n".join(rest)
    return Story(
        basic=basic, scored=tuple(scored), errors=_errors(examples)[:_MOST_ERRORS], examples=examples
    )


def _scored(text: str) -> list[Scored]:
    try:
        rows = json.loads(text)
    except ValueError:
        rows = None
    if isinstance(rows, list) and rows and all(isinstance(row, dict) and "score" in row for row in rows):
        bodies = [(str(row.get("instruction", row.get("text", ""))), row["score"]) for row in rows]
        return [Scored(text=t, score=float(s)) for t, s in bodies if t and isinstance(s, (int, float))]
    found, at = [], 0
    marks = list(_SCORE.finditer(text))
    first_below = bool(marks) and not text[: marks[0].start()].strip(" \n\t-*#[]0123456789.«")
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        block = text[mark.end() : end] if first_below else text[at : mark.start()]
        at = mark.end()
        body = _body(block)
        if body:
            found.append(Scored(text=body, score=float(mark.group(1))))
    return found


def _body(block: str) -> str:
    """Cut a block down to the instruction in it: after its label, without list marks and prefixes."""
    labels = list(_LABEL.finditer(block))
    block = block[labels[-1].end() :] if labels else block
    block = _PREFIX.sub("", block)
    lines = [line.rstrip() for line in block.strip().splitlines()]
    text = "\n".join(line for line in lines if line.strip(" -=*_|[]«»0123456789")).strip()
    return _NUMBER_MARK.sub("", text).rstrip(" |»\"'`-\n")


def _direction(gold: str, said: str) -> str:
    meant, told = _side(gold), _side(said)
    if meant == told:
        return ""
    return "over" if meant < told else "under"


def _side(label: str) -> float:
    return meaning_of(label.strip(" .,;:\"'").lower()).support


def _errors(text: str) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for match in _PEOPLE.finditer(text[:_READ]):
        found.append((match["text"], _direction(match["gold"], match["said"])))
    if found:
        return tuple(found)
    for record in re.split(r"\n\s*\n|\n(?=#{1,2} )|\n(?=Example \d)", text[:_READ]):
        claim = _QUOTED.search(record)
        body = (claim.group(1) or claim.group(2)) if claim else record[-400:]
        for match in islice(_GOLD.finditer(record), _MOST_ERRORS):
            gold = match["gold"] or match["gold2"] or match["gold3"] or ""
            said = match["said"] or match["said2"] or match["said3"] or ""
            if gold.lower() != said.lower():
                found.append((body, _direction(gold, said)))
    return tuple(found)


def needs(story: Story) -> Counter[str]:
    """Return how strongly the reported errors call for each criterion (0 or more, one per error)."""
    wanted: Counter[str] = Counter()
    for claim, direction in story.errors:
        marks = _marks(claim)
        for criterion in BANK:
            if criterion.fixes and direction and criterion.fixes != direction:
                continue
            if criterion.feature in marks:
                wanted[criterion.name] += 2
            elif criterion.fixes == direction and direction and not _signalled(criterion):
                wanted[criterion.name] += 1
    return wanted


def _signalled(criterion: Criterion) -> bool:
    """Whether a criterion answers to a mark of the claim's wording (others only answer to the direction)."""
    return bool(criterion.feature) and not criterion.feature.startswith("cov_")


_WORDING: Final = (
    "evaluative", "hedge", "causal", "emotion", "advice", "summary", "impact", "inference", "filler",
)  # fmt: skip


def _marks(claim: str) -> frozenset[str]:
    lowered = claim.lower()
    marks = {name for name in _WORDING if hits(name, lowered)}
    if numbers(claim):
        marks.add("number_missing")
    if latin_names(claim):
        marks.add("name_missing")
    if hits("negation", lowered):
        marks |= {"negation_gap", "negated"}
    if re.search(r"\b(?:customer|agent|caller)\b|客户|客服", lowered):
        marks.add("other_side")
    if claim.rstrip().endswith(("?", "？")):
        marks.add("question")
    return frozenset(marks)


_BANK_NAMES: Final = {normal(text): c.name for c in BANK for text in (c.english, c.chinese)}


def bank_sentence(sentence: str) -> str:
    """Return the name of the criterion whose own wording this sentence is, or ""."""
    return _BANK_NAMES.get(normal(sentence), "")


def extra_sentences(story: Story) -> list[tuple[str, float]]:
    """Return the sentences that scored instructions add to the best one, with the best score they had."""
    examples = normal(story.examples[:_READ])
    base = {
        normal(s)
        for s in instruction_sentences(story.basic or (story.scored[0].text if story.scored else ""))
    }
    best: dict[str, tuple[str, float]] = {}
    for item in story.scored:
        for sentence in instruction_sentences(item.text):
            key = normal(sentence)
            if key and key not in base and key not in best and key not in examples:
                best[key] = (sentence, item.score or 0.0)
    return list(best.values())
