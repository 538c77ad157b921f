"""Checkpoints: found again by the job, refused unless asked for, removed at the end."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attempts import states

from jurist.engines.journal import Journal
from jurist.errors import CheckpointError
from jurist.keeping.checkpoints import Checkpoint


def pay(path: Path, calls: int = 1) -> None:
    """Note calls in a journal, as a process that is killed then."""
    journal = Journal(path)
    for number in range(calls):
        journal.send("key", number)
    journal.close()


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
    pay(kept.journal())
    with pytest.raises(CheckpointError, match="resume=True"):
        Checkpoint.open(tmp_path, JOB, resume=False)
    assert states(kept.journal()) == ["sent"]
    assert states(Checkpoint.open(tmp_path, JOB, resume=True).journal()) == ["sent"]
    assert not Checkpoint.open(tmp_path, JOB, resume=False, fresh=True).journal().exists()


@pytest.mark.parametrize(
    ("left", "begun"),
    [({}, False), ({"journal-0.sqlite": 0}, False), ({"journal-0.sqlite": 0, "journal-1.sqlite": 1}, True)]
    + [({"a/journal-0.sqlite": 2}, True)],
)
def test_a_run_that_was_killed_before_its_first_answer_is_none(
    tmp_path: Path, left: dict[str, int], begun: bool
) -> None:
    folder = Checkpoint.open(tmp_path, JOB, resume=False).folder
    for name, calls in left.items():
        pay(folder / name, calls)
    if begun:
        with pytest.raises(CheckpointError, match="resume=True"):
            Checkpoint.open(tmp_path, JOB, resume=False)
    else:
        assert Checkpoint.open(tmp_path, JOB, resume=False).folder == folder


def test_a_run_of_an_earlier_version_is_not_paid_again(tmp_path: Path) -> None:
    folder = Checkpoint.open(tmp_path, JOB, resume=False).folder
    (folder / "journal-0.jsonl").write_text("paid\n")
    with pytest.raises(CheckpointError, match="earlier version is kept in"):
        Checkpoint.open(tmp_path, JOB, resume=True)
    assert not any(Checkpoint.open(tmp_path, JOB, resume=False, fresh=True).folder.glob("journal-*"))


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


def test_another_job_may_remove_the_parent_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Checkpoint.open(tmp_path / "all", JOB, resume=False)
    remove = shutil.rmtree

    def both(folder: Path) -> None:
        remove(folder)
        folder.parent.rmdir()

    monkeypatch.setattr(shutil, "rmtree", both)
    one.remove()
    assert not (tmp_path / "all").exists()


HOLDER = """
import sys
from pathlib import Path
from jurist.keeping.checkpoints import Checkpoint
Checkpoint.open(Path(sys.argv[1]), {"seed": 1}, resume=True)
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
                Checkpoint.open(tmp_path, job, **way)
        kept = Checkpoint.at(tmp_path, job)
        assert (kept.folder / "job.json").exists(), "--fresh took nothing from the one that is at work"
        Checkpoint.open(tmp_path, {"seed": 2}, resume=False).remove()
        other.kill()
    Checkpoint.open(tmp_path, job, resume=True).remove()


def test_released_is_free_for_others(tmp_path: Path) -> None:
    mine = Checkpoint.open(tmp_path, {"seed": 1}, resume=False)
    pay(mine.journal())
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    refused = subprocess.run(argv, input="", capture_output=True, text=True, check=False)
    assert "another process is working on this job" in refused.stderr
    mine.release()
    assert subprocess.run(argv, input="", capture_output=True, text=True, check=False).stdout == "held\n"
    with pytest.raises(CheckpointError, match="resume=True"):
        Checkpoint.open(tmp_path, {"seed": 1}, resume=False)
    assert subprocess.run(argv, input="", capture_output=True, text=True, check=False).stdout == "held\n"
