"""Checkpoints: where an interrupted job is kept, and how it is found again.

A checkpoint is a folder named by the fingerprint of the job (judge, gold, split,
optimizer, models, seed; not the budget, so that a job can go on with a larger
one). It holds the job's description and the journal of its paid answers, and is
removed when the job has ended in an artifact. One process at a time works on it.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engines.journal import Journal
from ..errors import CheckpointError
from .locking import held, let_go


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The folder of one unfinished job."""

    folder: Path

    @classmethod
    def at(cls, root: Path, job: Mapping[str, Any]) -> "Checkpoint":
        """Return where the checkpoint of ``job`` is or would be; nothing is written."""
        return cls(folder=root / hashlib.sha256(_text(job).encode()).hexdigest()[:16])

    @classmethod
    def open(cls, root: Path, job: Mapping[str, Any], *, resume: bool, fresh: bool = False) -> "Checkpoint":
        """Return the checkpoint of ``job`` under ``root``."""
        text, folder = _text(job), cls.at(root, job).folder
        if folder.exists():
            _only(folder)
        if folder.exists() and fresh:
            let_go(folder)
            shutil.rmtree(folder)
        if folder.exists() and not resume and _begun(folder):
            let_go(folder)
            raise CheckpointError(
                f"an unfinished run of this job is kept in {folder}",
                hint="add --resume to continue it without paying again, or --fresh to forget it",
            )
        if any(folder.rglob("journal-*.jsonl")):
            let_go(folder)
            raise CheckpointError(
                f"an unfinished run of an earlier version is kept in {folder}",
                hint="go on with that version, or add --fresh to forget it",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "job.json").write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"{root}: cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error
        _only(folder)
        return cls(folder=folder)

    def journal(self, number: int = 0) -> Path:
        """Return the file of the paid answers of one role of the job."""
        return self.folder / f"journal-{number}.sqlite"

    @property
    def best(self) -> Path:
        """The file of the best prompt so far, written when the job is stopped."""
        return self.folder / "best.json"

    def keep(self, name: str, data: Any) -> Path:
        """Write a JSON file into the checkpoint and return its path."""
        path = self.folder / name
        path.write_text(
            json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
        return path

    def release(self) -> None:
        """Let other processes continue the job; one that ends lets them anyway."""
        let_go(self.folder)

    def remove(self) -> None:
        """Remove the checkpoint: the job has ended."""
        if sys.platform == "win32":  # there, an open file cannot be removed
            let_go(self.folder)
        shutil.rmtree(self.folder)
        let_go(self.folder)
        with suppress(OSError):  # another job's checkpoint is there, or that job has just removed the folder
            self.folder.parent.rmdir()


def _only(folder: Path) -> None:
    """Take the folder for this process, or refuse it."""
    try:
        free = held(folder)
    except OSError as error:
        raise CheckpointError(
            f"{folder}: cannot be written: {error.strerror}", hint="name another folder with --store"
        ) from error
    if not free:
        raise CheckpointError(
            f"another process is working on this job in {folder}",
            hint="wait until it has ended, or end it first",
        )


def _begun(folder: Path) -> bool:
    """Say whether anything was sent: a process that was killed before its first call leaves nothing to go on with."""
    for path in folder.rglob("journal-*.sqlite"):
        journal = Journal(path)
        begun = journal.begun
        journal.close()
        if begun:
            return True
    return False


def _text(job: Mapping[str, Any]) -> str:
    return json.dumps(job, sort_keys=True, ensure_ascii=False, indent=2)
