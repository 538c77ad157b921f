"""``jurist evaluate``."""

import json
from collections.abc import Mapping
from typing import Any

from ..arguments.compare import EvaluateOptions
from ..errors import plural
from ..jobs.evaluating import Disagreement, Evaluating, Evaluation, evaluation_of
from ..jobs.foresee import foresee
from ..keeping.paying import paying
from ..report.figures import class_table
from ..report.references import reference_tables
from ..report.scores import OFFLINE, confusion_table, counts_line, scores_table, spend_line
from ..report.table import Table, table
from .common import budget_of, gold_of, loaded_of, start_of, store_of, write_json
from .compare import asked
from .printing import Part, Result

_SHOWN = 240
"""Letters of an input or of a reasoning that a disagreement shows; ``--json`` has all of it."""


def run(options: EvaluateOptions) -> Result:
    """Score one judge on gold."""
    store = store_of(options)
    loaded = loaded_of(options.judge, options, store)
    gold = gold_of(options.gold, loaded.judge, options)
    work = Evaluating(contenders=(loaded,), gold=gold, budget=budget_of(options))
    with paying(work, start_of(options, store)) as job:
        forecast = foresee(work)
        (answers,) = asked(work, job, forecast, yes=options.yes)
        found = evaluation_of(work, answers)
        data = {**found.to_json(), "forecast": forecast.to_json()}
        write_json(data, options.output)
    return Result(data=data, body=_body(found, options.worst))


def _body(found: Evaluation, worst: int) -> list[Part]:
    card = found.measured.to_card()
    why = "left out because the judge was compiled on them or on near copies of them"
    left = f", {found.left_out} {why}" if found.left_out else ""
    title = f"{found.judge} on {found.gold}: {plural(found.cases, 'case')}{left}"
    shown = found.disagreements[: max(0, worst)]
    return [
        scores_table(title, {found.judge: card["scores"]}, found.measured.metric),
        *reference_tables(found.references, found.measured.metric, " on the same cases"),
        *class_table("each class against the rest", [one.to_json() for one in found.classes]),
        *([confusion_table(found.judge, found.confusion)] if found.confusion else []),
        *([_disagreements(found, shown)] if shown else []),
        counts_line(found.judge, card["counts"]),
        f"{len(found.disagreements)} of {found.cases} cases are not judged as people judged them",
        *(f"warning: {said}" for said in found.warnings),
        spend_line(found.spend),
        *([OFFLINE] if found.model == "offline" else []),
    ]


def _disagreements(found: Evaluation, shown: tuple[Disagreement, ...]) -> Table:
    rows = [[one.source or one.id, _short(one.wrong), _said(one), _inputs(one.inputs)] for one in shown]
    return table(
        f"the worst disagreements, {len(shown)} of {len(found.disagreements)}",
        ["row", "difference", "reasoning", "inputs"],
        rows,
        layout="records",
    )


def _said(one: Disagreement) -> str:
    return _short(one.reasoning or one.error) or "-"


def _inputs(inputs: Mapping[str, Any]) -> str:
    texts = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in inputs.values()
    )
    return "; ".join(f"{name}: {_short(text)}" for name, text in zip(inputs, texts, strict=True))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 3].rstrip() + "..."
