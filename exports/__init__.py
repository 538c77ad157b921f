"""Where a compiled judge goes: each target system is a class, and every export is stamped with the artifact's hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError, choices
from ..keeping.artifact_card import Artifact
from ..programs.plugins import Registry
from .markdown import MarkdownExporter
from .messages import MessagesExporter, variables
from .portable_file import PythonFile
from .portable_judge import filled
from .scorers import SCORERS
from .target import Exporter, Prompt, Subject, prompt_of

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from ..programs.state import PromptState

__all__ = [
    "EXPORTERS",
    "Exporter",
    "Prompt",
    "Subject",
    "export",
    "exporter",
    "filled",
    "prompt_of",
    "subject_of",
    "variables",
]

_ALL: tuple[Exporter, ...] = (
    MessagesExporter(),
    MarkdownExporter(),
    PythonFile(),
    *SCORERS,
)

EXPORTERS: Registry[Exporter] = Registry(
    {one.name: one for one in _ALL},
    group="jurist.exports",
    fits=lambda found: isinstance(found, Exporter),
    what="export target",
)
"""Every target by name, those of plug-ins too."""


def exporter(target: str) -> Exporter:
    """Return the exporter called ``target``."""
    if target not in EXPORTERS:
        raise UsageError(f"no export target is called {target!r}", hint=choices(target, EXPORTERS))
    return EXPORTERS[target]


def export(source: Artifact | PromptState, judge: Judge, target: str) -> str:
    """Return the text of the file that hands a judge to another system."""
    return exporter(target).render(subject_of(source, judge))


def subject_of(source: Artifact | PromptState, judge: Judge) -> Subject:
    """Return what an exporter is given."""
    if isinstance(source, Artifact):
        source.check_single()
        return Subject(judge=judge, program=source.program(judge), state=source.state, card=source.card)
    from ..keeping.dspy_state import settle

    state = settle(judge, source)
    return Subject(judge=judge, program=state.apply(judge.basic()), state=state)
