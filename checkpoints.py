"""Checkpoints: where an interrupted job is kept, and how it is found again.

A checkpoint is a folder named by the fingerprint of the job (judge, gold, split,
optimizer, models, seed; not the budget, so that a job can go on with a larger
one). It holds the job's description and the journal of its paid answers, and is
removed when the job has ended in an artifact.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import CheckpointError

__all__ = ["Checkpoint"]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The folder of one unfinished job."""

    folder: Path

    @classmethod
    def open(cls, root: Path, job: Mapping[str, Any], *, resume: bool, fresh: bool = False) -> Checkpoint:
        """Return the checkpoint of ``job`` under ``root``.

        Args:
            root: the folder of all checkpoints.
            job: what makes the job the same job, as JSON values.
            resume: continue an unfinished run of it, if there is one.
            fresh: forget an unfinished run of it, if there is one.

        Raises:
            CheckpointError: there is an unfinished run and neither was asked for, or nothing can be written.
        """
        text = json.dumps(job, sort_keys=True, ensure_ascii=False, indent=2)
        folder = root / hashlib.sha256(text.encode()).hexdigest()[:16]
        if folder.exists() and fresh:
            shutil.rmtree(folder)
        if folder.exists() and not resume:
            raise CheckpointError(
                f"an unfinished run of this job is kept in {folder}",
                hint="add --resume to continue it without paying again, or --fresh to forget it",
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "job.json").write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"{root}: cannot be written: {error.strerror}", hint="name another folder with --store"
            ) from error
        return cls(folder=folder)

    @property
    def journal(self) -> Path:
        """The file of the job's paid answers."""
        return self.folder / "journal.jsonl"

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

    def remove(self) -> None:
        """Remove the checkpoint: the job has ended."""
        shutil.rmtree(self.folder)
        if not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()
