"""Detectors that people already have, named together with their model: ``nli:ORG/MODEL``, ``fava:openai/NAME``."""

from dataclasses import dataclass
from typing import Final

from ..errors import UsageError

LOCAL: Final = ("nli", "nli-contradiction", "lettuce")
"""Kinds whose model is a classifier that runs here: a folder, or a model of the Hugging Face hub."""
RECORDED: Final = "recorded"
"""The kind whose model is a file with the verdicts that it gave."""
KINDS: Final = (*LOCAL, RECORDED, "selfcheck", "fava", "ragtruth")
"""All kinds; the model of the others is any language model."""

_CHECKER: Final = "+nli:"


@dataclass(frozen=True, kw_only=True)
class Named:
    """What a reference such as ``selfcheck:openai/NAME+nli:ORG/MODEL`` says."""

    kind: str  # one of :data:`KINDS`
    model: str  # who answers
    checker: str = (
        ""  # ``nli-contradiction:MODEL``, for ``selfcheck`` only: who compares, in place of ``model``
    )

    @property
    def local(self) -> bool:
        """Whether no language model answers: a classifier that runs here, or a file of verdicts."""
        return self.kind in (*LOCAL, RECORDED)


def named(reference: str) -> Named | None:
    """Return what a reference names, or ``None`` if it names no detector with its model."""
    kind, _, model = reference.partition(":")
    if kind not in KINDS:
        return None
    checker = ""
    if kind == "selfcheck":
        model, plus, classifier = model.partition(_CHECKER)
        checker = f"nli-contradiction:{classifier}" if plus else ""
    if not model or checker.endswith(":"):
        form = f"{kind}:ORG/MODEL, or {kind}:FOLDER" if kind in LOCAL else f"{kind}:provider/model"
        form = f"{kind}:FILE, or {kind}:FILE#COLUMN" if kind == RECORDED else form
        raise UsageError(
            f"{reference} names no {'file' if kind == RECORDED else 'model'}", hint=f"write it as {form}"
        )
    return Named(kind=kind, model=model, checker=checker)
