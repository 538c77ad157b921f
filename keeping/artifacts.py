"""The store: compiled judges as versioned, sealed folders of reviewable text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..cases import text_hash
from ..engines.hosts import remember_named
from ..engines.model_names import same_model
from ..errors import ArtifactError, Seed, UsageError, as_data, checked
from ..text.files import data_file
from ..text.redaction import publishable
from .artifact_card import RESTORE, Artifact
from .sealing import (
    ADDED_FILES,
    CARD,
    HISTORY,
    PROGRAM,
    canonical_json,
    inspect_files,
    read_artifact_file,
    records_json,
    seal_addition,
    seal_card,
)
from .shelves import LATEST, Shelf, parse_ref
from .trust import Trust

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from ..programs.state import PromptState
    from .card import CardContent

SHIPPED = "shipped"
"""The name, in place of a folder, of the store that comes with jurist and is only read."""
_SHIPPED_FOLDER = Path(__file__).parent.parent / "compiled" / SHIPPED
_PARENTS_SEARCHED = 3
"""Folders above a store in which a judge's file is looked for, as a store is in the folder of its project."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A fault in the store."""

    ref: str  # ``JUDGE@VERSION``, or ``JUDGE`` for a fault of its folder
    path: Path  # the folder
    message: str  # what is wrong

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


