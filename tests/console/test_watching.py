"""The display of a compilation: a live table on a terminal, plain lines elsewhere, and never in the work's way."""

import functools
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from small import claims, ok, write_jsonl

from jurist.console.watching import Best, Pace, Watch
from jurist.engines.channel import CallContext
from jurist.engines.ledger import Spend
from jurist.engines.meter import Budget
from jurist.gold.goldset import Gold
from jurist.optimizers.base import Event
from jurist.programs.fect import FECT

OPRO = ("compile", "fect", "--gold", "gold.jsonl", "--optimizer", "opro", "--set", "steps=3")


@pytest.fixture(autouse=True)
def _folder() -> None:
    write_jsonl(Path("gold.jsonl"), claims())


@functools.cache  # none of them changes it
def finished() -> tuple[Any, Any]:
    """Return the job and the board of a finished search, as the events named them."""
    from jurist.jobs.compiling import compile_judge
    from jurist.jobs.plan import Plan
    from jurist.keeping.artifacts import Store

    seen: list[Event] = []
    plan = Plan(judge=FECT, gold=Gold.load("gold.jsonl", FECT), optimizer="opro", options={"steps": "3"})
    compile_judge(plan, store=Store("compiled"), sink=seen.append)
    begun = next(event for event in seen if event.board is not None)
    assert [event.phase for event in seen if event.kind == "phase"] == ["splitting", "optimizing", "proving"]
    return begun.job, begun.board


def test_the_best_is_the_one_that_the_board_would_choose_and_falls_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job, board = finished()
    best, shown = Best(job, board), []
    tried = [one for one in board.candidates.values() if any(board.outcome(one, case) for case in job.dev)]
    values = {one.id: 0.9 - number / 10 for number, one in enumerate(tried)}
    monkeypatch.setattr(board, "value", lambda one, cases: values[one.id])
    for chosen in tried:
        monkeypatch.setattr(board, "best", lambda cases, chosen=chosen: chosen)
        shown.append(best.look())
    assert len(shown) > 1
    for number, said in enumerate(shown):
        assert f" {0.9 - number / 10:.3f} [" in said
        assert f"{len(board.candidates)} candidates" in said
        assert ("it is surer by all that is known than basic" in said) == (number > 0)


def test_an_error_is_shown_as_it_is_and_not_as_it_is_maximised() -> None:
    job, board = finished()
    view = Watch(Console(file=io.StringIO()), "fect")._view
    view.take(Event(kind="phase", text="optimizing", phase="optimizing", job=job, board=board))
    assert view.best is not None
    view.best.metric = replace(view.best.metric, higher_is_better=False)
    assert "on dev -" in view.best.look()
    assert view.signed(Event(kind="step", text="", best=-2.0)).best == 2.0


def test_the_bar_fits_a_narrow_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    job, board = finished()
    view = Watch(console, "fect on gold")._view
    view.take(Event(kind="phase", text="step 3", phase="optimizing", job=job, board=board, expected=900))
    console.print(view.drawn(80))
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("fect on gold: optimizing")
    assert re.search(r"\d+ of 900 calls, \d+ tokens, 0\.0000 USD", lines[1])
    assert any(line.startswith("best so far: ") for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_candidates_go_by_names_and_what_they_try_is_said() -> None:
    job, board = finished()
    view = Watch(Console(file=io.StringIO()), "fect")._view
    view.take(Event(kind="phase", text="optimizing", phase="optimizing", job=job, board=board))
    last = [one for one in board.candidates.values() if one.source.startswith("opro")][-1]
    event = view.named(Event(kind="candidate", text=f"step 3: {last.id}, not 0123456789ab"))
    assert re.fullmatch(r"step 3: opro-\d+, not 0123456789ab(, an instruction written from .*)?", event.text)
    event = view.named(Event(kind="candidate", text=f"step 3: {last.id}"))
    assert event.text.endswith(", an instruction written from the scored ones and their errors")


def test_the_time_left_is_that_of_the_scarcest_amount() -> None:
    pace = Pace()
    assert pace.left([80]) is None
    pace.see(0.0, 0, 0.0)
    pace.see(10.0, 20, 1.0)
    assert pace.left([80, 2.0]) == pytest.approx(20)  # 2 dollars at 0.1 a second; 80 calls would take 40
    assert pace.left([4, 2.0]) == pytest.approx(2)
    assert pace.left([None, None]) is None
    for second in range(11, 150):  # nothing moves for longer than the window
        pace.see(float(second), 20, 1.0)
    assert pace.left([80, 2.0]) is None


@pytest.mark.parametrize(
    ("budget", "expected", "said"),
    [
        (Budget(calls=100), None, "left about 0:00:40 if the whole budget is used"),
        (Budget(calls=100), (0, 24), "left about 0:00:02"),
        (Budget(calls=100, seconds=30), None, "left about 0:00:20 if"),
        (Budget(), None, "left ?"),
    ],
)
def test_calls_in_flight_are_still_to_come(
    budget: Budget, expected: tuple[int, int] | None, said: str
) -> None:
    now = 0.0
    view = Watch(Console(file=io.StringIO()), "fect", clock=lambda: now)._view
    job, _ = finished()
    view.job, view._expected = replace(job, context=CallContext.fresh(budget)), expected
    meter = view.job.context.meter
    meter.calls = meter.in_flight = 64  # all were sent at once
    view.pace()
    now = 10.0
    meter.calls, meter.in_flight = 84, 64
    view.pace()
    assert said in view._time(meter)


def test_plain_lines_are_few_and_hold_no_control_characters() -> None:
    now, out = 0.0, io.StringIO()
    watch = Watch(Console(file=out, width=200), "title", clock=lambda: now)
    for number in range(1000):
        watch._lines.take(Event(kind="candidate", text=f"new {number}\x1b[31m\r\n\u202e", calls=number))
        watch._lines.take(Event(kind="step", text=f"step {number}", calls=number, best=0.5))
        watch._lines.due()
        now += 0.01
    watch._lines.take(Event(kind="phase", text="proving", phase="proving", calls=1000))
    lines = out.getvalue().splitlines()
    assert 10 <= len(lines) <= 12
    assert lines[-2:] == ["999 calls: step 999  value 0.500", "1000 calls: proving"]
    assert all(char.isprintable() for line in lines for char in line)


def test_calls_that_fail_are_said() -> None:
    context = CallContext.fresh()
    assert context.trouble == ""
    context.ledger.add("judge", Spend(calls=5, retries=3, failures=1))
    context.breaker.last = "LMTimeoutError: no\nanswer"
    assert context.trouble == (
        "0 calls in flight; 4 failed, of which 3 were sent again and 1 given up; "
        "the last failure: LMTimeoutError: no answer"
    )


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("where", ["console.watching.Best.look", "console.watching.Pace.see"])
def test_a_fault_in_the_display_does_not_touch_the_work(
    where: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("no\x1b luck")

    monkeypatch.setattr(f"jurist.{where}", broken)
    monkeypatch.setattr("jurist.console.watching._REFRESH", 0.001)
    out = io.StringIO()
    monkeypatch.setattr(
        "jurist.console.compile.human", lambda: Console(file=out, width=200, force_terminal=terminal)
    )
    done = ok(*OPRO, "--json")
    assert done.json["decision"]
    if terminal or where.endswith("see"):
        assert "the display stopped (ZeroDivisionError('no\\x1b luck')); the work did not" in out.getvalue()
