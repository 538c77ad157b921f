"""What a result shows, from its JSON alone: the same tables and lines in a terminal and in a notebook."""

from ..errors import plural
from ..keeping.artifact_card import Artifact
from ..keeping.card_parts import CascadeFound, CountsCard, ScoreCard
from ..text.terms import shorten
from .by_column import column_tables, scores_by_name
from .document import readable_text
from .scores import (
    OFFLINE_LINE,
    ResultData,
    class_table,
    confusion_table,
    counts_line,
    differing_words,
    joint_spend_line,
    reference_tables,
    references_in,
    rows_words,
    scores_in,
    scores_table,
    spend_in,
    spend_line,
    warning_lines,
)
from .table import Table, table

_LETTERS = 240
"""Letters of an input or of a reasoning that a disagreement shows; ``--json`` has all of it."""
_WORST = 5
"""Disagreements that are shown; ``--json`` has all of them."""


def evaluation_parts(data: ResultData) -> list[Table | str]:
    """Return the result of one judge on gold, with the worst disagreements."""
    judge, metric = data["judge"], data["metric"]
    parts: list[Table | str] = list(evaluation_tables(data))
    parts += reference_tables(references_in(data.get("references")), metric, " on the same cases")
    parts += class_table("each class against the rest", data["classes"])
    parts += confusion_table(judge, data["confusion"])
    parts += disagreement_tables(data)
    parts.append(counts_line(judge, CountsCard.model_validate(data["counts"])))
    parts.append(differing_words(data))
    parts += warning_lines(data)
    parts.append(spend_line(spend_in(data["spend"])))
    if data["model"] == "offline":
        parts.append(OFFLINE_LINE)
    return parts


def evaluation_tables(data: ResultData) -> list[Table]:
    """Return the table of a judge's scores, and that of its score by the values of a column, if one was named."""
    judge, metric = data["judge"], data["metric"]
    title = f"{judge} on {rows_words(data)}"
    scores = {judge: scores_in(data["scores"])}
    return [scores_table(title, scores, metric), *column_tables(scores_by_name(data))]


def disagreement_tables(data: ResultData) -> list[Table]:
    """Return the table of the worst disagreements, a row each; none where there is none."""
    disagreements = data["disagreements"]
    if not disagreements:
        return []
    rows = []
    for case in disagreements[:_WORST]:
        inputs = []
        for name, value in case["inputs"].items():
            inputs.append(f"{name}: {shorten(readable_text(value, None), _LETTERS)}")
        rows.append(
            [
                case["source"] or case["id"],
                shorten(readable_text(case["wrong"], None), _LETTERS),
                shorten(case["reasoning"] or case["error"], _LETTERS) or "-",
                "; ".join(inputs),
            ]
        )
    title = f"the worst disagreements, {len(rows)} of {len(disagreements)}"
    columns = ["row", "difference", "reasoning", "inputs"]
    return [table(title, columns, rows, layout="records")]


def comparison_parts(data: ResultData, *notes: str) -> list[Table | str]:
    """Return the results of judges on the same rows: FECT's Tables 2, 4 and 5, intervals, decisions.

    ``notes`` are lines that stand before those of the decisions.
    """
    judges, tests = data["judges"], data["tests"]
    parts: list[Table | str] = list(comparison_scores(data))
    parts += column_tables(scores_by_name(data))
    references = references_in(data.get("references"))
    parts += reference_tables(references, data["metric"], " on the same cases")
    parts.append(answer_table(data))
    parts += paired_test_tables(data)
    parts += notes
    parts += [test["words"] for test in tests]
    parts += warning_lines(data, *tests)
    parts.append(joint_spend_line([judge["spend"] for judge in judges]))
    if all(judge["model"] == "offline" for judge in judges):
        parts.append(OFFLINE_LINE)
    return parts


def comparison_scores(data: ResultData) -> list[Table]:
    """Return the scores of a comparison, a table for each metric; of several repeats with mean and deviation."""
    tables = []
    for metric in data.get("metrics") or data["judges"][0]["scores"]:
        tables.append(_score_table(data, metric))
    return tables


def comparison_tables(data: ResultData) -> list[Table]:
    """Return the tables of a comparison for a paper: scores by each metric and by a column, and the paired tests."""
    return [*comparison_scores(data), *column_tables(scores_by_name(data)), *paired_test_tables(data)]


