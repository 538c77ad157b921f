"""Conversations grounded in documents, written exchange by exchange and checked exchange by exchange.

RefGPT, which CogniBench builds on (its section 2.1), writes a whole dialogue in one call. Here every exchange is
a call of its own: a fault costs one exchange and not the dialogue, every exchange is checked before the next one
rests on it, and the history grows as it does in use, which is what Figures 5 and 7 of the paper are about. The
price is that the reference is sent once a turn. An exchange that fails a check is asked again with the
complaint; if it fails as often as is allowed, the whole dialogue is rejected with its reasons, never kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import dspy
import pydantic
from dspy.utils.exceptions import AdapterParseError

from ..cases import Case
from ..evaluation.checked_items import Check, CheckedItem
from ..signatures.dialogue import Dialogue, NextTurn, Reply
from ..text.escaping import defuse, well_formed
from ..text.wording import is_chinese
from .dialogue_checks import CHECKS, Exchange, Fault, Turn, coverage, faults, range_of
from .generator import Generator, answering
from .stepwise import Steps, Stepwise

_UNREADABLE = Fault(
    "readable", "The reply could not be read; give every output field in the form that is asked for."
)


def rendered(turns: Sequence[Mapping[str, str]]) -> str:
    """Return earlier turns as text: ``role: content``, one turn a paragraph."""
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns)


class WriteDialogue(Stepwise):
    """Writes a whole dialogue, exchange by exchange; see :class:`~jurist.signatures.dialogue.NextTurn`.

    Its item is ``{"turns": [...], "asked_again": int, "reasons": [...]}``: of a rejected dialogue, the turns that
    passed, and the complaints about the exchange that was given up, one text an attempt.
    """

    def __init__(self, attempts: int = 3) -> None:
        super().__init__()
        self.attempts = attempts
        self.speak = dspy.Predict(NextTurn)

    def steps(self, **inputs: Any) -> Steps:
        """Ask for each exchange until it has no fault, as often as is allowed."""
        asked = Exchange(
            reference=inputs["reference"],
            language=inputs["language"],
            words=range_of(inputs["words"], "words"),
        )
        shown = {
            "reference": asked.reference,
            "topic": inputs["topic"],
            "language": asked.language_name,
            "length": asked.length,
        }
        turns: list[Turn] = []
        again = 0
        for _ in range(inputs["turns"]):
            complaints: list[tuple[Fault, ...]] = []
            while len(complaints) < self.attempts:
                last = _words(complaints[-1]) if complaints else ""
                given = defuse({**shown, "dialogue": rendered(turns), "complaint": last})
                try:
                    said = yield self.speak, given
                except AdapterParseError:
                    complaints.append((_UNREADABLE,))
                    continue
                user, assistant = _text(said.user_message), _text(said.assistant_message)
                if wrong := faults(asked, turns, user, assistant):
                    complaints.append(wrong)
                    continue
                turns += {"role": "user", "content": user}, {"role": "assistant", "content": assistant}
                break
            again += len(complaints)
            if len(complaints) == self.attempts:
                return _written(turns, again, complaints)
        return _written(turns, again, [])


def _words(faults: Sequence[Fault]) -> str:
    return " ".join(fault.complaint for fault in faults)


def _text(value: Any) -> str:
    return well_formed(str(value or "")).strip()


def _written(turns: list[Turn], again: int, complaints: Sequence[tuple[Fault, ...]]) -> dspy.Prediction:
    reasons = [_words(faults) for faults in complaints]
    failed = {fault.check for fault in complaints[-1]} if complaints else set()
    checks = {
        name: Check(verdict="no", reason=reasons[-1]) if name in failed else Check(verdict="yes")
        for name in CHECKS
    }
    item = {"turns": turns, "asked_again": again, "reasons": reasons}
    return dspy.Prediction(items=[item], checks=[checks])


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


def _case(row: DialogueRow) -> Case:
    inputs = {
        "reference": row.reference,
        "topic": row.topic or row.title,
        "language": row.language or ("zh" if is_chinese(row.reference) else "en"),
        "words": row.words,
        "turns": row.turns,
        "id": row.id,
        "title": row.title,
    }
    return Case(
        inputs=inputs,
        group=row.group or row.id,
        gold=(DIALOGUE.checked.scale.expected,),
        source=row.source,
        draw=row.draw,
    )


def _row(case: Case, item: CheckedItem, number: int) -> dict[str, Any]:
    """Return a dialogue as one row, with the reasons of one that was rejected."""
    inputs, found = case.inputs, item.data
    row: dict[str, Any] = {
        "id": inputs["id"] or case.group,
        "group": case.group,
        "topic": inputs["topic"],
        "title": inputs["title"],
        "language": inputs["language"],
        "reference": inputs["reference"],
        "turns": found["turns"],
        "reasons": found["reasons"],
        "provenance": {"asked_again": found["asked_again"]},
    }
    if item.passed:
        row["coverage"] = [
            round(coverage(inputs["reference"], turn["content"]), 4)
            for turn in found["turns"]
            if turn["role"] == "assistant"
        ]
    return row


def dialogue_generator(attempts: int = 3, turns: int = 3) -> Generator:
    """Return the generator of dialogues."""
    return Generator(
        name="dialogue",
        signature=Dialogue,
        program=lambda: WriteDialogue(attempts),
        checks=CHECKS,
        rows=DialogueRow,
        to_case=_case,
        to_row=_row,
        most_calls=attempts * turns,
        case_calls=lambda case: (case.inputs["turns"], attempts * case.inputs["turns"]),
        description="conversations grounded in a document, checked exchange by exchange (CogniBench, RefGPT)",
        bundled="cognibench-mini",
    )


DIALOGUE = dialogue_generator()
"""With the usual three exchanges, each asked for up to three times."""


RESPOND = answering("respond", Reply)
"""Answers to messages about a reference; what they are worth is for others to judge."""
