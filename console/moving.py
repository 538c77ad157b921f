"""``jurist artifacts pack | unpack | lineage``."""

from pathlib import Path
from typing import Any

from ..arguments.artifacts import (
    LineageOptions,
    PackOptions,
    UnpackOptions,
)
from ..errors import ArtifactError
from ..gold.writing import write_whole
from ..keeping.artifacts import VersionSummary
from ..keeping.moving import Received, pack, unpack
from ..report.table import table
from .artifacts import scored, store_named
from .common import store_of
from .printing import Result


def pack_(options: PackOptions) -> Result:
    """Write one artifact as one file."""
    artifact = store_named(options).load(options.artifact)
    output = options.output or f"{artifact.judge}-{artifact.version}.zip"
    data = pack(artifact)
    write_whole(data, Path(output))
    about = {"artifact": artifact.ref, "sha256": artifact.sha256, "output": output, "bytes": len(data)}
    return Result(
        data=about, body=[f"{artifact.ref} packed into {output}"], notes=_file_beside(artifact.card)
    )


def unpack_(options: UnpackOptions) -> Result:
    """Put a packed artifact into the store."""
    try:
        data = Path(options.file).read_bytes()
    except OSError as error:
        raise ArtifactError(f"{options.file}: {error.strerror}", hint="name a packed artifact") from error
    return _arrived(unpack(data, store_of(options)))


def lineage(options: LineageOptions) -> Result:
    """Return the versions of a judge with what each came from."""
    found = list(store_named(options).list(options.judge))
    if not found:
        raise ArtifactError(
            f"no artifact of {options.judge!r}",
            hint="jurist artifacts list has all; --store names another folder",
        )
    rows = [[f"{one.judge}@{one.version}", *_descent(one), scored(one), " ".join(one.names)] for one in found]
    columns = ["artifact", "from", "made", "by", "decision", "metric on test", "names"]
    return Result(
        data={"judge": options.judge, "versions": [_line(one) for one in found]},
        body=[table("", columns, rows)],
    )


def _line(one: VersionSummary) -> dict[str, Any]:
    keys = ("parent", "origin", "created", "sha256")
    return {"version": one.version, "names": list(one.names), **{key: one.card.get(key) for key in keys}}


def _descent(one: VersionSummary) -> list[str]:
    parent, origin = one.card.get("parent"), one.card.get("origin") or {}
    parts = [f"{one.judge}@{parent}" if parent else "basic"]
    parts += [f"arrived as {one.judge}@{origin['version']}"] if origin else []
    optimizer, decision = one.card.get("optimizer") or {}, one.card.get("decision") or {}
    return [
        ", ".join(parts),
        str(one.card.get("created", "-")),
        optimizer.get("name") or "-",
        decision.get("verdict") or "-",
    ]


def _arrived(received: Received) -> Result:
    artifact = received.artifact
    origin = artifact.card.get("origin") or {}
    words = f"{artifact.ref} is in the store" if received.new else f"{artifact.ref} was in the store already"
    words += f" (arrived as version {origin['version']})" if origin else ""
    about = {
        "artifact": artifact.ref,
        "sha256": artifact.sha256,
        "path": str(artifact.path),
        "new": received.new,
    }
    return Result(data=about, body=[words], notes=_file_beside(artifact.card))


def _file_beside(card: dict[str, Any]) -> list[str]:
    reference = str(card.get("judge_ref") or "")
    if ".py" not in reference or card.get("definition"):
        return []
    return [
        f"the judge's file {reference} is not in it: whoever uses it needs that file, and trusts it first"
    ]
