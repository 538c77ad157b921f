"""What tests of runs share."""

import pytest


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a provider of batches again at once."""
    monkeypatch.setattr("jurist.runs.batch_service._PAUSE", 0.0)
