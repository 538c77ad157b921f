"""The display of a compilation: a live table on a terminal, plain lines elsewhere, and never in the work's way."""

import io
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_runs import job_with

from jurist.console.bars import SearchBar, progress, status_words
from jurist.engines.channel import CallContext
from jurist.engines.meter import Amount, Budget
from jurist.optimizers.base import Event
from jurist.programs.catalogue import find

ROOT = Path(__file__).resolve().parents[2]


class Screen(io.StringIO):
    """Standard error that is a terminal, or that nobody reads any more."""

    def __init__(self, terminal: bool = True, gone: bool = False) -> None:
        super().__init__()
        self.terminal, self.gone = terminal, gone

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(5, "Input/output error") if self.terminal else BrokenPipeError(32, "Broken pipe")
        return super().write(text)


def shown_on(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return screen


def test_the_bar_of_a_narrow_terminal_shows_calls_that_came_back_and_what_they_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = shown_on(Screen(), monkeypatch)
    context = CallContext.fresh(Budget(calls=900))
    context.meter.calls, context.meter.in_flight = 84, 64  # many are sent at once
    job = replace(job_with("?"), context=context)
    with SearchBar() as bar:
        bar.begin_search("searching", 2000)
        bar.event(Event(kind="phase", text="optimizing: opro", phase="optimizing", job=job))
        bar.event(Event(kind="step", text="step 3: best opro-3", calls=84, best=0.75))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "step 3: best opro-3, score 0.750 (84 calls so far)" in shown
    assert re.search(r"optimizing ━+ 20 of at most 900 calls, best score 0\.750, 0\.0000 USD", shown)


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_the_bar_is_one_line_and_shows_no_escape_of_a_name(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = shown_on(Screen(), monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    meter = CallContext.fresh(Budget()).meter
    meter.calls, meter.cost = 1044, 3.25
    with progress(50_000, "judging with a name that is longer than most", meter) as step:
        for _ in range(1044):
            step()
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    frames = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame) for frame in re.split("[\r\n]", drawn)]
    assert max(map(len, frames)) <= columns
    assert drawn.count("\n") == 1  # after the last frame, which is then wiped


STATES = [
    ({"done": 0, "total": 240, "unit": "rows"}, "0 of 240 rows"),
    (
        {
            "done": 44,
            "total": 240,
            "unit": "rows",
            "seconds_left": 40.2,
            "spent": Amount(calls=44, cost=0.02),
        },
        "44 of 240 rows, about 0:41 left, 44 calls, 0.0200 USD",
    ),
    ({"done": 7, "total": None, "unit": "rows", "seconds_left": None}, "7 rows"),
    (
        {"done": 240, "total": 240, "unit": "rows", "seconds_left": 0.0},
        "240 rows, computing the result",
    ),
    (
        {"done": 340, "total": 4000, "unit": "calls", "seconds_left": 7384, "is_most": True, "best": 0.829},
        "340 of at most 4,000 calls, at most 2:03:04 left, best score 0.829",
    ),
    (
        {"done": 9, "total": 9, "unit": "calls", "is_most": True, "spent": Amount(calls=9), "unpriced": 9},
        "9 of at most 9 calls, price unknown",
    ),
]


@pytest.mark.parametrize(("state", "words"), STATES)
def test_the_state_is_said_in_plain_words(state: dict[str, Any], words: str) -> None:
    assert status_words(**state) == words


def test_an_error_is_shown_as_it_is_and_not_as_it_is_maximised() -> None:
    seen: list[Event] = []
    judge = find(f"{ROOT}/docs/reply_score.py:judge").with_metric("mae")
    job = replace(job_with("?"), judge=judge, sink=seen.append)
    job.note("step 1", -2.0, kind="step")
    assert seen[0].best == 2.0


def test_plain_lines_are_few_and_hold_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    now, screen = 0.0, shown_on(Screen(terminal=False), monkeypatch)
    bar = SearchBar(clock=lambda: now)
    for number in range(1000):
        bar.event(Event(kind="candidate", text=f"new {number}\x1b[31m\r\n\u202e", calls=number))
        bar.event(Event(kind="step", text=f"step {number}", calls=number, best=0.5))
        bar.look()
        now += 0.01
    bar.event(Event(kind="phase", text="proving", phase="proving", calls=1000))
    lines = screen.getvalue().splitlines()
    assert 10 <= len(lines) <= 13
    assert lines[-2:] == ["step 999, score 0.500 (999 calls so far)", "proving (1,000 calls so far)"]
    assert all(char.isprintable() for line in lines for char in line)


def test_a_long_silence_is_broken_by_what_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(Screen(terminal=False), monkeypatch)
    monkeypatch.setattr(SearchBar, "quiet", 0.01)
    with SearchBar() as bar:
        bar.event(Event(kind="phase", text="optimizing", phase="optimizing", job=job_with("?")))
        bar.begin_search("searching", None)
        for _ in range(500):
            if "so far: " in screen.getvalue():
                break
            time.sleep(0.01)
    assert re.search(r"so far: 0 calls, 0\.0000 USD", screen.getvalue())


@pytest.mark.parametrize("terminal", [True, False])
def test_nobody_who_reads_the_display_is_no_reason_to_end_the_work(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = shown_on(Screen(terminal=terminal), monkeypatch)
    with SearchBar() as bar:
        bar.begin_search("searching", None)
        screen.gone = True
        bar.event(Event(kind="note", text="said"))
        bar.event(Event(kind="step", text="step 1"))
