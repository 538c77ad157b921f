"""The review page over HTTP, as a browser asks it: the question, units, Markdown, shares of raters, agreement."""

import base64
import gzip
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import dspy
import httpx
import pytest
import uvicorn
from hostile import HOSTILE
from small import claims, cli

from jurist.gold.goldset import Gold
from jurist.gold.label_journal import LabelJournal
from jurist.gold.sheets import open_lines
from jurist.programs.catalogue import find
from jurist.programs.fect import FECT
from jurist.programs.judge import Judge
from jurist.report.reviewing import Review, review_application

RATERS = ("ann", "bob", "cy")


class Tone(dspy.Signature):
    """Judge a reply."""

    turns: list[dict[str, str]] = dspy.InputField(desc="what was said before")
    reply: str = dspy.InputField()
    tone: Literal["warm", "cold"] = dspy.OutputField(desc="Is the reply warm or cold?")


TONE = Judge(name="tone", signature=Tone, positive="cold", unit="reply")
PLAIN = Judge(
    name="tone",
    signature=Tone.with_updated_fields("tone", desc="${tone}").with_instructions(
        "Rate the tone.\n\nBe strict."
    ),
    positive="cold",
    unit="reply",
)
"""A judge whose answer nobody described."""


class Page:
    """What a browser gets of a review that listens at a port of this machine."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **query: str) -> Any:
        return httpx.get(f"{self.url}{path}", params=query, timeout=30).json()

    def work(self, rater: str) -> tuple[Any, list[dict[str, Any]]]:
        """Return all that a rater is shown, and the units in it."""
        work = self.get("/work", rater=rater)
        return work, json.loads(gzip.decompress(base64.b64decode(work["units"])))["units"]

    def label(self, unit: str, rater: str, label: str) -> httpx.Response:
        message = {"unit": unit, "rater": rater, "label": label, "category": ""}
        return httpx.post(f"{self.url}/labels", json=message, headers={"x-jurist": "review"}, timeout=30)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Return what serves a review of rows."""
    running = []

    def start(rows: list[dict[str, Any]], judge: Judge = FECT, guideline: str = "", **more: Any) -> Page:
        gold = Gold.of(rows, judge, labelled=False)
        lines = open_lines(gold, with_labelled=True)
        journal = LabelJournal(tmp_path / "labels.jsonl")
        review = Review(gold=gold, lines=lines, journal=journal, guideline=guideline, **more)
        listening = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(review_application(review), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        running.append((server, thread))
        return Page(f"http://127.0.0.1:{listening.getsockname()[1]}")

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(30)


def turns(place: int) -> dict[str, Any]:
    said = [{"role": "user", "content": f"hello {place}"}, {"role": "bot", "content": HOSTILE[1]}]
    return {"turns": said, "reply": f"Good day {place}."}


def test_the_question_and_what_inputs_are_stand_beside_a_unit(serve: Callable[..., Page]) -> None:
    work, units = serve([turns(0), turns(1)], TONE).work("ann")
    assert work["about"]["question"] == "Is the reply warm or cold?"
    assert work["about"]["fields"]["turns"] == "what was said before"
    assert "reply" not in work["about"]["fields"]  # nobody described it
    parts = {shown[0]: shown[1:] for shown in units[0]["inputs"]}["turns"]
    assert parts[0][0].startswith("role: user\ncontent: hello")
    assert (len(parts[0]), parts[1]) == (2, "parts")


def test_without_a_description_the_question_is_the_first_line_of_the_instruction(
    serve: Callable[..., Page],
) -> None:
    work, _ = serve([turns(0)], PLAIN).work("ann")
    assert work["about"]["question"] == "Rate the tone."


def test_sentences_are_texts_and_the_current_one_can_be_marked(serve: Callable[..., Page]) -> None:
    sentences = ["The mill was built.", "It was old.", "Who knows?"]
    row = {"reference": "A mill.", "dialogue": "user: and?", "sentences": sentences}
    work, units = serve([row], find("cognibench")).work("ann")
    assert work["about"]["question"].startswith(
        "Label every numbered sentence"
    )  # not how a model lists its labels
    for place, unit in enumerate(units):
        shown = {name: value for name, value, *_ in unit["inputs"]}["sentences"]
        assert shown == sentences
        assert (unit["text"], unit["of"]) == (shown[place], [place + 1, 3])


@pytest.mark.parametrize(
    ("guideline", "expected"),
    [
        ("Send it if:\nit is true\nit is kind\nand the whole line is much longer than the others", 3),
        ("One sentence that was wrapped by\nan editor at some width of letters\nends here", 0),
        (
            f"Wrapped by an editor at a width\nof some letters, above a\ntable\n\n| {'wide ' * 20}|\n|---|\n| a |",
            0,
        ),
        ("", 0),
    ],
)
def test_a_guideline_keeps_the_breaks_that_were_meant(
    serve: Callable[..., Page], guideline: str, expected: int
) -> None:
    work, _ = serve(claims(4), guideline=guideline).work("ann")
    assert work["guideline"].count("<br") == expected


@pytest.mark.parametrize(
    "text", [*HOSTILE[:-1], "![x](http://evil/a.png) [y](javascript:alert) <http://evil>"]
)
def test_markdown_of_judged_text_holds_no_html_link_or_image(serve: Callable[..., Page], text: str) -> None:
    page = serve([{**claims(4)[0], "conversation": f"**bold** and\n\n- a list\n\n{text}"}])
    _, (unit,) = page.work("ann")
    shown = page.get("/markdown", unit=unit["unit"])
    assert "<strong>bold</strong>" in shown["conversation"]
    assert "<li>a list" in shown["conversation"]
    for html in shown.values():
        for tag in ("<script", "<img", "<a ", "<style"):
            assert tag not in html
    assert page.get("/markdown", unit="none") == {"error": "there is no such unit"}


def test_each_rater_gets_a_share_and_what_overlaps_goes_to_all(serve: Callable[..., Page]) -> None:
    rows = claims(10, 3)
    pages = [serve(order, raters=RATERS, overlap=0.2) for order in (rows, rows[::-1])]
    shares = []
    for page in pages:
        shares.append({rater: {unit["unit"] for unit in page.work(rater)[1]} for rater in RATERS})
    assert shares[0] == shares[1]  # whatever the order of the file is
    counts = Counter(unit for share in shares[0].values() for unit in share)
    assert len(counts) == len(rows)
    assert Counter(counts.values()) == {3: 6, 1: 24}
    sizes = [len(share) for share in shares[0].values()]
    assert max(sizes) - min(sizes) <= 1
    foreign = next(iter(shares[0]["bob"] - shares[0]["ann"]))
    refused = pages[0].label(foreign, "ann", "factual")
    assert (refused.status_code, refused.json()) == (422, {"error": "this unit is another rater's"})
    assert pages[0].label(foreign, "bob", "factual").status_code == 200


def test_only_what_differs_is_resolved(serve: Callable[..., Page]) -> None:
    page = serve(claims(4))
    names = [unit["unit"] for unit in page.work("ann")[1]]
    assert page.work("resolved")[1] == []
    for rater, labels in (("ann", ("factual", "factual")), ("bob", ("factual", "non_factual"))):
        for name, label in zip(names, labels, strict=False):
            page.label(name, rater, label)
    assert [unit["unit"] for unit in page.work("resolved")[1]] == [names[1]]


def test_agreement_is_told_once_it_gives_no_label_away(serve: Callable[..., Page]) -> None:
    page = serve(claims(10, 2))
    names = [unit["unit"] for unit in page.work("ann")[1]]
    for place, name in enumerate(names[:12]):
        assert bool(page.get("/labels", rater="ann")["agreement"]) == (place >= 10)
        page.label(name, "ann", "factual" if place % 2 else "non_factual")
        page.label(name, "bob", "factual" if place % 2 or place < 6 else "non_factual")
    found = page.get("/labels", rater="ann")["agreement"]
    assert (found["units"], found["raw"]) == (12, 0.75)
    assert 0 < found["alpha"] < 0.75


def test_shares_need_several_raters(tmp_path: Path) -> None:
    done = cli(
        "review",
        "fect",
        "fect-mini",
        "--all",
        "-o",
        tmp_path / "l.jsonl",
        "--rater",
        "ann",
        "--overlap",
        "20%",
    )
    assert (done.code, "--rater ann,bob" in done.err) == (2, True)
    done = cli("review", "fect", "fect-mini", "-o", tmp_path / "l.jsonl", "--overlap", "120%")
    assert (done.code, "is no share" in done.err) == (2, True)
