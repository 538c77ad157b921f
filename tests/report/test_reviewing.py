"""The review page's server: whom it answers, what it takes, and that raters are blind to each other."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from hostile import HOSTILE
from small import claims

from jurist.gold.goldset import Gold
from jurist.gold.label_journal import LabelJournal
from jurist.gold.sheets_out import open_lines
from jurist.programs.fect import FECT
from jurist.report.reviewing import Review, application

OURS = {"x-jurist": "review"}


class Client:
    """Asks the application as a browser would."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def get(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("GET", path, **more))

    def post(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("POST", path, **more))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421") as client:
            return await client.request(method, path, **more)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    rows = [{**row, "conversation": row["conversation"] + HOSTILE[0]} for row in claims(4)]
    gold = Gold.of(rows, FECT, labelled=False)
    review = Review(
        gold=gold,
        lines=open_lines(gold, every=True),
        journal=LabelJournal(tmp_path / "labels.jsonl"),
        guideline="# How\n<script>1</script>\n\n- look",
        rater="ann",
    )
    return Client(application(review))


def label(place: Any, rater: str, value: Any = "factual", category: str = "") -> dict[str, Any]:
    return {"place": place, "rater": rater, "label": value, "category": category}


def test_raters_see_their_own_labels_only_and_how_far_they_agree(client: Client) -> None:
    for place in range(4):
        assert client.post("/labels", json=label(place, "ann"), headers=OURS).json() == {"saved": True}
    assert client.get("/labels", params={"rater": "bob"}).json() == {"labels": {}, "agreement": ""}
    for place in range(3):
        client.post("/labels", json=label(place, "bob", "factual" if place else "non_factual"), headers=OURS)
    seen = client.get("/labels", params={"rater": "bob"}).json()
    assert seen["labels"] == {"0": ["non_factual", ""], "1": ["factual", ""], "2": ["factual", ""]}
    assert seen["agreement"].startswith("2 raters agree on 67% of 3 units")
    assert "ann" not in seen["agreement"]


@pytest.mark.parametrize(
    ("given", "headers", "code"),
    [
        (label(0, "ann"), {}, 403),
        (label(0, "ann"), {**OURS, "host": "evil.example"}, 400),
        (label(99, "ann"), OURS, 422),
        (label(-1, "ann"), OURS, 422),
        (label("0", "ann"), OURS, 422),
        (label(0, ""), OURS, 422),
        (label(0, 'a"b'), OURS, 422),
        (label(0, "ann", "maybe"), OURS, 422),
        (label(0, "ann", 1), OURS, 422),
        (label(0, "ann", "factual", "mood"), OURS, 422),
        ([], OURS, 422),
        (label(0, "a" * 2_000_000), OURS, 413),
    ],
)
def test_what_is_not_a_label_of_this_page_is_refused(
    client: Client, tmp_path: Path, given: Any, headers: dict[str, str], code: int
) -> None:
    assert client.post("/labels", json=given, headers=headers).status_code == code
    assert not (tmp_path / "labels.jsonl").exists()


def test_the_page_holds_texts_packed_and_the_guideline_as_text(client: Client) -> None:
    page = client.get("/").text
    assert "document.title = 'owned'" not in page
    assert "&lt;script&gt;1&lt;/script&gt;" in page
    assert "<li>look</li>" in page
