"""``jurist table cognibench-3``: detectors of hallucinated sentences side by side."""

from collections.abc import Sequence

from ..arguments.scoring import DetectorOptions
from ..engines.meter import Budget
from ..engines.models import RECORDED
from ..gold.goldset import Gold
from ..keeping.loading import LoadedJudge
from ..papers.cognibench.detection import Detectors, recorded_detector
from ..programs.cognibench import COGNIBENCH, STRICTNESS
from ..report.scores import OFFLINE, spend_line
from .inputs import gold_of, judge_of, models_of, store_of
from .printing import Part, Result, write_json
from .terminal import Terminal

_DETECTORS = ("cognibench:basic", "detector:basic")


class _Below(Terminal):
    """The terminal of a table, which has what should be known below it."""

    def notes(self, work: Detectors) -> Sequence[str]:
        """Return nothing."""
        return ()


def three(options: DetectorOptions) -> Result:
    """Return CogniBench's Table 3."""
    gold = gold_of(options.gold, COGNIBENCH, options)
    names = options.detectors or _DETECTORS
    work = Detectors(
        contenders=tuple(one for name in names for one in _contenders(options, name, gold)),
        gold=gold,
        strictness=options.strictness or STRICTNESS,
        budget=Budget.of(options),
        seed=options.seed,
    )
    terminal = _Below(options)
    with terminal.asking(work, "asking") as (job, step):
        made = work.detection(job, step)
        data = {**made.to_json(), "forecast": terminal.forecast, "spent": job.spend()}
        write_json(data, options.output)
    warnings = dict.fromkeys(text for test in made.tests for text in test.warnings)
    body: list[Part] = [
        *made.sheets(),
        *made.notes,
        *(test.words for test in made.tests),
        *(f"warning: {warning}" for warning in warnings),
        spend_line(data["spent"]),
        *([OFFLINE] if all(line.model == "offline" for line in made.lines) else []),
    ]
    return Result(data=data, body=body)


def _contenders(options: DetectorOptions, reference: str, gold: Gold) -> list[LoadedJudge]:
    """Return a detector with each model, or the verdicts of a log; strictness goes to those that have tiers."""
    if reference.startswith(RECORDED):
        return [recorded_detector(reference, gold)]
    store, model = store_of(options), options.names[0]
    judge = judge_of(reference, options, store, model, strictness=None)
    if judge.judge.answer.levels:
        judge = judge_of(reference, options, store, model, strictness=options.strictness or STRICTNESS)
    return judge.on(models_of(options))
