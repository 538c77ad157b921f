"""How an assessment of models goes on the command line: the bar, the files, the exit code, and what is left to do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..arguments.generate import AssessOptions
from ..gold.writing import check_files, write_jsonl
from ..jobs.assessing import AssessedModels, assess, foresee_assessment
from ..report.scores import total_line
from .common import write_json
from .printing import Part, Result, remark
from .started import Started


class _OneModel(Protocol):
    """What is found of one model."""

    @property
    def model(self) -> str:
        """Its name."""

    @property
    def unusable(self) -> float:
        """The share of questions without a usable answer, 0 to 1."""

    @property
    def failed(self) -> int:
        """On how many questions the machinery failed."""


Found = TypeVar("Found", bound=_OneModel)


@dataclass(frozen=True)
class Assessments(Generic[Found]):
    """Who was assessed, what is found of each model, and as JSON values what was spent by purpose and foreseen."""

    work: AssessedModels[Found]
    found: list[Found]
    spend: dict[str, Any]
    forecast: dict[str, Any] | None


def assess_models(options: AssessOptions, work: AssessedModels[Found]) -> Assessments[Found]:
    """Assess every model, after the estimate and with a bar."""
    check_files(options.answers, options.output)
    if work.judge.note:
        remark(work.judge.note)
    steps = len(work.held_out) + (len(work.asked) + work.to_judge) * len(work.targets)
    with Started(options, [work.judge.model, *work.targets], lambda: foresee_assessment(work)) as begun:
        doing = "calibrating, answering, judging" if work.held_out else "answering, judging"
        start = begun.start(doing, steps)
        found, spend = assess(work, start, on_step=begun.step)
    return Assessments(work, found, spend, begun.forecast)


def assessed(
    options: AssessOptions,
    done: Assessments[Found],
    data: Mapping[str, Any],
    answers: Iterable[Mapping[str, Any]],
    body: Sequence[Part],
) -> Result:
    """Write the files that were asked for; exit code 3 if a model has too few usable answers."""
    judge = done.work.judge
    offline = judge.model.offline or any(model.offline for model in done.work.targets)
    ending = [
        total_line(done.spend),
        *(["engine: offline, a text-overlap scorer, not an LLM"] if offline else []),
    ]
    shown = {**data, "judge": judge.stamp(), "spend": done.spend, "forecast": done.forecast}
    if options.answers:
        write_jsonl(answers, options.answers)
    write_json(shown, options.output)
    notes = ["--resume asks again for what failed"] if any(one.failed for one in done.found) else []
    worst = max(done.found, key=lambda one: one.unusable)
    over = worst.unusable > options.max_unusable
    if over:
        share, allowed = f"{worst.unusable:.1%}", f"{options.max_unusable:.1%}"
        notes.append(
            f"{worst.model}: {share} of the questions have no usable answer; {allowed} are allowed (--max-unusable)"
        )
    return Result(data=shown, body=[*body, *ending], notes=notes, code=3 if over else 0)
