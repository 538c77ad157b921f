"""A world in which a label follows from several facts, which a model judges well one by one and badly together.

A row is a reply of a support desk, in which some of ten facts are said, each in one of many ways. People hold a reply
if at least three of the first five facts are in it; with ``law="none"`` they label by chance. The model answers a
question about one fact rightly with probability ``singly``, and its own verdict is right with probability ``together``.
Its proposer knows which facts there are. It is no language model: the same request gets the same answer each time.
"""

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FACTS", "SOURCE", "FactWorld"]

SOURCE = '''
from typing import Literal

import dspy

import jurist


class Hold(dspy.Signature):
    """Say whether a reply of the support desk may be sent."""

    reply: str = dspy.InputField()
    label: Literal["send", "hold"] = dspy.OutputField()


class Triage(dspy.Signature):
    """Say who reads a reply of the support desk before it is sent."""

    reply: str = dspy.InputField()
    label: Literal["nobody", "a colleague", "a lawyer"] = dspy.OutputField()


class Grade(dspy.Signature):
    """Say how risky a reply of the support desk is."""

    reply: str = dspy.InputField()
    score: int = dspy.OutputField(ge=1, le=5)


judge = jurist.Judge(name="hold", signature=Hold, positive="hold")
triage = jurist.Judge(name="triage", signature=Triage, positive="a lawyer")
grade = jurist.Judge(name="grade", signature=Grade)
'''
FACTS = (
    "money", "date", "blame", "secret", "lawyer", "greeting", "thanks", "link", "number", "question",
)  # fmt: skip
_LABELS: Mapping[str, Sequence[object]] = {
    "judge": ("send", "hold"),
    "triage": ("nobody", "a colleague", "a lawyer"),
    "grade": (1, 2, 3, 4, 5),
}
_PLACES: Mapping[str, Sequence[int]] = {
    "judge": (0, 0, 0, 1, 1, 1),
    "triage": (0, 0, 1, 1, 2, 2),
    "grade": (0, 1, 2, 3, 4, 4),
}
"""By the number of facts that count, the place of the label."""
_LETTERS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_LENGTH = 16  # words of a reply, whatever it says
_NAMED = re.compile(rf"\b({'|'.join(FACTS)})\b")
_NUMBERED = re.compile(r"^\s*(\d+): (.*) \((yes or no|1 to 5)\)$", re.M)
_REPLY = re.compile(r"\[\[ ## reply ## \]\]\n(.*?)(?=\n\n|\Z)", re.S)
_OUTPUTS = re.compile(r"^\d+\. `(\w+)`", re.M)


def _uniform(*parts: object) -> float:
    digest = hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") + 0.5) / 2**64


def _words_of(fact: str) -> list[str]:
    """Return the many words in which a fact is said."""
    draw = random.Random(f"words/{fact}")
    words: list[str] = []
    for _ in range(60):
        word = "".join(draw.choice(_LETTERS) + draw.choice(_VOWELS) for _ in range(4))
        words.append(word)
    return words


_WORDS: Mapping[str, Sequence[str]] = {fact: _words_of(fact) for fact in FACTS}
_FACT_OF = {word: fact for fact, words in _WORDS.items() for word in words}


