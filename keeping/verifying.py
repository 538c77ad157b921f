"""What is wrong with one version of an artifact: its seal, its place, its card, its prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArtifactError
from .card_schema import card_fault
from .sealing import Sealed, inspect
from .shelves import Shelf


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong in the store: in which artifact or judge, where on disk, and what."""

    ref: str
    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


def faults_of(sealed: Sealed, judge: str, version: int, *, extra: bool = True) -> Sequence[str]:
    """The seal's faults, and a sealed folder that was moved to another place."""
    faults = [str(fault) for fault in sealed.faults if extra or not fault.extra]
    if not faults and (sealed.card.get("judge"), sealed.card.get("version")) != (judge, version):
        moved = f"{sealed.card.get('judge')}@{sealed.card.get('version')}"
        faults.append(f"card.json: says {moved}, but lies in the folder of {judge}@{version}")
    if not faults and (fault := card_fault(sealed.card)):
        faults.append(f"card.json: {fault}")
    return faults


def problems_of(shelf: Shelf, version: int) -> Sequence[Problem]:
    """Everything that is wrong with a version."""
    path = shelf.path / str(version)
    sealed = inspect(path)
    texts = list(faults_of(sealed, shelf.judge, version))
    if not texts:
        from .dspy_state import state_of

        try:
            state_of(sealed.program)
        except ArtifactError as error:
            texts.append(error.message)
    return [Problem(ref=f"{shelf.judge}@{version}", path=path, message=text) for text in texts]
