"""A proof on the sealed test, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluation.proof import Decision
from ..keeping.artifacts import Artifact
from ..report.scores import counts_line, scores_table
from .printing import Part

__all__ = ["kept_line", "proof_parts"]


def proof_parts(card: Mapping[str, Any], decision: Decision, *notes: str) -> list[Part]:
    """Return the scores of basic and compiled, what was not answered, ``notes``, and the decision."""
    found: list[Part] = [
        scores_table(f"sealed test, {card['gold']['test']} cases", card["scores"], decision.metric)
    ]
    found += [counts_line(name, counts) for name, counts in card["counts"].items()]
    if any(card["inconsistent"].values()):
        found.append(f"answers that contradicted themselves: {card['inconsistent']}")
    found += [*notes, f"decision: {decision.words}"]
    return found + [f"warning: {warning}" for warning in decision.warnings]


def kept_line(artifact: Artifact, *, latest: bool) -> str:
    """Return where an artifact is, and whether its judge's name now means it."""
    kept = f"kept as {artifact.ref}, not made latest (--force makes it so)"
    return f"artifact: {artifact.path} ({'latest' if latest else kept})"
