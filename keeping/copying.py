"""Copying a version to another store with all that it stands on: further versions, and the code of its judges.

A version keeps a plain judge whole. A judge with code stands in a Python file, which goes beside the other store with
the modules that it imports. Files that the code opens are not known.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArtifactError, UsageError, as_data, checked, system_message
from ..programs.catalogue import PLUGIN_JUDGES, file_of, is_packaged
from .artifact_card import Artifact
from .artifacts import Store, key_of_measurement, leads_out
from .contents import checked_additions
from .naming import BASIC
from .sealing import ADDED_FILES, FILES, OPTIONAL_FILES, inspect_files, read_artifact_file
from .shelves import LATEST, Shelf
from .verifying import find_recorded_verifiers

if TYPE_CHECKING:
    from ..programs.judge_files import JudgeFile


@dataclass(frozen=True, kw_only=True)
class CopiedVersion:
    """A version in the other store, and what was copied with it."""

    artifact: Artifact  # the version
    foundations: tuple[Artifact, ...]  # the versions that it stands on, oldest first
    code: tuple[Path, ...]  # the Python files beside the other store that its judges need
    notes: tuple[str, ...]  # what must be copied by hand, or trusted, a line each


@dataclass(frozen=True, kw_only=True)
class _CodeReference:
    """The Python file of a judge with code, as the card of a version names it."""

    ref: str  # the version that needs it
    path: Path
    hashes: frozenset[str]  # of the content from which the version was made


@dataclass(frozen=True, kw_only=True)
class _SourceFile:
    """A Python file to copy."""

    source: Path  # where it is read
    place: Path  # where it is written
    content: bytes

    @property
    def has_rival(self) -> bool:
        """Whether a file with other content stands at the place."""
        return self.place.exists() and not self.is_copied

    @property
    def is_copied(self) -> bool:
        """Whether the place holds the file already."""
        return self.place.is_file() and self.place.read_bytes() == self.content


@checked
def copy_version(store: Store, ref: str, target: Store) -> CopiedVersion:
    """Copy a version to another store with all that it stands on, so that it can be asked from there.

    These are the versions that it was made from, those that verify what it writes, and the Python files of judges with
    code, which go beside the other store. Versions are copied byte by byte: each keeps its number and its seal. The
    names of the versions go with them where the other store does not use them: the judge's own name means a version
    there that it means here, unless it means another one for that model there. A version that the other store has
    already gets the measurements that it lacks there.

    Raises:
        ArtifactError: a version is damaged, is missing, or the other store has another one of its number.
        UsageError: the other store is this one, or is only read.
    """
    target.check_writable()
    if target.root.resolve() == store.root.resolve():
        raise UsageError(f"{ref} is in {as_data(store.root)} already", hint="name another folder with --to")
    versions = _find_versions(store, ref)
    source_files: dict[Path, _SourceFile] = {}
    notes: list[str] = []
    for version in versions:
        for code in _find_code(version, notes):
            for file in _find_source_files(code, store, target, notes):
                source_files[file.place] = file
    for version in versions:
        files = {entry.name: read_artifact_file(entry) for entry in _files_of(version)}
        if not Shelf(target.root, version.judge).add_copy(version.version, files):
            _copy_measurements(version, target)
    _copy_names(versions, target)
    code_files: list[Path] = []
    for file in source_files.values():
        if file.has_rival:
            command = shlex.join(["cp", str(file.source), str(file.place)])
            notes.append(f"{file.place} has other code, which was left as it is; to replace it: {command}")
        else:
            _write_file(file)
            code_files.append(file.place)
    copies = [target.load(version.ref) for version in versions]
    return CopiedVersion(
        artifact=copies[-1], foundations=tuple(copies[:-1]), code=tuple(code_files), notes=tuple(notes)
    )


def _find_versions(store: Store, ref: str) -> list[Artifact]:
    """Return the versions that a version stands on (its parents, and those that verify for it), then the version."""
    versions: dict[str, Artifact] = {}
    visited: set[str] = set()

    def visit(artifact: Artifact) -> None:
        if artifact.ref in visited:
            return
        visited.add(artifact.ref)
        if artifact.about.parent is not None:
            visit(store.load(f"{artifact.judge}@{artifact.about.parent}"))
        for verifier in find_recorded_verifiers(artifact, store):
            visit(verifier)
        for reference in _member_references(artifact, store):
            visit(store.load(reference))
        versions[artifact.ref] = artifact

    visit(store.load(ref))
    return list(versions.values())


def _member_references(artifact: Artifact, store: Store) -> Iterator[str]:
    """Yield the references of versions by which members of a cascade are found, if the cascade keeps no code of theirs.

    An earlier jurist kept none.
    """
    cascade = artifact.about.cascade
    for member in cascade.members if cascade else ():
        path, _ = file_of(member.reference)
        if member.definition or member.hashes or is_packaged(member.reference):
            continue
        if path is None:  # the judge is found by its name
            for version in store.list(member.reference)[-1:]:
                yield version.ref
        elif not member.judge.endswith(BASIC):  # the version tells of which code it was made
            yield member.judge


def _find_code(artifact: Artifact, notes: list[str]) -> Iterator[_CodeReference]:
    """Yield the code of a version's judge and of the judges of a cascade; add a note on each judge of a package."""
    cascade = artifact.about.cascade
    judges = [(artifact.about.reference, artifact.about.definition, artifact.about.hashes)]
    for member in cascade.members if cascade else ():
        judges.append((member.reference, member.definition, member.hashes))
    for reference, definition, hashes in judges:
        path, _ = file_of(reference)
        if definition:
            continue
        if path is not None:
            yield _CodeReference(ref=artifact.ref, path=path, hashes=hashes)
        elif reference in PLUGIN_JUDGES.installed_names():
            notes.append(f"{artifact.ref} needs the package that brings {reference}: install it there, too")


