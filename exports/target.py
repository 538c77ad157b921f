"""What an export target is given, and what it has to offer.

A new target is an :class:`Exporter`, about 30 lines, and its name in ``jurist.exports``, or
a plug-in (docs/plugins.md has one). A :class:`Target` also says what its system makes of the file, through that
system's own loader; ``jurist export --check`` and the tests hold it against what the judge sends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from ..errors import UsageError

if TYPE_CHECKING:
    import dspy

    from ..engines.models import Model
    from ..programs.judge import Judge
    from ..programs.state import PromptState

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""``{"role": "system" | "user" | "assistant", "content": str}``, in their order."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One filling of the prompt with a user's row."""

    id: str  # of its case
    inputs: Mapping[str, Any]  # the row's own, by the judge's input fields
    variables: Mapping[str, str]  # input field -> the text that stands in the prompt, defused
    messages: Messages  # what the judge sends
    label: str = ""  # what people say, where they say one thing; else empty


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is exported: a judge with one prompt, and, if it comes from an artifact, its card."""

    judge: Judge  # the judge
    program: dspy.Module  # its program with the prompt
    state: PromptState  # the prompt
    # the artifact's card; empty for a prompt that was never proved
    card: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()  # what to judge, for targets that hold it; empty if nobody gave any
    model: Model | None = None  # who is to answer; ``None`` if nobody said

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
        """Which prompt an exported file holds, and which model it was proven with (``None``: none)."""
        return {
            "judge": self.judge.name,
            "variant": self.judge.variant,
            "version": self.card.get("version"),
            "sha256": self.card.get("sha256"),
            "prompt": self.state.id,
            "proven_with": self._proven_with,
        }

    @property
    def _proven_with(self) -> str | None:
        return (self.card.get("model") or {}).get("name")

    @property
    def samples(self) -> int:
        """How often a case is asked."""
        return int((self.card.get("thresholds") or {}).get("samples") or 1)

    @property
    def limits(self) -> tuple[str, ...]:
        """What no target holds of this judge, in words."""
        threshold = (self.card.get("thresholds") or {}).get("threshold") or 1
        model = self._proven_with
        proven = (
            (f"{self.ref} was proven with {model}: its scores do not hold for other models",) if model else ()
        )
        if threshold >= 1:
            return proven
        return (
            *proven,
            f"the judge is positive from a probability of {threshold:.3g} on, read from the tokens of replies; without "
            "them the share of the samples is held against it, and of one sample the label counts",
        )


@runtime_checkable
class Exporter(Protocol):
    """One target system."""

    @property
    def name(self) -> str:
        """The word after ``--to``."""

    @property
    def suffix(self) -> str:
        """The usual end of the file's name, with its dot."""

    def render(self, subject: Subject) -> str:
        """Return the text of the file."""


class Target(ABC):
    """An exporter whose files can be loaded and filled by the target system itself."""

    name: ClassVar[str]  # the word after ``--to``
    suffix: ClassVar[str]  # the usual end of the file's name, with its dot
    limits: ClassVar[tuple[str, ...]] = ()  # what it cannot hold of any judge, in words
    prepares: ClassVar[bool] = False  # whether the file itself defuses and renders a row's values

    @abstractmethod
    def render(self, subject: Subject) -> str:
        """Return the text of the file. Raises what :meth:`Exporter.render` raises."""

    @abstractmethod
    def replay(self, text: str, rows: Sequence[Row]) -> Sequence[Messages]:
        """Return what the target's own loader makes of the file, for each row."""


def loader(module: str, package: str) -> Any:
    """Import what loads a target's files."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"checking this export needs {package}, which is not installed", hint=f"pip install {package}"
        ) from error
