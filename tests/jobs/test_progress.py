"""Progress from Python: a bar where somebody looks, nothing in a log, and never a word that is no value."""

import sys
from types import ModuleType
from typing import Any

import pytest

import jurist
from jurist.errors import UsageError
from jurist.jobs.surface import Surface, count_rows, show_compilation
from jurist.keeping.artifacts import Store
from jurist.optimizers.base import Event


def _work() -> None:
    with show_compilation("fect") as take:
        take(Event(kind="phase", text="optimizing", phase="optimizing", calls=0, expected=40))
        take(Event(kind="step", text="step \x1b[2J 1", calls=12, best=0.75))
    with count_rows("fect:basic", 2) as step:
        step()
        step()


def test_a_script_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    _work()
    assert capsys.readouterr() == ("", "")


def test_a_notebook_shows_phase_calls_and_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    _work()
    out, err = capsys.readouterr()
    assert out == ""
    assert "fect: optimizing" in err
    assert "/40" in err
    assert "fect:basic" in err
    assert "\x1b[2J" not in err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("store", "elsewhere"),
        ("mapping", {"label": "verdict"}),
        ("raters", "label_*"),
        ("merge", "majority"),
        ("resume", False),
        ("fresh", True),
    ],
)
def test_what_a_surface_brings_is_not_given_beside_it(name: str, value: Any) -> None:
    surface = Surface(Store("versions"))
    with pytest.raises(UsageError, match=f"^{name}= goes against surface="):
        jurist.evaluate("fect:basic", "fect-mini", surface=surface, **{name: value})
    with pytest.raises(UsageError, match=f"^{name}= goes against surface="):
        jurist.compile("fect", "fect-mini", surface=surface, **{name: value})
