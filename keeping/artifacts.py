"""Artifacts: compiled judges as versioned, sealed folders of reviewable text.

``<store>/<judge>/<version>/`` holds ``program.json`` (a DSPy state),
``card.json`` (where it comes from and how good it is), ``history.jsonl``
(every candidate that was tried), ``matrix.jsonl`` (every candidate on every
case it was scored on, without the sealed test) and ``proof.jsonl`` (what both
programs said on the sealed test, for people to read). A version is written once and never again;
only the pointers ``latest`` and ``tags.json`` beside it move. Knows nothing of
optimizers, models or commands, and imports DSPy only when a prompt is read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import ArtifactError
from .artifact_card import Artifact, full_card, prompt_text
from .card_schema import card_fault
from .redaction import publishable
from .sealing import (
    CARD,
    HISTORY,
    PROGRAM,
    ROBUSTNESS,
    Sealed,
    added,
    canonical,
    inspect,
    lines,
    pretty,
    seal,
)
from .shelves import Shelf, check_tag, parse_ref, store_root
from .trust import Trust

if TYPE_CHECKING:
    from ..programs.judge import Judge
    from ..programs.state import PromptState

__all__ = ["Artifact", "Problem", "Store", "Summary", "prompt_text"]

_ABOVE = 3
"""Folders above a store in which the file of a judge is looked for: a store stands in its project."""
_RESTORE = "restore the folder from a copy, or compile the judge again"


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One line of the list of artifacts.

    Attributes:
        judge, version, path: which one.
        latest: whether ``JUDGE`` alone means it, in its own store.
        tags: its names besides the number.
        shipped: whether it came with the package and is read-only.
        card: its card; empty if it is none.
        problem: what is wrong with it, or empty.
    """

    judge: str
    version: int
    path: Path
    latest: bool
    tags: tuple[str, ...]
    shipped: bool
    card: Mapping[str, Any]
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong in the store: in which artifact or judge, where on disk, and what."""

    ref: str
    path: Path
    message: str

    def __str__(self) -> str:
        return f"{self.ref}: {self.message}"


class Store:
    """The artifacts of a user, and behind them those that came with the package.

    Args:
        root: the user's folder; default ``$JURIST_STORE``, else ``./compiled``. Made by the first save.
        shipped: the read-only folder behind it; default: the package's own.
        trust: which judge files may be executed that artifacts name; default: those that are remembered.

    Raises:
        ArtifactError: ``root`` is a file.
    """

    def __init__(
        self, root: Path | str | None = None, *, shipped: Path | None = None, trust: Trust | None = None
    ) -> None:
        self.root = store_root(root)
        self.trust = trust or Trust()
        self.shipped = (
            Path(str(resources.files(__package__.rpartition(".")[0]) / "compiled"))
            if shipped is None
            else shipped
        )

    @property
    def checkpoints(self) -> Path:
        """Where unfinished work is kept; no judge can have this name."""
        return self.root / ".checkpoints"

    def file(self, path: Path) -> Path:
        """Return where a file is that a card names: here, else beside the store or in the folders above it."""
        if not path.is_file() and not path.is_absolute():
            for folder in self.root.resolve().parents[:_ABOVE]:
                if (folder / path).is_file():
                    return folder / path
        return path

    def _judge_file(self, reference: Any) -> dict[str, Any]:
        """Return what the card keeps of the file that was executed; who compiled from it trusts it."""
        from ..programs.catalogue import executed_sha256, file_of

        path, _ = file_of(str(reference or ""))
        place = None if path is None else self.file(path)
        sha256 = None if place is None else executed_sha256(place)
        if place is not None and sha256 is not None:
            self.trust.remember(sha256, place)
        return {} if sha256 is None else {"judge_sha256": sha256}

    def save(
        self,
        judge: Judge,
        state: PromptState,
        card: Mapping[str, Any],
        history: Iterable[Mapping[str, Any]],
        *,
        make_latest: bool,
        records: Mapping[str, Iterable[Mapping[str, Any]]] = MappingProxyType({}),
    ) -> Artifact:
        """Write the next version, whole or not at all, and return it.

        Args:
            judge: what was compiled; its name, variant, labels and fields go on the card.
            state: the compiled prompt.
            card: the rest of it (``optimizer``, ``gold``, ``scores``, ...); keys it lacks become ``null``.
            history: one mapping a candidate.
            make_latest: whether ``JUDGE`` alone means this version from now on.
            records: file of :data:`.sealing.OPTIONAL` -> its lines; a file that is not named is not kept.

        Keys and credentials are taken out of the card and the history.

        Raises:
            ArtifactError: something cannot be written as JSON, or the folder cannot be written.
        """
        from .dspy_state import dump

        program = _encoded(judge, dump(judge, state))
        try:
            whole = full_card(judge, {**card, **self._judge_file(card.get("judge_ref"))})
            tried = lines(publishable(list(history)))
            more = {name: lines(rows) for name, rows in records.items()}
            canonical(whole)
        except (TypeError, ValueError) as error:
            raise ArtifactError(
                f"the card or the history of {judge.name} cannot be written: {error}",
                hint="put only text, numbers, booleans, lists and objects in them",
            ) from error

        def files(version: int) -> dict[str, bytes]:
            sealed = seal(program, tried, {**whole, "version": version}, more)
            return {PROGRAM: program, HISTORY: tried, CARD: canonical(sealed), **more}

        version = Shelf(self.root, judge.name).add(files, make_latest=make_latest)
        return self._open(self.root / judge.name / str(version), judge.name, version)

    def load(self, ref: str, judge: Judge | None = None) -> Artifact:
        """Return ``JUDGE`` (the latest), ``JUDGE@3``, ``JUDGE@latest`` or ``JUDGE@TAG``, the user's first.

        Args:
            ref: which one.
            judge: if given, it must be the judge that was compiled.

        Raises:
            ArtifactError: there is none, it is damaged, or it does not fit ``judge``.
            UsageError: ``ref`` is not a reference.
        """
        shelf, version = self._find(ref)
        artifact = self._open(shelf.path / str(version), shelf.judge, version)
        if judge is not None:
            artifact.check(judge)
        return artifact

    def latest(self, judge: str) -> int | None:
        """Return the version that a judge's name alone means; ``None`` if none was made the latest.

        Raises:
            ArtifactError: the judge has no version, or what names the latest is damaged.
        """
        shelves = [shelf for shelf in self._shelves(judge) if shelf.versions()]
        if not shelves:
            raise self._missing(judge, "latest")
        return next((found for shelf in shelves if (found := shelf.number("latest")) is not None), None)

    def list(self, judge: str | None = None) -> list[Summary]:
        """Return all artifacts (of one judge) by judge and version, the user's before the shipped."""
        found = []
        for shelf in self._shelves(judge):
            latest, tags = shelf.pointers()
            for version in shelf.versions():
                sealed = inspect(shelf.path / str(version))
                faults = _faults(sealed, shelf.judge, version)
                found.append(
                    Summary(
                        judge=shelf.judge,
                        version=version,
                        path=shelf.path / str(version),
                        latest=version == latest,
                        tags=tuple(sorted(tag for tag, number in tags.items() if number == version)),
                        shipped=shelf.root != self.root,
                        card={} if card_fault(sealed.card) else sealed.card,
                        problem=faults[0] if faults else "",
                    )
                )
        return sorted(found, key=lambda one: (one.judge, one.shipped, one.version))

    def verify(self, ref: str | None = None) -> Sequence[Problem]:
        """Return all that is wrong: with everything, with one judge's (``JUDGE``), or with ``JUDGE@V``.

        Changed, missing and foreign files, and pointers that lead nowhere.

        Raises:
            ArtifactError: there is no such judge or version.
            UsageError: ``ref`` is not a reference.
        """
        if ref is not None and "@" in ref:
            shelf, version = self._find(ref)
            return _problems(shelf, version)
        name = None if ref is None else parse_ref(ref)[0]
        shelves = self._shelves(name)
        if name is not None and not shelves:
            raise self._missing(name, "latest")
        problems: list[Problem] = []
        for shelf in shelves:
            problems += [Problem(ref=shelf.judge, path=shelf.path, message=text) for text in shelf.faults()]
            problems += [problem for version in shelf.versions() for problem in _problems(shelf, version)]
        return problems

    def keep_robustness(self, artifact: Artifact, measured: Mapping[str, Any]) -> bool:
        """Write how an artifact stood attacks beside its card, whose seal stays as it is.

        What was measured before with the same model, gold and input is replaced.

        Returns:
            Whether it could be kept: an artifact that came with the package is read-only.

        Raises:
            ArtifactError: the folder cannot be written.
        """
        if artifact.path.parent.parent != self.root:
            return False
        key = ("model", "gold", "field")
        rest = [one for one in artifact.robustness if any(one[name] != measured[name] for name in key)]
        entries = sorted([*rest, measured], key=lambda one: [one[name] for name in key])
        program = (artifact.path / PROGRAM).read_bytes()
        Shelf(self.root, artifact.judge).put(
            artifact.version, ROBUSTNESS, added({"measured": entries}, program)
        )
        return True

    def tag(self, ref: str, tag: str) -> None:
        """Let ``JUDGE@TAG`` mean an artifact of the user's store; the tag ``latest`` moves ``JUDGE`` itself.

        Raises:
            ArtifactError: there is no such artifact, or it is a shipped, read-only one.
            UsageError: ``ref`` or ``tag`` cannot be used.
        """
        check_tag(tag)
        shelf, version = self._find(ref)
        if shelf.root != self.root:
            raise ArtifactError(
                f"{shelf.judge}@{version} came with the package and is read-only",
                hint=f"compile {shelf.judge} into your own store first",
            )
        shelf.point(tag, version)

    def rollback(self, judge: str, tag: str) -> int:
        """Let ``JUDGE@TAG`` (or ``latest``) mean what it meant before in the user's store, and return that version.

        Raises:
            ArtifactError: nothing is known of before, or that version is gone.
            UsageError: it is no name.
        """
        check_tag(tag)
        parse_ref(judge)
        return Shelf(self.root, judge).back(tag)

    def diff(self, a: str, b: str) -> str:
        """Return the unified diff of two artifacts' prompts; empty if equal. Raises what ``load`` raises."""
        one, two = self.load(a), self.load(b)
        parts = difflib.unified_diff(
            prompt_text(one.state).split("\n"),
            prompt_text(two.state).split("\n"),
            one.ref,
            two.ref,
            lineterm="",
        )
        return "".join(part + "\n" for part in parts)

    def _shelves(self, judge: str | None = None) -> Sequence[Shelf]:
        roots = [self.root]
        if self.shipped.is_dir() and not (self.root.is_dir() and self.root.samefile(self.shipped)):
            roots.append(self.shipped)
        return [shelf for root in roots for shelf in Shelf.all(root) if judge in (None, shelf.judge)]

    def _find(self, ref: str) -> tuple[Shelf, int]:
        judge, selector = parse_ref(ref)
        for shelf in self._shelves(judge):
            version = shelf.number(selector)
            if version is not None:
                return shelf, version
        raise self._missing(judge, selector)

    def _missing(self, judge: str, selector: str) -> ArtifactError:
        shelves = self._shelves(judge)
        have = sorted({version for shelf in shelves for version in shelf.versions()})
        tags = sorted({tag for shelf in shelves for tag in shelf.pointers()[1]})
        if not have:
            return ArtifactError(
                f"no compiled artifact of judge {judge!r} in {self.root}",
                hint=f"compile it first, use {judge}:basic, or name another folder with --store",
            )
        exist = f"versions {', '.join(map(str, have))} exist" + (f", tags {', '.join(tags)}" if tags else "")
        if selector == "latest":
            return ArtifactError(
                f"no version of {judge} is the latest; {exist}",
                hint=f"name one, as {judge}@{have[-1]}, or make one the latest with the tag 'latest'",
            )
        return ArtifactError(f"there is no {judge}@{selector}; {exist}", hint="name one of these")

    def _open(self, path: Path, judge: str, version: int) -> Artifact:
        sealed = inspect(path)
        faults = _faults(sealed, judge, version, extra=False)
        if faults:
            raise ArtifactError(
                f"{judge}@{version} in {path.parent.parent} is damaged: {faults[0]}", hint=_RESTORE
            )
        return Artifact(
            judge=judge,
            version=version,
            path=path,
            card=sealed.card,
            sha256=sealed.card["sha256"],
            program_state=sealed.program,
            history=sealed.history,
            added=sealed.added,
        )


