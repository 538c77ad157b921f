"""Tables and lines of scores and counts, of rater agreement and the human ceiling, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..errors import plural, words_of_counts
from ..evaluation.plain import plain
from .table import Table, table

if TYPE_CHECKING:
    from ..evaluation.agreement import Agreement, Ceiling, PairAgreement
    from ..evaluation.intervals import Estimate
    from ..evaluation.votes import Rule
    from ..gold.raters import Strata
    from ..keeping.card_parts import CountsCard, DecisionCard, ReferenceCard, ScoreCard
    from ..keeping.part import Part
    from ..keeping.records import AttackRecord, LabelProofRecord, RobustnessRecord
    from ..keeping.spend_card import PurposeSpend, SpendCard

PartOfCard = TypeVar("PartOfCard", bound="Part")
ResultData: TypeAlias = Mapping[str, Any]
"""A result, or a part of it, as JSON."""
Scores: TypeAlias = "Mapping[str, ScoreCard | None]"
"""Metric -> score."""
References: TypeAlias = "Mapping[str, ReferenceCard | None]"
"""Reference -> what it scores; ``None`` where there is none."""
_NEVER_GIVEN = "undefined: never given"
_PAIRS = 10  # with more of them a terminal shows those that agree least, and --json has all
OFFLINE_ENGINE = "engine: offline, a text-overlap scorer, not an LLM"
OFFLINE_LINE = f"{OFFLINE_ENGINE}; --model names a real one"
"""The line below results of the offline engine, where ``--model`` chooses another one."""


def scores_in(data: ResultData) -> Scores:
    """Return the scores in the JSON of a result, by metric."""
    from ..keeping.card_parts import ScoreCard

    scores: dict[str, ScoreCard | None] = {}
    for metric, score in data.items():
        scores[metric] = None
        if score is not None:
            scores[metric] = _read_part(ScoreCard, score, metric)
    return scores


def references_in(data: ResultData | None) -> References:
    """Return the references in the JSON of a result, by name."""
    from ..keeping.card_parts import ReferenceCard

    references: dict[str, ReferenceCard | None] = {}
    for name, reference in (data or {}).items():
        references[name] = None
        if reference is not None:
            references[name] = _read_part(ReferenceCard, reference, f"references.{name}")
    return references


def spend_in(data: ResultData) -> SpendCard:
    """Return the spend in the JSON of a result."""
    from ..keeping.spend_card import SpendCard

    return _read_part(SpendCard, data, "spend")


def _read_part(kind: type[PartOfCard], data: object, place: str) -> PartOfCard:
    """Return a part of a result. Raises ``ValueError`` with its place where a field of it is broken."""
    fault = kind.fault(data)
    if fault.startswith(":"):  # the part itself is of another type
        raise ValueError(f"{place}{fault}")
    if fault:
        raise ValueError(f"{place}.{fault}")
    return kind.model_validate(data)


def number_cell(value: float | None, form: str = ".3f") -> str:
    """Return a number as a cell of a table has it; a dash for none."""
    if value is None:
        return "-"
    return f"{value:{form}}"


def metric_cell(score: ScoreCard | None) -> str:
    """Return ``0.712 [0.650, 0.771]``, with the worst case that unanswered units imply where there are any.

    A value that cannot be another one has no interval, and ``None`` is shown as ``-``.
    """
    if score is None:
        return "-"
    text = f"{score.value:.3f}"
    if score.low < score.high:
        text += f" [{score.low:.3f}, {score.high:.3f}]"
    if has_unanswered(score):
        text += f" ({score.worst:.3f} to {score.best:.3f} if all units were answered)"
    return text


def has_unanswered(score: ScoreCard | None) -> bool:
    """Return whether a score is over answered units alone, and the others could move it."""
    return score is not None and score.best - score.worst > 1e-9


def scores_table(title: str, scores_by_name: Mapping[str, Scores], metric: str) -> Table:
    """Return one row a metric and one column a program; the judge's own metric is marked."""
    first_scores = next(iter(scores_by_name.values()))
    rows = []
    for name in first_scores:
        row = [_marked_metric(name, metric)]
        for scores in scores_by_name.values():
            row.append(_cell_of_metric(name, scores.get(name)))
        rows.append(row)
    return table(title, ["metric [95 % interval]", *scores_by_name], rows)


