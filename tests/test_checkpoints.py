"""Checkpoints: found again by the job, refused unless asked for, removed at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jurist.checkpoints import Checkpoint
from jurist.errors import CheckpointError

JOB = {"judge": "fect:basic", "seed": 1, "options": {"steps": "2"}}


def test_the_same_job_is_found_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    first = Checkpoint.open(tmp_path, JOB, resume=False)
    again = Checkpoint.open(tmp_path, dict(reversed(JOB.items())), resume=True)
    assert first.folder == again.folder
    assert json.loads((first.folder / "job.json").read_text()) == JOB


@pytest.mark.parametrize("change", [{"seed": 2}, {"judge": "fect:3d"}, {"options": {"steps": "3"}}])
def test_another_job_is_another_folder(tmp_path: Path, change: dict[str, object]) -> None:
    first = Checkpoint.open(tmp_path, JOB, resume=False)
    assert Checkpoint.open(tmp_path, {**JOB, **change}, resume=False).folder != first.folder


def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    kept = Checkpoint.open(tmp_path, JOB, resume=False)
    kept.journal.write_text("paid\n")
    with pytest.raises(CheckpointError, match="--resume"):
        Checkpoint.open(tmp_path, JOB, resume=False)
    assert kept.journal.read_text() == "paid\n"
    assert Checkpoint.open(tmp_path, JOB, resume=True).journal.read_text() == "paid\n"
    assert not Checkpoint.open(tmp_path, JOB, resume=False, fresh=True).journal.exists()


def test_resume_without_a_run_starts_one(tmp_path: Path) -> None:
    assert Checkpoint.open(tmp_path / "new", JOB, resume=True).folder.is_dir()


def test_removed_with_its_empty_parent_only(tmp_path: Path) -> None:
    root = tmp_path / "all"
    one, two = (Checkpoint.open(root, {**JOB, "seed": seed}, resume=False) for seed in (1, 2))
    one.keep("best.json", {"prompt": "é"})
    assert json.loads((one.folder / "best.json").read_text(encoding="utf-8")) == {"prompt": "é"}
    one.remove()
    assert root.is_dir()
    two.remove()
    assert not root.exists()
