"""What an export target is given, and what it has to offer.

A new target is one module with an :class:`Exporter`, about 30 lines, and its name in ``jurist.exports``, or
a plug-in (docs/plugins.md has one). Its test must render rows with the target's own
loader and compare them with what DSPy's adapter sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import dspy

    from ..programs.judge import Judge
    from ..programs.state import PromptState

__all__ = ["Exporter", "Subject"]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is exported: a judge with one prompt, and, if it comes from an artifact, its card.

    Attributes:
        judge: the judge.
        program: its program with the prompt.
        state: the prompt.
        card: the artifact's card; empty for a prompt that was never proved.
    """

    judge: Judge
    program: dspy.Module
    state: PromptState
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> str:
        """``JUDGE@VERSION``, or ``JUDGE (not an artifact)``."""
        return (
            f"{self.judge.name}@{self.card['version']}"
            if self.card
            else f"{self.judge.name} (not an artifact)"
        )

    @property
    def stamp(self) -> dict[str, Any]:
        """Which prompt an exported file holds: judge, version, sha256 of the artifact, id of the prompt."""
        return {
            "judge": self.judge.name,
            "variant": self.judge.variant,
            "version": self.card.get("version"),
            "sha256": self.card.get("sha256"),
            "prompt": self.state.id,
        }


@runtime_checkable
class Exporter(Protocol):
    """One target system."""

    @property
    def name(self) -> str:
        """The word after ``--to``."""
        ...

    @property
    def suffix(self) -> str:
        """The usual end of the file's name, with its dot."""
        ...

    def render(self, subject: Subject) -> str:
        """Return the text of the file.

        Raises:
            UsageError: this target cannot reproduce this judge.
        """
        ...
