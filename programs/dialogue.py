"""Conversations grounded in documents, written exchange by exchange and checked exchange by exchange.

RefGPT, which CogniBench builds on (its section 2.1), writes a whole dialogue in one call. Here every exchange is
a call of its own: a fault costs one exchange and not the dialogue, every exchange is checked before the next one
rests on it, and the history grows as it does in use, which is what Figures 5 and 7 of the paper are about. The
price is that the reference is sent once a turn. An exchange that fails a check is asked again with the
complaint; if it fails three times, the whole dialogue is rejected with its reasons, never kept.

*Uses the reference* means two things, both measured with the content words (stems, character pairs) of the
offline engine's text index, which needs no model: the idf-weighted share of the message's content words that the
reference holds is at least :data:`USED`, and at least :data:`NEW` of them are not simply taken from the user's
message. With these bounds, 93 % of 185 assistant turns of the public CogniBench dialogues and 95 % of the 84
bundled ones pass against their own reference, and 0.6 % and 0.0 % against the reference of another dialogue.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import dspy
import pydantic
from dspy import AdapterParseError

from ..cases import Case
from ..errors import UsageError
from ..evaluation.checked_items import Check, CheckedItem
from ..signatures.cognibench import Dialogue, NextTurn, Reply
from ..text.escaping import defuse, well_formed
from ..text.evidence import index_evidence, term_set
from ..text.ranking import words
from ..text.turns import dialogue_text
from ..text.wording import count_words, is_chinese, language_of, normalised
from .generator import Generator, make_answerer
from .stepwise import Steps, Stepwise

Turn: TypeAlias = dict[str, str]
"""``{"role": "user" | "assistant", "content": str}``."""
CHECKS: Final = ("readable", "language", "length", "grounded")
"""The checks of an exchange: one message of each speaker that was not said before, in the right language, of
the right length, and using the reference without copying it."""

USED: Final = 0.2
"""The least share of a message's content words, weighted by rarity, that the reference must hold."""
NEW: Final = 3
"""The least number of the reference's content words in a message that the user did not say."""
COPIED: Final = 0.8
"""The share of the reference's runs of words from which on a message is a copy of the whole reference."""
ATTEMPTS: Final = 3
"""The most requests for one exchange."""
_RUN: Final = 6  # words (or Chinese characters) of a run
_LONG_QUESTION: Final = 120
_ROLE: Final = re.compile(
    r"<\s*(?:/\s*)?(?:user|assistant)\s*>|^[^\S\n]*(?:user|assistant|用户|助手)\s*[:：]", re.I | re.M
)
_RANGE: Final = re.compile(r"\s*(\d+)\s*(?:[-–:]\s*(\d+)\s*)?")


class Range(NamedTuple):
    """Whole numbers from ``low`` to ``high``, both included."""

    low: int
    high: int

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}-{self.high}"


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
    """A fault of an exchange: the check that says no, and a sentence that the model can act on."""

    check: str
    complaint: str


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The requirements of every exchange of a dialogue."""

    reference: str  # the only source of facts
    language: str  # ``en`` or ``zh``
    words: Range  # of every assistant message; each Chinese character is a word

    @property
    def language_name(self) -> str:
        """The language as prompts name it."""
        return "Chinese" if self.language == "zh" else "English"

    @property
    def unit(self) -> str:
        """The unit in which length is counted."""
        return "characters" if self.language == "zh" else "words"

    @property
    def length(self) -> str:
        """The length as prompts name it."""
        low, high = self.words
        if low == high:
            return f"{low} {self.unit}"
        return f"between {low} and {high} {self.unit}"


def find_faults(exchange: Exchange, turns: Sequence[Turn], user: str, assistant: str) -> Iterator[Fault]:
    """Yield the faults of an exchange after ``turns``, the plainest first."""
    earlier_messages = {normalised(turn["content"]) for turn in turns}
    for name, text in (("user", user), ("assistant", assistant)):
        if not text.strip():
            yield Fault("readable", f"The {name}'s message is empty.")
        if _ROLE.search(text):
            complaint = f"The {name}'s message holds another speaker's turn; write one message only."
            yield Fault("readable", complaint)
        if normalised(text) in earlier_messages:
            yield Fault("readable", f"The {name}'s message was said before; write another.")
        if is_chinese(text) != (exchange.language == "zh"):
            yield Fault("language", f"The {name}'s message is not in {exchange.language_name}.")
    if count_words(user) > _LONG_QUESTION:
        yield Fault("length", "The user's message is too long; write one or two sentences.")
    length = count_words(assistant)
    if not exchange.words.low <= length <= exchange.words.high:
        way = "longer" if length < exchange.words.low else "shorter"
        complaint = (
            f"The assistant's message has {length} {exchange.unit}; write a {way} one, {exchange.length}."
        )
        yield Fault("length", complaint)
    if not _uses_reference(exchange.reference, user, assistant):
        complaint = "The assistant's message hardly uses the reference; answer from what the reference says."
        yield Fault("grounded", complaint)
    runs = _runs_of_words(exchange.reference)
    if runs and len(runs & _runs_of_words(assistant)) / len(runs) >= COPIED:
        complaint = "The assistant's message copies the whole reference; answer in other words, and only what is asked."
        yield Fault("grounded", complaint)


def _uses_reference(reference: str, user: str, assistant: str) -> bool:
    """Return whether the assistant's message holds enough content words of the reference, new ones among them."""
    evidence = index_evidence(reference)
    terms = term_set(assistant)
    new_terms = (terms - term_set(user)) & evidence.places.keys()
    return evidence.coverage(terms) >= USED and len(new_terms) >= NEW


