"""The review page in a browser: the keyboard, a server that is killed in the middle, a reload, two raters."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE
from small import claims, read_jsonl, write_jsonl

pytestmark = pytest.mark.browser
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


class Server:
    """``jurist review`` in a process of its own."""

    def __init__(self, folder: Path, judge: str = "fect") -> None:
        self.judge = judge
        self.folder, self.labels = folder, folder / "labels.jsonl"
        self.links = folder / "labels.links"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self, *more: str) -> None:
        """Start it, and wait until it answers."""
        gold = self.folder / "gold.jsonl"
        argv = ("review", self.judge, gold, "--all", "-o", self.labels, "--port", self.port, *more)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jurist", *map(str, argv)], cwd=self.folder, stderr=subprocess.PIPE
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url, timeout=1)
                return
            except OSError:
                assert self.process.poll() is None, self.process.communicate()
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    rows = claims(4)
    for row, text in zip(rows, HOSTILE, strict=False):
        row["conversation"] += f"\n{text}"
    write_jsonl(tmp_path / "gold.jsonl", rows)
    running = Server(tmp_path)
    yield running
    running.kill()


def said(page: Any, words: str) -> None:
    page.wait_for_function(
        "words => document.querySelector('#saved').textContent.startsWith(words)", arg=words
    )


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_every_view(
    server: Server, opened: Callable[..., Any], accessible: Callable[[Any], None], width: int, scheme: str
) -> None:
    page = opened(server.url, width=width, scheme=scheme)
    page.wait_for_selector(".judged")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    accessible(page)


def test_a_screen_reader_finds_its_way(
    server: Server, opened: Callable[..., Any], spoken: Callable[[Any], None]
) -> None:
    page = opened(server.url)
    page.wait_for_selector(".judged")
    spoken(page)
    page.keyboard.press("j")
    second = page.locator(".judged").inner_text()
    assert page.locator("#now").text_content().startswith(f"2 of 12: {second[:40]}")


def idle(page: Any) -> None:
    """Wait until the next key is taken."""
    page.wait_for_selector(".unit[aria-busy=false] .judged")


def named(page: Any, url: str, rater: str) -> Any:
    """Open the page, and write a name."""
    page.goto(url)
    idle(page)
    page.fill("#rater", rater)
    page.keyboard.press("Enter")
    idle(page)
    return page


def test_no_key_overtakes_a_label_and_u_takes_the_last_one_back(
    server: Server, opened: Callable[..., Any]
) -> None:
    page = named(opened(server.url), server.url, "ann")
    for key in ("1", "2", "2"):  # before the label is saved, and before the next unit can have been read
        page.keyboard.press(key)
    idle(page)
    for _ in range(20):  # a key that is held down
        page.keyboard.down("2")
    idle(page)
    first, second = read_jsonl(server.labels)
    assert (first["label"], second["label"]) == ("factual", "non_factual")
    assert first["case"] != second["case"]
    for gone in (second, first):
        page.reload()
        idle(page)
        page.keyboard.press("u")
        said(page, "undone")
        undone = read_jsonl(server.labels)[-1]
        assert (undone["case"], undone["label"], undone["undo"]) == (gone["case"], "", True)


def test_a_reason_stays_with_its_unit_and_the_list_finds_what_was_skipped(
    server: Server, opened: Callable[..., Any]
) -> None:
    page = named(opened(server.url), server.url, "ann")
    page.keyboard.press("w")
    page.keyboard.type("half a reason, 1 u x")
    page.reload()
    page.wait_for_function("() => document.querySelector('#reason').value.startsWith('half')")
    page.keyboard.press("w")
    page.keyboard.press("End")
    page.keyboard.type(" more")
    page.keyboard.press("Enter")
    idle(page)
    page.keyboard.press("1")
    idle(page)
    page.keyboard.press("x")
    idle(page)
    lines = read_jsonl(server.labels)
    assert [line.get("reason", "") for line in lines] == ["half a reason, 1 u x more"] * 2 + [""]
    assert [bool(line.get("skipped")) for line in lines] == [False, False, True]
    page.keyboard.press("l")
    page.click(".filters button[value=skipped]")
    assert page.locator("#list li").count() == 1
    page.click("#list li button")
    page.keyboard.press("2")
    idle(page)
    assert read_jsonl(server.labels)[-1]["case"] == lines[-1]["case"]


def test_labels_survive_a_kill_and_a_reload(server: Server, browser: Any) -> None:
    page = browser.new_context().new_page()
    page.goto(server.url)
    page.wait_for_selector(".judged")
    page.keyboard.press("1")
    said(page, "who are you")
    page.keyboard.type("ann")
    page.keyboard.press("Enter")
    idle(page)
    first = page.locator(".judged").inner_text()
    page.keyboard.press("1")
    said(page, "saved")
    page.wait_for_function("first => document.querySelector('.judged').textContent !== first", arg=first)
    assert [(row["rater"], row["label"]) for row in read_jsonl(server.labels)] == [("ann", "factual")]
    server.kill()
    idle(page)
    page.keyboard.press("2")
    said(page, "not saved yet: 1 kept")
    page.close()
    server.start()
    again = browser.contexts[-1].new_page()
    again.goto(server.url)
    said(again, "saved")
    again.reload()
    again.wait_for_function("() => document.querySelector('#count').textContent.startsWith('2 of')")
    assert [row["label"] for row in read_jsonl(server.labels)] == ["factual", "non_factual"]
    other = named(browser.new_context().new_page(), server.url, "bob")
    for context in (again.context, other.context):
        context.close()


def test_help_search_and_markdown_work_from_the_keyboard(
    server: Server, opened: Callable[..., Any], accessible: Callable[[Any], None]
) -> None:
    page = opened(server.url)
    page.wait_for_selector(".judged")
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    accessible(page)
    page.keyboard.press("1")  # labels nothing while the keys are shown
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    assert not server.labels.exists() or not read_jsonl(server.labels)
    page.keyboard.press("m")
    page.wait_for_selector(".markdown")
    assert page.locator(".unit script, .unit img, .unit a").count() == 0
    page.keyboard.press("m")
    assert page.locator(".markdown").count() == 0
    every = page.locator("#progress").get_attribute("max")
    page.keyboard.press("/")
    page.keyboard.type("no such words anywhere")
    assert page.locator("#found").inner_text() == "0 found"
    page.locator("#search").fill("")
    assert page.locator("#list ol li").count() == int(every or 0)
    accessible(page)


def test_nothing_is_shown_to_resolve_until_raters_differ(
    server: Server, opened: Callable[..., Any], accessible: Callable[[Any], None]
) -> None:
    page = opened(f"{server.url}resolve")
    page.wait_for_selector(".judged")
    assert page.locator(".judged").inner_text().startswith("Raters differ on no unit")
    page.keyboard.press("1")
    page.keyboard.press("j")
    accessible(page)


def test_the_sentence_that_is_judged_is_marked_among_all(tmp_path: Path, opened: Callable[..., Any]) -> None:
    row = {"reference": "A mill.", "dialogue": "user: and?", "sentences": ["One.", "<b>Two</b>.", "Three."]}
    write_jsonl(tmp_path / "gold.jsonl", [row])
    running = Server(tmp_path, "cognibench")
    page = opened(running.url)
    page.wait_for_selector(".units")
    for text in row["sentences"]:
        assert page.locator(".units [aria-current=true]").inner_text() == text
        assert page.locator(".judged").inner_text() == text
        page.keyboard.press("j")
    assert page.locator(".units li").count() == 3
    running.kill()
