"""A judge of texts, one of traces and one of images, beside a scripted chat model and a scripted decision model.

Each row holds a number, which both models read out of a text, a trace or the width of an image. The label follows the
number. The chat model is right in two thirds of the rows, and in all once its instruction says "closely". The decision
model knows the label, and its probabilities are all above one half until a threshold is fitted.
"""

import base64
import re
import struct
from pathlib import Path
from typing import Any

from batch_server import BatchServer
from deciders import OpenAIDecisions
from loopback import truth_of
from pictures import png
from small import aside, write_jsonl

INPUTS = ("text", "trace", "image")
ENGINES = ("chat", "decision")
NAMES = {"chat": "openai", "decision": "decisions"}
"""Kind of model -> the provider in its model string."""
COUNT = 80
"""The labelled rows, and as many without labels."""
SOURCE = '''
from typing import Literal

import dspy

import jurist


class CheckText(dspy.Signature):
    """Say whether the order is as it should be."""

    order: str = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


class CheckTrace(dspy.Signature):
    """Say whether the agent treated the order as it should."""

    order: jurist.Trace = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


class CheckImage(dspy.Signature):
    """Say whether the picture of the order is as it should be."""

    order: dspy.Image = dspy.InputField()
    verdict: Literal["accept", "reject"] = dspy.OutputField()


text = jurist.Judge(name="text-check", signature=CheckText, positive="reject")
trace = jurist.Judge(name="trace-check", signature=CheckTrace, positive="reject")
image = jurist.Judge(name="image-check", signature=CheckImage, positive="reject")
'''
_LABELS = ("accept", "reject")
_PROPOSAL = "Look closely at the order. Say accept if it is as it should be."


def label_of(number: int) -> str:
    """Return the label of a row."""
    return str(truth_of(f"order {number}", _LABELS))


def order_of(kind: str, number: int) -> Any:
    """Return the input of a row, and write its image beside the rows."""
    words = f"Order {number} of {aside(number, 6)}"
    if kind == "text":
        return words
    if kind == "trace":
        return [
            {"actor": "user", "words": words},
            {"actor": "assistant", "tool": "ship", "arguments": {"order": number}, "result": "{}"},
        ]
    file = f"{number}.png"
    Path(file).write_bytes(png(number % 256, width=1 + number))
    return file


def rows(kind: str, count: int, first: int = 0, *, labelled: bool = True) -> list[dict[str, Any]]:
    """Return rows, and write the images that they name."""
    made: list[dict[str, Any]] = []
    for number in range(first, first + count):
        row = {"id": f"r{number}", "order": order_of(kind, number)}
        if labelled:
            row["verdict"] = label_of(number)
        made.append(row)
    return made


def write_world(kind: str, count: int = COUNT) -> None:
    """Write the judges, their labelled rows and other rows without labels into the working directory."""
    Path("judges.py").write_text(SOURCE, encoding="utf-8")
    write_jsonl(Path("gold.jsonl"), rows(kind, count))
    write_jsonl(Path("new.jsonl"), rows(kind, count, first=count, labelled=False))


def number_of(content: str | list[dict[str, Any]]) -> int:
    """Return the number of the row that a message asks about."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        address = part.get("image_url")
        if isinstance(address, dict):
            address = address["url"]
        if address:
            data = base64.b64decode(address.partition("base64,")[2])
            return int(struct.unpack(">I", data[16:20])[0]) - 1
    text = "".join(part.get("text", "") for part in parts)
    [number] = set(re.findall(r"Order (\d+) of", text))
    return int(number)


def chat_answer(messages: list[dict[str, Any]]) -> str:
    """Answer for a judge, or for what writes its instruction."""
    system = str(messages[0]["content"])
    if "`instruction`" in system:
        return f"[[ ## instruction ## ]]\n{_PROPOSAL}\n\n[[ ## completed ## ]]"
    number = number_of(messages[-1]["content"])
    label = label_of(number)
    if "closely" not in system and number % 3 == 0:
        label = _LABELS[label == "accept"]
    return f"[[ ## verdict ## ]]\n{label}\n\n[[ ## completed ## ]]"


class ScriptedDecisions(OpenAIDecisions):
    """OpenAI's endpoint of decisions: it knows the labels, and its probabilities of "reject" are too high."""

    def read_input(self, value: str | list[dict[str, Any]]) -> str:
        """Return the number of the row that a request is about."""
        content = value
        if not isinstance(value, str):
            content = [part for message in value for part in message["content"]]
        return str(number_of(content))

    def answer_question(self, text: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the probabilities of a row."""
        number = int(text)
        rejects = (0.6 if label_of(number) == "accept" else 0.8) + number % 10 / 100
        shares = [
            {"value": "accept", "probability": 1 - rejects},
            {"value": "reject", "probability": rejects},
        ]
        return {
            "type": "choice",
            "name": question["name"],
            "choice": "reject",
            "confidence": rejects,
            "probabilities": shares,
        }


def server_of(engine: str) -> BatchServer | ScriptedDecisions:
    """Return the server of a kind of model."""
    if engine == "chat":
        return BatchServer(chat_answer)
    return ScriptedDecisions()
