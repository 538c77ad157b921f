"""Tables and lines of scores and counts, of rater agreement and the human ceiling, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import plural
from ..evaluation.plain import plain
from .table import Table, table

if TYPE_CHECKING:
    from ..evaluation.agreement import Agreement, Ceiling
    from ..gold.raters import Strata

Scores = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Who was scored -> metric -> value, low and high of the interval, worst and best case."""
_NEVER_GIVEN = "undefined: never given"
_PAIRS = 10  # with more of them a terminal shows those that agree least, and --json has all
OFFLINE = "engine: offline, a text-overlap scorer, not an LLM; --model names a real one"


def number_cell(value: float | None, form: str = ".3f") -> str:
    """Return a number as a cell of a table has it; a dash for none."""
    return "-" if value is None else f"{value:{form}}"


def metric_cell(score: Mapping[str, float] | None) -> str:
    """Return ``0.712 [0.650, 0.771]``, with the worst case that unanswered units imply where there are any.

    A value that cannot be another one has no interval, and ``None`` is shown as ``-``.
    """
    if score is None:
        return "-"
    text = f"{score['value']:.3f}"
    if score["low"] < score["high"]:
        text += f" [{score['low']:.3f}, {score['high']:.3f}]"
    if score.get("best", 0.0) - score.get("worst", 0.0) > 1e-9:
        text += f" ({score['worst']:.3f} to {score['best']:.3f} if all units were answered)"
    return text


def scores_table(title: str, parts: Scores, metric: str) -> Table:
    """Return one row a metric and one column a program; the judge's own metric is marked."""
    names = list(next(iter(parts.values())))
    rows = [
        [
            f"{name} *" if name == metric else name,
            *(metric_cell(scores.get(name)) for scores in parts.values()),
        ]
        for name in names
    ]
    return table(title, ["metric [95 % interval]", *parts], rows)


def confusion_table(name: str, counts: Mapping[str, Mapping[str, int]], opens: str = "") -> list[Table]:
    """Return gold -> judged -> units as tables, one for each set of answers; none where there are none."""
    title = f"{name}: gold labels (rows) and what the judge said (columns)"
    tables: dict[tuple[str, ...], list[list[Any]]] = {}
    for gold, judged in counts.items():
        tables.setdefault(tuple(judged), []).append([gold, *judged.values()])
    return [
        table(title, ["gold", *names], rows, layout="counts", opens=opens) for names, rows in tables.items()
    ]


def criteria_table(decision: Mapping[str, Any]) -> list[Table]:
    """Return basic against compiled of each criterion, as a card's decision has them; nothing without any."""
    rows = [
        [
            f"{name}.{criterion['metric']}",
            f"{criterion['basic']:.3f} -> {criterion['compiled']:.3f}",
            f"{criterion['difference']:+.3f} [{criterion['low']:+.3f}, {criterion['high']:+.3f}]",
            criterion["shown"] or "not shown to differ",
            criterion["units"],
        ]
        for name, criterion in (decision.get("criteria") or {}).items()
    ]
    columns = ["criterion", "basic -> compiled", "difference", "shown (Holm)", "units"]
    return [table("", columns, rows)] if rows else []


