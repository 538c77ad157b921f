"""``jurist table cognibench-3``: detectors of hallucinated sentences side by side."""

from collections.abc import Mapping

from ..arguments.scoring import DetectorOptions
from ..engines.meter import Budget
from ..evaluation.contrasts import TEST
from ..evaluation.measured import Score
from ..keeping.artifacts import Store
from ..keeping.loading import LoadedJudge
from ..keeping.paying import paying
from ..papers.cognibench.detection import Kind, Line, Statistic, Weighting
from ..papers.cognibench.detection import Table as Detection
from ..papers.cognibench.detectors import Detectors
from ..programs.cognibench import COGNIBENCH, STRICTNESS
from ..report.scores import OFFLINE, spend_line
from ..report.table import Table, records, table
from ..report.views import decision_row
from ..signatures.cognibench import LABELS
from .inputs import gold_of, judge_of, models_of, start_of, store_of
from .printing import Part, Result, write_json
from .terminal import agree, progress

_DETECTORS = ("cognibench:basic", "detector:basic")
_KINDS: tuple[Kind, ...] = ("overall", "factual", "cognitive", "macro")
_STATISTICS: Mapping[Statistic, str] = {"precision": "P", "recall": "R", "f1": "F1"}
_EACH: Mapping[Weighting, str] = {"sentence": "sentences", "word": "words"}


def three(options: DetectorOptions) -> Result:
    """Return CogniBench's Table 3."""
    store = store_of(options)
    work = Detectors(
        contenders=tuple(
            contender
            for reference in options.detectors or _DETECTORS
            for contender in _contenders(options, reference, store)
        ),
        gold=gold_of(options.gold, COGNIBENCH, options),
        strictness=options.strictness or STRICTNESS,
        budget=Budget.of(options),
        seed=options.seed,
    )
    with paying(work, start_of(options, store)) as job:
        forecast = work.foresee()
        agree(forecast, job.paid, yes=options.yes)
        with progress(work.rows, "asking") as step:
            made = work.table(job, step)
        spend = job.ledger.spend()
        spent = {
            "calls": spend.calls,
            "tokens": spend.input_tokens + spend.output_tokens,
            "cost": round(spend.cost, 6),
            "replayed": spend.replayed,
        }
        data = {**made.to_json(), "forecast": forecast.to_json(), "spent": spent}
        write_json(data, options.output)
    warnings = dict.fromkeys(text for test in made.tests for text in test.warnings)
    body: list[Part] = [
        *sheets(made),
        *made.notes,
        *(test.words for test in made.tests),
        *(f"warning: {warning}" for warning in warnings),
        spend_line(spent),
        *([OFFLINE] if all(line.model == "offline" for line in made.lines) else []),
    ]
    return Result(data=data, body=body)


def _contenders(options: DetectorOptions, reference: str, store: Store) -> list[LoadedJudge]:
    """Return a detector with each model; strictness goes to those that have tiers."""
    one = judge_of(reference, options, store, options.names[0], strictness=None)
    if one.judge.answer.levels:
        strictness = options.strictness or STRICTNESS
        one = judge_of(reference, options, store, options.names[0], strictness=strictness)
    return one.on(models_of(options))


def sheets(result: Detection) -> list[Table]:
    """Return the sheets of a table in the order in which they are read: the paper's shape first."""
    found = [_paper(result, weighting) for weighting in _EACH]
    shorts = [f"{short}, {each}" for each in _EACH.values() for short in _STATISTICS.values()]
    rows = [
        [
            line.name,
            kind,
            *(
                _cell(line.detection.cell(kind, name, weighting))
                for weighting in _EACH
                for name in _STATISTICS
            ),
        ]
        for line in result.lines
        for kind in _KINDS
    ]
    found.append(table("95 % intervals (by group)", ["method", "kind", *shorts], rows))
    found += [_tiers(line) for line in result.lines if line.tiers]
    return found + ([_tests(result)] if result.tests else [])


def _paper(result: Detection, weighting: Weighting) -> Table:
    """Return methods by kinds, as in the paper's Tables 3 and 5."""
    gold = result.lines[0].detection
    sizes = ", ".join(
        f"{gold.positives[kind]} of {gold.sentences[kind]} {kind}" for kind in ("factual", "cognitive")
    )
    title = (
        f"{result.table}: detection of hallucinations by {_EACH[weighting]}; {result.gold}, {result.cases} responses, "
        f"{result.sentences} sentences ({sizes} ones hallucinated, strictness {result.strictness}), "
        f"{result.groups} groups"
    )
    missing = any(line.detection.counts.units.coverage < 1.0 for line in result.lines)
    rows = []
    for line in result.lines:
        values = [line.detection.cell(kind, name, weighting).value for kind in _KINDS for name in _STATISTICS]
        units = line.detection.counts.units
        answered = [f"{units.answered} of {units.labelled}"] if missing else []
        rows.append([line.name, *(f"{value:.3f}" for value in values), *answered])
    columns = ["method", *(f"{kind} {short}" for kind in _KINDS for short in _STATISTICS.values())]
    return table(title, [*columns, *(["answered"] if missing else [])], rows)


def _cell(cell: Score) -> str:
    return f"{cell.value:.3f} {cell.interval}"


def _tiers(line: Line) -> Table:
    found = line.tiers
    assert found is not None
    rows = [
        [
            *(label, *map(str, (*one["judged"].values(), one["unanswered"]))),
            _cell(one["right"]) if one["right"] else "-",
        ]
        for label, one in found.items()
    ]
    return table(
        f"what cognitive sentences were taken for (rows: people; columns: judged): {line.name}",
        ["tier", *LABELS, "unanswered", "exact [95 %]"],
        rows,
    )


def _tests(result: Detection) -> Table:
    counts = [f"{one.mcnemar.c} / {one.mcnemar.b}" if one.mcnemar else "-" for one in result.tests]
    return records(
        f"decisions on the macro F1 of sentences: {TEST} on the same sentences, Holm; "
        "unanswered ones count as wrong",
        [
            decision_row(one.to_json(), "macro F1", {"only one right": count})
            for one, count in zip(result.tests, counts, strict=True)
        ],
    )
