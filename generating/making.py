"""Dialogues from documents.

Making them is paid for, so it is described by a fingerprint, keeps every paid answer in a checkpoint beside the
user's artifacts, and writes its output only when all of it is there: it is the same however often it was interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..engines.models import connect
from ..errors import CheckpointError, UsageError
from ..gold.writing import write_jsonl
from ..keeping.checkpoints import Checkpoint
from ..keeping.paying import PaidJob, Start, paying
from ..programs.dialogue import Converse
from .dialogues import converse
from .generation import Generation, Made, job_id
from .speaking import Speaker

__all__ = ["already_made", "check_writable", "generate", "make_dialogues", "rejects_path", "write_dialogues"]

Step = Callable[[], None]


def rejects_path(output: Path) -> Path:
    """Return where the rejected dialogues of an output file go: ``D.rejects.jsonl`` for ``D.jsonl``."""
    return output.with_name(f"{output.stem}.rejects{output.suffix or '.jsonl'}")


def make_dialogues(job: Generation, output: Path, start: Start, *, on_dialogue: Step = lambda: None) -> Made:
    """Generate dialogues into a JSONL file, and the rejected ones into another beside it.

    Args:
        job: what to generate.
        output: the file to write.
        start: how the job is started.
        on_dialogue: called after each dialogue.

    Raises:
        UsageError: the output exists and neither ``resume`` nor ``fresh`` was asked for.
        CheckpointError: the output is of another job, or there is an unfinished run and neither was asked for.
        StoppedError: Ctrl-C or a limit. ModelError: the model cannot be used at all.
    """
    fingerprint = job.fingerprint()
    if already_made(output, fingerprint, start):
        return Made(before=True)
    with paying(job, start) as work:
        check_writable(output.parent)
        made = generate(job, work, on_dialogue)
        write_dialogues(job, made, output, rejects_path(output))
        work.unfinished = bool(made.failed)
    return made


def generate(job: Generation, work: PaidJob, on_dialogue: Step) -> Made:
    """Generate the dialogues of a job, in the order of its plans."""
    speaker = Speaker(
        program=Converse(),
        lm=connect(job.model, work.contexts["generator"], "generator"),
        adapter=job.adapter,
        concurrency=job.concurrency,
    )
    found = converse(speaker, job.plans, attempts=job.attempts, on_done=on_dialogue)
    by = {
        status: tuple(one for one in found if one.status == status)
        for status in ("kept", "rejected", "failed")
    }
    return Made(kept=by["kept"], rejected=by["rejected"], failed=by["failed"], spend=work.ledger.to_json())


def write_dialogues(job: Generation, made: Made, output: Path, rejects: Path) -> None:
    """Write the kept dialogues into one file and the others, if any, into another."""
    stamp = job.stamp()
    write_jsonl((one.to_json(stamp) for one in made.kept), output)
    unusable = [*made.rejected, *made.failed]
    if unusable:
        write_jsonl((one.to_json(stamp) for one in unusable), rejects)
    else:
        rejects.unlink(missing_ok=True)  # of an earlier start of this job


def already_made(output: Path, fingerprint: Mapping[str, Any], start: Start) -> bool:
    """Say whether the output is that of this very job, finished; refuse what would overwrite other work."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    if not output.exists():
        return False
    if not start.resume and not start.fresh:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another output")
    if _job_of(output) != job_id(fingerprint):
        raise CheckpointError(f"{output} is the output of another job", hint="name another output")
    unfinished = start.root is not None and Checkpoint.at(start.root, fingerprint).folder.exists()
    return not start.fresh and not unfinished


def _job_of(output: Path) -> str | None:
    try:
        text = output.read_text(encoding="utf-8")
        if not text and output.suffix != ".json":  # every dialogue was rejected
            text = rejects_path(output).read_text(encoding="utf-8")
        row = json.loads(text if output.suffix == ".json" else text.split("\n", 1)[0])
        return str((row.get("provenance") or row.get("made") or {}).get("job"))
    except (OSError, ValueError, AttributeError):
        return None


def check_writable(folder: Path) -> None:
    """Find out before anything is paid."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", hint="name a folder that can be written") from error