@dataclass(frozen=True, kw_only=True)
class FactWorld:
    """A world.

    Attributes:
        seed: decides the rows and what the model gets wrong.
        singly: the probability with which a question about one fact is answered rightly.
        together: the probability with which the model's own verdict is right.
        law: ``count``, or ``none`` for labels by chance.
        judge: the judge of ``SOURCE`` whose labels they are: ``judge``, ``triage`` or ``grade``.
    """

    seed: int = 0
    singly: float = 0.9
    together: float = 0.65
    law: str = "count"
    judge: str = "judge"

    def rows(self, count: int, part: str = "gold") -> list[dict[str, Any]]:
        """Return labelled rows, each a group of its own; rows of two parts differ."""
        draw = random.Random(f"rows/{self.seed}/{part}")
        rows: list[dict[str, Any]] = []
        for number in range(count):
            words = [f"n{part}{number}"]
            for fact in FACTS:
                if draw.random() < 0.5:
                    words.append(draw.choice(_WORDS[fact]))
            while len(words) < _LENGTH:
                words.append(f"{draw.choice(_LETTERS)}{draw.choice(_VOWELS)}x")
            draw.shuffle(words)
            reply = " ".join(words)
            label: object = self.label(reply)
            if self.law == "none":
                label = draw.choice(_LABELS[self.judge])
            reason = ", ".join(sorted(self.facts_in(reply)))
            answer = "score" if self.judge == "grade" else "label"
            rows.append({"reply": reply, answer: label, "group": f"{part}{number}", "reason": reason})
        return rows

    def facts_in(self, reply: str) -> set[str]:
        """Return the facts that a reply says."""
        return {_FACT_OF[word] for word in reply.split() if word in _FACT_OF}

    def label(self, reply: str) -> object:
        """Return what people say of a reply."""
        count = len(self.facts_in(reply) & set(FACTS[:5]))
        return _LABELS[self.judge][_PLACES[self.judge][count]]

    def answer(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the reply to a request of the judge or of a proposer, in the chat adapter's format."""
        system, last = str(messages[0]["content"]), str(messages[-1]["content"])
        outputs = _OUTPUTS.findall(
            system.partition("Your output fields are:")[2].partition("All interactions")[0]
        )
        found = _REPLY.search(last)
        reply = found[1].strip() if found else ""
        said: dict[str, str] = {}
        for name in outputs:
            if name == "question_answers":
                said[name] = self._answers(system, reply)
            elif name in ("label", "score"):
                said[name] = str(self._verdict(reply))
            elif name == "questions":
                said[name] = self.proposal()
            else:
                said[name] = f"Judge it well, by rule {int(_uniform(last) * 1e6)}."
        blocks = [f"[[ ## {name} ## ]]\n{text}" for name, text in said.items()]
        return "\n\n".join([*blocks, "[[ ## completed ## ]]"])

    def proposal(self) -> str:
        """Return the questions that a proposer writes: about each fact, in an order of its own."""
        facts = list(FACTS)
        random.Random(f"proposal/{self.seed}").shuffle(facts)
        lines: list[str] = []
        for number, fact in enumerate(facts, 1):
            lines.append(f"{number}. Does the reply say anything of {fact}? [yes or no]")
        return "\n".join(lines)

    def _answers(self, system: str, reply: str) -> str:
        """Return the answers to the numbered questions of a prompt."""
        facts = self.facts_in(reply)
        lines: list[str] = []
        for number, text, kind in _NUMBERED.findall(system):
            named = _NAMED.search(text)
            holds = named is not None and named[1] in facts
            if _uniform("singly", self.seed, text, reply) >= self.singly:
                holds = not holds
            said = ("4" if holds else "2") if kind == "1 to 5" else ("yes" if holds else "no")
            lines.append(f"{number}: {said}")
        return "\n".join(lines)

    def probability_of_yes(self, question: str, reply: str) -> float:
        """Return a decision model's answer to a question about one fact."""
        named = _NAMED.search(question)
        holds = named is not None and named[1] in self.facts_in(reply)
        if _uniform("singly", self.seed, question, reply) >= self.singly:
            holds = not holds
        return 0.8 if holds else 0.2

    def probabilities(self, reply: str, choices: Sequence[object]) -> list[float]:
        """Return a decision model's answer to the judge's own question: a probability for each choice."""
        chosen = str(self._verdict(reply))
        others = len(choices) - 1
        return [0.7 if str(choice) == chosen else 0.3 / others for choice in choices]

    def _verdict(self, reply: str) -> object:
        """Return the model's own verdict."""
        right = self.label(reply)
        if _uniform("together", self.seed, reply) < self.together:
            return right
        others = [label for label in _LABELS[self.judge] if label != right]
        return others[int(len(others) * _uniform("other", self.seed, reply))]


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as the text of a JSONL file."""
    return "".join(json.dumps(row) + "\n" for row in rows)
