"""The embedded offline engine: an evidence reader that answers DSPy requests without a model."""

from .engine import AsyncOfflineEngine, OfflineEngine

__all__ = ["AsyncOfflineEngine", "OfflineEngine"]
