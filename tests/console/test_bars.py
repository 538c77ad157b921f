"""The display of a compilation: a live table on a terminal, plain lines elsewhere, and never in the work's way."""

import io
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_runs import job_with

from jurist.console.bars import SearchBar
from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
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
        bar.begin("fect on gold", None)
        bar.event(Event(kind="phase", text="optimizing: opro", phase="optimizing", job=job))
        bar.event(Event(kind="step", text="step 3: best opro-3", calls=84, best=0.75))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "84 calls: step 3: best opro-3, score 0.750" in shown
    assert re.search(r"optimizing .*20 of 900 calls, 0 tokens, 0\.0000 USD", shown)


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
    assert lines[-2:] == ["999 calls: step 999, score 0.500", "1000 calls: proving"]
    assert all(char.isprintable() for line in lines for char in line)


def test_a_long_silence_is_broken_by_what_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(Screen(terminal=False), monkeypatch)
    monkeypatch.setattr(SearchBar, "quiet", 0.01)
    with SearchBar() as bar:
        bar.event(Event(kind="phase", text="optimizing", phase="optimizing", job=job_with("?")))
        bar.begin("fect on gold", None)
        for _ in range(500):
            if "spent: " in screen.getvalue():
                break
            time.sleep(0.01)
    assert re.search(r"spent: 0.* calls, 0 tokens, 0\.0000 USD", screen.getvalue())


@pytest.mark.parametrize("terminal", [True, False])
def test_nobody_who_reads_the_display_is_no_reason_to_end_the_work(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = shown_on(Screen(terminal=terminal), monkeypatch)
    with SearchBar() as bar:
        bar.begin("fect on gold", None)
        screen.gone = True
        bar.event(Event(kind="note", text="said"))
        bar.event(Event(kind="step", text="step 1"))
