"""What the tests of generators share: documents, and an endpoint that writes, verifies and proposes."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from fakes import reply
from loopback import Loopback, field_of, truth_of
from small import write_jsonl

QUIZ = Path(__file__).parents[2] / "docs" / "quiz.py"
HINT = "Name the year."
"""What an instruction must say for every answer to hold."""
PLACES = ("bridge", "mill", "tower", "school", "harbour", "market", "library", "station")


def documents(path: Path, count: int = 48) -> Path:
    """Write documents, each of a group of its own, that share no sentence."""
    rows = [
        {
            "id": f"doc-{n}",
            "title": f"{PLACES[n % 8]} {n}",
            "text": f"The {PLACES[n % 8]} of Orla{n}ville was opened in {1700 + 7 * n} by Venn{n} Harl{n}, "
            f"who paid {300 + 11 * n} coins for it.",
        }
        for n in range(count)
    ]
    return write_jsonl(path, rows)


def role_of(messages: list[dict[str, Any]]) -> str:
    """Return who a request is for, by what it must answer."""
    system = str(messages[0]["content"])
    if "`verdict`" in system:
        return "judge"
    return "generator" if "`question`" in system else "proposer"


def answer(messages: list[dict[str, Any]]) -> str:
    """Answer as an endpoint.

    Without :data:`HINT` in its instruction the writer invents the answer for two documents of three; the verifier
    knows what the document says.
    """
    system, last = str(messages[0]["content"]), str(messages[-1]["content"])
    document, role = field_of(last, "document"), role_of(messages)
    if role == "proposer":
        told = f"Write one question and its answer. {HINT} {truth_of(last, tuple(range(99)))}"
        return reply("chat", instruction=told)
    if role == "judge":
        said = field_of(last, "answer")
        holds = said in document
        return reply(
            "chat", verdict="yes" if holds else "no", reason="read in the document" if holds else "invented"
        )
    year = (re.findall(r"opened in \d+", document) or ["opened"])[0]
    right = HINT in system or truth_of(document, (True, False, False))
    return reply("chat", question="When was it opened?", answer=year if right else "opened in 1066 by nobody")


def by_role(server: Loopback) -> Counter[str]:
    """Return the requests that arrived, by who they were for."""
    return Counter(role_of(hit.body["messages"]) for hit in server.hits)
