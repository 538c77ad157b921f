"""Comparing judges on the same gold rows: scores with intervals, and paired tests.

Rows on which one of the artifacts was trained or selected are left out and
counted, so that no judge is flattered. The first judge is tested against each
other one; several tests are corrected together (Holm).
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .cases import Case
from .errors import UsageError
from .evaluation.measured import Measured, measure
from .evaluation.paired import holm
from .evaluation.proof import Decision, prove
from .evaluation.rows import Row
from .gold import Gold
from .loading import LoadedJudge
from .optimizers.objective import row_of

__all__ = ["Comparison", "Contender", "compare"]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One judge's results.

    Attributes:
        name: its reference.
        measured: every metric with its interval, on the first repeat.
        values: the judge's metric on each repeat.
        against: the first judge tested against this one; ``None`` for the first itself.
        p_corrected: McNemar's p after Holm's correction.
        spend: calls, tokens and cost of all repeats.
    """

    name: str
    measured: Measured
    values: tuple[float, ...]
    against: Decision | None
    p_corrected: float | None
    spend: dict[str, Any]

    @property
    def spread(self) -> float:
        """The standard deviation of the metric over the repeats; 0 for one."""
        return statistics.stdev(self.values) if len(self.values) > 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All contenders on the same rows.

    Attributes:
        metric: the metric that is tested.
        cases: rows compared.
        left_out: rows left out because an artifact was compiled on them.
        contenders: in the order given; the first is the one tested.
    """

    metric: str
    cases: int
    left_out: int
    contenders: tuple[Contender, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain JSON types."""
        return {
            "metric": self.metric,
            "cases": self.cases,
            "left_out": self.left_out,
            "judges": [
                {
                    "name": one.name,
                    **one.measured.to_card(),
                    "repeats": list(one.values),
                    "first_against_this": one.against.to_card() if one.against else None,
                    "p_holm": one.p_corrected,
                    "spend": one.spend,
                }
                for one in self.contenders
            ],
        }


def compare(
    judges: Sequence[LoadedJudge],
    gold: Gold,
    *,
    repeats: int = 1,
    seed: int = 0,
    on_case: Callable[[], None] = lambda: None,
) -> Comparison:
    """Ask every judge about every row, and test the first against the others.

    Args:
        judges: two or more versions or variants of one judge.
        gold: labelled cases.
        repeats: times everything is asked, each time with other draws; at least 1.
        seed: of the bootstrap.
        on_case: called after each row of each judge.

    Raises:
        UsageError: fewer than two judges, different label sets, or no row is left.
        ModelError: a model cannot be used at all.
    """
    if len(judges) < 2 or repeats < 1:
        raise UsageError(
            "a comparison needs two judges and one repeat",
            hint="name at least two, for example fect fect:basic",
        )
    for what in ("labels", "input_fields"):
        if len({getattr(judge.judge, what) for judge in judges}) > 1:
            raise UsageError(
                f"these judges have different {what.replace('_', ' ')}",
                hint="compare versions or variants of one judge",
            )
    cases = _unseen(judges, gold)
    rows = [[_ask(judge, cases, repeat, on_case) for repeat in range(repeats)] for judge in judges]
    judge = judges[0].judge
    measured = [measure(one[0], judge.metric, judge.labels, judge.positive, seed=seed) for one in rows]
    decisions = {
        f"{number} {other.name}": prove(
            rows[number][0], rows[0][0], judge.metric, judge.labels, judge.positive, seed=seed
        ).decision
        for number, other in enumerate(judges[1:], 1)
    }
    corrected = holm({name: decision.mcnemar.p for name, decision in decisions.items()})
    contenders = []
    for number, one in enumerate(judges):
        key = f"{number} {one.name}"
        contenders.append(
            Contender(
                name=one.name,
                measured=measured[number],
                values=tuple(_value(judges[0], repeat, seed) for repeat in rows[number]),
                against=decisions.get(key),
                p_corrected=corrected.get(key),
                spend=one.desk.ledger.to_json()["total"],
            )
        )
    return Comparison(
        metric=measured[0].metric,
        cases=len(cases),
        left_out=len(gold.cases) - len(cases),
        contenders=tuple(contenders),
    )


def _unseen(judges: Sequence[LoadedJudge], gold: Gold) -> list[Case]:
    seen = {
        id_
        for judge in judges
        if judge.artifact
        for id_ in (judge.artifact.card.get("gold") or {}).get("seen", ())
    }
    cases = [case for case in gold.cases if case.id not in seen]
    if not cases:
        raise UsageError(
            f"all {len(gold.cases)} rows of {gold.name} were used to compile one of these judges",
            hint="compare on rows that no artifact was compiled on",
        )
    return cases


def _ask(judge: LoadedJudge, cases: Sequence[Case], repeat: int, on_case: Callable[[], None]) -> list[Row]:
    asker = dataclasses.replace(judge.asker(), first_draw=repeat * judge.sampling.samples)
    verdicts = asker.ask_all(cases, lambda index, verdict: on_case())
    return [row_of(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]


def _value(judge: LoadedJudge, rows: Sequence[Row], seed: int) -> float:
    found = measure(rows, judge.judge.metric, judge.judge.labels, judge.judge.positive, seed=seed)
    return found.scores[found.metric].value
