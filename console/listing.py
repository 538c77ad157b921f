"""``jurist artifacts list``: the versions in a store. It is looked at often, and imports neither DSPy nor NumPy."""

import os
from pathlib import Path

from ..arguments.artifacts import ListOptions
from ..arguments.groups import StoreOptions
from ..errors import ArtifactError
from ..keeping.artifact_card import Artifact
from ..keeping.artifacts import Store
from ..keeping.trust import Trust
from ..report.scores import disagreement_cell, metric_cell
from ..report.table import table
from .printing import Result, remark


def store_named(options: StoreOptions) -> Store:
    """Return the store; refuse a folder that was named and does not exist, as it would only look empty."""
    folder = options.store or os.environ.get("JURIST_STORE")
    if folder and not Path(folder).exists():
        raise ArtifactError(
            f"there is no folder {folder}", hint="name the store with --store or JURIST_STORE"
        )
    return Store(options.store, trust=Trust(trusts_all=options.trust, say=remark))


def list_artifacts(options: ListOptions) -> Result:
    """List artifacts with what each came from."""
    artifacts = store_named(options).list(options.judge)
    if options.judge is not None and not artifacts:
        hint = "jurist artifacts list has all; --store names another folder"
        raise ArtifactError(f"no artifact of {options.judge!r}", hint=hint)
    columns = [
        "artifact",
        "names",
        "from",
        "optimizer",
        "proven with",
        "metric on test",
        "tokens a row",
        "decision",
    ]
    entries = [
        {
            "artifact": artifact.ref,
            "path": str(artifact.path),
            "latest": artifact.latest,
            "tags": list(artifact.tags),
            "problem": artifact.problem,
            "disagreements": list(artifact.disagreements),
            "card": artifact.card,
        }
        for artifact in artifacts
    ]
    return Result(
        data={"artifacts": entries},
        body=[table("", columns, [_artifact_row(artifact) for artifact in artifacts])],
    )


def _artifact_row(artifact: Artifact) -> list[str]:
    about = artifact.about
    metric = about.decision.metric or ""
    score = about.proven_scores.get("compiled", {}).get(metric)
    decided = filter(None, (about.decision.verdict or "-", disagreement_cell(artifact.label_proofs)))
    return [
        artifact.ref,
        " ".join(artifact.names),
        f"{artifact.judge}@{about.parent}" if about.parent else "basic",
        about.optimizer.name or "-",
        artifact.model or "-",
        f"{metric} {metric_cell(score)}" if score else "-",
        about.tokens_words or "-",
        artifact.problem or "; ".join(decided),
    ]
