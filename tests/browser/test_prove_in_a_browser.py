"""``jurist prove --review`` in a browser, from rows that nobody labelled to the decision on the card."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from proving import VERSION, compiled_house_rule, house_rule, plan_of
from small import ok

from jurist.keeping.artifacts import Store

pytestmark = pytest.mark.browser
KEYS = {"send": "1", "hold": "2"}


def serving(port: int) -> subprocess.Popen[str]:
    """Start ``jurist prove --review`` in a process of its own, and wait until it answers."""
    argv = ("prove", VERSION, "--review", "--rater", "ann", "--port", str(port), "--trust")
    process = subprocess.Popen(
        [sys.executable, "-m", "jurist", *argv],
        cwd=Path.cwd(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
            return process
        except OSError:
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
    raise AssertionError("the page does not answer")


def ended(process: subprocess.Popen[str]) -> str:
    """End it as Ctrl-C does, and return what it prints."""
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def test_labels_given_in_the_browser_decide(opened: Callable[..., Any]) -> None:
    compiled_house_rule()
    ok("prove", VERSION, "--rows", "new.jsonl", "--trust")
    store = Path("compiled")
    units = plan_of(store)["units"]
    truth = {row["reply"]: row["verdict"] for row in house_rule()}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def label(page: Any, first: int, last: int) -> None:
        page.wait_for_selector(".unit[aria-busy=false]")
        page.keyboard.press("n")  # the first unit without a label
        for done in range(first, last):
            page.wait_for_selector(".unit[aria-busy=false]")
            text = page.locator(".judged").inner_text()
            page.keyboard.press(KEYS[truth[text]])
            counted(page, done + 1)
            if done + 1 < len(units):
                page.wait_for_function(
                    "text => document.querySelector('.judged').textContent !== text", arg=text
                )
        page.wait_for_function("() => document.querySelector('#saved').textContent === 'saved'")

    def counted(page: Any, number: int) -> None:
        words = f"{number} of {len(units)}"
        page.wait_for_function("words => document.querySelector('#count').textContent === words", arg=words)

    process = serving(port)
    page = opened(f"http://127.0.0.1:{port}/")
    page.wait_for_selector(".judged")
    counted(page, 0)
    assert not any(word in page.content() for word in ('"basic"', '"compiled"', '"against"'))
    label(page, 0, 7)
    page.close()
    assert f"7 of {len(units)} planned units are labelled" in ended(process)
    assert plan_of(store)["decision"] is None
    process = serving(port)
    again = opened(f"http://127.0.0.1:{port}/")
    again.wait_for_selector(".judged")
    counted(again, 7)
    label(again, 7, len(units))
    again.close()
    assert "where the two differ: of" in ended(process)
    (decision,) = Store(store).load(VERSION).disagreements
    assert decision["wins"] + decision["losses"] == decision["labels"]
