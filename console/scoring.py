"""``jurist evaluate``, ``compare``, ``gate`` and ``harden``: what Python does on gold, asked about and printed.

So is CogniBench's Table 3, ``jurist table cognibench-3``: detectors of hallucinated sentences side by side.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments.compile import CompileOptions
from ..arguments.groups import ScoringOptions
from ..arguments.scoring import (
    CascadeOptions,
    CompareOptions,
    DetectorOptions,
    EvaluateOptions,
    GateOptions,
    HardenOptions,
)
from ..engines.meter import Budget
from ..engines.models import OFFLINE
from ..errors import JuristError
from ..evaluation.paired import wide
from ..gold.goldset import Gold
from ..gold.raters import ceiling_of, rated_in_test
from ..gold.writing import check_files
from ..jobs.cascading import Cascade
from ..jobs.experiment import Answers, Experiment
from ..jobs.gating import Gate, check_table
from ..jobs.hardening import Hardening, load_attacks
from ..jobs.judges import share_model
from ..jobs.scoring import cascade, compare, evaluate, gate, harden
from ..keeping.artifact_card import Artifact
from ..keeping.card_parts import CascadeFound
from ..keeping.contenders import Contender
from ..keeping.logs import is_log
from ..keeping.paying import PaidJob
from ..keeping.records import RobustnessRecord
from ..papers.cognibench.detection import Detectors, recorded_detector
from ..papers.cognibench.detectors_table import DETECTORS, measure_detectors
from ..programs.cognibench import COGNIBENCH, STRICTNESS
from ..programs.options import JUDGE_OPTIONS
from ..report.by_column import column_tables, scores_by_name
from ..report.document import Tone
from ..report.junit import CheckOutcome, CheckResult, junit_xml
from ..report.scores import (
    OFFLINE_LINE,
    ceiling_card,
    ceiling_line,
    joint_spend_line,
    robustness_about,
    robustness_table,
    rows_words,
    spend_in,
    spend_line,
)
from ..report.table import Table
from ..report.verdict import VerdictCard, comparison_card, evaluation_card, has_too_few_answers
from ..report.views import (
    cascade_judges,
    cascade_levels,
    comparison_parts,
    comparison_scores,
    evaluation_parts,
)
from .inputs import (
    answering_model,
    judge_of,
    models_of,
    options_again,
    panel_of,
    store_option,
    verifier_model,
)
from .printing import Part, Result, print_notes, result_stream, result_text, write_json, write_text
from .rows import gold_of, store_of
from .terminal import Terminal


class _Scoring(Terminal):
    """The terminal of a command on gold: the estimate, the question, and the result written before it is printed."""

    def __init__(self, options: ScoringOptions, *, compares: bool = False) -> None:
        super().__init__(options)
        self.data: dict[str, Any] = {}
        self.rises: bool | None = None  # whether more of the first judge's metric is better
        self.line = ""  # the human ceiling, in words
        self.artifact: Artifact | None = None  # the one that was attacked
        self._scoring = options
        self._compares = compares

    def note(self, *notes: str) -> None:
        """Say nothing yet: :meth:`asking` says the notes below the estimate."""

    def notes(self, work: Experiment) -> Sequence[str]:
        """Return notes on the judges, and on the smallest differences that the gold can show."""
        notes: list[str] = []
        for contender in work.contenders:
            if contender.note and contender.note not in notes:
                notes.append(contender.note)
        if isinstance(work, Hardening):
            return notes
        if work.opening.words:
            notes.append(work.opening.words)
        if len(work.contenders) == 1:
            groups = {case.group for case in work.cases}
            limits: Sequence[str] = [wide(len(groups))]
        else:
            # Of repeated answers, no unit is simply right or wrong, and nothing is tested.
            is_tested = self._compares and work.repeats == 1
            tests = len(work.contenders) - 1 if is_tested else 0
            limits = work.opening.limits(work.cases, work.scored, tests)
        notes.extend(limit for limit in limits if limit)
        return notes

    def keep(self, job: PaidJob, work: Experiment, result: Any, answers: Sequence[Answers]) -> None:
        """Write the file of ``--output``: the result, its forecast, and the human ceiling of a comparison."""
        self.data = dict(result.to_json())
        self.data["forecast"] = self.forecast
        if isinstance(work, Hardening):
            self.data["spend"] = job.spend()
            self.artifact = work.judge.artifact
        if self._compares:
            rated = rated_in_test(work.gold, {case.id for case in work.cases})
            ceiling = ceiling_of(work.gold, only=rated)
            self.line = ceiling_line(ceiling)
            self.data["ceiling"] = None
            if ceiling is not None:
                self.data["ceiling"] = ceiling_card(ceiling)
        metric = answers[0].judge.judge.comparison.metrics.get(self.data.get("metric", ""))
        if metric is not None:
            self.rises = metric.higher_is_better
        write_json(self.data, self._scoring.output)


def _asking(options: ScoringOptions, terminal: Terminal) -> dict[str, Any]:
    """Return the arguments that all functions of :mod:`jurist.jobs.scoring` take alike."""
    arguments: dict[str, Any] = {
        "gold": options.gold,
        "samples": options.samples,
        "threshold": options.threshold,
        "combine": options.combine,
        "concurrency": options.concurrency,
        "adapter": options.adapter,
        "verifier": verifier_model(options, options.timeout, options.seed),
        "verifiers": options.verifiers or None,
        "redraws": options.redraw,
        "budget": Budget.of(options),
        "surface": terminal,
    }
    for name in JUDGE_OPTIONS:
        arguments[name] = getattr(options, name)
    return arguments


def evaluate_command(options: EvaluateOptions) -> Result:
    """Score one judge on gold."""
    terminal = _Scoring(options)
    model = answering_model(options)
    evaluate(options.judge, model=model, by=options.by, **_asking(options, terminal))
    data = terminal.data
    detailed_parts = evaluation_parts(data)
    next_step = _next_step(options, data, terminal.rises)
    card = evaluation_card(data, next_step=next_step, is_full=options.verbose)
    is_unscored = has_too_few_answers(data)
    body: list[Part] = []
    if options.verbose:
        body.extend(_parts_beside(card, detailed_parts))
    elif not is_unscored:
        body.extend(detailed_parts[:1])
        body.extend(column_tables(scores_by_name(data)))
    body.append(card)
    if is_unscored:
        return Result(data=data, body=body, notes=[card.decision], code=3)
    return Result(data=data, body=body)


def _parts_beside(card: VerdictCard, parts: Sequence[Part]) -> list[Part]:
    """Return the parts that the card does not repeat."""
    return [part for part in parts if part not in card.plain]


def _next_step(options: EvaluateOptions, data: Mapping[str, Any], rises: bool | None) -> str:
    """Return the command that is mostly next: a compilation of a basic prompt, a gate for a compiled judge."""
    if has_too_few_answers(data):
        return "next: try --adapter json or a larger --model; --json has what each reply said"
    judge = shlex.quote(options.judge.removesuffix(":basic"))
    if data["judge"].endswith(":basic"):
        return f"next: jurist compile {judge} {options_again(options, CompileOptions)}"
    row_options = options_again(options, GateOptions)
    limit = "min" if rises else "max"
    return f"next: jurist gate {judge} {row_options} --{limit} {data['metric']}=LIMIT"


def compare_command(options: CompareOptions) -> Result:
    """Compare judges on gold."""
    terminal = _Scoring(options, compares=True)
    models = models_of(options)
    if options.panel:
        models = [panel_of(options, bool(options.models))]
    compare(
        options.judges,
        models=models,
        repeats=options.repeats,
        by=options.by,
        seed=options.seed,
        **_asking(options, terminal),
    )
    notes = [terminal.line] if terminal.line else []
    if options.verbose:
        card = comparison_card(terminal.data, [], "")
        body = _parts_beside(card, comparison_parts(terminal.data, *notes))
        body.append(card)
        return Result(data=terminal.data, body=body)
    judges = " ".join(map(shlex.quote, options.judges))
    again = options_again(options, CompareOptions)
    next_step = f"next: jurist compare {judges} {again} --verbose (every metric and test)"
    card = comparison_card(terminal.data, notes, next_step)
    tables: list[Part] = []
    if options.repeats > 1:  # asked for their spread, which the card does not show
        tables.extend(comparison_scores(terminal.data))
    tables.extend(column_tables(scores_by_name(terminal.data)))
    return Result(data=terminal.data, body=[*tables, card])


def cascade_command(options: CascadeOptions) -> Result:
    """Choose a cascade on gold; exit code 3 if none was shown to agree enough."""
    terminal = _Scoring(options)
    cascaded = cascade(
        options.judges,
        models=models_of(options),
        agree=options.agree,
        risk=options.risk,
        seed=options.seed,
        **_asking(options, terminal),
    )
    data = terminal.data
    decision = cascaded.words
    if cascaded.artifact is not None:
        decision = f"{cascaded.artifact.ref}: {decision}"
    search = CascadeFound.model_validate(data)
    parts = cascade_judges(search)
    if options.verbose:
        parts += cascade_levels(search)
    parts.append(joint_spend_line(data["spends"]))
    parts.append(_step_after_cascade(options, cascaded))
    if all(judge["model"] == OFFLINE for judge in data["judges"]):
        parts.append(OFFLINE_LINE)
    if cascaded.chosen:
        return Result(data=data, body=[VerdictCard(tone="good", decision=decision, parts=parts)])
    return Result(data=data, body=[VerdictCard(tone="open", decision=decision, parts=parts)], code=3)


def _step_after_cascade(options: CascadeOptions, cascaded: Cascade) -> str:
    """Return the next step after a cascade was chosen, or none was; may be empty."""
    if not cascaded.chosen:
        step = "next: label more rows, or ask for less: --agree, --risk"
        if cascaded.opening:
            gold = shlex.quote(options.gold)
            step += f"; rows that nobody opened yet tell more than {gold}, whose test was opened before"
        return step
    for name in options.judges:
        if is_log(name):
            return f"{name} answers no new row: name that judge in its place, and the cascade is kept"
    if cascaded.artifact is None:
        return ""
    store = store_option(options)
    return f"next: jurist run {cascaded.artifact.ref} --input new.csv --output judged.jsonl{store}"


def gate_command(options: GateOptions) -> Result:
    """Hold a judge against limits and another version: exit code 3 if it fails, 1 if the rows cannot tell."""
    terminal = _Scoring(options)
    check_files(options.junit)
    started_at = time.monotonic()
    try:
        gated = _gated(options, terminal)
    except JuristError as error:
        # Without it a report of an earlier gate would stand for this one.
        unknown = CheckResult(name="the gate can run", outcome="undecided", words=str(error))
        _write_junit(options, [unknown], str(error), started_at)
        if options.markdown:  # whoever reads the comment on a request learns why there is no card
            reason = f"the gate of {options.judge} could not run: {error}"
            result_stream().write(result_text(Result(data={}, body=[reason]), options))
        raise
    _write_junit(options, _check_results(gated), gated.decision, started_at)
    tone: Tone = "bad"
    code = 3
    if gated.passed:
        tone = "good"
        code = 0
    elif gated.undecided:
        tone = "open"
        code = 1
    parts: list[Table | str] = [check_table(gated.checks), rows_words(terminal.data["comparison"])]
    if not gated.passed:
        row_options = options_again(options, EvaluateOptions)
        command = f"jurist evaluate {shlex.quote(options.judge)} {row_options} --verbose"
        parts.append(f"next: {command} (what it gets wrong)")
    if all(contender.model == OFFLINE for contender in gated.comparison.contenders):
        parts.append(OFFLINE_LINE)
    card = VerdictCard(tone=tone, decision=gated.decision, parts=parts)
    body: list[Part] = []
    if options.verbose:
        body.extend(comparison_parts(terminal.data["comparison"]))
    body.append(card)
    return Result(data=terminal.data, body=body, code=code)


def _gated(options: GateOptions, terminal: Terminal) -> Gate:
    """Return the result of a gate."""
    rival = options.not_worse_than
    if rival is not None and rival.startswith(("@", ":")):
        rival = options.judge.partition("@")[0].removesuffix(":basic") + rival
    return gate(
        options.judge,
        model=answering_model(options),
        minimum=options.minimum,
        maximum=options.maximum,
        not_worse_than=rival,
        margin=options.margin,
        sure=options.sure,
        max_unusable=options.max_unusable,
        at_least=options.at_least,
        seed=options.seed,
        **_asking(options, terminal),
    )


def _check_results(gated: Gate) -> list[CheckResult]:
    """Return the checks of a gate for its JUnit report."""
    results = []
    for check in gated.checks:
        outcome: CheckOutcome = "failed"
        if check.passed:
            outcome = "passed"
        elif check.undecided:
            outcome = "undecided"
        results.append(CheckResult(name=check.name, outcome=outcome, words=check.words))
    return results


def _write_junit(
    options: GateOptions, checks: Sequence[CheckResult], decision: str, started_at: float
) -> None:
    """Write the JUnit report of ``--junit``, if it is asked for."""
    if options.junit is None:
        return
    seconds = time.monotonic() - started_at
    suite = f"jurist gate {options.judge}"
    write_text(junit_xml(suite, checks, decision=decision, seconds=seconds), options.junit)


def harden_command(options: HardenOptions) -> Result:
    """Attack a judge, and keep how often its answer changed."""
    terminal = _Scoring(options)
    hardened = harden(
        options.judge,
        only=options.only,
        cases=options.cases,
        field=options.field,
        model=answering_model(options),
        **_asking(options, terminal),
    )
    if terminal.artifact is None:
        print_notes(
            f"{hardened.judge} is no artifact, so that the figures are kept nowhere; --output F writes them"
        )
    else:
        print_notes(f"kept beside the card of {terminal.artifact.ref}")

    worst = hardened.worst
    worst_words = f"worst: {worst.words}"
    for attack in load_attacks():
        if attack.name == worst.name and worst.flips.flipped and attack.finds:
            worst_words += f"; a judge that it moves {attack.finds}"
    control = hardened.found[0]
    record = RobustnessRecord.model_validate(hardened.to_json())
    body: list[Part] = [
        robustness_table(record, f"{hardened.judge}, {robustness_about(record)}"),
        f"{worst_words}; the control, which is no attack: {control.words}",
        spend_line(spend_in(terminal.data["spend"])),
    ]
    if hardened.model == OFFLINE:
        body.append(OFFLINE_LINE)
    return Result(data=terminal.data, body=body)


class _QuietTerminal(Terminal):
    """The terminal of a table that has its notes below it."""

    def notes(self, work: Detectors) -> Sequence[str]:
        """Return nothing."""
        return ()


def detectors_command(options: DetectorOptions) -> Result:
    """Measure detectors as CogniBench's Table 3 does."""
    gold = gold_of(options.gold, COGNIBENCH, options)
    contenders: list[Contender] = []
    for name in options.detectors or DETECTORS:
        contenders += _detector_contenders(options, name, gold)
    terminal = _QuietTerminal(options)
    work = Detectors(
        contenders=tuple(share_model(contenders, models_of(options)[0])),
        gold=gold,
        budget=Budget.of(options),
        strictness=options.strictness or STRICTNESS,
        seed=options.seed,
    )
    detection, job = measure_detectors(work, terminal)
    data = dict(detection.to_json())
    data["forecast"] = terminal.forecast
    data["spent"] = job.spend()
    write_json(data, options.output)

    body: list[Part] = list(detection.sheets())
    body.extend(detection.notes)
    warnings: list[str] = []
    for test in detection.tests:
        body.append(test.words)
        for warning in test.warnings:
            if warning not in warnings:
                warnings.append(warning)
    for warning in warnings:
        body.append(f"warning: {warning}")
    body.append(spend_line(spend_in(data["spent"])))
    if all(line.model == OFFLINE for line in detection.lines):
        body.append(OFFLINE_LINE)
    return Result(data=data, body=body)


def _detector_contenders(options: DetectorOptions, reference: str, gold: Gold) -> Sequence[Contender]:
    """Return a detector with each model, or the verdicts of a log; strictness goes to those that have it."""
    if is_log(reference):
        return [recorded_detector(reference, gold)]
    store = store_of(options)
    models = models_of(options)
    judge = judge_of(reference, options, store, models[0], strictness=None)
    if "strictness" in judge.judge.options:
        judge = judge_of(reference, options, store, models[0], strictness=options.strictness or STRICTNESS)
    print_notes(judge.own_model_words)
    return judge.on(models)
