"""The versions of one judge in a folder, and the names that mean them; safe against concurrent savers.

A version is written once and never again; only ``names.json`` beside it, which says what names mean, changes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from ..errors import ArtifactError, UsageError, why
from ..text.files import read_regular_file
from .sealing import canonical

LATEST = "latest"
_NAMES = "names.json"
_NAMES_LIMIT = 16 * 1024**2
"""Bytes of the file of names."""
_Tag = Annotated[str, Field(pattern="^[A-Za-z0-9._-]{1,64}$")]
_MEANT = TypeAdapter(dict[_Tag, Annotated[list[Annotated[int, Field(gt=0)]], Field(min_length=1)]])
"""``latest`` or a tag -> the version that it means, then, of ``latest``, those that it meant before, newest first."""
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
        return [shelf for shelf in shelves if shelf.versions() or (shelf.path / _NAMES).exists()]

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
        version, *_ = self._meant().get(selector, [None])
        if version is not None and version not in have:
            raise ArtifactError(
                f"{self.judge}@{selector} means version {version}, which is gone; "
                f"versions: {', '.join(map(str, have)) or 'none'}",
                hint=f"set {selector!r} again to a version that exists",
            )
        return version

    def names(self) -> dict[str, int]:
        """Return name -> version for ``latest`` and each tag; nothing where the file is damaged."""
        with suppress(ArtifactError):
            return {name: versions[0] for name, versions in self._meant().items()}
        return {}

    def faults(self) -> list[str]:
        """Return the faults of the names, a line each."""
        try:
            meant, have = self._meant(), self.versions()
        except ArtifactError as error:
            return [error.message]
        return [
            f"{name!r} means version {version}, which is gone"
            for name, (version, *_) in meant.items()
            if version not in have
        ]

    def put(self, version: int, name: str, data: bytes) -> None:
        """Write a file into the folder of a version that exists, whole or not at all."""
        with self._writing():
            _write(self.path / str(version) / name, data)

    def add(self, files: Callable[[int], Mapping[str, bytes]], *, make_latest: bool) -> int:
        """Write the next version and return its number."""
        with self._writing():
            latest = self._meant().get(LATEST, [0])[0]
            version = self._place(files)
            if make_latest and latest < version:
                self._move(LATEST, version)
        return version

    def point(self, tag: str, version: int) -> None:
        """Let ``tag``, or ``latest``, mean ``version``; the tag is told from a number and safe in a file."""
        if tag == "basic" or not _TAG.fullmatch(tag):  # JUDGE:basic is the prompt that one started with
            hint = "use letters, digits, '.', '_' and '-', at least one letter, and not 'basic'"
            raise UsageError(f"{tag!r} is not usable as a tag", hint=hint)
        with self._writing():
            self._move(tag, version)

    def promoted(self) -> list[int]:
        """Return the versions that exist and were made the latest, the last one first."""
        have = self.versions()
        meant = [] if self.number(LATEST) is None else self._meant()[LATEST]
        return [version for version in meant if version in have]

    def _move(self, name: str, version: int) -> None:
        """Write what a name means, and of ``latest`` what it meant: each model has a latest version."""
        meant = self._meant()
        before = meant.get(LATEST, []) if name == LATEST else []
        meant[name] = list(dict.fromkeys([version, *before]))
        _write(self.path / _NAMES, canonical(meant))

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
        """Keep other savers out, between threads and processes."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDONLY)
            try:
                with suppress(OSError):  # a file system without locks: the rename still refuses to overwrite
                    fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)
        except OSError as error:
            raise ArtifactError(
                f"{self.path} cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error

    def _meant(self) -> dict[str, list[int]]:
        path = self.path / _NAMES
        try:
            return _MEANT.validate_json(read_regular_file(path, limit=_NAMES_LIMIT), strict=True)
        except FileNotFoundError:
            return {}
        except OSError as error:
            wrong = f"cannot be read: {why(error)}"
        except ValueError:
            wrong = "does not hold names and versions"
        raise ArtifactError(f"{path} {wrong}", hint="correct or remove it")


def _is_judge(name: str) -> bool:
    return bool(name) and all(char.islower() or char.isdigit() or char == "-" for char in name)


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