def _cell_of_metric(name: str, score: ScoreCard | None) -> str:
    """Return the cell of a metric; ``-`` for a precision where the judge never gave the positive class."""
    # That precision is 0 by convention. Its interval is all that is possible, or 0 alone if no unit has another answer.
    if score is None or not name.endswith("precision"):
        return metric_cell(score)
    if (score.value, score.low) == (0.0, 0.0) and score.high in (0.0, 1.0):
        return "-"
    return metric_cell(score)


def _marked_metric(name: str, metric: str) -> str:
    """Return the name of a metric, with a star if it is the judge's own."""
    return f"{name} *" if name == metric else name


def confusion_table(
    name: str, counts: Mapping[str, Mapping[str, int]], opens: str = "", criteria: Iterable[str] = ()
) -> list[Table]:
    """Return gold -> judged -> units as tables; none where there are none.

    Args:
        name: who answered.
        counts: the units; with several criteria the keys are ``criterion: label``.
        opens: the judge whose cases open at a click on a number; empty if none do.
        criteria: the names of the criteria, each of which has a table of its own.
    """
    rows_by_table: dict[tuple[str, tuple[str, ...]], list[list[object]]] = {}
    for gold, judged in counts.items():
        criterion, label = "", gold
        for name_of_criterion in criteria:
            if gold.startswith(f"{name_of_criterion}: "):
                criterion, label = name_of_criterion, gold.removeprefix(f"{name_of_criterion}: ")
        rows_by_table.setdefault((criterion, tuple(judged)), []).append([label, *judged.values()])
    tables = []
    for (criterion, answers), rows in rows_by_table.items():
        whose = f"{criterion}, {name}" if criterion else name
        title = f"{whose}: gold labels (rows) and what the judge said (columns)"
        tables.append(
            table(title, ["gold", *answers], rows, layout="counts", opens=opens, criterion=criterion)
        )
    return tables


def criteria_table(decision: DecisionCard) -> list[Table]:
    """Return basic against compiled of each criterion; nothing without any."""
    rows = []
    for name, criterion in decision.criteria.items():
        difference = f"{criterion.difference:+.3f} [{criterion.low:+.3f}, {criterion.high:+.3f}]"
        rows.append(
            [
                f"{name}.{criterion.metric}",
                f"{criterion.basic:.3f} -> {criterion.compiled:.3f}",
                difference,
                criterion.shown or "not shown to differ",
                criterion.units,
            ]
        )
    if not rows:
        return []
    columns = ["criterion", "basic -> compiled", "difference", "shown (Holm)", "units"]
    return [table("", columns, rows)]


def class_table(title: str, classes: Sequence[ResultData]) -> list[Table]:
    """Return the scores of each class, given as JSON values; nothing where there are no classes."""
    rows = []
    for class_scores in classes:
        row = [class_scores["label"], class_scores["gold"]]
        scores = scores_in({name: class_scores[name] for name in ("precision", "recall", "f1")})
        row += map(metric_cell, scores.values())
        rows.append(row)
    if not rows:
        return []
    columns = ["class", "in gold", "precision [95 % interval]", "recall", "f1"]
    return [table(title, columns, rows)]


def reference_tables(references: References, metric: str, where: str = "") -> list[Table]:
    """Return the tables of references and of people; nothing without any."""
    rows = []
    for name, reference in references.items():
        if reference is not None:
            score = metric_cell(reference.interval)
            rows.append([name, reference.answer, score, reference.judge_is or "-"])
    if not rows:
        return []
    title = f"references{where}: what asks no language model, and the raters where there are several"
    return [table(title, ["reference", "answers", f"{metric} [95 % interval]", "the judge is"], rows)]


