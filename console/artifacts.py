"""``jurist artifacts list | show | diff | tag | verify``."""

from __future__ import annotations

import difflib
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from rich.text import Text

from ..errors import ArtifactError
from ..exports import export
from ..keeping.artifacts import Artifact, Store, Summary, prompt_text
from ..keeping.loading import find_judge, load_judge
from .common import human, print_json, store_of, write_text
from .history import chart, curve, history_json, history_table, plot, prompt_diff
from .tables import metric_cell, plain_table

__all__ = ["diff", "list_", "show", "tag", "verify"]


def _store(arguments: Namespace) -> Store:
    """Return the store, which must be there if it was named: of a misspelt one, nothing would be all that is said.

    Raises:
        ArtifactError: there is no such folder.
    """
    named = arguments.store or os.environ.get("JURIST_STORE")
    if named and not Path(named).exists():
        raise ArtifactError(f"there is no folder {named}", hint="name the store with --store or JURIST_STORE")
    return store_of(arguments)


def list_(arguments: Namespace) -> None:
    """List all artifacts."""
    found = _store(arguments).list()
    if arguments.json:
        print_json({"artifacts": [_entry(one) for one in found]})
        return
    rows = [
        [
            f"{one.judge}@{one.version}",
            " ".join([*(["latest"] if one.latest else []), *one.tags, *(["shipped"] if one.shipped else [])]),
            (one.card.get("optimizer") or {}).get("name", "-"),
            (one.card.get("model") or {}).get("name", "-"),
            _scored(one),
            one.problem or (one.card.get("decision") or {}).get("verdict", "-"),
        ]
        for one in found
    ]
    human().print(
        plain_table("", ["artifact", "names", "optimizer", "model", "metric on test", "decision"], rows)
    )


def show(arguments: Namespace) -> None:
    """Print one artifact: as a page, or its prompt, its history, its plot, or what compiling changed."""
    store = _store(arguments)
    artifact = store.load(arguments.artifact)
    if arguments.plot:
        plot(artifact, arguments.plot)
        human().print(Text(f"plot: {arguments.plot}"))
    if arguments.json:
        more: dict[str, Any] = {"history": history_json(artifact)} if arguments.history else {}
        more |= {"prompt": artifact.state.to_json()} if arguments.prompt else {}
        more |= {"diff": prompt_diff(artifact, store)} if arguments.diff else {}
        print_json({**artifact.card, **more})
        return
    if arguments.history:
        _history(artifact)
    if arguments.prompt:
        write_text(prompt_text(artifact.state), None)
    if arguments.diff:
        changed = prompt_diff(artifact, store)
        if changed:
            write_text(changed, None)
        else:
            human().print(Text(f"{artifact.ref} has the basic prompt"))
    if not (arguments.history or arguments.prompt or arguments.diff or arguments.plot):
        judge = find_judge(str(artifact.card.get("judge_ref") or artifact.judge), store)
        write_text(export(artifact, judge, "markdown"), None)


def _history(artifact: Artifact) -> None:
    console = human()
    console.print(history_table(artifact))
    if any(row["dev"]["value"] is not None for row in artifact.history):
        for line in chart(curve(artifact)):
            console.print(Text(line), no_wrap=True, crop=False, soft_wrap=True)


def diff(arguments: Namespace) -> None:
    """Print what changed between two prompts."""
    store = _store(arguments)
    (one, first), (two, second) = (_prompt(store, ref) for ref in (arguments.first, arguments.second))
    lines = difflib.unified_diff(first, second, one, two, lineterm="")
    text = "\n".join(lines)
    if text:
        write_text(text, None)
    else:
        human().print(Text(f"{one} and {two} have the same prompt"))


def _prompt(store: Store, reference: str) -> tuple[str, list[str]]:
    if reference.endswith(":basic"):
        loaded = load_judge(reference, store=store)
        return loaded.name, prompt_text(loaded.state).split("\n")
    artifact = store.load(reference)
    return artifact.ref, prompt_text(artifact.state).split("\n")


def tag(arguments: Namespace) -> None:
    """Name a version."""
    _store(arguments).tag(arguments.artifact, arguments.tag)
    human().print(Text(f"{arguments.artifact} is now also {arguments.tag}"))


def verify(arguments: Namespace) -> int:
    """Check every byte; exit code 1 if anything is wrong."""
    store: Store = _store(arguments)
    problems = store.verify(arguments.artifact)
    if arguments.json:
        print_json(
            {
                "problems": [
                    {"ref": one.ref, "path": str(one.path), "problem": one.message} for one in problems
                ]
            }
        )
    console = human()
    for problem in problems:
        console.print(Text(f"error: {problem}"))
    if not problems:
        count = 1 if arguments.artifact else len(store.list())
        console.print(Text(f"{count} artifact{'s' if count != 1 else ''} verified, no byte changed"))
    return 1 if problems else 0


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


def _scored(one: Summary) -> str:
    scores, decision = one.card.get("scores"), one.card.get("decision") or {}
    metric = decision.get("metric")
    if not scores or metric not in scores["compiled"]:
        return "-"
    return f"{metric} {metric_cell(scores['compiled'][metric])}"
