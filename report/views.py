"""What a result shows, from its JSON alone: the same tables and lines in a terminal and in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ..errors import plural
from ..keeping.artifact_card import Artifact
from ..text.terms import shorten
from .document import text_of
from .render import as_html
from .scores import (
    OFFLINE,
    class_table,
    confusion_table,
    counts_line,
    joint_spend_line,
    reference_tables,
    rows_words,
    scores_table,
    spend_line,
    warning_lines,
)
from .table import Table, table

_SHOWN = 240
"""Letters of an input or of a reasoning that a disagreement shows; ``--json`` has all of it."""
_WORST = 5
"""Disagreements that are shown; ``--json`` has all of them."""


def evaluation_parts(data: Mapping[str, Any]) -> list[Table | str]:
    """Return what one judge on gold shows, with the worst disagreements."""
    judge, metric, wrong = data["judge"], data["metric"], data["disagreements"]
    return [
        scores_table(f"{judge} on {rows_words(data)}", {judge: data["scores"]}, metric),
        *reference_tables(data.get("references"), metric, " on the same cases"),
        *class_table("each class against the rest", data["classes"]),
        *confusion_table(judge, data["confusion"]),
        *_disagreements(wrong),
        counts_line(judge, data["counts"]),
        f"{len(wrong)} of {data['cases']} cases are judged otherwise than their gold label says",
        *warning_lines(data),
        spend_line(data["spend"]),
        *([OFFLINE] if data["model"] == "offline" else []),
    ]


def _disagreements(wrong: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    rows = [
        [
            case["source"] or case["id"],
            shorten(text_of(case["wrong"], None), _SHOWN),
            shorten(case["reasoning"] or case["error"], _SHOWN) or "-",
            "; ".join(
                f"{name}: {shorten(text_of(value, None), _SHOWN)}" for name, value in case["inputs"].items()
            ),
        ]
        for case in wrong[:_WORST]
    ]
    title = f"the worst disagreements, {len(rows)} of {len(wrong)}"
    columns = ["row", "difference", "reasoning", "inputs"]
    return (table(title, columns, rows, layout="records"),) if rows else ()


def comparison_parts(data: Mapping[str, Any], *notes: str) -> list[Table | str]:
    """Return what judges on the same rows show: FECT's Tables 2, 4 and 5, intervals, decisions."""
    judges, tests = data["judges"], data["tests"]
    return [
        *(_score_table(data, metric) for metric in data.get("metrics") or list(judges[0]["scores"])),
        *reference_tables(data.get("references"), data["metric"], " on the same cases"),
        _answer_table(data),
        *([_test_table(data)] if tests else []),
        *notes,
        *(part["words"] for part in tests),
        *warning_lines(data, *tests),
        joint_spend_line([part["spend"] for part in judges]),
        *([OFFLINE] if all(part["model"] == "offline" for part in judges) else []),
    ]


def cascade_parts(data: Mapping[str, Any]) -> list[Table | str]:
    """Return what a cascade does to its rows: who answers how many, what a row takes, and the levels tested."""
    return [*cascade_judges(data), *cascade_levels(data)]


def cascade_judges(data: Mapping[str, Any]) -> list[Table | str]:
    """Return who answers how many rows, and what a row takes."""
    cases, best = data["cases"], data["chosen"]
    rows = [
        [
            one["judge"],
            one["model"],
            f"{one['alone']:.1%}",
            *([f"{one['answered'] / cases:.1%}", _share(one["right"], one["answered"])] if best else []),
        ]
        for one in data["judges"]
    ]
    if best:
        left = (cases - best["answered"]) / cases
        rows.append(["people", "", "", f"{left:.1%}", ""])
        rows.append(
            ["together", "", "", f"{1 - left:.1%}", f"{best['agreement']:.1%}, at least {best['bound']:.1%}"]
        )
    columns = ["", "model", "agrees alone", *(["answers", "and agrees there"] if best else [])]
    return [table(rows_words(data), columns, rows), *cascade_price(data)]


def cascade_levels(data: Mapping[str, Any]) -> list[Table]:
    """Return the levels of sureness that were tested, if any was."""
    cases = data["cases"]
    levels = [
        [
            f"{step['level']:g}",
            f"{step['answered'] / cases:.1%}",
            f"{step['agreement']:.1%}",
            f"{step['bound']:.1%}",
        ]
        for place, step in enumerate(data["steps"])
        if place + 1 == len(data["steps"]) or step["by"] != data["steps"][place + 1]["by"]
    ]
    names = ["sure from", "answered", "agree with people", "at least"]
    title = f"levels of sureness, tested until one is not shown to agree to {data['agree']:.0%}"
    return [table(title, names, levels)] if levels else []


