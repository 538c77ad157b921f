"""Where a compiled judge goes: each target system is a class, and every export is stamped with the artifact's hash."""

from collections.abc import Mapping

from ..errors import UsageError, choices
from .markdown import MarkdownExporter
from .messages import MessagesExporter, variables
from .portable_file import PYTHON, SCORERS
from .portable_judge import filled
from .target import Exporter, Prompt, Subject, prompt_of

__all__ = [
    "EXPORTERS",
    "Exporter",
    "Prompt",
    "Subject",
    "exporter",
    "filled",
    "prompt_of",
    "variables",
]

_ALL: tuple[Exporter, ...] = (MessagesExporter(), MarkdownExporter(), PYTHON, *SCORERS)
EXPORTERS: Mapping[str, Exporter] = {target.name: target for target in _ALL}
"""Every target by name."""


def exporter(target: str) -> Exporter:
    """Return the exporter called ``target``."""
    if target not in EXPORTERS:
        raise UsageError(f"no export target is called {target!r}", hint=choices(target, EXPORTERS))
    return EXPORTERS[target]
