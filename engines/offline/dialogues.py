"""The conversing role: exchanges about a reference, made from its sentences by rules.

Asked for ``assistant_message`` (and perhaps ``user_message``), it picks sentences of the reference that the
earlier turns do not cover yet, makes a question from the first of them, and answers with their facts, lightly
reworded. When facts run out before the length is reached, it goes on with statements of its own: inferences and
evaluations from templates. Above temperature 0 some of these are not grounded and some figures are altered, at
rates that grow with the temperature (:data:`INVENTED`, :data:`UNGROUNDED`), because models do so too. It writes
from what it read and understands nothing.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...text.evidence import Evidence, index_evidence, term_set
from ...text.lexicons import STOP_WORDS
from ...text.terms import neutralise, sentences
from ...text.wording import count_words, is_chinese
from .phrasing import cognitive, question_about, reworded, subject_of
from .request import Ask

__all__ = ["INVENTED", "UNGROUNDED", "converse", "is_conversation"]

INVENTED: Final = 0.15
"""The chance, at temperature 1, that a fact with a figure is told with another figure."""
UNGROUNDED: Final = 0.6
"""The chance, at temperature 1, that a statement of its own has no ground in the reference."""
_ASSISTANT: Final = "assistant_message"
_USER: Final = "user_message"
_LENGTH: Final = re.compile(r"(\d+)(?:\D+(\d+))?")
_TOLD: Final = 0.6  # share of a sentence's content words in earlier answers from which on it was told
_DEFAULT: Final = (40, 120)
_MOST_FACTS: Final = 4
_AGAIN: Final = 0.7  # of the shortest length, in facts that were told before
_MOST_OWN: Final = 6  # statements of its own in one answer


@dataclass(frozen=True, kw_only=True)
class _Desk:
    """What one exchange is written from."""

    lines: Sequence[str]
    evidence: Evidence
    told: frozenset[str]
    topic: frozenset[str]
    chinese: bool
    turn: int
    blamed: bool
    heat: float
    rng: random.Random


def is_conversation(ask: Ask) -> bool:
    """Say whether a request is for a turn of a conversation."""
    return any(field.name == _ASSISTANT for field in ask.outputs)


def converse(ask: Ask, heat: float, rng: random.Random) -> dict[str, str]:
    """Return the messages that a request asks for, by output field.

    Args:
        ask: the request, with ``reference``, ``dialogue`` and ``length``.
        heat: the temperature; at 0 nothing is drawn and nothing is ungrounded on purpose.
        rng: of the draws.
    """
    reference, dialogue = ask.values.get("reference", ""), ask.values.get("dialogue", "")
    wanted = ask.values.get("language", "")
    desk = _Desk(
        lines=_lines(reference),
        evidence=index_evidence(reference),
        told=frozenset().union(*(term_set(line) for line in sentences(_said(dialogue))), frozenset()),
        topic=term_set(ask.values.get("topic", "")),
        chinese=wanted == "Chinese" or (wanted == "" and is_chinese(reference)),
        turn=len(re.findall(r"^user:", dialogue, flags=re.M)),
        blamed="uses the reference" in ask.values.get("complaint", ""),
        heat=heat,
        rng=rng,
    )
    low, high = _length(ask.values.get("length", ""))
    given = ask.values.get(_USER, "")
    if given:
        question, order = given, _by_question(desk, given)
    else:
        order = _by_novelty(desk)
        question, first = _question(desk, order, dialogue)
        order = [first, *(place for place in order if place != first)]
    answer = _answer(desk, order, low, high)
    found = {_USER: question, _ASSISTANT: answer}
    return {field.name: neutralise(found.get(field.name, "")) for field in ask.outputs}


def _lines(reference: str) -> list[str]:
    """Return the sentences of the reference, headings and fragments left out where there are others."""
    found = [line for line in sentences(reference) if count_words(line) >= 4 and not line.startswith("#")]
    return found or sentences(reference) or [reference.strip() or "-"]


def _said(dialogue: str) -> str:
    """Return what the assistant said before."""
    parts = re.split(r"^(user|assistant):", dialogue, flags=re.M)
    return "\n".join(
        text for role, text in zip(parts[1::2], parts[2::2], strict=False) if role == "assistant"
    )


def _length(wish: str) -> tuple[int, int]:
    match = _LENGTH.search(wish)
    if not match:
        return _DEFAULT
    low = int(match[1])
    return low, max(low, int(match[2] or low))


def _fresh(desk: _Desk, line: str) -> bool:
    terms = term_set(line)
    return not terms or len(terms & desk.told) / len(terms) < _TOLD


def _by_novelty(desk: _Desk) -> list[int]:
    """Return the places of the sentences: untold ones first, those about the topic before others.

    The text's own order decides; above temperature 0 a later turn may start a little further on. When everything
    was told, later turns come back to other sentences.
    """
    fresh = [place for place, line in enumerate(desk.lines) if _fresh(desk, line)]
    told = [place for place in range(len(desk.lines)) if place not in set(fresh)]
    if desk.topic & desk.evidence.places.keys():
        fresh.sort(key=lambda place: (not desk.topic & term_set(desk.lines[place]), place))
    if desk.heat > 0 and fresh and desk.turn:
        start = desk.rng.randrange(min(len(fresh), 3))
        fresh = fresh[start:] + fresh[:start]
    back = desk.turn % max(1, len(told))
    return fresh + told[back:] + told[:back]


def _by_question(desk: _Desk, question: str) -> list[int]:
    """Return the places of the sentences, those that share most with the question first."""
    wanted = term_set(question)

    def fit(place: int) -> float:
        shared = wanted & term_set(desk.lines[place])
        return sum(desk.evidence.weight(term) for term in sorted(shared))

    return sorted(
        range(len(desk.lines)), key=lambda place: (-fit(place), not _fresh(desk, desk.lines[place]), place)
    )


def _question(desk: _Desk, order: list[int], dialogue: str) -> tuple[str, int]:
    """Return a question that was not asked before, and the place of the sentence that it is about."""
    make = partial(question_about, chinese=desk.chinese)
    for place in order:
        question = make(desk.lines[place], _key(desk, place), first=not desk.turn)
        if question.lower() not in dialogue.lower():
            return question, place
    first = order[0]
    return make(desk.lines[first], _key(desk, first), first=False, number=desk.turn), first


def _key(desk: _Desk, place: int) -> str:
    """Return what a sentence is about: its subject, else that of the nearest one before, else its rarest words."""
    for line in (desk.lines[place], *reversed(desk.lines[:place])):
        subject = subject_of(line, chinese=is_chinese(line))
        if subject:
            return subject
    line = desk.lines[place]
    if is_chinese(line):
        return re.split("[，。；、]", line)[0][:8]
    words = re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", line)
    rare = [word for word in words if word.lower() not in STOP_WORDS and len(word) > 3]
    return " ".join(rare[:3]) or line[:12]


def _answer(desk: _Desk, order: list[int], low: int, high: int) -> str:
    """Return facts until they run out or suffice, then statements of its own up to the length."""
    facts, keys = _facts(desk, order, low, high)
    text = _trimmed(facts, high)
    for number in range(_MOST_OWN):
        if _words(text) >= low and (number or desk.blamed):
            break
        grounded = not (desk.heat > 0 and desk.rng.random() < UNGROUNDED * desk.heat)
        wording = desk.turn + number if desk.heat == 0 else desk.rng.randrange(1000)
        own = cognitive(keys[number % len(keys)], wording, grounded=grounded, chinese=desk.chinese)
        if own not in text and _words([*text, own]) <= high:
            text.append(own)
    return ("" if desk.chinese else " ").join(text)


def _facts(desk: _Desk, order: list[int], low: int, high: int) -> tuple[list[str], list[str]]:
    """Return facts, and what each is about.

    New ones up to a quarter of the range of lengths; of those told before no more than the shortest length needs
    beside statements of its own, or all of that if it was blamed for using the reference too little.
    """
    facts: list[str] = []
    keys: list[str] = []
    for place in order:
        line = desk.lines[place]
        fact = reworded(line, len(facts), chinese=is_chinese(line))
        length = _words([*facts, fact])
        new = _fresh(desk, line) and len(facts) < _MOST_FACTS
        if facts and (length > (low + (high - low) // 4 if new else low * (1.0 if desk.blamed else _AGAIN))):
            break
        if desk.heat > 0 and desk.rng.random() < INVENTED * desk.heat:
            fact = _altered(fact, desk.rng)
        facts.append(fact)
        keys.append(_key(desk, place))
    return facts, keys


def _words(parts: Sequence[str]) -> int:
    return sum(map(count_words, parts))


def _trimmed(facts: list[str], high: int) -> list[str]:
    """Cut a single fact that alone is too long at a comma."""
    if _words(facts) <= high:
        return facts
    kept: list[str] = []
    for part in re.split(r"(?<=[,;，；、])", facts[0]):
        if kept and count_words("".join([*kept, part])) > high:
            break
        kept.append(part)
    body = "".join(kept).rstrip(" ,;，；、")
    return [body + ("。" if is_chinese(body) else "." if body[-1:] not in ".!?" else "")]


def _altered(fact: str, rng: random.Random) -> str:
    """Return a fact with one figure changed; unchanged if it has none."""
    figures = list(re.finditer(r"\d+", fact))
    if not figures:
        return fact
    chosen = figures[rng.randrange(len(figures))]
    value = int(chosen.group()[:9])
    other = value + rng.choice((1, 2, 3, 5)) * (1 if value < 10 or rng.random() < 0.5 else -1)
    return fact[: chosen.start()] + str(max(1, other)) + fact[chosen.end() :]