def class_table(title: str, classes: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return the scores of each class, given as JSON values; nothing where there are no classes."""
    rows = [
        [row["label"], row["gold"], *(metric_cell(row[name]) for name in ("precision", "recall", "f1"))]
        for row in classes
    ]
    columns = ["class", "in gold", "precision [95 % interval]", "recall", "f1"]
    return [table(title, columns, rows)] if rows else []


def reference_tables(card: Mapping[str, Any] | None, metric: str, where: str = "") -> list[Table]:
    """Return what answers without a language model reach, and people; nothing where there is none of them."""
    rows = []
    for name, reference in (card or {}).items():
        if reference:
            score = metric_cell({**reference, "value": reference["score"]})
            rows.append([name, reference["answer"], score, reference.get("judge_is") or "-"])
    if not rows:
        return []
    title = f"references{where}: what asks no language model, and the raters where there are several"
    return [table(title, ["reference", "answers", f"{metric} [95 % interval]", "the judge is"], rows)]


def counts_line(name: str, counts: Mapping[str, Any]) -> str:
    """Return the counts of units in words."""
    units = counts["units"]
    return (
        f"{name}: {units['answered']} units answered, {units['abstained']} abstained, {units['failed']} failed, "
        f"{units['unlabelled']} unlabelled (coverage {counts['coverage']:.1%})"
    )


def rows_words(data: Mapping[str, Any], whose: str = "the judge") -> str:
    """Return which gold a result is of, how many cases, and how many were left out."""
    why = f"left out because {whose} was compiled on them or on near copies of them"
    left = f", {data['left_out']} {why}" if data["left_out"] else ""
    differ = f", on {data['ambiguous']} of which raters differ" if data.get("ambiguous") else ""
    left += f", {data['skipped']} without a label or an input{differ}" if data.get("skipped") else ""
    return f"{data['gold']}: {plural(data['cases'], 'case')}{left}"


def warning_lines(*results: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the warnings of results, each once."""
    return tuple(dict.fromkeys(f"warning: {text}" for data in results for text in data.get("warnings") or ()))


def taken_words(spend: Mapping[str, Any]) -> str:
    """Return calls, tokens and cost in words; what has no known price is no 0 USD."""
    tokens = spend["tokens"] if "tokens" in spend else spend["input_tokens"] + spend["output_tokens"]
    total = (spend.get("by_purpose") or {}).get("total") or spend
    parts = []
    if total.get("cached_tokens"):
        parts.append(f"{total['cached_tokens']:,} from the provider's cache")
    if total.get("reasoning_tokens"):
        parts.append(f"{total['reasoning_tokens']:,} of hidden reasoning")
    apart = f" ({', '.join(parts)})" if parts else ""
    return f"{counted_words(spend['calls'], 'call')}, {tokens:,} tokens{apart}, {cost_words(spend['cost'], total)}"


def counted_words(number: int, noun: str) -> str:
    """Return ``1 call``, ``2,440 calls``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cost_words(cost: float, total: Mapping[str, Any]) -> str:
    """Return dollars in words; calls without a known price are named in their place, or beside the others' cost."""
    unpriced = total.get("unpriced", 0)
    if not unpriced:
        return f"{cost:.4f} USD"
    if not cost:
        return "price unknown"
    return f"{cost:.4f} USD and {counted_words(unpriced, 'call')} whose price is unknown"


def joint_spend_line(spends: Sequence[Mapping[str, Any]]) -> str:
    """Return what several have spent together, as :func:`spend_line` says it."""
    names = (
        *("calls", "replayed", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"),
        *("cost", "unpriced"),
    )
    return spend_line({name: sum(spend.get(name, 0) for spend in spends) for name in names})


def spend_line(spend: Mapping[str, Any]) -> str:
    """Return calls, tokens and cost in words, and what was paid before."""
    parts = [f"spent: {taken_words(spend)}"]
    if spend.get("replayed"):
        parts.append(f"{spend['replayed']} answers were paid before and taken from the checkpoint")
    if spend.get("lost"):
        parts.append(f"{spend['lost']} more calls of interrupted starts came to nothing")
    return "; ".join(parts)


def robustness_about(measured: Mapping[str, Any]) -> str:
    """Return on what it was measured: ``input claim of 100 cases of fect-mini, model offline``."""
    return (
        f"input {measured['field']} of {measured['cases']} cases of {measured['gold']}, "
        f"model {measured['model']}"
    )


def robustness_table(measured: Mapping[str, Any], title: str) -> Table:
    """Return a row for the control, and for each attack and probe."""
    rows = [
        [
            name,
            attack["kind"],
            f"{attack['rate']:.3f} [{attack['low']:.3f}, {attack['high']:.3f}]",
            f"{attack['flipped']} of {attack['cases']}",
            attack["silenced"],
            attack["failed"],
            _most(attack["answers"]),
        ]
        for name, attack in measured["flips"].items()
    ]
    columns = ["change of the text", "kind", "flip rate [95 % interval]", "flipped", "no answer", "failed"]
    return table(title, [*columns, "most flipped answer"], rows)


def _most(answers: Mapping[str, Any]) -> str:
    """Return the answer whose units flipped most, as a share of them; ``-`` if none did."""
    name, (flipped, every) = max(answers.items(), key=lambda item: item[1][0] / item[1][1])
    return f"{name}: {flipped} of {every}" if flipped else "-"


def disagreement_words(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the decision, and the gain, a line each."""
    seen, gain = shown["surveyed"], shown["gain"]
    untold = f" ({shown['untold']} could not be told)" if shown["untold"] else ""
    labels = plural(shown["wins"] + shown["losses"] + shown["ties"], "labelled unit")
    return (
        f"compiled is {shown['verdict']} where the two differ: of {labels} {shown['wins']} won, "
        f"{shown['losses']} lost, {shown['ties']} tied{untold}, p = {shown['p']:.3g} (one-sided test by "
        f"what each counts, level {shown['level']:.3g})",
        f"gain {gain['value']:+.3f} of {shown['gain_in']}, {100 * (1 - 2 * shown['level']):.4g} % interval "
        f"{gain['low']:+.3f} to {gain['high']:+.3f}: they differ on {100 * seen['rate']:.1f} % of {seen['units']} "
        f"units in {seen['groups']} groups of {shown['rows']['name']}, model {shown['model']}",
    )


def disagreement_cell(proofs: object) -> str:
    """Return the last decision in a few words, for a list of versions; empty without any."""
    shown = list(proofs) if isinstance(proofs, list | tuple) else []
    if not shown:
        return ""
    last = max(shown, key=lambda proof: str(proof["decided"]))
    return f"{last['verdict']} by {last['wins'] + last['losses'] + last['ties']} labels where it differs"


def agreement_tables(agreement: Agreement) -> list[Table]:
    """Return one table of all raters, one of the pairs and one of the labels."""
    closed = bool(agreement.table)
    rows: list[list[object]] = [
        ["raw agreement", agreement.raw, f"{agreement.units} units with two ratings or more"],
        ["Krippendorff's alpha", agreement.alpha or _undefined(closed), f"{agreement.units} units"],
    ]
    # a pair without a kappa shows no disagreement, and stands behind the pairs that have one
    least = sorted(agreement.pairs, key=lambda pair: (closed and pair.kappa is None, pair.raw.value))
    pairs = []
    for pair in least[:_PAIRS]:
        kappa = pair.kappa or (_undefined(closed) if closed else "-")
        pairs.append([f"{pair.first} and {pair.second}", pair.units, pair.raw, kappa])
    labels = []
    for row in agreement.table:
        never = not any(row.given.values())
        undefined = _NEVER_GIVEN if never else _undefined(closed)
        labels.append([row.label, *row.given.values(), row.specific or undefined, row.alpha or undefined])
    columns = ["label", *agreement.raters, "specific agreement", "Krippendorff's alpha"]
    return [
        table("All raters", ["measure", "value [95 % interval]", "over"], rows),
        table("Pairs that agree least", ["raters", "units", "raw agreement", "Cohen's kappa"], pairs),
        *([table("Each label against the rest", columns, labels)] if agreement.table else []),
    ]


def _undefined(closed: bool) -> str:
    """Return why a coefficient of agreement has no value."""
    return f"undefined: only one {'label' if closed else 'value'} was given"


def ceiling_card(ceiling: Ceiling) -> dict[str, Any]:
    """Return the ceiling as plain JSON types."""
    return {
        "metric": ceiling.metric,
        "raters_are": ceiling.who,
        "mean": plain(ceiling.mean),
        "raters": {
            one.rater: {"units": one.units, "left_out": one.left_out, "scores": plain(one.measured.scores)}
            for one in ceiling.raters
        },
    }


def ceiling_table(ceiling: Ceiling) -> Table:
    """Return one row a metric: the mean over raters with its interval, and each rater's value."""
    rows = []
    for name, mean in ceiling.mean.items():
        values = [f"{rater.measured[name].value:.3f}" for rater in ceiling.raters]
        rows.append([f"{name} *" if name == ceiling.metric else name, mean, *values])
    columns = [f"{rater.rater} ({rater.units} units)" for rater in ceiling.raters]
    title = f"{_ceiling_name(ceiling)}: each rater against the others, on all units they rated"
    return table(title[0].upper() + title[1:], ["metric", "mean [95 % interval]", *columns], rows)


def _ceiling_name(ceiling: Ceiling) -> str:
    """Return what the agreement of raters is: a ceiling for a judge only where the raters are people."""
    return "human ceiling" if ceiling.who == "people" else f"{ceiling.who} (by a model)"


def rules_table(merged: Mapping[Any, Strata]) -> Table:
    """Return one row a rule: units with a label, and without one, by category."""
    # why units are ambiguous is known where people filled in the column for it
    from ..gold.rows import CATEGORIES

    named = [name for name in CATEGORIES if any(own.ambiguous[name] for own in merged.values())]
    named = [] if named == ["unknown"] else named
    rows = [
        [rule, own.labelled, sum(own.ambiguous.values()), *(own.ambiguous[name] for name in named)]
        for rule, own in merged.items()
    ]
    columns = ["rule", "units with a label", "ambiguous", *(f"of these {name}" for name in named)]
    return table("Merging rules", columns, rows)


def strata_line(counts: Strata) -> str:
    """Return how many units raters agree on, and how many not; empty where nobody differed."""
    why = ", ".join(f"{name} {count}" for name, count in counts.ambiguous.items() if count)
    if not (why or counts.contested):
        return ""
    return (
        f"raters: {counts.agreed} units agreed on, {counts.contested} labelled though raters differ, "
        f"{sum(counts.ambiguous.values())} ambiguous and in no score" + (f" ({why})" if why else "")
    )


def ceiling_line(ceiling: Ceiling | None) -> str:
    """Return the line on the human ceiling, empty where there is none."""
    if ceiling is None:
        return ""
    units = ", ".join(f"{rater.rater} {rater.units}" for rater in ceiling.raters)
    return (
        f"{_ceiling_name(ceiling)}: {ceiling.metric} {ceiling.mean[ceiling.metric]}, "
        f"each rater against the others, on all they rated (units: {units})"
    )
