"""What all tests share: no network but the loopback, no real keys, helpers importable by name."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow]
settings.register_profile("any machine", max_examples=50, deadline=None, suppress_health_check=slow)
settings.load_profile("any machine")  # one that is busy fails no test
sys.path.insert(0, str(Path(__file__).parent / "helpers"))
for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when NumPy is imported, which is later
    os.environ.setdefault(_pool, "1")  # threads of small fits that wait for each other take most of the time

os.environ["LANGUAGE"] = "C"  # or argparse looks for a translation of each of its words on the disk
gc.set_threshold(20_000)  # garbage is looked for less often: most of what a test makes is freed without

FAKE_KEY = "sk-proj-THIS-IS-NO-KEY-0123456789"


def pytest_configure() -> None:
    """Hear what tests send: a shell ignores SIGINT in background jobs, nohup SIGHUP, and children inherit it."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _swift() -> Iterator[None]:
    """Leave out what takes time and shows nothing."""
    from pydantic import TypeAdapter

    with pytest.MonkeyPatch.context() as patch:
        # What a test writes survives its process in any case.
        patch.setattr("os.fsync", lambda descriptor: None)
        # no certificate is looked at on the loopback, and all are loaded for each client
        patch.setattr("ssl.SSLContext.load_verify_locations", lambda *places, **named: None)
        patch.setattr("dspy.adapters.utils.TypeAdapter", cache(TypeAdapter))  # DSPy makes one for each value
        # the line before a proof on the gain that it shows: tests of its figure draw as many tests as they need
        patch.setattr("jurist.gold.label_totals._FORECAST_RUNS", 5)
        yield


@pytest.fixture(autouse=True, scope="module")
def _own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what fixtures of a module trust and open out of the user's data home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def _own_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let no test see the folder it is run in, nor the user's store: a used checkout holds artifacts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JURIST_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))


@pytest.fixture(autouse=True)
def _no_real_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what failed be sent again at once."""
    from clocks import SkippingClock

    SkippingClock().shorten(monkeypatch, 0.0)


@pytest.fixture
def fake_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set a key that must never be seen again."""
    monkeypatch.setenv("OPENAI_API_KEY", FAKE_KEY)
    return FAKE_KEY


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Start loopback servers that end with the test."""
    from loopback import Loopback

    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(Loopback(*args, **kwargs))
