"""The files of an artifact as bytes: one canonical way to write them, and a seal that breaks if a byte is changed."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from ..text.files import read_regular_file

PROGRAM, CARD, HISTORY = "program.json", "card.json", "history.jsonl"
PROOF, SEEN, WORDS = "proof.jsonl", "seen.jsonl", "words.jsonl"
ANSWERS = "answers.jsonl"
FILES = (PROGRAM, HISTORY, CARD)
"""Files that every artifact has."""
OPTIONAL_FILES = (PROOF, SEEN, WORDS, ANSWERS)
"""Files that an artifact may have. One that the card names is sealed like :data:`FILES`; another is foreign."""
ROBUSTNESS, DISAGREEMENTS = "robustness.json", "disagreements.json"
ADDED_FILES = {ROBUSTNESS: ("model", "gold", "field"), DISAGREEMENTS: ("model", "rows", "opening")}
"""File that may be added when something is measured later -> the fields that identify an entry of it. The artifact's
seal leaves these files out, so that adding one does not break it. Each has a seal of its own, which binds it to the
prompt."""
_FILE_LIMIT = 256 * 1024**2
"""The most bytes of one file of an artifact."""
_FOREIGN = "does not belong to the artifact"
JsonObject: TypeAlias = dict[str, Any]
"""An object of a file, whose values nobody has checked yet."""


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """The content of an artifact's files, parsed as far as it could be, and everything that is wrong with it."""

    program: JsonObject = field(default_factory=dict)
    card: JsonObject = field(default_factory=dict)
    history: tuple[JsonObject, ...] = ()
    # the content of each added file whose own seal holds, by the file's name
    added: Mapping[str, JsonObject] = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # the reasons why the artifact cannot be used, each with the file
    extras: tuple[str, ...] = ()  # complaints about files outside the seal, which do not harm the artifact


