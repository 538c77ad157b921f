"""The card that ends a command on gold: the decision, who reaches what at which price, warnings, what to do next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..keeping.card import Card
from .document import Tone
from .scores import (
    OFFLINE,
    Scores,
    joint_spend_line,
    metric_cell,
    number_cell,
    rows_words,
    spend_line,
    warning_lines,
)
from .table import Table, table

LEARNED_REFERENCES = ("words", "neighbours")
"""References that learned from the same labels."""
Price = tuple[float | None, float | None, float | None]
"""Tokens a row, US dollars per 1,000 rows, and seconds a row; ``None`` where it is not known."""


@dataclass(frozen=True, kw_only=True)
class VerdictCard:
    """What is read last: on a terminal in a frame of the colour of its tone, elsewhere as plain parts."""

    tone: Tone
    decision: str  # one sentence
    parts: Sequence[Table | str] = ()  # empty ones are left out

    @property
    def plain(self) -> tuple[Table | str, ...]:
        """All of it, in the order in which it is read."""
        return tuple(part for part in (self.decision, *self.parts) if part)


def tone_of(verdict: str) -> Tone:
    """Return what kind of outcome a verdict is."""
    return "good" if verdict == "better" else "bad" if verdict == "worse" else "open"


def standing_table(
    metric: str,
    scores: Scores,
    prices: Mapping[str, Price],
    references: Mapping[str, Any] | None,
    shown: Sequence[str] = ("constant",),
) -> Table:
    """Return a row for each that was scored, with its price, and after the first for references ``shown`` and logs."""
    rows = []
    for name, own in scores.items():
        forms = zip(prices.get(name, (None,) * 3), (",.0f", ".3g", ",.2f"), strict=True)
        price = [number_cell(taken or None, form) for taken, form in forms]
        rows.append([name, metric_cell(own[metric]), *price])
    rows[1:1] = [
        [f"{name}: {reference['answer']}", metric_cell({**reference, "value": reference["score"]}), *"---"]
        for name, reference in (references or {}).items()
        if reference and (name in shown or name.startswith("recorded:"))
    ]
    columns = ["", f"{metric} [95 % interval]", "tokens a row", "USD per 1,000 rows", "seconds a row"]
    kept = [place for place in range(5) if place < 2 or any(row[place] != "-" for row in rows)]
    return table("", [columns[place] for place in kept], [[row[place] for place in kept] for row in rows])


def proof_table(content: Mapping[str, Any], metric: str, shown: Sequence[str] = ("constant",)) -> Table:
    """Return basic, the references ``shown`` and compiled of an artifact's card."""
    card = Card.model_validate(content)
    dollars = card.dollars_per_1000_rows or {}
    prices = {
        name: (
            sum((card.tokens_per_row.get(name) or {}).values()),
            dollars.get(name),
            card.seconds_per_row.get(name),
        )
        for name in content["scores"]
    }
    return standing_table(metric, content["scores"], prices, content.get("references"), shown)


def better_references(card: Mapping[str, Any]) -> list[str]:
    """Return how those references answer that the paired test shows to be better than compiled."""
    answers = []
    for name in LEARNED_REFERENCES:
        reference = (card.get("references") or {}).get(name)
        if reference and reference.get("judge_is") == "worse":
            answers.append(str(reference["answer"]))
    return answers


def engine_words(model: str | None) -> str:
    """Return who answered, for a headline: the offline engine must not pass for a language model."""
    if model == "offline":
        return "offline text-overlap scorer, not a language model"
    return model or "model not known"


def criteria_words(decision: Mapping[str, Any]) -> str:
    """Return what is shown of each of several criteria: a gain of their mean may be that of one alone."""
    shown = []
    for name, criterion in (decision.get("criteria") or {}).items():
        shown.append(f"{name} {criterion['shown'] or 'not shown to differ'}")
    return f"by criterion: {', '.join(shown)}" if shown else ""


