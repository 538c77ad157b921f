"""The versions of one judge in a folder, and the names that mean them; safe against concurrent savers.

A version is written once and never again; only the pointers ``latest`` and ``tags.json`` beside it move.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArtifactError, UsageError, why
from .sealing import canonical

LATEST = "latest"
_TAGS, _MOVES = "tags.json", "names.jsonl"
_VERSION = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_TAG = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


def parse_ref(ref: str) -> tuple[str, str]:
    """Split ``JUDGE[@VERSION|@TAG]`` into the judge's name and the selector (``latest`` if there is none)."""
    judge, at, selector = ref.partition("@")
    selector = selector if at else LATEST
    if not _is_judge(judge) or not (_VERSION.fullmatch(selector) or _TAG.fullmatch(selector)):
        raise UsageError(
            f"{ref!r} does not name an artifact", hint="write JUDGE, JUDGE@3, JUDGE@latest or JUDGE@TAG"
        )
    return judge, selector


@dataclass(frozen=True)
class Shelf:
    """The versions of ``judge`` under ``root``."""

    root: Path
    judge: str

    @classmethod
    def all(cls, root: Path) -> list[Shelf]:
        """Return the shelves of a store that hold a version or a pointer; none if it does not exist."""
        try:
            names = sorted(entry.name for entry in root.iterdir() if _is_judge(entry.name) and entry.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ArtifactError(f"{root}: {error.strerror}", hint="name a folder that can be read") from error
        shelves = [cls(root, name) for name in names]
        return [
            shelf
            for shelf in shelves
            if shelf.versions() or (shelf.path / LATEST).exists() or (shelf.path / _TAGS).exists()
        ]

    @property
    def path(self) -> Path:
        """The judge's folder."""
        return self.root / self.judge

    def versions(self) -> list[int]:
        """Return the versions that exist, in order."""
        try:
            names = [entry.name for entry in self.path.iterdir() if entry.is_dir()]
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if _VERSION.fullmatch(name))

    def number(self, selector: str) -> int | None:
        """Return the version that a number, ``latest`` or a tag means; ``None`` if this shelf has none."""
        have = self.versions()
        if _VERSION.fullmatch(selector):
            return int(selector) if int(selector) in have else None
        version = (self._latest() if selector == LATEST else self._tags()).get(selector)
        if version is not None and version not in have:
            raise ArtifactError(
                f"{self.judge}@{selector} means version {version}, which is gone; "
                f"versions: {', '.join(map(str, have)) or 'none'}",
                hint=f"set {selector!r} again to a version that exists",
            )
        return version

    def names(self) -> dict[str, int]:
        """Return what ``latest`` and each tag means; what is damaged is left out."""
        return self._names()[0]

    def faults(self) -> list[str]:
        """Return what is wrong with the names."""
        names, faults = self._names()
        have = self.versions()
        gone = [(name, version) for name, version in names.items() if version not in have]
        return faults + [f"{name!r} means version {version}, which is gone" for name, version in gone]

    def _names(self) -> tuple[dict[str, int], list[str]]:
        names, faults = dict[str, int](), list[str]()
        for read in (self._latest, self._tags):
            try:
                names = read() | names  # a tag cannot take the place of ``latest``
            except ArtifactError as error:
                faults.append(error.message)
        return names, faults

    def put(self, version: int, name: str, data: bytes) -> None:
        """Write a file into the folder of a version that exists, whole or not at all."""
        with self._writing():
            _write(self.path / str(version) / name, data)

    def add(self, files: Callable[[int], Mapping[str, bytes]], *, make_latest: bool) -> int:
        """Write the next version and return its number."""
        with self._writing():
            version = self._place(files)
            if make_latest and self.names().get(LATEST, 0) < version:
                self._move(LATEST, version)
        return version

    def point(self, tag: str, version: int) -> None:
        """Let ``tag``, or ``latest``, mean ``version``; the tag is told from a number and safe in a file."""
        if not _TAG.fullmatch(tag):
            raise UsageError(
                f"{tag!r} is not usable as a tag",
                hint="use letters, digits, '.', '_' and '-', and at least one letter",
            )
        with self._writing():
            self._move(tag, version)

    def promoted(self) -> list[int]:
        """Return the versions that exist and were made the latest, the last one first."""
        latest, have = self.number(LATEST), self.versions()
        meant = [] if latest is None else [latest, *self._noted()]
        return [version for version in dict.fromkeys(meant) if version in have]

    def _noted(self) -> list[int]:
        """Return what ``latest`` is noted to have meant, the last one first."""
        try:
            moves = [json.loads(line) for line in (_read(self.path / _MOVES) or "").splitlines()]
            return [int(move["version"]) for move in reversed(moves) if move["name"] == LATEST]
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactError(
                f"{self.path / _MOVES} does not hold moves of names", hint="correct or remove it"
            ) from error

    def _move(self, tag: str, version: int) -> None:
        """Write what a name means, and of ``latest`` what it meant: each model has a latest version."""
        if tag != LATEST:
            _write(self.path / _TAGS, canonical({**self._tags(), tag: version}))
            return
        meant = dict.fromkeys([version, self.names().get(LATEST, version), *self._noted()])
        lines = (json.dumps({"name": LATEST, "version": number}) + "\n" for number in reversed(meant))
        _write(self.path / LATEST, f"{version}\n".encode())
        _write(self.path / _MOVES, "".join(lines).encode())

    def _place(self, files: Callable[[int], Mapping[str, bytes]]) -> int:
        while True:
            # A number that a pointer still names is not given again, even if its folder was removed.
            there = (int(entry.name) for entry in self.path.iterdir() if _VERSION.fullmatch(entry.name))
            version = 1 + max((0, *self.names().values(), *there))
            staging = self.path / f".{version}.{uuid.uuid4().hex}"
            staging.mkdir()
            try:
                for name, data in files(version).items():
                    _write(staging / name, data)
                staging.rename(self.path / str(version))
            except OSError:
                shutil.rmtree(staging, ignore_errors=True)
                if not (self.path / str(version)).exists():
                    raise
                # else another saver, on a file system without locks, was faster
            else:
                return version

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with _locked(self.path):
                yield
        except OSError as error:
            raise ArtifactError(
                f"{self.path} cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error

    def _latest(self) -> dict[str, int]:
        text = _read(self.path / LATEST)
        if text is not None and not _VERSION.fullmatch(text.strip()):
            raise ArtifactError(
                f"{self.path / LATEST} does not hold a version number", hint="set the tag 'latest' again"
            )
        return {} if text is None else {LATEST: int(text)}

    def _tags(self) -> dict[str, int]:
        try:
            tags = json.loads(_read(self.path / _TAGS) or "{}")
        except (ValueError, RecursionError):
            tags = None
        if not isinstance(tags, dict) or not all(
            _TAG.fullmatch(tag) and type(version) is int and version > 0 for tag, version in tags.items()
        ):
            raise ArtifactError(
                f"{self.path / _TAGS} does not hold tags and version numbers", hint="correct or remove it"
            )
        return tags


def _is_judge(name: str) -> bool:
    return bool(name) and all(char.islower() or char.isdigit() or char == "-" for char in name)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{path} cannot be read: {why(error)}", hint="correct or remove it") from error


def _write(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees all of it or what was there before."""
    staging = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with staging.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        staging.replace(path)
    finally:
        staging.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other savers out, between threads and processes."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: the rename still refuses to overwrite
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