def canonical_json(value: object, *, sort: bool = True) -> bytes:
    """Return a value as JSON: sorted keys unless ``sort`` is off, two spaces of indent, UTF-8, a newline at the end.

    Raises ``TypeError`` or ``ValueError`` for a value that JSON does not have.
    """
    text = json.dumps(value, sort_keys=sort, indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")


def records_json(records: Iterable[Mapping[str, object]]) -> bytes:
    """Return records as JSON lines. Raises what :func:`canonical_json` raises."""
    texts = []
    for record in records:
        texts.append(json.dumps(dict(record), sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")
    return "".join(texts).encode("utf-8")


def seal_card(
    program: bytes,
    history: bytes,
    card: Mapping[str, object],
    records: Mapping[str, bytes] = MappingProxyType({}),
) -> dict[str, object]:
    """Return a card with ``files`` (the sha256 of each other file) and ``sha256`` (of all of them)."""
    files = _select_hashed({**records, PROGRAM: program, HISTORY: history})
    hashes = {name: _sha256(content) for name, content in files.items()}
    sealed_card = {**card, "files": hashes}
    sealed_card.pop("sha256", None)
    sealed_card["sha256"] = _digest(files, sealed_card)
    return sealed_card


def seal_addition(content: Mapping[str, object], program: bytes) -> bytes:
    """Return the bytes of an added file: its content, the hash of ``program`` that it is about, and its own hash."""
    bound = {**content, "program": _sha256(program)}
    bound.pop("sha256", None)
    return canonical_json({**bound, "sha256": _sha256(canonical_json(bound))})


def read_artifact_file(path: Path) -> bytes:
    """Return the bytes of a file of an artifact. Raises ``OSError`` for a link, a pipe, a device or a huge file."""
    return read_regular_file(path, limit=_FILE_LIMIT)


_CRLF = (
    "git wrote CRLF at the ends of its lines (core.autocrlf): put a .gitattributes with the line * -text into the "
    "store, delete this folder, and git checkout it again"
)
"""The fault of an artifact whose seal would hold with LF."""


def inspect_files(folder: Path) -> Sealed:
    """Read a folder and check its seal. Never raises: what cannot be read is a fault."""
    extras: list[str] = []
    try:
        files = _read_files(folder, extras)
    except OSError as error:
        return Sealed(faults=(f"{Path(error.filename or folder).name}: cannot be read: {error.strerror}",))
    faults: list[str] = []
    card = _read_object(CARD, files.get(CARD), faults)
    hashes = card.get("files")
    if not isinstance(hashes, dict):
        hashes = {}
    optional_names = [name for name in OPTIONAL_FILES if name in hashes]
    names = list(FILES) + optional_names
    missing = [f"{name}: is missing" for name in names if name not in files]
    faults = missing + faults
    can_be_hashed = not faults
    program = _read_object(PROGRAM, files.get(PROGRAM), faults)
    history = _read_history_lines(files.get(HISTORY, b""), faults)
    if can_be_hashed:
        faults += _broken_seals({name: files[name] for name in names}, card, hashes)
    for name in OPTIONAL_FILES:
        if name in files and name not in names:
            extras.append(f"{name}: {_FOREIGN}")
    return Sealed(
        program=program,
        card=card,
        history=history,
        added=_read_added(files, extras),
        faults=tuple(faults),
        extras=tuple(extras),
    )


def _read_files(folder: Path, extras: list[str]) -> dict[str, bytes]:
    """Return the bytes of each file of an artifact; others are noted as no part of it."""
    files: dict[str, bytes] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name in FILES or entry.name in OPTIONAL_FILES or entry.name in ADDED_FILES:
            files[entry.name] = read_artifact_file(entry)
        else:
            extras.append(f"{entry.name}: {_FOREIGN}")
    return files


def _broken_seals(files: Mapping[str, bytes], card: JsonObject, hashes: JsonObject) -> list[str]:
    """Return the fault of each file whose content is not what was sealed."""
    data = _select_hashed(files)
    unsealed_card = {key: value for key, value in card.items() if key != "sha256"}
    broken = [name for name, content in data.items() if hashes.get(name) != _sha256(content)]
    if not broken and card.get("sha256") != _digest(data, unsealed_card):
        broken = [CARD]
    if _has_lost_seal_to_git(files, card, hashes):
        return [_CRLF]
    faults = [f"{name}: its content was changed after it was saved" for name in broken]
    if not broken and _canonical_or_none(card) != files[CARD]:
        faults.append(f"{CARD}: its layout was changed after it was saved")
    return faults


def _has_lost_seal_to_git(files: Mapping[str, bytes], card: JsonObject, hashes: JsonObject) -> bool:
    """Say whether the seal would hold if all lines ended in LF again, as before git wrote CRLF."""
    if b"\r\n" not in files[CARD]:
        return False
    restored = {name: content.replace(b"\r\n", b"\n") for name, content in files.items()}
    return not _broken_seals(restored, card, hashes)


def _read_added(files: Mapping[str, bytes], extras: list[str]) -> dict[str, JsonObject]:
    """Return the content of each added file whose own seal holds; a complaint about another is added to ``extras``."""
    contents: dict[str, JsonObject] = {}
    for name in ADDED_FILES:
        content = _read_object(name, files.get(name), extras)
        if not content:
            continue
        if seal_addition(content, files.get(PROGRAM, b"")) == files[name]:
            contents[name] = content
        else:
            extras.append(f"{name}: was changed, or is about another prompt")
    return contents


def _read_object(name: str, data: bytes | None, faults: list[str]) -> JsonObject:
    """Return the JSON object of a file; empty, with a fault, if it holds none, and if there is no file."""
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


def _read_history_lines(data: bytes, faults: list[str]) -> tuple[JsonObject, ...]:
    """Return the records of the history; none, with a fault, if a line is no object."""
    records = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        faults_of_line: list[str] = []
        records.append(_read_object(HISTORY, line, faults_of_line))
        if faults_of_line:
            faults.append(f"{HISTORY}: line {number} is not a JSON object")
            return ()
    return tuple(records)


def _canonical_or_none(value: object) -> bytes | None:
    try:
        return canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        return None


def _select_hashed(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that a card has the hashes of, in the order in which they are hashed."""
    return {name: files[name] for name in (PROGRAM, HISTORY, *OPTIONAL_FILES) if name in files}


def _digest(files: Mapping[str, bytes], card: Mapping[str, object]) -> str:
    """Return the sha256 of some files and a card."""
    digest = hashlib.sha256()
    parts = {**files, CARD: _canonical_or_none(dict(card)) or b""}
    # The length of each part is hashed too: no byte can move from one file to the next unnoticed.
    for name, content in parts.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
