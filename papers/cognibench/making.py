"""CogniBench-L: dialogues from documents, with every assistant turn labelled."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...engines.meter import Budget
from ...errors import JuristError, UsageError, why
from ...jobs.estimate import Estimate
from ...jobs.foresee import judging
from ...jobs.generation import Generated, Generation, already_made, check_writable, job_id, write_items
from ...keeping.loading import LoadedJudge
from ...keeping.paying import Start, paying
from ...programs.answers.infer import closed
from .dataset import write_dataset
from .dialogues import sampled_dialogues, turns_in
from .statistics import Dynamics
from .turns import AssistantTurn, check_judge, label

Step = Callable[[], None]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """How the making of a dataset ended."""

    made: Generated  # how the writing of the dialogues ended
    failed: int = 0  # answers that the machinery did not label. statistics, dynamics: as written
    statistics: Mapping[str, Any] = field(default_factory=dict)
    dynamics: Dynamics | None = None


@dataclass(frozen=True, kw_only=True)
class _DatasetWork:
    """The making of a dataset, as something to be paid for."""

    generation: Generation
    judge: LoadedJudge
    roles: tuple[str, ...] = ("generator", "judge")

    @property
    def budget(self) -> Budget:
        return self.generation.budget

    def fingerprint(self) -> dict[str, Any]:
        judge = self.judge.fingerprint()
        return {**self.generation.fingerprint(), "dataset": "cognibench-l", "judge": judge}


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
    """Generate dialogues, label every assistant turn, and write the folder that :mod:`.dataset` describes."""
    check_judge(judge.judge)
    work_of = _DatasetWork(generation=job, judge=judge)
    fingerprint = work_of.fingerprint()
    place = folder / "statistics.json"
    if (folder / "dialogues.json").exists() and not place.exists():
        raise UsageError(f"{folder} holds dialogues that are not ours", hint="name another folder")
    if already_made(place, fingerprint, start):
        return _made_before(folder)
    with paying(work_of, start) as work:
        check_writable(folder)
        paths = folder / "dialogues.jsonl", folder / "rejects.jsonl"
        made = write_items(job, work, *paths, lambda case, verdict: on_dialogue())
        answers = _answers(made, folder)
        on_labelling(len(answers))
        labelled = label(replace(judge, context=work.contexts["judge"]), answers, on_answer)
        failed = sum(one.verdict is not None and one.verdict.status == "failed" for one in labelled)
        about = {**_about(job, judge, made), "answers_failed": failed, "job": job_id(fingerprint)}
        described, moving = write_dataset(
            folder, labelled, about=about, positive=closed(judge.judge.answer).positive
        )
        work.unfinished = bool(made.failed or failed)
        made = replace(made, spend=work.ledger.to_json())
    return Dataset(made=made, failed=failed, statistics=described, dynamics=moving)


def foresee_dataset(job: Generation, judge: LoadedJudge) -> Estimate:
    """Estimate the writing of dialogues and the labelling of their answers. Sends nothing.

    If dialogues are rejected, there is less to label than the least that is given here.
    """
    made, answers = sampled_dialogues(job)
    cases = [judge.judge.case(answer.row()) for answer in answers if answer.sentences]
    turns = sum(case.inputs["turns"] for case in job.cases)
    return replace(made, asks=(*made.asks, judging(judge, turns, cases)))


def _about(job: Generation, judge: LoadedJudge, made: Generated) -> dict[str, Any]:
    return {
        "generator": job.loaded.model.name,
        "judge": judge.name,
        "judge_model": judge.model.name,
        "strictness": judge.judge.answer.strictness,
        "samples": judge.sampling.samples,
        "threshold": judge.sampling.needed,
        "seed": job.settings["seed"],
        "dialogues_rejected": made.rejected,
        "dialogues_failed": made.failed,
    }


def _made_before(folder: Path) -> Dataset:
    """Return a finished dataset from its files."""
    try:
        statistics, moving = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in ("statistics.json", "dynamics.json")
        )
        return Dataset(
            made=Generated(before=True),
            statistics=statistics,
            dynamics=Dynamics.of_json(moving),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{folder}/dynamics.json cannot be read: {why(error)}", hint="--fresh makes the folder again"
        ) from error


def _answers(made: Generated, folder: Path) -> Sequence[AssistantTurn]:
    if not made.kept:
        first = (folder / "rejects.jsonl").read_text(encoding="utf-8").partition("\n")[0]
        reason = next(reversed(json.loads(first or "{}").get("reasons") or ["there is no document"]))
        raise JuristError(f"none of the dialogues can be used: {reason}", hint="see rejects.jsonl")
    return list(turns_in(folder / "dialogues.jsonl"))