def _encoded(judge: Judge, data: Mapping[str, Any]) -> bytes:
    try:
        return pretty(data)
    except ValueError as error:
        raise ArtifactError(
            f"the prompt of judge {judge.name} cannot be written: {error}", hint="correct the instruction"
        ) from error


def _faults(sealed: Sealed, judge: str, version: int, *, extra: bool = True) -> Sequence[str]:
    """The seal's faults, and a sealed folder that was moved to another place."""
    faults = [str(fault) for fault in sealed.faults if extra or not fault.extra]
    if not faults and (sealed.card.get("judge"), sealed.card.get("version")) != (judge, version):
        moved = f"{sealed.card.get('judge')}@{sealed.card.get('version')}"
        faults.append(f"card.json: says {moved}, but lies in the folder of {judge}@{version}")
    if not faults and (fault := card_fault(sealed.card)):
        faults.append(f"card.json: {fault}")
    return faults


def _problems(shelf: Shelf, version: int) -> Sequence[Problem]:
    path = shelf.path / str(version)
    sealed = inspect(path)
    texts = list(_faults(sealed, shelf.judge, version))
    if not texts:
        from .dspy_state import state_of

        try:
            state_of(sealed.program)
        except ArtifactError as error:
            texts.append(error.message)
    return [Problem(ref=f"{shelf.judge}@{version}", path=path, message=text) for text in texts]