def counts_line(name: str, counts: CountsCard) -> str:
    """Return the counts of units in words."""
    units = counts.units
    return (
        f"{name}: {units.answered} units answered, {units.abstained} abstained, {units.failed} failed, "
        f"{units.unlabelled} unlabelled (coverage {counts.coverage:.1%})"
    )


def differing_words(data: ResultData) -> str:
    """Return how far a judge is from gold: in how many cases it differs, and of scores the mean distance, too."""
    differing, cases = len(data["disagreements"]), data["cases"]
    distance = scores_in(data["scores"]).get("mae")
    if distance is None:
        return f"{differing} of {cases} cases are judged otherwise than their gold label says"
    return (
        f"an answer is {distance.value:.3f} from its gold score on average; "
        f"{differing} of {cases} cases are not answered with exactly the gold score"
    )


def rows_words(data: ResultData, whose: str = "the judge") -> str:
    """Return the gold of a result, its positive labels, and the numbers of cases, judged and left out."""
    words = f"{data['gold']}: {plural(data['cases'], 'case')}"
    if data.get("positive"):
        words += f", positive: {', '.join(data['positive'])}"
    if data["left_out"]:
        why = f"left out because {whose} was compiled on them or on near copies of them, or shows them"
        words += f", {data['left_out']} {why}"
    if data.get("skipped"):
        words += f", {data['skipped']} left out: {words_of_counts(data['skipped_by'])}"
    return words


def warning_lines(*results: ResultData) -> tuple[str, ...]:
    """Return the warnings of results, each once."""
    lines: dict[str, None] = {}
    for data in results:
        for warning in data.get("warnings") or ():
            lines[f"warning: {warning}"] = None
    return tuple(lines)


def taken_words(spend: PurposeSpend) -> str:
    """Return calls, tokens and cost in words; what has no known price is no 0 USD."""
    total = spend.total
    parts = []
    if total.cached_tokens:
        parts.append(f"{total.cached_tokens:,} from the provider's cache")
    if total.reasoning_tokens:
        parts.append(f"{total.reasoning_tokens:,} of hidden reasoning")
    of_these = ""
    if parts:
        of_these = f" ({', '.join(parts)})"
    calls = counted_words(spend.calls, "call")
    tokens = f"{spend.all_tokens:,} tokens"
    if spend.calls and not spend.all_tokens:
        tokens = "tokens not reported"
    return f"{calls}, {tokens}{of_these}, {cost_words(spend.cost, total.unpriced)}"


def counted_words(number: int, noun: str) -> str:
    """Return ``1 call``, ``2,440 calls``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cost_words(cost: float, unpriced: int) -> str:
    """Return dollars in words; calls without a known price are named in their place, or beside the others' cost."""
    if not unpriced:
        return f"{cost:.4f} USD"
    if not cost:
        return "price unknown"
    return f"{cost:.4f} USD and {counted_words(unpriced, 'call')} whose price is unknown"


def joint_spend_line(spends: Sequence[ResultData]) -> str:
    """Return the line of :func:`spend_line` for several spends together, from the JSON of each."""
    from ..keeping.spend_card import PurposeSpend

    parts = [PurposeSpend.model_validate(spend) for spend in spends]
    joint = PurposeSpend.sum_of(parts)
    return spend_line(joint.model_copy(update={"lost": 0}))


def reuse_ending(spends: Sequence[ResultData]) -> str:
    """Return the calls of some spends that nobody paid again, as the end of a line; empty where there are none."""
    from ..keeping.spend_card import PurposeSpend, reused_words

    joint = PurposeSpend.sum_of([PurposeSpend.model_validate(spend).total for spend in spends])
    if not joint.reused:
        return ""
    if joint.calls:
        return f"; {joint.calls:,} of {joint.calls + joint.reused:,} calls paid: {reused_words(joint.reused_since)}"
    return f"; {counted_words(joint.reused, 'call')}, 0 paid: {reused_words(joint.reused_since)}"


