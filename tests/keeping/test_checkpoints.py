"""Checkpoints: found again by the job, refused unless asked for, removed at the end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from attempts import states

from jurist.engines.journal import Journal
from jurist.errors import CheckpointError
from jurist.keeping.paying import Checkpoint, checkpoint_folder

JOB = {"judge": "fect:basic", "seed": 1, "options": {"steps": "2"}}


def pay(path: Path, calls: int = 1) -> None:
    """Note calls in a journal, as a process that is killed then."""
    journal = Journal(path)
    for number in range(calls):
        journal.note_sending("key", number)
    journal.close()


def opened(root: Path, *, resume: bool = False, fresh: bool = False) -> Checkpoint:
    """Open the checkpoint of the job, and let it go as a process that ends does."""
    found = Checkpoint(root, JOB, resume=resume, fresh=fresh)
    found.release()
    return found


def test_the_same_job_is_found_again_and_no_other(tmp_path: Path) -> None:
    folder = opened(tmp_path).folder
    assert json.loads((folder / "job.json").read_text()) == JOB
    assert checkpoint_folder(tmp_path, dict(reversed(JOB.items()))) == folder
    assert checkpoint_folder(tmp_path, {**JOB, "options": {"steps": "3"}}) != folder


@pytest.mark.parametrize(
    ("left", "begun"),
    [
        ({}, False),
        ({"journal-0.sqlite": 0}, False),
        ({"journal-0.sqlite": 0, "journal-1.sqlite": 1}, True),
        ({"a/journal-0.sqlite": 2}, True),
    ],
)
def test_what_was_begun_is_not_overwritten_unless_it_is_to_be_forgotten(
    tmp_path: Path, left: dict[str, int], begun: bool
) -> None:
    folder = opened(tmp_path).folder
    for name, calls in left.items():
        (folder / name).parent.mkdir(exist_ok=True)
        pay(folder / name, calls)
    for _ in range(2):
        if begun:
            with pytest.raises(
                CheckpointError,
                match="make the same call again to continue it without paying again, or fresh=True to forget it",
            ):
                opened(tmp_path)
        else:
            opened(tmp_path)
    opened(tmp_path, resume=True)
    assert {name: len(states(folder / name)) for name in left} == left
    opened(tmp_path, fresh=True)
    assert not any(folder.rglob("journal-*"))


def test_removed_with_its_empty_parent_only(tmp_path: Path) -> None:
    root = tmp_path / "all"
    one, two = (Checkpoint(root, {**JOB, "seed": seed}, resume=False) for seed in (1, 2))
    one.keep("best.json", {"prompt": "é"})
    assert json.loads((one.folder / "best.json").read_text(encoding="utf-8")) == {"prompt": "é"}
    one.remove()
    assert root.is_dir()
    two.remove()
    assert not root.exists()


HOLDER = """
import sys
from pathlib import Path
from jurist.keeping.paying import Checkpoint
held = Checkpoint(Path(sys.argv[1]), {"seed": 1}, resume=True)
print("held", flush=True)
sys.stdin.read()
"""


def test_two_processes_never_work_on_one_job(tmp_path: Path) -> None:
    job = {"seed": 1}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        for way in ({"resume": True}, {"resume": False}, {"resume": False, "fresh": True}):
            with pytest.raises(CheckpointError, match=r"^another process is working on this job in .*; wait"):
                Checkpoint(tmp_path, job, **way)
        kept = checkpoint_folder(tmp_path, job) / "job.json"
        assert kept.exists(), "--fresh took nothing from the one that is at work"
        Checkpoint(tmp_path, {"seed": 2}, resume=False).remove()
        other.kill()
    Checkpoint(tmp_path, job, resume=True).release()
