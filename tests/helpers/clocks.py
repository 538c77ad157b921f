"""Clocks for tests of what waits: one that only sleep moves on, and one in which skipped waits count as passed."""

import time
from typing import Any

import pytest

from jurist.engines import channel, meter, pace


class FakeClock:
    """Stands still unless somebody sleeps."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the time of the engines."""
        for module in (channel, meter, pace):
            monkeypatch.setattr(module, "time", self)


class SkippingClock:
    """Runs as the real one does, and jumps where a wait is shortened: patience ends after as many attempts as ever."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.skipped

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def shorten(self, monkeypatch: pytest.MonkeyPatch, share: float) -> list[float]:
        """Let retries wait this share of their time; return the list of the whole waits, as they come."""
        waits: list[float] = []
        wait_of = channel.backoff

        def short(error: Any, attempt: int) -> float:
            wait = wait_of(error, attempt)
            waits.append(wait)
            self.skipped += wait * (1 - share)
            return wait * share

        monkeypatch.setattr(channel, "backoff", short)
        for module in (channel, pace):
            monkeypatch.setattr(module, "time", self)
        return waits
