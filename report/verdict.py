"""The card that ends a command on gold: the decision, scores with prices, warnings, the next step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import plural
from ..evaluation.disagreements import foresee_labels
from ..evaluation.scale import resolve
from ..gold.rows import label_keys
from ..keeping.artifact_card import Artifact, read_proof_rows
from ..keeping.card import CardContent
from ..keeping.card_parts import CountsCard, DecisionCard, PanelCard
from ..keeping.spend_card import PurposeSpend
from ..programs.judge import Judge
from .document import Tone
from .foreseen import first_level
from .scores import (
    OFFLINE_LINE,
    References,
    ResultData,
    Scores,
    differing_words,
    has_unanswered,
    joint_spend_line,
    metric_cell,
    number_cell,
    references_in,
    rows_words,
    scores_in,
    spend_in,
    spend_line,
    warning_lines,
)
from .table import Table, table

LEARNED_REFERENCES = ("words", "neighbours")
"""References that learned from the same labels."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """The price of a row; ``None`` where it is not known."""

    tokens: float | None = None
    dollars_per_1000: float | None = None
    seconds: float | None = None

    @property
    def cells(self) -> list[str]:
        """Tokens, dollars and seconds as cells of a table; a dash for an unknown price and for 0."""
        return [
            number_cell(self.tokens or None, ",.0f"),
            number_cell(self.dollars_per_1000 or None, ".3g"),
            number_cell(self.seconds or None, ",.2f"),
        ]


@dataclass(frozen=True, kw_only=True)
class VerdictCard:
    """The card at the end of a result: framed in the colour of its tone on a terminal, elsewhere plain parts."""

    tone: Tone
    decision: str  # one sentence
    parts: Sequence[Table | str] = ()  # empty ones are left out

    @property
    def plain(self) -> tuple[Table | str, ...]:
        """All of it, in the order in which it is read."""
        parts: list[Table | str] = [self.decision]
        parts.extend(self.parts)
        return tuple(part for part in parts if part)


SHOWN_REFERENCES = ("constant", "people")
"""The references beside the judge where not all of them are asked for."""


def tone_of(verdict: str) -> Tone:
    """Return the tone of a verdict: ``good`` for better or as good, ``bad`` for worse, else ``open``."""
    if verdict in ("better", "as good"):
        return "good"
    return "bad" if verdict == "worse" else "open"


def standing_table(
    metric: str,
    scores_by_name: Mapping[str, Scores],
    prices: Mapping[str, Price],
    references: References,
    shown_references: Sequence[str] = SHOWN_REFERENCES,
) -> Table:
    """Return a table with a row for each name that was scored: its score and the price of a row.

    References (those named in ``shown_references``, and logs) follow the judges. The first row, which the table is
    about, stands out. Empty columns are left out.
    """
    rows = []
    for name, scores in scores_by_name.items():
        price = prices.get(name, Price())
        rows.append([name, metric_cell(scores[metric]), *price.cells])
    for name, reference in references.items():
        if reference is None:
            continue
        if name in shown_references or name.startswith("recorded:"):
            answer = f"{name}: {reference.answer}"
            rows.append([answer, metric_cell(reference.interval), "-", "-", "-"])
    name = metric
    if any(has_unanswered(scores[metric]) for scores in scores_by_name.values()):
        name = f"{metric} of answered units"
    columns = ["", f"{name} [95 % interval]", "tokens a row", "USD per 1,000 rows", "seconds a row"]
    places = [0, 1]
    for place in (2, 3, 4):
        if any(row[place] != "-" for row in rows):
            places.append(place)
    filled_columns = [columns[place] for place in places]
    cell_rows = []
    for row in rows:
        cell_rows.append([row[place] for place in places])
    return table("", filled_columns, cell_rows, main_rows=(0,))


def proof_table(card: CardContent, metric: str, shown_references: Sequence[str] = SHOWN_REFERENCES) -> Table:
    """Return compiled, basic, and the references that are shown, of an artifact's card."""
    prices: dict[str, Price] = {}
    scores_by_name: dict[str, Scores] = {}
    for name in ("compiled", "basic"):
        scores_by_name[name] = card.proven_scores[name]
        prices[name] = Price(
            tokens=card.tokens_of(name).total,
            dollars_per_1000=card.dollars_per_1000_rows.get(name),
            seconds=card.seconds_per_row.get(name),
        )
    return standing_table(metric, scores_by_name, prices, card.references, shown_references)


