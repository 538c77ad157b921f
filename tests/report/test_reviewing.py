"""The review page's server: whom it answers, what it takes, and that raters are blind to each other."""

import asyncio
import base64
import gzip
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hostile import HOSTILE
from judges import PAIR
from small import claims

from jurist.console.pages import _write_links
from jurist.gold.goldset import Gold
from jurist.gold.label_journal import LabelJournal
from jurist.gold.raters import RULES, merge_gold
from jurist.gold.sheets import open_lines
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.report.reviewing import Review, review_application

OURS = {"x-jurist": "review"}
TOKENS = {"ann": "secret-a", "bob": "secret-b", "resolved": "secret-r"}
ROWS = [{**row, "conversation": row["conversation"] + HOSTILE[0]} for row in claims(4)]
UNITS = [f"{case.id}:1" for case in Gold.of(ROWS, FECT, labelled=False).cases]


class Client:
    """Asks the application as a browser would."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def get(self, path: str, token: str = "", **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("GET", path, headers=bearer(token), params=more))

    def post(self, body: Any, token: str = "", **headers: str) -> httpx.Response:
        return asyncio.run(
            self._ask("POST", "/labels", json=body, headers={**OURS, **bearer(token), **headers})
        )

    def state(self, rater: str) -> Any:
        return self.get("/labels", rater=rater).json()

    def units(self, rater: str) -> list[dict[str, Any]]:
        """Return what a rater sees."""
        packed = base64.b64decode(self.get("/work", rater=rater).json()["units"])
        return json.loads(gzip.decompress(packed))["units"]  # type: ignore[no-any-return]

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8421") as client:
            return await client.request(method, path, **more)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Client]:
    """Return what opens a review of rows; the same journal every time."""

    def start(
        rows: list[dict[str, Any]] = ROWS, judge: Judge = FECT, top: int | None = None, **more: Any
    ) -> Client:
        gold = Gold.of(rows, judge, labelled=False)
        journal = LabelJournal(tmp_path / "labels.jsonl")
        guideline = "# How\n<script>1</script>\n\n- look"
        lines = open_lines(gold, with_labelled=True)[:top]
        return Client(
            review_application(Review(gold=gold, lines=lines, journal=journal, guideline=guideline, **more))
        )

    return start


def label(place: Any, rater: str, value: Any = "factual", category: str = "", **more: Any) -> dict[str, Any]:
    unit = UNITS[place] if type(place) is int else place
    return {"unit": unit, "rater": rater, "label": value, "category": category, **more}


def own(state: Any) -> dict[Any, str]:
    """Return what counts of a rater's history."""
    return {UNITS.index(step["unit"]): step["label"] for step in state["history"]}


def differing(client: Client, token: str = "") -> dict[str, Any]:
    """Return what raters said where they differ, and the gold label beside it."""
    shown = client.get("/labels", token, rater="resolved").json()["differing"]
    words = ("rater", "label", "reason")
    return {
        UNITS.index(name) if name in UNITS else name: (
            [tuple(map(one.get, words)) for one in unit["labels"]],
            unit["gold"],
        )
        for name, unit in shown.items()
    }


def test_raters_see_their_own_labels_only(opened: Callable[..., Client]) -> None:
    client = opened()
    for place in range(4):
        assert client.post(label(place, "ann")).json() == {"saved": True}
    assert client.state("bob") == {"history": [], "differing": {}, "agreement": {}}
    for place in range(3):
        client.post(label(place, "bob", "factual" if place else "non_factual"))
    seen = client.state("bob")
    assert own(seen) == {0: "non_factual", 1: "factual", 2: "factual"}
    assert "ann" not in json.dumps(seen)


def test_undo_goes_back_step_by_step_also_in_the_next_session(opened: Callable[..., Client]) -> None:
    client = opened()
    client.post(label(0, "ann", reason="it says so", request="1"))
    client.post(label(1, "ann", request="2"))
    client.post(label(0, "ann", "non_factual", request="3"))
    client.post(label(1, "bob"))
    again = opened(ROWS[::-1])  # the last answer was lost, and the server started anew, with another order
    again.post(label(0, "ann", "non_factual", request="3"))
    again.post({"undo": True, "rater": "ann", "request": "4"})
    again.post({"undo": True, "rater": "ann", "request": "4"})
    assert own(again.state("ann")) == {0: "factual", 1: "factual"}
    assert again.state("ann")["history"][0]["reason"] == "it says so"
    opened(top=1).post({"undo": True, "rater": "ann", "request": "5"})  # of the units that are shown
    assert own(opened().state("ann")) == {1: "factual"}
    for request in "67":
        opened().post({"undo": True, "rater": "ann", "request": request})
    assert [own(opened().state(rater)) for rater in ("ann", "bob")] == [{}, {1: "factual"}]