def cascade_parts(search: CascadeFound) -> list[Table | str]:
    """Return the result of a cascade: the rows that each judge answers, the price of a row, and the tested levels."""
    parts = cascade_judges(search)
    parts.extend(cascade_levels(search))
    return parts


def cascade_judges(search: CascadeFound) -> list[Table | str]:
    """Return the judges with the rows that each answers, the labels of people, the price of a row, and warnings."""
    rows = []
    for judge in search.judges:
        row = [judge.judge, judge.model, f"{judge.alone:.1%}"]
        if search.chosen:
            row.append(f"{judge.answered / search.cases:.1%}")
            row.append(f"{judge.right / judge.answered:.1%}" if judge.answered else "-")
        rows.append(row)
    columns = ["", "model", "agrees alone"]
    if search.chosen:
        columns += ["answers", "and agrees there"]
        people_share = (search.cases - search.chosen.answered) / search.cases
        rows.append(["people", "", "", f"{people_share:.1%}", ""])
        agreement = f"{search.chosen.agreement:.1%}, at least {search.chosen.bound:.1%}"
        rows.append(["together", "", "", f"{1 - people_share:.1%}", agreement])
    title = rows_words({"gold": search.gold, "cases": search.cases, "left_out": search.left_out})
    parts: list[Table | str] = [table(title, columns, rows)]
    parts += _cascade_labels(search)
    price = cascade_price(search)
    if price:
        parts.append(price)
    parts += [f"warning: {warning}" for warning in search.warnings]
    return parts


def _cascade_labels(search: CascadeFound) -> list[Table]:
    """Return the share of answered and of right rows by the label of people; empty if no level was chosen."""
    rows = []
    for label in search.labels:
        agreement = "-"
        if label.answered:
            agreement = f"{label.right / label.answered:.1%}"
        rows.append([label.label, f"{label.rows:,}", f"{label.answered / label.rows:.1%}", agreement])
    if not rows:
        return []
    return [table("by the label of people", ["", "rows", "answers", "and agrees there"], rows)]


def cascade_levels(search: CascadeFound) -> list[Table]:
    """Return the levels of sureness that were tested, if any was; of levels that answer the same rows, the last."""
    rows = []
    for place, step in enumerate(search.steps):
        is_last = place + 1 == len(search.steps)
        if is_last or step.by != search.steps[place + 1].by:
            share = step.answered / search.cases
            rows.append([f"{step.level:g}", f"{share:.1%}", f"{step.agreement:.1%}", f"{step.bound:.1%}"])
    if not rows:
        return []
    columns = ["sure from", "answered", "agree with people", "at least"]
    title = f"levels of sureness, tested until one is not shown to agree to {search.agree:.0%}"
    return [table(title, columns, rows)]


def cascade_price(search: CascadeFound) -> str:
    """Return the price of a row beside that of the last judge alone, in words; empty if a log has no price."""
    tokens, dollars = search.tokens, search.dollars
    if not tokens.get("last"):
        return ""
    last = search.judges[-1].judge
    words = f"tokens a row: {tokens.get('cascade', 0):,.0f}, and {tokens['last']:,.0f} of {last} alone"
    if any(dollars.values()):
        of_cascade, of_last = dollars.get("cascade", 0), dollars.get("last", 0)
        words += f"; USD per 1,000 rows: {of_cascade:.3g}, and {of_last:.3g}"
    return words


def _score_table(data: ResultData, metric: str) -> Table:
    """Return a row for each judge: its mean over repeats, with one interval over cases and one over repeats."""
    judges, has_repeats = data["judges"], data["repeats"] > 1
    has_missing = any(judge["counts"]["coverage"] < 1.0 for judge in judges)
    rows = []
    for judge in judges:
        score, repeats = ScoreCard.model_validate(judge["scores"][metric]), judge["repeats"][metric]
        mean = f"{repeats['mean']:.3f}"
        if repeats["sd"] is not None:
            mean += f" ± {repeats['sd']:.3f}"
        row = [judge["name"], mean, _interval_cell(score.low, score.high)]
        if has_repeats:
            interval = "-"
            if repeats["low"] is not None:
                interval = _interval_cell(repeats["low"], repeats["high"])
            row.append(interval)
        if has_missing:
            row.append(f"{score.worst:.3f} to {score.best:.3f}")
        rows.append(row)
    title, columns = metric, ["judge", metric, "95 % over cases (by group)"]
    if has_repeats:
        title += f" (mean ± sd over {data['repeats']} repeats)"
        columns.append(f"95 % over {data['repeats']} repeats (t)")
    if has_missing:
        columns.append("if all were answered")
    return table(f"{title}; {rows_words(data, 'a judge')}", columns, rows)


