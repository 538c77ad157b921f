"""A judge of tickets that only labelled tickets of the same topic teach, and a model that takes over their labels."""

import random
import re
from pathlib import Path
from typing import Any

import pytest
from loopback import field_of
from small import write_jsonl

from jurist.text.ranking import words

JUDGE = '''
import dspy
from typing import Literal
import jurist


class Route(dspy.Signature):
    """Say which desk a ticket goes to."""

    ticket: str = dspy.InputField(desc="what the customer wrote")
    desk: Literal["red", "blue"] = dspy.OutputField(desc="the desk")


judge = jurist.Judge(name="route", signature=Route, positive="red")
'''
TOPICS = [f"{one}{two}" for one in ("bor", "kal", "mip", "tun", "zed") for two in ("ax", "ilo", "urm", "eck")]


def rows(seed: int = 0, *, inflected: bool = False) -> list[dict[str, Any]]:
    """Return tickets of which only labelled ones of the same topic tell the desk; inflected, no two share a word."""
    random_, made = random.Random(seed), []
    end = (lambda: "".join(random_.choices("vwxyz", k=9))) if inflected else lambda: ""
    for place, topic in enumerate(TOPICS):
        for number in range(8):
            filler = " ".join("".join(random_.choices("abcdefghij", k=6)) for _ in range(9))
            text = f"{topic}{end()} {filler} {topic}{end()}"
            desk = ("red", "blue")[place % 2]
            made.append({"ticket": text, "desk": desk, "group": f"{place}-{number}"})
    return made


def topics(text: str) -> list[float]:
    """Return which topics a text is about, whatever the ends of its words."""
    return [float(topic in text) for topic in TOPICS] + [0.1]


def most_like(messages: list[dict[str, Any]]) -> str:
    """Answer with the label of the demonstration that shares most stems with the row; red without any."""
    asked, best, desk = _stems(messages[-1]), 0, "red"
    for shown, said in zip(messages[1:-1:2], messages[2:-1:2], strict=True):
        shared = len(asked & _stems(shown))
        if shared > best:
            best, desk = shared, re.search(r"## desk ## \]\]\n(\w+)", str(said["content"]))[1]  # type: ignore[index]
    if "`desk`" not in str(messages[0]["content"]):
        return "[[ ## instruction ## ]]\nSay it better.\n\n[[ ## completed ## ]]"
    return f"[[ ## desk ## ]]\n{desk}\n\n[[ ## completed ## ]]"


def _stems(message: dict[str, Any]) -> set[str]:
    return {word[:5] for word in words(field_of(str(message["content"]), "ticket"))}


def chat(url: str) -> tuple[str, ...]:
    """Return the options that name the model behind an address."""
    return ("--model", "openai/m", "--api-base", url, "--concurrency", "4")


def settled_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go into a folder with the judge and its gold."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    Path("route.py").write_text(JUDGE)
    write_jsonl(Path("gold.jsonl"), rows())
