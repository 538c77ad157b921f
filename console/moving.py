"""``jurist artifacts pack | unpack | push | pull | sign | rollback | lineage``."""

from getpass import getpass
from pathlib import Path
from typing import Any

from ..arguments.artifacts import (
    LineageOptions,
    PackOptions,
    PullOptions,
    PushOptions,
    RollbackOptions,
    SignOptions,
    UnpackOptions,
)
from ..errors import ArtifactError
from ..gold.writing import write_whole
from ..keeping.artifacts import Summary
from ..keeping.moving import Received, pack, unpack
from ..keeping.places import pull, push
from ..report.table import table
from .artifacts import scored, signer, store_named
from .common import store_of
from .printing import Result

__all__ = ["lineage", "pack_", "pull_", "push_", "rollback", "sign", "unpack_"]


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
    return _arrived(unpack(data, store_of(options), signer(options)), "the store")


def push_(options: PushOptions) -> Result:
    """Copy one artifact to a place."""
    artifact = store_named(options).load(options.artifact)
    return _arrived(push(artifact, options.place), options.place)


def pull_(options: PullOptions) -> Result:
    """Copy one artifact from a place."""
    return _arrived(pull(options.artifact, options.place, store_of(options), signer(options)), "the store")


def sign(options: SignOptions) -> Result:
    """Sign one artifact."""
    store = store_named(options)
    artifact = store.load(options.artifact)
    store.sign(artifact.ref, options.key, lambda: getpass(f"passphrase of {options.key}: "))
    found = next(one for _, one in store.signatures(artifact.ref) if one is not None)
    about = {
        "artifact": artifact.ref,
        "sha256": artifact.sha256,
        "key": str(found.key),
        "public_key": found.key.text,
    }
    return Result(data=about, body=[f"{artifact.ref} is signed by {found.key}"])


def rollback(options: RollbackOptions) -> Result:
    """Let a name mean what it meant before."""
    judge, _, tag = options.artifact.partition("@")
    version = store_named(options).rollback(judge, tag or "latest")
    about = {"judge": judge, "tag": tag or "latest", "version": version}
    return Result(data=about, body=[f"{judge}@{tag or 'latest'} means {judge}@{version} again"])


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


def _line(one: Summary) -> dict[str, Any]:
    keys = ("parent", "origin", "created", "sha256")
    return {"version": one.version, "names": list(one.names), **{key: one.card.get(key) for key in keys}}


def _descent(one: Summary) -> list[str]:
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


def _arrived(received: Received, where: str) -> Result:
    artifact = received.artifact
    origin = artifact.card.get("origin") or {}
    words = f"{artifact.ref} is in {where}" if received.new else f"{artifact.ref} was in {where} already"
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