def test_what_raters_differ_on_is_settled_on_a_page_of_its_own(
    opened: Callable[..., Client], tmp_path: Path
) -> None:
    rows = [{**row, "factual": place > 0} for place, row in enumerate(ROWS)]
    client = opened(rows, tokens=TOKENS)
    for rater, value in (("ann", "factual"), ("bob", "non_factual")):
        client.post(label(0, "x", value, reason=f"{rater} thinks so"), TOKENS[rater])
        client.post(label(1, "x"), TOKENS[rater])
        client.post(label(2, "x", "", skipped=True), TOKENS[rater])
    said = [("ann", "factual", "ann thinks so"), ("bob", "non_factual", "bob thinks so")]
    assert differing(client, "secret-r") == {0: (said, "")}
    client.post(label(0, "x", reason="the rule"), "secret-r")
    assert differing(client, "secret-r") == {0: (said, "non_factual")}
    assert differing(client, "secret-a") == {}
    blank = [{**row, "factual": None} for row in ROWS]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in blank), "utf-8")
    sources = [tmp_path / "rows.jsonl", tmp_path / "labels.jsonl"]
    for rule in RULES[:4]:
        first, second = merge_gold(Gold.load(sources, FECT, labelled=False), rule).cases
        assert (first.gold, second.gold) == (("factual",), ("factual",))
        assert (
            first.reason == "ann: ann thinks so\nbob (for another label): bob thinks so\nresolved: the rule"
        )


def test_a_link_is_all_that_speaks_for_a_rater(opened: Callable[..., Client], tmp_path: Path) -> None:
    client = opened(tokens=TOKENS)
    for token in ("", "secret", "secret-a2"):
        answers = [
            client.get("/work", token),
            client.get("/labels", token),
            client.post(label(0, "ann"), token),
        ]
        assert [answer.status_code for answer in answers] == [401] * 3
    assert not (tmp_path / "labels.jsonl").exists()
    assert client.post(label(0, "bob"), "secret-a", host="else.where").status_code == 200
    assert own(client.get("/labels", "secret-a", rater="bob").json()) == {0: "factual"}
    assert own(client.get("/labels", "secret-b", rater="ann").json()) == {}


def test_who_sees_which_of_a_pair_first_is_drawn_and_said_nowhere(opened: Callable[..., Client]) -> None:
    client = opened([{"first": f"good {n}", "second": f"bad {n}"} for n in range(24)], PAIR)
    seen = {rater: client.units(rater) for rater in ("ann", "bob")}
    pairs = {rater: [unit["pair"] for unit in units] for rater, units in seen.items()}
    assert pairs["ann"] == [unit["pair"] for unit in client.units("ann")]
    assert pairs["ann"] != pairs["bob"]
    assert 4 < sum(left.startswith("good") for left, _ in pairs["ann"]) < 20
    assert all("first" not in json.dumps(units) for units in seen.values())
    assert client.get("/work").json()["about"]["choices"] == ["A", "B", "tie"]
    for rater in seen:
        for unit in seen[rater]:
            client.post(label(unit["unit"], rater, "A" if unit["pair"][0].startswith("good") else "B"))
        assert {step["label"] for step in client.state(rater)["history"]} == {"A", "B"}
    assert not differing(client)
    client.post(label(seen["ann"][0]["unit"], "ann", "tie"))
    ((ann, bob), _), *_ = differing(client).values()
    assert ann[:2] == ("ann", "tie")
    assert client.units("resolved")[0]["pair"]["AB".index(bob[1])] == "good 0"


@pytest.mark.parametrize(
    ("given", "headers", "code"),
    [
        (label(0, "ann"), {"x-jurist": ""}, 403),
        (label(0, "ann"), {"host": "evil.example"}, 400),
        (label("0", "ann"), {}, 422),
        (label([], "ann"), {}, 422),
        (label(0, ""), {}, 422),
        (label(0, 'a"b'), {}, 422),
        (label(0, "ann", "maybe"), {}, 422),
        (label(0, "ann", 1), {}, 422),
        (label(0, "ann", "factual", "mood"), {}, 422),
        (label(0, "ann", reason=["x"]), {}, 422),
        ({"undo": True}, {}, 422),
        ([], {}, 422),
        (label(0, "a" * 2_000_000), {}, 413),
    ],
)
def test_what_is_not_a_label_of_this_page_is_refused(
    opened: Callable[..., Client], tmp_path: Path, given: Any, headers: dict[str, str], code: int
) -> None:
    assert opened().post(given, **headers).status_code == code
    assert not (tmp_path / "labels.jsonl").exists()


def test_the_page_holds_no_unit_and_the_guideline_comes_as_text(opened: Callable[..., Client]) -> None:
    client = opened()
    assert ROWS[0]["claim"] not in client.get("/").text
    guideline = client.get("/work").json()["guideline"]
    assert "&lt;script&gt;1&lt;/script&gt;" in guideline
    assert "<li>look</li>" in guideline
    assert [unit["text"] for unit in client.units("ann")] == [row["claim"] for row in ROWS]


def test_links_are_their_owners_alone_and_stay_valid(tmp_path: Path) -> None:
    path = tmp_path / "labels.links"
    path.write_text("{}")
    path.chmod(0o644)
    first = _write_links(path, ["ann", "bob"], "::1", 8421)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["ann"] == f"http://[::1]:8421/#{first['ann']}"
    assert _write_links(path, ["ann"], "::1", 8421).keys() == {"ann", "resolved"}
    assert _write_links(path, ["bob", "ann"], "::1", 8421) == first
