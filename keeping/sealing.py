"""The files of an artifact as bytes: one way to write them, and a seal that no changed byte survives.

``card.json`` holds the hash of everything. Files are written in one canonical
form, so that a change which JSON would not notice (a space, another order of
keys) is a change all the same. Knows nothing about judges or prompts.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

PROGRAM, CARD, HISTORY = "program.json", "card.json", "history.jsonl"
MATRIX, PROOF, SEEN = "matrix.jsonl", "proof.jsonl", "seen.jsonl"
FILES = (PROGRAM, HISTORY, CARD)
_LARGEST = 1 << 28  # bytes
OPTIONAL = (MATRIX, PROOF, SEEN)
"""Files that an artifact may have: sealed like the others where the card names them, foreign otherwise."""
ROBUSTNESS, DISAGREEMENTS = "robustness.json", "disagreements.json"
ADDED = {ROBUSTNESS: ("model", "gold", "field"), DISAGREEMENTS: ("model", "rows", "opening")}
"""Files that may be added later, when something more was measured, and what tells their entries apart. The seal does
not name them, so that it holds as before. Each has a seal of its own, which binds it to the prompt, whichever version
that becomes in another store."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with one file; ``extra`` if the artifact can be used all the same: the file is no part of it."""

    file: str
    message: str
    extra: bool = False

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """The content of a folder, parsed as far as it could be, and everything that is wrong with it.

    ``added`` has the files of :data:`ADDED` whose own seal holds.
    """

    program: dict[str, Any]
    card: dict[str, Any]
    history: tuple[dict[str, Any], ...]
    faults: tuple[Fault, ...]
    added: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def canonical(value: Any) -> bytes:
    """Return ``value`` as JSON: sorted keys, two spaces of indent, UTF-8, one newline at the end."""
    return pretty(value, sort=True)


