"""``jurist evaluate``, ``compare``, ``gate`` and ``harden``: what Python does on gold, asked about and printed.

So is CogniBench's Table 3, ``jurist table cognibench-3``: detectors of hallucinated sentences side by side.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..api import cascade as choose_cascade
from ..api import compare as compare_judges
from ..api import evaluate as evaluate_judge
from ..api import gate as gate_judge
from ..api import harden as harden_judge
from ..arguments.groups import JUDGE_OPTIONS, ScoringOptions
from ..arguments.scoring import (
    CascadeOptions,
    CompareOptions,
    DetectorOptions,
    EvaluateOptions,
    GateOptions,
    HardenOptions,
)
from ..engines.meter import Budget
from ..engines.models import OFFLINE as OFFLINE_MODEL
from ..engines.models import Model
from ..evaluation.paired import wide
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..jobs.cascading import with_models
from ..jobs.experiment import Answers, Experiment
from ..jobs.hardening import Hardening, suite
from ..keeping.artifact_card import Artifact
from ..keeping.card_parts import CascadeFound
from ..keeping.contenders import Contender
from ..keeping.loading import LoadedJudge
from ..keeping.logs import LogReference, is_log
from ..keeping.paying import PaidJob
from ..keeping.records import RobustnessRecord
from ..papers.cognibench.detection import Detectors, recorded_detector
from ..programs.cognibench import COGNIBENCH, STRICTNESS
from ..report.scores import (
    OFFLINE,
    ceiling_card,
    ceiling_line,
    joint_spend_line,
    robustness_about,
    robustness_table,
    rows_words,
    spend_in,
    spend_line,
)
from ..report.table import table
from ..report.verdict import VerdictCard, comparison_card, evaluation_card, too_few
from ..report.views import cascade_parts, cascade_price, comparison_parts, evaluation_parts
from .inputs import gold_of, judge_of, models_of, store_of, store_option, verifier_model
from .printing import Part, Result, remark, write_json
from .terminal import Terminal


class _Scoring(Terminal):
    """The terminal of a command on gold: the estimate, the question, and the result written before it is printed."""

    def __init__(self, options: ScoringOptions, *, compares: bool = False) -> None:
        super().__init__(options)
        self.data: dict[str, Any] = {}
        self.rises: bool | None = None  # whether more of the first judge's metric is better
        self.line = ""  # the human ceiling, in words
        self.artifact: Artifact | None = None  # the one that was attacked
        self._scoring, self._compares = options, compares

    def note(self, *notes: str) -> None:
        """Leave it to :meth:`asking`, which says it below the estimate."""

    def notes(self, work: Experiment) -> Sequence[str]:
        """Return what a user should know before it is asked, and what the gold can show at all."""
        notes = list(dict.fromkeys(contender.note for contender in work.contenders if contender.note))
        if isinstance(work, Hardening):
            return notes
        many, groups = len(work.contenders), len({case.group for case in work.cases})
        # of repeats, no unit is simply right or wrong
        tests = many - 1 if self._compares and work.repeats == 1 else 0
        limits = [wide(groups)] if many == 1 else work.look.limits(work.cases, work.scored.comparison, tests)
        return [line for line in (*notes, work.look.words, *limits) if line]

    def keep(self, job: PaidJob, work: Experiment, result: Any, answers: Sequence[Answers]) -> None:
        """Write what ``--output`` asks for, with what is said beside the result."""
        self.data = {**result.to_json(), "forecast": self.forecast}
        if isinstance(work, Hardening):
            self.data["spend"], self.artifact = job.spend(), work.judge.artifact
        if self._compares:
            ceiling = ceiling_of(work.gold, only=rated_in_test(work.gold, {case.id for case in work.cases}))
            self.line = ceiling_line(ceiling)
            self.data["ceiling"] = ceiling and ceiling_card(ceiling)
        metric = answers[0].judge.judge.comparison.metrics.get(self.data.get("metric", ""))
        self.rises = metric.higher_is_better if metric else None
        write_json(self.data, self._scoring.output)


def _asking(options: ScoringOptions, terminal: Terminal) -> dict[str, Any]:
    """Return what every one of these functions of Python takes alike."""
    names = ("gold", "samples", "threshold", "concurrency", *JUDGE_OPTIONS, "adapter")
    return {
        **{name: getattr(options, name) for name in names},
        "verifier": verifier_model(options, options.timeout, options.seed),
        "redraws": options.redraw,
        "budget": Budget.of(options),
        "surface": terminal,
    }


def evaluate(options: EvaluateOptions) -> Result:
    """Score one judge on gold."""
    terminal = _Scoring(options)
    model = Model.of(options, name=options.model)
    evaluate_judge(options.judge, model=model, **_asking(options, terminal))
    data = terminal.data
    detailed = evaluation_parts(data)
    then = _after(options, data, terminal.rises)
    card = evaluation_card(data, then=then, whole=options.whole)
    short = [] if too_few(data) else detailed[:1]
    return Result(
        data=data,
        body=[*(_above(card, detailed) if options.whole else short), card],
        notes=[card.decision] if too_few(data) else [],
        code=3 if too_few(data) else 0,
    )


def _above(card: VerdictCard, parts: Sequence[Part]) -> list[Part]:
    """Return the parts that the card does not repeat."""
    return [part for part in parts if part not in card.plain]


def _after(options: EvaluateOptions, data: Mapping[str, Any], rises: bool | None) -> str:
    """Return the command that is mostly next: compile what is a basic prompt, and gate what is not."""
    if too_few(data):
        return "next: try --adapter json or a larger --model; --json has what each reply said"
    judge, same = shlex.quote(options.judge.removesuffix(":basic")), _same(options)
    if data["judge"].endswith(":basic"):
        return f"next: jurist compile {judge} {same}"
    least = "min" if rises else "max"
    return f"next: jurist gate {judge} {same} --{least} {data['metric']}=LIMIT"


def _same(options: EvaluateOptions | GateOptions) -> str:
    """Return the options by which another command reads the same rows, and asks the same model."""
    model = None if options.model == OFFLINE_MODEL else options.model
    options_given = [
        *(("--gold", options.gold), ("--rejects", options.rejects)),
        *(("--column", "=".join(pair)) for pair in options.columns),
        *(("--map", "=".join(pair)) for pair in options.labels),
        *(("--model", model), ("--api-base", options.api_base), ("--api-key-env", options.key_env)),
        ("--store", options.store),
    ]
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in options_given if value)


def compare(options: CompareOptions) -> Result:
    """Compare judges on gold."""
    terminal = _Scoring(options, compares=True)
    compare_judges(
        options.judges,
        models=models_of(options),
        repeats=options.repeats,
        seed=options.seed,
        **_asking(options, terminal),
    )
    notes = [terminal.line] if terminal.line else []
    then = "" if options.whole else "next: --verbose has every metric and test; --output F.json keeps them"
    card = comparison_card(terminal.data, [] if options.whole else notes, then)
    detailed = comparison_parts(terminal.data, *notes) if options.whole else []
    return Result(data=terminal.data, body=[*_above(card, detailed), card])


def cascade(options: CascadeOptions) -> Result:
    """Choose a cascade on gold; exit code 3 if none was shown to agree enough."""
    terminal = _Scoring(options)
    loaded: list[LoadedJudge | LogReference] = []
    for name in options.judges:
        if is_log(name):
            loaded.append(LogReference.of(name, options.threshold))
        else:
            loaded.append(judge_of(name, options, terminal.store, OFFLINE_MODEL))
    cascaded = choose_cascade(
        with_models(
            loaded,
            [Model.of(options, name=name) for name in options.models],
            Model.of(options, api_base=None),
        ),
        agree=options.agree,
        risk=options.risk,
        gold=options.gold,
        budget=Budget.of(options),
        surface=terminal,
        seed=options.seed,
    )
    data = terminal.data
    found = CascadeFound.model_validate(data)
    parts = cascade_parts(found)
    gold, ref = shlex.quote(options.gold), cascaded.artifact.ref if cascaded.artifact else ""
    logs = [name for name in options.judges if name.startswith("recorded:")]
    then = ""
    if ref:
        then = f"next: jurist run {ref} --input new.csv --output judged.jsonl{store_option(options)}"
    if logs and cascaded.chosen:
        then = f"{logs[0]} answers no new row: name that judge in its place, and the cascade is kept"
    elif not cascaded.chosen:
        then = "next: label more rows, or ask for less: --agree, --risk"
        if cascaded.opening:
            then += f"; rows that nobody opened yet tell more than {gold}, whose test was opened before"
    card = VerdictCard(
        tone="good" if cascaded.chosen else "open",
        decision=f"{ref}: {cascaded.words}" if ref else cascaded.words,
        parts=[
            *(parts if options.whole else [*parts[:1], cascade_price(found)]),
            joint_spend_line(data["spends"]),
            then,
            OFFLINE if all(judge["model"] == OFFLINE_MODEL for judge in data["judges"]) else "",
        ],
    )
    return Result(data=data, body=[card], code=0 if cascaded.chosen else 3)


def gate(options: GateOptions) -> Result:
    """Hold a judge against limits and another version: exit code 3 if it fails, 1 if the rows cannot tell."""
    terminal, other = _Scoring(options), options.not_worse_than
    if other is not None and other.startswith(("@", ":")):
        other = options.judge.partition("@")[0].removesuffix(":basic") + other
    gated = gate_judge(
        options.judge,
        model=Model.of(options, name=options.model),
        minimum=options.minimum,
        maximum=options.maximum,
        not_worse_than=other,
        margin=options.margin,
        sure=options.sure,
        max_unusable=options.max_unusable,
        at_least=options.at_least,
        seed=options.seed,
        **_asking(options, terminal),
    )
    rows = []
    for check in gated.checks:
        mark = "pass" if check.passed else "?" if check.undecided else "FAIL"
        rows.append([mark, check.name, check.words])
    code = 0
    if not gated.passed:
        code = 1 if gated.undecided else 3
    then = f"next: jurist evaluate {shlex.quote(options.judge)} {_same(options)} --verbose"
    card = VerdictCard(
        tone="good" if gated.passed else "open" if gated.undecided else "bad",
        decision=gated.decision,
        parts=[
            table("", ["", "check", "found"], rows),
            rows_words(terminal.data["comparison"]),
            "" if gated.passed else f"{then} (what it gets wrong)",
            OFFLINE if all(one.model == OFFLINE_MODEL for one in gated.comparison.contenders) else "",
        ],
    )
    detailed = comparison_parts(terminal.data["comparison"]) if options.whole else []
    return Result(data=terminal.data, body=[*detailed, card], code=code)


def harden(options: HardenOptions) -> Result:
    """Attack a judge, and keep how often its answer changed."""
    terminal = _Scoring(options)
    held = harden_judge(
        options.judge,
        only=options.only,
        cases=options.cases,
        field=options.field,
        model=Model.of(options, name=options.model),
        **_asking(options, terminal),
    )
    kept, worst = terminal.artifact, held.worst
    measured = RobustnessRecord.model_validate(held.to_json())
    if kept is None:
        remark(f"{held.judge} is no artifact, so that the figures are kept nowhere; --output F writes them")
    else:
        remark(f"kept beside the card of {kept.ref}")
    finds = next(attack.finds for attack in suite() if attack.name == worst.name)
    moved = f"; a judge that it moves {finds}" if worst.flips.flipped and finds else ""
    body: list[Part] = [
        robustness_table(measured, f"{held.judge}, {robustness_about(measured)}"),
        f"worst: {worst.words}{moved}; the control, which is no attack: {held.found[0].words}",
        spend_line(spend_in(terminal.data["spend"])),
        *([OFFLINE] if held.model == "offline" else []),
    ]
    return Result(data=terminal.data, body=body)


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
        contenders=tuple(contender for name in names for contender in _contenders(options, name, gold)),
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
        spend_line(spend_in(data["spent"])),
        *([OFFLINE] if all(line.model == "offline" for line in made.lines) else []),
    ]
    return Result(data=data, body=body)


def _contenders(options: DetectorOptions, reference: str, gold: Gold) -> Sequence[Contender]:
    """Return a detector with each model, or the verdicts of a log; strictness goes to those that have it."""
    if is_log(reference):
        return [recorded_detector(reference, gold)]
    store, model = store_of(options), options.names[0]
    judge = judge_of(reference, options, store, model, strictness=None)
    if "strictness" in judge.judge.options:
        judge = judge_of(reference, options, store, model, strictness=options.strictness or STRICTNESS)
    return judge.on(models_of(options))
