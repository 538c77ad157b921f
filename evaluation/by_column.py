"""The scores of the rows that have each value of a column, such as a language."""

from collections.abc import Sequence
from dataclasses import dataclass

from .measured import Score, score
from .rows import JudgedRow, tally
from .scale import MetricLike, Scale, resolve
from .units import encode


@dataclass(frozen=True, kw_only=True)
class ValueScore:
    """The score of the rows that have one value in a column."""

    value: str  # empty where a row has none
    cases: int  # rows with it
    units: int  # labelled units in them
    score: Score | None  # by the judge's own metric; ``None`` where a repeat has no answer


@dataclass(frozen=True, kw_only=True)
class ColumnScores:
    """The scores of a judge by the values of a column."""

    column: str
    metric: str  # the name of the judge's own metric
    values: tuple[ValueScore, ...]  # those with most rows first


def score_by_value(
    column: str,
    values: Sequence[str],
    repeats: Sequence[Sequence[JudgedRow]],
    metric: MetricLike,
    comparison: Scale,
) -> ColumnScores:
    """Return the score of the rows with each value, the mean over the repeats.

    Args:
        column: its name.
        values: the value of each row.
        repeats: the rows of each repeat, in the order of the values.
        metric, comparison: of the judge.
    """
    judge_metric = resolve(metric, comparison)
    places_by_value: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        places_by_value.setdefault(value, []).append(place)
    scores: list[ValueScore] = []
    for value, places in sorted(places_by_value.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        repeats_of_value = [[rows[place] for place in places] for rows in repeats]
        value_score = None
        if all(tally(rows).units.answered for rows in repeats_of_value):
            value_score = score(encode(comparison, *repeats_of_value), judge_metric)
        units = tally(repeats_of_value[0]).units.labelled
        scores.append(ValueScore(value=value, cases=len(places), units=units, score=value_score))
    return ColumnScores(column=column, metric=judge_metric.name, values=tuple(scores))
