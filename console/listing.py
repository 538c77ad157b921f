"""``jurist artifacts list``: the versions in a store. It is looked at often, and imports neither DSPy nor NumPy."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..arguments.artifacts import ListOptions
from ..arguments.groups import StoreOptions
from ..errors import ArtifactError
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import SHIPPED, Store
from ..keeping.model_ends import ModelEnd, find_near_ends
from ..keeping.trust import Trust
from ..report.scores import disagreement_cell, metric_cell
from ..report.table import table
from .printing import Result, print_notes


def open_named_store(options: StoreOptions) -> Store:
    """Return the store that the options or ``JURIST_STORE`` name; a named folder that is missing is refused."""
    # A folder that is missing would only look like an empty store.
    folder = options.store or os.environ.get("JURIST_STORE")
    if folder and folder != SHIPPED and not Path(folder).exists():
        raise ArtifactError(
            f"there is no folder {folder}", hint="name the store with --store or JURIST_STORE"
        )
    return Store(options.store, trust=Trust(trusts_all=options.trust, say=print_notes))


def list_artifacts(options: ListOptions) -> Result:
    """List the artifacts of a store, or of one judge, a line each; ``artifacts show`` has the rest."""
    if options.shipped:
        options = replace(options, store=SHIPPED)
    artifacts = open_named_store(options).list(options.judge)
    if options.judge is not None and not artifacts:
        hint = "jurist artifacts list has all; --store names another folder"
        raise ArtifactError(f"no artifact of {options.judge!r}", hint=hint)
    if not artifacts:
        store = open_named_store(options).root
        return Result(data={"artifacts": []}, body=[f"no version in {store} yet: jurist compile makes one"])
    columns = ["artifact", "names", "decision", "score on its test", "model"]
    entries = []
    rows = []
    for artifact in artifacts:
        entries.append(artifact_entry(artifact))
        rows.append(_artifact_row(artifact))
    return Result(
        data={"artifacts": entries},
        body=[table("", columns, rows, layout="lines")],
        notes=_notes_on_ends(artifacts),
    )


def _notes_on_ends(artifacts: Sequence[Artifact]) -> list[str]:
    """Return a note that names the versions whose model has ended, or ends within 90 days; none without any."""
    ending: list[str] = []
    for artifact in artifacts:
        if not artifact.problem and _ends_of(artifact):
            ending.append(artifact.ref)
    if not ending:
        return []
    verb = "asks a model that ends" if len(ending) == 1 else "ask models that end"
    return [
        f"{' '.join(ending)} {verb} within 90 days, or ended: jurist move brings a version to another --model"
    ]


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
    card = artifact.about
    metric = card.decision.metric or ""
    score = card.proven_scores.get("compiled", {}).get(metric)
    score_words = "-"
    if score:
        score_words = f"{metric} {metric_cell(score)}"
    decision = card.decision.verdict or "not proven"
    if card.moved is not None:
        decision += f"; moved from {card.moved.parent}: {card.moved.verdict_words}"
    if card.refit is not None:
        decision = f"refit on all {card.refit.rows} rows, not tested"
    label_decision = disagreement_cell(artifact.label_proofs)
    if label_decision:
        decision += f"; {label_decision}"
    return [
        artifact.ref,
        " ".join(artifact.names),
        artifact.problem or decision,
        score_words,
        _model_cell(artifact),
    ]