def panel_words(card: CardContent) -> str:
    """Return how often the models of a panel answered, and what the best of them has alone; empty of one model."""
    if card.panel is None:
        return ""
    words = card.panel.words
    for name, reference in card.member_references.items():
        return f"{words}; the best of them alone, {name}, has {reference.score:.3f}: compiled is {reference.judge_is}"
    return words


def better_references(card: CardContent) -> list[str]:
    """Return the answers of the learned references that the paired test shows to be better than compiled."""
    answers = []
    for name in LEARNED_REFERENCES:
        reference = card.references.get(name)
        if reference is not None and reference.judge_is == "worse":
            answers.append(reference.answer)
    return answers


def engine_words(model: str | None) -> str:
    """Return who answered, for a headline: the offline engine must not pass for a language model."""
    if model == "offline":
        return "offline text-overlap scorer, not a language model"
    return model or "model not known"


def criteria_words(decision: DecisionCard) -> str:
    """Return one line with the decision on each criterion; empty without criteria.

    A gain of their mean may come from one criterion alone.
    """
    words = []
    for name, criterion in decision.criteria.items():
        words.append(f"{name} {criterion.shown or 'not shown to differ'}")
    if not words:
        return ""
    return f"by criterion: {', '.join(words)}"


def labels_that_show(artifact: Artifact, judge: Judge) -> int | None:
    """Return with how many labels where the two prompts differ a version is mostly shown better, and made the latest.

    It is ``None`` where new labels cannot help: the sealed test or labels have decided already, the version is not
    shown to be better than a constant answer, or its gain on the sealed test is none or too small.
    """
    decision = artifact.about.decision
    if decision.verdict == "worse" or decision.p < decision.tested or artifact.label_proofs:
        return None
    if decision.constant is not None and not decision.constant.better:
        return None
    return foresee_labels_of(artifact, judge)


def prove_words(ref: str, labels: int, store_option: str = "") -> str:
    """Return the command that plans so many labels for a version."""
    return f"jurist prove {ref} --rows new.jsonl --labels {labels}{store_option}"


def foresee_labels_of(artifact: Artifact, judge: Judge) -> int | None:
    """Return with how many labels the gain of a version on its sealed test is mostly shown on new rows; or ``None``."""
    records = artifact.proof_records()
    if not records or not label_keys(judge) or artifact.about.cascade:
        return None
    return foresee_labels(
        read_proof_rows(judge.answer, records, "basic"),
        read_proof_rows(judge.answer, records, "compiled"),
        resolve(judge.metric, judge.comparison),
        judge.comparison,
        first_level(artifact),
    )


def spent_price(spend: PurposeSpend, rows: int) -> Price:
    """Return the price of a row, whenever its answers were paid; unknown if nothing was asked."""
    if not rows:
        return Price()
    price = Price(tokens=(spend.all_tokens + spend.replayed_tokens) / rows)
    if not (spend.unpriced or spend.replayed_unpriced):
        price = replace(price, dollars_per_1000=1000 * (spend.cost + spend.replayed_cost) / rows)
    return price


_THAN: Mapping[Tone, str] = {"good": "better than", "bad": "worse than", "open": "not told apart from"}


