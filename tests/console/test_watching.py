"""The display of a compilation: a live table on a terminal, plain lines elsewhere, and never in the work's way."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from scripted_runs import job_with
from small import claims, ok, write_jsonl

from jurist.console.watching import Watch
from jurist.engines.channel import CallContext
from jurist.engines.meter import Budget
from jurist.optimizers.base import Event
from jurist.programs.catalogue import find

ROOT = Path(__file__).resolve().parents[2]
OPRO = ("compile", "fect", "--gold", "gold.jsonl", "--optimizer", "opro", "--set", "steps=3")


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


def test_the_bar_of_a_narrow_terminal_shows_calls_that_came_back_and_what_they_cost() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    context = CallContext.fresh(Budget(calls=900))
    context.meter.calls, context.meter.in_flight = 84, 64  # many are sent at once
    job = replace(job_with("?"), context=context)
    with Watch(console, "fect on gold") as watch:
        watch.event(Event(kind="phase", text="optimizing: opro", phase="optimizing", job=job))
        watch.event(Event(kind="step", text="step 3: best opro-3", calls=84, best=0.75))
    assert "84 calls: step 3: best opro-3  value 0.750" in out.getvalue()
    assert re.search(r"optimizing .*20 of 900 calls, 0 tokens, 0\.0000 USD", out.getvalue())


def test_an_error_is_shown_as_it_is_and_not_as_it_is_maximised() -> None:
    seen: list[Event] = []
    judge = find(f"{ROOT}/docs/reply_score.py:judge").with_metric("mae")
    job = replace(job_with("?"), judge=judge, sink=seen.append)
    job.note("step 1", -2.0, kind="step")
    assert seen[0].best == 2.0


def test_plain_lines_are_few_and_hold_no_control_characters() -> None:
    now, out = 0.0, io.StringIO()
    watch = Watch(Console(file=out, width=200), "title", clock=lambda: now)
    for number in range(1000):
        watch._take(Event(kind="candidate", text=f"new {number}\x1b[31m\r\n\u202e", calls=number))
        watch._take(Event(kind="step", text=f"step {number}", calls=number, best=0.5))
        watch._tell()
        now += 0.01
    watch._take(Event(kind="phase", text="proving", phase="proving", calls=1000))
    lines = out.getvalue().splitlines()
    assert 10 <= len(lines) <= 12
    assert lines[-2:] == ["999 calls: step 999  value 0.500", "1000 calls: proving"]
    assert all(char.isprintable() for line in lines for char in line)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_fault_in_the_display_does_not_touch_the_work(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("no\x1b luck")

    monkeypatch.setattr("jurist.console.watching.Watch._spent", broken)
    monkeypatch.setattr("jurist.console.watching._REFRESH", 0.001)
    out = io.StringIO()
    monkeypatch.setattr(
        "jurist.console.compile.human", lambda: Console(file=out, width=200, force_terminal=terminal)
    )
    done = ok(*OPRO, "--json")
    assert done.json["decision"]
    assert "the display stopped (ZeroDivisionError('no\\x1b luck')); the work did not" in out.getvalue()


def test_nobody_who_reads_the_display_is_no_reason_to_end_the_work() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    with Watch(Console(file=Gone(), force_terminal=False), "x") as watch:
        watch.event(Event(kind="note", text="said"))