class Store:
    """The artifacts of a user.

    Args:
        root: its folder; default ``$JURIST_STORE``, else ``./compiled``. Made by the first save. ``"shipped"`` is the
            store that comes with jurist, which is only read.
        trust: which judge files may be executed that artifacts name; default: those that are remembered.

    Raises:
        ArtifactError: ``root`` is a file.
    """

    @checked
    def __init__(self, root: Path | str | None = None, *, trust: Trust | None = None) -> None:
        name = root or os.environ.get("JURIST_STORE") or "compiled"
        self.is_shipped = name == SHIPPED
        self.root = _SHIPPED_FOLDER if self.is_shipped else Path(name)
        if self.root.exists() and not self.root.is_dir():
            raise ArtifactError(
                f"{as_data(self.root)} is not a folder", hint="name a folder with --store or JURIST_STORE"
            )
        self.trust = trust or Trust()

    @property
    def checkpoints(self) -> Path:
        """The folder of unfinished work: in the store or, if that cannot be written, among the user's own data."""
        folder = self.root.resolve() / ".checkpoints"
        nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if os.access(nearest, os.W_OK) and not self.is_shipped:
            return self.root / ".checkpoints"
        return data_file("checkpoints") / text_hash(str(folder))  # such as the store of a CI job

    def find_file(self, path: Path) -> Path:
        """Return the path at which a file of a card exists: as it is, or from one of the folders above the store.

        The path comes back unchanged if it exists at none of them.
        """
        if not path.is_file() and not path.is_absolute():
            for folder in self.root.resolve().parents[:_PARENTS_SEARCHED]:
                if (folder / path).is_file():
                    return folder / path
        return path

    def find_code(self, path: Path) -> Path:
        """Return the path at which the Python file that a card names exists.

        A file that stood outside its project, as the card tells, is found by its name beside the store, too: there a
        copy of its version puts it.
        """
        place = self.find_file(path)
        copied_file = self.parent_folder / path.name
        if not place.is_file() and leads_out(path) and copied_file.is_file():
            return copied_file
        return place

    @property
    def parent_folder(self) -> Path:
        """The folder that the store stands in."""
        if self.root.name in ("", ".."):
            return self.root.resolve().parent
        return self.root.parent

    def record_code(self, reference: str) -> Mapping[str, str]:
        """Return the hashes of the code that a reference names, for a card, and trust it from now on.

        There are none where the reference names no file, or the file was not executed in this process.
        """
        from ..programs.catalogue import file_of
        from ..programs.plugins import executed_hashes

        path, _ = file_of(reference)
        if path is None:
            return {}
        place = self.find_code(path)
        hashes = executed_hashes(place)
        self.trust.remember(hashes, place)
        return hashes

    def save(
        self,
        judge: Judge,
        state: PromptState,
        card: CardContent | Mapping[str, object],
        history: Iterable[Mapping[str, object]],
        *,
        make_latest: bool,
        records: Mapping[str, Iterable[Mapping[str, object]]] = MappingProxyType({}),
    ) -> Artifact:
        """Write the next version, whole or not at all, and return it.

        Args:
            judge: the judge, whose name, variant, labels and fields the card gets.
            state: the prompt.
            card: the content of the card beside that; JSON values are checked.
            history: one mapping a candidate.
            make_latest: whether ``JUDGE`` alone means this version from now on, for its model.
            records: file of :data:`.sealing.OPTIONAL_FILES` -> its lines.

        Keys and credentials are taken out of the card and the history. The file of the judge is trusted from now on,
        and so are the addresses of models that the user has named in this process.

        Raises:
            UsageError: the store is the one that comes with jurist.
            ArtifactError: the prompt, the card or the history holds what JSON cannot, or a part of the card has not
                its type.
        """
        from .card import CardContent, build_card
        from .contents import read_content, unwritable_error
        from .dspy_state import dump_state

        self.check_writable()
        content = read_content(judge, card)
        content = content.joined(CardContent.model_validate(self.record_code(content.judge_ref)))
        try:
            program = canonical_json(dump_state(judge, state), sort=False)
            unsealed_card = build_card(judge, content)
            history_file = records_json(publishable(list(history)))
            record_files = {name: records_json(rows) for name, rows in records.items()}
            canonical_json(unsealed_card)
        except (TypeError, ValueError) as error:
            raise unwritable_error(judge, str(error)) from error

        def files(version: int) -> dict[str, bytes]:
            sealed = seal_card(program, history_file, {**unsealed_card, "version": version}, record_files)
            return {PROGRAM: program, HISTORY: history_file, CARD: canonical_json(sealed), **record_files}

        shelf = Shelf(self.root, judge.name)
        artifact = self._read_undamaged(shelf, shelf.add(files, make_latest=make_latest))
        remember_named(content.addresses)
        return artifact

    @checked
    def load(self, ref: str) -> Artifact:
        """Return ``JUDGE`` (the latest), ``JUDGE@3``, ``JUDGE@latest`` or ``JUDGE@TAG``.

        Raises:
            ArtifactError: there is none, or it is damaged.
            UsageError: ``ref`` is not a reference.
        """
        shelf, version = self._find(ref)
        return self._read_undamaged(shelf, version)

    def promoted(self, judge: str) -> list[Artifact]:
        """Return the versions of a judge that were made its latest, for whichever model, the last one first."""
        artifacts: list[Artifact] = []
        for shelf in self._shelves(judge):
            artifacts += [self._read(shelf, version) for version in shelf.promoted()]
        return artifacts

    def current(self, judge: str, model: str | None = None) -> Artifact | None:
        """Return the version that ``JUDGE`` alone means with a model; ``None`` where it means the basic prompt.

        It is the last one that was made the latest for that model, or for whichever if none is given.
        """
        for artifact in self.promoted(judge):
            if model is None or _answers_for(artifact, model):
                return artifact
        return None

    def list(self, judge: str | None = None) -> list[Artifact]:
        """Return all artifacts (of one judge), damaged ones too, by judge and version."""
        artifacts: list[Artifact] = []
        for shelf in self._shelves(judge):
            artifacts += [self._read(shelf, version) for version in shelf.versions()]
        return artifacts

    @checked
    def earlier_parts(
        self, judge: str, seed: Seed, shares: Sequence[float] | None, *, holdout: bool = False
    ) -> dict[str, str]:
        """Return the part of each group (by a hash) in earlier versions of the same seed, shares and kind of test."""
        parts: dict[str, str] = {}
        for version in reversed(self.list(judge)):
            card = version.about
            if card.optimizer.seed != seed or bool(card.gold.holdout) != holdout:
                continue
            if shares is None or _rounded(shares) == _rounded(card.gold.shares):
                parts = {**card.parts, **parts}
        return parts

    def verify(self, ref: str | None = None) -> Sequence[Problem]:
        """Return the faults of all artifacts, of one judge's (``JUDGE``), or of one (``JUDGE@V``).

        These are changed, missing and foreign files, and names that lead to no version.
        """
        if ref is not None and "@" in ref:
            shelf, version = self._find(ref)
            return _problems_of(self._read(shelf, version))
        name = None
        if ref is not None:
            name, _ = parse_ref(ref)
        shelves = self._shelves(name)
        if name is not None and not shelves:
            raise self._missing(name, LATEST)
        problems: list[Problem] = []
        for shelf in shelves:
            for fault in shelf.faults():
                problems.append(Problem(ref=shelf.judge, path=shelf.path, message=fault))
        for artifact in self.list(name):
            problems += _problems_of(artifact)
        return problems

    def keep_added(self, artifact: Artifact, file: str, entry: Mapping[str, object]) -> None:
        """Add an entry to a file of measurements beside an artifact; it replaces the entry with the same keys.

        ``file`` is one of :data:`.sealing.ADDED_FILES`, which names the keys.
        """
        from .contents import checked_additions

        self.check_writable()
        additions, _ = checked_additions(inspect_files(artifact.path))
        key = key_of_measurement(file, entry)
        entries = [entry]
        for earlier in additions.get(file, {}).get("measured", ()):
            if key_of_measurement(file, earlier) != key:
                entries.append(earlier)

        def sort_key(measured: Mapping[str, object]) -> list[str]:
            return list(map(str, key_of_measurement(file, measured)))

        entries.sort(key=sort_key)
        program = read_artifact_file(artifact.path / PROGRAM)
        shelf = Shelf(artifact.path.parent.parent, artifact.judge)  # it may be of another store
        shelf.put(artifact.version, file, seal_addition({"measured": entries}, program))

    @checked
    def tag(self, ref: str, tag: str) -> None:
        """Let ``JUDGE@TAG`` mean an artifact; the tag ``latest`` moves ``JUDGE`` itself, for the artifact's model."""
        self.check_writable()
        shelf, version = self._find(ref)
        shelf.point(tag, version)

    def check_writable(self) -> None:
        """Raise ``UsageError`` for the store that comes with jurist."""
        if self.is_shipped:
            raise UsageError(
                "the store that comes with jurist is only read", hint="name a folder of your own with --store"
            )

    def _shelves(self, judge: str | None = None) -> Sequence[Shelf]:
        """Return the folders of all judges in the store, or of one."""
        return [shelf for shelf in Shelf.all(self.root) if judge in (None, shelf.judge)]

    def _find(self, ref: str) -> tuple[Shelf, int]:
        """Return the folder of a judge and the version that a reference means; raises if there is none."""
        judge, selector = parse_ref(ref)
        shelf = Shelf(self.root, judge)
        version = shelf.number(selector)
        if version is None:
            raise self._missing(judge, selector)
        return shelf, version

    def _missing(self, judge: str, selector: str) -> ArtifactError:
        """Return the error for a reference that means no version, with those that exist."""
        shelf = Shelf(self.root, judge)
        versions = shelf.versions()
        tags = sorted(shelf.names().keys() - {LATEST})
        if not versions:
            from ..programs.catalogue import first_steps

            hint = first_steps(judge, [shelf.judge for shelf in self._shelves()])
            return ArtifactError(
                f"no compiled artifact of judge {judge!r} in {as_data(self.root)}", hint=hint
            )
        existing = f"versions {', '.join(map(str, versions))} exist"
        if len(versions) == 1:
            existing = f"version {versions[0]} exists"
        if tags:
            existing += f", tags {', '.join(tags)}"
        if selector != LATEST:
            return ArtifactError(f"there is no {judge}@{selector}; {existing}", hint="name one of these")
        hint = f"name one, as {judge}@{versions[-1]}, or make one the latest with the tag 'latest'"
        return ArtifactError(f"no version of {judge} is the latest; {existing}", hint=hint)

    def _read_undamaged(self, shelf: Shelf, version: int) -> Artifact:
        """Return a version; raises ``ArtifactError`` if it has faults. Foreign files in its folder do no harm."""
        artifact = self._read(shelf, version)
        if artifact.faults:
            raise ArtifactError(
                f"{artifact.ref} in {as_data(shelf.root)} is damaged: {artifact.faults[0]}",
                hint=RESTORE,
            )
        return artifact

    def _read(self, shelf: Shelf, version: int) -> Artifact:
        """Return a version, with its names, and with its faults if it is damaged."""
        artifact = self._read_files(shelf, version)
        tags = [name for name, number in shelf.names().items() if number == version and name != LATEST]
        return replace(artifact, latest=self._is_latest(shelf, artifact), tags=tuple(sorted(tags)))

    def _is_latest(self, shelf: Shelf, artifact: Artifact) -> bool:
        """Say whether a judge's name means a version, for the model that it was proven with."""
        promoted = shelf.known_promoted()
        if artifact.version not in promoted:
            return False
        for version in promoted[: promoted.index(artifact.version)]:
            if _answers_for(self._read_files(shelf, version), artifact.model):
                return False
        return True

    def _read_files(self, shelf: Shelf, version: int) -> Artifact:
        """Return a version without its names, with its faults if it is damaged."""
        from .contents import checked_additions, faults_of, readable_card

        path = shelf.path / str(version)
        sealed = inspect_files(path)
        faults = faults_of(sealed, shelf.judge, version)
        additions, addition_faults = checked_additions(sealed)
        return Artifact(
            judge=shelf.judge,
            version=version,
            path=path,
            card=readable_card(sealed),
            program_state=sealed.program,
            history=sealed.history,
            added=additions,
            faults=faults,
            extras=sealed.extras + addition_faults,
        )


def _rounded(shares: Sequence[float]) -> list[float]:
    """Return shares as they are compared: to six digits."""
    return [round(share, 6) for share in shares]


def key_of_measurement(file: str, entry: Mapping[str, object]) -> list[object]:
    """Return the values that tell an entry of a file of measurements from its other entries."""
    return [entry[name] for name in ADDED_FILES[file]]


def _answers_for(artifact: Artifact, model: str) -> bool:
    """Say whether a version belongs to a model; one that names none belongs to all, and a damaged one is refused."""
    return bool(artifact.problem) or not artifact.model or same_model(artifact.model, model)


def leads_out(path: Path) -> bool:
    """Say whether the path of a judge's file leads out of the folder in which the command was given."""
    return path.is_absolute() or ".." in path.parts


def _problems_of(artifact: Artifact) -> list[Problem]:
    """Return the faults of an artifact and of the files beside it; of its prompt if there are no others."""
    faults = artifact.extras + artifact.faults
    if not faults:
        try:
            _ = artifact.state
        except ArtifactError as error:
            faults = (error.message,)
    return [Problem(ref=artifact.ref, path=artifact.path, message=fault) for fault in faults]