def labels_can_show(decision: Mapping[str, Any]) -> bool:
    """Whether labels where the two prompts differ may still show a gain that makes the version the latest."""
    # Such labels show a gain over the basic prompt alone, by units won and lost: they cannot where the sealed test has
    # shown no better score, where it broke as many units as it corrected, or where a constant answer does as well.
    sign = 1 if decision.get("higher_is_better", True) else -1
    if decision["verdict"] == "worse" or decision.get("p", 1) < decision.get("tested", 0):
        return False
    if sign * decision["difference"] <= 0:
        return False
    if decision.get("c") is not None and decision["c"] <= decision["b"]:
        return False
    constant = decision.get("constant")
    return constant is None or bool(constant.get("better"))


def spent_price(spend: Mapping[str, Any], rows: int) -> Price:
    """Return tokens, dollars and seconds of a row; ``None`` where answers were paid before, or nothing was asked."""
    if spend.get("replayed") or not rows:
        return None, None, None
    tokens = (spend["input_tokens"] + spend["output_tokens"]) / rows
    dollars = None if spend.get("unpriced") else 1000 * spend["cost"] / rows
    return tokens, dollars, None


def evaluation_card(data: Mapping[str, Any], *, then: str, whole: bool = False) -> VerdictCard:
    """Return how one judge stands beside the constant answer."""
    judge, metric, units = data["judge"], data["metric"], data["counts"]["units"]
    score, constant = data["scores"][metric], (data["references"] or {}).get("constant")
    labelled = units["total"] - units["unlabelled"]
    missing = f"{units['abstained']} units abstained, {units['failed']} failed of {labelled}"
    scores, tone = {judge: data["scores"]}, tone_of("")
    sentence = f"{judge} on {data['gold']}: {metric} {metric_cell(score)}"
    if too_few(data):
        scores, tone = {}, "bad"
        few = f"{units['answered']} of {labelled} labelled units have an answer"
        sentence = f"{judge} on {data['gold']} is not scored: {few}"
    elif constant and constant.get("judge_is"):
        tone = tone_of(constant["judge_is"])
        than = {"good": "better than", "bad": "worse than", "open": "not told apart from"}[tone]
        sentence += f", {than} the constant answer's {constant['score']:.3f}"
    shown = standing_table(
        metric, scores, {judge: spent_price(data["spend"], data["cases"])}, data["references"]
    )
    wrong, who = len(data["disagreements"]), data.get("by") or {}  # of a cascade, who answered how many cases
    by = ", ".join(f"{name} {rows / sum(who.values()):.0%}" for name, rows in who.items())
    return VerdictCard(
        tone=tone,
        decision=sentence,
        parts=[
            shown if scores else "",
            missing if units["answered"] < labelled else "",
            f"answered by: {by}" if by else "",
            f"{wrong} of {data['cases']} cases are judged otherwise than their gold label says"
            + "; --verbose shows the worst" * (not whole),
            *warning_lines(data),
            spend_line(data["spend"]),
            then,
            OFFLINE if data["model"] == "offline" else "",
        ],
    )


def too_few(data: Mapping[str, Any]) -> bool:
    """Whether less than half of what is labelled was answered, so that scores say little of the judge."""
    units = data["counts"]["units"]
    if data.get("by"):  # a cascade leaves to people what its judges are not sure of
        return not units["answered"]
    return bool(2 * units["answered"] < units["total"] - units["unlabelled"])


def comparison_card(data: Mapping[str, Any], notes: Sequence[str], then: str) -> VerdictCard:
    """Return what was decided between judges, and all of them with the constant answer."""
    judges, metric, tests = data["judges"], data["metric"], data["tests"]
    rows = data["cases"] * data["repeats"]
    said = [one["words"] for one in tests] or [f"{len(judges)} judges on {data['gold']}, nothing was tested"]
    return VerdictCard(
        tone="good" if any(one["verdict"] in ("better", "worse") for one in tests) else "open",
        decision=said[0],
        parts=[
            *said[1:],
            standing_table(
                metric,
                {one["name"]: one["scores"] for one in judges},
                {one["name"]: spent_price(one["spend"], rows) for one in judges},
                data["references"],
            ),
            rows_words(data, "a judge")
            + (f", over {data['repeats']} repeats" if data["repeats"] > 1 else ""),
            *warning_lines(data, *tests),
            *notes,
            joint_spend_line([one["spend"] for one in judges]),
            then,
            OFFLINE if all(one["model"] == "offline" for one in judges) else "",
        ],
    )