def cascade_price(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a row takes beside the last judge alone, in words; nothing where a log does not tell."""
    tokens, dollars = data["tokens"], data["dollars"]
    if not tokens.get("last"):
        return ()
    last = data["judges"][-1]["judge"]
    words = f"tokens a row: {tokens['cascade']:,.0f}, and {tokens['last']:,.0f} of {last} alone"
    if any(dollars.values()):
        words += f"; USD per 1,000 rows: {dollars['cascade']:.3g}, and {dollars['last']:.3g}"
    return (words,)


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "-"


def _score_table(data: Mapping[str, Any], metric: str) -> Table:
    """Return a row for each judge and model: the mean over repeats, and how far it may be off for two reasons."""
    judges, several = data["judges"], data["repeats"] > 1
    missing = any(judge["counts"]["coverage"] < 1.0 for judge in judges)
    rows = []
    for judge in judges:
        score, runs = judge["scores"][metric], judge["repeats"][metric]
        deviation = "" if runs["sd"] is None else f" ± {runs['sd']:.3f}"
        row = [judge["name"], f"{runs['mean']:.3f}{deviation}", _range(score["low"], score["high"])]
        if several:
            row.append("-" if runs["low"] is None else _range(runs["low"], runs["high"]))
        if missing:
            row.append(f"{score['worst']:.3f} to {score['best']:.3f}")
        rows.append(row)
    columns = ["judge", metric, "95 % over cases (by group)"]
    columns += [f"95 % over {data['repeats']} repeats (t)"] if several else []
    columns += ["if all were answered"] if missing else []
    over = f" (mean ± sd over {data['repeats']} repeats)" if several else ""
    return table(f"{metric}{over}; {rows_words(data, 'a judge')}", columns, rows)


def _answer_table(data: Mapping[str, Any]) -> Table:
    several = data["repeats"] > 1
    agreement = ["agree with the mode", "cases all agree on"] if several else []
    rows = [
        [
            one["name"],
            *(f"{same[name]:.1%}" for name in ("agreement", "unanimous") if (same := one["consistency"])),
            *(one["counts"]["units"][name] for name in ("answered", "abstained", "failed")),
            one["spend"]["calls"],
            one["spend"]["input_tokens"] + one["spend"]["output_tokens"],
            "price unknown" if one["spend"].get("unpriced") else f"{one['spend']['cost']:.4f}",
        ]
        for one in data["judges"]
    ]
    return table(
        "self-consistency, answers of units and spending" if several else "answers of units and spending",
        ["judge", *agreement, "answered", "abstained", "failed", "calls", "tokens", "USD"],
        rows,
    )


def _test_table(data: Mapping[str, Any]) -> Table:
    """Return who was held against whom, what is shown, both values and their difference, and p."""
    tests = data["tests"]
    several, counted = len({test["metric"] for test in tests}) > 1, any(test["mcnemar"] for test in tests)
    columns = [
        "first",
        "against",
        "decision",
        "values" if several else data["metric"],
        "difference [interval]",
    ]
    columns += ["of"] if several else []
    columns += ["units only one has right"] if counted else []
    rows = []
    for test in tests:
        before, after = test["values"]
        ends, units = _range(test["low"], test["high"], "+.3f"), test["mcnemar"]
        row = [test["first"], test["second"], test["verdict"], f"{before:.3f}, {after:.3f}"]
        row.append(f"{test['difference']:+.3f} {ends} at {100.0 * test['level']:.4g} %")
        row += [test["metric"]] if several else []
        row += [f"{units['c']} / {units['b']}" if units else "-"] if counted else []
        rows.append([*row, f"{test['p']:.3g}", f"{test['p_holm']:.3g}"])
    title = f"decisions: {tests[0]['test']} on the same cases, {plural(len(tests), 'test')}, Holm"
    return table(f"{title}; unanswered units count as wrong", [*columns, "p", "p after Holm"], rows)


def _range(low: float, high: float, form: str = ".3f") -> str:
    return f"[{low:{form}}, {high:{form}}]"


def artifact_html(artifact: Artifact, note: str = "") -> str:
    """Return an artifact's scores, decision and cost as one HTML element."""
    card, parts = artifact.card, list[Table | str]()
    decision, scores, spend = (card.get(name) or {} for name in ("decision", "scores", "spend"))
    if scores and decision:  # a bundle of another tool has no proof
        parts.append(scores_table("on the sealed test", scores, decision.get("metric", "")))
    if decision:
        parts.append(f"decision: {decision.get('words', '')}")
        parts += [f"warning: {warning}" for warning in decision.get("warnings") or ()]
    if spend:
        tried = (card.get("optimizer") or {}).get("candidates", len(artifact.history))
        parts.append(f"{spend_line(spend)}; {tried} candidates")
    kept = f"artifact: {artifact.ref} in {artifact.path}{note}"
    return html_of([*parts, kept])


def html_of(parts: Iterable[Table | str]) -> str:
    """Return tables and paragraphs as one HTML element for a notebook; no text in them is taken for markup."""
    shown = (as_html(part) if isinstance(part, Table) else f"<p>{escape(part)}</p>" for part in parts)
    return f"<div>{''.join(shown)}</div>"
