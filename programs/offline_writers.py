"""Registers what the offline engine writes for the generators. Whatever asks a program imports this module."""

from functools import cache

from ..engines.offline.filler import Writer, register_writers


@cache
def _load_writers() -> tuple[Writer, ...]:
    """Return the writers of all generators, in the order in which the engine asks who writes a request."""
    from .dialogue_offline import DIALOGUE_WRITERS
    from .faithqa.offline import FAITHQA_WRITERS
    from .haluagent.offline import HALUAGENT_WRITERS

    return DIALOGUE_WRITERS + HALUAGENT_WRITERS + FAITHQA_WRITERS


register_writers(_load_writers)
