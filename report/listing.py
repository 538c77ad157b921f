"""The versions in a store, as a table. It is looked at often, and imports neither DSPy nor NumPy."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ArtifactError, checked
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.model_ends import ModelEnd, find_near_ends
from .scores import disagreement_cell, metric_cell
from .shown import Shown
from .table import Table, table

if TYPE_CHECKING:
    from ..keeping.card_parts import ScoreCard

_COLUMNS = ("artifact", "names", "score on its test", "decision", "model")


@dataclass(frozen=True, kw_only=True, repr=False)
class Artifacts(Shown):
    """The versions of a store, or of one judge, in order."""

    versions: tuple[Artifact, ...]

    def __iter__(self) -> Iterator[Artifact]:
        """Return an iterator over the versions."""
        return iter(self.versions)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.versions)

    @property
    def headline(self) -> str:
        """The names of the versions."""
        return ", ".join(artifact.ref for artifact in self.versions) or "none"

    def parts(self) -> list[Table | str]:
        """Return the table, and a note on models that end."""
        rows = [_artifact_row(artifact) for artifact in self.versions]
        return [table("", _COLUMNS, rows, layout="lines"), *self.notes]

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that names the versions whose model has ended, or ends within 90 days; none without any."""
        ending: list[str] = []
        for artifact in self.versions:
            if not artifact.problem and _ends_of(artifact):
                ending.append(artifact.ref)
        if not ending:
            return ()
        verb = "asks a model that ends" if len(ending) == 1 else "ask models that end"
        return (
            f"{' '.join(ending)} {verb} within 90 days, or ended: jurist move brings a version to another --model",
        )

    def records(self) -> list[dict[str, object]]:
        """Return a row for each version: names, parent, model, score on the sealed test, decision."""
        return [_artifact_record(artifact) for artifact in self.versions]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a version, which an empty store has, too."""
        return _RECORD_COLUMNS

    def to_json(self) -> dict[str, Any]:
        """Return the entry of each version, with its card."""
        return {"artifacts": [artifact_entry(artifact) for artifact in self.versions]}


@checked
def artifacts(judge: str | None = None, *, store: str | os.PathLike[str] | Store | None = None) -> Artifacts:
    """List the versions of a store, or of one judge: each with its parent, its optimizer, its score and its decision.

    Args:
        judge: the name of a judge; default: all.
        store: the folder of artifacts, or ``"shipped"``; default ``$JURIST_STORE``, else ``./compiled``.

    Raises:
        ArtifactError: the judge has no version there.
    """
    opened = store if isinstance(store, Store) else Store(None if store is None else os.fspath(store))
    versions = opened.list(judge)
    if judge is not None and not versions:
        hint = "jurist artifacts list has all; --store names another folder"
        raise ArtifactError(f"no artifact of {judge!r}", hint=hint)
    return Artifacts(versions=tuple(versions))


def artifact_entry(artifact: Artifact) -> dict[str, object]:
    """Return the entry of a version in ``--json``."""
    return {
        "artifact": artifact.ref,
        "path": str(artifact.path),
        "latest": artifact.latest,
        "tags": list(artifact.tags),
        "problem": artifact.problem,
        "disagreements": list(artifact.disagreements),
        "model_ends": _days_of_ends(artifact),
        "card": artifact.card,
    }


def _ends_of(artifact: Artifact) -> Mapping[str, ModelEnd]:
    """Return the ends, past or within 90 days, of the models that a version asks: model string -> end."""
    if artifact.about.setting.asks_model is False:
        return {}
    return find_near_ends(artifact.about.model.each)


def _days_of_ends(artifact: Artifact) -> dict[str, str]:
    """Return the models of a version that have ended, or end within 90 days: model string -> day."""
    days: dict[str, str] = {}
    for model, end in _ends_of(artifact).items():
        days[model] = end.day.isoformat()
    return days


def _model_cell(artifact: Artifact) -> str:
    """Return the model of a version for the table, with its end where it ends soon."""
    cell = artifact.model or "-"
    ends = _ends_of(artifact)
    if ends:
        words = [end.words() for end in ends.values()]
        cell += f" ({', '.join(words)})"
    return cell


def _artifact_row(artifact: Artifact) -> list[str]:
    """Return the cells of a version in the table, in the order of its columns."""
    score = _proven_score(artifact)
    score_words = "-"
    if score:
        score_words = f"{artifact.about.decision.metric} {metric_cell(score)}"
    return [
        artifact.ref,
        " ".join(artifact.names),
        score_words,
        decision_words(artifact),
        _model_cell(artifact),
    ]


def _proven_score(artifact: Artifact) -> "ScoreCard | None":
    """Return the score of a version on its sealed test, by the metric of its decision; ``None`` without one."""
    card = artifact.about
    return card.proven_scores.get("compiled", {}).get(card.decision.metric or "")


def decision_words(artifact: Artifact) -> str:
    """Return the decision of a version's test, and what came after it; of a damaged one its fault."""
    if artifact.problem:
        return artifact.problem
    card = artifact.about
    decision = card.decision.verdict or "not proven"
    if card.moved is not None:
        decision += f"; moved from {card.moved.parent}: {card.moved.verdict_words}"
    if card.refit is not None:
        decision = f"refit on all {card.refit.rows} rows, not tested"
    label_decision = disagreement_cell(artifact.label_proofs)
    if label_decision:
        decision += f"; {label_decision}"
    return decision


_RECORD_COLUMNS = (
    "artifact",
    "latest",
    "tags",
    "parent",
    "optimizer",
    "model",
    "metric",
    "value",
    "low",
    "high",
    "tokens_per_row",
    "decision",
    "path",
)


def _artifact_record(artifact: Artifact) -> dict[str, object]:
    """Return the figures of a version, unrounded."""
    card = artifact.about
    value = low = high = None
    score = _proven_score(artifact)
    if score is not None:
        value, low, high = score.value, score.low, score.high
    parent = "basic"
    if card.parent:
        parent = f"{artifact.judge}@{card.parent}"
    values = (
        artifact.ref,
        artifact.latest,
        " ".join(artifact.tags),
        parent,
        card.optimizer.name,
        artifact.model,
        card.decision.metric or "",
        value,
        low,
        high,
        card.tokens_words,
        decision_words(artifact),
        str(artifact.path),
    )
    return dict(zip(_RECORD_COLUMNS, values, strict=True))
