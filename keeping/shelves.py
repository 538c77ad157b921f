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

from ..errors import ArtifactError, UsageError, as_data, system_message
from ..text.files import read_regular_file
from .sealing import ADDED_FILES, canonical_json

LATEST = "latest"
_NAMES = "names.json"
_GIT_ATTRIBUTES = ".gitattributes"
_BYTES_STAY = (
    b"# jurist artifacts verify compares bytes: git must not change the ends of lines here\n* -text\n"
)
"""The file for git in a store: with core.autocrlf git would write CRLF into a working copy, which breaks every seal."""
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
    if not at:
        selector = LATEST
    if not _is_judge_name(judge) or not (_VERSION.fullmatch(selector) or _TAG.fullmatch(selector)):
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
        names: list[str] = []
        try:
            for entry in root.iterdir():
                if _is_judge_name(entry.name) and entry.is_dir():
                    names.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ArtifactError(
                f"{as_data(root)}: {error.strerror}", hint="name a folder that can be read"
            ) from error
        shelves = []
        for name in sorted(names):
            shelf = cls(root, name)
            if shelf.versions() or (shelf.path / _NAMES).exists():
                shelves.append(shelf)
        return shelves

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
        versions = self.versions()
        if _VERSION.fullmatch(selector):
            number = int(selector)
            return number if number in versions else None
        version = self._current_versions().get(selector)
        if version is not None and version not in versions:
            raise ArtifactError(
                f"{self.judge}@{selector} means version {version}, which is gone; "
                f"versions: {', '.join(map(str, versions)) or 'none'}",
                hint=f"set {selector!r} again to a version that exists",
            )
        return version

    def names(self) -> dict[str, int]:
        """Return name -> version for ``latest`` and each tag; nothing where the file is damaged."""
        with suppress(ArtifactError):
            return self._current_versions()
        return {}

    def _current_versions(self) -> dict[str, int]:
        """Return name -> version for ``latest`` and each tag. Raises ``ArtifactError`` where the file is damaged."""
        return {name: versions[0] for name, versions in self._meant_versions().items()}

    def faults(self) -> list[str]:
        """Return the faults of the names, a line each."""
        try:
            version_of_name = self._current_versions()
            versions = self.versions()
        except ArtifactError as error:
            return [error.message]
        faults = []
        for name, version in version_of_name.items():
            if version not in versions:
                faults.append(f"{name!r} means version {version}, which is gone")
        return faults

    def put(self, version: int, name: str, data: bytes) -> None:
        """Write a file into the folder of a version that exists, whole or not at all."""
        with self._writing():
            _write(self.path / str(version) / name, data)

    def add(self, files: Callable[[int], Mapping[str, bytes]], *, make_latest: bool) -> int:
        """Write the next version and return its number."""
        with self._writing():
            latest = self._current_versions().get(LATEST, 0)
            version = self._place(files)
            self._write_git_attributes()
            if make_latest and latest < version:
                self._move(LATEST, version)
        return version

    def add_copy(self, version: int, files: Mapping[str, bytes]) -> bool:
        """Write a version of another store under its own number; return False where it is there already.

        The files that are added to a version later may differ there, and stay.

        Raises:
            ArtifactError: another version has this number.
        """
        folder = self.path / str(version)
        with self._writing():
            if folder.exists():
                for name, data in files.items():
                    if name in ADDED_FILES:
                        continue
                    if not (folder / name).is_file() or (folder / name).read_bytes() != data:
                        raise ArtifactError(
                            f"{as_data(self.root)} has another {self.judge}@{version}: its number is part of its seal",
                            hint="copy it to another store, or compile it there",
                        )
                return False
            staging = self.path / f".{version}.{uuid.uuid4().hex}"
            staging.mkdir()
            try:
                for name, data in files.items():
                    _write(staging / name, data)
                staging.rename(folder)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
            self._write_git_attributes()
        return True

    def _write_git_attributes(self) -> None:
        """Write the file for git, unless the store has one."""
        if not (self.root / _GIT_ATTRIBUTES).exists():
            _write(self.root / _GIT_ATTRIBUTES, _BYTES_STAY)

    def point(self, tag: str, version: int) -> None:
        """Let ``tag``, or ``latest``, mean ``version``; the tag is told from a number and safe in a file."""
        if tag == "basic" or not _TAG.fullmatch(tag):  # JUDGE:basic is the prompt that one started with
            hint = "use letters, digits, '.', '_' and '-', at least one letter, and not 'basic'"
            raise UsageError(f"{tag!r} is not usable as a tag", hint=hint)
        with self._writing():
            self._move(tag, version)

    def add_names(self, names: Mapping[str, list[int]]) -> None:
        """Add names of copied versions: a tag that is free; versions of ``latest`` behind those that were made so."""
        with self._writing():
            meant_versions = self._meant_versions()
            for name, versions in names.items():
                present = meant_versions.get(name, [])
                if name == LATEST:
                    versions = list(dict.fromkeys(present + versions))
                elif present:
                    versions = present
                meant_versions[name] = versions
            _write(self.path / _NAMES, canonical_json(meant_versions))

    def promoted(self) -> list[int]:
        """Return the versions that exist and were made the latest, the last one first."""
        if self.number(LATEST) is None:
            return []
        versions = self.versions()
        return [version for version in self._meant_versions()[LATEST] if version in versions]

    def known_promoted(self) -> list[int]:
        """Return the versions that were made the latest, if their names can be read; none where they are damaged."""
        with suppress(ArtifactError):
            return self.promoted()
        return []

    def _move(self, name: str, version: int) -> None:
        """Write what a name means, and of ``latest`` what it meant: each model has a latest version."""
        meant_versions = self._meant_versions()
        versions = [version]
        if name == LATEST:
            versions += meant_versions.get(LATEST, [])
        meant_versions[name] = list(dict.fromkeys(versions))
        _write(self.path / _NAMES, canonical_json(meant_versions))

    def _next_version(self) -> int:
        """Return the number after all that were given; one that a name means counts even if its folder was removed."""
        highest = max(self.names().values(), default=0)
        for entry in self.path.iterdir():
            if _VERSION.fullmatch(entry.name):
                highest = max(highest, int(entry.name))
        return 1 + highest

    def _place(self, files: Callable[[int], Mapping[str, bytes]]) -> int:
        """Write the next version, and return its number."""
        while True:
            version = self._next_version()
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
                f"{as_data(self.path)} cannot be written: {error.strerror}",
                hint="name another folder with --store",
            ) from error

    def _meant_versions(self) -> dict[str, list[int]]:
        """Return the content of the file of names. Raises ``ArtifactError`` where it is damaged."""
        path = self.path / _NAMES
        try:
            return _MEANT.validate_json(read_regular_file(path, limit=_NAMES_LIMIT), strict=True)
        except FileNotFoundError:
            return {}
        except OSError as error:
            wrong = f"cannot be read: {system_message(error)}"
        except ValueError:
            wrong = "does not hold names and versions"
        raise ArtifactError(f"{as_data(path)} {wrong}", hint="correct or remove it")


def _is_judge_name(name: str) -> bool:
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
