"""The embedded offline engine: a text-overlap scorer, not an LLM, that answers DSPy requests."""

from .engine import OfflineEngine

__all__ = ["OfflineEngine"]
