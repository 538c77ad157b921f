"""What a version's proof says of its judge, row by row, and whether it says it of the judge as it is asked now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..cases import Values
from .loading import LoadedJudge

__all__ = ["ProvenRow", "other_conditions", "proven_rows"]


@dataclass(frozen=True, kw_only=True)
class ProvenRow:
    """One row of a sealed test.

    Attributes:
        case: its id.
        group: its cluster.
        gold: a value per unit; ``None`` where people said nothing.
        said: what the version said; ``None`` where it said nothing of use.
    """

    case: str
    group: str
    gold: Values
    said: Values


def proven_rows(judge: LoadedJudge) -> tuple[ProvenRow, ...]:
    """Return the rows of a judge's proof, but for those that the machinery failed to get an answer to.

    Empty without an artifact, or of one that kept none.

    Raises:
        ArtifactError: the file was changed since the artifact was read.
    """
    read = judge.judge.answer.of_json
    return tuple(
        ProvenRow(
            case=row["case"],
            group=row["group"],
            gold=tuple(None if one is None else read(one) for one in row["gold"]),
            said=tuple(None if one is None else read(one) for one in row["compiled"]["values"]),
        )
        for row in (judge.artifact.proof() if judge.artifact else ())
        if row["compiled"]["status"] != "failed"
    )


def other_conditions(judge: LoadedJudge, stamp: Mapping[str, Any]) -> dict[str, str]:
    """Return in which ways a judge is, or was, asked otherwise than in its proof, in words by name.

    Args:
        judge: with an artifact.
        stamp: see :meth:`~.loading.LoadedJudge.stamp`.
    """
    assert judge.artifact is not None
    card = judge.artifact.card
    model, kept = card.get("model") or {}, card.get("thresholds") or {}
    proven = {
        "model": model.get("name"),
        **{name: kept.get(name) for name in ("samples", "threshold")},
        "temperature": (card.get("setting") or {}).get("temperature", model.get("temperature")),
        "strictness": card.get("strictness"),
    }
    now = {**stamp, **stamp["sampling"]}
    return {
        name: f"{name} {now.get(name)} and not {value}"
        for name, value in proven.items()
        if now.get(name) != value
    }