def answer_table(data: ResultData) -> Table:
    """Return a row for each judge and model: how consistent its answers are, their counts, and what was spent."""
    has_repeats = data["repeats"] > 1
    title, columns = "answers of units and spending", ["judge"]
    if has_repeats:
        title = f"self-consistency, {title}"
        columns += ["agree with the mode", "cases all agree on"]
    columns += ["answered", "abstained", "failed", "calls", "tokens", "USD"]
    rows = []
    for judge in data["judges"]:
        row = [judge["name"]]
        consistency = judge["consistency"]
        if consistency:
            row += [f"{consistency['agreement']:.1%}", f"{consistency['unanimous']:.1%}"]
        units = CountsCard.model_validate(judge["counts"]).units
        spend = spend_in(judge["spend"])
        row += [units.answered, units.abstained, units.failed, spend.calls, spend.all_tokens]
        row.append("price unknown" if spend.unpriced else f"{spend.cost:.4f}")
        rows.append(row)
    return table(title, columns, rows)


def paired_test_tables(data: ResultData) -> list[Table]:
    """Return a table with a row for each test of two judges: its decision, both values, their difference, and p."""
    tests = data["tests"]
    if not tests:
        return []
    has_metrics = len({test["metric"] for test in tests}) > 1
    has_units = any(test["mcnemar"] for test in tests)
    rows = []
    for test in tests:
        first_value, second_value = test["values"]
        interval = _interval_cell(test["low"], test["high"], "+.3f")
        row = [test["first"], test["second"], test["verdict"], f"{first_value:.3f}, {second_value:.3f}"]
        row.append(f"{test['difference']:+.3f} {interval} at {100.0 * test['level']:.4g} %")
        if has_metrics:
            row.append(test["metric"])
        if has_units:
            units = test["mcnemar"]
            row.append(f"{units['c']} / {units['b']}" if units else "-")
        row += [f"{test['p']:.3g}", f"{test['p_holm']:.3g}"]
        rows.append(row)
    columns = ["first", "against", "decision", data["metric"], "difference [interval]"]
    if has_metrics:
        columns[3] = "values"
        columns.append("of")
    if has_units:
        columns.append("units only one has right")
    columns += ["p", "p after Holm"]
    title = f"decisions: {tests[0]['test']} on the same cases, {plural(len(tests), 'test')}, Holm"
    return [table(f"{title}; unanswered units count as wrong", columns, rows)]


def _interval_cell(low: float, high: float, form: str = ".3f") -> str:
    return f"[{low:{form}}, {high:{form}}]"


def version_records(artifact: Artifact) -> list[dict[str, object]]:
    """Return a row for each prompt and each metric of the sealed test of a version; none without such a test."""
    records: list[dict[str, object]] = []
    for prompt, scores in artifact.about.proven_scores.items():
        for metric, score in scores.items():
            record: dict[str, object] = {"artifact": artifact.ref, "prompt": prompt, "metric": metric}
            if score is not None:
                record |= {"value": score.value, "low": score.low, "high": score.high}
            records.append(record)
    return records


VERSION_COLUMNS = ("artifact", "prompt", "metric", "value", "low", "high")
"""The columns of :func:`version_records`."""


def version_parts(artifact: Artifact, note: str = "") -> list[Table | str]:
    """Return the scores, the decision and the cost of a version."""
    parts: list[Table | str] = []
    card = artifact.about
    decision = card.decision
    if card.proven_scores:  # a bundle of another tool has no proof
        parts.append(scores_table("on the sealed test", card.proven_scores, decision.metric or ""))
    if card.refit is not None:
        parts.append(card.refit_words)
    if decision.model_fields_set:
        parts.append(f"decision: {decision.words}")
        parts += [f"warning: {warning}" for warning in decision.warnings]
    if card.spend:
        candidates = card.optimizer.candidates
        if candidates is None:
            candidates = len(artifact.history)
        parts.append(f"{spend_line(card.spend)}; {candidates} candidates")
    parts.append(f"artifact: {artifact.ref} in {artifact.path}{note}")
    return parts
