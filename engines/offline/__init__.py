"""The embedded offline engine: a text-overlap scorer, not an LLM, that answers DSPy requests."""

from .engine import AsyncOfflineEngine, OfflineEngine

__all__ = ["AsyncOfflineEngine", "OfflineEngine"]