def spend_line(spend: PurposeSpend) -> str:
    """Return calls, tokens and cost in words, and what was paid before."""
    from ..keeping.spend_card import reused_words

    total = spend.total
    parts = [f"spent: {taken_words(spend)}"]
    if total.reused and not spend.calls:
        parts = [f"{counted_words(total.reused, 'call')}, 0 paid: {reused_words(total.reused_since)}"]
    elif total.reused:
        parts.append(f"{total.reused:,} more not paid: {reused_words(total.reused_since)}")
    in_checkpoint = spend.replayed - spend.reused
    if in_checkpoint:
        parts.append(f"{in_checkpoint} answers were paid before and taken from the checkpoint")
    if spend.lost:
        parts.append(f"{spend.lost} more calls of interrupted starts came to nothing")
    return "; ".join(parts)


def robustness_about(measured: RobustnessRecord) -> str:
    """Return on what it was measured: ``input claim of 100 cases of fect-mini, model offline``."""
    return f"input {measured.field} of {measured.cases} cases of {measured.gold}, model {measured.model}"


def robustness_table(measured: RobustnessRecord, title: str) -> Table:
    """Return a row for the control, and for each attack and probe."""
    rows = []
    for name, attack in measured.flips.items():
        rows.append(
            [
                name,
                attack.kind,
                f"{attack.rate:.3f} [{attack.low:.3f}, {attack.high:.3f}]",
                f"{attack.flipped} of {attack.cases}",
                attack.silenced,
                attack.failed,
                _most_flipped_answer(attack),
            ]
        )
    columns = ["change of the text", "kind", "flip rate [95 % interval]", "flipped", "no answer", "failed"]
    return table(title, [*columns, "most flipped answer"], rows)


def _most_flipped_answer(attack: AttackRecord) -> str:
    """Return the answer whose units flipped most, as a share of them; ``-`` if none did."""
    largest_share, cell = 0.0, "-"
    for answer, (flipped, units) in attack.answers.items():
        share = flipped / units if units else 0.0
        if share > largest_share:
            largest_share, cell = share, f"{answer}: {flipped} of {units}"
    return cell


def disagreement_words(proof: LabelProofRecord) -> tuple[str, ...]:
    """Return the decision, and the gain, a line each."""
    gain, surveyed = proof.gain, proof.surveyed
    untold = ""
    if proof.untold:
        untold = f" ({proof.untold} could not be told)"
    labels = plural(proof.labels, "labelled unit")
    if proof.planned and proof.planned > proof.labels:
        labels += f" ({proof.planned} were planned)"
    verdict = f"compiled is {proof.verdict}"
    if proof.margin is not None:
        verdict = f"the version is {proof.verdict}, against {proof.rival},"
        if proof.verdict == "as good":
            verdict = f"the version is as good within {proof.margin:g} of {proof.rival},"
        elif proof.verdict == "not known":
            verdict = f"the version is not known to be as good within {proof.margin:g} of {proof.rival},"
    return (
        f"{verdict} where the two differ: of {labels} {proof.wins} won, "
        f"{proof.losses} lost, {proof.ties} tied{untold}, p = {proof.p:.3g} (one-sided test by "
        f"what each counts, level {proof.level:.3g})",
        f"gain {gain.value:+.3f} of {proof.gain_in}, {100 * (1 - 2 * proof.level):.4g} % interval "
        f"{gain.low:+.3f} to {gain.high:+.3f}: they differ on {100 * surveyed.rate:.1f} % of {surveyed.units} "
        f"units in {surveyed.groups} groups of {proof.rows.name}, model {proof.model}",
    )


