"""The two jobs that make things from documents: dialogues, and a labelled dataset of them.

Both pay, so both are described by a fingerprint, keep every paid answer in a checkpoint beside the user's
artifacts, and write their output only when all of it is there: it is the same however often they were interrupted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..engines.models import connect
from ..errors import CheckpointError, JuristError, UsageError
from ..loading import LoadedJudge
from ..programs.dialogue import Converse
from ..reading.writing import write_jsonl
from .answers import Answer, Labelled, answers_of, check_judge, label
from .dataset import write_dataset
from .dialogues import converse
from .dynamics import Dynamics
from .generation import Generation, Made, job_id
from .jobs import Job, Roles, Start, working
from .speaking import Speaker

__all__ = ["Dataset", "judge_print", "make_dataset", "make_dialogues", "rejects_path"]

Step = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """How the making of a dataset ended.

    Attributes:
        made: the dialogues.
        labelled: their answers, with labels.
        statistics, dynamics: as written.
    """

    made: Made
    labelled: tuple[Labelled, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)
    dynamics: Dynamics | None = None

    @property
    def failed(self) -> int:
        """Answers that the machinery did not label."""
        return sum(one.verdict is not None and one.verdict.status == "failed" for one in self.labelled)


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
    if _done(output, fingerprint, start):
        return Made(before=True)
    with working(Roles(names=("generator",), budget=job.budget, print=fingerprint), start) as work:
        _writable(output.parent)
        made = _dialogues(job, work, on_dialogue)
        _write_dialogues(job, made, output, rejects_path(output))
        work.unfinished = bool(made.failed)
    return made


def make_dataset(
    job: Generation,
    judge: LoadedJudge,
    folder: Path,
    start: Start,
    *,
    on_dialogue: Step = lambda: None,
    on_answer: Step = lambda: None,
    on_labelling: Callable[[int], None] = lambda answers: None,
) -> Dataset:
    """Generate dialogues, label every assistant turn, and write the folder that :mod:`.dataset` describes.

    Args:
        job: what to generate.
        judge: who labels; its samples and threshold are the paper's five and a majority unless others are set.
        folder: the folder to write.
        start, on_dialogue: as for :func:`make_dialogues`.
        on_answer: called after each labelled answer.
        on_labelling: called with the number of answers, before they are labelled.

    Raises:
        UsageError: the folder holds a dataset and neither was asked for, or the judge is of another kind.
        CheckpointError, StoppedError, ModelError: as for :func:`make_dialogues`.
        JuristError: no dialogue passed the checks.
    """
    check_judge(judge.judge)
    fingerprint = {**job.fingerprint(), "generate": "cognibench-l", "judge": judge_print(judge)}
    place = folder / "statistics.json"
    if (folder / "dialogues.json").exists() and not place.exists():
        raise UsageError(f"{folder} holds dialogues that are not ours", hint="name another folder")
    if _done(place, fingerprint, start):
        return _made_before(folder)
    roles = Roles(names=("generator", "judge"), budget=job.budget, print=fingerprint)
    with working(roles, start) as work:
        _writable(folder)
        made = _dialogues(job, work, on_dialogue)
        _write_dialogues(job, made, folder / "dialogues.jsonl", folder / "rejects.jsonl")
        answers = _answers(job, made)
        on_labelling(len(answers))
        labelled = tuple(label(replace(judge, desk=work.desk("judge")), answers, on_answer))
        lost = sum(one.verdict is not None and one.verdict.status == "failed" for one in labelled)
        about = {**_about(job, judge, made), "answers_failed": lost, "job": job_id(fingerprint)}
        described, moving = write_dataset(
            folder, labelled, about=about, positive=judge.judge.positive, seed=job.seed
        )
        result = Dataset(
            made=replace(made, spend=work.ledger.to_json()),
            labelled=labelled,
            statistics=described,
            dynamics=moving,
        )
        work.unfinished = bool(made.failed or result.failed)
    return result


def _about(job: Generation, judge: LoadedJudge, made: Made) -> dict[str, Any]:
    return {
        "generator": job.model.name,
        "judge": judge.name,
        "judge_model": judge.model.name,
        "strictness": judge.judge.strictness,
        "samples": judge.sampling.samples,
        "threshold": judge.sampling.needed,
        "seed": job.seed,
        "dialogues_rejected": len(made.rejected),
        "dialogues_failed": len(made.failed),
    }


def _made_before(folder: Path) -> Dataset:
    """Return a finished dataset from its files.

    Raises:
        UsageError: one of them was damaged since.
    """
    try:
        statistics, moving = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in ("statistics.json", "dynamics.json")
        )
        return Dataset(made=Made(before=True), statistics=statistics, dynamics=Dynamics.of_json(moving))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{folder}/dynamics.json cannot be read: {error}", hint="--fresh makes the folder again"
        ) from error


def judge_print(judge: LoadedJudge) -> dict[str, Any]:
    """Return what makes labels those of this judge, as JSON values."""
    return {
        **judge.stamp(),
        "prompt": judge.state.id,
        "adapter": judge.adapter,
        "api_base": judge.model.public_base,
        "max_tokens": judge.model.max_tokens,
        "seed": judge.model.seed,
    }


def _dialogues(job: Generation, work: Job, on_dialogue: Step) -> Made:
    speaker = Speaker(
        program=Converse(),
        lm=connect(job.model, work.desk("generator"), "generator"),
        adapter=job.adapter,
        concurrency=job.concurrency,
    )
    found = converse(speaker, job.plans, attempts=job.attempts, on_done=on_dialogue)
    by = {
        status: tuple(one for one in found if one.status == status)
        for status in ("kept", "rejected", "failed")
    }
    return Made(kept=by["kept"], rejected=by["rejected"], failed=by["failed"], spend=work.ledger.to_json())


def _write_dialogues(job: Generation, made: Made, output: Path, rejects: Path) -> None:
    stamp = job.stamp()
    write_jsonl((one.to_json(stamp) for one in made.kept), output)
    unusable = [*made.rejected, *made.failed]
    if unusable:
        write_jsonl((one.to_json(stamp) for one in unusable), rejects)
    else:
        rejects.unlink(missing_ok=True)  # of an earlier start of this job


def _answers(job: Generation, made: Made) -> Sequence[Answer]:
    if not made.kept:
        reason = next(
            (one.reasons[-1] for one in (*made.rejected, *made.failed) if one.reasons), "there is no document"
        )
        raise JuristError(f"none of the dialogues can be used: {reason}", hint="see rejects.jsonl")
    return [answer for one in made.kept for answer in answers_of(one.to_json({}))]


def _done(output: Path, fingerprint: Mapping[str, Any], start: Start) -> bool:
    """Say whether the output is that of this very job, finished; refuse what would overwrite other work."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name a file")
    if not output.exists():
        return False
    if not start.resume and not start.fresh:
        raise UsageError(f"{output} exists", hint="add --resume to continue it, or name another output")
    if _job_of(output) != job_id(fingerprint):
        raise CheckpointError(f"{output} is the output of another job", hint="name another output")
    return not start.fresh and not _checkpoint(start.root, fingerprint).exists()


def _checkpoint(root: Path, fingerprint: Mapping[str, Any]) -> Path:
    text = json.dumps(fingerprint, sort_keys=True, ensure_ascii=False, indent=2)
    return root / hashlib.sha256(text.encode()).hexdigest()[:16]


def _job_of(output: Path) -> str | None:
    try:
        text = output.read_text(encoding="utf-8")
        if not text and output.suffix != ".json":  # every dialogue was rejected
            text = rejects_path(output).read_text(encoding="utf-8")
        row = json.loads(text if output.suffix == ".json" else text.split("\n", 1)[0])
        return str((row.get("provenance") or row.get("made") or {}).get("job"))
    except (OSError, ValueError, AttributeError):
        return None


def _writable(folder: Path) -> None:
    """Find out before anything is paid."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}", hint="name a folder that can be written") from error
