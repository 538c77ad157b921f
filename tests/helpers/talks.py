"""What the tests of conversations share: two references, good exchanges about one, and an endpoint that gives them."""

from typing import Any

from fakes import reply
from loopback import answer
from pages import ROOT
from small import read_jsonl

from jurist.gold.documents import Document
from jurist.papers.cognibench.dialogues import dialogue_rows
from jurist.programs.dialogue import Exchange, Range

MILL = (
    "The Dunlow mill was built in 1832 by the brothers Hask. It has two wheels and ground oats until 1951, when the "
    "river was diverted. The upper wheel is seven metres high. Since 1990 the mill has been open to visitors on "
    "Sundays. About 3,000 people come each year, most of them in spring. The miller's house is a school today. A "
    "flood in 1911 carried off the lower wheel, which was replaced within a month. The stones came from a quarry "
    "near Harl."
)
TEA = (
    "云溪镇的白茶种植始于清乾隆年间，由茶农周德安从邻县引进茶苗。茶园分布在海拔六百至九百米的山坡上，总面积约两千四百亩。"
    "每年清明前后采摘，一名熟练工人一天能采三斤鲜叶。一九七八年，镇上成立了第一家集体茶厂，有工人六十二人。"
    "二〇〇五年的霜冻使当年的产量减少了四成。二〇二一年全镇产茶九十六吨，其中三成销往国外。"
)
GOOD = "The Dunlow mill was built in 1832 by the brothers Hask, and its two wheels ground oats until 1951."
SECOND = "Since 1990 it has been open on Sundays, and about 3,000 visitors come each year, most in spring."


def small_gold() -> list[dict[str, Any]]:
    """Return every third response of CogniBench's bundled gold, its last three sentences."""
    return [
        {**row, "sentences": row["sentences"][-3:], "labels": row["labels"][-3:], "ratings": {}}
        for row in read_jsonl(ROOT / "datasets" / "cognibench-mini" / "gold.jsonl")[::3]
    ]


def docs(count: int = 3) -> list[dict[str, Any]]:
    texts = [f"{MILL} Its register begins in {1700 + n}." for n in range(count)]
    return [{"id": f"d{n}", "title": "mill", "text": text} for n, text in enumerate(texts)]


def plan_of(text: str = MILL) -> dict[str, Any]:
    documents = [Document(id="d", text=text, title="mill")]
    return dialogue_rows(documents, 0, turns=Range(2, 2), words=Range(5, 60))[0]


def exchange_of(text: str = MILL, words: Range = Range(5, 60), language: str = "en") -> Exchange:  # noqa: B008
    return Exchange(reference=text, language=language, words=words)


def turn(adapter: str, user: str, assistant: str) -> str:
    return reply(adapter, user_message=user, assistant_message=assistant)


def spoken(messages: list[dict[str, Any]]) -> str:
    """Answer as an endpoint: another good exchange for every turn."""
    asked = str(messages[-1]["content"]).count("assistant:")
    pairs = (("What is the mill?", GOOD), ("Who comes?", SECOND))
    user, assistant = pairs[asked % 2]
    return turn("chat", user, assistant)


def conversing(messages: list[dict[str, Any]]) -> str:
    """Answer as an endpoint that generates, answers and judges."""
    system = str(messages[0]["content"])
    if "`labels`" in system:
        return answer(messages)
    if "`complaint`" in system:
        return spoken(messages)
    return reply("chat", assistant_message=f"{GOOD} {SECOND}")