def disagreement_cell(proofs: Sequence[LabelProofRecord]) -> str:
    """Return the last decision in a few words, for a list of versions; empty without any."""
    if not proofs:
        return ""
    last = max(proofs, key=lambda proof: proof.decided)
    verdict = last.verdict
    if verdict == "not known":
        verdict = f"not known to be as good within {last.margin:g}"
    return f"{verdict} by {last.labels} labels where it differs"


def agreement_tables(agreement: Agreement) -> list[Table]:
    """Return one table of all raters, one of the pairs and one of the labels."""
    undefined = _undefined_words(agreement)
    rows: list[list[object]] = []
    for name, estimate in measures_of_all(agreement).items():
        rows.append([name, estimate or undefined, f"{agreement.units} units"])
    rows[0][-1] = f"{agreement.units} units with two ratings or more"
    tables = [
        table("All raters", ["measure", "value [95 % interval]", "over"], rows),
        _pair_table(agreement),
    ]
    if agreement.table:
        tables.append(_label_table(agreement))
    return tables


def certain_table(certain: Agreement, everything: Agreement) -> Table:
    """Return the agreement on the units that no rater called ambiguous (FECT, section 2.4)."""
    undefined = _undefined_words(certain)
    over = f"{certain.units} of {everything.units} units"
    measures = measures_of_all(certain)
    if len(certain.pairs) == 1:
        measures |= kappas_of_pair(certain.pairs[0], certain)
    rows: list[list[object]] = [[name, estimate or undefined, over] for name, estimate in measures.items()]
    return table(
        "Without the units that a rater called ambiguous", ["measure", "value [95 % interval]", "over"], rows
    )


def measures_of_all(agreement: Agreement) -> dict[str, Estimate | None]:
    """Return the measures of all raters by name, raw agreement first."""
    measures: dict[str, Estimate | None] = {"raw agreement": agreement.raw}
    if not agreement.has_numbers or agreement.table:
        measures["Krippendorff's alpha"] = agreement.alpha
    if agreement.has_numbers:
        measures["Krippendorff's alpha, interval"] = agreement.interval_alpha
    if agreement.ac1 is not None:
        measures["Gwet's AC1"] = agreement.ac1
    return measures


def kappas_of_pair(pair: PairAgreement, agreement: Agreement) -> dict[str, Estimate | None]:
    """Return the kappas of a pair of raters by name; none for answers that are neither labels nor numbers."""
    kappas: dict[str, Estimate | None] = {}
    if agreement.table:
        kappas["Cohen's kappa"] = pair.kappa
    if agreement.has_numbers:
        kappas["quadratic kappa"] = pair.quadratic_kappa
        kappas["linear kappa"] = pair.linear_kappa
    return kappas


def _pair_table(agreement: Agreement) -> Table:
    """Return a row for each of the pairs of raters that agree least."""

    def place(pair: PairAgreement) -> tuple[bool, float]:
        # a pair without a kappa shows no disagreement, and stands behind the pairs that have one
        return None in kappas_of_pair(pair, agreement).values(), pair.raw.value

    undefined = _undefined_words(agreement)
    columns = ["raters", "units", "raw agreement"]
    rows = []
    for pair in sorted(agreement.pairs, key=place)[:_PAIRS]:
        kappas = kappas_of_pair(pair, agreement)
        rows.append(
            [
                f"{pair.first} and {pair.second}",
                pair.units,
                pair.raw,
                *(estimate or undefined for estimate in kappas.values()),
            ]
        )
    if agreement.pairs:
        columns += kappas_of_pair(agreement.pairs[0], agreement)
    return table("Pairs that agree least", columns, rows)