def pretty(value: Any, *, sort: bool = False) -> bytes:
    """Return ``value`` in the same form with its keys in their own order. Raises the same."""
    text = json.dumps(value, sort_keys=sort, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")


def lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Return records as JSON lines. Raises what :func:`canonical` raises."""
    texts = (json.dumps(dict(one), sort_keys=True, ensure_ascii=False, allow_nan=False) for one in records)
    return "".join(text + "\n" for text in texts).encode("utf-8")


def seal(
    program: bytes, history: bytes, card: Mapping[str, Any], more: Mapping[str, bytes] = MappingProxyType({})
) -> dict[str, Any]:
    """Return ``card`` with ``files`` (the sha256 of each other file) and ``sha256`` (of all of them)."""
    data = {PROGRAM: program, HISTORY: history, **{name: more[name] for name in OPTIONAL if name in more}}
    whole = {**card, "files": {name: _sha256(content) for name, content in data.items()}}
    whole.pop("sha256", None)
    return {**whole, "sha256": _digest(data, whole)}


def added(data: Mapping[str, Any], program: bytes) -> bytes:
    """Return a file of :data:`ADDED` about the prompt of ``program``: ``data`` with ``program`` and ``sha256``."""
    whole = {**{key: value for key, value in data.items() if key != "sha256"}, "program": _sha256(program)}
    return canonical({**whole, "sha256": _sha256(canonical(whole))})


def files_in(folder: Path, card: Mapping[str, Any], more: Iterable[str] = ()) -> dict[str, bytes]:
    """Return files of an artifact whose seal holds, by name: the sealed ones, and ``more``."""
    names = [*FILES, *(name for name in OPTIONAL if name in card["files"]), *more]
    return {name: (folder / name).read_bytes() for name in names}


def content_hash(files: Mapping[str, bytes]) -> str:
    """Return the hash of all that is sealed but the version's number, which a store may change."""
    card = json.loads(files[CARD])
    rest = {key: value for key, value in card.items() if key not in ("version", "origin", "sha256")}
    return _digest({name: files[name] for name in (PROGRAM, HISTORY, *OPTIONAL) if name in files}, rest)


def inspect(folder: Path) -> Sealed:
    """Read a folder and check its seal. Never raises: what cannot be read is a fault."""
    faults: list[Fault] = []
    read: dict[str, bytes] = {}
    _read(folder, FILES, read, faults)
    card = _json(CARD, read.get(CARD), faults)
    files = card.get("files")
    named = [name for name in OPTIONAL if isinstance(files, dict) and name in files]
    _read(folder, named, read, faults)
    faults[:0] = _unexpected(folder, (*FILES, *named, *ADDED))
    program = _json(PROGRAM, read.get(PROGRAM), faults)
    history = _records(read.get(HISTORY), faults)
    if len(read) == len(FILES) + len(named) and card:
        faults += _broken_seal(read, card)
    later = _added(folder, read.get(PROGRAM, b""), faults)
    return Sealed(program=program, card=card, history=history, faults=tuple(faults), added=later)


def _added(folder: Path, program: bytes, faults: list[Fault]) -> dict[str, dict[str, Any]]:
    """Return the files that were added later, and what is wrong with them, which is not wrong with the artifact."""
    read: dict[str, bytes] = {}
    found: dict[str, dict[str, Any]] = {}
    own: list[Fault] = []
    _read(folder, [name for name in ADDED if (folder / name).exists()], read, own)
    for name, data in read.items():
        value = _json(name, data, own)
        if value and added(value, program) == data:
            found[name] = value
        elif value:
            own.append(Fault(file=name, message="was changed, or is about another prompt"))
    faults += [replace(fault, extra=True) for fault in own]
    return found


def _read(folder: Path, names: Iterable[str], read: dict[str, bytes], faults: list[Fault]) -> None:
    for name in names:
        try:
            if (folder / name).stat().st_size > _LARGEST:
                faults.append(Fault(file=name, message=f"is larger than {_LARGEST >> 20} MiB"))
                continue
            read[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            faults.append(Fault(file=name, message="is missing"))
        except OSError as error:
            faults.append(Fault(file=name, message=f"cannot be read: {error.strerror}"))


def _unexpected(folder: Path, known: Sequence[str]) -> list[Fault]:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name not in known)
    except OSError as error:
        return [Fault(file=folder.name, message=f"cannot be read: {error.strerror}")]
    return [Fault(file=name, message="does not belong to the artifact", extra=True) for name in names]


def _broken_seal(read: Mapping[str, bytes], card: Mapping[str, Any]) -> list[Fault]:
    files = card.get("files")
    data = {name: read[name] for name in (PROGRAM, HISTORY, *OPTIONAL) if name in read}
    changed = [
        Fault(file=name, message="its content was changed after it was saved")
        for name, content in data.items()
        if not isinstance(files, dict) or files.get(name) != _sha256(content)
    ]
    rest = {key: value for key, value in card.items() if key != "sha256"}
    if not changed and card.get("sha256") != _digest(data, rest):
        changed.append(Fault(file=CARD, message="its content was changed after it was saved"))
    if not changed and _canonical_or_none(card) != read[CARD]:
        changed.append(Fault(file=CARD, message="its layout was changed after it was saved"))
    return changed


def _json(name: str, data: bytes | None, faults: list[Fault]) -> dict[str, Any]:
    if data is None:
        return {}
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        faults.append(Fault(file=name, message="is not JSON"))
        return {}
    if not isinstance(value, dict) or not value:
        faults.append(Fault(file=name, message="is not a JSON object with content"))
        return {}
    return value


def _records(data: bytes | None, faults: list[Fault]) -> tuple[dict[str, Any], ...]:
    records: list[dict[str, Any]] = []
    for number, line in enumerate((data or b"").split(b"\n")[:-1], 1):
        value: Any = None
        try:
            value = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            faults.append(Fault(file=HISTORY, message=f"line {number} is not a JSON object"))
            return ()
        records.append(value)
    return tuple(records)


def _canonical_or_none(value: Any) -> bytes | None:
    try:
        return canonical(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _digest(data: Mapping[str, bytes], card: Mapping[str, Any]) -> str:
    whole = hashlib.sha256()
    # The length of each part is hashed too: no byte can move from one file to the next unnoticed.
    for name, content in (*data.items(), (CARD, _canonical_or_none(dict(card)) or b"")):
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