def _runs_of_words(text: str) -> set[tuple[str, ...]]:
    tokens = words(text)
    return {tuple(tokens[start : start + _RUN]) for start in range(len(tokens) - _RUN + 1)}


_UNREADABLE = Fault(
    "readable", "The reply could not be read; give every output field in the form that is asked for."
)


class WriteDialogue(Stepwise):
    """Writes a whole dialogue, exchange by exchange; see :class:`~jurist.signatures.cognibench.NextTurn`.

    Its item is ``{"turns": [...], "asked_again": int, "reasons": [...]}``: of a rejected dialogue, the turns that
    passed, and the complaints about the exchange that was given up, one text an attempt.
    """

    def __init__(self) -> None:
        super().__init__()
        self.speak = dspy.Predict(NextTurn)

    def steps(self, **inputs: Any) -> Steps:
        """Ask for each exchange until it has no fault, as often as is allowed."""
        exchange = Exchange(
            reference=inputs["reference"],
            language=inputs["language"],
            words=range_of(inputs["words"], "words"),
        )
        prompt_inputs = {
            "reference": exchange.reference,
            "topic": inputs["topic"],
            "language": exchange.language_name,
            "length": exchange.length,
        }
        turns: list[Turn] = []
        asked_again = 0
        for _ in range(inputs["turns"]):
            faults: list[Fault] = []
            while len(faults) < ATTEMPTS:
                complaint = faults[-1].complaint if faults else ""
                context = defuse({**prompt_inputs, "dialogue": dialogue_text(turns), "complaint": complaint})
                try:
                    reply = yield self.speak, context
                except AdapterParseError:
                    faults.append(_UNREADABLE)
                    continue
                user, assistant = _clean(reply.user_message), _clean(reply.assistant_message)
                fault = next(find_faults(exchange, turns, user, assistant), None)
                if fault is not None:
                    faults.append(fault)
                    continue
                turns.append({"role": "user", "content": user})
                turns.append({"role": "assistant", "content": assistant})
                break
            asked_again += len(faults)
            if len(faults) == ATTEMPTS:
                return _as_prediction(turns, asked_again, faults)
        return _as_prediction(turns, asked_again, [])


def _clean(message: object) -> str:
    """Return a message of a reply without white space around it and without characters that no text can hold."""
    return well_formed(str(message or "")).strip()


def _as_prediction(turns: list[Turn], asked_again: int, faults: Sequence[Fault]) -> dspy.Prediction:
    """Return the item of a dialogue with its checks; ``faults`` are those of an exchange that was given up."""
    checks = dict.fromkeys(CHECKS, Check(verdict="yes"))
    if faults:
        check, complaint = faults[-1]
        checks[check] = Check(verdict="no", reason=complaint)
    reasons = [fault.complaint for fault in faults]
    item = {"turns": turns, "asked_again": asked_again, "reasons": reasons}
    return dspy.Prediction(written=[item], checks=[checks])


class DialogueRow(pydantic.BaseModel, extra="ignore"):
    """One dialogue to be written; of a document that says no more than its text, with the usual turns and length."""

    reference: str
    id: str = ""
    group: str = ""
    title: str = ""
    topic: str = ""
    language: Literal["", "en", "zh"] = ""
    words: str = "40-200"
    turns: int = 3
    source: str = ""
    draw: int = 0


def _case_of_document(row: DialogueRow) -> Case:
    inputs = {
        "reference": row.reference,
        "topic": row.title or row.topic,
        "language": row.language or language_of(row.reference),
        "words": row.words,
        "turns": row.turns,
        "id": row.id,
        "title": row.title,
        "area": row.topic,
    }
    return Case(
        inputs=inputs,
        group=row.group or row.id,
        gold=(DIALOGUE.checked.scale.expected,),
        source=row.source,
        draw=row.draw,
    )


def _row_of_dialogue(case: Case, item: CheckedItem, number: int) -> dict[str, object]:
    """Return a dialogue as one row, with the reasons of one that was rejected."""
    inputs, written = case.inputs, item.data
    return {
        "id": inputs["id"] or case.group,
        "group": case.group,
        "topic": inputs["area"] or inputs["topic"],
        "title": inputs["title"],
        "language": inputs["language"],
        "reference": inputs["reference"],
        "turns": written["turns"],
        "reasons": written["reasons"],
        "provenance": {"asked_again": written["asked_again"]},
    }


DIALOGUE = Generator(
    name="dialogue",
    case_nouns=("dialogue", "dialogues"),
    signature=Dialogue,
    program=WriteDialogue,
    checks=CHECKS,
    rows=DialogueRow,
    to_case=_case_of_document,
    to_row=_row_of_dialogue,
    most_calls=ATTEMPTS * 3,
    case_calls=lambda case: (case.inputs["turns"], ATTEMPTS * case.inputs["turns"]),
    temperature=0.7,
    description="conversations grounded in a document, checked exchange by exchange (CogniBench, RefGPT)",
    bundled="cognibench-mini",
)


RESPOND = make_answerer("respond", Reply)
"""Answers to messages about a reference; what they are worth is for others to judge."""
