"""``jurist assess`` on a benchmark of C-FAITH's formats."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..arguments.generate import AssessOptions
from ..gold.goldset import Gold
from ..papers.haluagent.assess import Assessed, ItemAssessment, check_compares
from ..papers.haluagent.items import FORMATS, Item, read_authors, read_items
from ..papers.haluagent.rates import Rates, paired
from ..programs.haluagent.judges import QA_CONFLICT
from ..report.table import Table, table
from ..signatures.haluagent import TYPES
from .assessed import assess_models, assessed
from .common import budget_of, labelling, target_of
from .printing import Part, Result


def items_of_benchmark(path: str) -> tuple[Item, ...]:
    """Return the items of a benchmark file, ours or the authors'; none if it is something else."""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            row = json.loads(lines.readline())
    except (OSError, ValueError):
        return ()
    if isinstance(row, dict) and {"id", "format"} <= row.keys():
        return read_items(path)
    theirs = (
        isinstance(row, dict) and {"question"} < row.keys() and {"halu_type", "correct_option"} & row.keys()
    )
    return read_authors(path) if theirs else ()


def run(options: AssessOptions, items: tuple[Item, ...]) -> Result:
    """Assess models on items; exit code 3 if too many replies hold no answer."""
    judge = labelling(options, QA_CONFLICT.name)
    check_compares(judge)  # before its gold is read as the calibration
    work = ItemAssessment(
        items=items[: options.limit],
        targets=tuple(target_of(options, name) for name in options.models),
        judge=judge,
        calibration=Gold.load(options.calibration or QA_CONFLICT.bundled, judge.judge),
        unanswered=options.unanswered,
        benchmark=options.benchmark,
        concurrency=options.concurrency,
        budget=budget_of(options),
        seed=options.seed,
    )
    done = assess_models(options, work)
    found = done.found
    data = {
        "benchmark": work.benchmark,
        "items": len(work.items),
        "calibration": {"gold": work.calibration.name, "rows": len(work.held_out)},
        "models": [one.to_json() for one in found],
        "paired": _pairs(found),
    }
    return assessed(options, done, data, _answers(found), _body(work, found))


def _answers(found: Sequence[Assessed]) -> Iterator[dict[str, Any]]:
    for one in found:
        for reply, result in zip(one.replies, one.found, strict=True):
            said = {"reply": reply, "hallucinated": result.hallucinated, "failed": result.failed}
            yield {"model": one.model, "id": result.item.id, "format": result.item.format, **said}


def _pairs(found: Sequence[Assessed]) -> list[dict[str, Any]]:
    """Return each pair of models with its tests, all of them corrected together (Holm)."""
    tests = paired({one.model: one.found for one in found})
    return [
        {"first": one.first, "second": one.second, "only_first": one.mcnemar.b, "only_second": one.mcnemar.c}
        | {"p": one.p, "p_holm": one.p_holm}
        for one in tests
        if one.mcnemar
    ]


_COUNTED = ("first", "second", "only_first", "only_second")


def _body(work: ItemAssessment, found: Sequence[Assessed]) -> list[Part]:
    pairs = [
        [*(str(one[name]) for name in _COUNTED), f"{one['p']:.3g}", f"{one['p_holm']:.3g}"]
        for one in _pairs(found)
    ]
    return [
        _formats([(one, one.rates) for one in found]),
        _formats([(one, one.otherwise) for one in found]),
        *_shares("by type, generative items (C-FAITH Table 6)", TYPES, found, "types"),
        *_shares(
            "true-or-false items (Figure 5): hallucinated taken for correct, correct taken for hallucinated",
            ("false_negative", "false_positive"),
            found,
            "errors",
        ),
        *(
            [table("the same items: hallucinated on by one only; larger p of exact McNemar and whole documents, Holm",
                   ("first", "second", "only first", "only second", "p", "p (Holm)"), pairs)]
            if pairs
            else []
        ),
        *(
            f"{one.model}: generative, without the judge's errors: {one.rates.corrected}"
            + (f" ({one.rates.corrected.problem})" if one.rates.corrected.problem else "")
            for one in found
            if one.rates.corrected
        ),
        f"judge: {work.judge.name} with {work.judge.model.name}, measured on {len(work.held_out)} rows of "
        f"{work.calibration.name}",
    ]  # fmt: skip


_COUNTED_AS = {"apart": "unanswered replies left out", "wrong": "unanswered replies count as hallucinated"}


def _formats(found: Sequence[tuple[Assessed, Rates]]) -> Table:
    rows = []
    for one, rates in found:
        overall = rates.overall
        mean = "-" if overall is None else "{:.3f} [{:.3f}, {:.3f}]".format(*overall)
        unanswered = str(sum(rates.unanswered.values()))
        cells = [str(rates.formats.get(name, "-")) for name in FORMATS]
        rows.append([one.model, *cells, mean, unanswered, str(rates.failed)])
    return table(
        f"hallucination rates [95 % interval] (C-FAITH Table 5), {_COUNTED_AS[found[0][1].unanswered_as]}",
        ("model", *FORMATS, "overall", "unanswered", "failed"),
        rows,
    )


def _shares(title: str, names: Sequence[str], found: Sequence[Assessed], which: str) -> list[Table]:
    """Return a table of shares; none where the benchmark has no item that it is about."""
    if not any(getattr(one.rates, which) for one in found):
        return []
    rows = [[one.model, *(str(getattr(one.rates, which).get(name, "-")) for name in names)] for one in found]
    return [table(title, ("model", *(name.replace("_", " ") for name in names)), rows)]
