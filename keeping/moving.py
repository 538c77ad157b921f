"""Artifacts between stores: into one file and out of it; nothing that arrives is executed."""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping

from ..engines.models import same_model
from ..errors import ArtifactError
from .artifact_card import Artifact
from .artifacts import Store
from .card import Card
from .sealing import ADDED, CARD, FILES, HISTORY, OPTIONAL, PROGRAM, canonical, checked, files_in, seal
from .shelves import LATEST, Shelf, parse_ref

_LARGEST = 1 << 28  # bytes that a packed artifact may take when it is read
_NAME = re.compile(r"([a-z0-9-]+)/([1-9][0-9]{0,8})/([a-z]+\.jsonl?)", re.ASCII)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file knows: equal artifacts are equal files
_DAMAGED = "get it again from where it came from"


def files_of(artifact: Artifact) -> dict[str, bytes]:
    """Return the content of an artifact's files, by name: those that are sealed, and what was added later."""
    return files_in(artifact.path, artifact.card, artifact.added)


def pack(artifact: Artifact) -> bytes:
    """Return an artifact as one zip file with the folders of a store; equal ones are equal bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in sorted(files_of(artifact).items()):
            info = zipfile.ZipInfo(f"{artifact.judge}/{artifact.version}/{name}", _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(info, data)
    return packed.getvalue()


def unpack(data: bytes, store: Store) -> tuple[Artifact, bool]:
    """Put a packed artifact into a store; return it as it is there, and whether it was not there before."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            entries = file.infolist()
            named = {entry.filename: _NAME.fullmatch(entry.filename) for entry in entries}
            folders = {found.group(1, 2) for found in named.values() if found}
            known = all(found and found[3] in (*FILES, *OPTIONAL, *ADDED) for found in named.values())
            if not known or len(folders) != 1 or len(named) != len(entries):
                raise ArtifactError(
                    "the file is not one packed artifact", hint="pack one with: jurist artifacts pack"
                )
            if sum(entry.file_size for entry in entries) > _LARGEST:
                raise ArtifactError(f"the file holds more than {_LARGEST >> 20} MiB", hint=_DAMAGED)
            files = {entry.filename.rpartition("/")[2]: _content(file, entry) for entry in entries}
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        EOFError,
        RuntimeError,  # a compression that zipfile does not know, or a password
        ValueError,  # a name that is no text, a place outside the file
        OSError,
    ) as error:
        raise ArtifactError(f"the file cannot be unpacked: {error}", hint=_DAMAGED) from error
    return receive(files, store)


def _content(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    # never more than it says that it holds: its sizes may be forged
    with file.open(entry) as content:
        return content.read(entry.file_size + 1)


def receive(files: Mapping[str, bytes], store: Store) -> tuple[Artifact, bool]:
    """Put an artifact's files into a store; the latest if nothing there is for its model, unless it was not better."""
    from .dspy_state import state_of

    sealed = checked(files)
    card = sealed.card
    if fault := next(iter((*sealed.extras, *sealed.faults)), "") or Card.fault(card):
        raise ArtifactError(f"the artifact is damaged: {fault}", hint=_DAMAGED)
    state_of(sealed.program)
    name, wanted = parse_ref(f"{card['judge']}@{card['version']}")
    own = [one for one in store.list(name) if not one.shipped]
    for one in own:
        if card["sha256"] in (one.about.sha256, one.about.origin.sha256):
            return store.load(one.ref), False

    def written(version: int) -> Mapping[str, bytes]:
        if version == card["version"]:
            return files
        origin = {"version": card["version"], "sha256": card["sha256"]}
        resealed = seal(files[PROGRAM], files[HISTORY], {**card, "version": version, "origin": origin}, files)
        return {**files, CARD: canonical(resealed)}

    about = Card.model_validate(card)
    known = any(
        not (one.model and about.model.name) or same_model(one.model, about.model.name) for one in own
    )
    shelf = Shelf(store.root, name)
    version = shelf.add(written, make_latest=False, wanted=int(wanted))
    if not known and about.decision.verdict in (None, "better"):
        shelf.point(LATEST, version)
    return store.load(f"{name}@{version}"), True
