"""The result of an experiment as tables: FECT's Tables 2, 4 and 5, then intervals, decisions and smallest effects."""

from collections.abc import Iterable, Mapping

from ..errors import plural
from ..evaluation.contrasts import TEST, Contrast
from ..evaluation.repeats import Spread
from ..jobs.comparing import Comparison, Contender
from ..report.references import reference_tables
from ..report.scores import number_cell
from ..report.table import Table, records, table


def sheets(comparison: Comparison) -> list[Table]:
    """Return the tables of a comparison, in the order in which they are read."""
    found = [_scores(comparison, metric) for metric in comparison.metrics]
    found += [
        _intervals(comparison),
        *reference_tables(comparison.references, comparison.metric, " on the same cases"),
    ]
    found.append(_answers(comparison))
    if comparison.tests:
        found += [_decisions(comparison), _smallest(comparison)]
    return found


def _scores(comparison: Comparison, metric: str) -> Table:
    """Rows are models, columns are judges, cells are mean and sd, as in the paper's tables."""
    judges = _distinct(one.judge for one in comparison.contenders)
    cells: dict[tuple[str, str], list[str]] = {}
    for one in comparison.contenders:
        cells.setdefault((one.model, one.judge), []).append(_mean(one.repeats[metric]))
    models = _distinct(one.model for one in comparison.contenders)
    rows = [[model, *("; ".join(cells.get((model, judge), ["-"])) for judge in judges)] for model in models]
    over = f" (mean ± sd over {comparison.repeats} repeats)" if comparison.repeats > 1 else ""
    left = (
        f", {comparison.left_out} left out because a judge was compiled on them or on near copies of them"
        if comparison.left_out
        else ""
    )
    return table(
        f"{metric}{over}; {comparison.gold}: {comparison.cases} cases{left}", ["model", *judges], rows
    )


def _intervals(comparison: Comparison) -> Table:
    columns = ["judge", "metric", "mean", "95 % over cases (by group)"]
    if comparison.repeats > 1:
        columns.append(f"95 % over {comparison.repeats} repeats (t)")
    missing = any(one.counts.units.coverage < 1.0 for one in comparison.contenders)
    rows = []
    for one in comparison.contenders:
        for metric in comparison.metrics:
            interval, runs = one.scores[metric].interval, one.repeats[metric]
            row = [one.name, metric, f"{runs.mean:.3f}", _range(interval.low, interval.high)]
            if runs.low is not None and runs.high is not None:
                row.append(_range(runs.low, runs.high))
            if missing:
                row.append(f"{one.scores[metric].worst:.3f} to {one.scores[metric].best:.3f}")
            rows.append(row)
    return table(
        "intervals: with other rows, and asked again",
        [*columns, "if all were answered"] if missing else columns,
        rows,
    )


def _answers(comparison: Comparison) -> Table:
    several = comparison.repeats > 1
    columns = ["judge", "answered", "abstained", "failed", "calls", "tokens", "USD"]
    if several:
        columns[1:1] = ["agree with the mode", "cases all agree on"]
    return table(
        "self-consistency, answers of units and spending" if several else "answers of units and spending",
        columns,
        [_answer_row(one) for one in comparison.contenders],
    )


def _answer_row(one: Contender) -> list[str]:
    units, spend = one.counts.units, one.spend
    agree = (
        [f"{one.consistency.agreement:.1%}", f"{one.consistency.unanimous:.1%}"] if one.consistency else []
    )
    return [
        one.name,
        *agree,
        *(str(number) for number in (units.answered, units.abstained, units.failed)),
        str(spend["calls"]),
        str(spend["input_tokens"] + spend["output_tokens"]),
        f"{spend['cost']:.4f}",
    ]


def _decisions(comparison: Comparison) -> Table:
    rows = [
        decision_row(
            one,
            comparison.metric,
            {"units only one has right": f"{one.mcnemar.c} / {one.mcnemar.b}"} if one.mcnemar else {},
        )
        for one in comparison.tests
    ]
    title = f"decisions: {TEST} on the same cases, {plural(len(rows), 'test')}, Holm; unanswered units count as wrong"
    return records(title, rows)


def decision_row(one: Contrast, metric: str, counts: Mapping[str, str]) -> dict[str, str]:
    """Return who was held against whom, what is shown, both values and their difference, ``counts``, and p."""
    ends = _range(one.interval.low, one.interval.high, "+.3f")
    return {
        "first": one.first,
        "against": one.second,
        "decision": one.verdict,
        metric: f"{one.values[0]:.3f}, {one.values[1]:.3f}",
        "difference [interval]": f"{one.difference:+.3f} {ends} at {100.0 * one.level:.4g} %",
        **counts,
        "p": f"{one.p:.3g}",
        "p after Holm": f"{one.p_holm:.3g}",
    }


def _smallest(comparison: Comparison) -> Table:
    small = comparison.tests[0].smallest
    return records(
        f"the smallest true difference that {small.units} units can show "
        f"({small.power:.0%} power at level {small.alpha:.2g}, Student's t)",
        [_smallest_row(one, comparison.metric) for one in comparison.tests],
    )


def _smallest_row(one: Contrast, metric: str) -> dict[str, str]:
    small = one.smallest
    return {
        "first": one.first,
        "against": one.second,
        "differing units": f"{small.discordant} of {small.units}",
        "in correct units": number_cell(small.correct, ".1%"),
        f"in {metric}": number_cell(small.metric),
    }


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _mean(runs: Spread) -> str:
    return f"{runs.mean:.3f}" if runs.sd is None else f"{runs.mean:.3f} ± {runs.sd:.3f}"


def _range(low: float, high: float, form: str = ".3f") -> str:
    return f"[{low:{form}}, {high:{form}}]"
