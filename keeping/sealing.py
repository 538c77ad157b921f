"""The files of an artifact as bytes: one canonical way to write them, and a seal that no changed byte survives."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..text.files import read_regular_file

PROGRAM, CARD, HISTORY = "program.json", "card.json", "history.jsonl"
PROOF, SEEN = "proof.jsonl", "seen.jsonl"
FILES = (PROGRAM, HISTORY, CARD)
OPTIONAL = (PROOF, SEEN)
"""Files that an artifact may have: sealed like the others where the card names them, foreign otherwise."""
ROBUSTNESS, DISAGREEMENTS = "robustness.json", "disagreements.json"
ADDED = {ROBUSTNESS: ("model", "gold", "field"), DISAGREEMENTS: ("model", "rows", "opening")}
"""Files that may be added later, when something more was measured, and what tells their entries apart. The seal does
not name them, so that it holds as before. Each has a seal of its own, which binds it to the prompt."""
_FILE_LIMIT = 256 * 1024**2
"""Bytes of one file of an artifact."""
_FOREIGN = "does not belong to the artifact"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """The content of an artifact's files, parsed as far as it could be, and everything that is wrong with it."""

    program: dict[str, Any] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    history: tuple[dict[str, Any], ...] = ()
    added: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # those of ADDED whose own seal holds
    faults: tuple[str, ...] = ()  # why it cannot be used, each with the file
    extras: tuple[str, ...] = ()  # what is wrong with files that are no part of it


def canonical(value: Any, *, sort: bool = True) -> bytes:
    """Return ``value`` as JSON: sorted keys, two spaces of indent, UTF-8, one newline at the end."""
    text = json.dumps(value, sort_keys=sort, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")


def lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return records as JSON lines. Raises what :func:`canonical` raises."""
    settings: Any = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False}
    return "".join(json.dumps(dict(record), **settings) + "\n" for record in records).encode("utf-8")


def seal(
    program: bytes, history: bytes, card: Mapping[str, Any], more: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, Any]:
    """Return ``card`` with ``files`` (the sha256 of each other file) and ``sha256`` (of all of them)."""
    data = _hashed({**more, PROGRAM: program, HISTORY: history})
    whole = {**card, "files": {name: _sha256(content) for name, content in data.items()}}
    whole.pop("sha256", None)
    return {**whole, "sha256": _digest(data, whole)}


def added(data: Mapping[str, Any], program: bytes) -> bytes:
    """Return a file of :data:`ADDED` about the prompt of ``program``: ``data`` with ``program`` and ``sha256``."""
    whole = {**{key: value for key, value in data.items() if key != "sha256"}, "program": _sha256(program)}
    return canonical({**whole, "sha256": _sha256(canonical(whole))})


def read_artifact_file(path: Path) -> bytes:
    """Return the bytes of a file of an artifact. Raises ``OSError`` for a link, a pipe, a device or a huge file."""
    return read_regular_file(path, limit=_FILE_LIMIT)


def inspect(folder: Path) -> Sealed:
    """Read a folder and check its seal. Never raises: what cannot be read is a fault."""
    files: dict[str, bytes] = {}
    extras: list[str] = []
    try:
        for entry in sorted(folder.iterdir()):
            if entry.name in (*FILES, *OPTIONAL, *ADDED):
                files[entry.name] = read_artifact_file(entry)
            else:
                extras.append(f"{entry.name}: {_FOREIGN}")
    except OSError as error:
        return Sealed(faults=(f"{Path(error.filename or folder).name}: cannot be read: {error.strerror}",))
    faults: list[str] = []
    card = _object(CARD, files.get(CARD), faults)
    hashes = card.get("files")
    hashes = hashes if isinstance(hashes, dict) else {}
    names = (*FILES, *(name for name in OPTIONAL if name in hashes))
    faults[:0] = [f"{name}: is missing" for name in names if name not in files]
    whole = not faults
    program = _object(PROGRAM, files.get(PROGRAM), faults)
    history = _records(files.get(HISTORY, b""), faults)
    if whole:
        data = _hashed({name: files[name] for name in names})
        rest = {key: value for key, value in card.items() if key != "sha256"}
        broken = [name for name, content in data.items() if hashes.get(name) != _sha256(content)]
        if not broken and card.get("sha256") != _digest(data, rest):
            broken = [CARD]
        faults += [f"{name}: its content was changed after it was saved" for name in broken]
        if not broken and _canonical_or_none(card) != files[CARD]:
            faults.append(f"{CARD}: its layout was changed after it was saved")
    extras += [f"{name}: {_FOREIGN}" for name in OPTIONAL if name in files and name not in names]
    later = {}
    for name in ADDED:
        if value := _object(name, files.get(name), extras):
            if added(value, files.get(PROGRAM, b"")) == files[name]:
                later[name] = value
            else:
                extras.append(f"{name}: was changed, or is about another prompt")
    return Sealed(
        program=program, card=card, history=history, added=later, faults=tuple(faults), extras=tuple(extras)
    )


def _object(name: str, data: bytes | None, faults: list[str]) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        faults.append(f"{name}: is not JSON")
        return {}
    if not isinstance(value, dict) or not value:
        faults.append(f"{name}: is not a JSON object with content")
        return {}
    return value


def _records(data: bytes, faults: list[str]) -> tuple[dict[str, Any], ...]:
    records = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        wrong: list[str] = []
        records.append(_object(HISTORY, line, wrong))
        if wrong:
            faults.append(f"{HISTORY}: line {number} is not a JSON object")
            return ()
    return tuple(records)


def _canonical_or_none(value: Any) -> bytes | None:
    try:
        return canonical(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _hashed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that a card has the hashes of, in the order in which they are hashed."""
    return {name: files[name] for name in (PROGRAM, HISTORY, *OPTIONAL) if name in files}


def _digest(data: Mapping[str, bytes], card: Mapping[str, Any]) -> str:
    whole = hashlib.sha256()
    # The length of each part is hashed too: no byte can move from one file to the next unnoticed.
    for name, content in (*data.items(), (CARD, _canonical_or_none(dict(card)) or b"")):
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
