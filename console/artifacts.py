"""``jurist artifacts list | show | diff | tag | verify``."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..arguments.artifacts import (
    DiffOptions,
    ListOptions,
    ShowOptions,
    SignerOptions,
    TagOptions,
    VerifyOptions,
)
from ..arguments.groups import StoreOptions
from ..errors import ArtifactError
from ..exports import export
from ..keeping.artifacts import Artifact, Store, Summary, prompt_text
from ..keeping.loading import load_judge
from ..keeping.locating import judge_of
from ..keeping.signing import PublicKey, public_key
from ..programs.answers.confusion import confused
from ..report.history import chosen_candidate, curve
from ..report.judged import rows_of
from ..report.robustness import robustness_about, robustness_table
from ..report.scores import confusion_table, metric_cell
from ..report.table import table
from .common import store_of
from .history import chart, history_json, history_table, pareto_parts, plot, prompt_diff
from .printing import Part, Result, Verbatim

__all__ = ["diff", "list_", "scored", "show", "signer", "store_named", "tag", "verify"]


def store_named(options: StoreOptions) -> Store:
    """Return the store, which must be there if it was named: of a misspelt one, nothing would be all that is said.

    Raises:
        ArtifactError: there is no such folder.
    """
    named = options.store or os.environ.get("JURIST_STORE")
    if named and not Path(named).exists():
        raise ArtifactError(f"there is no folder {named}", hint="name the store with --store or JURIST_STORE")
    return store_of(options)


def list_(options: ListOptions) -> Result:
    """List all artifacts."""
    found = store_named(options).list()
    rows = [
        [
            f"{one.judge}@{one.version}",
            " ".join([*(["latest"] if one.latest else []), *one.tags, *(["shipped"] if one.shipped else [])]),
            (one.card.get("optimizer") or {}).get("name", "-"),
            (one.card.get("model") or {}).get("name", "-"),
            scored(one),
            one.problem or (one.card.get("decision") or {}).get("verdict", "-"),
        ]
        for one in found
    ]
    columns = ["artifact", "names", "optimizer", "model", "metric on test", "decision"]
    return Result(data={"artifacts": [_entry(one) for one in found]}, body=[table("", columns, rows)])


def show(options: ShowOptions) -> Result:
    """Return one artifact: as a page, or its prompt, its history, its plot, or what compiling changed."""
    store = store_named(options)
    artifact = store.load(options.artifact)
    data: dict[str, Any] = {**artifact.card, "robustness": list(artifact.robustness)}
    body: list[Part] = []
    if options.plot:
        plot(artifact, options.plot)
        body.append(f"plot: {options.plot}")
    if options.history:
        data["history"] = history_json(artifact)
        body += _history(artifact)
    if options.prompt:
        data["prompt"] = artifact.state.to_json()
        body.append(Verbatim(prompt_text(artifact.state)))
    if options.diff:
        data["diff"] = changed = prompt_diff(artifact, store)
        body.append(Verbatim(changed) if changed else f"{artifact.ref} has the basic prompt")
    if options.confusion:
        data["confusion"] = counts = _confusion(artifact, store)
        body += [confusion_table(f"{name} on the sealed test", one) for name, one in counts.items()]
        body += [] if counts else [f"{artifact.ref} keeps no classes that could be taken for each other"]
    if not (body or options.json):
        judge = judge_of(artifact, store)
        body.append(Verbatim(export(artifact, judge, "markdown")))
        body += [
            robustness_table(one, f"attacks and biases: {robustness_about(one)}")
            for one in artifact.robustness
        ]
    return Result(data=data, body=body)


def _confusion(artifact: Artifact, store: Store) -> dict[str, Mapping[str, Mapping[str, int]]]:
    """Return basic and compiled -> gold -> judged -> units; empty where answers are no classes or no proof is kept."""
    answer, proof = judge_of(artifact, store).answer, artifact.proof()
    found = {name: confused(answer, rows_of(answer, proof, name)) for name in ("basic", "compiled")}
    return {name: counts for name, counts in found.items() if counts}


def _history(artifact: Artifact) -> list[Part]:
    card = artifact.card
    front = pareto_parts(artifact.ref, card.get("pareto") or [], chosen_candidate(artifact))
    known = any(row["dev"]["value"] is not None for row in artifact.history)
    drawn = [Verbatim("\n".join(chart(curve(artifact))))] if known else []
    return [history_table(artifact), *drawn, *front]


def diff(options: DiffOptions) -> Result:
    """Return what changed between two prompts."""
    store = store_named(options)
    (one, first), (two, second) = (_prompt(store, ref) for ref in (options.first, options.second))
    text = "\n".join(difflib.unified_diff(first, second, one, two, lineterm=""))
    same = f"{one} and {two} have the same prompt"
    return Result(data={"first": one, "second": two, "diff": text}, body=[Verbatim(text) if text else same])


def _prompt(store: Store, reference: str) -> tuple[str, list[str]]:
    if reference.endswith(":basic"):
        loaded = load_judge(reference, store=store)
        return loaded.name, prompt_text(loaded.state).split("\n")
    artifact = store.load(reference)
    return artifact.ref, prompt_text(artifact.state).split("\n")


def tag(options: TagOptions) -> Result:
    """Name a version."""
    store_named(options).tag(options.artifact, options.tag)
    return Result(
        data={"artifact": options.artifact, "tag": options.tag},
        body=[f"{options.artifact} is now also {options.tag}"],
    )


def verify(options: VerifyOptions) -> Result:
    """Check every byte; exit code 1 if anything is wrong."""
    store = store_named(options)
    problems = store.verify(options.artifact, signer(options))
    data = {"problems": [{"ref": one.ref, "path": str(one.path), "problem": one.message} for one in problems]}
    if problems:
        return Result(data=data, notes=[f"error: {problem}" for problem in problems], code=1)
    found = store.signatures(options.artifact)
    signed = [(ref, one) for ref, one in found if one is not None]
    data["signed"] = [{"artifact": ref, "as": one.signed, "key": str(one.key)} for ref, one in signed]
    plural = "s" if len(found) != 1 else ""
    lines = [f"{ref}: signed as {one.signed} by {one.key}" for ref, one in signed]
    return Result(data=data, body=[f"{len(found)} artifact{plural} verified, no byte changed", *lines])


def signer(options: SignerOptions) -> PublicKey | None:
    """Return who must have signed what is used, if anybody."""
    return None if options.signed_by is None else public_key(options.signed_by)


def _entry(one: Summary) -> dict[str, object]:
    return {
        "artifact": f"{one.judge}@{one.version}",
        "path": str(one.path),
        "latest": one.latest,
        "tags": list(one.tags),
        "shipped": one.shipped,
        "problem": one.problem,
        "card": dict(one.card),
    }


def scored(one: Summary) -> str:
    """Return the metric of an artifact on its test, with its interval."""
    scores, decision = one.card.get("scores"), one.card.get("decision") or {}
    metric = decision.get("metric")
    if not scores or metric not in scores["compiled"]:
        return "-"
    return f"{metric} {metric_cell(scores['compiled'][metric])}"
