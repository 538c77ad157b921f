"""``jurist artifacts index``: a Markdown page that lists the versions of a store."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ..arguments.artifacts import IndexOptions
from ..errors import plural
from ..keeping.artifact_card import Artifact
from ..keeping.sealing import CARD
from ..programs.builtin import builtin_descriptions
from ..programs.catalogue import file_of
from ..report.listing import artifact_entry
from ..report.scores import metric_cell
from ..text.quoting import in_markdown
from .listing import open_named_store
from .printing import Result, Verbatim, write_text

_HEAD = """# Compiled judges

Made by `jurist artifacts index`. `jurist artifacts show JUDGE@VERSION` prints a prompt, and what was proven of it.

| version | what it does | prompt from | proven with | on the sealed test | what is known |
|---|---|---|---|---|---|
"""


def index_artifacts(options: IndexOptions) -> Result:
    """Write the page that lists the versions of a store."""
    store = open_named_store(options)
    artifacts = store.list()
    entries: list[dict[str, object]] = []
    for artifact in artifacts:
        entries.append(artifact_entry(artifact))
    data = {"artifacts": entries, "page": options.output}
    if options.output is None:
        page = index_page(artifacts, store.root)
        return Result(data=data, body=[Verbatim(page.rstrip("\n"))])
    write_text(index_page(artifacts, Path(options.output).parent), options.output)
    return Result(data=data, body=[f"{options.output}: {plural(len(entries), 'version')}"])


def index_page(artifacts: Sequence[Artifact], folder: Path) -> str:
    """Return the page that lists versions, for a file in a folder, from which its links begin."""
    page = _HEAD
    for artifact in artifacts:
        page += _index_line(artifact, folder) + "\n"
    return page


def _index_line(artifact: Artifact, folder: Path) -> str:
    """Return the row of a version in the page; its link begins at the folder of the page."""
    if artifact.problem:
        return f"| {in_markdown(artifact.ref)} | | | | | damaged: {in_markdown(artifact.problem)} |"
    card = artifact.about
    card_file = os.path.relpath(artifact.path.resolve() / CARD, folder.resolve())
    link = f"[{in_markdown(artifact.ref)}]({quote(Path(card_file).as_posix())})"
    cells = [
        _judge_description(artifact),
        card.optimizer.name or "",
        artifact.model,
        _score_words(artifact),
        card.decision.verdict or "; ".join(card.all_warnings) or "not proven",
    ]
    return "| " + " | ".join([link, *map(in_markdown, cells)]) + " |"


def _judge_description(artifact: Artifact) -> str:
    """Return the description of the judge of a version, else the first line of its basic instruction."""
    definition = artifact.about.definition
    if definition:
        instruction = str(definition.get("instructions", ""))
        return str(definition["settings"].get("description") or instruction.partition("\n")[0])
    if file_of(artifact.about.reference)[0] is not None:
        return ""  # the judge of a file may have the name of a built-in one
    for entry in builtin_descriptions("judges") + builtin_descriptions("generators"):
        if entry.data["name"] == artifact.judge:
            return str(entry.data["description"])
    return ""


def _score_words(artifact: Artifact) -> str:
    """Return the scores of the basic and the compiled prompt on the sealed test; empty without any."""
    card = artifact.about
    metric = card.decision.metric or ""
    words: list[str] = []
    for system in ("basic", "compiled"):
        score = card.proven_scores.get(system, {}).get(metric)
        if score:
            words.append(f"{system} {metric_cell(score)}")
    if not words:
        return ""
    return f"{metric}: {', '.join(words)}"