def evaluation_card(data: ResultData, *, next_step: str, is_full: bool = False) -> VerdictCard:
    """Return the card of an evaluation: the score of one judge, beside that of the constant answer.

    Args:
        data: the result of one judge on gold, as JSON.
        next_step: what to do next, in a sentence.
        is_full: whether the worst disagreements stand above the card.
    """
    judge, metric = data["judge"], data["metric"]
    scores = scores_in(data["scores"])
    references = references_in(data["references"])
    spend = spend_in(data["spend"])
    units = CountsCard.model_validate(data["counts"]).units
    labelled = units.total - units.unlabelled
    constant = references.get("constant")
    tone: Tone = "open"
    sentence = f"{judge} on {data['gold']}: {metric} {metric_cell(scores[metric])}"
    standing: Table | str = ""
    if has_too_few_answers(data):
        tone = "bad"
        few = f"{units.answered} of {labelled} labelled units have an answer"
        sentence = f"{judge} on {data['gold']} is not scored: {few}"
    else:
        prices = {judge: spent_price(spend, data["cases"])}
        standing = standing_table(metric, {judge: scores}, prices, references)
        if constant is not None and constant.judge_is:
            tone = tone_of(constant.judge_is)
            sentence += f", {_THAN[tone]} the constant answer's {constant.score:.3f}"
    missing = ""
    if units.answered < labelled:
        missing = f"{units.abstained} units abstained, {units.failed} failed of {labelled}"
    wrong = differing_words(data)
    if not is_full:
        wrong += "; --verbose shows the worst"
    parts = [standing, missing, _answered_words(data.get("by") or {}), _panel_words(data), wrong]
    parts.extend(warning_lines(data))
    parts.extend([spend_line(spend), next_step])
    if data["model"] == "offline":
        parts.append(OFFLINE_LINE)
    return VerdictCard(tone=tone, decision=sentence, parts=parts)


def _panel_words(data: ResultData) -> str:
    """Return how often each model of a panel answered, and how far they agree; empty of a single model."""
    if not data.get("panel"):
        return ""
    return PanelCard.model_validate(data["panel"]).words


def _answered_words(cases_by_judge: Mapping[str, int]) -> str:
    """Return which share of the cases each judge of a cascade answered; empty of a single judge."""
    if not cases_by_judge:
        return ""
    total = sum(cases_by_judge.values())
    shares = []
    for judge, cases in cases_by_judge.items():
        shares.append(f"{judge} {cases / total:.0%}")
    return f"answered by: {', '.join(shares)}"


def has_too_few_answers(data: ResultData) -> bool:
    """Whether less than half of what is labelled was answered, so that scores say little of the judge."""
    units = CountsCard.model_validate(data["counts"]).units
    if data.get("by"):  # a cascade leaves to people what its judges are not sure of
        return not units.answered
    return 2 * units.answered < units.total - units.unlabelled


def comparison_card(data: ResultData, notes: Sequence[str], next_step: str) -> VerdictCard:
    """Return the card of a comparison: the decision, and all judges with the constant answer."""
    judges, tests = data["judges"], data["tests"]
    decisions = [test["words"] for test in tests]
    if not decisions:
        decisions = [f"{plural(len(judges), 'judge')} on {data['gold']}, nothing was tested"]
    scores_by_name: dict[str, Scores] = {}
    prices = {}
    for judge in judges:
        scores_by_name[judge["name"]] = scores_in(judge["scores"])
        prices[judge["name"]] = spent_price(spend_in(judge["spend"]), data["cases"] * data["repeats"])
    rows = rows_words(data, "a judge")
    if data["repeats"] > 1:
        rows += f", over {data['repeats']} repeats"
    is_shown = any(test["verdict"] in ("better", "worse") for test in tests)
    is_offline = all(judge["model"] == "offline" for judge in judges)
    parts: list[Table | str] = decisions[1:]
    parts.append(standing_table(data["metric"], scores_by_name, prices, references_in(data["references"])))
    parts.append(rows)
    parts.extend(warning_lines(data, *tests))
    parts.extend(notes)
    parts.append(joint_spend_line([judge["spend"] for judge in judges]))
    parts.append(next_step)
    if is_offline:
        parts.append(OFFLINE_LINE)
    return VerdictCard(tone="good" if is_shown else "open", decision=decisions[0], parts=parts)