def _find_source_files(
    code: _CodeReference, store: Store, target: Store, notes: list[str]
) -> list[_SourceFile]:
    """Return the files of a judge with their places beside the other store; none where both stores share them.

    A note is added on code that is missing, or that has changed since the version was made.
    """
    from ..programs.judge_files import JudgeFile

    source = store.find_code(code.path)
    place = target.parent_folder / (code.path.name if leads_out(code.path) else code.path)
    if not source.is_file():
        if not place.is_file():
            notes.append(
                f"{code.ref} needs the code of {code.path}, which is not here: put that file beside the folder "
                f"{target.root}"
            )
        return []
    if place.is_file() and place.samefile(source):
        return []
    try:
        file = JudgeFile.read(source)
    except OSError as error:
        raise ArtifactError(
            f"{code.ref} needs the code of {as_data(source)}: {system_message(error)}",
            hint="make it readable",
        ) from error
    if code.hashes and code.hashes.isdisjoint(file.hashes.values()):
        notes.append(
            f"{source} was changed since {code.ref} was made with it: the copy, too, takes --trust, and its proof is "
            "of the code as it was"
        )
    for data_file in file.data_files:
        data_place = place.parent / os.path.relpath(data_file, source.parent)
        if not data_place.is_file():
            command = shlex.join(["cp", str(data_file), str(data_place)])
            notes.append(
                f"{data_file}, which the code of {code.ref} names, is not copied and is in no hash; copy it: {command}"
            )
    return _place_files(file, place)


def _place_files(file: JudgeFile, place: Path) -> list[_SourceFile]:
    """Return a judge's file at a place, and the modules that it imports in the same folder."""
    files = [_SourceFile(source=file.path, place=place, content=file.content)]
    for dotted_name, (source, content) in file.modules.items():
        module = place.parent.joinpath(*dotted_name.split("."))  # the folder of a package
        if source.name != "__init__.py":
            module = module.parent
        module /= source.name
        files.append(_SourceFile(source=source, place=module, content=content))
    return files


def _write_file(file: _SourceFile) -> None:
    """Write a file at its place, unless the place holds it already."""
    if file.is_copied:
        return
    try:
        file.place.parent.mkdir(parents=True, exist_ok=True)
        file.place.write_bytes(file.content)
    except OSError as error:
        raise ArtifactError(
            f"{as_data(file.place)}: {system_message(error)}",
            hint=f"copy {as_data(file.source)} there by hand",
        ) from error


def _copy_names(versions: Sequence[Artifact], target: Store) -> None:
    """Let the names of versions mean their copies, where the other store does not use them.

    The judge's own name means a version for each model.
    """
    for judge in sorted({version.judge for version in versions}):
        copied = {version.version: version for version in versions if version.judge == judge}
        names: dict[str, list[int]] = {}
        for number, version in copied.items():
            for tag in version.tags:
                names[tag] = [number]
        latest = [number for number, version in reversed(copied.items()) if version.latest]
        if latest:
            names[LATEST] = latest
        if names:
            Shelf(target.root, judge).add_names(names)


def _files_of(artifact: Artifact) -> list[Path]:
    """Return the files that belong to a version, those added later too."""
    names = {*FILES, *OPTIONAL_FILES, *ADDED_FILES}
    return [entry for entry in sorted(artifact.path.iterdir()) if entry.name in names]


def _copy_measurements(artifact: Artifact, target: Store) -> None:
    """Add the measurements beside a version to those beside its copy in another store, unless it has them."""
    copy = target.load(artifact.ref)
    additions, _ = checked_additions(inspect_files(artifact.path))
    present_additions, _ = checked_additions(inspect_files(copy.path))
    for file, content in additions.items():
        present_keys: list[list[object]] = []
        for entry in present_additions.get(file, {}).get("measured", ()):
            present_keys.append(key_of_measurement(file, entry))
        for entry in content["measured"]:
            if key_of_measurement(file, entry) not in present_keys:
                target.keep_added(copy, file, entry)