def _label_table(agreement: Agreement) -> Table:
    """Return a row for each label: how often each rater gave it, and how well raters agree on it."""
    rows = []
    for label in agreement.table:
        undefined = _NEVER_GIVEN
        if any(label.given.values()):
            undefined = _undefined_words(agreement)
        row = [label.label, *label.given.values(), label.specific or undefined, label.alpha or undefined]
        rows.append(row)
    columns = ["label", *agreement.raters, "specific agreement", "Krippendorff's alpha"]
    return table("Each label against the rest", columns, rows)


def _undefined_words(agreement: Agreement) -> str:
    """Return why a coefficient of agreement has no value."""
    noun = "label" if agreement.table else "value"
    return f"undefined: only one {noun} was given"


def ceiling_card(ceiling: Ceiling) -> dict[str, object]:
    """Return the ceiling as plain JSON types."""
    raters = {}
    for rated in ceiling.raters:
        raters[rated.rater] = {
            "units": rated.units,
            "left_out": rated.left_out,
            "scores": plain(rated.measured.scores),
        }
    return {
        "metric": ceiling.metric,
        "raters_are": ceiling.who,
        "mean": plain(ceiling.mean),
        "raters": raters,
    }


def ceiling_table(ceiling: Ceiling) -> Table:
    """Return one row a metric: the mean over raters with its interval, and each rater's value."""
    rows = []
    for name, mean in ceiling.mean.items():
        row: list[object] = [_marked_metric(name, ceiling.metric), mean]
        for rater in ceiling.raters:
            row.append(f"{rater.measured[name].value:.3f}")
        rows.append(row)
    columns = ["metric", "mean [95 % interval]"]
    for rater in ceiling.raters:
        columns.append(f"{rater.rater} ({rater.units} units)")
    title = f"{_ceiling_name(ceiling)}: each rater against the others, on all units they rated"
    return table(title[0].upper() + title[1:], columns, rows)


def _ceiling_name(ceiling: Ceiling) -> str:
    """Return the name of the raters' agreement: a ceiling for a judge only if the raters are people."""
    if ceiling.who == "people":
        return "human ceiling"
    return f"{ceiling.who} (by a model)"


def rules_table(strata_by_rule: Mapping[Rule, Strata]) -> Table:
    """Return one row a rule: units with a label, and without one, by category."""
    from ..gold.rows import CATEGORIES

    # Why units are ambiguous is known where people filled in the column for it.
    categories = []
    for category in CATEGORIES:
        if any(strata.ambiguous[category] for strata in strata_by_rule.values()):
            categories.append(category)
    if categories == ["unknown"]:
        categories = []
    rows = []
    for rule, strata in strata_by_rule.items():
        row = [rule, strata.labelled, sum(strata.ambiguous.values())]
        for category in categories:
            row.append(strata.ambiguous[category])
        rows.append(row)
    columns = ["rule", "units with a label", "ambiguous"]
    for category in categories:
        columns.append(f"of these {category}")
    return table("Merging rules", columns, rows)


def strata_line(counts: Strata) -> str:
    """Return how many units raters agree on, and how many not; empty where nobody differed."""
    ambiguous_counts = []
    for category, count in counts.ambiguous.items():
        if count:
            ambiguous_counts.append(f"{category} {count}")
    if not (ambiguous_counts or counts.contested):
        return ""
    line = (
        f"raters: {counts.agreed} units agreed on, {counts.contested} labelled though raters differ, "
        f"{sum(counts.ambiguous.values())} ambiguous and in no score"
    )
    if ambiguous_counts:
        line += f" ({', '.join(ambiguous_counts)})"
    return line


def ceiling_line(ceiling: Ceiling | None) -> str:
    """Return the line on the human ceiling, empty where there is none."""
    if ceiling is None:
        return ""
    unit_counts = []
    for rater in ceiling.raters:
        unit_counts.append(f"{rater.rater} {rater.units}")
    return (
        f"{_ceiling_name(ceiling)}: {ceiling.metric} {ceiling.mean[ceiling.metric]}, "
        f"each rater against the others, on all they rated (units: {', '.join(unit_counts)})"
    )
